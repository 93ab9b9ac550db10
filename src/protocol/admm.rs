//! Fully distributed consensus ADMM.
//!
//! Wang, Ishii, Du, Cheng, Chen, "Privacy-preserving ADMM-based distributed machine learning"
//! (arXiv 1908.01059), equations (9) and (10), that is (15) and (17) without noise. Peer i holds
//! m_i samples and J_i(w) = (1/m_i) Σ_j ℓ(y_ij, wᵀx_ij) + (a/n)·½|w|². From w = γ = 0, in round t:
//!
//! ```text
//! w_i ← argmin_w J_i(w) + γ_iᵀw + β Σ_{l ∈ N_i} |w − (w~_i + w~_l)/2|²     primal
//! w~_i ← w_i, sent to the neighbours                                      exchange
//! γ_i ← γ_i + β Σ_{l ∈ N_i} (w~_i − w~_l)                                 dual
//! ```
//!
//! Written out, the argmin is that of F_i(w) + (q/2)|w|² + bᵀw with F_i the mean loss,
//! q = a/n + 2β|N_i| and b = γ_i − β Σ_l (w~_i + w~_l) of the round before.
//!
//! Σ_i γ_i = 0 in every round, so the limit is the optimum of Σ_i J_i, whatever β and the graph.
//!
//! Messages: two per link and round, 8 + 8d bytes each. Memory: see [`AdmmPeer::memory`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::automatic::Automatic;
use super::inbox::{Inbox, Outbox};
use crate::data::LocalData;
use crate::learn::{ChordNewton, DENSE_LIMIT, Loss, Objective, Samples, Subproblem, distance};
use crate::network::{Context, Peer};
use crate::privacy::{Pieces, Released, Wire, WireError, in_the_clear, public};
use crate::units::{PeerId, Round, SimTime};

/// The scenario's `protocol.admm` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmmConfig {
    /// Penalty and dual step β: a number above 0, or `auto` (default) for the one with the best
    /// predicted rate on this graph and data.
    #[serde(default)]
    pub penalty: Automatic,
    /// The most rounds that the peers run, at least 1.
    pub rounds: u32,
    /// Norm of the gradient at which a local argmin counts as solved; default 1e-10, at least
    /// 1e-14.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
}

fn default_tolerance() -> f64 {
    1e-10
}

impl AdmmConfig {
    /// Everything that is wrong with it: (field, what was expected).
    pub fn check(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if let Automatic::Value(beta) = self.penalty
            && !(1e-12..=1e12).contains(&beta)
        {
            problems.push((
                "penalty".to_string(),
                format!("expected `auto` or a number from 1e-12 to 1e12, found {beta}"),
            ));
        }
        if !(1e-14..=1.0).contains(&self.tolerance) {
            problems.push((
                "tolerance".to_string(),
                format!("expected a gradient norm from 1e-14 to 1, found {}", self.tolerance),
            ));
        }
        problems
    }
}

/// What the peers of one run have in common, with every `auto` resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmmParameters {
    /// ℓ.
    pub loss: Loss,
    /// a/n: each peer's share of the regularisation.
    pub ridge: f64,
    /// β.
    pub penalty: f64,
    /// Rounds to run.
    pub rounds: Round,
    /// Gradient norm of a solved argmin.
    pub tolerance: f64,
}

/// The one message: a peer's model of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    round: Round,
    model: Arc<[f64]>,
}

impl Wire for Exchange {
    fn size(&self) -> usize {
        self.round.size() + self.model.size()
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.round.encode(bytes);
        self.model.encode(bytes);
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Self { round: Wire::decode(bytes)?, model: Wire::decode(bytes)? })
    }
}

/// Peer i.
#[derive(Debug)]
pub struct AdmmPeer {
    data: LocalData,
    parameters: AdmmParameters,
    round: Round,
    /// w_i.
    w: Vec<f64>,
    /// γ_i.
    gamma: Vec<f64>,
    /// Σ_l (w~_i + w~_l) of the last complete round.
    sum: Vec<f64>,
    solver: ChordNewton,
    /// w~_i.
    outbox: Outbox,
    /// w~_l.
    inbox: Inbox<Arc<[f64]>>,
}

