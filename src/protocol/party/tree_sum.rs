//! One party's place in a sum over a spanning tree.

use std::sync::Arc;

use super::Say;
use crate::network::Context;
use crate::privacy::{Released, public};
use crate::topology::Branch;
use crate::units::{PeerId, Round};

/// A party's place in the tree, and the sum over its subtree as far as it is there.
///
/// Which neighbours are children a party learns in the first round: all neighbours but its parent
/// answer its `Tree`, those whose parent it is by `Up`, the others by a `Tree` of their own.
#[derive(Debug)]
pub(super) struct TreeSum {
    parent: Option<PeerId>,
    hops: u32,
    /// The neighbours that have not answered yet, in the first round; later, nobody.
    silent: usize,
    children: Vec<PeerId>,
    /// The children that are missing in this round.
    missing: usize,
    total: Option<Released<Arc<[u64]>>>,
    /// Whether the own addend is in the total.
    added: bool,
}

impl TreeSum {
    pub(super) fn new(Branch { parent, hops }: Branch, neighbours: &[PeerId]) -> Self {
        Self {
            parent,
            hops,
            silent: neighbours.len() - usize::from(parent.is_some()),
            children: Vec::new(),
            missing: 0,
            total: None,
            added: false,
        }
    }

    /// Bytes beside its own struct.
    pub(super) fn memory(neighbours: usize) -> usize {
        neighbours * size_of::<PeerId>()
    }

    pub(super) fn parent(&self) -> Option<PeerId> {
        self.parent
    }

    pub(super) fn children(&self) -> &[PeerId] {
        &self.children
    }

    /// Passes the flood on to everybody but the parent.
    pub(super) fn flood(&self, context: &mut Context<'_, Say>) {
        let message = public(Say::Tree(self.hops));
        for &neighbour in context.neighbours() {
            if Some(neighbour) != self.parent {
                context.send(neighbour, message.clone());
            }
        }
    }

    /// A neighbour has answered the flood.
    pub(super) fn answered(&mut self) {
        self.silent -= 1;
        if self.silent == 0 {
            // Whoever answered first: models go down in the order of peers.
            self.children.sort_unstable();
            self.children.shrink_to_fit();
        }
    }

    /// A child's sum has come.
    pub(super) fn hear(&mut self, from: PeerId, theirs: &Released<Arc<[u64]>>) {
        if self.silent > 0 {
            self.children.push(from);
            self.answered();
        } else {
            self.missing -= 1;
        }
        self.include(theirs);
    }

    /// The own addend is there: a round has begun.
    pub(super) fn add(&mut self, own: Released<Arc<[u64]>>) {
        self.added = true;
        self.include(&own);
    }

    fn include(&mut self, addend: &Released<Arc<[u64]>>) {
        self.total = Some(match self.total.take() {
            Some(total) => total.added(addend),
            None => addend.clone(),
        });
    }

    /// The sum over the subtree, once it is all there; the next round's begins from nothing.
    pub(super) fn complete(&mut self) -> Option<Released<Arc<[u64]>>> {
        if !self.added || self.silent > 0 || self.missing > 0 {
            return None;
        }
        self.added = false;
        self.missing = self.children.len();
        self.total.take()
    }

    /// Whom it waits for in a round.
    pub(super) fn missing(&self, round: Round) -> Vec<PeerId> {
        match self.parent {
            Some(parent) if round == Round(0) || !self.added => vec![parent],
            _ => self.children.clone(),
        }
    }
}
