//! How often, and of whom, is measured where nobody said: a rule of the run's size alone.
//!
//! A row of figures takes this many multiply-adds, with n peers, N training samples, T held-out ones
//! and dimension d, where s peers are scored on the latter:
//!
//! ```text
//! row = d (ROW n + [risk] N + [train] N + [test] s T),        round = d (ROUND n + 2 N).
//! ```
//!
//! `round` is about what one gradient step of everybody takes, the cheapest round there is. Runs of at
//! most [`SMALL`] peers, and those whose rows take at most [`FREE`] multiply-adds in all, are measured in
//! every round. The others are measured in every k-th, k = ⌈row/round⌉: measuring then costs no more than
//! the rounds. And only so many peers are scored on held-out samples that one row's scores take at most
//! [`SCORES`] multiply-adds. Nothing here looks at a clock, so that a run measures the same rows wherever
//! it runs.

use serde::{Deserialize, Serialize};

use super::config::{MeasureConfig, What};
use crate::units::PeerId;

/// Up to this many peers nothing is thinned.
const SMALL: usize = 1000;
/// Multiply-adds of all rows of a run that are always spent: some ten seconds.
const FREE: f64 = 1e10;
/// Multiply-adds of the held-out scores of one row: about a second.
const SCORES: f64 = 1e9;
/// Coordinates that a row goes through per peer and dimension: the mean, distances, norms, copies.
const ROW: f64 = 12.0;
/// The same of a round: mixing and messages.
const ROUND: f64 = 8.0;

/// The size of a run, as far as it decides what measuring costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSize {
    /// n.
    pub peers: usize,
    /// N, over all peers.
    pub samples: usize,
    /// T.
    pub held_out: usize,
    /// d.
    pub dimension: usize,
    /// The last round that the run may reach.
    pub rounds: u64,
}

/// Which peers are scored on held-out samples: so many, evenly chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scored {
    /// How many.
    pub peers: usize,
    /// Out of how many.
    pub of: usize,
}

impl Scored {
    /// All of them.
    pub fn all(peers: usize) -> Self {
        Self { peers, of: peers }
    }

    /// Whether this peer is one of them: the i-th of n is where ⌊(i + 1) s/n⌋ > ⌊i s/n⌋, which is so for
    /// s of them, at distances that differ by at most one.
    pub fn has(&self, peer: PeerId) -> bool {
        let before = |i: usize| i as u128 * self.peers as u128 / self.of.max(1) as u128;
        self.peers >= self.of || before(peer.index() + 1) > before(peer.index())
    }

    /// Whether it is everybody.
    pub fn is_all(&self) -> bool {
        self.peers >= self.of
    }
}

/// How often a run of peers is measured, and who of them is scored on held-out samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinning {
    /// Every how many rounds.
    pub every: u32,
    /// Who is scored.
    pub scored: Scored,
}

impl Thinning {
    /// What the scenario says or, where it says nothing, the rule above. A run that may stop early is
    /// measured in every round, since the rule to stop looks at measured rounds alone.
    pub fn of(config: &MeasureConfig, size: RunSize) -> Self {
        let RunSize { peers, samples, held_out, dimension, rounds } = size;
        let (n, d) = (peers as f64, dimension as f64);
        let on_test = config.has(What::Test) && held_out > 0;
        let scored = match config.test_peers {
            Some(asked) => (asked as usize).min(peers),
            None if peers <= SMALL || !on_test => peers,
            None => {
                let affordable = (SCORES / (held_out as f64 * d)) as usize;
                affordable.clamp(SMALL, peers)
            }
        };
        let passes = [What::Risk, What::Train].iter().filter(|&&what| config.has(what)).count();
        let tests = if on_test { scored as f64 * held_out as f64 } else { 0.0 };
        let row = d * (ROW * n + passes as f64 * samples as f64 + tests);
        let round = d * (ROUND * n + 2.0 * samples as f64);
        let free = peers <= SMALL || config.stop.is_some() || row * rounds as f64 <= FREE;
        let every = match config.every {
            Some(every) => every,
            None if free => 1,
            None => ((row / round).ceil() as u64).clamp(1, rounds.max(1)) as u32,
        };
        Self { every, scored: Scored { peers: scored, of: peers } }
    }

