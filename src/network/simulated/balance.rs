//! Work measured, and shared out anew between the workers of a process.
//!
//! Who runs whom is estimated before a run by [`Peer::weight`](crate::network::Peer::weight); estimates
//! err. So every worker looks at the clock while it goes through its peers, a few dozen times in some
//! windows, and after windows 16, 32, 64 and so on all tell each other what they saw. All come to the
//! same conclusion: where other cuts would have saved more than it takes to move, peers move. Time
//! decides who runs a peer, and nothing else.
//!
//! ```text
//! windows   1    8        16                32                                64
//!           ├────┼────┬────┼────────┬────────┼────────────────┬────────────────┼──▶
//!                measured  cut      measured cut                               cut
//! ```
//!
//! Where windows are short, what workers have to tell each other may take longer than what they have to do, by
//! how much depends on how far apart their cores are. So after windows 32, 1,024, 32,768 and so on all peers go to
//! one worker for a while, or, if they are there, back to all; and where windows took longer then they
//! return.

use std::sync::LazyLock;
use std::time::Instant;

use super::layout::share_out;

/// Before so many windows have been run nothing is measured: what is done once is done then.
const WARM_UP: u64 = 8;
/// About so many windows are measured between two cuts.
const SAMPLES: u64 = 16;
/// Into so many blocks of about equal estimated weight a worker's peers fall.
const BLOCKS: usize = 64;
/// A cut that would save no more than this part of a window is none.
const LEAST: u64 = 16;

/// Windows longer than this, in nanoseconds, are no shorter where all peers are with one worker.
const SHORT: u64 = 200_000;
/// After peers have moved so many windows are not representative.
const SETTLING: u64 = 5;

/// When workers share out their peers anew, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cuts {
    /// Rarely, by how long peers take.
    Measured,
    /// Never.
    Estimated,
    /// As `Measured`, by a clock that goes on only where a test says so.
    #[cfg(test)]
    Pretended,
    /// Every few windows, anywhere.
    #[cfg(test)]
    Drawn(u64),
}

impl Cuts {
    /// The rule of a run, unless it is said otherwise.
    pub(super) fn usual() -> Self {
        #[cfg(test)]
        if let Some(cuts) = rehearsal::cuts() {
            return cuts;
        }
        Self::Measured
    }

    /// Whether all look at what was measured after so many windows.
    fn due(self, windows: u64) -> bool {
        match self {
            Self::Estimated => false,
            #[cfg(test)]
            Self::Drawn(seed) => rehearsal::draw(seed, windows).is_multiple_of(3),
            _ if windows < 2 * WARM_UP => false,
            _ => windows.is_power_of_two() || trial_ends(windows),
        }
    }

    /// The clock, in nanoseconds.
    fn clock(self) -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            #[cfg(test)]
            Self::Pretended => rehearsal::time(),
            _ => START.elapsed().as_nanos() as u64,
        }
    }

    /// Where the shards of a process should begin and end by what its workers measured, in their order;
    /// nothing if they may as well stay.
    pub(super) fn moved(self, bounds: &[usize], works: &[Work]) -> Option<Vec<usize>> {
        let windows = works.iter().map(|work| work.windows).max()?;
        #[cfg(test)]
        if let Self::Drawn(seed) = self {
            return Some(rehearsal::bounds(bounds, rehearsal::draw(!seed, windows)));
        }
        let built = works.iter().map(|work| work.built).max()?;
        let blocks = Blocks::new(bounds, works);
        let places = bounds[0]..bounds[bounds.len() - 1];
        let weight = |place| blocks.weight(place).max(1);
        let mut moved = share_out(places.clone(), &weight, bounds.len() - 1);
        moved.resize(bounds.len(), places.end);
        let alone = bounds[1] == places.end;
        // Everybody to the first, or away from there.
        let other = || {
            let mut gathered = vec![places.end; bounds.len()];
            gathered[0] = places.start;
            if alone { moved.clone() } else { gathered }
        };
        if let Some(Pace { now, before }) = works[0].pace {
            if trial_ends(windows) {
                let worse = before.is_some_and(|(before, there)| there != alone && before < now);
                return worse.then(other);
            }
            let pays = now < SHORT && built < now.saturating_mul(windows);
            if trial_begins(windows) && (alone || pays) {
                return Some(other());
            }
            if alone {
                return None;
            }
        }
        let slowest = blocks.slowest(bounds);
        let saved = slowest.saturating_sub(blocks.slowest(&moved));
        // As much again is saved until the next look, twice as much until the one after.
        let pays = saved.saturating_mul(windows / 2) > built;
        (saved.saturating_mul(LEAST) > slowest && pays).then_some(moved)
    }
}

