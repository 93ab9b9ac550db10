//! Decentralised gradient descent and gradient tracking, with Metropolis weights.
//!
//! Two first-order baselines for ADMM. J_i(w) = (1/m_i) Σ_j ℓ(y_ij, wᵀx_ij) + (a/n)·½|w|² as there;
//! W_il = 1/(1 + max(N_i, N_l)) on links, W_ii = 1 − Σ_l W_il (Metropolis): symmetric, rows sum to 1.
//!
//! ```text
//! descent:   w_i(t) = Σ_l W_il w_l(t−1) − α ∇J_i(w_i(t−1))
//! tracking:  w_i(t) = Σ_l W_il w_l(t−1) − α g_i(t−1)
//!            g_i(t) = Σ_l W_il g_l(t−1) + ∇J_i(w_i(t)) − ∇J_i(w_i(t−1)),   g_i(0) = ∇J_i(w_i(0))
//! ```
//!
//! from w = 0. Descent with a constant step (Nedić & Ozdaglar 2009) does not end at the optimum of
//! Σ_i J_i but at that of Σ_i J_i(w_i) + (1/2α) wᵀ(I − W)w, at a distance of order α (Yuan, Ling,
//! Yin 2016). Tracking (DIGing: Nedić, Olshevsky, Shi 2017) corrects that: Σ_i g_i = Σ_i ∇J_i(w_i) in
//! every round, so at its limit the mean gradient vanishes.
//!
//! Peers first tell each other how many neighbours they have, in the clear and without any data in
//! it, since the weights need it. Messages: two per link and round, 8 + 8d bytes each (8 + 16d with
//! tracking), and two greetings of 4 bytes per link. One pass over the samples per round.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::automatic::Automatic;
use super::inbox::{Inbox, Outbox};
use super::metropolis::Metropolis;
use crate::data::LocalData;
use crate::learn::{Loss, Objective, Samples, axpy, distance, norm};
use crate::network::{Context, Peer, Received, Snapshot};
use crate::privacy::{Pieces, Wire, WireError, in_the_clear, public};
use crate::units::{PeerId, Round, SimTime};

/// The scenario's `protocol.gradient-descent` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradientDescentConfig {
    /// Step α, above 0. The smaller, the slower, and the closer to the optimum the run ends.
    pub step: f64,
    /// The rounds that the peers run, at least 1.
    pub rounds: u32,
}

/// The scenario's `protocol.gradient-tracking` section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradientTrackingConfig {
    /// Step α: a number above 0, or `auto` (default) for the one with the best predicted rate on
    /// this graph and data.
    #[serde(default)]
    pub step: Automatic,
    /// The rounds that the peers run, at least 1.
    pub rounds: u32,
}

/// What is wrong with a step: (field, what was expected).
pub(super) fn check_step(step: Automatic) -> Vec<(String, String)> {
    match step {
        Automatic::Value(step) if !(step > 0.0 && step <= 1e12) => {
            vec![("step".to_string(), format!("expected a number above 0, found {step}"))]
        }
        _ => Vec::new(),
    }
}

/// What the peers of one run have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientParameters {
    /// ℓ.
    pub loss: Loss,
    /// a/n: each peer's share of the regularisation.
    pub ridge: f64,
    /// α.
    pub step: f64,
    /// Rounds to run.
    pub rounds: Round,
    /// Whether gradients are tracked.
    pub tracking: bool,
    /// What no mechanism has protected before the peers got it.
    pub unprotected: Pieces,
}

/// What peers say to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// How many neighbours I have.
    Degree(u32),
    /// My model, and with tracking my g after it, at the beginning of a round.
    State(Round, Arc<[f64]>),
}

