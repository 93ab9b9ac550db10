use proptest::prelude::*;

use super::super::{Account, Exposure, Mechanism, Pieces, Receivers, Records, Relation, Spent};
use super::*;
use crate::random::{Draws, Purpose, Streams, Tape};
use crate::units::Seed;

const NO_NOISE: PooledNoise = PooledNoise { own: 0.0, all: 0.0 };
const NOTHING: Sensitivity = Sensitivity { label: 0.0, record: 0.0 };

fn seeds(seed: u64) -> Family {
    Streams::new(Seed(seed), 0).family(Purpose::Masks, 0)
}

fn lists(peers: usize, pairs: &[(usize, usize)]) -> MaskGraph {
    let mut lists = vec![Vec::new(); peers];
    for &(a, b) in pairs {
        lists[a].push(PeerId::new(b));
        lists[b].push(PeerId::new(a));
    }
    MaskGraph::Lists(lists)
}

fn masked(data: &[f64], grid: &Grid, masks: &Masks, round: u32) -> Vec<u64> {
    let masks = Some((masks, Round(round)));
    pooled(data, grid, (NO_NOISE, None), NOTHING, masks).value().to_vec()
}

proptest! {
    /// m·B is a whole number of less than 53 bits, so that both sides are exact.
    #[test]
    fn the_grid_is_the_finest_that_sums_fit_in(m in 1..100_000_usize, bound in 1..1_000_000_u64) {
        let most = m as u128 * u128::from(bound);
        let step = Grid::new(m, bound as f64).step();
        let s = -(step.log2() as i32);
        prop_assert_eq!(step, 2.0_f64.powi(-s));
        prop_assert!((0..62).contains(&s), "{}", s);
        prop_assert!(most << s < 1 << 62 && most << (s + 1) >= 1 << 62, "{} {}", most, s);
    }

    #[test]
    fn a_number_is_rounded_to_the_nearest_step(
        value in -3.0..3.0_f64,
        bound in 0.001..2.0_f64,
        m in 1..1_000_usize,
    ) {
        let grid = Grid::new(m, bound);
        let back = grid.number(grid.residue(value));
        let within = value.clamp(-bound, bound);
        // Half a step of the grid, and the rounding of the sum itself.
        prop_assert!((back - within).abs() <= 0.5 * grid.step() + f64::EPSILON * bound);
        prop_assert_eq!(grid.residue(-value), grid.residue(value).wrapping_neg());
        prop_assert_eq!(grid.bound(), bound);
    }

    #[test]
    fn sums_do_not_depend_on_their_order(
        values in prop::collection::vec(-1.0..1.0_f64, 1..40),
        swaps in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let grid = Grid::new(values.len(), 1.0);
        let vector = |value: f64| public_vector(value).on_grid(&grid);
        let sum = |values: &[f64]| {
            let addends = values.iter().map(|&value| vector(value));
            addends.reduce(|sum, next| sum.added(&next)).unwrap().value()[0]
        };
        let mut shuffled = values.clone();
        for (place, swap) in swaps.iter().enumerate().take(values.len()) {
            shuffled.swap(place, swap.index(values.len()));
        }
        prop_assert_eq!(sum(&values), sum(&shuffled));
        // One by one in whole numbers wide enough for all.
        let exact: i128 = values.iter().map(|&v| i128::from(grid.residue(v) as i64)).sum();
        prop_assert_eq!(i128::from(sum(&values) as i64), exact, "nothing wraps round");
    }

    #[test]
    fn masked_and_plain_sums_are_equal_to_the_bit(
        data in prop::collection::vec(-1.5..1.5_f64, 6),
        pairs in prop::collection::vec((0..6_usize, 0..6_usize), 0..20),
        (seed, round) in (any::<u64>(), 0..1_000_000_u32),
    ) {
        let mut pairs: Vec<_> =
            pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let grid = Grid::new(6, 1.0);
        for graph in [lists(6, &pairs), MaskGraph::AllPairs(6)] {
            let of = |peer: usize, masks: bool| {
                let masks = masks.then(|| Masks::of(&graph, PeerId::new(peer), seeds(seed)));
                let masks = masks.as_ref().map(|masks| (masks, Round(round)));
                let data = [data[peer], -0.5 * data[peer], 1e-9];
                pooled(&data, &grid, (NO_NOISE, None), NOTHING, masks)
            };
            let sum = |masks: bool| {
                (0..6).map(|peer| of(peer, masks)).reduce(|sum, next| sum.added(&next)).unwrap()
            };
            prop_assert_eq!(sum(true).into_value(), sum(false).into_value());
        }
    }
}

