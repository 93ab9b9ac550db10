//! The progress line of a sweep or a comparison: on a terminal only, on standard error.

use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::{News, PointOutcome};

/// The bar counts this many steps for each run, so that one run among few is seen to go on.
const STEPS: usize = 1000;

/// Shows how many runs are done, under way and failed, and the time left.
pub(super) struct StudyLine {
    bar: ProgressBar,
    runs: usize,
    /// How far each run is, in steps.
    steps: Vec<AtomicUsize>,
    /// Those of all runs together.
    together: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicUsize,
    begun: AtomicUsize,
}

impl StudyLine {
    pub(super) fn new(runs: usize, quiet: bool) -> Self {
        // `stderr()` draws nothing unless standard error is a terminal.
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some((runs * STEPS) as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}  {eta} left") {
            bar.set_style(style);
        }
        let count = AtomicUsize::default;
        let steps = (0..runs).map(|_| count()).collect();
        let line = Self {
            bar,
            runs,
            steps,
            together: count(),
            done: count(),
            failed: count(),
            begun: count(),
        };
        line.draw();
        line
    }

    /// There is news of a run.
    pub(super) fn hear(&self, run: usize, news: &News) {
        match news {
            News::At(share) => self.at(run, *share),
            News::Ended(outcome) => self.ended(run, outcome),
        }
    }

    fn at(&self, run: usize, share: f64) {
        // The last step is for its files.
        let now = ((share * STEPS as f64) as usize).clamp(1, STEPS - 1);
        let before = self.steps[run].fetch_max(now, Ordering::Relaxed);
        if before == 0 {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        if now > before {
            self.together.fetch_add(now - before, Ordering::Relaxed);
            self.draw();
        }
    }

    fn ended(&self, run: usize, outcome: &PointOutcome) {
        self.at(run, 1.0);
        match outcome {
            PointOutcome::Done => self.done.fetch_add(1, Ordering::Relaxed),
            PointOutcome::Failed(_) => self.failed.fetch_add(1, Ordering::Relaxed),
            PointOutcome::Interrupted => return,
        };
        self.together.fetch_add(1, Ordering::Relaxed);
        self.draw();
    }

    fn draw(&self) {
        if self.bar.is_hidden() {
            return;
        }
        let [done, failed, begun, together] =
            [&self.done, &self.failed, &self.begun, &self.together]
                .map(|count| count.load(Ordering::Relaxed));
        let running = begun.saturating_sub(done + failed);
        let of = self.runs;
        self.bar.set_message(format!("{done} of {of} done, {running} running, {failed} failed"));
        self.bar.set_position(together as u64);
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
