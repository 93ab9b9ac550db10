//! The token: what walks.

use rand::{Rng, RngExt};

use crate::network::Journey;
use crate::privacy::{Pack, Wire, WireError};
use crate::random::{Family, Stream};
use crate::units::{PeerId, Round};

/// A task's global model on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What is public of it, behind a pointer: events that carry a token are moved about.
    pub pass: Box<Pass>,
    /// w^G.
    pub w: Box<[f64]>,
    /// The mean of w^G over the updates so far, where it is kept.
    pub average: Option<Box<[f64]>>,
}

/// What goes with the model and has no data in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Which task.
    pub task: u32,
    /// t, the updates so far.
    pub updates: Round,
    /// To whom it is on its way, over others, in a uniform walk.
    pub destination: Option<PeerId>,
    /// Batches that each peer has not used yet, in a uniform walk: numbers of samples are public.
    pub remaining: Option<Remaining>,
    /// Where it goes. Like the journey they are the simulation's own and weigh nothing: a real peer
    /// draws from its own coins.
    pub coins: Coins,
    /// For the measurement.
    pub journey: Journey,
}

/// How many batches everybody has left, and who has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Remaining {
    counts: Box<[u32]>,
    /// Those with a count above 0, in ascending order.
    holders: Vec<PeerId>,
}

impl Remaining {
    /// So many at each peer.
    pub fn new(counts: Box<[u32]>) -> Self {
        let holders = (0..).map(PeerId).zip(&counts).filter(|&(_, &left)| left > 0);
        Self { holders: holders.map(|(peer, _)| peer).collect(), counts }
    }

    /// One less at this peer.
    pub fn take(&mut self, peer: PeerId) {
        let left = &mut self.counts[peer.index()];
        *left -= 1;
        if *left == 0
            && let Ok(place) = self.holders.binary_search(&peer)
        {
            self.holders.remove(place);
        }
    }

    /// Any of the peers that have batches left, all equally likely: what
    /// [`pick`](crate::topology::pick) says, without looking at everybody.
    pub fn pick(&self, stream: &mut Stream) -> Option<PeerId> {
        match self.holders[..] {
            [] => None,
            [only] => Some(only),
            [..] => Some(self.holders[stream.random_range(0..self.holders.len() as u32) as usize]),
        }
    }
}

/// A token's coins: its move k has words 4k to 4k + 3 of the task's stream of walks, and so the same
/// numbers wherever it is and whatever other moves drew. The stream goes with the token, since what a
/// generator makes at a time serves sixteen moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coins {
    moves: u64,
    stream: Option<Stream>,
}

impl Coins {
    /// A place among neighbours takes two words at the most, a number from [0, 1) two more.
    const WORDS: u64 = 4;

    /// The draws of the next move, from the streams of its task.
    pub fn next(&mut self, family: &Family) -> &mut Stream {
        self.moves += 1;
        let at = u128::from(Self::WORDS * self.moves);
        let stream = self.stream.get_or_insert_with(|| family.stream(0));
        match at.checked_sub(stream.get_word_pos()) {
            Some(unused @ 0..16) => (0..unused).for_each(|_| _ = stream.next_u32()),
            _ => stream.set_word_pos(at),
        }
        stream
    }
}

const AVERAGE: u32 = 1 << 31;
const REMAINING: u32 = 1 << 30;

/// Tasks have numbers below 2³⁰; the two bits above tell what follows.
impl Wire for Token {
    fn size(&self) -> usize {
        let average = self.average.as_ref().map_or(0, Wire::size);
        // The destination and the counts.
        let remaining = self.pass.remaining.as_ref().map_or(0, |left| 8 + 4 * left.counts.len());
        self.pass.task.size() + self.pass.updates.size() + self.w.size() + average + remaining
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let Pass { task, updates, destination, remaining, .. } = &*self.pass;
        let average = if self.average.is_some() { AVERAGE } else { 0 };
        let counts = if remaining.is_some() { REMAINING } else { 0 };
        (task | average | counts).encode(bytes);
        updates.encode(bytes);
        self.w.encode(bytes);
        if let Some(average) = &self.average {
            average.encode(bytes);
        }
        if let Some(remaining) = remaining {
            destination.map_or(u32::MAX, |peer| peer.0).encode(bytes);
            (remaining.counts.len() as u32).encode(bytes);
            remaining.counts.iter().for_each(|count| count.encode(bytes));
        }
    }

    fn decode(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let head = u32::decode(bytes)?;
        let updates = Wire::decode(bytes)?;
        let w = Wire::decode(bytes)?;
        let average = if head & AVERAGE == 0 { None } else { Some(Wire::decode(bytes)?) };
        let (mut destination, mut remaining) = (None, None);
        if head & REMAINING != 0 {
            destination = Some(u32::decode(bytes)?).filter(|&id| id != u32::MAX).map(PeerId);
            let peers = u32::decode(bytes)?;
            let counts: Result<_, _> = (0..peers).map(|_| u32::decode(bytes)).collect();
            remaining = Some(Remaining::new(counts?));
        }
        let task = head & !(AVERAGE | REMAINING);
        let (coins, journey) = (Coins::default(), Journey::default());
        let pass = Pass { task, updates, destination, remaining, coins, journey };
        Ok(Self { pass: Box::new(pass), w, average })
    }

    /// With what weighs nothing: the journey, and how many moves it has made, from which its coins
    /// follow.
    fn pack(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
        let Pass { destination, coins, journey, .. } = &*self.pass;
        destination.put(bytes);
        coins.moves.put(bytes);
        journey.put(bytes);
    }

