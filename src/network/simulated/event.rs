//! Events, and the queue that holds them by window.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::privacy::Released;
use crate::units::{PeerId, SimTime};

/// Something that will happen to a peer.
pub(super) struct Event<M> {
    pub time: SimTime,
    pub receiver: PeerId,
    pub sender: PeerId,
    pub sequence: u64,
    pub what: What<M>,
}

/// What happens.
pub(super) enum What<M> {
    /// A message reaches the receiver's interface.
    Arrival(Released<M>),
    /// A message is through the interface.
    Delivery(Released<M>),
    /// A timer runs out.
    Timer,
    /// It has happened.
    Done,
}

/// In the order in which they happen to one receiver.
impl<M> Ord for Event<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl<M> PartialOrd for Event<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> PartialEq for Event<M> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<M> Eq for Event<M> {}

impl<M> Event<M> {
    /// The order in which one receiver's events happen.
    pub(super) fn order(&self) -> (SimTime, PeerId, u64) {
        (self.time, self.sender, self.sequence)
    }
}

/// Whether the workers go on. The greater wins: one worker is enough to stop all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Go,
    Stop,
    /// A worker is no more.
    Failed,
}

/// What one worker hands another between two windows.
pub(super) struct Batch<M> {
    pub events: Vec<Event<M>>,
    /// The earliest window in which the sender knows of something to do, anywhere.
    pub next: Option<u64>,
    pub verdict: Verdict,
}

/// Pending events by window. Emptied buffers are kept and used again, so that a run in its stride
/// allocates nothing here.
pub(super) struct Queue<M> {
    windows: BTreeMap<u64, Vec<Event<M>>>,
    spare: Vec<Vec<Event<M>>>,
    kept: usize,
    length: SimTime,
}

impl<M> Queue<M> {
    /// A queue of windows of this length that exchanges buffers with so many other workers.
    pub(super) fn new(length: SimTime, others: usize) -> Self {
        Self { windows: BTreeMap::new(), spare: Vec::new(), kept: 4 + 2 * others, length }
    }

    /// The window that an instant lies in.
    pub(super) fn window(&self, time: SimTime) -> u64 {
        time.0 / self.length.0
    }

    pub(super) fn push(&mut self, event: Event<M>) {
        let window = self.window(event.time);
        let spare = &mut self.spare;
        self.windows.entry(window).or_insert_with(|| spare.pop().unwrap_or_default()).push(event);
    }

    /// The earliest window that holds anything.
    pub(super) fn next(&self) -> Option<u64> {
        self.windows.keys().next().copied()
    }

    /// All events of a window, in no order.
    pub(super) fn take(&mut self, window: u64) -> Vec<Event<M>> {
        self.windows.remove(&window).unwrap_or_default()
    }

    /// A buffer, empty and perhaps used before.
    pub(super) fn buffer(&mut self) -> Vec<Event<M>> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back a buffer.
    pub(super) fn recycle(&mut self, mut events: Vec<Event<M>>) {
        events.clear();
        if events.capacity() > 0 && self.spare.len() < self.kept {
            self.spare.push(events);
        }
    }
}
