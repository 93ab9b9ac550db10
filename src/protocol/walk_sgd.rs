//! Without-replacement SGD by random walk, private, with an optional local/global decision.
//!
//! After R. Jin, X. He and H. Dai, "Decentralized differentially private without-replacement
//! stochastic gradient descent". A token with the global model w^G walks the graph. The peer i that it
//! visits takes its next unused mini-batch D of b samples and updates; then the token moves on. A peer
//! without unused data passes it on as it is. With f_D(w) = (1/b) Σ_{j∈D} ℓ(y_j, wᵀx_j) + (λ/2)|w|²:
//!
//! ```text
//! fully collaborative (algorithm 1):
//!   w^G ← w^G − η_t ∇f_D(w^G) − ζ,    ζ ~ N(0, σ² I),   σ = (σ/Δ)·Δ,   Δ = 2 η_t L/b
//! with a decision (algorithm 2), each peer keeping a model w^L of its own:
//!   local:   w^L ← w^L − 2η_t ∇f_D(w^L)                        nothing is released
//!   global:  w^G ← ½(w^G + w^L) − η_t ∇f_D(w^G) − ζ,   w^L ← w^G
//! ```
//!
//! σ/Δ comes from the scenario's (ε, δ): see [`ReleaseNoise`](crate::privacy::ReleaseNoise). L = B
//! times the greatest slope of ℓ, for |x| ≤ B (the ridge is the same in neighbouring data sets and
//! cancels). A global step releases what all batches since the peer's last release did to w^L; a local
//! step with 2η_t ≤ 2/(smoothness) brings no two models further apart (Lemma 5), so a record moves w^L
//! by 2·2η_k L/b at the most, half of which enters the mean, and the whole release by the greatest
//! 2η_k L/b since the last one. A batch that was used u times within one release moves it u times as
//! far. Each release is booked for the batches that it concerns and for no others: within a pass the
//! batches compose in parallel, passes and tasks one after the other.
//!
//! K classes are K tasks, one against all others, each with a token, a walk, decisions and noise of its
//! own over the same batches. The tokens are under way at the same time: a peer trains one task while
//! it waits for another.
//!
//! Walks: `uniform` to any peer that has unused batches, over shortest paths where the graph is not
//! complete, for which the token carries everybody's count of unused batches; `simple`, `metropolis`
//! and `non-backtracking` to a neighbour. Messages: one per hop, 12 + 8d bytes (4 + 8d more with the
//! mean of the iterates, 8 + 4n more on a uniform walk). A run ends when every token has seen all
//! batches as often as there are passes.

mod config;
mod cut;
mod share;
mod token;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

pub use config::{StepSize, WalkSgdConfig};
pub use cut::Cut;
use share::{Own, Share};
pub use token::{Coins, Pass, Remaining, Token};

use crate::data::LocalData;
use crate::learn::{Batch, Loss, Tasks, axpy, norm};
use crate::network::{Context, Peer, Received, Snapshot, Work};
use crate::policy::{Action, Needs, Policy, Visit};
use crate::privacy::{Account, Batches, Budget, Pieces, Released, in_the_clear, public};
use crate::random::{Draws, Family};
use crate::topology::{Routes, Walk};
use crate::units::{PeerId, Round, SimTime};

/// What the peers of one run have in common.
#[derive(Clone, Debug)]
pub struct WalkParameters {
    /// The tasks and what labels mean to them.
    pub tasks: Tasks,
    /// ℓ.
    pub loss: Loss,
    /// λ.
    pub ridge: f64,
    /// b.
    pub batch: u32,
    /// How often every batch is used.
    pub passes: u32,
    /// The updates after which a token has done its part: see [`updates_of`](Self::updates_of).
    pub updates: Round,
    /// η_t.
    pub step: StepSize,
    /// Radius of the ball that models are projected onto.
    pub radius: Option<f64>,
    /// How tokens move.
    pub walk: Walk,
    /// The way to every peer, for uniform walks.
    pub routes: Option<Arc<Routes>>,
    /// Where each task's token starts, and the draws by which it moves.
    pub tokens: Vec<(PeerId, Family)>,
    /// How many batches each peer has to give, all passes counted, for uniform walks.
    pub remaining: Arc<[u32]>,
    /// σ/Δ and each task's draws; none for updates without noise.
    pub noise: Option<(f64, Vec<Draws>)>,
    /// Each task's draws of decisions; empty without decisions.
    pub decisions: Vec<Family>,
    /// What the decisions look at.
    pub needs: Needs,
    /// B, the greatest |x|; infinite where nothing bounds it.
    pub reach: f64,
    /// What no mechanism has protected before the peers got it.
    pub unprotected: Pieces,
    /// What a peer may spend on any one record, each task an equal part of its Σμ².
    pub budget: Option<Budget>,
    /// Whether tokens carry the mean of their iterates.
    pub averages: bool,
}

