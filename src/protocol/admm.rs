//! Private, fully distributed consensus ADMM.
//!
//! Wang, Ishii, Du, Cheng, Chen, "Privacy-preserving distributed machine learning via local
//! randomization and ADMM perturbation" (arXiv 1908.01059), equations (14) to (17). Peer i holds m_i
//! samples and J_i(w) = (1/m_i) Σ_j ℓ(y_ij, wᵀx_ij) + (a/n)·½|w|². From w = w~ = γ = 0, in round t:
//!
//! ```text
//! w_i  ← argmin_w J_i(w) + η_iᵀw/n + γ_iᵀw + β Σ_{l ∈ N_i} |w − (w~_i + w~_l)/2|²    primal   (15)
//! w~_i ← w_i + θ_i(t), sent to the neighbours; θ_i(t) ~ N(0, ρ^{t−1} V_i² I)          exchange (16)
//! γ_i  ← γ_i + β Σ_{l ∈ N_i} (w~_i − w~_l)                                            dual     (17)
//! ```
//!
//! The objective noise η_i is drawn once, the primal noise θ_i(t) in every round; either may be left
//! out. The labels y_ij may have been randomised by the users before a peer saw them; the loss is then
//! the unbiased one, (19), which for logistic loss is the plain one at the label k·y'.
//!
//! Written out, the argmin is that of F_i(w) + (q/2)|w|² + bᵀw with F_i the mean loss,
//! q = a/n + 2β|N_i| and b = η_i/n + γ_i − β Σ_l (w~_i + w~_l) of the round before.
//!
//! Σ_i γ_i = 0 in every round, noise or not, so the limit is the optimum of Σ_i J_i(w) + η_iᵀw/n,
//! whatever β, V, ρ and the graph.
//!
//! What a release costs: with |x| ≤ B and |ℓ'| ≤ (1 + k)/2, replacing one of m_i records moves
//! ∇F_i by at most (1 + k)B/m_i, replacing a label alone by kB/m_i. The argmin is q-strongly
//! convex and solved to a gradient norm g, so w_i moves by at most ((1 + k)B/m_i + 2g)/q, given all
//! messages so far. g stays well below both the noise and what a record can do. Objective noise is
//! booked for nothing: it is the same in all releases, and the difference of two of them is free of
//! it.
//!
//! An argmin may be solved less exactly while the peers are still far from each other: see
//! [`Inexact`]. What decides how exactly has been sent already, so it tells nothing new, and with
//! primal noise the g that was used is booked like any other. What objective noise would give for
//! one release holds for an exact minimiser alone: an inexact one has no such guarantee.
//!
//! Messages: two per link and round, 8 + 8d bytes each. Memory: see [`AdmmPeer::memory`].

mod config;
mod numbers;

use std::sync::Arc;

use self::config::default_tolerance;
pub use self::config::{AdmmConfig, Inexact, PrimalNoise};
use self::numbers::{Fours, Kinds, Numbers, Vectors};
use super::inbox::Addition;
use crate::data::LocalData;
use crate::learn::consensus::{self, ConsensusRound};
use crate::learn::{
    ChordNewton, Four, LANES, Loop, Loss, Objective, Samples, Subproblem, norm, run,
};
use crate::network::{
    Announce, Arrival, Arrivals, Context, Peer, Received, Snapshot, Together, Turns,
};
use crate::privacy::{
    Budget, Mechanism, ObjectiveNoise, Pieces, Records, Relation, Sensitivity, Spent, Wire,
    WireError, in_the_clear, noisy_in_place, public,
};
use crate::random::Draws;
use crate::units::{Aligned, PeerId, Round, SimTime, prefetch};

/// The most that solving less exactly may add to what a record can move, as a share of it.
const SLACK_LIMIT: f64 = 0.01;

/// What the peers of one run have in common, with every `auto` resolved.
#[derive(Clone, Debug)]
pub struct AdmmParameters {
    /// ℓ.
    pub loss: Loss,
    /// n.
    pub peers: usize,
    /// a/n: each peer's share of the regularisation.
    pub ridge: f64,
    /// β.
    pub penalty: f64,
    /// Rounds to run.
    pub rounds: Round,
    /// Gradient norm of a solved argmin.
    pub tolerance: f64,
    /// How far from its minimiser a noisy model may be left besides, as a share of its noise.
    pub slack: f64,
    /// How exactly argmins are solved on the way.
    pub inexact: Option<Inexact>,
    /// The law of η and where its draws come from.
    pub objective_noise: Option<(ObjectiveNoise, Draws)>,
    /// The law of θ and where its draws come from.
    pub primal_noise: Option<(PrimalNoise, Draws)>,
    /// B, a public bound on |x|; infinite where there is none.
    pub reach: f64,
    /// What no mechanism has protected before the peers got it.
    pub unprotected: Pieces,
    /// What a peer may spend on a record, if that is limited.
    pub budget: Option<Budget>,
    /// Whether peers keep the mean of their models over the rounds.
    pub averages: bool,
}

