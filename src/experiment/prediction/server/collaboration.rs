//! Whom it pays to learn together with others.

use super::{Forecast, brief};
use crate::experiment::prediction::{Reading, Stated};
use crate::privacy::gaussian_mu;
use crate::protocol::gradient_queries::{GradientQueriesConfig, QueryMechanism};
use crate::protocol::weighted_erm::WeightedErmConfig;
use crate::theory::server::{Collaboration, precision_weights, weighted_ratio};
use crate::units::{Epsilon, PeerId};

/// More owners than this are not listed one by one.
const LISTED: usize = 16;

/// What a ratio, together over alone, says.
fn verdict(ratio: f64) -> &'static str {
    match Collaboration::of(ratio) {
        Collaboration::Pays => "learning together pays",
        Collaboration::Tie => "a tie within 10 %",
        Collaboration::DoesNot => "learning together does not pay",
    }
}

/// A comparison of learning together with learning alone.
struct Compared {
    /// What the names of its items begin with.
    name: &'static str,
    /// What its figures are.
    what: &'static str,
    /// Owners, each with its figure and the ratio, together over alone, that decides.
    owners: Vec<(usize, f64, f64)>,
    /// Said beside the verdict.
    beside: Option<String>,
}

impl Forecast<'_> {
    /// The parties of weighted DP-ERM, all with the same ε; `sigma` is the noise together, and
    /// `together` the predicted excess.
    pub(super) fn collaboration_of_parties(
        &mut self,
        erm: &WeightedErmConfig,
        sigma: f64,
        together: Option<f64>,
    ) {
        if erm.noise.is_some() {
            let samples = self.server.samples().into_iter().enumerate();
            let ratio = |(peer, n)| (peer, sigma / self.server.erm_noise_alone(erm, n));
            let ratios = samples.filter(|(_, n)| *n > 0).map(ratio).collect();
            self.noise_ratios("collaboration", "noise together over noise alone", ratios);
        }
        self.alone_without_noise(together);
    }

    /// The owners that answer queries, each with its own ε.
    pub(super) fn collaboration_of_owners(
        &mut self,
        queries: &GradientQueriesConfig,
        weights: &[f64],
        together: Option<f64>,
    ) {
        if let Some(noise) = &queries.noise {
            let samples = self.server.samples();
            let delta = self.scenario.privacy.delta;
            let peers: Vec<usize> = (0..samples.len()).filter(|&l| samples[l] > 0).collect();
            // An owner's noise is inverse to n ε, or to n μ.
            let owner = |&l: &usize| {
                let epsilon = Epsilon(noise.epsilon.of(PeerId::new(l)));
                let strength = match noise.mechanism {
                    QueryMechanism::Laplace => epsilon,
                    QueryMechanism::Gaussian => Epsilon(gaussian_mu(epsilon, delta)),
                };
                (samples[l] as u64, strength)
            };
            let owners: Vec<(u64, Epsilon)> = peers.iter().map(owner).collect();
            let root = self.sum.root as usize;
            // A learner that adds no noise of its own brings none into the sum.
            let with_noise = |l: usize, weight: f64| {
                if l == root && !queries.learner_noise { 0.0 } else { weight }
            };
            let ratios = |of: &dyn Fn(usize) -> f64| {
                let parts = peers.iter().enumerate();
                let parts: Vec<f64> = parts.map(|(i, &l)| with_noise(l, of(i))).collect();
                let each = |(i, &l): (usize, &usize)| (l, weighted_ratio(&owners, &parts, i));
                peers.iter().enumerate().map(each).collect::<Vec<_>>()
            };
            let precise = precision_weights(&owners);
            let asked = ratios(&|i| weights[peers[i]]);
            let best = ratios(&|i| precise[i]);
            let same = precise.iter().zip(&peers).all(|(w, &l)| (w - weights[l]).abs() < 1e-9);
            self.noise_ratios("collaboration", "noise together over noise alone", asked);
            if !same {
                let what = "the same with weights by precision";
                self.noise_ratios("collaboration_precision", what, best);
            }
        }
        self.alone_without_noise(together);
    }

    fn noise_ratios(&mut self, name: &'static str, what: &'static str, ratios: Vec<(usize, f64)>) {
        let owners = ratios.into_iter().map(|(peer, ratio)| (peer, ratio, ratio)).collect();
        self.compared(Compared { name, what, owners, beside: None });
    }

    /// Each owner's own optimum, for which it needs no noise, on the samples of all.
    fn alone_without_noise(&mut self, together: Option<f64>) {
        let together = together.filter(|together| together.is_finite());
        let (Some(together), true) = (together, self.server.parties() > 1) else {
            return;
        };
        let Some(own) = self.own_optima() else {
            return;
        };
        let excess = |(peer, own): (usize, Option<crate::learn::Central>)| {
            let alone = self.excess_of(&own?.w)?;
            Some((peer, alone, together / alone))
        };
        let owners: Vec<_> = own.into_iter().filter_map(excess).collect();
        self.compared(Compared {
            name: "alone",
            what: "risk of its own noise-free optimum above that of all",
            owners,
            beside: Some(format!("together {}", brief(together))),
        });
    }

    fn compared(&mut self, Compared { name, what, owners, beside }: Compared) {
        let said = |text: String| match &beside {
            None => text,
            Some(beside) => format!("{beside}: {text}"),
        };
        if owners.len() <= LISTED {
            for (peer, figure, ratio) in owners {
                let stated = Stated::known(figure, said(verdict(ratio).to_string()));
                let name = format!("{name}_{peer}");
                self.add(name, &format!("peer {peer}: {what}"), Reading::Given, stated);
            }
            return;
        }
        let figures = || owners.iter().map(|owner| owner.1);
        let count = |wanted| {
            owners.iter().filter(|owner| Collaboration::of(owner.2) == wanted).count() as f64
        };
        let of = format!("of {} parties", owners.len());
        for (end, text, value) in [
            ("least", "the least", figures().fold(f64::INFINITY, f64::min)),
            ("greatest", "the greatest", figures().fold(0.0, f64::max)),
            ("pays", "parties whom learning together pays", count(Collaboration::Pays)),
            ("ties", "parties with a tie within 10 %", count(Collaboration::Tie)),
        ] {
            let what = match end {
                "least" | "greatest" => format!("{what}: {text}"),
                _ => format!("  {text}"),
            };
            let stated = Stated::known(value, said(of.clone()));
            self.add(format!("{name}_{end}"), &what, Reading::Given, stated);
        }
    }
}
