//! Where all neighbours of many peers have spoken at once.

use super::board::{Arrivals, Board, Slot};
use super::mail::Mail;
use super::port::Desk;
use super::posts::{Answers, LANES, Said};
use crate::network::context::Announce;
use crate::network::peer::Peer;
use crate::privacy::{Account, Receivers, Released, Wire, size_of_round};
use crate::units::{PeerId, Round, SimTime, prefetch};

/// Lets a peer whose turn it will be ask for what it will need, and asks for what the network keeps of it and for
/// a peer as far ahead again. Each would wait for one thing after the other to come from memory; so they come
/// while others work.
#[inline(always)]
pub(super) fn look_ahead<P: Peer>(
    place: usize,
    ahead: usize,
    (peers, desks, accounts): (&[P], &[Desk], &[Account]),
    board: &Board<P::Message>,
) {
    prefetch::value(peers.get(place + ahead));
    prefetch::value(desks.get(place));
    prefetch::value(accounts.get(place));
    if let Some(peer) = peers.get(place) {
        peer.expect(&Arrivals::new(board, place, &[], 0));
    }
}

/// A vector of a round from everybody, all at one time.
pub(super) struct Chorus<'s> {
    /// Of which round they are, and whether it and the next are measured.
    pub(super) round: Round,
    pub(super) measured: [bool; 2],
    /// When they arrive, and when an answer does.
    pub(super) time: SimTime,
    pub(super) answer: SimTime,
    /// How long each is, and how many times four numbers that takes.
    pub(super) length: usize,
    pub(super) fours: usize,
    /// Those of each region, one after the other, with zeros behind each up to a multiple of [`LANES`].
    pub(super) regions: Vec<&'s [[f64; LANES]]>,
}

/// Peers that stand side by side and have heard a vector of one round from each neighbour, all at one time,
/// while nothing else happens to them in the window: what most windows of a synchronous method are. One after
/// the other has its turn.
pub struct Turns<'s, 'a, P: Peer> {
    pub(super) chorus: &'s Chorus<'s>,
    pub(super) board: &'s Board<P::Message>,
    pub(super) peers: &'s mut [P],
    pub(super) desks: &'s mut [Desk],
    pub(super) accounts: &'s mut [Account],
    pub(super) mail: &'s mut Mail<'a, P::Message>,
    /// Where they answer, and whether that reaches all of their neighbours.
    pub(super) answers: Answers<'s>,
    pub(super) stays: bool,
    /// The place of the peer that is, or was last, at work.
    pub(super) running: &'s mut usize,
    /// How many peers ahead of the one at work ask for what they will need, where that is far away.
    pub(super) ahead: Option<usize>,
    /// Who is next, and who the first that has no turn here; whether somebody has had a turn who could be put
    /// back.
    pub(super) next: usize,
    pub(super) end: usize,
    pub(super) taken: bool,
}

impl<'s, 'a, P: Peer> Turns<'s, 'a, P> {
    /// How long the vectors are that they hear.
    #[inline]
    pub fn length(&self) -> usize {
        self.chorus.length
    }

    /// Whose turn it is next, and what it hears. None where there is nobody left, or one who has to be
    /// called by [`Peer::receive_all`].
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "what it hands out is lent")]
    pub fn next(&mut self) -> Option<(&mut P, Together<'_, 's, 'a, P::Message>)> {
        let place = self.next;
        if place >= self.end {
            return None;
        }
        if let Some(ahead) = self.ahead {
            let all = (&*self.peers, &*self.desks, &*self.accounts);
            look_ahead(place + ahead, ahead, all, self.board);
            self.answers.expect(place + ahead);
        }
        let peer = self.peers.get_mut(place)?;
        let (desk, account) = (self.desks.get_mut(place)?, self.accounts.get_mut(place)?);
        let slots = self.board.slots(place);
        if slots.is_empty() || desk.busy_until > self.chorus.time {
            return None;
        }
        desk.busy_until = self.chorus.time;
        self.next += 1;
        (*self.running, self.taken) = (place, true);
        let Self { chorus, stays, ref mut answers, ref mut mail, .. } = *self;
        Some((peer, Together { place, chorus, slots, desk, account, answers, stays, mail }))
    }

    /// The peer whose turn it was last has not taken it: it is called by [`Peer::receive_all`].
    #[inline]
    pub fn put_back(&mut self) {
        self.next -= usize::from(std::mem::take(&mut self.taken));
    }
}