fn public_vector(value: f64) -> Released<Arc<[f64]>> {
    super::super::public(vec![value].into())
}

#[test]
fn the_most_that_can_be_added_does_not_wrap_round() {
    for (m, bound) in [(1, 1.0), (3, 1.0), (4, 0.75), (1000, 1e-9), (7, 1e30), (12, 1e300)] {
        let grid = Grid::new(m, bound);
        for sign in [1.0, -1.0] {
            // Beyond the bound everything is cut to it.
            for value in [bound, 2.0 * bound, f64::INFINITY] {
                let one = grid.residue(sign * value) as i64;
                let sum = (0..m).fold(0_i64, |sum, _| sum.checked_add(one).unwrap());
                assert!(sum.unsigned_abs() <= 1 << 62, "{m} {bound}: {sum}");
                let found = grid.number(sum as u64);
                let expected = sign * m as f64 * bound;
                assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{found} {expected}");
            }
        }
        // Data and noise are each within the bound: both at the end still fit into 63 bits.
        assert!((m as i128) * 2 * i128::from(grid.residue(bound) as i64) <= 1 << 63);
    }
    assert_eq!(Grid::new(5, 1.0).residue(f64::NAN), 0);
    assert_eq!(Grid::new(4, 1.0).step(), 2.0_f64.powi(-59), "4·2⁶⁰ is not below 2⁶²");
    assert_eq!(Grid::new(0, 1.0), Grid::new(1, 1.0));
}

#[test]
fn half_a_step_is_rounded_to_the_even_one() {
    let grid = Grid::new(1, 2.0_f64.powi(61));
    assert_eq!(grid.step(), 1.0);
    let found = [0.5, 1.5, 2.5, -0.5, -1.5, 2.25].map(|value| grid.residue(value) as i64);
    assert_eq!(found, [0, 2, 2, 0, -2, 2]);
}

#[test]
fn a_value_moves_by_a_step_more_in_every_coordinate() {
    let grid = Grid::new(3, 2.0_f64.powi(55));
    let step = grid.step();
    assert!((grid.moved(0.5, 9) - (0.5 + 3.0 * step)).abs() < 1e-15);
    assert_eq!(grid.moved(0.0, 9), 0.0, "what does not move is rounded alike");
    // Two numbers just beside a rounding edge, and almost a step apart on the grid.
    let (a, b) = (0.4999 * step, 0.5001 * step);
    let apart = grid.number(grid.residue(b)) - grid.number(grid.residue(a));
    assert!(apart > 100.0 * (b - a) && apart <= grid.moved(b - a, 1));
}

