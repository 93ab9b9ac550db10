//! Posts of a window, where their receivers find them.

use super::event::Post;
use crate::network::peer::Received;
use crate::units::{PeerId, SimTime};

/// Who has posted in the window that is being run, and the posts.
pub(super) struct Board<M> {
    /// By sender: the number of its post, from 1; 0 where there is none.
    pub(super) numbers: Vec<u32>,
    pub(super) posts: Vec<Post<M>>,
    /// When all of them arrive, where that is one time.
    pub(super) time: Option<SimTime>,
}

impl<M> Default for Board<M> {
    fn default() -> Self {
        Self { numbers: Vec::new(), posts: Vec::new(), time: None }
    }
}

impl<M> Board<M> {
    /// The post of a sender.
    #[inline]
    pub(super) fn of(&self, sender: PeerId) -> Option<&Post<M>> {
        let number = self.numbers[sender.index()];
        // Number 0 becomes a place beyond the end.
        self.posts.get((number as usize).wrapping_sub(1))
    }
}

/// Messages that reach a peer at the same time, of one neighbour after the other.
pub struct Arrivals<'a, M> {
    board: &'a Board<M>,
    senders: &'a [PeerId],
}

impl<'a, M: Clone> Arrivals<'a, M> {
    pub(super) fn new(board: &'a Board<M>, senders: &'a [PeerId]) -> Self {
        Self { board, senders }
    }

    /// The next message and who sent it.
    pub fn next_received(&mut self) -> Option<(PeerId, Received<'a, M>)> {
        let post = self.next_post()?;
        Some((post.sender, Received::together(&post.message)))
    }

    /// What the next message says, to be read where it lies, and who sent it.
    #[inline]
    pub fn next_value(&mut self) -> Option<(PeerId, &'a M)> {
        let post = self.next_post()?;
        Some((post.sender, post.message.value()))
    }

    #[inline]
    fn next_post(&mut self) -> Option<&'a Post<M>> {
        while let [sender, others @ ..] = self.senders {
            self.senders = others;
            if let Some(post) = self.board.of(*sender) {
                return Some(post);
            }
        }
        None
    }

    /// The senders whose messages were not taken yet, if there are any.
    #[inline]
    pub(super) fn left(&self) -> &'a [PeerId] {
        self.senders
    }
}
