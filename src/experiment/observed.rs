//! What was learnt by whom, from what was sent.

use super::repeat::RepeatResult;
use super::statement::Claim;
use crate::measure::Accounting;
use crate::privacy::{Bound, Observer, Piece};
use crate::units::{Delta, Epsilon};

impl RepeatResult {
    /// How ε is counted in this repeat.
    pub fn accounting(&self, delta: Delta) -> Accounting {
        let labels = self.labels.as_ref().map_or(Epsilon::UNBOUNDED, |labels| labels.greatest);
        let repetition = self.tokens.as_ref().map(|tokens| tokens.repetition);
        Accounting { delta, copies: self.multiplicity, repetition, labels }
    }

    /// The ledger's answer for every observer: the worst over all users of this repeat.
    ///
    /// A message goes to all neighbours alike, or is a token's, which counts as seen by everybody. So
    /// each observer of links is given what all other peers together see; who sees only the end sees
    /// no more than that.
    pub fn observed(&self, delta: Delta) -> Vec<Claim> {
        let accounting = self.accounting(delta);
        let Bound { epsilon: record, route } = accounting.of_record(&self.exposure);
        let label = accounting.of_label(&self.exposure);
        // Another peer may have been dealt the same record, and then has it, or its user's answer.
        let shared = self.multiplicity > 1;
        let is_peer = |observer| matches!(observer, Observer::Neighbour | Observer::OtherPeers);
        let [label_among_peers, record_among_peers] = [
            accounting.of_label_among_peers(&self.exposure),
            accounting.of_record_among_peers(&self.exposure),
        ];
        let of = |observer, piece| {
            let own_server = observer == Observer::OwnServer;
            let (epsilon, by_response) = match piece {
                Piece::Label if own_server => (accounting.labels, true),
                Piece::Label if is_peer(observer) => {
                    (label_among_peers, label_among_peers >= accounting.labels)
                }
                Piece::Label => (label, label >= accounting.labels),
                Piece::Features if own_server => (Epsilon::UNBOUNDED, false),
                Piece::Features if is_peer(observer) => (record_among_peers, false),
                Piece::Features => (record, false),
            };
            let protected = epsilon.0.is_finite();
            Claim {
                observer,
                piece,
                epsilon,
                pure: protected && by_response,
                route: match (protected, by_response) {
                    (false, _) if own_server => "handed over as they are".to_string(),
                    (false, _) if shared => "another peer may have the record".to_string(),
                    (true, true) => "randomised response".to_string(),
                    _ => route.to_string(),
                },
                assumption: String::new(),
            }
        };
        let pieces = |observer| [Piece::Label, Piece::Features].map(|piece| of(observer, piece));
        Observer::ALL.into_iter().flat_map(pieces).collect()
    }
}

/// The ledger over several repeats: for each observer and piece, the greatest loss.
pub(super) fn over_repeats(repeats: &[RepeatResult], delta: Delta) -> Vec<Claim> {
    let all = repeats.iter().map(|repeat| repeat.observed(delta));
    all.reduce(worst).unwrap_or_default()
}

/// For each observer and piece, the greater loss of two lists in the same order.
pub(super) fn worst(a: Vec<Claim>, b: Vec<Claim>) -> Vec<Claim> {
    let worse = |(a, b): (Claim, Claim)| if b.epsilon > a.epsilon { b } else { a };
    a.into_iter().zip(b).map(worse).collect()
}
