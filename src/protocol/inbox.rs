//! What synchronous protocols share: messages of this round and the next, and buffers to send from.

use std::sync::Arc;

use crate::units::{PeerId, Round};

/// Neighbours are at most one round ahead, so two places per neighbour hold all that can arrive.
fn parity(round: Round) -> usize {
    round.0 as usize % 2
}

/// The latest messages of every neighbour, by round.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    neighbours: Box<[PeerId]>,
    slots: Vec<[Option<T>; 2]>,
    arrived: [u32; 2],
}

impl<T> Inbox<T> {
    /// An empty inbox for messages of these neighbours, who must be in ascending order.
    pub(super) fn new(neighbours: &[PeerId]) -> Self {
        Self {
            neighbours: neighbours.into(),
            slots: neighbours.iter().map(|_| [None, None]).collect(),
            arrived: [0, 0],
        }
    }

    /// How many neighbours there are.
    pub(super) fn neighbours(&self) -> usize {
        self.neighbours.len()
    }

    /// Bytes that an inbox for so many neighbours occupies beside its own struct.
    pub(super) fn memory(neighbours: usize) -> usize {
        neighbours * (size_of::<[Option<T>; 2]>() + size_of::<PeerId>())
    }

    /// Files a message under its sender and its round.
    pub(super) fn put(&mut self, from: PeerId, round: Round, message: T) {
        if let Ok(slot) = self.neighbours.binary_search(&from) {
            let place = &mut self.slots[slot][parity(round)];
            self.arrived[parity(round)] += u32::from(place.is_none());
            *place = Some(message);
        }
    }

    /// Whether every neighbour's message of this round is there.
    pub(super) fn complete(&self, round: Round) -> bool {
        self.arrived[parity(round)] as usize == self.neighbours.len()
    }

    /// Takes the messages of a round out, in the order of neighbours.
    pub(super) fn take(&mut self, round: Round) -> impl Iterator<Item = T> {
        let side = parity(round);
        self.arrived[side] = 0;
        self.slots.iter_mut().filter_map(move |places| places[side].take())
    }

    /// Whose message of this round is missing.
    pub(super) fn missing(&self, round: Round) -> Vec<PeerId> {
        let places = self.neighbours.iter().zip(&self.slots);
        let missing = places.filter(|(_, places)| places[parity(round)].is_none());
        missing.map(|(&peer, _)| peer).collect()
    }
}

/// Messages that are added up in the order of neighbours, each as soon as those before it are through:
/// where they come in that order, none has to be kept.
#[derive(Debug)]
pub(super) struct Addition<T> {
    /// Those that came too early.
    inbox: Inbox<T>,
    /// How many neighbours are through in this round.
    through: u32,
}

impl<T: Clone> Addition<T> {
    /// Of messages of these neighbours, who must be in ascending order.
    pub(super) fn new(neighbours: &[PeerId]) -> Self {
        Self { inbox: Inbox::new(neighbours), through: 0 }
    }

    /// How many neighbours there are.
    pub(super) fn neighbours(&self) -> usize {
        self.inbox.neighbours()
    }

    /// Bytes for so many neighbours beside its own struct.
    pub(super) fn memory(neighbours: usize) -> usize {
        Inbox::<T>::memory(neighbours)
    }

    /// Takes a message in: adds it now, if it is of this round and its turn has come, and those that
    /// have waited for it.
    #[inline]
    pub(super) fn hear(
        &mut self,
        (from, round): (PeerId, Round),
        message: &T,
        now: Round,
        mut add: impl FnMut(&T),
    ) {
        if self.has_turn(from, round, now) {
            add(message);
            self.go_on(now, add);
        } else {
            self.keep(from, round, message.clone());
        }
    }

    /// Whether a message is to be added now: it is of this round, and its turn has come. The caller adds
    /// it, and then [those](Self::go_on) that have waited for it.
    #[inline]
    pub(super) fn has_turn(&mut self, from: PeerId, round: Round, now: Round) -> bool {
        let its_turn = self.inbox.neighbours.get(self.through as usize) == Some(&from);
        let now = its_turn && round == now;
        self.through += u32::from(now);
        now
    }

    /// Keeps a message whose turn has not come.
    pub(super) fn keep(&mut self, from: PeerId, round: Round, message: T) {
        self.inbox.put(from, round, message);
    }

    /// Whether messages of this round wait for their turn.
    #[inline]
    pub(super) fn has_waiting(&self, now: Round) -> bool {
        self.inbox.arrived[parity(now)] > 0
    }

    /// Adds what has waited of this round, up to the first that is missing.
    #[inline]
    pub(super) fn go_on(&mut self, now: Round, add: impl FnMut(&T)) {
        if self.has_waiting(now) {
            self.add_waiting(now, add);
        }
    }

    fn add_waiting(&mut self, now: Round, mut add: impl FnMut(&T)) {
        let side = parity(now);
        while let Some(places) = self.inbox.slots.get_mut(self.through as usize)
            && let Some(message) = places[side].take()
        {
            self.inbox.arrived[side] -= 1;
            self.through += 1;
            add(&message);
        }
    }

    /// Whether nothing has come of this round nor of the next.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.through == 0 && self.inbox.arrived == [0, 0]
    }

    /// Says that the caller has added the messages of all.
    pub(super) fn all_through(&mut self) {
        self.through = self.inbox.neighbours() as u32;
    }

    /// Whether every neighbour is through.
    pub(super) fn complete(&self) -> bool {
        self.through as usize == self.inbox.neighbours()
    }

    /// Begins a round, and adds what has come of it before.
    pub(super) fn begin(&mut self, now: Round, add: impl FnMut(&T)) {
        self.through = 0;
        self.go_on(now, add);
    }

    /// Whose message of this round is missing.
    pub(super) fn missing(&self, now: Round) -> Vec<PeerId> {
        let places =
            self.inbox.neighbours.iter().zip(&self.inbox.slots).skip(self.through as usize);
        let missing = places.filter(|(_, places)| places[parity(now)].is_none());
        missing.map(|(&peer, _)| peer).collect()
    }
}

