//! Posts: what peers say to all their neighbours at once.
//!
//! Every peer has a place for one post, the same in every window: receivers look there, nobody is sent
//! anything. Vectors lie one after the other, so that to post is to copy. All workers of a process look at
//! the same posts; for each worker of another rank there are those of the peers with neighbours there.

use crate::privacy::{Pack, Settled, Wire, WireError};
use crate::units::{Aligned, Round, SimTime, prefetch};

/// What is posted, where it lies: a vector of a round, or any other message.
pub(super) enum Said<'a, M> {
    Vector(Round, &'a [f64]),
    Message(&'a Settled<M>),
}

impl<M: Wire + Clone> Said<'_, M> {
    /// A message of its own.
    pub(super) fn to_message(&self) -> Settled<M> {
        match *self {
            Self::Vector(round, vector) => Settled::of_round(round, vector),
            Self::Message(message) => message.clone(),
        }
    }
}

/// The window of posts where there are none.
const NONE: u64 = u64::MAX;
/// Vectors begin at multiples of so many numbers; what is between them is 0.
pub(super) const LANES: usize = 4;

/// When a post arrives, and what it is.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    pub(super) time: SimTime,
    /// The sequence number of the first copy; the others' follow.
    pub(super) sequence: u64,
    /// The window that it arrives in: what was posted for an earlier one is not there any more. Nothing
    /// arrives in window 0.
    window: u64,
    /// Of a vector.
    round: Round,
    /// Which of the messages it is, from 1; 0 for a vector.
    message: u32,
}

/// Posts of some peers for one window, by their places.
pub(super) struct Posts<M> {
    window: u64,
    heads: Vec<Head>,
    numbers: Aligned,
    /// Length of a vector, and with what follows up to the next.
    length: usize,
    stride: usize,
    /// The length of this window's vectors, once there was one.
    room: Option<usize>,
    messages: Vec<Settled<M>>,
    /// Whose there are, in the order of posting.
    who: Vec<u32>,
    /// When the first arrives and of which round it is; whether all are like it.
    first: (SimTime, Round),
    one_time: bool,
    one_round: bool,
}

impl<M> Default for Posts<M> {
    fn default() -> Self {
        Self {
            window: NONE,
            heads: Vec::new(),
            numbers: Aligned::default(),
            length: 0,
            stride: 0,
            room: None,
            messages: Vec::new(),
            who: Vec::new(),
            first: (SimTime::ZERO, Round(0)),
            one_time: true,
            one_round: true,
        }
    }
}

impl<M> Posts<M> {
    pub(super) fn is_empty(&self) -> bool {
        self.who.is_empty()
    }

    /// Takes all down.
    pub(super) fn clear(&mut self) {
        self.window = NONE;
        self.messages.clear();
        self.who.clear();
    }