impl WalkParameters {
    /// The updates of a token that sees every batch of peers with so many rows `passes` times.
    pub fn updates_of(rows: impl IntoIterator<Item = usize>, batch: u32, passes: u32) -> u64 {
        let batches = rows.into_iter().map(|rows| u64::from(Cut::new(rows, batch).batches()));
        batches.sum::<u64>() * u64::from(passes)
    }
}

/// A token in a peer's hands.
#[derive(Debug)]
struct Held {
    pass: Box<Pass>,
    /// w^G; none only while it is made anew. The token stays in its place meanwhile: moving it for every
    /// update took a tenth of the time of short ones.
    w: Option<Released<Box<[f64]>>>,
    average: Option<Released<Box<[f64]>>>,
    came_from: Option<PeerId>,
    /// Whether nothing has happened to it here yet.
    arrived: bool,
}

/// Peer i.
#[derive(Debug)]
pub struct WalkPeer {
    me: PeerId,
    data: LocalData,
    cut: Cut,
    /// The neighbours' numbers of neighbours.
    degrees: Vec<u32>,
    parameters: Arc<WalkParameters>,
    /// Whose tokens it knows; of the other tasks there is nothing in `shares`.
    tasks: Range<usize>,
    shares: Vec<Share>,
    /// Tokens that stay and wait for their next turn.
    parked: VecDeque<Held>,
    updates: u64,
    releases: u64,
    forwards: u64,
    retired: bool,
    /// w^L of every task, one after the other; empty without decisions.
    models: Vec<f64>,
}

const WHOLE: &str = "a token between updates is whole";

/// Turns that a token takes at one peer before others, and whoever stops the run, get theirs.
const TURNS: u32 = 256;

impl WalkPeer {
    /// The peer with these samples, its neighbours' degrees, and one policy per task if it decides.
    pub fn new(
        me: PeerId,
        data: LocalData,
        degrees: Vec<u32>,
        policies: Vec<Box<dyn Policy>>,
        parameters: Arc<WalkParameters>,
    ) -> Self {
        let models = vec![0.0; policies.len() * data.dimension()];
        let own = |policy| Own { policy, unreleased: 0, widest: 0.0 };
        let mut policies = policies.into_iter();
        let share = |_| Share {
            used: 0,
            own: policies.next().map(own),
            exposed: [[0.0; 2]; 2],
            exposed_pass: 0,
        };
        Self {
            me,
            cut: Cut::new(data.rows(), parameters.batch),
            degrees,
            tasks: 0..parameters.tasks.count() as usize,
            shares: (0..parameters.tasks.count()).map(share).collect(),
            parked: VecDeque::new(),
            updates: 0,
            releases: 0,
            forwards: 0,
            retired: false,
            models,
            parameters,
            data,
        }
    }

    /// Bytes that a peer occupies beside its samples, with so many tasks in dimension d, and so much
    /// for each task's policy.
    pub fn memory(neighbours: usize, tasks: usize, d: usize, policy: Option<usize>) -> usize {
        let own = policy.map_or(0, |policy| 8 * d + policy);
        size_of::<Self>() + 4 * neighbours + tasks * (size_of::<Share>() + own)
    }

    /// Bytes of one message in dimension d among n peers.
    pub fn message_bytes(d: usize, walk: Walk, peers: usize, averages: bool) -> usize {
        let counts = if walk == Walk::Uniform { 8 + 4 * peers } else { 0 };
        8 + (4 + 8 * d) * if averages { 2 } else { 1 } + counts
    }

