//! Stochastic block models: communities, with more links inside than between them.

use rand::RngExt;

use super::connected::first_connected;
use super::erdos_renyi::pair;
use super::graph::{Topology, TopologyError};
use super::parameter::{MOST_LINKS, MOST_PEERS, Problem, pairs, refuse};
use crate::random::{Stream, Streams};

/// The most blocks: every pair of them costs a draw.
const MOST_BLOCKS: usize = 4_096;

pub(super) fn problems(sizes: &[usize], within: f64, between: f64) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    let peers = sizes.iter().fold(0_usize, |sum, &size| sum.saturating_add(size));
    if !(1..=MOST_BLOCKS).contains(&sizes.len()) {
        let message = format!("there are {} blocks; expected 1 to {MOST_BLOCKS}", sizes.len());
        problems.push(("sizes", message));
    } else if let Some(empty) = sizes.iter().position(|&size| size == 0) {
        problems
            .push(("sizes", format!("block {empty} is empty; expected 1 peer or more in each")));
    } else if peers > MOST_PEERS {
        problems.push(("sizes", format!("{peers} peers in all; expected at most {MOST_PEERS}")));
    }
    for (field, p) in [("within", within), ("between", between)] {
        if !(0.0..=1.0).contains(&p) {
            let message = format!("{p} is no probability; expected a number from 0 to 1");
            problems.push((field, message));
        }
    }
    if problems.is_empty() {
        let inside: u64 = sizes.iter().map(|&size| pairs(size)).sum();
        let links = within * inside as f64 + between * (pairs(peers) - inside) as f64;
        if between == 0.0 && sizes.len() > 1 {
            let message = "0 leaves the blocks apart; expected a number above 0 and at most 1";
            problems.push(("between", message.to_string()));
        } else if links > MOST_LINKS as f64 {
            let message = format!("about {links:.0} links in all; expected at most {MOST_LINKS}");
            problems.push(("within", message));
        }
    }
    problems
}

/// A stochastic block model (Holland and others, 1983), conditioned on being connected: peers are
/// numbered block after block; two of the same block are linked with probability `within`, two of
/// different blocks with probability `between`, independently.
///
/// # Complexity
/// O(n + links + blocks²) per attempt.
///
/// # Errors
/// An empty block, what is no probability; no connected graph in 100 attempts.
pub fn stochastic_block(
    sizes: &[usize],
    within: f64,
    between: f64,
    streams: &Streams,
) -> Result<Topology, TopologyError> {
    refuse(problems(sizes, within, between))?;
    first_connected(
        sizes.iter().sum(),
        streams,
        |stream| Some(draw(sizes, within, between, stream)),
        || "raise within or between".to_string(),
    )
}

fn draw(sizes: &[usize], within: f64, between: f64, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut links = Vec::new();
    let mut first = 0_u32;
    for (block, &size) in sizes.iter().enumerate() {
        hits(pairs(size), within, stream, |rank| {
            let (a, b) = pair(rank);
            links.push((first + a, first + b));
        });
        let mut earlier = 0_u32;
        for &other in &sizes[..block] {
            let width = other as u64;
            hits(size as u64 * width, between, stream, |rank| {
                links.push((earlier + (rank % width) as u32, first + (rank / width) as u32));
            });
            earlier += other as u32;
        }
        first += size as u32;
    }
    links
}

/// Calls `hit` with every one of 0 to `total` − 1 independently with probability `p`: the gaps
/// between hits are geometric, so only hits cost time.
fn hits(total: u64, p: f64, stream: &mut Stream, mut hit: impl FnMut(u64)) {
    if p == 0.0 {
        return;
    }
    let missed = (-p).ln_1p();
    let mut next = 0_u64;
    loop {
        let u: f64 = stream.random();
        // `as` saturates: a jump beyond the end ends the walk.
        next = next.saturating_add(((-u).ln_1p() / missed) as u64);
        if next >= total {
            return;
        }
        hit(next);
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::complete;
    use super::*;
    use crate::random::Purpose;
    use crate::units::Seed;

    fn streams(seed: u64) -> Streams {
        Streams::new(Seed(seed), 0)
    }

    fn count(sizes: &[usize], within: f64, between: f64, seed: u64) -> [usize; 2] {
        let mut stream = streams(seed).family(Purpose::Topology, 0).stream(0);
        let block = |peer: u32| {
            let ends = sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            ends.take_while(|&end| end <= peer as usize).count()
        };
        let links = draw(sizes, within, between, &mut stream);
        let inside = links.iter().filter(|&&(a, b)| block(a) == block(b)).count();
        [inside, links.len() - inside]
    }

    #[test]
    fn certain_and_impossible_links() {
        assert_eq!(stochastic_block(&[3, 4, 1], 1.0, 1.0, &streams(1)), complete(8));
        assert_eq!(count(&[3, 4, 1], 1.0, 0.0, 1), [3 + 6, 0]);
        assert_eq!(count(&[3, 4, 1], 0.0, 1.0, 1), [0, 12 + 3 + 4]);
    }

    #[test]
    fn link_counts_are_binomial() {
        let (sizes, p, q) = ([300, 500, 200], 0.2, 0.01);
        let [inside, outside] = count(&sizes, p, q, 5).map(|links| links as f64);
        let pairs_inside: f64 = sizes.iter().map(|&s| pairs(s) as f64).sum();
        let pairs_outside = pairs(1_000) as f64 - pairs_inside;
        for (links, p, all) in [(inside, p, pairs_inside), (outside, q, pairs_outside)] {
            let deviation = (p * (1.0 - p) * all).sqrt();
            assert!((links - p * all).abs() < 4.0 * deviation, "{links} of {all}, p = {p}");
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let fields = |sizes: &[usize], within, between| -> Vec<_> {
            problems(sizes, within, between).into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(fields(&[], 0.5, 2.0), ["sizes", "between"]);
        assert_eq!(fields(&[3, 0], f64::NAN, 0.1), ["sizes", "within"]);
        assert_eq!(fields(&[3, 3], 0.5, 0.0), ["between"]);
        assert_eq!(fields(&[3], 0.5, 0.0), [""; 0]);
        assert_eq!(fields(&[usize::MAX, 5], 0.5, 0.5), ["sizes"]);
        assert_eq!(fields(&[1 << 20, 1 << 20], 0.5, 0.5), ["within"]);
    }

    proptest! {
        #[test]
        fn connected_simple_and_a_function_of_the_seed(
            seed: u64, sizes in prop::collection::vec(1_usize..12, 1..5),
            within in 0.5_f64..=1.0, between in 0.3_f64..=1.0,
        ) {
            let first = stochastic_block(&sizes, within, between, &streams(seed));
            if let Ok(graph) = &first {
                prop_assert_eq!(graph.peers(), sizes.iter().sum::<usize>());
                prop_assert!(graph.require_connected().is_ok());
            }
            prop_assert_eq!(first, stochastic_block(&sizes, within, between, &streams(seed)));
        }
    }
}