/// The top bit of the first word tells a greeting from a state: rounds and degrees stay below 2³¹.
impl Wire for Say {
    fn size(&self) -> usize {
        match self {
            Self::Degree(degree) => degree.size(),
            Self::State(round, state) => round.size() + state.size(),
        }
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Degree(degree) => (degree | GREETING).encode(bytes),
            Self::State(round, state) => {
                round.encode(bytes);
                state.encode(bytes);
            }
        }
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let head = u32::decode(bytes)?;
        if head & GREETING != 0 {
            Ok(Self::Degree(head & !GREETING))
        } else {
            Ok(Self::State(Round(head), Wire::decode(bytes)?))
        }
    }
}

const GREETING: u32 = 1 << 31;

/// Peer i.
#[derive(Debug)]
pub struct GradientPeer {
    data: LocalData,
    parameters: GradientParameters,
    round: Round,
    weights: Metropolis,
    /// w_i.
    w: Vec<f64>,
    /// ∇J_i(w_i).
    gradient: Vec<f64>,
    /// g_i, with tracking.
    tracker: Vec<f64>,
    outbox: Outbox,
    inbox: Inbox<Arc<[f64]>>,
}

/// Degrees are exchanged before the first round.
const GREETINGS: Round = Round(0);

impl GradientPeer {
    /// The peer with these samples and these neighbours.
    pub fn new(data: LocalData, neighbours: &[PeerId], parameters: GradientParameters) -> Self {
        let d = data.dimension();
        let tracked = if parameters.tracking { d } else { 0 };
        Self {
            parameters,
            round: GREETINGS,
            weights: Metropolis::new(neighbours),
            w: vec![0.0; d],
            gradient: vec![0.0; d],
            tracker: vec![0.0; tracked],
            outbox: Outbox::new(d + tracked),
            inbox: Inbox::new(neighbours),
            data,
        }
    }

    /// Bytes that a peer with this many neighbours occupies in dimension d, beside its samples.
    pub fn memory(neighbours: usize, d: usize, tracking: bool) -> usize {
        let vectors = if tracking { 7 } else { 4 };
        const ALLOCATION: usize = 16;
        size_of::<Self>()
            + 8 * vectors * d
            + Metropolis::memory(neighbours)
            + Inbox::<Arc<[f64]>>::memory(neighbours)
            + 10 * ALLOCATION
    }

    /// Bytes of one message of a round in dimension d.
    pub fn message_bytes(d: usize, tracking: bool) -> usize {
        Round(0).size() + 4 + 8 * d * if tracking { 2 } else { 1 }
    }

    /// Bytes of the greeting.
    pub const GREETING_BYTES: usize = 4;

    /// ∇J_i(w_i), in one pass.
    fn refresh_gradient(&mut self, context: &mut Context<'_, Say>) {
        let held = self.data.held();
        let samples = Samples::new(held.view().x, held.view().y);
        let objective = Objective::mean(samples, self.parameters.loss);
        objective.gradient(&self.w, &mut self.gradient);
        axpy(self.parameters.ridge, &self.w, &mut self.gradient);
        context.spend(samples.len() as f64);
    }

    /// Sends w (and g) of the last round, at the beginning of the next.
    fn tell(&mut self, context: &mut Context<'_, Say>) {
        self.round = self.round.next();
        let outgoing = self.outbox.writable(self.round);
        let (model, tracker) = outgoing.split_at_mut(self.w.len());
        model.copy_from_slice(&self.w);
        tracker.copy_from_slice(&self.tracker);
        let state = in_the_clear(self.outbox.shared(self.round), self.parameters.unprotected);
        let message = public(self.round).zip(state);
        context.broadcast(message.map(|(round, state)| Say::State(round, state)));
        if self.inbox.neighbours() == 0 {
            context.timer(SimTime::ZERO);
        }
    }