    /// How many batches the peer has to give to each task.
    fn visits(&self) -> u32 {
        self.cut.batches() * self.parameters.passes
    }

    /// Lets a token have its turns here, until it leaves or has done its part.
    fn host(&mut self, mut token: Held, context: &mut Context<'_, Token>) {
        for _ in 0..TURNS {
            let task = token.pass.task as usize;
            let passes_through = token.pass.destination.is_some_and(|peer| peer != self.me);
            if passes_through || self.shares[task].used == self.visits() {
                // A visit counts once, however long a token then stays.
                let arrived = u64::from(std::mem::take(&mut token.arrived));
                token.pass.journey.forwards += arrived;
                self.forwards += arrived;
            } else {
                token.pass.destination = None;
                if !self.update(&mut token, context) {
                    return;
                }
                if token.pass.updates == self.parameters.updates {
                    return;
                }
            }
            let next = self.next(&mut token, context.neighbours());
            if next != self.me {
                return self.send(token, next, context);
            }
        }
        self.parked.push_back(token);
        context.timer(SimTime::ZERO);
    }

    /// Where the token goes from here: to a neighbour, or nowhere.
    fn next(&self, token: &mut Held, neighbours: &[PeerId]) -> PeerId {
        let WalkParameters { walk, routes, tokens, .. } = &*self.parameters;
        let pass = &mut *token.pass;
        let (_, family) = &tokens[pass.task as usize];
        let coins = &mut pass.coins;
        match (walk, &pass.remaining, routes) {
            (Walk::Uniform, Some(remaining), Some(routes)) => {
                let chosen = pass.destination.or_else(|| remaining.pick(coins.next(family)));
                let destination = chosen.unwrap_or(self.me);
                pass.destination = Some(destination);
                if destination == self.me { self.me } else { routes.next(self.me, destination) }
            }
            _ => walk.next(self.me, token.came_from, neighbours, &self.degrees, coins.next(family)),
        }
    }

    fn send(&self, token: Held, to: PeerId, context: &mut Context<'_, Token>) {
        let Held { mut pass, w, average, .. } = token;
        let w = w.expect(WHOLE);
        pass.journey.hops += 1;
        pass.journey.bytes += WalkPeer::message_bytes(
            w.value().len(),
            self.parameters.walk,
            self.parameters.remaining.len(),
            average.is_some(),
        ) as u64;
        let message = public(pass).zip(w);
        let message = match average {
            Some(average) => message.zip(average).map(|((pass, w), average)| Token {
                pass,
                w,
                average: Some(average),
            }),
            None => message.map(|(pass, w)| Token { pass, w, average: None }),
        };
        context.send(to, message);
    }

