use proptest::prelude::*;

use super::super::{in_the_clear, public};
use super::*;

fn gaussian(label: f64, record: f64, relation: Relation) -> Charge {
    let sensitivity = Sensitivity { label, record };
    let mechanism = Mechanism::Gaussian { deviation: 1.0 };
    Charge::One(Part::Noisy { mechanism, sensitivity, records: Records::All, relation })
}

#[test]
fn sending_twice_is_booked_twice_and_public_values_are_no_release_of_data() {
    let mut account = Account::default();
    let clear = in_the_clear((), Pieces::RECORD);
    account.book(clear.charge(), Receivers::Neighbours);
    account.book(clear.charge(), Receivers::Neighbours);
    account.book(clear.charge(), Receivers::Link);
    account.book(public(()).charge(), Receivers::Link);
    assert_eq!(account.exposure().clear, 3);
    assert!(account.exposure().record.is_unbounded());
    assert_eq!(account.lines().len(), 2, "one line per kind");
    assert_eq!(account.lines()[0].count, 2);
}

#[test]
fn the_account_of_a_thousand_scales_is_one_line() {
    let mut account = Account::default();
    for t in 1..=1000 {
        let t = f64::from(t);
        account.book(&gaussian(0.5 / t, 1.0 / t, Relation::ReplaceOne), Receivers::Neighbours);
    }
    assert_eq!(account.lines().len(), 1);
    let exposure = account.exposure();
    let basel: f64 = (1..=1000).map(|t| f64::from(t).powi(-2)).sum();
    assert!((exposure.record.mu_squared() - basel).abs() < 1e-12);
    assert!((exposure.label.mu_squared() - basel / 4.0).abs() < 1e-12);
}

#[test]
fn a_message_sent_twice_costs_more_epsilon() {
    let delta = Delta(1e-5);
    let mut account = Account::default();
    let charge = gaussian(0.1, 0.2, Relation::ReplaceOne);
    account.book(&charge, Receivers::Link);
    let once = account.exposure().record.bound(delta).epsilon;
    account.book(&charge, Receivers::Link);
    let twice = account.exposure().record.bound(delta).epsilon;
    assert!(twice.0 > 1.3 * once.0, "{once} {twice}");
}

#[test]
fn adding_and_removing_is_half_of_replacing() {
    let mut account = Account::default();
    account.book(&gaussian(0.0, 1.0, Relation::AddRemove), Receivers::Link);
    account.book(&gaussian(0.0, 1.0, Relation::ReplaceOne), Receivers::Link);
    assert_eq!(account.lines().len(), 2, "relations are kept apart");
    assert!((account.exposure().record.mu_squared() - 5.0).abs() < 1e-12);
}

#[test]
fn a_budget_allows_what_the_accountant_says() {
    let delta = Delta(1e-5);
    for copies in [1, 3] {
        let budget = Budget::new(Epsilon(1.0), delta, copies);
        for steps in 1..40 {
            let spent = Spent::gaussian(0.02 * f64::from(steps));
            let epsilon = spent.group(copies).bound(delta).epsilon;
            assert_eq!(budget.allows(&spent), epsilon.0 <= 1.0, "{copies} {steps}");
        }
        assert!(!budget.allows(&Spent::laplace(1.001)));
        assert!(budget.allows(&Spent::laplace(0.33)));
        assert!(!budget.allows(&Spent::unbounded()));
    }
}

/// A use of these batches, of μ = 1 for a record and 1/2 for a label.
fn batches(first: u32, count: u32, of: u32) -> Charge {
    Charge::One(batch_part(Batches { first, count, of }, 1.0))
}

fn batch_part(batches: Batches, deviation: f64) -> Part {
    Part::Noisy {
        mechanism: Mechanism::Gaussian { deviation },
        sensitivity: Sensitivity { label: 0.5, record: 1.0 },
        records: Records::Batches(batches),
        relation: Relation::ReplaceOne,
    }
}

fn squares(exposure: &Exposure) -> [f64; 2] {
    [exposure.label.mu_squared(), exposure.record.mu_squared()]
}

