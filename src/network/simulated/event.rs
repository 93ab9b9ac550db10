//! Events, and the queue that holds them by window.

use std::cmp::Ordering;
use std::collections::BTreeMap;

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

/// A message to all neighbours of its sender that reaches them all at once: one thing under way,
/// however many receive it.
pub(super) struct Post<M> {
    pub time: SimTime,
    pub sender: PeerId,
    /// The sequence number of the first copy; the others' follow.
    pub sequence: u64,
    pub message: Settled<M>,
}

impl<M> Post<M> {
    /// Where its copy comes in the order of a receiver's events. Nothing else of the same sender has a
    /// sequence number among those of the copies, so the first stands for all of them.
    pub(super) fn order(&self) -> (SimTime, PeerId, u64) {
        (self.time, self.sender, self.sequence)
    }
}

/// What happens in a window, in no order.
pub(super) struct Pending<M> {
    pub events: Vec<Event<M>>,
    pub posts: Vec<Post<M>>,
}

impl<M> Default for Pending<M> {
    fn default() -> Self {
        Self { events: Vec::new(), posts: Vec::new() }
    }
}

impl<M> Pending<M> {
    fn clear(&mut self) {
        self.events.clear();
        self.posts.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.posts.is_empty()
    }
}

/// In bytes: how long they are, how many events, then events and posts. Only messages leave a worker, so
/// every event is an arrival.
impl<M: Wire> Pending<M> {
    /// Appends all of it, and is empty.
    pub(super) fn pack(&mut self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        0_u64.put(bytes);
        if self.is_empty() {
            return;
        }
        self.events.len().put(bytes);
        for Event { time, receiver, sender, sequence, what } in self.events.drain(..) {
            if let What::Arrival(message) = what {
                (time, receiver, (sender, sequence)).put(bytes);
                message.pack(bytes);
            }
        }
        for Post { time, sender, sequence, message } in self.posts.drain(..) {
            (time, sender, sequence).put(bytes);
            message.pack(bytes);
        }
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
    /// The earliest window in which the sender knows of something to do, anywhere.
    pub next: Option<u64>,
    pub verdict: Verdict,
}

/// What is pending, by window. Emptied buffers are kept and used again, so that a run in its stride
/// allocates nothing here.
pub(super) struct Queue<M> {
    /// The window that was last added to, apart: nearly everything goes to the same one.
    open: (u64, Pending<M>),
    /// When that begins: to find it again without a division.
    opens: SimTime,
    windows: BTreeMap<u64, Pending<M>>,
    spare: Vec<Pending<M>>,
    kept: usize,
    length: SimTime,
}

impl<M> Queue<M> {
    /// A queue of windows of this length that exchanges buffers with so many other workers.
    pub(super) fn new(length: SimTime, others: usize) -> Self {
        Self {
            open: (0, Pending::default()),
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
        self.at(self.window(event.time)).events.push(event);
    }

    #[inline]
    pub(super) fn push_post(&mut self, post: Post<M>) {
        self.at(self.window(post.time)).posts.push(post);
    }

    /// What is pending in a window, to add to it.
    #[inline]
    fn at(&mut self, window: u64) -> &mut Pending<M> {
        if self.open.0 != window {
            let pending = self.windows.remove(&window).unwrap_or_else(|| self.buffer());
            let (before, pending) = std::mem::replace(&mut self.open, (window, pending));
            self.opens = SimTime(window * self.length.0);
            self.put_away(before, pending);
        }
        &mut self.open.1
    }

    fn put_away(&mut self, window: u64, pending: Pending<M>) {
        if pending.is_empty() {
            self.recycle(pending);
        } else {
            self.windows.insert(window, pending);
        }
    }

    /// The earliest window that holds anything.
    pub(super) fn next(&self) -> Option<u64> {
        let open = (!self.open.1.is_empty()).then_some(self.open.0);
        [open, self.windows.keys().next().copied()].into_iter().flatten().min()
    }

    /// All that happens in a window.
    pub(super) fn take(&mut self, window: u64) -> Pending<M> {
        if self.open.0 == window {
            let buffer = self.buffer();
            return std::mem::replace(&mut self.open.1, buffer);
        }
        self.windows.remove(&window).unwrap_or_default()
    }

    /// Takes what another worker has for this one; gives back its buffers.
    pub(super) fn accept(&mut self, mut pending: Pending<M>) {
        for event in pending.events.drain(..) {
            self.push(event);
        }
        for post in pending.posts.drain(..) {
            self.push_post(post);
        }
        self.recycle(pending);
    }

    /// Takes what a worker of another rank [packed](Pending::pack), without the length before it.
    pub(super) fn accept_packed(&mut self, mut bytes: &[u8]) -> Result<(), WireError>
    where
        M: Wire,
    {
        if bytes.is_empty() {
            return Ok(());
        }
        let bytes = &mut bytes;
        for _ in 0..usize::get(bytes)? {
            let (time, receiver, (sender, sequence)) = Pack::get(bytes)?;
            let what = What::Arrival(Settled::unpack(bytes)?);
            self.push(Event { time, receiver, sender, sequence, what });
        }
        while !bytes.is_empty() {
            let (time, sender, sequence) = Pack::get(bytes)?;
            self.push_post(Post { time, sender, sequence, message: Settled::unpack(bytes)? });
        }
        Ok(())
    }

    /// A buffer, empty and perhaps used before.
    pub(super) fn buffer(&mut self) -> Pending<M> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back a buffer.
    pub(super) fn recycle(&mut self, mut pending: Pending<M>) {
        pending.clear();
        let used = pending.events.capacity() + pending.posts.capacity() > 0;
        if used && self.spare.len() < self.kept {
            self.spare.push(pending);
        }
    }
}