    /// One update by the next unused batch: of the token, or of the peer's own model. Returns whether
    /// the budget bears it; where it does not, the token ends here.
    fn update(&mut self, token: &mut Held, context: &mut Context<'_, Token>) -> bool {
        let parameters = &*self.parameters;
        let WalkParameters { tasks, loss, ridge, radius, needs, .. } = *parameters;
        let Held { pass, w: place, average, .. } = token;
        let task = pass.task as usize;
        let share = &mut self.shares[task];
        let (number, of) = (share.used, self.cut.batches());
        let rows = self.cut.range(number % of);
        let (d, b) = (self.data.dimension(), rows.len() as f64);
        let (x, y) = self.data.block(rows);
        let batch = Batch { x, y, tasks, task: pass.task, loss, ridge };
        let local = self.models.get_mut(task * d..(task + 1) * d).unwrap_or_default();
        let t = pass.updates.next();
        let eta = parameters.step.at(t.0, ridge);
        let mut passes_over_batch = 1.0;

        let action = match &mut share.own {
            None => Action::Global,
            Some(own) => {
                let mut value = |wanted: bool, w: &[f64]| {
                    passes_over_batch += f64::from(u8::from(wanted));
                    if wanted { batch.value(w) } else { f64::NAN }
                };
                let visit = Visit {
                    local_loss: value(needs.local_loss, local),
                    global_loss: value(needs.global_loss, place.as_ref().expect(WHOLE).value()),
                    local,
                    number,
                    of: of * parameters.passes,
                };
                let mut draws = parameters.decisions[task].at(self.me.0.into(), number.into());
                own.policy.decide(&visit, &mut draws)
            }
        };

        // How far the records of the batches since the last release have moved what may be released.
        let unreleased = 1 + share.own.as_ref().map_or(0, |own| own.unreleased);
        let widest = share.own.as_ref().map_or(0.0, |own| own.widest).max(eta / b);
        match action {
            // w^L ← w^L − 2η ∇f_D(w^L).
            Action::Local => {
                let g = context.workspace();
                g.resize(d, 0.0);
                batch.descend(2.0 * eta, local, g);
                if let Some(radius) = radius {
                    project(local, radius);
                }
                if let Some(own) = &mut share.own {
                    (own.unreleased, own.widest) = (unreleased, widest);
                }
            }
            // w^G ← w^G − η ∇f_D(w^G) − ζ, or with ½(w^G + w^L) for the first w^G; then w^L ← w^G.
            Action::Global => {
                let first = (number + 1 - unreleased) % of;
                let batches = Batches { first, count: unreleased, of };
                let release = parameters.release(pass.task, t, widest, batches);
                if let (Some(release), Some(budget)) = (&release, &parameters.budget)
                    && !share.bears(release.cost(), (number, unreleased, of), tasks.count(), budget)
                {
                    self.retired = true;
                    return false;
                }
                let mut model = place.take().expect(WHOLE).into_value();
                let global = &mut *model;
                let g = context.workspace();
                g.resize(d, 0.0);
                if share.own.is_some() {
                    batch.gradient(global, g);
                    global.iter_mut().zip(&*local).for_each(|(w, local)| *w = 0.5 * (*w + local));
                    axpy(-eta, g, global);
                } else {
                    batch.descend(eta, global, g);
                }
                let released = match release {
                    Some(release) => {
                        share.expose(release.cost(), number, unreleased, of);
                        let worst = share.exposed().into_iter();
                        let exposed = pass.journey.exposed.iter_mut().zip(worst);
                        exposed.for_each(|(so_far, here)| *so_far = so_far.max(here));
                        release.make(model)
                    }
                    None => {
                        pass.journey.clear += 1;
                        in_the_clear(model, parameters.unprotected)
                    }
                };
                let mut w = context.release(released);
                if let Some(radius) = radius {
                    w = w.zip(public(radius)).map(|(mut w, radius)| {
                        project(&mut w, radius);
                        w
                    });
                }
                let w = place.insert(w);
                if let Some(own) = &mut share.own {
                    local.copy_from_slice(w.value());
                    (own.unreleased, own.widest) = (0, 0.0);
                }
                pass.journey.releases += 1;
                self.releases += 1;
            }
        }
        if let Some(own) = share.own.as_mut().filter(|_| needs.after) {
            own.policy.learn(batch.value(local));
            passes_over_batch += 1.0;
        }
        context.spend(passes_over_batch * b);
        share.used += 1;
        self.updates += 1;
        pass.updates = t;
        if let Some(remaining) = &mut pass.remaining {
            remaining.take(self.me);
        }
        let w = place.as_ref().expect(WHOLE);
        *average = average.take().map(|average| running_mean(average, w, t));
        let average_now = average.as_ref().map(|average| &**average.value());
        let snapshot = Snapshot { average: average_now, ..Snapshot::of(w.value()) };
        context.deposit_token(pass.task, t, &snapshot, &pass.journey);
        token.arrived = false;
        true
    }
}

/// w ← w·min(1, R/|w|).
fn project(w: &mut [f64], radius: f64) {
    let length = norm(w);
    if length > radius {
        w.iter_mut().for_each(|w| *w *= radius / length);
    }
}

/// The mean over t iterates from that over t − 1 and the t-th: a function of what was released.
fn running_mean(
    average: Released<Box<[f64]>>,
    w: &Released<Box<[f64]>>,
    t: Round,
) -> Released<Box<[f64]>> {
    average.zip(w.as_ref()).zip(public(t)).map(|((mut average, w), t)| {
        for (mean, w) in average.iter_mut().zip(w) {
            *mean += (w - *mean) / f64::from(t.0);
        }
        average
    })
}

