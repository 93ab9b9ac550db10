//! Where all neighbours of many peers have spoken at once.

use super::board::{Arrivals, Board, Slot};
use super::mail::Mail;
use super::port::Desk;
use super::posts::{LANES, Said};
use crate::network::context::Announce;
use crate::network::peer::Peer;
use crate::privacy::{Account, Receivers, Released, Wire, size_of_round};
use crate::units::{PeerId, Round, SimTime};

/// A vector of a round from everybody, all at one time.
pub(super) struct Chorus<'s> {
    /// Of which round they are, and whether it and the next are measured.
    pub(super) round: Round,
    pub(super) measured: [bool; 2],
    /// When they arrive, and when an answer does.
    pub(super) time: SimTime,
    pub(super) answer: SimTime,
    /// How long each is.
    pub(super) length: usize,
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

impl<'a, P: Peer> Turns<'_, 'a, P> {
    /// Whose turn it is next, and what it hears. None where there is nobody left, or one who has to be
    /// called by [`Peer::receive_all`].
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "what it hands out is lent")]
    pub fn next(&mut self) -> Option<(&mut P, Together<'_, 'a, P::Message>)> {
        let place = self.next;
        if place >= self.end {
            return None;
        }
        if let Some(ahead) = self.ahead
            && let Some(later) = self.peers.get(place + ahead)
        {
            later.expect(&Arrivals::new(self.board, place + ahead, &[], 0));
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
        let Self { chorus, ref mut mail, .. } = *self;
        Some((peer, Together { place, chorus, slots, desk, account, mail }))
    }

    /// The peer whose turn it was last has not taken it: it is called by [`Peer::receive_all`].
    #[inline]
    pub fn put_back(&mut self) {
        self.next -= usize::from(std::mem::take(&mut self.taken));
    }
}

/// What a peer hears that has its turn, and how it answers: without all that a
/// [`Context`](crate::network::Context) needs for everything else that could happen.
pub struct Together<'s, 'a, M> {
    place: usize,
    chorus: &'s Chorus<'s>,
    slots: &'s [Slot],
    desk: &'s mut Desk,
    account: &'s mut Account,
    mail: &'s mut Mail<'a, M>,
}

impl<'s, M> Together<'s, '_, M> {
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
        let Chorus { ref regions, length, .. } = *self.chorus;
        let fours = length.div_ceil(LANES);
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

impl<M: Wire + Clone> Together<'_, '_, M> {
    /// [Announces](Announce) a vector as long as those that it hears, with zeros up to a multiple of four
    /// numbers.
    #[inline(always)]
    pub fn answer(&mut self, message: Released<(Round, &[[f64; LANES]])>) {
        self.account.book(message.charge(), Receivers::Neighbours);
        let (round, vector) = *message.settled().value();
        let length = self.chorus.length;
        debug_assert!(vector.len() == length.div_ceil(LANES));
        debug_assert!(vector.as_flattened()[length..].iter().all(|&rest| rest == 0.0));
        let sequence = self.desk.sent(self.slots.len(), size_of_round(length));
        if !self.mail.answer(self.place, (self.chorus.answer, sequence), round, vector) {
            let vector = &vector.as_flattened()[..length];
            self.post(sequence, &Said::Vector(round, vector));
        }
    }

    #[cold]
    fn post(&mut self, sequence: u64, said: &Said<'_, M>) {
        self.mail.post_to_all((self.me(), self.place), (self.chorus.answer, sequence), said);
    }
}

impl<M: Wire + Clone> Announce for Together<'_, '_, M> {
    fn announce(&mut self, message: Released<(Round, &[f64])>) {
        self.account.book(message.charge(), Receivers::Neighbours);
        let (round, vector) = *message.settled().value();
        let sequence = self.desk.sent(self.slots.len(), size_of_round(vector.len()));
        self.post(sequence, &Said::Vector(round, vector));
    }
}
