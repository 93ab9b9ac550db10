//! Local all the way and one global step at the end.

use super::{Action, Policy, Visit};
use crate::random::Stream;

/// Global at the peer's last visit, Local before.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinalGlobal;

impl Policy for FinalGlobal {
    fn decide(&mut self, visit: &Visit<'_>, _: &mut Stream) -> Action {
        if visit.number + 1 == visit.of { Action::Global } else { Action::Local }
    }
}
