//! What learners around a server have in common: a model that all parties know, to which each party
//! adds its part.
//!
//! In every round each party works on the model θ and adds what it found to a sum; the sum makes the
//! next model. On a star the sum is the hub's. On any other connected graph it goes up a spanning tree,
//! whose root is the server, or is found by gossip, without any server:
//!
//! ```text
//!  tree, once:       the root floods `Tree`; every party passes it on to all but its parent
//!  tree, each round: `Up(Σ of the party's subtree)` to the parent, then `Down(θ)` to the children
//!  gossip:           x_i = n · (part of i);  x ← Wx, τ times (Metropolis);  Σ ≈ x_i at every party
//! ```
//!
//! Sums on a tree are in fixed point modulo 2⁶⁴ and so do not depend on the order of messages; masks
//! over another graph may hide each addend. Messages: 2E + n − 1 in the first round, 2(n − 1) in each
//! later one; by gossip 2E greetings and 2Eτ in each round.

mod config;
mod gossip;
mod tree_sum;

use std::sync::Arc;

pub use self::config::{Gossip as GossipConfig, MasksConfig, SumConfig, Way};
use self::gossip::Gossip;
use self::tree_sum::TreeSum;
use crate::learn::distance;
use crate::network::{Context, Peer, Received, Snapshot};
use crate::privacy::{
    Grid, Masks, PooledNoise, Released, Sensitivity, Wire, WireError, pooled, public,
};
use crate::random::Draws;
use crate::topology::Branch;
use crate::units::{PeerId, Round, SimTime};

/// What a party adds to a sum.
pub enum Addend {
    /// What a mechanism of its own protects, or nothing does.
    Released(Released<Arc<[f64]>>),
    /// Private data, whose protection is the noise in the sum.
    Pooled {
        /// The data.
        data: Vec<f64>,
        /// The noise, of which the party adds its own part.
        noise: PooledNoise,
        /// How far the sum moves.
        sensitivity: Sensitivity,
    },
}

impl Addend {
    /// What a party without samples adds: zeros, under its masks where there are any.
    pub(super) fn nothing(length: usize) -> Self {
        let noise = PooledNoise { own: 0.0, all: 0.0 };
        let sensitivity = Sensitivity { label: 0.0, record: 0.0 };
        Self::Pooled { data: vec![0.0; length], noise, sensitivity }
    }
}

/// What a party does in a protocol, and what is made of the sum.
pub trait Learner: Send {
    /// How many sums there are.
    fn rounds(&self) -> Round;

    /// The length of θ, which starts at 0.
    fn length(&self) -> usize;

    /// What the party adds in a round, from the model that all have.
    fn contribute(&mut self, round: Round, theta: &[f64], context: &mut Context<'_, Say>)
    -> Addend;

    /// θ ← the model that the sum of a round makes of θ.
    fn update(&mut self, round: Round, sum: &[f64], theta: &mut [f64]);

    /// θ is about to be replaced by the model of a round.
    fn leave(&mut self, _round: Round, _theta: &[f64]) {}

    /// What is scored.
    fn scored<'a>(&'a self, theta: &'a [f64]) -> &'a [f64] {
        theta
    }

    /// Samples that the party goes through in a round.
    fn work(&self) -> u64;
}

/// How the parties of a run add up.
#[derive(Debug)]
pub struct Sum {
    /// Exchanges of gossip in each round.
    pub exchanges: u32,
    /// The grid of the sums.
    pub grid: Grid,
    /// Where the parts of the noise come from.
    pub noise: Draws,
    /// How many parties there are.
    pub parties: usize,
}

/// What parties say to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// So many links lie between the root and me.
    Tree(u32),
    /// The sum over my subtree.
    Up(Round, Arc<[u64]>),
    /// The model after a round.
    Down(Round, Arc<[f64]>),
    /// How many neighbours I have.
    Degree(u32),
    /// My estimate, before an exchange of gossip.
    Estimate(Round, Arc<[f64]>),
}

