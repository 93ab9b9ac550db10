//! The same action at every visit.

use super::{Action, Policy, Visit};
use crate::random::Stream;

/// Takes one action for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Always(pub(super) Action);

impl Policy for Always {
    fn decide(&mut self, _: &Visit<'_>, _: &mut Stream) -> Action {
        self.0
    }
}
