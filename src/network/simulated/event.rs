//! Events, and the queue that holds them by window.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::balance::Work;
use super::posts::Posts;
use crate::privacy::{Pack, Settled, Wire, WireError};
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
    Arrival(Settled<M>),
    /// A message is through the interface.
    Delivery(Settled<M>),
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

/// What one worker has for another, in no order.
pub(super) struct Pending<M> {
    /// Whose it is.
    pub from: usize,
    pub events: Vec<Event<M>>,
    /// Posts for a worker of another rank; those for one of the same process are not made twice.
    pub posts: Posts<M>,
}

impl<M> Pending<M> {
    /// Nothing yet, of this worker.
    pub(super) fn of(from: usize) -> Self {
        Self { from, events: Vec::new(), posts: Posts::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.posts.is_empty()
    }
}

/// In bytes: how long they are, whose they are, how many events; then events and posts. Only messages
/// leave a worker, so every event is an arrival.
impl<M: Wire + Clone> Pending<M> {
    /// Appends all of it, and is empty.
    pub(super) fn pack(&mut self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        0_u64.put(bytes);
        if self.is_empty() {
            return;
        }
        (self.from, self.events.len()).put(bytes);
        for Event { time, receiver, sender, sequence, what } in self.events.drain(..) {
            if let What::Arrival(message) = what {
                (time, receiver, (sender, sequence)).put(bytes);
                message.pack(bytes);
            }
        }
        self.posts.pack(bytes);
        let length = (bytes.len() - start - LENGTH) as u64;
        bytes[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
    }
}

/// Bytes of a length.
const LENGTH: usize = size_of::<u64>();

/// Takes off the front what one worker packed for another.
pub(super) fn take_packed<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], WireError> {
    let length = usize::get(bytes)?;
    let missing = || WireError { missing: length - bytes.len() };
    let (packed, rest) = bytes.split_at_checked(length).ok_or_else(missing)?;
    *bytes = rest;
    Ok(packed)
}

/// Whether the workers go on. The greater wins: one worker is enough to stop all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Go,
    Stop,
    /// A worker is no more.
    Failed,
}

impl Verdict {
    /// By its number.
    pub(super) fn of(number: u64) -> Self {
        match number {
            0 => Self::Go,
            1 => Self::Stop,
            _ => Self::Failed,
        }
    }
}

/// What one worker hands another between two windows.
pub(super) struct Batch<M> {
    pub pending: Pending<M>,
    /// All posts of the sender's peers, if there are any for the receiver's to look at.
    pub posts: Option<Arc<Posts<M>>>,
    /// The earliest window in which the sender knows of something to do, anywhere.
    pub next: Option<u64>,
    pub verdict: Verdict,
    /// What the sender measured, when it is time to look.
    pub work: Option<Work>,
    /// The core that the sender is on.
    pub core: Option<usize>,
}

/// Events, by window. Emptied buffers are kept and used again, so that a run in its stride allocates
/// nothing here.
pub(super) struct Queue<M> {
    /// The window that was last added to, apart: nearly everything goes to the same one.
    open: (u64, Vec<Event<M>>),
    /// When that begins: to find it again without a division.
    opens: SimTime,
    windows: BTreeMap<u64, Vec<Event<M>>>,
    spare: Vec<Vec<Event<M>>>,
    kept: usize,
    length: SimTime,
}

impl<M> Queue<M> {
    /// A queue of windows of this length that exchanges buffers with so many other workers.
    pub(super) fn new(length: SimTime, others: usize) -> Self {
        Self {
            open: (0, Vec::new()),
            opens: SimTime::ZERO,
            windows: BTreeMap::new(),
            spare: Vec::new(),
            kept: 4 + 2 * others,
            length,
        }
    }

    /// The window that an instant lies in.
    #[inline]
    pub(super) fn window(&self, time: SimTime) -> u64 {
        if time.0.wrapping_sub(self.opens.0) < self.length.0 {
            return self.open.0;
        }
        time.0 / self.length.0
    }

    pub(super) fn push(&mut self, event: Event<M>) {
        self.at(self.window(event.time)).push(event);
    }

    /// The events of a window, to add to them.
    #[inline]
    fn at(&mut self, window: u64) -> &mut Vec<Event<M>> {
        if self.open.0 != window {
            let events = self.windows.remove(&window).unwrap_or_else(|| self.buffer());
            let (before, events) = std::mem::replace(&mut self.open, (window, events));
            self.opens = SimTime(window * self.length.0);
            self.put_away(before, events);
        }
        &mut self.open.1
    }

    fn put_away(&mut self, window: u64, events: Vec<Event<M>>) {
        if events.is_empty() {
            self.recycle(events);
        } else {
            self.windows.insert(window, events);
        }
    }

    /// The earliest window that holds anything.
    pub(super) fn next(&self) -> Option<u64> {
        let open = (!self.open.1.is_empty()).then_some(self.open.0);
        [open, self.windows.keys().next().copied()].into_iter().flatten().min()
    }

    /// All events of a window.
    pub(super) fn take(&mut self, window: u64) -> Vec<Event<M>> {
        if self.open.0 == window {
            let buffer = self.buffer();
            return std::mem::replace(&mut self.open.1, buffer);
        }
        self.windows.remove(&window).unwrap_or_default()
    }

    /// All events of all windows.
    pub(super) fn into_events(self) -> impl Iterator<Item = Event<M>> {
        self.open.1.into_iter().chain(self.windows.into_values().flatten())
    }

    /// Takes what another worker has for this one; gives back its buffer.
    pub(super) fn accept(&mut self, mut events: Vec<Event<M>>) {
        for event in events.drain(..) {
            self.push(event);
        }
        self.recycle(events);
    }

    /// Takes events that were [packed](Pending::pack), and their number before them.
    pub(super) fn accept_packed(&mut self, bytes: &mut &[u8]) -> Result<(), WireError>
    where
        M: Wire,
    {
        for _ in 0..usize::get(bytes)? {
            let (time, receiver, (sender, sequence)) = Pack::get(bytes)?;
            let what = What::Arrival(Settled::unpack(bytes)?);
            self.push(Event { time, receiver, sender, sequence, what });
        }
        Ok(())
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