/// Four bytes say which it is and hold the number, or the round, in 29 bits.
const KIND: u32 = 29;
const NUMBER: u32 = (1 << KIND) - 1;

impl Wire for Say {
    fn size(&self) -> usize {
        4 + match self {
            Self::Tree(_) | Self::Degree(_) => 0,
            Self::Up(_, residues) => residues.size(),
            Self::Down(_, values) | Self::Estimate(_, values) => values.size(),
        }
    }
    fn encode(&self, bytes: &mut Vec<u8>) {
        let mut head = |kind: u32, number: u32| (kind << KIND | number).encode(bytes);
        match self {
            Self::Tree(hops) => head(0, *hops),
            Self::Up(round, residues) => {
                head(1, round.0);
                residues.encode(bytes);
            }
            Self::Down(round, values) => {
                head(2, round.0);
                values.encode(bytes);
            }
            Self::Degree(degree) => head(3, *degree),
            Self::Estimate(round, values) => {
                head(4, round.0);
                values.encode(bytes);
            }
        }
    }
    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let head = u32::decode(bytes)?;
        let number = head & NUMBER;
        Ok(match head >> KIND {
            0 => Self::Tree(number),
            1 => Self::Up(Round(number), Wire::decode(bytes)?),
            2 => Self::Down(Round(number), Wire::decode(bytes)?),
            3 => Self::Degree(number),
            _ => Self::Estimate(Round(number), Wire::decode(bytes)?),
        })
    }
}

/// The most rounds, or exchanges of gossip, that messages can number.
pub const MOST_MESSAGES: u64 = NUMBER as u64;

/// One party: a learner, and its place in the sum.
#[derive(Debug)]
pub struct Party<L> {
    learner: L,
    sum: Arc<Sum>,
    masks: Option<Masks>,
    place: Place,
    /// θ.
    theta: Vec<f64>,
    /// The round that is under way; 0 before the first.
    round: Round,
}

#[derive(Debug)]
enum Place {
    Tree(TreeSum),
    Gossip(Gossip),
}

impl<L: Learner> Party<L> {
    /// The party with this learner, these neighbours and this place in the tree; without one it gossips.
    pub fn new(
        learner: L,
        neighbours: &[PeerId],
        branch: Option<Branch>,
        masks: Option<Masks>,
        sum: Arc<Sum>,
    ) -> Self {
        let place = match branch {
            Some(branch) => Place::Tree(TreeSum::new(branch, neighbours)),
            None => Place::Gossip(Gossip::new(neighbours, sum.exchanges)),
        };
        let theta = vec![0.0; learner.length()];
        Self { learner, sum, masks, place, theta, round: Round(0) }
    }

    /// Bytes that a party with this many neighbours and seeds occupies in dimension d, beside its
    /// samples and its learner's own vectors.
    pub fn memory(neighbours: usize, partners: usize, d: usize, gossips: bool) -> usize {
        const ALLOCATION: usize = 16;
        let place = if gossips { Gossip::memory(neighbours) } else { TreeSum::memory(neighbours) };
        let vectors = if gossips { 3 } else { 2 };
        size_of::<Self>() + place + 8 * vectors * d + 4 * partners + 5 * ALLOCATION
    }

    /// Bytes of a message with a model in dimension d.
    pub fn message_bytes(d: usize) -> usize {
        4 + 4 + 8 * d
    }

    fn done(&self) -> bool {
        self.round > self.learner.rounds()
    }