impl AdmmPeer {
    /// The peer with these samples and these neighbours.
    pub fn new(data: LocalData, neighbours: &[PeerId], parameters: AdmmParameters) -> Self {
        let d = data.dimension();
        Self {
            parameters,
            round: Round(1),
            w: vec![0.0; d],
            gamma: vec![0.0; d],
            sum: vec![0.0; d],
            solver: ChordNewton::new(),
            outbox: Outbox::new(d),
            inbox: Inbox::new(neighbours),
            data,
        }
    }

    /// Bytes that a peer with this many neighbours occupies in dimension d, beside its samples: six
    /// vectors (w, γ, the sum, the loss gradient, two messages), the Cholesky factor, the inbox.
    pub fn memory(neighbours: usize, d: usize) -> usize {
        let factor = if d <= DENSE_LIMIT { d * (d + 1) / 2 } else { 0 };
        const ALLOCATION: usize = 16;
        size_of::<Self>()
            + 8 * (6 * d + factor)
            + Inbox::<Arc<[f64]>>::memory(neighbours)
            + 9 * ALLOCATION
    }

    /// Bytes of one message in dimension d.
    pub fn message_bytes(d: usize) -> usize {
        Round(0).size() + 4 + 8 * d
    }

    /// (15) and the exchange.
    fn primal(&mut self, context: &mut Context<'_, Exchange>) {
        let AdmmParameters { loss, ridge, penalty: beta, tolerance, .. } = self.parameters;
        let degree = self.inbox.neighbours() as f64;

        // b = γ − β Σ_l (w~_i + w~_l), in the place of the message that is no longer needed.
        let outgoing = self.outbox.writable(self.round);
        for ((b, gamma), sum) in outgoing.iter_mut().zip(&self.gamma).zip(&self.sum) {
            *b = gamma - beta * sum;
        }
        let samples = Samples::new(self.data.x(), self.data.y());
        let problem = Subproblem {
            objective: Objective::mean(samples, loss),
            quadratic: ridge + 2.0 * beta * degree,
            linear: outgoing,
        };
        let solved = self.solver.solve(&problem, &mut self.w, tolerance, context.workspace());
        context.spend(solved.passes * samples.len() as f64);
        // A model beyond the finite numbers is a divergence, and reported as one.
        if !solved.converged && solved.residual.is_finite() {
            context.fail(format!(
                "the argmin of round {} is not solved: gradient norm {:e}, asked for {tolerance:e}",
                self.round, solved.residual
            ));
        }

        // w~ = w: nothing protects it.
        outgoing.copy_from_slice(&self.w);
        let model = in_the_clear(self.outbox.shared(self.round), Pieces::RECORD);
        let message = public(self.round).zip(model);
        context.broadcast(&message.map(|(round, model)| Exchange { round, model }));
        if self.inbox.neighbours() == 0 {
            context.timer(SimTime::ZERO);
        }
    }

    /// (17), once every neighbour's w~ of this round is there.
    fn dual(&mut self, context: &mut Context<'_, Exchange>) {
        let beta = self.parameters.penalty;
        let own = self.outbox.content(self.round);
        let workspace = context.workspace();
        workspace.clear();
        workspace.extend_from_slice(&self.sum);
        self.sum.fill(0.0);
        for theirs in self.inbox.take(self.round) {
            let both = own.iter().zip(theirs.iter());
            for ((sum, gamma), (own, theirs)) in self.sum.iter_mut().zip(&mut self.gamma).zip(both)
            {
                *sum += own + theirs;
                *gamma += beta * (own - theirs);
            }
        }
        // |∇J_i(w_i) + γ_i|: by the argmin's optimality it is β times the change of the sum.
        let residual = beta * distance(&self.sum, workspace);
        context.deposit(self.round, &self.w, residual);
    }

