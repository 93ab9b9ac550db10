//! Who runs which of many: numbers go one at a time to whoever is free, here and on other ranks.
//!
//! ```text
//!  rank 0   threads ◀── the next number ──▶ one thread that answers the others
//!                                               ▲ free, news     │ a number, no more
//!  rank r   threads ◀── channels ──▶ one thread ┴────────────────▼ that asks for them
//! ```
//!
//! On each rank one thread alone speaks to others. It looks again and again, every few milliseconds,
//! whether somebody has something to say, and so never waits for one that is no more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::network::{NetworkError, Ranks};
use crate::privacy::{Pack, WireError};

/// How long a thread that speaks to other ranks looks away.
const PAUSE: Duration = Duration::from_millis(2);
/// Of how far a run is, other ranks tell this many steps.
const STEPS: f64 = 100.0;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointOutcome {
    /// It is complete.
    Done,
    /// It failed; the next time it is run again.
    Failed(String),
    /// It was stopped; the next time it goes on.
    Interrupted,
}

/// What there is to say of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// It has come so far, from 0 to 1.
    At(f64),
    /// It has ended.
    Ended(PointOutcome),
}

/// Who works.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    /// Threads of this process.
    pub jobs: usize,
    /// The ranks of which this process is one, where it is not alone.
    pub ranks: Option<&'a dyn Ranks>,
}

/// What is to be done for a number, which tells how far it is.
type Work<'a> = dyn Fn(usize, &dyn Fn(f64)) -> PointOutcome + Sync + 'a;

/// What a rank tells rank 0.
enum Told {
    /// Somebody is free.
    Free,
    /// There is news of a number.
    News(usize, News),
    /// Nobody works here any more.
    Leaving,
}

/// What rank 0 tells another.
enum Answer {
    /// Whoever is free shall take this number.
    Take(usize),
    /// There is none left for one who is free.
    NoMore,
    /// What is under way shall stop.
    Stop,
    /// There will be no further answer.
    Leave,
}

/// Does `work` for every number below `count`, in the order of numbers as hands become free, and tells
/// how far it is where it is called on. What ends in a panic has failed. Once `interrupt` is raised
/// nothing new is begun, on no rank. All ranks call it; rank 0 hears the news and has the outcomes.
///
/// # Errors
/// Another rank is no more.
pub fn side_by_side(
    count: usize,
    hands: Hands<'_>,
    interrupt: &AtomicBool,
    work: impl Fn(usize, &dyn Fn(f64)) -> PointOutcome + Sync,
    hear: impl Fn(usize, &News) + Sync,
) -> Result<Vec<PointOutcome>, NetworkError> {
    match hands.ranks {
        Some(ranks) if !ranks.leads() => {
            help(ranks, hands.jobs, interrupt, &work)?;
            Ok(Vec::new())
        }
        ranks => {
            let list = List {
                count,
                next: AtomicUsize::new(0),
                outcomes: Mutex::new(vec![PointOutcome::Interrupted; count]),
                interrupt,
                hear,
            };
            std::thread::scope(|scope| {
                for _ in 0..hands.jobs.min(count) {
                    scope.spawn(|| {
                        toil(|| list.next(), &work, |number, news| list.note(number, news))
                    });
                }
                let served = ranks.map_or(Ok(()), |ranks| serve(ranks, &list));
                if served.is_err() {
                    interrupt.store(true, Ordering::Relaxed);
                }
                served
            })?;
            Ok(list.outcomes.into_inner().unwrap_or_default())
        }
    }
}

/// The numbers and what became of them.
struct List<'a, H> {
    count: usize,
    next: AtomicUsize,
    outcomes: Mutex<Vec<PointOutcome>>,
    interrupt: &'a AtomicBool,
    hear: H,
}

impl<H: Fn(usize, &News)> List<'_, H> {
    fn next(&self) -> Option<usize> {
        if self.interrupt.load(Ordering::Relaxed) {
            return None;
        }
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < self.count)
    }

    fn note(&self, number: usize, news: News) {
        (self.hear)(number, &news);
        let News::Ended(outcome) = news else { return };
        if outcome == PointOutcome::Interrupted {
            // Whoever was told to stop, all were meant.
            self.interrupt.store(true, Ordering::Relaxed);
        }
        // Nothing panics while the lock is held.
        if let Ok(mut outcomes) = self.outcomes.lock() {
            outcomes[number] = outcome;
        }
    }
}

/// One thread's work: number after number.
fn toil(next: impl Fn() -> Option<usize>, work: &Work<'_>, note: impl Fn(usize, News)) {
    while let Some(number) = next() {
        let at = |share| note(number, News::At(share));
        let outcome = catch_unwind(AssertUnwindSafe(|| work(number, &at)));
        let outcome =
            outcome.unwrap_or_else(|_| PointOutcome::Failed("the program panicked".into()));
        note(number, News::Ended(outcome));
    }
}