    /// What this party adds in the round that is under way, released.
    fn addend(&mut self, context: &mut Context<'_, Say>) -> Released<Arc<[u64]>> {
        let Self { round, sum, .. } = self;
        let round = *round;
        let grid = sum.grid;
        let addend = self.learner.contribute(round, &self.theta, context);
        let values = match &addend {
            Addend::Released(value) => value.value(),
            Addend::Pooled { data, .. } => data.as_slice(),
        };
        if let Some(value) = values.iter().find(|value| !grid.holds(**value)) {
            // To cut it to the bound would hide that the party's model diverges.
            context.fail(format!(
                "adds {value} to a sum whose addends are within {}: its steps diverge, expected smaller \
                 ones",
                grid.bound()
            ));
        }
        match addend {
            Addend::Released(value) => context.release(value).on_grid(&grid),
            Addend::Pooled { data, noise, sensitivity } => {
                let draws = self.sum.noise.clone();
                let draw =
                    (noise.own > 0.0).then(|| draws.at(context.me().0.into(), u64::from(round.0)));
                let masks = self.masks.as_ref().map(|masks| (masks, round));
                context.release(pooled(&data, &grid, (noise, draw), sensitivity, masks))
            }
        }
    }

    /// Does all that the messages at hand allow.
    fn advance(&mut self, context: &mut Context<'_, Say>) {
        match self.place {
            Place::Tree(_) => self.climb(context),
            Place::Gossip(_) => self.exchange(context),
        }
    }

    /// On a tree: passes the sum of the subtree on, or makes a model of the sum of all.
    fn climb(&mut self, context: &mut Context<'_, Say>) {
        while let Place::Tree(tree) = &mut self.place
            && self.round <= self.learner.rounds()
            && let Some(total) = tree.complete()
        {
            let round = self.round;
            if let Some(parent) = tree.parent() {
                let message = public(round).zip(total);
                context.send(parent, message.map(|(round, sum)| Say::Up(round, sum)));
                return;
            }
            let sum: Vec<f64> =
                total.value().iter().map(|&residue| self.sum.grid.number(residue)).collect();
            let mut theta: Arc<[f64]> = self.theta.as_slice().into();
            self.learner.update(round, &sum, Arc::make_mut(&mut theta));
            self.descend(theta, context);
            if context.neighbours().is_empty() {
                // One round at a time, so that the engine can measure in between.
                context.timer(SimTime::ZERO);
                return;
            }
        }
    }

    /// The model of a round comes down the tree; the next round begins.
    fn descend(&mut self, theta: Arc<[f64]>, context: &mut Context<'_, Say>) {
        if let Place::Tree(tree) = &self.place {
            // θ is made of sums that were booked when their addends were released.
            let message = public(Say::Down(self.round, Arc::clone(&theta)));
            for &child in tree.children() {
                context.send(child, message.clone());
            }
        }
        self.adopt(&theta, context);
        self.begin(context);
    }

    /// Takes the model of the round over, and leaves it to be measured.
    fn adopt(&mut self, theta: &[f64], context: &mut Context<'_, Say>) {
        let residual = distance(&self.theta, theta);
        self.learner.leave(self.round, &self.theta);
        self.theta.copy_from_slice(theta);
        let scored = self.learner.scored(&self.theta);
        context.deposit(self.round, &Snapshot { residual, ..Snapshot::of(scored) });
    }

    /// Begins the next round, if there is one.
    fn begin(&mut self, context: &mut Context<'_, Say>) {
        self.round = self.round.next();
        if self.done() {
            return;
        }
        match self.place {
            Place::Tree(_) => {
                let own = self.addend(context);
                if let Place::Tree(tree) = &mut self.place {
                    tree.add(own);
                }
            }
            Place::Gossip(_) => {
                let own = match self.learner.contribute(self.round, &self.theta, context) {
                    Addend::Released(own) => own,
                    Addend::Pooled { data, sensitivity, .. } if sensitivity.record == 0.0 => {
                        public(data.into())
                    }
                    Addend::Pooled { .. } => {
                        context.fail("gossip would show data that no noise hides".to_string());
                        return;
                    }
                };
                let own = context.release(own).times_public(self.sum.parties as f64);
                if let Place::Gossip(gossip) = &mut self.place {
                    gossip.start(own, context);
                }
            }
        }
    }