    /// Ends every round whose messages are all there, and begins the next.
    fn advance(&mut self, context: &mut Context<'_, Exchange>) {
        while !self.done() && self.inbox.complete(self.round) {
            self.dual(context);
            self.round = self.round.next();
            if !self.done() {
                self.primal(context);
            }
            if self.inbox.neighbours() == 0 {
                return;
            }
        }
    }

    fn done(&self) -> bool {
        self.round > self.parameters.rounds
    }
}

impl Peer for AdmmPeer {
    type Message = Exchange;

    fn start(&mut self, context: &mut Context<'_, Exchange>) {
        self.primal(context);
    }

    fn receive(
        &mut self,
        from: PeerId,
        message: Released<Exchange>,
        context: &mut Context<'_, Exchange>,
    ) {
        let Exchange { round, model } = message.into_value();
        self.inbox.put(from, round, model);
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_, Exchange>) {
        self.advance(context);
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        if self.done() { Vec::new() } else { self.inbox.missing(self.round) }
    }

    fn weight(&self) -> u64 {
        let d = self.data.dimension() as u64;
        d * (4 * self.data.rows() as u64 + d + self.inbox.neighbours() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::three_peers::{ENGINES, rows_and_moments};
    use super::*;
    use crate::data::Partition;

    #[test]
    fn every_round_is_the_recursion_written_in_scalars() {
        let (beta, ridge) = (0.37, 0.2);
        let parameters = AdmmParameters {
            loss: Loss::Squared,
            ridge,
            penalty: beta,
            rounds: Round(40),
            tolerance: 1e-14,
        };
        for engine in ENGINES {
            // The one in the middle has nothing.
            let partition = Partition::Ratio(vec![1.0, 0.0, 3.0]);
            let (rows, moments) =
                rows_and_moments(engine, partition, parameters.rounds, |data, near| {
                    AdmmPeer::new(data, near, parameters)
                });
            assert_eq!(rows.len(), 40);
            let neighbours: [&[usize]; 3] = [&[1], &[0, 2], &[1]];
            let (mut w, mut gamma) = ([0.0; 3], [0.0; 3]);
            for row in rows {
                // argmin of ½ E[x²] w² − E[xy] w + ½ (a/n) w² + γw + β Σ_l (w − (w_i + w_l)/2)²
                let next = [0, 1, 2].map(|i| {
                    let sum: f64 = neighbours[i].iter().map(|&l| w[i] + w[l]).sum();
                    let degree = neighbours[i].len() as f64;
                    let (xx, xy) = moments[i];
                    (xy - gamma[i] + beta * sum) / (xx + ridge + 2.0 * beta * degree)
                });
                w = next;
                let own_gradient = |i: usize| moments[i].0 * w[i] - moments[i].1 + ridge * w[i];
                for i in 0..3 {
                    gamma[i] += beta * neighbours[i].iter().map(|&l| w[i] - w[l]).sum::<f64>();
                    assert!((row.scored[i] - w[i]).abs() < 1e-13, "{:?} {i}", row.round);
                    let residual = (own_gradient(i) + gamma[i]).abs();
                    assert!((row.residuals[i] - residual).abs() < 1e-12, "{:?} {i}", row.round);
                }
                assert!(gamma.iter().sum::<f64>().abs() < 1e-14, "Σγ = 0");
                assert_eq!(row.messages, 4 * u64::from(row.round.0), "two per link and round");
                assert_eq!(row.bytes, row.messages * AdmmPeer::message_bytes(1) as u64);
                assert_eq!(row.releases, 3 * u64::from(row.round.0), "one per peer and round");
            }
        }
    }

    #[test]
    fn a_message_survives_the_wire() {
        let message = Exchange { round: Round(7), model: vec![1.5, -2.0, f64::MIN].into() };
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        assert_eq!(bytes.len(), message.size());
        assert_eq!(bytes.len(), AdmmPeer::message_bytes(3));
        assert_eq!(Exchange::decode(&mut bytes.as_slice()), Ok(message));
    }
}