/// What a peer hears that has its turn, and how it answers: without all that a
/// [`Context`](crate::network::Context) needs for everything else that could happen.
pub struct Together<'t, 's, 'a, M> {
    place: usize,
    chorus: &'s Chorus<'s>,
    slots: &'s [Slot],
    desk: &'t mut Desk,
    account: &'t mut Account,
    answers: &'t mut Answers<'s>,
    stays: bool,
    mail: &'t mut Mail<'a, M>,
}

impl<'s, M> Together<'_, 's, '_, M> {
    /// The peer itself.
    #[inline]
    pub fn me(&self) -> PeerId {
        self.mail.peer(self.place)
    }

    /// How many neighbours it has.
    #[inline]
    pub fn neighbours(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Of which round all vectors are.
    #[inline]
    pub fn round(&self) -> Round {
        self.chorus.round
    }

    /// The vectors of all neighbours, in their order, each with zeros up to a multiple of four numbers.
    #[inline(always)]
    pub fn vectors(&self) -> impl Iterator<Item = &'s [[f64; LANES]]> + Clone + use<'s, M> {
        let Chorus { ref regions, fours, .. } = *self.chorus;
        self.slots.iter().map(move |slot| {
            let at = fours * slot.place as usize;
            &regions[slot.region as usize][at..at + fours]
        })
    }

    /// Whether what is left in this round will be looked at, and in the next.
    #[inline]
    pub fn measured(&self) -> [bool; 2] {
        self.chorus.measured
    }
}

impl<M: Wire + Clone> Together<'_, '_, '_, M> {
    /// [Announces](Announce) a vector as long as those that it hears, with zeros up to a multiple of four
    /// numbers.
    #[inline(always)]
    pub fn answer(&mut self, message: Released<(Round, &[[f64; LANES]])>) {
        let (round, vector) = *message.settled_in_place();
        self.account.book(message.charge(), Receivers::Neighbours);
        let length = self.chorus.length;
        debug_assert!(vector.len() == self.chorus.fours);
        debug_assert!(vector.as_flattened()[length..].iter().all(|&rest| rest == 0.0));
        let sequence = self.desk.sent(self.slots.len(), size_of_round(length));
        let posted = self.answers.put(self.place, (sequence, round), vector);
        if !(posted && self.stays) {
            self.tell_beyond((sequence, round), &vector.as_flattened()[..length], posted);
        }
    }

    /// Tells those whom a post does not reach.
    #[cold]
    fn tell_beyond(&mut self, (sequence, round): (u64, Round), vector: &[f64], posted: bool) {
        let sender = (self.me(), self.place);
        let said = Said::Vector(round, vector);
        self.mail.answer_beyond(sender, (self.chorus.answer, sequence), &said, posted);
    }
}

impl<M: Wire + Clone> Announce for Together<'_, '_, '_, M> {
    fn announce(&mut self, message: Released<(Round, &[f64])>) {
        let (round, vector) = *message.settled_in_place();
        self.account.book(message.charge(), Receivers::Neighbours);
        let sequence = self.desk.sent(self.slots.len(), size_of_round(vector.len()));
        let posted = self.answers.put_bare(self.place, (sequence, round), vector);
        if !(posted && self.stays) {
            self.tell_beyond((sequence, round), vector, posted);
        }
    }
}