    /// What was left out by the rule, in words; nothing where the scenario said it, or nothing was.
    pub fn notes(&self, config: &MeasureConfig) -> Vec<String> {
        let mut notes = Vec::new();
        if self.every > 1 && config.every.is_none() {
            notes.push(format!(
                "measured in every {}th round, so that measuring costs no more than the rounds \
                 (measure.every says otherwise)",
                self.every
            ));
        }
        if !self.scored.is_all() && config.has(What::Test) && config.test_peers.is_none() {
            notes.push(format!(
                "held-out figures are of {} of the {} peers, evenly chosen (measure.test_peers says \
                 otherwise)",
                self.scored.peers, self.scored.of
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::StopConfig;

    const MILLION: RunSize =
        RunSize { peers: 1_000_000, samples: 5_000_000, held_out: 1000, dimension: 20, rounds: 50 };

    fn asking(what: &[What]) -> MeasureConfig {
        MeasureConfig { what: what.to_vec(), ..MeasureConfig::default() }
    }

    #[test]
    fn evenly_chosen_peers_are_as_many_as_asked_and_evenly_apart() {
        for (peers, of) in [(1, 7), (3, 7), (7, 7), (1000, 12_345), (5, 1_000_000)] {
            let scored = Scored { peers, of };
            let chosen: Vec<usize> = (0..of).filter(|&i| scored.has(PeerId::new(i))).collect();
            assert_eq!(chosen.len(), peers);
            let gaps = chosen.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.clone().max() <= gaps.min().map(|least| least + 1));
        }
    }

    /// By hand: with d = 20, risk and training scores take N each, and 50,000 peers are 10⁹/(1000·20).
    /// row = 20·(12·10⁶ + 2·5·10⁶ + 50,000·1000) = 1.44·10⁹, round = 20·(8 + 10)·10⁶ = 3.6·10⁸: every 4th.
    #[test]
    fn a_million_peers_by_hand() {
        let all = asking(&[What::Consensus, What::Risk, What::Train, What::Test]);
        let thinning = Thinning::of(&all, MILLION);
        let scored = Scored { peers: 50_000, of: 1_000_000 };
        assert_eq!(thinning, Thinning { every: 4, scored });
        assert_eq!(thinning.notes(&all).len(), 2);
        let consensus = asking(&[What::Consensus]);
        let alone = Thinning::of(&consensus, MILLION);
        assert_eq!(alone, Thinning { every: 1, scored: Scored::all(1_000_000) });
        assert_eq!(alone.notes(&consensus), Vec::<String>::new());
    }

    #[test]
    fn what_is_said_is_done_and_small_runs_are_measured_whole() {
        let mut asked = asking(&[What::Risk, What::Test]);
        asked.every = Some(1);
        asked.test_peers = Some(u32::MAX);
        let whole = Thinning { every: 1, scored: Scored::all(1_000_000) };
        assert_eq!(Thinning::of(&asked, MILLION), whole);
        assert_eq!(whole.notes(&asked), Vec::<String>::new());
        let default = MeasureConfig::default();
        let small = RunSize { peers: 1000, rounds: 1_000_000, ..MILLION };
        assert_eq!(Thinning::of(&default, small), Thinning { every: 1, scored: Scored::all(1000) });
        let stop = Some(StopConfig { consensus_gap: Some(1e-3), ..StopConfig::default() });
        let stopping = MeasureConfig { stop, ..default };
        assert_eq!(Thinning::of(&stopping, MILLION).every, 1);
    }
}