impl AdmmParameters {
    /// Without noise, bounds or budgets.
    pub fn plain(loss: Loss, peers: usize, ridge: f64, penalty: f64, rounds: Round) -> Self {
        Self {
            loss,
            peers,
            ridge,
            penalty,
            rounds,
            tolerance: default_tolerance(),
            slack: 0.0,
            inexact: None,
            objective_noise: None,
            primal_noise: None,
            reach: f64::INFINITY,
            unprotected: Pieces::RECORD,
            budget: None,
            averages: false,
        }
    }

    /// Which vectors a peer has beside those that every one has.
    fn kinds(&self) -> Kinds {
        Kinds {
            sent: self.primal_noise.is_some(),
            eta: self.objective_noise.is_some(),
            average: self.averages,
        }
    }

    /// q of a peer with so many neighbours.
    fn quadratic(&self, degree: usize) -> f64 {
        self.ridge + 2.0 * self.penalty * degree as f64
    }

    /// How far ∇F_i moves when a record, or a label alone, of a peer with m samples is replaced.
    /// `coefficient` is the largest k of its labels.
    fn gradient_moves(&self, m: usize, coefficient: f64) -> Sensitivity {
        match self.loss.greatest_slope(coefficient) {
            _ if m == 0 => Sensitivity { label: 0.0, record: 0.0 },
            None => Sensitivity { label: f64::INFINITY, record: f64::INFINITY },
            Some(slope) => {
                let each = self.reach / m as f64;
                Sensitivity { label: coefficient * each, record: 2.0 * slope * each }
            }
        }
    }
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
    fn of_round(round: Round, model: Arc<[f64]>) -> Self {
        Self { round, model }
    }
}

/// Peer i.
#[derive(Debug)]
pub struct AdmmPeer {
    data: LocalData,
    parameters: Arc<AdmmParameters>,
    /// How far ∇F_i moves when a label or a record is replaced.
    moves: Sensitivity,
    round: Round,
    retired: bool,
    numbers: Numbers,
    solver: ChordNewton,
    /// w~_l.
    inbox: Addition<Arc<[f64]>>,
}

impl AdmmPeer {
    /// Peer `me` with these samples and these neighbours. `coefficient` is the largest k of its
    /// labels: 1 where they are plain ones.
    pub fn new(
        me: PeerId,
        data: LocalData,
        neighbours: &[PeerId],
        coefficient: f64,
        parameters: Arc<AdmmParameters>,
    ) -> Self {
        let d = data.dimension();
        let solver = ChordNewton::numbers(data.rows(), d, parameters.loss);
        let mut numbers = Numbers::zeros(d, parameters.kinds(), solver);
        if let Some((law, draws)) = &parameters.objective_noise {
            let eta = numbers.split().eta;
            law.draw(draws, u64::from(me.0), eta);
            eta.iter_mut().for_each(|eta| *eta /= parameters.peers as f64);
        }
        Self {
            moves: parameters.gradient_moves(data.rows(), coefficient),
            round: Round(1),
            retired: false,
            numbers,
            solver: ChordNewton::new(),
            inbox: Addition::new(neighbours),
            data,
            parameters,
        }
    }

    /// Bytes that a peer with this many neighbours and samples occupies in dimension d, beside its
    /// samples: one block of four vectors (w, γ, two sums), up to three `more` (w~ with primal noise, η
    /// with objective noise, w̄ where it is kept) and what the solver remembers; the solver's factor, of
    /// which there is none where the loss bends little beside q; the inbox.
    pub fn memory(neighbours: usize, d: usize, samples: usize, loss: Loss, more: usize) -> usize {
        const ALLOCATION: usize = 16;
        let solver = ChordNewton::numbers(samples, d, loss);
        let block = Numbers::length(d, 4 + more, solver);
        let factor = ChordNewton::factor_numbers(samples, d);
        size_of::<Self>()
            + Aligned::memory(block)
            + 8 * factor
            + Addition::<Arc<[f64]>>::memory(neighbours)
            + 4 * ALLOCATION
    }

