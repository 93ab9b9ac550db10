//! A window in which many have posted: who answers whom, one by one or all at once.

use std::ops::Range;

use super::super::board::{Arrivals, Board};
use super::super::event::Event;
use super::super::together::{Chorus, Turns, look_ahead};
use super::{Shard, Turn, take_event};
use crate::network::observe::Probe;
use crate::network::peer::Peer;

/// More posts than this are not in the nearest caches when they are looked for.
const FAR: usize = 2048;
/// So many peers ahead of the one at work ask for what they will need.
const AHEAD: usize = 8;

impl<P: Peer, R: Probe> Shard<'_, P, R> {
    /// Runs a window in which many have posted: everybody looks for posts of its neighbours.
    pub(super) fn run_everybody(
        &mut self,
        turn: Turn,
        order: &[u32],
        events: &mut [Event<P::Message>],
        asked_to_stop: &impl Fn() -> bool,
    ) {
        // Nothing is put up or taken down while a window runs.
        let board = std::mem::replace(&mut self.board, Board::new(None));
        let far = board.len() > FAR;
        let chorus = if order.is_empty() { self.chorus(&board) } else { None };
        let mut due = Vec::new();
        let mut begin = 0;
        let (mut next, mut alike) = (0, 0);
        for first in (0..AHEAD).filter(|_| far) {
            self.look_ahead(&board, first, turn);
        }
        while next < self.peers.len() {
            if let Some(chorus) = &chorus
                && self.is_turn_of(next, turn)
            {
                self.watch.reach(next);
                // Looked for once for all who are alike: whoever has no turn here comes by again.
                if next >= alike {
                    alike = self.alike(next);
                }
                let end = alike.min(self.watch.next()).max(next + 1);
                next = self.hear_together(next..end, &board, chorus, far);
                if next == end {
                    continue;
                }
            }
            let place = next;
            next += 1;
            if far {
                self.look_ahead(&board, place + AHEAD, turn);
            }
            let receiver = self.layout.peer(self.first + place);
            let end = self.starts.get(place).map_or(0, |&end| end as usize);
            let own = &order[begin..end.max(begin)];
            begin = end.max(begin);
            if !self.is_turn_of(place, turn) {
                continue;
            }
            self.watch.reach(place);
            // Neighbours are in the order of their numbers: posts of one time are in their order.
            if let (Some(time), []) = (board.time(), own) {
                let mut next = board.looks(place).then_some(0);
                while let Some(first) = next {
                    next = self.deliver_posts((receiver, place), time, &board, first);
                    if next.is_none() {
                        break;
                    }
                    let neighbours = self.topology.neighbours(receiver);
                    // What it made for itself meanwhile may come before the next of them.
                    let first = next.and_then(|next| board.heads(place).find(|(k, _)| *k >= next));
                    let order = first.map(|(k, head)| (head.time, neighbours[k], head.sequence));
                    while let Some(event) =
                        order.and_then(|order| self.mail.own_before(Some(order)))
                    {
                        self.happen(event);
                    }
                }
            } else {
                let neighbours = self.topology.neighbours(receiver);
                due.clear();
                due.extend(own.iter().map(|&at| (events[at as usize].order(), Err(at))));
                due.extend(board.heads(place).map(|(neighbour, head)| {
                    ((head.time, neighbours[neighbour], head.sequence), Ok(neighbour))
                }));
                due.sort_unstable_by_key(|&(order, _)| order);
                for &((time, sender, sequence), what) in &due {
                    while let Some(event) = self.mail.own_before(Some((time, sender, sequence))) {
                        self.happen(event);
                    }
                    match what {
                        Err(at) => self.happen(take_event(&mut events[at as usize])),
                        Ok(neighbour) => {
                            let mut arrivals = Arrivals::new(&board, place, neighbours, neighbour);
                            if let Some((_, arrival)) = arrivals.next_arrival() {
                                self.deliver(receiver, place, time, sender, arrival.received());
                            }
                        }
                    }
                }
            }
            if self.finish_own(asked_to_stop) {
                break;
            }
        }
        self.board = board;
    }

    /// What everybody says, where that is a vector of one round from each and answers can be posted.
    fn chorus<'b>(&mut self, board: &'b Board<P::Message>) -> Option<Chorus<'b>> {
        let chorus = board.chorus(self.mail.latency()?, self.gathering.schedule())?;
        self.mail.prepare(chorus.answer, chorus.length).then_some(chorus)
    }

    /// Lets peers hear all their neighbours at once, from a place on, as far as they will and nothing keeps
    /// them from it. Returns the place of the first who is left.
    #[inline]
    fn hear_together(
        &mut self,
        places: Range<usize>,
        board: &Board<P::Message>,
        chorus: &Chorus<'_>,
        far: bool,
    ) -> usize {
        let mut posts = std::mem::take(&mut self.mail.posts);
        let mut turns = Turns {
            answers: posts.answers(chorus.answer, chorus.round.next()),
            stays: self.mail.stays(places.start),
            chorus,
            board,
            peers: &mut self.peers,
            end: places.end,
            ahead: far.then_some(AHEAD),
            desks: &mut self.desks,
            accounts: &mut self.accounts,
            mail: &mut self.mail,
            running: &mut self.running,
            next: places.start,
            taken: false,
        };
        P::receive_together(&mut turns);
        let next = turns.next;
        self.mail.posts = posts;
        next
    }

    /// Up to where all peers from a place on have links to other ranks, or none has.
    fn alike(&self, place: usize) -> usize {
        match self.borders.get(place..) {
            Some([first, others @ ..]) => {
                let other = others.iter().position(|border| border != first);
                other.map_or(self.peers.len(), |others| place + 1 + others)
            }
            _ => self.peers.len(),
        }
    }

    /// [Looks ahead](look_ahead) to whoever will be at work.
    fn look_ahead(&self, board: &Board<P::Message>, place: usize, turn: Turn) {
        if self.is_turn_of(place, turn) {
            look_ahead(place, AHEAD, (&self.peers, &self.desks, &self.accounts), board);
        }
    }
}