    fn unpack(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let mut token = Self::decode(bytes)?;
        token.pass.destination = Pack::get(bytes)?;
        token.pass.coins.moves = Pack::get(bytes)?;
        token.pass.journey = Pack::get(bytes)?;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Purpose, Streams};
    use crate::topology::{Walk, pick};
    use crate::units::Seed;

    fn family(task: u32) -> Family {
        Streams::new(Seed(5), 0).family(Purpose::Walk, task)
    }

    #[test]
    fn a_move_has_its_own_words_whatever_the_moves_before_drew() {
        let family = family(2);
        let mut coins = Coins::default();
        for step in 1..200_u64 {
            let draws = coins.next(&family);
            let mut direct = family.stream(0);
            direct.set_word_pos(u128::from(4 * step));
            for _ in 0..step % 5 {
                assert_eq!(draws.next_u32(), direct.next_u32(), "move {step}");
            }
        }
        // A token that went over the wire and kept its count alone draws the same.
        let mut bare = Coins { stream: None, ..coins.clone() };
        assert_eq!(bare.next(&family).next_u64(), coins.next(&family).next_u64());
    }

    #[test]
    fn no_walk_draws_more_than_the_words_of_a_move() {
        let (me, degrees) = (PeerId(9), [7; 5]);
        let neighbours: Vec<PeerId> = (0..5).map(PeerId).collect();
        let (family, mut coins) = (family(0), Coins::default());
        for walk in [Walk::Simple, Walk::Metropolis, Walk::NonBacktracking] {
            for step in 0..5000 {
                let draws = coins.next(&family);
                let before = draws.get_word_pos();
                walk.next(me, Some(PeerId(step % 5)), &neighbours, &degrees, draws);
                assert!(draws.get_word_pos() - before <= 4, "{walk:?}");
            }
        }
    }

    #[test]
    fn moves_by_a_tokens_coins_are_uniform_and_independent_of_the_move_before() {
        const MOVES: u32 = 90_000;
        let (family, mut coins) = (family(1), Coins::default());
        let remaining = Remaining::new([4, 1, 0, 2].into());
        let mut pairs = [[0_u32; 4]; 4];
        let mut last = 0;
        for _ in 0..MOVES {
            let next = remaining.pick(coins.next(&family)).unwrap().index();
            pairs[last][next] += 1;
            last = next;
        }
        let error = (f64::from(MOVES) / 9.0 * 8.0 / 9.0).sqrt();
        for from in [0, 1, 3] {
            for to in [0, 1, 3] {
                let off = f64::from(pairs[from][to]) - f64::from(MOVES) / 9.0;
                assert!(off.abs() < 5.0 * error, "{pairs:?}");
            }
        }
    }

    #[test]
    fn a_token_picks_whom_everybodys_counts_would_pick() {
        let mut counts = vec![3, 0, 1, 2, 0, 5];
        let mut remaining = Remaining::new(counts.clone().into());
        let family = family(3);
        for step in 1..=11 {
            let (mut mine, mut plain) = (Coins::default(), Coins::default());
            (mine.moves, plain.moves) = (step, step);
            let picked = remaining.pick(mine.next(&family));
            assert_eq!(picked, pick(&counts, plain.next(&family)), "{counts:?}");
            let peer = picked.unwrap();
            counts[peer.index()] -= 1;
            remaining.take(peer);
        }
        assert_eq!(remaining.pick(Coins::default().next(&family)), None, "all are used");
    }

    proptest! {
        #[test]
        fn tokens_survive_the_wire(
            task in 0_u32..1000,
            updates: u32,
            w in prop::collection::vec(-1e9_f64..1e9, 0..6),
            averaged: bool,
            remaining in prop::option::of(prop::collection::vec(any::<u32>(), 0..5)),
            destination in prop::option::of(0_u32..9),
        ) {
            let pass = Pass {
                task,
                updates: Round(updates),
                destination: destination.filter(|_| remaining.is_some()).map(PeerId),
                remaining: remaining.map(|counts| Remaining::new(counts.into())),
                coins: Coins::default(),
                journey: Journey::default(),
            };
            let average = averaged.then(|| w.iter().map(|w| w / 2.0).collect());
            let token = Token { pass: Box::new(pass), w: w.into(), average };
            let mut bytes = Vec::new();
            token.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), token.size());
            let mut rest = bytes.as_slice();
            prop_assert_eq!(Token::decode(&mut rest).unwrap(), token);
            prop_assert!(rest.is_empty());
            prop_assert!(Token::decode(&mut &bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn tokens_go_on_as_they_were_in_another_process(
            moves: u64,
            hops: u64,
            exposed: [f64; 2],
            words in prop::collection::vec(any::<u64>(), 0..6),
            remaining in prop::option::of(prop::collection::vec(0_u32..3, 0..5)),
            destination in prop::option::of(0_u32..9),
        ) {
            let pass = Pass {
                task: 7,
                updates: Round(8),
                destination: destination.map(PeerId),
                remaining: remaining.map(|counts| Remaining::new(counts.into())),
                coins: Coins { moves, stream: None },
                journey: Journey { hops, exposed, releases: 5, ..Journey::default() },
            };
            let w: Box<[f64]> = words.iter().map(|&word| f64::from_bits(word)).collect();
            let token = Token { pass: Box::new(pass), w, average: None };
            let mut bytes = Vec::new();
            token.pack(&mut bytes);
            let mut rest = bytes.as_slice();
            let back = Token::unpack(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(&back.pass, &token.pass);
            prop_assert_eq!(back.w.iter().map(|w| w.to_bits()).collect::<Vec<_>>(), words);
        }
    }
}
