//! Which core a worker is on, and how it gets away from there.
//!
//! Two workers may find themselves on one core while another is free: one that looks for what is due and
//! yields when it does not come seems to be at work to the system, which moves it after milliseconds. A
//! window is over in microseconds. So they tell each other where they are, and one of them leaves.

/// The core that this thread is on, where the system tells.
#[cfg(target_os = "linux")]
pub(super) fn here() -> Option<usize> {
    nix::sched::sched_getcpu().ok()
}

/// Lets the system choose another core for this thread, of those that it may use. It may come back: nobody
/// is bound to anything.
#[cfg(target_os = "linux")]
pub(super) fn leave(core: usize) {
    use nix::sched::{sched_getaffinity, sched_setaffinity};
    let this = nix::unistd::Pid::from_raw(0);
    let Ok(all) = sched_getaffinity(this) else { return };
    let mut others = all;
    // Where there are no others it stays: the system refuses to leave it none.
    if others.unset(core).is_ok() && sched_setaffinity(this, &others).is_ok() {
        let _ = sched_setaffinity(this, &all);
    }
}

/// Elsewhere nothing is known of it.
#[cfg(not(target_os = "linux"))]
pub(super) fn here() -> Option<usize> {
    None
}

/// So nobody leaves.
#[cfg(not(target_os = "linux"))]
pub(super) fn leave(_core: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sched::sched_getaffinity;
    use nix::unistd::Pid;

    #[test]
    fn who_leaves_a_core_is_on_another_and_may_come_back() {
        let allowed = || sched_getaffinity(Pid::from_raw(0)).unwrap();
        let before = allowed();
        let cores = (0..nix::sched::CpuSet::count()).filter(|&core| before.is_set(core).unwrap());
        let several = cores.count() > 1;
        // It may be moved again at any time, and even back; not always.
        let left = (0..100).any(|_| {
            let core = here().expect("Linux tells");
            leave(core);
            assert_eq!(allowed(), before, "nothing is forbidden for good");
            here() != Some(core)
        });
        assert_eq!(left, several);
    }
}