/// Whether after so many windows peers go to one worker, or away from it, to see whether that is better.
fn trial_begins(windows: u64) -> bool {
    windows >= 2 * WARM_UP && windows.is_power_of_two() && windows.ilog2().is_multiple_of(5)
}

/// Whether after so many windows it has been seen.
fn trial_ends(windows: u64) -> bool {
    let begun = 1 << windows.ilog2();
    trial_begins(begun) && windows == begun + (begun / 16).max(12)
}

/// How long windows took, from one to the next, in nanoseconds: since the last look; and before peers moved last,
/// and whether all were with one worker then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    now: u64,
    before: Option<(u64, bool)>,
}

/// What a worker measured since the last cut.
#[derive(Clone)]
pub(super) struct Work {
    /// How many windows there were.
    windows: u64,
    /// The peers of each block, and how long they took in a window, in nanoseconds.
    blocks: Vec<(usize, u64)>,
    /// How long it took to set up the shard.
    built: u64,
    /// Where it is of interest: among the workers of one process.
    pace: Option<Pace>,
}

/// The blocks of all workers, one after the other.
struct Blocks {
    ends: Vec<usize>,
    /// Of a peer of each.
    weights: Vec<u64>,
}

impl Blocks {
    /// Fractions of a nanosecond count: many peers have few of them.
    const UNIT: u64 = 1 << 10;

    fn new(bounds: &[usize], works: &[Work]) -> Self {
        let mut end = bounds[0];
        let (mut ends, mut weights) = (Vec::new(), Vec::new());
        for &(peers, nanoseconds) in works.iter().flat_map(|work| &work.blocks) {
            end += peers;
            ends.push(end);
            weights.push(nanoseconds.saturating_mul(Self::UNIT) / peers.max(1) as u64);
        }
        Self { ends, weights }
    }

    /// How long the peer at a place takes: as long as those of its block do on average.
    fn weight(&self, place: usize) -> u64 {
        self.weights.get(self.ends.partition_point(|&end| end <= place)).copied().unwrap_or(0)
    }

    /// How long the slowest takes of workers whose shards begin and end there, in nanoseconds.
    fn slowest(&self, bounds: &[usize]) -> u64 {
        let sums = bounds.windows(2).map(|bounds| {
            (bounds[0]..bounds[1]).fold(0_u64, |sum, place| sum.saturating_add(self.weight(place)))
        });
        sums.max().unwrap_or(0) / Self::UNIT
    }
}

/// Measures how long the peers of a worker take, block by block.
pub(super) struct Watch {
    cuts: Cuts,
    /// Begun so far.
    windows: u64,
    /// Where blocks end, by own places.
    ends: Vec<usize>,
    /// What each block took in the windows measured, and how many these were, in the first half of the time
    /// between two cuts and in the second.
    halves: [(Vec<u64>, u64); 2],
    /// In which of them the window is that is being measured.
    half: Option<usize>,
    /// The block that is running, where it ends, and since when.
    block: usize,
    next: usize,
    since: u64,
    begun: u64,
    built: u64,
    pacing: Option<Pacing>,
}

/// How long windows take, from one to the next.
struct Pacing {
    /// The window from which on it is measured, and when that began.
    from: (u64, u64),
    /// What it was at the last look.
    now: Option<u64>,
    /// Whether all peers are with one worker; what it was before they moved, and whether they were then.
    alone: bool,
    before: Option<(u64, bool)>,
}

/// Peers that leave a worker after a window.
#[derive(Clone, Copy)]
pub(super) struct Left {
    /// How many windows there have been.
    pub(super) windows: u64,
    /// When that was, by the clock of what is measured.
    when: u64,
    /// How long windows took, and whether all peers were with one worker.
    pace: Option<(u64, bool)>,
}