#[test]
fn releases_of_other_batches_cost_a_record_nothing_and_those_of_its_own_add_up() {
    let mut account = Account::default();
    for batch in 0..100 {
        account.book(&batches(batch, 1, 100), Receivers::Link);
    }
    assert_eq!(squares(&account.exposure()), [0.25, 1.0], "one pass");
    account.book(&batches(17, 1, 100), Receivers::Everybody);
    assert_eq!(squares(&account.exposure()), [0.5, 2.0], "batch 17 again");
    assert_eq!(account.batches()[16..19], [[0.25, 1.0], [0.5, 2.0], [0.25, 1.0]]);
    // What concerns all records costs every batch.
    account.book(&gaussian(1.0, 2.0, Relation::ReplaceOne), Receivers::Link);
    assert_eq!(squares(&account.exposure()), [1.5, 6.0]);
    let counts: Vec<_> = account.lines().iter().map(|line| (line.receivers, line.count)).collect();
    let expected = [(Receivers::Link, 100), (Receivers::Everybody, 1), (Receivers::Link, 1)];
    assert_eq!(counts, expected);
}

#[test]
fn two_uses_of_a_batch_in_one_release_cost_four_times_as_much_as_one() {
    let mut account = Account::default();
    // Batches 2, 3, 0, 1, 2: the first of them twice.
    account.book(&batches(2, 5, 4), Receivers::Link);
    assert_eq!(account.batches(), [[0.25, 1.0], [0.25, 1.0], [1.0, 4.0], [0.25, 1.0]]);
    assert_eq!(squares(&account.exposure()), [1.0, 4.0]);
}

#[test]
fn batches_that_cannot_be_told_apart_are_booked_for_every_record() {
    let part = |mechanism, count, of, relation| {
        let sensitivity = Sensitivity { label: 0.5, record: 1.0 };
        let records = Records::Batches(Batches { first: 0, count, of });
        Charge::One(Part::Noisy { mechanism, sensitivity, records, relation })
    };
    let normal = Mechanism::Gaussian { deviation: 1.0 };
    let mut account = Account::default();
    account.book(&part(normal, 1, 4, Relation::ReplaceOne), Receivers::Link);
    // Another cut: each record may be in a batch that was used ⌈7/3⌉ = 3 times.
    account.book(&part(normal, 7, 3, Relation::ReplaceOne), Receivers::Link);
    assert_eq!(squares(&account.exposure()), [0.25 * 10.0, 10.0]);
    // Records that come or go: two uses, and replacing is a group of two.
    account.book(&part(normal, 2, 4, Relation::AddRemove), Receivers::Link);
    assert_eq!(squares(&account.exposure()), [0.25 * 26.0, 26.0]);
    // No batches at all.
    account.book(&part(normal, 2, 0, Relation::ReplaceOne), Receivers::Link);
    assert_eq!(squares(&account.exposure()), [0.25 * 30.0, 30.0]);
    let before = account.exposure().record;
    let laplace = Mechanism::Laplace { scale: 2.0 };
    account.book(&part(laplace, 1, 4, Relation::ReplaceOne), Receivers::Link);
    let mut expected = before;
    expected.add(&Spent::laplace(0.5));
    assert_eq!(account.exposure().record, expected);
    assert_eq!(account.batches().len(), 4);
}

#[test]
fn a_mistaken_scale_or_no_bound_on_a_batch_is_no_protection() {
    for deviation in [0.0, f64::NAN] {
        let mut account = Account::default();
        let part = batch_part(Batches { first: 1, count: 1, of: 3 }, deviation);
        account.book(&Charge::One(part), Receivers::Link);
        assert!(account.exposure().record.is_unbounded());
        let unbounded = |batch: usize| account.batches()[batch][1] == f64::INFINITY;
        assert!(unbounded(1) && !unbounded(0), "another batch");
    }
}

