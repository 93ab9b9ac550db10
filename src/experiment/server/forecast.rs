//! What a run of parties around a server is expected to reach, and with how many local steps.

use super::{Server, root_of_squares};
use crate::experiment::assembly::Assembly;
use crate::experiment::run::ExperimentError;
use crate::learn::dot;
use crate::privacy::PooledNoise;
use crate::protocol::federated::{FederatedConfig, FederatedVariant};
use crate::scenario::Scenario;
use crate::theory::server::{NoisePlace, QuadraticModel, best_local_steps_at};
use crate::topology::Eigen;

/// The pooled objective near its optimum, from the start at 0.
pub(in crate::experiment) fn quadratic(assembly: &Assembly) -> Option<QuadraticModel> {
    let optimum = assembly.optimum.as_ref()?;
    let objective = assembly.scorer.pooled_objective();
    let d = optimum.w.len();
    if d > MOST_EIGENVALUES {
        return None;
    }
    let mut curvatures = vec![0.0; objective.samples.len()];
    objective.curvatures(&optimum.w, &mut curvatures);
    let ridge = assembly.scorer.regulariser().ridge;
    let column = |i: usize| {
        let mut unit = vec![0.0; d];
        unit[i] = 1.0;
        let mut column = vec![0.0; d];
        objective.add_hessian_product(&curvatures, &unit, &mut column);
        column[i] += ridge;
        column
    };
    let Eigen { values, vectors } = Eigen::of((0..d).map(column).collect());
    let errors = vectors.iter().map(|vector| -dot(vector, &optimum.w)).collect();
    Some(QuadraticModel { eigenvalues: values, errors })
}

/// Beyond this dimension no eigenvalues are computed.
const MOST_EIGENVALUES: usize = 512;

/// The most local steps that are tried.
const MOST_LOCAL_STEPS: u32 = 10_000;

/// What trying local steps may cost, in steps times dimensions, and how many passes of the longest that
/// takes.
const SEARCH: f64 = 2e8;
const PASSES: f64 = 110.0;

/// How many local steps before each of R communications are tried.
pub(in crate::experiment) fn most_local_steps(communications: u32, dimension: usize) -> u32 {
    let each = f64::from(communications.max(1)) * dimension.max(1) as f64;
    (SEARCH / (PASSES * each)).clamp(1.0, f64::from(MOST_LOCAL_STEPS)) as u32
}

/// Where a variant has its noise.
pub(in crate::experiment) fn noise_place(variant: FederatedVariant) -> NoisePlace {
    match variant {
        FederatedVariant::Published => NoisePlace::EveryStep,
        FederatedVariant::Masked => NoisePlace::EveryBlock,
    }
}

/// K with the least predicted gap after all communications, at the noise of the scenario.
///
/// # Errors
/// An optimum that was not found: the model has no curvature to look at.
pub(in crate::experiment) fn best_steps(
    scenario: &Scenario,
    assembly: &Assembly,
    federated: &FederatedConfig,
) -> Result<u32, ExperimentError> {
    let model = quadratic(assembly).ok_or_else(|| {
        ExperimentError::Privacy(format!(
            "protocol.federated.steps: `auto` needs the eigenvalues of the curvature at the optimum, in \
             at most {MOST_EIGENVALUES} dimensions: expected a whole number"
        ))
    })?;
    let server = Server::new(scenario, assembly, &federated.sum);
    let (strong, smooth) = server.convexity();
    let most = most_local_steps(federated.communications, model.eigenvalues.len());
    let sigma = server.mean_noise(federated);
    let (rounds, noise) = (federated.communications, noise_place(federated.variant));
    let (best, _) = best_local_steps_at(&model, (strong, smooth), rounds, noise, sigma, most);
    Ok(best)
}

impl Server<'_> {
    /// The deviation of the noise in a mean gradient, as a function of all steps.
    pub(in crate::experiment) fn mean_noise(
        &self,
        federated: &FederatedConfig,
    ) -> impl Fn(u32) -> f64 + use<> {
        let moves = self.mean_moves(self.shares(federated.weights));
        let delta = self.delta();
        let noise = federated.noise;
        // Independent noise of all parties' own steps averages out; shared noise does not.
        let averages = match (federated.variant, noise) {
            (FederatedVariant::Published, Some(noise)) if !noise.shared => {
                root_of_squares(&federated.weights.of(&self.samples()))
            }
            (FederatedVariant::Masked, _) => {
                let PooledNoise { all, .. } = self.shared_out(1.0);
                all
            }
            _ => 1.0,
        };
        // It grows with the root of the steps.
        let of_one = noise.map_or(0.0, |noise| averages * noise.deviation(moves, 1, delta));
        move |steps| of_one * f64::from(steps.max(1)).sqrt()
    }
}