impl Watch {
    /// A watch over so many peers of these weights, after so many windows; one worker alone has no use for it.
    pub(super) fn new(
        cuts: Cuts,
        windows: u64,
        peers: usize,
        weight: impl Fn(usize) -> u64,
    ) -> Self {
        let begun = cuts.clock();
        let mut ends = Vec::new();
        if cuts != Cuts::Estimated && peers > 0 {
            ends = share_out(0..peers, &weight, BLOCKS).split_off(1);
        }
        let mut watch = Self {
            cuts,
            windows,
            ends,
            halves: Default::default(),
            half: None,
            block: 0,
            next: usize::MAX,
            since: 0,
            begun,
            built: 0,
            pacing: None,
        };
        watch.reset();
        watch
    }

    fn reset(&mut self) {
        self.halves = std::array::from_fn(|_| (vec![0; self.ends.len()], 0));
    }

    /// The shard is set up, which began when its peers left others, or with the watch. How long windows take is
    /// of interest where it is said whether all peers are with one worker.
    pub(super) fn built(&mut self, left: Option<Left>, alone: Option<bool>) {
        self.built = self.cuts.clock() - left.map_or(self.begun, |left| left.when);
        let from = (self.windows + SETTLING).max(WARM_UP);
        let before = left.and_then(|left| left.pace);
        self.pacing = alone.map(|alone| Pacing { from: (from, 0), now: None, alone, before });
    }

    /// How things stand when peers leave.
    pub(super) fn left(&self) -> Left {
        let pace = self.pacing.as_ref().and_then(|pacing| Some((pacing.now?, pacing.alone)));
        Left { windows: self.windows, when: self.cuts.clock(), pace }
    }

    /// A window begins.
    pub(super) fn open(&mut self) {
        let number = self.windows;
        self.windows += 1;
        self.half = None;
        if self.cuts == Cuts::Estimated || number < WARM_UP {
            return;
        }
        if let Some(pacing) = &mut self.pacing
            && pacing.from.0 == number
        {
            pacing.from.1 = self.cuts.clock();
        }
        let period = 1 << number.ilog2();
        let behind = number - period;
        // Odd, so as not to see always the same half of what goes to and fro.
        if behind.is_multiple_of((period / SAMPLES) | 1) {
            let half = usize::from(2 * behind >= period);
            self.half = Some(half);
            self.halves[half].1 += 1;
        }
    }

    /// Peers begin to take their turns.
    pub(super) fn start(&mut self) {
        if self.half.is_some() && !self.ends.is_empty() {
            (self.block, self.next, self.since) = (0, 0, self.cuts.clock());
        }
    }

    /// It is the turn of the peer at a place; places go up.
    #[inline]
    pub(super) fn reach(&mut self, place: usize) {
        if place >= self.next {
            self.note();
            while self.block + 1 < self.ends.len() && self.ends[self.block] <= place {
                self.block += 1;
            }
            self.next = self.ends[self.block];
        }
    }

    /// The next place to be [reached](Self::reach) that is of any interest.
    #[inline]
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// All had their turn.
    pub(super) fn stop(&mut self) {
        if self.next != usize::MAX {
            self.note();
            self.next = usize::MAX;
        }
    }

    /// Notes what the running block took.
    #[cold]
    fn note(&mut self) {
        let now = self.cuts.clock();
        if let Some(half) = self.half {
            self.halves[half].0[self.block] += now - self.since;
        }
        self.since = now;
    }

    /// What was measured, when it is time for all to look. Only what took long in both halves did: not what
    /// was held up once by something else.
    pub(super) fn report(&mut self) -> Option<Work> {
        if !self.cuts.due(self.windows) {
            return None;
        }
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let peers = self.ends.iter().zip(begins).map(|(end, begin)| end - begin);
        let seen = self.halves.iter().filter(|(_, windows)| *windows > 0);
        let least = |block: usize| seen.clone().map(|(sums, windows)| sums[block] / windows).min();
        let blocks = peers.enumerate().map(|(k, peers)| (peers, least(k).unwrap_or(0))).collect();
        let (windows, built) = (self.windows, self.built);
        let now = self.cuts.clock();
        let pace = self.pacing.as_mut().and_then(|pacing| {
            let (from, since) = std::mem::replace(&mut pacing.from, (windows, now));
            pacing.now =
                windows.checked_sub(from).and_then(|count| (now - since).checked_div(count));
            Some(Pace { now: pacing.now?, before: pacing.before })
        });
        self.reset();
        Some(Work { windows, blocks, built, pace })
    }
}