/// Answers the other ranks until all have left.
fn serve<H: Fn(usize, &News)>(ranks: &dyn Ranks, list: &List<'_, H>) -> Result<(), NetworkError> {
    let mut there: Vec<usize> = (1..ranks.size()).collect();
    let mut stopped = false;
    while !there.is_empty() {
        if !stopped && list.interrupt.load(Ordering::Relaxed) {
            stopped = true;
            there.iter().try_for_each(|&rank| ranks.tell(rank, &Answer::Stop))?;
        }
        let mut silent = true;
        let mut left = Vec::new();
        for &rank in &there {
            if let Some(told) = ranks.heard(rank)? {
                silent = false;
                match told {
                    Told::Free => {
                        let answer = list.next().map_or(Answer::NoMore, Answer::Take);
                        ranks.tell(rank, &answer)?;
                    }
                    Told::News(number, news) if number < list.count => list.note(number, news),
                    Told::News(number, _) => {
                        let message = format!("speaks of run {number} of {}", list.count);
                        return Err(NetworkError::Rank { rank, message });
                    }
                    Told::Leaving => {
                        ranks.tell(rank, &Answer::Leave)?;
                        left.push(rank);
                    }
                }
            }
        }
        there.retain(|rank| !left.contains(rank));
        if silent {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Works for rank 0 until it has nothing left to do.
fn help(
    ranks: &dyn Ranks,
    jobs: usize,
    interrupt: &AtomicBool,
    work: &Work<'_>,
) -> Result<(), NetworkError> {
    std::thread::scope(|scope| {
        let (telling, told) = unbounded();
        let (giving, given) = unbounded();
        for _ in 0..jobs {
            let (telling, given) = (telling.clone(), given.clone());
            scope.spawn(move || labour(&telling, &given, interrupt, work));
        }
        drop(telling);
        let asked = ask(ranks, &told, giving, interrupt);
        if asked.is_err() {
            interrupt.store(true, Ordering::Relaxed);
        }
        asked
    })
}

/// One thread's work on a rank that helps.
fn labour(
    telling: &Sender<Told>,
    given: &Receiver<Option<usize>>,
    interrupt: &AtomicBool,
    work: &Work<'_>,
) {
    // Where nobody listens any more, all is over.
    let next = || {
        telling.send(Told::Free).ok()?;
        given.recv().ok()?.filter(|_| !interrupt.load(Ordering::Relaxed))
    };
    let last = AtomicUsize::new(0);
    let note = |number, news| {
        let step = match news {
            News::At(share) => 1 + (share * STEPS) as usize,
            News::Ended(_) => 0,
        };
        if last.swap(step, Ordering::Relaxed) != step || step == 0 {
            let _ = telling.send(Told::News(number, news));
        }
    };
    toil(next, work, note);
}

/// Speaks for the threads of a rank that helps: passes on what they tell and what they are given.
fn ask(
    ranks: &dyn Ranks,
    told: &Receiver<Told>,
    giving: Sender<Option<usize>>,
    interrupt: &AtomicBool,
) -> Result<(), NetworkError> {
    let mut leaving = false;
    loop {
        match told.recv_timeout(PAUSE) {
            Ok(told) => ranks.tell(0, &told)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if leaving => std::thread::sleep(PAUSE),
            Err(RecvTimeoutError::Disconnected) => {
                leaving = true;
                ranks.tell(0, &Told::Leaving)?;
            }
        }
        while let Some(answer) = ranks.heard(0)? {
            // A thread that does not take what it asked for has ended.
            let _ = match answer {
                Answer::Take(number) => giving.send(Some(number)),
                Answer::NoMore => giving.send(None),
                Answer::Stop => {
                    interrupt.store(true, Ordering::Relaxed);
                    Ok(())
                }
                Answer::Leave => return Ok(()),
            };
        }
    }
}

impl Pack for PointOutcome {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Done => 0_u8.put(bytes),
            Self::Failed(reason) => {
                1_u8.put(bytes);
                reason.put(bytes);
            }
            Self::Interrupted => 2_u8.put(bytes),
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::Done,
            1 => Self::Failed(Pack::get(bytes)?),
            _ => Self::Interrupted,
        })
    }
}

impl Pack for News {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::At(share) => (0_u8, *share).put(bytes),
            Self::Ended(outcome) => {
                1_u8.put(bytes);
                outcome.put(bytes);
            }
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::At(Pack::get(bytes)?),
            _ => Self::Ended(Pack::get(bytes)?),
        })
    }
}

impl Pack for Told {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Free => 0_u8.put(bytes),
            Self::News(number, news) => {
                (1_u8, *number).put(bytes);
                news.put(bytes);
            }
            Self::Leaving => 2_u8.put(bytes),
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::Free,
            1 => Self::News(Pack::get(bytes)?, Pack::get(bytes)?),
            _ => Self::Leaving,
        })
    }
}