    /// Puts a post up at a place, of so many; not where the place is taken, or where vectors are of
    /// another length. Returns whether it has.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        (place, places): (u32, u32),
        (time, sequence, window): (SimTime, u64, u64),
        said: &Said<'_, M>,
    ) -> bool
    where
        M: Clone,
    {
        if self.window != window {
            self.begin(window, places as usize);
        }
        if self.heads[place as usize].window == window {
            return false;
        }
        let (round, message) = match *said {
            Said::Vector(round, vector) => {
                if self.room != Some(vector.len()) && !self.make_room(vector.len(), places as usize)
                {
                    return false;
                }
                let at = self.stride * place as usize;
                self.numbers[at..at + vector.len()].copy_from_slice(vector);
                (round, 0)
            }
            Said::Message(message) => {
                self.messages.push(message.clone());
                (Round(0), self.messages.len() as u32)
            }
        };
        self.heads[place as usize] = Head { time, sequence, window, round, message };
        self.note(place, time, round, message == 0);
        true
    }

    /// Makes ready for posts that arrive in a window, of so many places, with vectors of this length; whether
    /// there is room for such.
    pub(super) fn prepare(&mut self, window: u64, places: u32, length: usize) -> bool {
        if self.window != window {
            self.begin(window, places as usize);
        }
        self.room == Some(length) || self.make_room(length, places as usize)
    }

    /// Where vectors that all arrive at one time, most of them of this round, are put up in what was made ready.
    pub(super) fn answers(&mut self, time: SimTime, round: Round) -> Answers<'_> {
        if self.who.is_empty() {
            self.first = (time, round);
        }
        self.one_time &= self.first.0 == time;
        Answers {
            head: Head { time, round: self.first.1, window: self.window, ..Head::default() },
            length: self.length,
            fours: self.stride / LANES,
            heads: &mut self.heads,
            vectors: self.numbers.as_chunks_mut().0,
            who: &mut self.who,
            one_round: &mut self.one_round,
        }
    }

    /// There is a post more.
    #[inline(always)]
    fn note(&mut self, place: u32, time: SimTime, round: Round, vector: bool) {
        if self.who.is_empty() {
            self.first = (time, round);
        }
        self.one_time &= self.first.0 == time;
        self.one_round &= self.first.1 == round && vector;
        self.who.push(place);
    }

    /// Begins a window with so many places.
    #[cold]
    fn begin(&mut self, window: u64, places: usize) {
        self.clear();
        self.window = window;
        self.room = None;
        (self.one_time, self.one_round) = (true, true);
        if self.heads.len() < places {
            self.heads.resize(places, Head::default());
        }
    }

    /// Makes room for so many vectors of this length, with zeros behind each, unless those of another are
    /// there.
    #[cold]
    fn make_room(&mut self, length: usize, places: usize) -> bool {
        if self.room.is_some() {
            return false;
        }
        self.room = Some(length);
        if self.length != length {
            self.length = length;
            self.stride = length.next_multiple_of(LANES);
            self.numbers = Aligned::default();
        }
        // Nothing is posted in this window yet: there is nothing to keep.
        if self.numbers.len() < self.stride * places {
            self.numbers = Aligned::zeros(self.stride * places);
        }
        true
    }

    /// The window that they arrive in.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.who.len()
    }

    /// Whose there are.
    pub(super) fn who(&self) -> &[u32] {
        &self.who
    }

    /// When all of them arrive, where that is one time.
    pub(super) fn time(&self) -> Option<SimTime> {
        (self.one_time && !self.is_empty()).then_some(self.first.0)
    }

    /// Of which round they are, where all are vectors of one round and arrive at one time.
    pub(super) fn round(&self) -> Option<Round> {
        (self.one_time && self.one_round && !self.is_empty()).then_some(self.first.1)
    }

    /// The head of what is posted at a place for this window, if anything is.
    #[inline]
    pub(super) fn head(&self, place: u32) -> Option<&Head> {
        self.heads.get(place as usize).filter(|head| head.window == self.window)
    }

    /// How long vectors are.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// All vectors, one after the other, with zeros up to where the next one begins.
    pub(super) fn vectors(&self) -> &[[f64; LANES]] {
        self.numbers.as_chunks().0
    }

    /// The vector at a place, with zeros up to where the next one begins.
    #[inline]
    pub(super) fn vector(&self, place: u32) -> &[f64] {
        let at = self.stride * place as usize;
        &self.numbers[at..at + self.stride]
    }

    /// What was posted at a place, and nothing beside it.
    #[inline]
    pub(super) fn said(&self, place: u32, head: &Head) -> Said<'_, M> {
        match (head.message as usize).checked_sub(1).and_then(|at| self.messages.get(at)) {
            Some(message) => Said::Message(message),
            None => {
                let vector = &self.vector(place)[..self.length];
                Said::Vector(head.round, vector)
            }
        }
    }
}

/// Room for vectors that are all as long, to arrive at one time.
pub(super) struct Answers<'p> {
    /// What their heads have in common, with the round of the first.
    head: Head,
    length: usize,
    /// How many times four numbers lie between the beginnings of two.
    fours: usize,
    heads: &'p mut [Head],
    vectors: &'p mut [[f64; LANES]],
    who: &'p mut Vec<u32>,
    one_round: &'p mut bool,
}