/// What tests put in the place of the clock and of the decision.
#[cfg(test)]
pub(in crate::network) mod rehearsal {
    use std::cell::Cell;

    use super::Cuts;

    thread_local! {
        static TIME: Cell<u64> = const { Cell::new(0) };
        static CUTS: Cell<Option<Cuts>> = const { Cell::new(None) };
    }

    /// Does something in which every run that begins on this thread is cut anew every few windows, anywhere.
    pub(crate) fn cut_anywhere<T>(seed: u64, act: impl FnOnce() -> T) -> T {
        CUTS.set(Some(Cuts::Drawn(seed)));
        let done = act();
        CUTS.set(None);
        done
    }

    pub(super) fn cuts() -> Option<Cuts> {
        CUTS.get()
    }

    /// Pretends that so many nanoseconds go by on this thread.
    pub(in super::super) fn pass(nanoseconds: u64) {
        TIME.set(TIME.get() + nanoseconds);
    }

    pub(super) fn time() -> u64 {
        TIME.get()
    }

    /// A number for each pair.
    pub(super) fn draw(seed: u64, number: u64) -> u64 {
        let mixed = (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x1234_5678);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 7
    }

    /// As many bounds, drawn; the first and the last stay, and shards may be empty.
    pub(super) fn bounds(bounds: &[usize], seed: u64) -> Vec<usize> {
        let (first, last) = (bounds[0], bounds[bounds.len() - 1]);
        let mut drawn = bounds.to_vec();
        let between = drawn.len() - 1;
        for (number, bound) in (0..).zip(&mut drawn[1..between]) {
            *bound = first + (draw(seed, number) % (last - first + 1) as u64) as usize;
        }
        drawn.sort_unstable();
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two workers of four peers each measured, in microseconds, after so many windows.
    fn works(windows: u64, built: u64, microseconds: [[u64; 4]; 2]) -> [Work; 2] {
        microseconds.map(|blocks| Work {
            windows,
            blocks: blocks.iter().map(|&time| (1, 1_000 * time)).collect(),
            built: 1_000 * built,
            pace: None,
        })
    }

    #[test]
    fn cuts_move_where_that_saves_more_than_it_costs() {
        let moved = |works: &[Work]| Cuts::Measured.moved(&[10, 14, 18], works);
        let uneven = [[10, 3, 3, 3], [3, 3, 3, 3]];
        // 19 and 12 become 16 and 15, of which 8 windows save 24.
        assert_eq!(moved(&works(16, 23, uneven)), Some(vec![10, 13, 18]));
        assert_eq!(moved(&works(16, 24, uneven)), None, "moving takes as long");
        assert_eq!(moved(&works(32, 24, uneven)), Some(vec![10, 13, 18]), "but there is more time");
        assert_eq!(moved(&works(16, 0, [[4, 3, 3, 3], [3, 3, 3, 3]])), None, "it is even enough");
        assert_eq!(moved(&works(16, 0, [[0; 4]; 2])), None, "nobody did anything");
        // One that takes as long as all others is left alone at last.
        assert_eq!(moved(&works(16, 0, [[70, 9, 9, 9], [9; 4]])), Some(vec![10, 11, 18]));
    }

    #[test]
    fn a_block_is_thought_to_be_even_and_shards_may_be_empty() {
        let work = |blocks: &[(usize, u64)]| Work {
            windows: 16,
            blocks: blocks.to_vec(),
            built: 0,
            pace: None,
        };
        let works = [work(&[(10, 4_100), (10, 1_000)]), work(&[(10, 1_000)]), work(&[])];
        assert_eq!(Cuts::Measured.moved(&[0, 20, 30, 30], &works), Some(vec![0, 5, 10, 30]));
    }

    /// Where two workers move after so many windows that took them so long, in microseconds.
    fn after(
        windows: u64,
        bounds: [usize; 3],
        now: u64,
        before: Option<(u64, bool)>,
    ) -> Option<Vec<usize>> {
        let mut works = works(windows, 1, [[3; 4]; 2]);
        works[0].pace = Some(Pace { now: 1_000 * now, before });
        Cuts::Measured.moved(&bounds, &works)
    }

    #[test]
    fn short_windows_are_tried_by_one_worker_alone_and_the_better_way_is_kept() {
        const SHARED: [usize; 3] = [10, 14, 18];
        const ALONE: [usize; 3] = [10, 18, 18];
        let (shared, alone) = (Some(SHARED.to_vec()), Some(ALONE.to_vec()));
        for begins in [32, 1024, 32_768] {
            assert_eq!(after(begins, SHARED, 40, None), alone, "{begins}");
            assert_eq!(after(begins, SHARED, 400, None), None, "long windows stay");
            assert_eq!(
                after(begins, ALONE, 400, None),
                shared,
                "where all are alone, sharing is tried"
            );
            let ends = begins + (begins / 16).max(12);
            assert!(Cuts::Measured.due(begins) && Cuts::Measured.due(ends));
            assert_eq!(after(ends, ALONE, 30, Some((40_000, false))), None, "it is better");
            assert_eq!(after(ends, ALONE, 50, Some((40_000, false))), shared, "it is worse");
            assert_eq!(
                after(ends, SHARED, 50, Some((40_000, true))),
                alone,
                "so it is the other way"
            );
            assert_eq!(after(ends, SHARED, 50, Some((40_000, false))), None, "nothing was tried");
            assert_eq!(after(ends, SHARED, 50, None), None, "nobody has moved");
        }
        for windows in [16, 64, 256, 512, 2048] {
            assert_eq!(after(windows, ALONE, 30, None), None, "who is alone stays so");
            assert_eq!(after(windows, SHARED, 30, None), None, "and who is not");
            assert!(!trial_begins(windows) && !trial_ends(windows));
        }
        // Setting up took longer than all windows so far.
        let mut dear = works(32, 2_000, [[3; 4]; 2]);
        dear[0].pace = Some(Pace { now: 40_000, before: None });
        assert_eq!(Cuts::Measured.moved(&SHARED, &dear), None);
    }

    #[test]
    fn a_pace_is_that_of_windows_since_the_last_look_but_for_the_first() {
        let mut watch = Watch::new(Cuts::Pretended, 0, 1, |_| 1);
        watch.built(None, Some(false));
        let run = |watch: &mut Watch, windows: std::ops::Range<u64>, each: u64| {
            let mut paces = Vec::new();
            for window in windows.clone() {
                watch.open();
                // What is done once, when peers come, takes longer.
                rehearsal::pass(if window < windows.start + SETTLING { 10 * each } else { each });
                paces.extend(watch.report().and_then(|work| work.pace));
            }
            paces
        };
        let pace = |now, before| Pace { now, before };
        assert_eq!(run(&mut watch, 0..32, 500), [pace(500, None); 2]);
        let left = watch.left();
        let mut watch = Watch::new(Cuts::Pretended, left.windows, 1, |_| 1);
        watch.built(Some(left), Some(true));
        assert_eq!(run(&mut watch, 32..44, 700), [pace(700, Some((500, false)))]);
    }

    #[test]
    fn what_held_up_a_block_once_is_not_its_work() {
        let mut watch = Watch::new(Cuts::Pretended, 0, 3, |_| 1);
        for window in 1..=16 {
            watch.open();
            watch.start();
            for place in 0..3 {
                watch.reach(place);
                rehearsal::pass(100 * (place as u64 + 1));
                // As if the machine had stood still.
                rehearsal::pass(if (window, place) == (10, 1) { 1_000_000 } else { 0 });
            }
            watch.stop();
            let blocks = watch.report().map(|work| work.blocks);
            let expected = vec![(1, 100), (1, 200), (1, 300)];
            assert_eq!(blocks, (window == 16).then_some(expected), "window {window}");
        }
    }
}