    /// One step of descent or tracking, once every neighbour's state is there.
    fn step(&mut self, context: &mut Context<'_, Say>) {
        let GradientParameters { step: alpha, tracking, .. } = self.parameters;
        let d = self.w.len();
        // Σ_l W_il (w_l, g_l), the own term first, then in the order of neighbours.
        let mixed = {
            let own = self.outbox.content(self.round);
            let workspace = context.workspace();
            workspace.clear();
            workspace.extend(own.iter().map(|value| self.weights.own() * value));
            let weights = self.weights.of_neighbours().iter();
            for (weight, theirs) in weights.zip(self.inbox.take(self.round)) {
                axpy(*weight, &theirs, workspace);
            }
            workspace
        };
        if tracking {
            self.w.copy_from_slice(&mixed[..d]);
            axpy(-alpha, &self.tracker, &mut self.w);
            self.tracker.copy_from_slice(&mixed[d..]);
            axpy(-1.0, &self.gradient, &mut self.tracker);
            self.refresh_gradient(context);
            axpy(1.0, &self.gradient, &mut self.tracker);
            let residual = norm(&self.tracker);
            context.deposit(self.round, &Snapshot { residual, ..Snapshot::of(&self.w) });
        } else {
            axpy(-alpha, &self.gradient, mixed);
            let residual = distance(&self.w, mixed) / alpha;
            self.w.copy_from_slice(mixed);
            context.deposit(self.round, &Snapshot { residual, ..Snapshot::of(&self.w) });
            // The gradient is the next round's work, if there is one.
            if self.round < self.parameters.rounds {
                self.refresh_gradient(context);
            }
        }
    }

