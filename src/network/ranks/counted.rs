//! Ranks whose exchanges are counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Ranks, Words};
use crate::network::error::NetworkError;

/// What has gone on between one rank and the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// How often all ranks exchanged something: about once per window.
    pub exchanges: u64,
    /// Bytes that this rank gave to others.
    pub bytes: u64,
    /// Seconds in which it gave, took or waited, and did nothing else meanwhile.
    pub seconds: f64,
}

/// A group of processes, as one of them sees it that keeps count.
pub struct Counted<'a> {
    ranks: &'a dyn Ranks,
    exchanges: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl<'a> Counted<'a> {
    /// Counts from here on.
    pub fn new(ranks: &'a dyn Ranks) -> Self {
        let zero = AtomicU64::default;
        Self { ranks, exchanges: zero(), bytes: zero(), nanoseconds: zero() }
    }

    /// What has gone on since.
    pub fn traffic(&self) -> Traffic {
        let [exchanges, bytes, nanoseconds] = [&self.exchanges, &self.bytes, &self.nanoseconds]
            .map(|count| count.load(Ordering::Relaxed));
        let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
        Traffic { exchanges, bytes, seconds }
    }
}

impl Ranks for Counted<'_> {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn size(&self) -> usize {
        self.ranks.size()
    }

    fn on_these_cores(&self) -> usize {
        self.ranks.on_these_cores()
    }

    fn exchange(
        &self,
        partners: &[usize],
        outgoing: Vec<Vec<u8>>,
        meanwhile: &mut dyn FnMut() -> Option<Words>,
    ) -> Result<(Vec<Vec<u8>>, Words), NetworkError> {
        let began = Instant::now();
        let mut away = Duration::ZERO;
        let bytes: usize = partners.iter().map(|&rank| outgoing[rank].len()).sum();
        let come = self.ranks.exchange(partners, outgoing, &mut || {
            let left = Instant::now();
            let said = meanwhile();
            away = left.elapsed();
            said
        });
        let spent = began.elapsed().saturating_sub(away);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
        come
    }

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<(), NetworkError> {
        self.ranks.send(to, bytes)
    }

    fn try_receive(&self, from: usize) -> Result<Option<Vec<u8>>, NetworkError> {
        self.ranks.try_receive(from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::InProcess;
    use super::*;

    #[test]
    fn bytes_to_others_are_counted_and_what_is_done_meanwhile_is_no_time() {
        let ends = InProcess::run(3, |ranks| {
            let counted = Counted::new(ranks);
            let some = |length: usize| vec![vec![0; length]; 3];
            let partner = [[1, 2], [0, 2], [0, 1]][ranks.rank()];
            for _ in 0..2 {
                let mut meanwhile = || {
                    std::thread::sleep(Duration::from_millis(200));
                    Some([1; 3])
                };
                counted.exchange(&partner, some(13), &mut meanwhile).unwrap();
            }
            counted.traffic()
        });
        for traffic in ends {
            assert_eq!((traffic.exchanges, traffic.bytes), (2, 2 * 2 * 13));
            assert!(traffic.seconds < 0.3, "{traffic:?}");
        }
    }
}