    /// Bytes of one message in dimension d.
    pub fn message_bytes(d: usize) -> usize {
        Round(0).size() + 4 + 8 * d
    }

    /// The standard deviation of a round's noise; 0 without any.
    #[inline]
    fn deviation(&self, me: PeerId, round: Round) -> f64 {
        let noise = self.parameters.primal_noise.as_ref();
        noise.map_or(0.0, |(noise, _)| noise.deviation(me, round))
    }

    /// g: to which gradient norm the argmin of a round with this noise is solved, after the round before.
    #[inline]
    fn tolerance(&self, round: Round, deviation: f64) -> f64 {
        let AdmmParameters { tolerance, slack, inexact, .. } = *self.parameters;
        if inexact.is_none() && deviation == 0.0 {
            return tolerance;
        }
        let below_noise = slack * self.quadratic() * deviation;
        let on_the_way = inexact.map_or(0.0, |Inexact { share, first }| match round {
            Round(1) => first,
            _ => share * self.quadratic() * self.apartness(),
        });
        // Without noise nothing is booked that g could add to.
        let most =
            if deviation > 0.0 { 0.5 * SLACK_LIMIT * self.moves.record } else { f64::INFINITY };
        tolerance.max(below_noise.max(on_the_way).min(most))
    }

    /// |w~_i − mean_l w~_l| of the round before: of messages alone, nothing that was not released.
    fn apartness(&self) -> f64 {
        let degree = self.inbox.neighbours() as f64;
        if degree == 0.0 {
            return 0.0;
        }
        // The sum is |N_i| w~_i + Σ_l w~_l.
        let squares = self.numbers.sent().iter().zip(self.numbers.sum()).map(|(own, sum)| {
            let apart = 2.0 * own - sum / degree;
            apart * apart
        });
        squares.sum::<f64>().sqrt()
    }

    /// q.
    fn quadratic(&self) -> f64 {
        self.parameters.quadratic(self.inbox.neighbours())
    }

    /// How far this round's model moves when a label or a record is replaced.
    fn sensitivity(&self, tolerance: f64) -> Sensitivity {
        let moves = |gradient: f64| match gradient {
            // Without samples nothing depends on any.
            0.0 => 0.0,
            _ => (gradient + 2.0 * tolerance) / self.quadratic(),
        };
        Sensitivity { label: moves(self.moves.label), record: moves(self.moves.record) }
    }

    /// Whether the budget bears one more release.
    fn affords(&self, context: &Context<'_, Exchange>) -> bool {
        self.parameters.budget.is_none_or(|budget| {
            let deviation = self.deviation(context.me(), self.round);
            let sensitivity = self.sensitivity(self.tolerance(self.round, deviation));
            let mut spent = context.account().exposure().record;
            spent.add(&if deviation > 0.0 {
                Mechanism::Gaussian { deviation }.cost(sensitivity.record)
            } else if self.data.rows() == 0 {
                Spent::default()
            } else {
                Spent::unbounded()
            });
            budget.allows(&spent)
        })
    }

    /// (15) and the exchange, (16).
    fn primal(&mut self, context: &mut Context<'_, Exchange>) {
        if self.inbox.neighbours() > 0 && !self.affords(context) {
            self.retired = true;
            return;
        }
        let AdmmParameters { loss, penalty: beta, .. } = *self.parameters;
        let deviation = self.deviation(context.me(), self.round);
        let tolerance = self.tolerance(self.round, deviation);
        let quadratic = self.quadratic();
        let Vectors { w, gamma, sum, theirs, eta, solver, .. } = self.numbers.split();

        // b = η/n + γ − β Σ_l (w~_i + w~_l), in the place of a sum that has not begun.
        let b = theirs;
        consensus::linear_term(beta, gamma, sum, b);
        for (b, eta) in b.iter_mut().zip(eta) {
            *b += *eta;
        }
        let known = self.solver.closed_form(b, w, solver, tolerance);
        let solved = known.unwrap_or_else(|| {
            let held = self.data.held();
            let samples = Samples::new(held.view().x, held.view().y);
            let problem =
                Subproblem { objective: Objective::mean(samples, loss), quadratic, linear: b };
            self.solver.solve(&problem, w, solver, tolerance, context.workspace())
        });
        b.fill(0.0);
        context.spend(solved.passes * self.data.rows() as f64);
        // A model beyond the finite numbers is a divergence, and reported as one.
        if !solved.converged && solved.residual.is_finite() {
            context.fail(format!(
                "the argmin of round {} is not solved: gradient norm {:e}, asked for {tolerance:e}",
                self.round, solved.residual
            ));
        }
        // Of what is no number nothing bounds what a record has done to it.
        let solved_to = match solved.residual {
            residual if residual.is_nan() => f64::INFINITY,
            residual => residual.max(tolerance),
        };
        self.exchange(solved_to, deviation, context.me(), context);
        if self.inbox.neighbours() == 0 {
            context.timer(SimTime::ZERO);
        }
    }