    /// Does all that the messages at hand allow.
    fn advance(&mut self, context: &mut Context<'_, Say>) {
        if self.round == GREETINGS {
            if !self.weights.complete() {
                return;
            }
            self.weights.settle();
            self.tell(context);
            if self.inbox.neighbours() == 0 {
                return;
            }
        }
        while !self.done() && self.inbox.complete(self.round) {
            self.step(context);
            if self.round == self.parameters.rounds {
                self.round = self.round.next();
            } else {
                self.tell(context);
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

impl Peer for GradientPeer {
    type Message = Say;

    fn make_room(&mut self) {
        self.outbox.make_room();
    }

    fn start(&mut self, context: &mut Context<'_, Say>) {
        self.refresh_gradient(context);
        if self.parameters.tracking {
            self.tracker.copy_from_slice(&self.gradient);
        }
        let degree = context.neighbours().len() as u32;
        context.broadcast(public(Say::Degree(degree)));
        self.advance(context);
    }

    fn receive(&mut self, from: PeerId, said: Received<'_, Say>, context: &mut Context<'_, Say>) {
        match said.into_value() {
            Say::Degree(degree) => self.weights.hear(from, degree),
            Say::State(round, state) => self.inbox.put(from, round, state),
        }
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_, Say>) {
        self.advance(context);
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        if self.done() {
            Vec::new()
        } else if self.round == GREETINGS {
            self.weights.missing()
        } else {
            self.inbox.missing(self.round)
        }
    }

    fn weight(&self) -> u64 {
        let d = self.data.dimension() as u64;
        d * (self.data.rows() as u64 + self.inbox.neighbours() as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::three_peers::{self, ENGINES};
    use super::*;
    use crate::data::Partition;
    use crate::network::{Engine, Row};

    const RIDGE: f64 = 0.2;

    fn rows_and_moments(
        engine: Engine,
        parameters: GradientParameters,
    ) -> (Vec<Row<()>>, [(f64, f64); 3]) {
        three_peers::rows_and_moments(
            engine,
            Partition::Even,
            parameters.rounds,
            |_, data, near| GradientPeer::new(data, near, parameters),
        )
    }

    /// Metropolis on the path 0 – 1 – 2 (degrees 1, 2, 1), by hand.
    const W: [[f64; 3]; 3] = [
        [2.0 / 3.0, 1.0 / 3.0, 0.0],
        [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
        [0.0, 1.0 / 3.0, 2.0 / 3.0],
    ];

    fn mix(v: [f64; 3]) -> [f64; 3] {
        W.map(|row| row.iter().zip(v).map(|(w, v)| w * v).sum())
    }

    fn parameters(step: f64, rounds: u32, tracking: bool) -> GradientParameters {
        GradientParameters {
            loss: Loss::Squared,
            ridge: RIDGE,
            step,
            rounds: Round(rounds),
            tracking,
            unprotected: Pieces::RECORD,
        }
    }

    #[test]
    fn every_round_is_the_recursion_written_in_scalars() {
        let alpha = 0.3;
        for engine in ENGINES {
            for tracking in [false, true] {
                let (rows, moments) = rows_and_moments(engine, parameters(alpha, 30, tracking));
                assert_eq!(rows.len(), 30);
                let slope = |i: usize, w: f64| (moments[i].0 + RIDGE) * w - moments[i].1;
                let mut w = [0.0; 3];
                let mut g = [0, 1, 2].map(|i| slope(i, w[i]));
                for row in rows {
                    let mixed = mix(w);
                    let next = [0, 1, 2].map(|i| mixed[i] - alpha * g[i]);
                    let tracked = mix(g);
                    g = [0, 1, 2].map(|i| {
                        let change = slope(i, next[i]) - slope(i, w[i]);
                        if tracking { tracked[i] + change } else { slope(i, next[i]) }
                    });
                    w = next;
                    for (scored, w) in row.scored.iter().zip(w) {
                        assert!((scored - w).abs() < 1e-14, "{:?}", row.round);
                    }
                    // Two greetings and two messages a round on each of two links.
                    assert_eq!(row.messages, 4 + 4 * u64::from(row.round.0));
                    let each = GradientPeer::message_bytes(1, tracking) as u64;
                    assert_eq!(row.bytes, 16 + 4 * each * u64::from(row.round.0));
                    let clear: u64 = row.exposures.iter().map(|peer| peer.clear).sum();
                    assert_eq!(clear, 3 * u64::from(row.round.0), "greetings have no data");
                }
            }
        }
    }

    #[test]
    fn descent_ends_at_its_known_bias_and_tracking_at_the_optimum() {
        let engine = Engine::Simulated { workers: 1 };
        for alpha in [0.1, 0.01] {
            let (rows, moments) = rows_and_moments(engine, parameters(alpha, 20_000, false));
            // The fixed point: (I − W)w/α + ∇J(w) = 0, a linear system of three.
            let end = rows.last().unwrap();
            let mixed = mix([end.scored[0], end.scored[1], end.scored[2]]);
            for i in 0..3 {
                let w = end.scored[i];
                let slope = (moments[i].0 + RIDGE) * w - moments[i].1;
                assert!(((w - mixed[i]) / alpha + slope).abs() < 1e-12, "{alpha} {i}");
            }
        }
        let bias = |alpha, tracking| {
            let (rows, moments) = rows_and_moments(engine, parameters(alpha, 20_000, tracking));
            let xy: f64 = moments.iter().map(|m| m.1).sum();
            let optimum = xy / moments.iter().map(|m| m.0 + RIDGE).sum::<f64>();
            let far = rows.last().unwrap().scored.iter().map(|w| (w - optimum).abs());
            far.fold(0.0, f64::max)
        };
        let ratio = bias(0.02, false) / bias(0.01, false);
        assert!((1.8..2.2).contains(&ratio), "the bias is of order α: {ratio}");
        assert!(bias(0.1, true) < 1e-12);
    }

    #[test]
    fn messages_survive_the_wire() {
        for said in [Say::Degree(17), Say::State(Round(3), vec![0.5, -1.0].into())] {
            let mut bytes = Vec::new();
            said.encode(&mut bytes);
            assert_eq!(bytes.len(), said.size());
            assert_eq!(Say::decode(&mut bytes.as_slice()), Ok(said));
        }
    }

    proptest! {
        #[test]
        fn messages_survive_the_way_to_another_process(
            number in 0..GREETING,
            words in prop::collection::vec(any::<u64>(), 0..6),
        ) {
            let state = words.iter().map(|&word| f64::from_bits(word)).collect();
            for said in [Say::Degree(number), Say::State(Round(number), state)] {
                let (mut bytes, mut again) = (Vec::new(), Vec::new());
                said.pack(&mut bytes);
                Say::unpack(&mut bytes.as_slice()).unwrap().pack(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