/// A peer's messages of this round and the last. When a round of the same parity comes up again,
/// every neighbour has let go of its buffer, so the messages of a whole run live in these two.
#[derive(Debug)]
pub(super) struct Outbox {
    /// A buffer is missing while it is written to.
    buffers: [Option<Arc<[f64]>>; 2],
    length: usize,
}

impl Outbox {
    /// Buffers for messages of so many numbers.
    pub(super) fn new(length: usize) -> Self {
        Self { buffers: [None, None], length }
    }

    /// Makes the buffers, if they are not there yet.
    pub(super) fn make_room(&mut self) {
        for buffer in &mut self.buffers {
            buffer.get_or_insert_with(|| vec![0.0; self.length].into());
        }
    }

    /// The buffer of a round to write to: the same memory if nobody holds it any more, else a new
    /// one.
    pub(super) fn writable(&mut self, round: Round) -> &mut [f64] {
        let buffer = self.take(round);
        Arc::get_mut(self.buffers[parity(round)].insert(buffer)).expect("nobody else holds it")
    }

    /// The buffer of a round, to write to and to give back: held by nobody else.
    pub(super) fn take(&mut self, round: Round) -> Arc<[f64]> {
        // There are no weak references, and nobody makes another one from what only we hold.
        let free = self.buffers[parity(round)].take().filter(|held| Arc::strong_count(held) == 1);
        free.unwrap_or_else(|| vec![0.0; self.length].into())
    }

    /// The content of a round's buffer, to be sent.
    pub(super) fn shared(&self, round: Round) -> Arc<[f64]> {
        self.buffers[parity(round)].clone().unwrap_or_default()
    }

    /// The content of a round's buffer, to be read.
    pub(super) fn content(&self, round: Round) -> &[f64] {
        self.buffers[parity(round)].as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rounds_are_kept_apart_and_come_out_in_the_order_of_neighbours() {
        let mut inbox = Inbox::new(&[PeerId(2), PeerId(5), PeerId(9)]);
        inbox.put(PeerId(9), Round(1), 'c');
        inbox.put(PeerId(2), Round(2), 'A');
        inbox.put(PeerId(2), Round(1), 'a');
        assert!(!inbox.complete(Round(1)));
        assert_eq!(inbox.missing(Round(1)), [PeerId(5)]);
        inbox.put(PeerId(5), Round(1), 'b');
        assert!(inbox.complete(Round(1)) && !inbox.complete(Round(2)));
        assert_eq!(inbox.take(Round(1)).collect::<String>(), "abc");
        assert_eq!(inbox.missing(Round(2)), [PeerId(5), PeerId(9)]);
        assert!(!inbox.complete(Round(3)), "round 3 takes the places of round 1, which are empty");
    }

    #[test]
    fn messages_are_added_in_the_order_of_neighbours_whatever_order_they_come_in() {
        let neighbours = [PeerId(2), PeerId(5), PeerId(9)];
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for (first, second) in orders.iter().flat_map(|a| orders.map(|b| (a, b))) {
            // Some of the second round come before the first is complete.
            for early in 0..3 {
                let mut addition = Addition::new(&neighbours);
                let mut added = String::new();
                let mut come = |addition: &mut Addition<char>, who: usize, round: u32, now: u32| {
                    let message = ['a', 'b', 'c', 'A', 'B', 'C'][who + 3 * (round as usize - 1)];
                    let add = |message: &char| added.push(*message);
                    addition.hear((neighbours[who], Round(round)), &message, Round(now), add);
                };
                come(&mut addition, first[0], 1, 1);
                come(&mut addition, first[1], 1, 1);
                let ahead: Vec<_> =
                    second.iter().filter(|&&who| who != first[2]).take(early).copied().collect();
                ahead.iter().for_each(|&who| come(&mut addition, who, 2, 1));
                assert!(!addition.complete());
                assert_eq!(addition.missing(Round(1)), [neighbours[first[2]]]);
                come(&mut addition, first[2], 1, 1);
                assert!(addition.complete());
                addition.begin(Round(2), |message| added.push(*message));
                for &who in second.iter().filter(|who| !ahead.contains(who)) {
                    assert!(!addition.complete());
                    let add = |message: &char| added.push(*message);
                    let message = ['A', 'B', 'C'][who];
                    addition.hear((neighbours[who], Round(2)), &message, Round(2), add);
                }
                assert!(addition.complete() && addition.missing(Round(2)).is_empty());
                assert_eq!(added, "abcABC");
            }
        }
    }

    #[test]
    fn a_buffer_is_used_again_unless_somebody_holds_it() {
        let mut outbox = Outbox::new(4);
        outbox.writable(Round(1))[0] = 1.0;
        let memory = outbox.content(Round(1)).as_ptr();
        outbox.writable(Round(3))[0] = 3.0;
        assert_eq!(outbox.content(Round(3)).as_ptr(), memory, "nobody holds it");
        let held = outbox.shared(Round(3));
        outbox.writable(Round(5))[0] = 5.0;
        assert_eq!((held[0], outbox.content(Round(5))[0]), (3.0, 5.0), "a neighbour holds it");
    }
}
