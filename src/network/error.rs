//! How a run can fail, told in the names of its peers.

use thiserror::Error;

/// A run that could not be brought to its end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NetworkError {
    /// Nothing is under way and somebody still waits.
    #[error("the peers are stuck: {}", describe(.waiting, *.count))]
    Stall {
        /// The first who wait, each with those it waits for.
        waiting: Vec<(String, Vec<String>)>,
        /// How many wait in all.
        count: usize,
    },
    /// A peer said that it cannot go on, or its code panicked.
    #[error("peer {peer} failed: {message}")]
    Failed {
        /// The peer.
        peer: String,
        /// What it said.
        message: String,
    },
    /// The threads engine has a limit.
    #[error(
        "the threads engine starts a thread per peer and takes at most {limit} peers, not {peers}: \
         use the simulated engine"
    )]
    TooManyThreads {
        /// How many were asked for.
        peers: usize,
        /// How many it takes.
        limit: usize,
    },
    /// Another process of the same run.
    #[error("rank {rank}: {message}")]
    Rank {
        /// Its number.
        rank: usize,
        /// What is the matter with it.
        message: String,
    },
    /// The operating system refused a thread.
    #[error("no thread could be started for a peer: {0}")]
    NoThread(String),
}

/// How many waiting peers an error names.
pub(super) const NAMED: usize = 5;

fn describe(waiting: &[(String, Vec<String>)], count: usize) -> String {
    let mut lines: Vec<String> = waiting
        .iter()
        .map(|(peer, others)| {
            let mut others = others.clone();
            if others.len() > NAMED {
                let more = others.len() - NAMED;
                others.truncate(NAMED);
                others.push(format!("{more} more"));
            }
            format!("{peer} waits for {}", others.join(", "))
        })
        .collect();
    if count > waiting.len() {
        lines.push(format!("{} more wait", count - waiting.len()));
    }
    lines.join("; ")
}

/// What a panic said, as far as it can be told.
pub(super) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_string())
}