    /// (16): w~ of an argmin that is solved to this gradient norm.
    fn exchange(
        &mut self,
        tolerance: f64,
        deviation: f64,
        me: PeerId,
        neighbours: &mut impl Announce,
    ) {
        let sensitivity = (deviation > 0.0).then(|| self.sensitivity(tolerance));
        if self.parameters.primal_noise.is_some() {
            let Vectors { w, sent, .. } = self.numbers.split();
            sent.copy_from_slice(w);
        }
        match (&self.parameters.primal_noise, sensitivity) {
            (Some((_, draws)), Some(sensitivity)) => {
                let draw = draws.at(u64::from(me.0), u64::from(self.round.0));
                let mechanism = Mechanism::Gaussian { deviation };
                let (all, relation) = (Records::All, Relation::ReplaceOne);
                let sent = self.numbers.split().sent;
                let model = noisy_in_place(sent, mechanism, sensitivity, all, relation, draw);
                neighbours.announce(public(self.round).zip(model));
            }
            // Made of what others have released: there is no record here to tell about.
            _ if self.data.rows() == 0 => {
                neighbours.announce(public((self.round, self.numbers.sent())));
            }
            _ => {
                let model = (self.round, self.numbers.sent());
                neighbours.announce(in_the_clear(model, self.parameters.unprotected));
            }
        }
    }

    /// (17), once every neighbour's w~ of this round is there. With T = Σ_l w~_l it adds
    /// β(|N_i| w~_i − T) to γ_i, and the next argmin looks at |N_i| w~_i + T.
    fn dual(&mut self, context: &mut Context<'_, Exchange>) {
        let beta = self.parameters.penalty;
        let degree = self.inbox.neighbours() as f64;
        let Vectors { w, gamma, sum, theirs, sent, average, .. } = self.numbers.split();
        let own = if sent.is_empty() { &*w } else { &*sent };
        let measured = context.measures(self.round);
        let mut residual = 0.0;
        if measured {
            // ∇J~_i(w_i) + γ_i = β(Σ_l of the last round − Σ_l of this one + 2|N_i| θ_i), by the
            // argmin's optimality: to within the gradient norm that it was solved to.
            let workspace = context.workspace();
            workspace.resize(workspace.len().max(w.len()), 0.0);
            let change = &mut workspace[..w.len()];
            let noise = own.iter().zip(&*w).map(|(sent, w)| sent - w);
            let sums = sum.iter().zip(own.iter().zip(&*theirs));
            for ((change, theta), (before, (own, theirs))) in change.iter_mut().zip(noise).zip(sums)
            {
                *change = before + 2.0 * degree * theta - (degree * own + theirs);
            }
            residual = beta * norm(change);
        }
        consensus::dual_step(beta, degree, own, theirs, gamma, sum);
        let share = 1.0 / f64::from(self.round.0);
        for (average, w) in average.iter_mut().zip(&*w) {
            *average += share * (w - *average);
        }
        if measured {
            let average = (!average.is_empty()).then_some(&*average);
            context.deposit(self.round, &Snapshot { scored: w, average, residual });
        }
    }

    /// Ends every round whose messages are all there, and begins the next.
    fn advance(&mut self, context: &mut Context<'_, Exchange>) {
        while !self.done() && self.inbox.complete() {
            self.dual(context);
            self.round = self.round.next();
            if !self.done() {
                self.primal(context);
            }
            let theirs = self.numbers.theirs();
            self.inbox.begin(self.round, |model| consensus::add_up(&[model], theirs));
            if self.inbox.neighbours() == 0 {
                return;
            }
        }
    }