/// 1,024 rounds under each of 32 seeds of a peer with a single partner, whatever it adds: bits are
/// fair coins, bytes have 256 equal faces, and nothing is left of either between two rounds, two
/// coordinates or two seeds. Each within five standard errors of its law.
#[test]
fn a_masked_addend_is_uniform_whatever_the_data() {
    const ROUNDS: usize = 1024;
    const SEEDS: u64 = 32;
    let grid = Grid::new(2, 1.0);
    let graph = lists(2, &[(0, 1)]);
    for data in [[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [1e-12, 0.123_456_789]] {
        for me in [0, 1] {
            let mut addends: Vec<Vec<u64>> = Vec::new();
            for seed in 0..SEEDS {
                let masks = Masks::of(&graph, PeerId::new(me), seeds(seed));
                addends.extend((0..ROUNDS).map(|r| masked(&data, &grid, &masks, r as u32)));
            }
            let first: Vec<u64> = addends.iter().map(|addend| addend[0]).collect();
            let across = addends.iter().map(|addend| addend[0].wrapping_sub(addend[1]));
            let rounds = first.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
            let seeds = (ROUNDS..first.len()).map(|i| first[i].wrapping_sub(first[i - ROUNDS]));
            uniform(&first, "an addend");
            uniform(&across.collect::<Vec<_>>(), "two coordinates");
            uniform(&rounds.collect::<Vec<_>>(), "two rounds");
            uniform(&seeds.collect::<Vec<_>>(), "two seeds");
        }
    }
}

#[track_caller]
fn uniform(words: &[u64], what: &str) {
    let count = words.len() as f64;
    for bit in 0..64 {
        let ones = words.iter().filter(|word| **word >> bit & 1 == 1).count() as f64;
        assert!((ones - count / 2.0).abs() < 5.0 * count.sqrt() / 2.0, "{what}: bit {bit}, {ones}");
    }
    for place in 0..8 {
        let mut faces = [0_u32; 256];
        words.iter().for_each(|word| faces[(word >> (8 * place)) as usize & 255] += 1);
        let each = count / 256.0;
        let square: f64 = faces.iter().map(|&n| (f64::from(n) - each).powi(2) / each).sum();
        // χ² with 255 degrees of freedom has the variance 510.
        assert!((square - 255.0).abs() < 5.0 * 510.0_f64.sqrt(), "{what}: byte {place}, {square}");
    }
}

#[test]
fn a_peer_without_partners_is_not_masked() {
    let grid = Grid::new(3, 1.0);
    let masks = Masks::of(&lists(3, &[(0, 1)]), PeerId(2), seeds(1));
    assert_eq!(masked(&[0.25], &grid, &masks, 5), [grid.residue(0.25)]);
}

/// Arithmetic modulo a prime, in which elimination is exact.
const PRIME: i64 = 2_147_483_647;

fn inverse(value: i64) -> i64 {
    let (mut power, mut base, mut exponent) = (1, value, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * base % PRIME;
        }
        base = base * base % PRIME;
        exponent >>= 1;
    }
    power
}

/// The rows in reduced echelon form, without those that vanish, and their pivots.
fn reduced(mut rows: Vec<Vec<i64>>) -> (Vec<Vec<i64>>, Vec<usize>) {
    let columns = rows.first().map_or(0, Vec::len);
    let mut pivots = Vec::new();
    for column in 0..columns {
        let rank = pivots.len();
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let factor = inverse(rows[rank][column]);
        rows[rank].iter_mut().for_each(|value| *value = *value * factor % PRIME);
        let top = rows[rank].clone();
        for (place, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if place != rank && factor != 0 {
                for (value, top) in row.iter_mut().zip(&top) {
                    *value = (*value - factor * top).rem_euclid(PRIME);
                }
            }
        }
        pivots.push(column);
    }
    rows.truncate(pivots.len());
    (rows, pivots)
}

/// What a coalition's view says of the honest peers' data alone, as functionals of it: its span, in
/// reduced form.
///
/// The view is one row per honest peer, over the unknowns [masks of honest pairs | honest data]; masks
/// that the coalition shares are known to it and gone. Elimination puts the masks first: rows with no
/// mask left are what the view determines.
fn determined(honest: &[usize], pairs: &[(usize, usize)]) -> Vec<Vec<i64>> {
    let among: Vec<_> =
        pairs.iter().filter(|(a, b)| honest.contains(a) && honest.contains(b)).copied().collect();
    let row = |(place, &peer): (usize, &usize)| {
        let sign = |&(plus, minus): &(usize, usize)| match peer {
            _ if peer == plus => 1,
            _ if peer == minus => PRIME - 1,
            _ => 0,
        };
        let masks = among.iter().map(sign);
        masks.chain((0..honest.len()).map(|other| i64::from(other == place))).collect()
    };
    let (rows, pivots) = reduced(honest.iter().enumerate().map(row).collect());
    let data_alone = rows.into_iter().zip(pivots).filter(|(_, pivot)| *pivot >= among.len());
    reduced(data_alone.map(|(row, _)| row[among.len()..].to_vec()).collect()).0
}

