//! Peers that move from worker to worker, with all that belongs to them.

use crossbeam_channel::{Receiver, RecvError, Sender, bounded};

use super::event::Event;
use super::layout::Layout;
use super::port::Desk;
use crate::network::links::Links;
use crate::network::peer::Peer;
use crate::privacy::Account;
use crate::topology::Topology;
use crate::units::{PeerId, Round, SimTime};

/// Consecutive peers and what belongs to them, whoever runs them.
pub(super) struct Household<P: Peer> {
    pub(super) peers: Vec<P>,
    pub(super) desks: Vec<Desk>,
    pub(super) accounts: Vec<Account>,
    /// The last arrival on each of their outgoing links, peer after peer, where links must hold back
    /// messages that would overtake others; empty where none could.
    pub(super) last_arrival: Vec<SimTime>,
    /// What will happen to them, in no order.
    pub(super) events: Vec<Event<P::Message>>,
    /// The last round in which each left something to be measured.
    pub(super) reached: Vec<Option<Round>>,
}

impl<P: Peer> Household<P> {
    /// Peers, before anything has happened.
    pub(super) fn new(
        peers: Vec<P>,
        ids: impl Iterator<Item = PeerId>,
        topology: &Topology,
        links: &Links,
    ) -> Self {
        let mut household = Self::empty();
        household.accounts = vec![Account::default(); peers.len()];
        household.reached = vec![None; peers.len()];
        let mut degrees = 0;
        for peer in ids.take(peers.len()) {
            let seconds_per_sample = links.seconds_per_sample(peer);
            household.desks.push(Desk { seconds_per_sample, ..Desk::default() });
            degrees += topology.degree(peer);
        }
        household.last_arrival = vec![SimTime::ZERO; if links.reorders() { degrees } else { 0 }];
        Self { peers, ..household }
    }

    fn empty() -> Self {
        Self {
            peers: Vec::new(),
            desks: Vec::new(),
            accounts: Vec::new(),
            last_arrival: Vec::new(),
            events: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Those from a place on, whose links begin there; events stay.
    fn split_off(&mut self, place: usize, link: usize) -> Self {
        Self {
            peers: self.peers.split_off(place),
            desks: self.desks.split_off(place),
            accounts: self.accounts.split_off(place),
            last_arrival: self.last_arrival.split_off(link),
            reached: self.reached.split_off(place),
            events: Vec::new(),
        }
    }

    /// Takes in those who stand behind.
    fn append(&mut self, mut behind: Self) {
        self.peers.append(&mut behind.peers);
        self.desks.append(&mut behind.desks);
        self.accounts.append(&mut behind.accounts);
        self.last_arrival.append(&mut behind.last_arrival);
        self.events.append(&mut behind.events);
        self.reached.append(&mut behind.reached);
    }

    /// By worker of a process, those who will be run by it: they stand from `first` on, and the links of
    /// each begin in `links`.
    pub(super) fn divided(
        mut self,
        first: usize,
        links: &[u32],
        worker: usize,
        layout: &Layout,
    ) -> Vec<Self> {
        let workers = layout.shards_of(worker / layout.workers());
        let events = std::mem::take(&mut self.events);
        let mut parts: Vec<Self> = Vec::new();
        for worker in workers.clone().rev() {
            let place = layout.range(worker).start.saturating_sub(first).min(self.peers.len());
            let link = links.get(place).map_or(self.last_arrival.len(), |&link| link as usize);
            parts.push(self.split_off(place, link));
        }
        parts.reverse();
        for event in events {
            let worker = layout.worker(layout.place(event.receiver));
            parts[worker - workers.start].events.push(event);
        }
        parts
    }
}

/// A worker's ways to and from every other of its process, in the order of workers.
pub(super) struct Vans<P: Peer> {
    to: Vec<Sender<Household<P>>>,
    from: Vec<Receiver<Household<P>>>,
}

impl<P: Peer> Vans<P> {
    /// One for each ordered pair of so many workers, and for each with itself.
    pub(super) fn between(workers: usize) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..workers).map(|_| Self { to: Vec::new(), from: Vec::new() }).collect();
        for a in 0..workers {
            for b in 0..workers {
                let (sender, receiver) = bounded(1);
                all[a].to.push(sender);
                all[b].from.push(receiver);
            }
        }
        all
    }

    /// Gives every worker those whom it will run, and takes those whom this one will.
    ///
    /// # Errors
    /// Another worker is no more.
    pub(super) fn moved(&self, parts: Vec<Household<P>>) -> Result<Household<P>, RecvError> {
        for (part, sender) in parts.into_iter().zip(&self.to) {
            // Who does not take it does not give any either.
            let _ = sender.send(part);
        }
        let mut household = Household::empty();
        for receiver in &self.from {
            household.append(receiver.recv()?);
        }
        Ok(household)
    }
}