impl Peer for WalkPeer {
    type Message = Token;

    fn start(&mut self, context: &mut Context<'_, Token>) {
        let parameters = Arc::clone(&self.parameters);
        let zero = || public(vec![0.0; self.data.dimension()].into_boxed_slice());
        let starting: Vec<Held> = (0..)
            .zip(&parameters.tokens)
            .filter(|(task, (peer, _))| *peer == self.me && self.tasks.contains(&(*task as usize)))
            .map(|(task, _)| Held {
                pass: Box::new(Pass {
                    task,
                    updates: Round(0),
                    destination: None,
                    remaining: (parameters.walk == Walk::Uniform)
                        .then(|| Remaining::new(parameters.remaining.iter().copied().collect())),
                    coins: Coins::default(),
                    journey: Default::default(),
                }),
                w: Some(zero()),
                average: parameters.averages.then(zero),
                came_from: None,
                arrived: true,
            })
            .collect();
        for token in starting {
            self.host(token, context);
        }
    }

    fn receive(
        &mut self,
        from: PeerId,
        message: Received<'_, Token>,
        context: &mut Context<'_, Token>,
    ) {
        // What came in a message is its senders' release, and they have paid for it.
        let Token { pass, w, average } = message.into_value();
        let (w, average) = (public(w), average.map(public));
        let (w, came_from) = (Some(w), Some(from));
        self.host(Held { pass, w, average, came_from, arrived: true }, context);
    }

    fn timer(&mut self, context: &mut Context<'_, Token>) {
        if let Some(token) = self.parked.pop_front() {
            self.host(token, context);
        }
    }

    /// Nobody: where a token is, and where it will go, nobody else knows.
    fn waiting_for(&self) -> Vec<PeerId> {
        Vec::new()
    }

    fn retired(&self) -> bool {
        self.retired
    }

    fn parting(&self) -> Option<Work<'_>> {
        Some(Work {
            updates: self.updates,
            releases: self.releases,
            forwards: self.forwards,
            models: &self.models,
        })
    }

    fn parts(&self) -> usize {
        // The cost of a record adds up in another order then: so many summands do without rounding.
        let summands = u64::from(self.parameters.passes) * self.shares.len() as u64;
        if summands <= Account::EXACT_SUMMANDS { self.tasks.len() } else { 1 }
    }

    fn kept_for_a_part(&self) -> usize {
        let first = self.shares.first().and_then(|share| share.own.as_ref());
        first.map_or(0, |own| own.policy.memory())
    }

    fn split_off(&mut self, parts: Range<usize>) -> Option<Self> {
        let shares = self.shares.iter_mut().enumerate();
        let shares = shares.map(|(task, share)| {
            let rest = Share { own: None, ..*share };
            if parts.contains(&task) { std::mem::replace(share, rest) } else { rest }
        });
        let other = Self {
            me: self.me,
            data: self.data.clone(),
            cut: self.cut,
            degrees: self.degrees.clone(),
            parameters: Arc::clone(&self.parameters),
            tasks: parts.clone(),
            shares: shares.collect(),
            parked: VecDeque::new(),
            updates: 0,
            releases: 0,
            forwards: 0,
            retired: false,
            models: self.models.clone(),
        };
        self.tasks.end = self.tasks.end.min(parts.start);
        Some(other)
    }

    fn join(&mut self, mut other: Self) {
        let d = self.data.dimension();
        for task in other.tasks.clone() {
            std::mem::swap(&mut self.shares[task], &mut other.shares[task]);
            if !self.models.is_empty() {
                let model = task * d..(task + 1) * d;
                self.models[model.clone()].copy_from_slice(&other.models[model]);
            }
        }
        self.tasks.end = self.tasks.end.max(other.tasks.end);
        self.updates += other.updates;
        self.releases += other.releases;
        self.forwards += other.forwards;
        self.retired |= other.retired;
    }

    /// Peers with more batches are visited more often, before they are exhausted.
    fn weight(&self) -> u64 {
        1 + u64::from(self.visits())
    }
}