    /// By gossip: one exchange after the other, and a model of the estimate after the last.
    fn exchange(&mut self, context: &mut Context<'_, Say>) {
        if self.round == Round(0) {
            let Place::Gossip(gossip) = &mut self.place else { return };
            if !gossip.greeted() {
                return;
            }
            self.begin(context);
        }
        while let Place::Gossip(gossip) = &mut self.place
            && self.round <= self.learner.rounds()
            && let Some(mixed) = gossip.mix(context)
        {
            let Some(sum) = mixed else { continue };
            let mut theta = std::mem::take(&mut self.theta);
            let before = theta.clone();
            self.learner.update(self.round, sum.value(), &mut theta);
            self.theta = before;
            self.adopt(&theta, context);
            self.begin(context);
            if context.neighbours().is_empty() {
                context.timer(SimTime::ZERO);
                return;
            }
        }
    }
}

impl<L: Learner> Peer for Party<L> {
    type Message = Say;

    fn start(&mut self, context: &mut Context<'_, Say>) {
        match &mut self.place {
            Place::Gossip(gossip) => gossip.greet(context),
            Place::Tree(tree) if tree.parent().is_none() => {
                tree.flood(context);
                self.begin(context);
            }
            Place::Tree(_) => {}
        }
        self.advance(context);
    }

    fn receive(&mut self, from: PeerId, said: Received<'_, Say>, context: &mut Context<'_, Say>) {
        match (&mut self.place, said.value()) {
            (Place::Tree(tree), Say::Tree(_)) => {
                if tree.parent() == Some(from) {
                    tree.flood(context);
                    self.begin(context);
                } else {
                    tree.answered();
                }
            }
            (Place::Tree(tree), Say::Up(..)) => {
                tree.hear(from, &said.into_released().map(Say::residues));
            }
            (Place::Tree(_), Say::Down(_, theta)) => {
                let theta = Arc::clone(theta);
                self.descend(theta, context);
            }
            (Place::Gossip(gossip), Say::Degree(degree)) => gossip.hear_degree(from, *degree),
            (Place::Gossip(gossip), &Say::Estimate(tick, _)) => {
                gossip.hear(from, tick, said.into_released().map(Say::values));
            }
            _ => {}
        }
        self.advance(context);
    }

    fn timer(&mut self, context: &mut Context<'_, Say>) {
        self.advance(context);
    }

    fn waiting_for(&self) -> Vec<PeerId> {
        match &self.place {
            _ if self.done() => Vec::new(),
            Place::Tree(tree) => tree.missing(self.round),
            Place::Gossip(gossip) => gossip.missing(),
        }
    }

    fn weight(&self) -> u64 {
        self.theta.len() as u64 * (self.learner.work() + 1)
    }
}

impl Say {
    fn residues(self) -> Arc<[u64]> {
        match self {
            Self::Up(_, residues) => residues,
            _ => Arc::default(),
        }
    }

    fn values(self) -> Arc<[f64]> {
        match self {
            Self::Down(_, values) | Self::Estimate(_, values) => values,
            _ => Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_parties_say_survives_the_wire_and_the_way_to_another_process(
            number in 0..NUMBER,
            words in prop::collection::vec(any::<u64>(), 0..6),
        ) {
            let values = || words.iter().map(|&word| f64::from_bits(word)).collect();
            for said in [
                Say::Tree(number),
                Say::Up(Round(number), words.clone().into()),
                Say::Down(Round(number), values()),
                Say::Degree(number),
                Say::Estimate(Round(number), values()),
            ] {
                let (mut sent, mut packed) = (Vec::new(), Vec::new());
                said.encode(&mut sent);
                said.pack(&mut packed);
                prop_assert_eq!(sent.len(), said.size());
                let mut again = Vec::new();
                Say::decode(&mut sent.as_slice()).unwrap().encode(&mut again);
                prop_assert_eq!(&again, &sent);
                again.clear();
                Say::unpack(&mut packed.as_slice()).unwrap().pack(&mut again);
                prop_assert_eq!(&again, &packed);
            }
        }
    }
}