    /// (17) and (15) in one pass over the vectors, where the next argmin is in closed form and nobody looks at
    /// this one; then (16). Otherwise it does nothing and says so. Vectors take N times four numbers, or, where N
    /// is 0, any number.
    #[inline(always)]
    fn round_at_once<F: Four, const N: usize>(
        &mut self,
        together: &mut Together<'_, '_, '_, Exchange>,
    ) -> bool {
        let parameters = &*self.parameters;
        let round = together.round();
        let more = parameters.inexact.is_some() || parameters.budget.is_some();
        if round != self.round || self.retired || more || !self.inbox.is_empty() {
            return false;
        }
        let [measured, next_measured] = together.measured();
        if round >= parameters.rounds || parameters.averages || measured {
            return false;
        }
        let next = round.next();
        let noisy = parameters.primal_noise.is_some();
        let deviation = if noisy { self.deviation(together.me(), next) } else { 0.0 };
        let tolerance = if noisy { self.tolerance(next, deviation) } else { parameters.tolerance };
        let d = self.numbers.dimension();
        let Some(Fours { w, gamma, sum, sent, eta, solver }) = self.numbers.fours::<N>() else {
            return false;
        };
        let consensus = ConsensusRound {
            penalty: parameters.penalty,
            neighbours: together.neighbours().into(),
            models: together.vectors(),
            sent,
            eta,
            gamma,
            sum,
            // The residual of the next round, if somebody looks at it, is that to this one's sum.
            keep: next_measured,
            w: &mut *w,
        };
        if !self.solver.closed_round::<F, _>(consensus, (solver, d), tolerance) {
            return false;
        }
        self.round = next;
        if noisy {
            self.exchange(tolerance, deviation, together.me(), together);
        } else {
            // A closed form is one of samples: there are some.
            together.answer(in_the_clear((next, &*w), parameters.unprotected));
        }
        true
    }

    fn done(&self) -> bool {
        self.retired || self.round > self.parameters.rounds
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
        message: Received<'_, Exchange>,
        context: &mut Context<'_, Exchange>,
    ) {
        let Exchange { round, model } = message.value();
        let theirs = self.numbers.theirs();
        let add = |model: &Arc<[f64]>| consensus::add_up(&[model], theirs);
        self.inbox.hear((from, *round), model, self.round, add);
        self.advance(context);
    }

    fn receive_all(
        &mut self,
        arrivals: &mut Arrivals<'_, Exchange>,
        context: &mut Context<'_, Exchange>,
    ) {
        if self.inbox.is_empty()
            && let Some(models) = arrivals.all_of_round(self.round)
        {
            let d = self.data.dimension();
            let theirs = self.numbers.theirs();
            models.for_each(|model| consensus::add_up(&[&model[..d]], theirs));
            self.inbox.all_through();
        }
        let theirs = self.numbers.theirs();
        while let Some((from, arrival)) = arrivals.next_arrival() {
            let add = |model: &Arc<[f64]>| consensus::add_up(&[model], theirs);
            match arrival {
                Arrival::Vector(round, model) if self.inbox.has_turn(from, round, self.round) => {
                    consensus::add_up(&[model], theirs);
                    self.inbox.go_on(self.round, |model| consensus::add_up(&[model], theirs));
                }
                Arrival::Vector(round, model) => self.inbox.keep(from, round, model.into()),
                Arrival::Message(message) => {
                    let Exchange { round, model } = message.value();
                    self.inbox.hear((from, *round), model, self.round, add);
                }
            }
        }
        self.advance(context);
    }

    fn receive_together(turns: &mut Turns<'_, '_, Self>) {
        // Where the compiler knows how long vectors are, it knows where each begins.
        match turns.length().div_ceil(LANES) {
            1 => run(Rounds::<1>(turns)),
            2 => run(Rounds::<2>(turns)),
            3 => run(Rounds::<3>(turns)),
            _ => run(Rounds::<0>(turns)),
        }
    }

    #[inline(always)]
    fn expect(&self, arrivals: &Arrivals<'_, Exchange>) {
        self.numbers.expect();
        self.solver.expect();
        arrivals.vectors().for_each(prefetch::numbers::<2>);
    }

    fn timer(&mut self, context: &mut Context<'_, Exchange>) {
        self.advance(context);
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        if self.done() { Vec::new() } else { self.inbox.missing(self.round) }
    }

    fn retired(&self) -> bool {
        self.retired
    }

    fn weight(&self) -> u64 {
        let d = self.data.dimension() as u64;
        d * (4 * self.data.rows() as u64 + d + self.inbox.neighbours() as u64)
    }
}

/// Rounds of peers that stand side by side, each at once, with vectors of N times four numbers, or, where N is 0,
/// any number.
struct Rounds<'t, 's, 'a, const N: usize>(&'t mut Turns<'s, 'a, AdmmPeer>);

impl<const N: usize> Loop for Rounds<'_, '_, '_, N> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        while let Some((peer, mut together)) = self.0.next() {
            if !peer.round_at_once::<F, N>(&mut together) {
                self.0.put_back();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