/// Small graphs by name: all of those on four peers too.
fn small_graphs() -> Vec<(usize, Vec<(usize, usize)>)> {
    let path = |n: usize| (n, (1..n).map(|i| (i - 1, i)).collect::<Vec<_>>());
    let ring = |n: usize| (n, [path(n).1, vec![(0, n - 1)]].concat());
    let star = |n: usize| (n, (1..n).map(|i| (0, i)).collect());
    let complete = |n: usize| (n, (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect());
    let mut graphs = Vec::new();
    for n in 1..=6 {
        graphs.extend([path(n), star(n), complete(n)]);
    }
    graphs.extend((3..=6).map(ring));
    // Two components, of which one is a triangle; and one with a peer that shares nothing.
    graphs.push((6, vec![(0, 2), (2, 4), (0, 4), (1, 3), (3, 5)]));
    graphs.push((5, vec![(0, 3), (1, 3), (1, 4)]));
    let (n, all) = complete(4);
    for chosen in 0..1_u32 << all.len() {
        let kept = all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1);
        graphs.push((n, kept.map(|(_, pair)| *pair).collect()));
    }
    graphs
}

#[test]
fn every_coalition_learns_the_sums_over_components_and_nothing_else() {
    for (n, pairs) in small_graphs() {
        let graph = lists(n, &pairs);
        for members in 0..1_u32 << n {
            let (coalition, honest): (Vec<usize>, Vec<usize>) =
                (0..n).partition(|peer| members >> peer & 1 == 1);
            let ids: Vec<PeerId> = coalition.iter().copied().map(PeerId::new).collect();
            let components = graph.components(&ids);
            let indicator = |component: &Vec<PeerId>| {
                let inside = |&peer: &usize| i64::from(component.contains(&PeerId::new(peer)));
                honest.iter().map(inside).collect()
            };
            let (expected, _) = reduced(components.iter().map(indicator).collect());
            assert_eq!(expected.len(), components.len());
            assert_eq!(determined(&honest, &pairs), expected, "{pairs:?} {coalition:?}");
            if pairs.len() == n * (n - 1) / 2 {
                assert_eq!(MaskGraph::AllPairs(n).components(&ids), components);
            }
        }
    }
}

/// The same with the masks themselves: signs are what the system above takes them to be.
#[test]
fn a_coalition_takes_its_own_masks_off_and_sees_the_sums() {
    let grid = Grid::new(6, 1.0);
    let (seeds, round) = (seeds(3), 9);
    let data = |peer: usize| [0.1 * peer as f64 - 0.2, (peer as f64).sin()];
    for (n, pairs) in small_graphs() {
        let graph = lists(n, &pairs);
        for &(a, b) in &pairs {
            let pair = lists(n, &[(a, b)]);
            let mask = |peer| masked(&[0.0], &grid, &Masks::of(&pair, PeerId::new(peer), seeds), 4);
            assert_eq!(mask(a)[0], mask(b)[0].wrapping_neg(), "one with a plus, one with a minus");
            assert_ne!(mask(a)[0], 0);
        }
        for members in 0..1_u32 << n {
            let inside = |peer: usize| members >> peer & 1 == 1;
            let coalition: Vec<PeerId> =
                (0..n).filter(|&peer| inside(peer)).map(PeerId::new).collect();
            // What the coalition knows of a peer: the masks that it shares with it.
            let seen = |peer: usize| {
                let me = PeerId::new(peer);
                let mut seen = masked(&data(peer), &grid, &Masks::of(&graph, me, seeds), round);
                let shared: Vec<_> = pairs
                    .iter()
                    .copied()
                    .filter(|&(a, b)| (a == peer && inside(b)) || (b == peer && inside(a)))
                    .collect();
                let known = Masks::of(&lists(n, &shared), me, seeds);
                let mut masks = vec![0; 2];
                known.hide(Round(round), &mut masks);
                seen.iter_mut().zip(masks).for_each(|(seen, mask)| *seen = seen.wrapping_sub(mask));
                seen
            };
            for component in graph.components(&coalition) {
                let total = |of: &dyn Fn(usize) -> Vec<u64>| {
                    component.iter().fold([0_u64; 2], |sum, peer| {
                        let addend = of(peer.index());
                        [sum[0].wrapping_add(addend[0]), sum[1].wrapping_add(addend[1])]
                    })
                };
                let plain = |peer: usize| data(peer).map(|value| grid.residue(value)).to_vec();
                let found = total(&seen);
                assert_eq!(found, total(&plain), "{pairs:?} {coalition:?} {component:?}");
                if component.len() > 1 {
                    for peer in &component {
                        let alone = seen(peer.index())[0];
                        assert_ne!(alone, grid.residue(data(peer.index())[0]), "still hidden");
                    }
                }
            }
        }
    }
}