#[test]
fn sums_of_costs_do_not_depend_on_their_order() {
    // σ/Δ = 7 by steps that round differently: μ² is 1/49 but for its last bits.
    let steps: Vec<f64> = (1..200).map(|t| 0.3 / f64::from(t).sqrt()).collect();
    let total = |steps: &mut dyn Iterator<Item = &f64>| {
        let mut account = Account::default();
        for step in steps {
            let mechanism = Mechanism::Gaussian { deviation: 7.0 * step };
            let sensitivity = Sensitivity { label: 0.5 * step, record: *step };
            let records = Records::Batches(Batches { first: 0, count: 1, of: 1 });
            let relation = Relation::ReplaceOne;
            let part = Part::Noisy { mechanism, sensitivity, records, relation };
            account.book(&Charge::One(part), Receivers::Everybody);
        }
        squares(&account.exposure())
    };
    let forth = total(&mut steps.iter());
    assert_eq!(forth, total(&mut steps.iter().rev()));
    let expected = 199.0 / 49.0;
    assert!(forth[1] >= expected && forth[1] < expected * (1.0 + 2e-12), "{forth:?}");
}

/// Where costs add up without rounding, which those of batches do.
#[test]
fn two_accounts_together_are_one_of_all_releases() {
    let releases: Vec<Charge> = (0..40)
        .map(|k| match k % 4 {
            0 => Charge::One(Part::Clear(Pieces::LABELS)),
            1 => Charge::Public,
            _ => batches(k % 7, 1 + k % 3, 7),
        })
        .collect();
    let booked = |charges: &mut dyn Iterator<Item = &Charge>| {
        let mut account = Account::default();
        charges.for_each(|charge| account.book(charge, Receivers::Everybody));
        account
    };
    let all = booked(&mut releases.iter());
    for cut in [0, 1, 9, 20, 40] {
        let mut first = booked(&mut releases[..cut].iter());
        first.merge(&booked(&mut releases[cut..].iter()));
        assert_eq!(first, all, "cut at {cut}");
    }
}

/// Releases of one part or two; a third of them of all records, now and then in another cut.
fn any_charges() -> impl Strategy<Value = Vec<Vec<Part>>> {
    let part = (0..4_u32, 0..12_u32, 0..12_u32, 0.5..3.0_f64).prop_map(
        |(kind, first, count, deviation)| {
            let of = if kind == 0 { 3 } else { 5 };
            let part = batch_part(Batches { first, count, of }, deviation);
            match (kind, part) {
                (3, Part::Noisy { mechanism, sensitivity, relation, .. }) => {
                    Part::Noisy { mechanism, sensitivity, records: Records::All, relation }
                }
                _ => part,
            }
        },
    );
    prop::collection::vec(prop::collection::vec(part, 1..3), 0..12)
}

/// Σμ² of each of 15 records for such a part, counting uses one by one: record r is batch r mod `of`.
fn one_by_one(part: &Part) -> [[f64; 2]; 15] {
    let Part::Noisy { mechanism: Mechanism::Gaussian { deviation }, records, .. } = *part else {
        panic!("noise is Gaussian here");
    };
    std::array::from_fn(|record| {
        let uses = match records {
            Records::All => 1,
            Records::Batches(Batches { first, count, of }) => {
                (first..first + count).filter(|use_| use_ % of == record as u32 % of).count()
            }
        };
        let mu = uses as f64 / deviation;
        [0.25 * mu * mu, mu * mu]
    })
}

fn charge(parts: &[Part]) -> Charge {
    Charge::Several(parts.into())
}

proptest! {
    #[test]
    fn the_books_say_what_a_ledger_of_every_record_says(charges in any_charges()) {
        let mut account = Account::default();
        let mut records = [[0.0; 2]; 15];
        let mut cuts = std::collections::BTreeSet::new();
        for parts in &charges {
            let mut later = records;
            for part in parts {
                if let Part::Noisy { records: Records::Batches(batches), .. } = part {
                    cuts.insert(batches.of);
                }
                for (sums, more) in later.iter_mut().zip(one_by_one(part)) {
                    *sums = [sums[0] + more[0], sums[1] + more[1]];
                }
            }
            let worst = later.iter().fold([0.0_f64; 2], |worst, sums| {
                [worst[0].max(sums[0]), worst[1].max(sums[1])]
            });
            account.book(&charge(parts), Receivers::Everybody);
            for (found, expected) in squares(&account.exposure()).into_iter().zip(worst) {
                // Exact in one cut, and never below the truth in several.
                prop_assert!(found >= expected * (1.0 - 1e-12), "{} for {}", found, expected);
                let exact = found <= expected * (1.0 + 2e-12);
                prop_assert!(cuts.len() > 1 || exact, "{} for {}", found, expected);
            }
            records = later;
        }
    }
}
