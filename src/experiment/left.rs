//! What the peers of all ranks left at the end of a repeat.

use super::assembly::Assembly;
use super::directory::RunDirectory;
use super::each_peer::EachPeer;
use super::filed::{Filed, Filing};
use super::ranked::Leader;
use super::repeat::{SumsSoFar, listed_every};
use super::run::ExperimentError;
use crate::measure::LocalFigures;
use crate::network::Share;
use crate::privacy::Exposure;
use crate::units::Epsilon;

/// Rank 0 takes what so many peers left at a time.
const TAKEN_AT_A_TIME: usize = 1 << 14;

/// What peers left in the last measured round, where it stayed on ranks.
#[derive(Default)]
pub(super) struct LeftOnRanks {
    /// Their models, unless they were filed.
    pub(super) states: Vec<f64>,
    pub(super) filed: Option<Filed>,
    /// Figures of every [so many](listed_every).
    pub(super) locals: Vec<LocalFigures>,
    /// ε of a record at each of them.
    pub(super) epsilons: EachPeer<f64>,
}

impl LeftOnRanks {
    /// Takes it from all ranks, some peers at a time; models go to a file if there is a directory.
    pub(super) fn taken(
        leader: &Leader<'_>,
        share: &Share<LocalFigures>,
        (assembly, repeat): (&Assembly, u32),
        directory: Option<&RunDirectory>,
        bound: impl Fn(&Exposure) -> Epsilon,
        sums: &mut Option<SumsSoFar>,
    ) -> Result<Self, ExperimentError> {
        let (n, d) = (assembly.topology.peers(), assembly.data.train.dimension());
        let (mut left, every) = (Self::default(), listed_every(n));
        let mut filing =
            directory.map(|directory| directory.file_states(repeat, n * d)).transpose()?;
        for first in (0..n).step_by(TAKEN_AT_A_TIME) {
            let numbers = first..n.min(first + TAKEN_AT_A_TIME);
            let Some(row) = leader.take_over(share, numbers.clone())? else { continue };
            match &mut filing {
                Some(filing) => filing.write(&row.scored)?,
                None => left.states.extend(row.scored),
            }
            if let Some(sums) = sums {
                sums.take(first, &row.exposures);
            }
            left.epsilons.extend(of_each(&row.exposures, &bound));
            let listed = numbers.zip(row.locals).filter(|(k, _)| k.is_multiple_of(every));
            left.locals.extend(listed.map(|(_, local)| local));
        }
        left.filed = filing.map(Filing::finish).transpose()?;
        Ok(left)
    }
}

/// A bound for each peer. Most peers are like the one before them, and bounds cost a search.
pub(super) fn of_each<'a>(
    exposures: &'a [Exposure],
    bound: impl Fn(&Exposure) -> Epsilon,
) -> impl Iterator<Item = f64> {
    let mut last: Option<(&Exposure, f64)> = None;
    let of = move |exposure: &'a Exposure| match last {
        Some((same, epsilon)) if same == exposure => epsilon,
        _ => {
            let Epsilon(epsilon) = bound(exposure);
            last = Some((exposure, epsilon));
            epsilon
        }
    };
    exposures.iter().map(of)
}
