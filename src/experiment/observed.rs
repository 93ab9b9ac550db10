//! What was learnt by whom, from what was sent.

use super::repeat::RepeatResult;
use super::statement::Claim;
use crate::measure::Accounting;
use crate::privacy::{Bound, Exposure, Observer, Piece};
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
    /// no more than that. Sums are another matter: readers see all noise in them, other parties know
    /// their own parts of it.
    pub fn observed(&self, delta: Delta) -> Vec<Claim> {
        let accounting = self.accounting(delta);
        let Bound { epsilon: record, route } = accounting.of_record(&self.exposure);
        let label = accounting.of_label(&self.exposure);
        // Another peer may have been dealt the same record, and then has it, or its user's answer.
        let shared = self.multiplicity > 1;
        let [label_among_peers, record_among_peers] = [
            accounting.of_label_among_peers(&self.exposure),
            accounting.of_record_among_peers(&self.exposure),
        ];
        let outside = [
            accounting.of_label_outside(&self.exposure),
            accounting.of_record_outside(&self.exposure).epsilon,
        ];
        let sums = self.sums.as_ref();
        let on_wires = match sums {
            Some(sums) if sums.wires_tell_nothing => outside,
            _ => [label, record],
        };
        let of_neighbour = sums.map_or([label_among_peers, record_among_peers], |sums| {
            let [label, record] = sums.neighbour.clone();
            let exposure = Exposure { clear: 0, label, record, outside: None };
            [
                accounting.of_label_among_peers(&exposure),
                accounting.of_record_among_peers(&exposure),
            ]
        });
        let of = |observer, piece| {
            let own_server = observer == Observer::OwnServer;
            let [of_label, of_record] = match observer {
                Observer::OwnServer => [accounting.labels, Epsilon::UNBOUNDED],
                Observer::Neighbour => of_neighbour,
                Observer::OtherPeers => [label_among_peers, record_among_peers],
                Observer::Eavesdropper => on_wires,
                Observer::FinalModel => outside,
            };
            let (epsilon, by_response) = match piece {
                Piece::Label => (of_label, own_server || of_label >= accounting.labels),
                Piece::Features => (of_record, false),
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
