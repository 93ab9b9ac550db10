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

/// A peer's messages of this round and the last. When a round of the same parity comes up again,
/// every neighbour has let go of its buffer, so the messages of a whole run live in these two.
#[derive(Debug)]
pub(super) struct Outbox {
    buffers: [Arc<[f64]>; 2],
}

impl Outbox {
    /// Buffers for messages of so many numbers.
    pub(super) fn new(length: usize) -> Self {
        Self { buffers: [vec![0.0; length].into(), vec![0.0; length].into()] }
    }

    /// The buffer of a round to write to: the same memory if nobody holds it any more, else a new
    /// one.
    pub(super) fn writable(&mut self, round: Round) -> &mut [f64] {
        let buffer = &mut self.buffers[parity(round)];
        if Arc::get_mut(buffer).is_none() {
            *buffer = vec![0.0; buffer.len()].into();
        }
        Arc::get_mut(buffer).expect("a buffer that was just made is held once")
    }

    /// The buffer of a round, to write to and to give back: held by nobody else.
    pub(super) fn take(&mut self, round: Round) -> Arc<[f64]> {
        self.writable(round);
        std::mem::take(&mut self.buffers[parity(round)])
    }

    /// Gives the buffer of a round back, for the neighbours to read.
    pub(super) fn put(&mut self, round: Round, buffer: Arc<[f64]>) {
        self.buffers[parity(round)] = buffer;
    }

    /// The content of a round's buffer, to be sent.
    pub(super) fn shared(&self, round: Round) -> Arc<[f64]> {
        Arc::clone(&self.buffers[parity(round)])
    }

    /// The content of a round's buffer, to be read.
    pub(super) fn content(&self, round: Round) -> &[f64] {
        &self.buffers[parity(round)]
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
