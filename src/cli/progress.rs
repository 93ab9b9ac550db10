//! The progress line: on a terminal only, on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::experiment::Progress;
use crate::report::figure;

/// Without colours, so that `NO_COLOR` has nothing to take away.
const TEMPLATE: &str = "{prefix} {wide_bar} {pos}/{len} rounds  {per_sec}  {eta} left  {msg}";

/// Shows rounds, rate, time left and the current gap.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    repeats: u32,
}

impl ProgressLine {
    pub(super) fn new(repeats: u32, quiet: bool) -> Self {
        // `stderr()` draws nothing unless standard error is a terminal.
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        // How many rounds there are is known with the first of them.
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self { bar, repeats }
    }

    pub(super) fn say(&self, what: &'static str) {
        self.bar.set_prefix(what);
        self.bar.tick();
    }

    pub(super) fn show(&self, progress: Progress) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_prefix(format!("repeat {}/{}", progress.repeat + 1, self.repeats));
        if let Some(gap) = progress.gap {
            self.bar.set_message(format!("gap {}", figure(gap)));
        }
        let rounds = u64::from(progress.last.0);
        self.bar.set_length(u64::from(self.repeats) * rounds);
        let before = u64::from(progress.repeat) * rounds;
        self.bar.set_position(before + u64::from(progress.round.0));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
