//! The token: what walks.

use std::sync::Arc;

use crate::network::Journey;
use crate::privacy::{Wire, WireError};
use crate::units::{PeerId, Round};

/// A task's global model on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What is public of it.
    pub pass: Pass,
    /// w^G.
    pub w: Arc<[f64]>,
    /// The mean of w^G over the updates so far, where it is kept.
    pub average: Option<Arc<[f64]>>,
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
    pub remaining: Option<Arc<[u32]>>,
    /// Draws of where to go so far. Like the journey it is the simulation's own and weighs nothing: a
    /// real peer draws from its own coins.
    pub moves: u64,
    /// For the measurement.
    pub journey: Journey,
}

const AVERAGE: u32 = 1 << 31;
const REMAINING: u32 = 1 << 30;

/// Tasks have numbers below 2³⁰; the two bits above tell what follows.
impl Wire for Token {
    fn size(&self) -> usize {
        let average = self.average.as_ref().map_or(0, Wire::size);
        // The destination and the counts.
        let remaining = self.pass.remaining.as_ref().map_or(0, |counts| 8 + 4 * counts.len());
        self.pass.task.size() + self.pass.updates.size() + self.w.size() + average + remaining
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let Pass { task, updates, destination, remaining, .. } = &self.pass;
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
            (remaining.len() as u32).encode(bytes);
            remaining.iter().for_each(|count| count.encode(bytes));
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
            remaining = Some(counts?);
        }
        let task = head & !(AVERAGE | REMAINING);
        let journey = Journey::default();
        let pass = Pass { task, updates, destination, remaining, moves: 0, journey };
        Ok(Self { pass, w, average })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
                remaining: remaining.map(Arc::from),
                moves: 0,
                journey: Journey::default(),
            };
            let average = averaged.then(|| w.iter().map(|w| w / 2.0).collect());
            let token = Token { pass, w: w.into(), average };
            let mut bytes = Vec::new();
            token.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), token.size());
            let mut rest = bytes.as_slice();
            prop_assert_eq!(Token::decode(&mut rest).unwrap(), token);
            prop_assert!(rest.is_empty());
            prop_assert!(Token::decode(&mut &bytes[..bytes.len() - 1]).is_err());
        }
    }
}
