//! Who looks.

use std::fmt;

use serde::Serialize;

/// Somebody who may want to know a user's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observer {
    /// The peer that the user hands the data to.
    OwnServer,
    /// One neighbour of that peer, with all messages on its links.
    Neighbour,
    /// Somebody who listens on one link.
    Eavesdropper,
    /// Every other peer together.
    OtherPeers,
    /// Somebody who is given the last models that were sent, and nothing else.
    FinalModel,
}

impl Observer {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OwnServer, Self::Neighbour, Self::Eavesdropper, Self::OtherPeers, Self::FinalModel];
}

impl fmt::Display for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnServer => "the user's own server",
            Self::Neighbour => "one neighbour of it",
            Self::Eavesdropper => "an eavesdropper on one link",
            Self::OtherPeers => "all other peers together",
            Self::FinalModel => "a reader of the final models",
        })
    }
}

/// What of a record is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// The label, with the features known.
    Label,
    /// The features, and with them the whole record.
    Features,
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Label => "label",
            Self::Features => "features, whole record",
        })
    }
}
