//! What privacy accounting costs: from what was spent to ε, one release into the books, and noise
//! from ε.
//!
//! ```text
//! cargo bench --bench accountants
//! ```

use std::sync::Arc;

use divan::{Bencher, black_box};
use hushmesh::privacy::{
    Account, Batches, Budget, Calibration, Mechanism, Receivers, Records, Relation, Released,
    Sensitivity, Spent, gaussian_delta, gaussian_epsilon, gaussian_mu, noisy, renyi_epsilon,
};
use hushmesh::random::{Draws, Purpose, Streams};
use hushmesh::units::{Delta, Epsilon, Seed};

const DELTA: Delta = Delta(1e-5);

fn main() {
    divan::main();
}

/// From μ to (ε, δ) and back, by the exact profile.
mod gaussian {
    use super::*;

    #[divan::bench(args = [0.1, 1.0, 5.0])]
    fn delta_of_epsilon(mu: f64) -> f64 {
        gaussian_delta(black_box(mu), Epsilon(1.0))
    }

    #[divan::bench(args = [0.1, 1.0, 5.0])]
    fn epsilon_of_mu(mu: f64) -> Epsilon {
        gaussian_epsilon(black_box(mu), DELTA)
    }

    #[divan::bench(args = [0.1, 1.0, 5.0])]
    fn mu_of_epsilon(epsilon: f64) -> f64 {
        gaussian_mu(Epsilon(black_box(epsilon)), DELTA)
    }
}

/// From sums of releases to ε, by whatever route is the least.
mod bound {
    use super::*;

    #[divan::bench]
    fn of_gaussians(bencher: Bencher<'_, '_>) {
        let spent = Spent::gaussian(0.1).times(100);
        bencher.bench_local(|| black_box(&spent).bound(DELTA));
    }

    #[divan::bench]
    fn of_gaussians_laplace_and_responses(bencher: Bencher<'_, '_>) {
        let mut spent = Spent::gaussian(0.1).times(100);
        spent.add(&Spent::laplace(0.05).times(40));
        spent.add(&Spent::response(Epsilon(0.1)).times(20));
        bencher.bench_local(|| black_box(&spent).bound(DELTA));
    }

    #[divan::bench]
    fn of_one_renyi_curve(bencher: Bencher<'_, '_>) {
        bencher.bench_local(|| renyi_epsilon(|alpha| 0.5 * black_box(alpha), DELTA));
    }

    #[divan::bench]
    fn budget_asked(bencher: Bencher<'_, '_>) {
        let budget = Budget::new(Epsilon(1.0), DELTA, 1);
        let spent = Spent::gaussian(0.1);
        bencher.bench_local(|| budget.allows(black_box(&spent)));
    }
}

/// Noise for a given ε and δ.
mod calibration {
    use super::*;

    #[divan::bench(args = [Calibration::Exact, Calibration::Classic])]
    fn deviation(calibration: Calibration) -> f64 {
        let found = calibration.deviation(black_box(1.0), Epsilon(0.5), DELTA);
        found.expect("there is such noise")
    }
}

/// One release into a peer's account.
mod booking {
    use super::*;

    const SENSITIVITY: Sensitivity = Sensitivity { label: 0.05, record: 0.1 };

    fn release(records: Records) -> Released<Arc<[f64]>> {
        let draws = Draws::Streams(Streams::new(Seed(1), 0).family(Purpose::PrimalNoise, 0));
        let mechanism = Mechanism::Gaussian { deviation: 1.0 };
        let (value, draw) = (Arc::from([0.0]), draws.at(0, 0));
        noisy(value, mechanism, SENSITIVITY, records, Relation::ReplaceOne, draw)
    }

    #[divan::bench]
    fn of_any_record(bencher: Bencher<'_, '_>) {
        let (mut account, release) = (Account::default(), release(Records::All));
        bencher.bench_local(|| account.book(black_box(release.charge()), Receivers::Neighbours));
    }

    /// A release concerns some of 1,200 batches.
    #[divan::bench(args = [1, 10, 100])]
    fn of_batches(bencher: Bencher<'_, '_>, count: u32) {
        let releases: Vec<_> = (0..1200)
            .map(|first| release(Records::Batches(Batches { first, count, of: 1200 })))
            .collect();
        let (mut account, mut turn) = (Account::default(), releases.iter().cycle());
        bencher.bench_local(|| {
            let release = turn.next().expect("a cycle has no end");
            account.book(black_box(release.charge()), Receivers::Everybody);
        });
    }

    #[divan::bench]
    fn exposure_of_an_account(bencher: Bencher<'_, '_>) {
        let mut account = Account::default();
        account.book(release(Records::All).charge(), Receivers::Neighbours);
        bencher.bench_local(|| black_box(&account).exposure());
    }
}
