use super::*;
use crate::random::{Draws, Purpose, Streams};
use crate::units::Seed;

fn draws() -> Draws {
    Draws::Streams(Streams::new(Seed(5), 0).family(Purpose::PrimalNoise, 0))
}

#[test]
fn a_message_costs_what_its_parts_cost() {
    let clear = |pieces| Charge::One(Part::Clear(pieces));
    let labels = in_the_clear(1, Pieces::LABELS);
    let features = in_the_clear(2, Pieces::FEATURES);
    assert_eq!(public(0).zip(labels.clone()).charge(), &clear(Pieces::LABELS));
    assert_eq!(labels.zip(features).charge(), &clear(Pieces::RECORD));
    assert_eq!(public(0).zip(public(1)).charge(), &Charge::Public);
    assert_eq!(in_the_clear(2, Pieces::RECORD).map(|x| x + 1).into_value(), 3);
}

#[test]
fn two_mechanisms_in_one_message_are_both_booked() {
    let sensitivity = Sensitivity { label: 1.0, record: 2.0 };
    let of = |mechanism, position| {
        let vector: Arc<[f64]> = vec![0.0].into();
        let draws = draws();
        let draw = draws.at(0, position);
        noisy(vector, mechanism, sensitivity, Records::All, Relation::ReplaceOne, draw)
    };
    let both =
        of(Mechanism::Gaussian { deviation: 4.0 }, 0).zip(of(Mechanism::Laplace { scale: 1.0 }, 1));
    let costs: Vec<_> = both.charge().parts().iter().map(Part::cost).collect();
    assert_eq!(costs[0], [Spent::gaussian(0.25), Spent::gaussian(0.5)]);
    assert_eq!(costs[1], [Spent::laplace(1.0), Spent::laplace(2.0)]);
}

#[test]
fn a_cyclic_range_uses_what_counting_one_by_one_says() {
    for of in 1..6 {
        for first in 0..8 {
            for count in 0..14 {
                let batches = Batches { first, count, of };
                let mut uses = vec![0; of as usize];
                (first..first + count).for_each(|use_| uses[(use_ % of) as usize] += 1);
                let found: Vec<u32> = (0..of).map(|batch| batches.uses(batch)).collect();
                assert_eq!(found, uses, "{batches:?}");
                assert_eq!(batches.most_uses(), uses.iter().copied().max().unwrap());
                let mut concerned: Vec<u32> = batches.iter().collect();
                concerned.sort_unstable();
                let used = (0..of).filter(|&batch| uses[batch as usize] > 0);
                assert_eq!(concerned, used.collect::<Vec<_>>(), "{batches:?}");
            }
        }
    }
    let none = Batches { first: 3, count: 2, of: 0 };
    assert_eq!((none.uses(0), none.most_uses(), none.iter().count()), (0, 2, 0));
    let end = Batches { first: u32::MAX - 1, count: 3, of: u32::MAX };
    assert_eq!(end.iter().collect::<Vec<_>>(), [u32::MAX - 1, 0, 1]);
    assert_eq!([end.uses(1), end.uses(2), end.uses(u32::MAX)], [1, 0, 0]);
}

#[test]
fn two_uses_in_one_release_move_it_twice_as_far() {
    let sensitivity = Sensitivity { label: 1.0, record: f64::INFINITY };
    let part = |mechanism, count, relation| {
        let records = Records::Batches(Batches { first: 1, count, of: 3 });
        Part::Noisy { mechanism, sensitivity, records, relation }.cost()
    };
    let normal = Mechanism::Gaussian { deviation: 4.0 };
    let none = [Spent::default(), Spent::default()];
    assert_eq!(part(normal, 0, Relation::ReplaceOne), none);
    let cost = |spent| [spent, Spent::unbounded()];
    assert_eq!(part(normal, 3, Relation::ReplaceOne), cost(Spent::gaussian(0.25)));
    assert_eq!(part(normal, 4, Relation::ReplaceOne), cost(Spent::gaussian(0.5)));
    assert_eq!(part(normal, 4, Relation::AddRemove), cost(Spent::gaussian(1.0)));
    let laplace = Mechanism::Laplace { scale: 1.0 };
    assert_eq!(part(laplace, 7, Relation::ReplaceOne), cost(Spent::laplace(3.0)));
}

#[test]
fn what_was_settled_is_the_same_value_and_costs_nothing_more() {
    let settled = in_the_clear(7, Pieces::RECORD).settled();
    assert_eq!(settled.value(), &7);
    let arrived = settled.arrived();
    assert_eq!((arrived.charge(), arrived.value()), (&Charge::Public, &7));
}

#[test]
fn what_is_on_its_way_can_go_on_in_another_process() {
    let settled = in_the_clear(7_u32, Pieces::RECORD).settled();
    let mut bytes = Vec::new();
    settled.pack(&mut bytes);
    let mut rest = bytes.as_slice();
    assert_eq!(Settled::unpack(&mut rest), Ok(settled));
    assert!(rest.is_empty());
}

/// Mean, variance and mean absolute value over 40,000 draws, each within five of its standard
/// errors.
#[test]
fn the_noise_has_its_law() {
    let sensitivity = Sensitivity { label: 0.0, record: 0.0 };
    let count = 40_000;
    for (mechanism, variance, absolute, fourth) in [
        (
            Mechanism::Gaussian { deviation: 3.0 },
            9.0,
            3.0 * (2.0 / std::f64::consts::PI).sqrt(),
            3.0,
        ),
        (Mechanism::Laplace { scale: 2.0 }, 8.0, 2.0, 6.0),
    ] {
        let zeros: Arc<[f64]> = vec![1.0; count].into();
        let kept = Arc::clone(&zeros);
        let draws = draws();
        let draw = draws.at(7, 0);
        let released =
            noisy(zeros, mechanism, sensitivity, Records::All, Relation::ReplaceOne, draw);
        assert!(kept.iter().all(|&value| value == 1.0), "what others hold stays");
        let noise: Vec<f64> = released.value().iter().map(|value| value - 1.0).collect();
        let mean = |f: &dyn Fn(f64) -> f64| noise.iter().map(|&x| f(x)).sum::<f64>() / count as f64;
        let root = (count as f64).sqrt();
        assert!(mean(&|x| x).abs() < 5.0 * f64::sqrt(variance) / root);
        let of_square = variance * f64::sqrt(fourth - 1.0);
        assert!((mean(&|x| x * x) - variance).abs() < 5.0 * of_square / root);
        let of_absolute = f64::sqrt(variance - absolute * absolute);
        assert!((mean(&f64::abs) - absolute).abs() < 5.0 * of_absolute / root);
    }
}