impl Pack for Answer {
    fn put(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Take(number) => (0_u8, *number).put(bytes),
            Self::NoMore => 1_u8.put(bytes),
            Self::Stop => 2_u8.put(bytes),
            Self::Leave => 3_u8.put(bytes),
        }
    }
    fn get(bytes: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::get(bytes)? {
            0 => Self::Take(Pack::get(bytes)?),
            1 => Self::NoMore,
            2 => Self::Stop,
            _ => Self::Leave,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::InProcess;

    /// Rank 0's outcomes on so many ranks of so many threads each.
    fn on_ranks(
        count: usize,
        (ranks, jobs): (usize, usize),
        work: impl Fn(&AtomicBool, usize) -> PointOutcome + Sync,
        hear: impl Fn(usize, &News) + Sync,
    ) -> Vec<PointOutcome> {
        let mut ends = InProcess::run(ranks, |ranks| {
            let interrupt = AtomicBool::new(false);
            let hands = Hands { jobs, ranks: Some(ranks) };
            let work = |number, at: &dyn Fn(f64)| {
                at(0.5);
                work(&interrupt, number)
            };
            let outcomes = side_by_side(count, hands, &interrupt, work, &hear);
            // All that was said has been heard: an exchange finds nothing in its way.
            assert_eq!(ranks.all_of(&ranks.rank()).unwrap(), Vec::from_iter(0..ranks.size()));
            outcomes.unwrap()
        });
        ends.swap_remove(0)
    }

    #[test]
    fn everything_is_done_once_whatever_panics_and_however_many_work() {
        for hands in [(1, 1), (1, 2), (1, 7), (1, 100), (2, 1), (3, 2), (4, 1), (60, 1)] {
            let counts = || Vec::from_iter((0..50).map(|_| AtomicUsize::new(0)));
            let (times, halves, ends) = (counts(), counts(), counts());
            let count = |list: &[AtomicUsize], number: usize| {
                list[number].fetch_add(1, Ordering::Relaxed);
            };
            let work = |_: &AtomicBool, number| {
                count(&times, number);
                assert_ne!(number, 7, "a panic, on purpose");
                match number {
                    9 => PointOutcome::Failed("an error".to_string()),
                    _ => PointOutcome::Done,
                }
            };
            let outcomes = on_ranks(50, hands, work, |number, news| match news {
                News::At(share) => {
                    assert_eq!(*share, 0.5);
                    count(&halves, number);
                }
                News::Ended(_) => count(&ends, number),
            });
            for list in [times, halves, ends] {
                assert!(list.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{hands:?}");
            }
            assert!(matches!(outcomes[7], PointOutcome::Failed(_)));
            assert_eq!(outcomes[9], PointOutcome::Failed("an error".to_string()));
            let done = outcomes.iter().filter(|outcome| **outcome == PointOutcome::Done);
            assert_eq!(done.count(), 48);
        }
    }

    #[test]
    fn nothing_is_begun_after_an_interrupt() {
        let interrupt = AtomicBool::new(false);
        let work = |number, _: &dyn Fn(f64)| {
            interrupt.store(number == 3, Ordering::Relaxed);
            PointOutcome::Done
        };
        let hands = Hands { jobs: 1, ranks: None };
        let outcomes = side_by_side(10, hands, &interrupt, work, |_, _| ()).unwrap();
        assert_eq!(outcomes[3], PointOutcome::Done);
        assert!(outcomes[4..].iter().all(|outcome| *outcome == PointOutcome::Interrupted));
    }

    #[test]
    fn an_interrupt_of_one_rank_stops_all() {
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let outcomes = on_ranks(
            1000,
            (3, 1),
            |interrupt, number| {
                begun.fetch_add(1, Ordering::Relaxed);
                if number < 5 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
                if number == 5 {
                    // The others do not hear of it before they have begun with those before.
                    while done.load(Ordering::Relaxed) < 5 {
                        std::thread::yield_now();
                    }
                    interrupt.store(true, Ordering::Relaxed);
                }
                // As long as it takes until somebody says stop.
                while number >= 5 && !interrupt.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                if number < 5 { PointOutcome::Done } else { PointOutcome::Interrupted }
            },
            |_, _| (),
        );
        assert!(begun.into_inner() < 10);
        assert!(outcomes[..5].iter().all(|outcome| *outcome == PointOutcome::Done));
        assert!(outcomes[5..].iter().all(|outcome| *outcome == PointOutcome::Interrupted));
    }

    #[test]
    fn a_rank_that_is_no_more_is_named_and_nobody_waits_for_it() {
        let ends = InProcess::run(3, |ranks| {
            if ranks.rank() == 1 {
                return Ok(Vec::new());
            }
            let interrupt = AtomicBool::new(false);
            let hands = Hands { jobs: 1, ranks: Some(ranks) };
            let work = |_, _: &dyn Fn(f64)| {
                while !interrupt.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                PointOutcome::Interrupted
            };
            side_by_side(10, hands, &interrupt, work, |_, _| ())
        });
        let lost = |rank| Err(NetworkError::Rank { rank, message: "is no more".to_string() });
        assert_eq!((&ends[0], &ends[2]), (&lost(1), &lost(0)));
    }
}