#[test]
fn noise_and_data_are_rounded_each_for_itself() {
    let grid = Grid::new(1, 2.0_f64.powi(61));
    let mut tape = Tape::default();
    tape.record(2, 7, vec![0.4, -3.0, 1e300]);
    let draws = Draws::Tape(Arc::new(tape));
    let noise = PooledNoise { own: 1.0, all: 2.0 };
    let data = [0.4, 0.7, 5.0];
    let sum = pooled(&data, &grid, (noise, Some(draws.at(2, 7))), NOTHING, None);
    let found: Vec<i64> = sum.value().iter().map(|&residue| residue as i64).collect();
    assert_eq!(found, [0, -2, 5 + (1 << 61)], "0.4 + 0.4 is 0 here, and noise is cut to the bound");
}

fn pooled_part(own: f64, all: f64, label: f64, record: f64) -> Part {
    let sensitivity = Sensitivity { label, record };
    Part::Pooled { noise: PooledNoise { own, all }, sensitivity }
}

#[test]
fn a_pooled_addend_costs_what_noise_the_observer_does_not_know() {
    let part = pooled_part(2.0, 8.0, 1.0, 4.0);
    assert_eq!(part.cost(), [Spent::gaussian(0.5), Spent::gaussian(2.0)]);
    assert_eq!(part.outside(), Some([Spent::gaussian(0.125), Spent::gaussian(0.5)]));
    let none = [Spent::unbounded(), Spent::unbounded()];
    assert_eq!(pooled_part(0.0, 8.0, 1.0, 4.0).cost(), none, "all others know the noise");
    assert_eq!(pooled_part(0.0, 0.0, 1.0, 4.0).outside(), Some(none));
    let features = pooled_part(0.0, 0.0, 0.0, 4.0).cost();
    assert_eq!(features, [Spent::default(), Spent::unbounded()], "no label moves it");
    let nothing = [Spent::default(), Spent::default()];
    assert_eq!(pooled_part(0.0, 0.0, 0.0, 0.0).cost(), nothing);
    assert_eq!(pooled_part(0.0, 0.0, 0.0, 0.0).outside(), Some(nothing));
}

#[test]
fn the_rounding_to_the_grid_is_booked() {
    let grid = Grid::new(3, 2.0_f64.powi(56));
    let step = grid.step();
    assert!(step > 1e-3, "a grid so coarse that it shows");
    let noise = PooledNoise { own: 0.5, all: 2.0 };
    for (masks, data) in [(None, [0.0; 9]), (Some(0), [1.0; 9])] {
        let masks = masks.map(|me| Masks::of(&MaskGraph::AllPairs(3), PeerId(me), seeds(2)));
        let masks = masks.as_ref().map(|masks| (masks, Round(1)));
        let sensitivity = Sensitivity { label: 0.0, record: 0.25 };
        let addend = pooled(&data, &grid, (noise, None), sensitivity, masks);
        let record = 0.25 + 3.0 * step;
        assert_eq!(addend.charge(), &Charge::One(pooled_part(0.5, 2.0, 0.0, record)));
    }
}

fn mu_squared([label, record]: [&Spent; 2]) -> [f64; 2] {
    [label.mu_squared(), record.mu_squared()]
}

fn inside(exposure: &Exposure) -> [f64; 2] {
    mu_squared([&exposure.label, &exposure.record])
}