impl Answers<'_> {
    /// Puts a vector up with zeros behind its end. Not where the place is taken, or where others are longer
    /// or shorter; returns whether it has.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        place: usize,
        (sequence, round): (u64, Round),
        vector: &[[f64; LANES]],
    ) -> bool {
        if self.fours != vector.len() {
            return false;
        }
        let Some(room) = self.room(place, sequence, round) else { return false };
        for (room, four) in room.iter_mut().zip(vector) {
            *room = *four;
        }
        true
    }

    /// The same for one without zeros behind it.
    pub(super) fn put_bare(
        &mut self,
        place: usize,
        (sequence, round): (u64, Round),
        vector: &[f64],
    ) -> bool {
        if self.length != vector.len() {
            return false;
        }
        let Some(room) = self.room(place, sequence, round) else { return false };
        room.as_flattened_mut()[..vector.len()].copy_from_slice(vector);
        true
    }

    /// Asks for a place, to be near when it is taken.
    #[inline(always)]
    pub(super) fn expect(&self, place: usize) {
        prefetch::value(self.heads.get(place));
        let room = self.vectors.get(self.fours * place..).and_then(|room| room.get(..self.fours));
        prefetch::numbers::<1>(room.unwrap_or_default().as_flattened());
    }

    /// Takes a place, unless it is taken.
    #[inline(always)]
    fn room(&mut self, place: usize, sequence: u64, round: Round) -> Option<&mut [[f64; LANES]]> {
        let head = self.heads.get_mut(place).filter(|head| head.window != self.head.window)?;
        let room = self.vectors.get_mut(self.fours * place..)?.get_mut(..self.fours)?;
        *head = Head { sequence, round, ..self.head };
        *self.one_round &= round == self.head.round;
        self.who.push(place as u32);
        Some(room)
    }
}

/// In bytes: the window, how many places there are, how long vectors are; then one post after the other.
impl<M: Wire + Clone> Posts<M> {
    /// Appends all of it, and is empty.
    pub(super) fn pack(&mut self, bytes: &mut Vec<u8>) {
        (self.window, self.heads.len(), self.length).put(bytes);
        bytes.reserve(self.who.len() * (32 + 8 * self.length));
        for &place in &self.who {
            let head = &self.heads[place as usize];
            (place, head.message, head.round).put(bytes);
            (head.time, head.sequence).put(bytes);
            match self.said(place, head) {
                Said::Vector(_, vector) => {
                    let begin = bytes.len();
                    bytes.resize(begin + 8 * vector.len(), 0);
                    let words = bytes[begin..].as_chunks_mut::<8>().0;
                    for (word, number) in words.iter_mut().zip(vector) {
                        *word = number.to_le_bytes();
                    }
                }
                Said::Message(message) => message.pack(bytes),
            }
        }
        self.clear();
    }

    /// Puts up what was packed; what finds its place taken is left over.
    pub(super) fn unpack(
        &mut self,
        bytes: &mut &[u8],
        mut left_over: impl FnMut(u32, SimTime, u64, Settled<M>),
    ) -> Result<(), WireError> {
        let (window, places, length): (u64, usize, usize) = Pack::get(bytes)?;
        let mut vector = vec![0.0; length];
        while !bytes.is_empty() {
            let (place, message, round): (u32, u32, Round) = Pack::get(bytes)?;
            let (time, sequence): (SimTime, u64) = Pack::get(bytes)?;
            let whole;
            let said = if message == 0 {
                let missing = || WireError { missing: 8 * length - bytes.len() };
                let (words, rest) = bytes.split_at_checked(8 * length).ok_or_else(missing)?;
                *bytes = rest;
                for (number, word) in vector.iter_mut().zip(words.as_chunks::<8>().0) {
                    *number = f64::from_le_bytes(*word);
                }
                Said::Vector(round, &vector)
            } else {
                whole = Settled::unpack(bytes)?;
                Said::Message(&whole)
            };
            let at = (time, sequence, window);
            if !self.put((place, places as u32), at, &said) {
                left_over(place, time, sequence, said.to_message());
            }
        }
        Ok(())
    }
}