/// Plain noise counts for both kinds of observers, pooled noise for each its own, in either order.
#[test]
fn pooled_and_plain_releases_add_up_for_insiders_and_outsiders() {
    let pooled = Charge::One(pooled_part(1.0, 2.0, 1.0, 2.0));
    let plain = Charge::One(Part::Noisy {
        mechanism: Mechanism::Gaussian { deviation: 1.0 },
        sensitivity: Sensitivity { label: 3.0, record: 4.0 },
        records: Records::All,
        relation: Relation::ReplaceOne,
    });
    let twice = Charge::One(Part::Noisy {
        mechanism: Mechanism::Gaussian { deviation: 1.0 },
        sensitivity: Sensitivity { label: 0.0, record: 1.0 },
        records: Records::All,
        relation: Relation::AddRemove,
    });
    for order in [[0, 1, 2, 0], [0, 0, 1, 2], [1, 2, 0, 0], [2, 0, 0, 1]] {
        let mut account = Account::default();
        for which in order {
            account.book([&pooled, &plain, &twice][which], Receivers::Link);
        }
        let exposure = account.exposure();
        // Two pooled ones, 2·(1, 4) or a quarter of it; (9, 16); and 2² for a record that comes and one
        // that goes.
        assert_eq!(inside(&exposure), [2.0 + 9.0, 8.0 + 16.0 + 4.0], "{order:?}");
        assert_eq!(mu_squared(exposure.outside()), [0.5 + 9.0, 2.0 + 16.0 + 4.0], "{order:?}");
    }
    let mut account = Account::default();
    account.book(&plain, Receivers::Link);
    let exposure = account.exposure();
    assert!(exposure.outside.is_none(), "there is no other figure");
    assert_eq!(mu_squared(exposure.outside()), [9.0, 16.0]);
}

fn exposure(charges: &[Charge]) -> Exposure {
    let mut account = Account::default();
    charges.iter().for_each(|charge| account.book(charge, Receivers::Everybody));
    account.exposure()
}

#[test]
fn the_worst_and_the_total_are_found_for_each_observer_apart() {
    // Worse inside, (16, 64) to (4, 25); better outside, (1, 4) to (4, 25).
    let pooled = exposure(&[Charge::One(pooled_part(0.25, 1.0, 1.0, 2.0))]);
    let plain = exposure(&[Charge::One(Part::Noisy {
        mechanism: Mechanism::Gaussian { deviation: 1.0 },
        sensitivity: Sensitivity { label: 2.0, record: 5.0 },
        records: Records::All,
        relation: Relation::ReplaceOne,
    })]);
    let clear = exposure(&[Charge::One(Part::Clear(Pieces::RECORD))]);
    for pair in [[&pooled, &plain], [&plain, &pooled]] {
        let worst = Exposure::worst(pair);
        assert_eq!(inside(&worst), [16.0, 64.0]);
        assert_eq!(mu_squared(worst.outside()), [4.0, 25.0]);
        let total = Exposure::total(pair);
        assert_eq!(inside(&total), [20.0, 89.0]);
        assert_eq!(mu_squared(total.outside()), [5.0, 29.0]);
    }
    for all in [[&clear, &pooled, &plain], [&plain, &clear, &pooled], [&pooled, &plain, &clear]] {
        for exposure in [Exposure::worst(all), Exposure::total(all)] {
            assert_eq!(exposure.clear, 1);
            let costs = [&exposure.label, &exposure.record].into_iter().chain(exposure.outside());
            assert!(costs.into_iter().all(Spent::is_unbounded));
        }
    }
    // Nobody else knows the noise of a curator, but those inside know it all.
    let curated = exposure(&[Charge::One(pooled_part(0.0, 1.0, 1.0, 2.0))]);
    for pair in [[&curated, &plain], [&plain, &curated]] {
        let worst = Exposure::worst(pair);
        assert!(worst.label.is_unbounded() && worst.record.is_unbounded());
        assert_eq!(mu_squared(worst.outside()), [4.0, 25.0]);
        assert_eq!(mu_squared(Exposure::total(pair).outside()), [5.0, 29.0]);
    }
}

#[test]
fn adding_up_residues_adds_up_their_charges() {
    let parts = [pooled_part(1.0, 2.0, 1.0, 2.0), pooled_part(3.0, 4.0, 1.0, 2.0)];
    let residues: Arc<[u64]> = [u64::MAX, 1].into();
    let [a, b] = parts.map(|part| charged(Arc::clone(&residues), Charge::One(part)));
    let sum = a.added(&b);
    assert_eq!(**sum.value(), [u64::MAX - 1, 2]);
    assert_eq!(sum.charge().parts(), parts);
}
