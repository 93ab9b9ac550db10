//! Figures of one peer at one moment, computed on its worker.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{MeasureConfig, What};
use super::exact_sum::ExactSum;
use super::recorder::every_scored_on_all;
use super::survey::{Survey, Surveyor, second};
use super::thinning::Scored;
use crate::data::{LocalView, Partitioned, Table};
use crate::learn::{Batch, Loss, Objective, Regulariser, Samples, Tasks, axpy, dot};
use crate::network::{Probe, Row, Snapshot};
use crate::privacy::pack_fields;
use crate::units::PeerId;

/// What a peer's own model does on its own samples and on the held-out ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LocalFigures {
    /// J_i(w_i); NaN where it is not measured.
    #[serde(with = "crate::measure::nan::any_number")]
    pub risk: f64,
    /// Accuracy, or mean squared error, on the peer's own samples; NaN without samples.
    #[serde(with = "crate::measure::nan::any_number")]
    pub train: f64,
    /// The same on the held-out samples; NaN without any.
    #[serde(with = "crate::measure::nan::any_number")]
    pub test: f64,
    /// J_i(w̄_i), w̄_i the running average; NaN where it is not measured.
    #[serde(with = "crate::measure::nan::any_number")]
    pub average_risk: f64,
    /// J~_i(w̄_i), the objective as the peer solves it.
    #[serde(with = "crate::measure::nan::any_number")]
    pub average_objective: f64,
    /// J~_i(w̄_i) above its tangent at w*: J~_i(w̄_i) − J~_i(w*) − ∇J~_i(w*)ᵀ(w̄_i − w*), from 0.
    #[serde(with = "crate::measure::nan::any_number")]
    pub average_divergence: f64,
    /// Accuracy, or mean squared error, of w̄_i on the held-out samples.
    #[serde(with = "crate::measure::nan::any_number")]
    pub average_test: f64,
}

pack_fields!(LocalFigures {
    risk,
    train,
    test,
    average_risk,
    average_objective,
    average_divergence,
    average_test,
});

impl LocalFigures {
    /// Nothing measured.
    const NONE: Self = Self {
        risk: f64::NAN,
        train: f64::NAN,
        test: f64::NAN,
        average_risk: f64::NAN,
        average_objective: f64::NAN,
        average_divergence: f64::NAN,
        average_test: f64::NAN,
    };
}

/// The problem as the peers solve it, where that is not the one that is scored.
#[derive(Clone, Debug)]
pub struct Perturbed {
    /// The samples with the labels that the loss is computed from.
    pub train: Arc<Partitioned>,
    /// η_i/n of every peer, one after the other; empty without objective noise.
    pub linear: Vec<f64>,
}

/// The tangents of the peers' objectives, as they are solved, at the optimum.
#[derive(Clone, Debug)]
struct Tangents {
    optimum: Vec<f64>,
    /// J~_i(w*).
    values: Vec<f64>,
    /// ∇J~_i(w*), one after the other.
    gradients: Vec<f64>,
}

/// Sees all data and scores every peer.
#[derive(Debug)]
pub struct Scorer {
    train: Arc<Partitioned>,
    test: Option<Table>,
    perturbed: Option<Perturbed>,
    tangents: Option<Tangents>,
    tasks: Tasks,
    loss: Loss,
    regulariser: Regulariser,
    wants: [bool; 3],
    /// Whether the risk of tokens is compared with the optimum's.
    compares: bool,
    /// Who is scored on held-out samples.
    scored: Scored,
    /// The optima that models are compared with where they are: see [`aim_at`](Self::aim_at).
    aims: [Option<Vec<f64>>; 2],
    /// The sum of all labels, and how many are of each class, where some are in other processes.
    labels: Option<(ExactSum, Vec<u64>)>,
    /// Of every so many peers the model goes to rank 0, where it is scored on everybody's samples.
    pick: Option<usize>,
}

/// What a model without any peer would do: to be read beside the peers' figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Held-out accuracy (or MSE) of the trivial model: the more frequent training label, or the
    /// mean training target.
    #[serde(with = "crate::measure::nan::any_number")]
    pub trivial_test: f64,
    /// Held-out accuracy (or MSE) of the central optimum.
    #[serde(with = "crate::measure::nan::any_number")]
    pub central_test: f64,
    /// (1/n) Σ_i J_i(w*), the empirical risk of the central optimum.
    #[serde(with = "crate::measure::nan::any_number")]
    pub central_risk: f64,
}

impl Scorer {
    /// Scores under J_i = mean loss + R, R the regulariser.
    pub fn new(
        config: &MeasureConfig,
        train: Arc<Partitioned>,
        test: Option<Table>,
        perturbed: Option<Perturbed>,
        loss: Loss,
        regulariser: Regulariser,
    ) -> Self {
        let wants = [What::Risk, What::Train, What::Test].map(|what| config.has(what));
        let compares = config.has(What::Optimum);
        let tasks = Tasks::One;
        let tangents = None;
        let scored = Scored::all(train.peers());
        let (aims, labels, pick) = ([None, None], None, None);
        Self {
            train,
            test,
            perturbed,
            tangents,
            tasks,
            loss,
            regulariser,
            wants,
            compares,
            scored,
            aims,
            labels,
            pick,
        }
    }

    /// Picks, where rows stay on ranks, the models that are scored on everybody's samples.
    pub fn pick_models(&mut self) {
        self.pick = Some(every_scored_on_all(self.train.peers()));
    }

    /// Compares models with these from now on, where rows stay on ranks: the optimum of the problem as
    /// solved, and that of the unperturbed one.
    pub fn aim_at(&mut self, aims: [Option<Vec<f64>>; 2]) {
        self.aims = aims;
    }

    /// The sum of the labels that are here.
    pub fn label_sum(&self) -> ExactSum {
        self.train.labels().iter().copied().collect()
    }

    /// How many labels are here of each class; nothing where there is one task.
    pub fn class_counts(&self) -> Vec<u64> {
        let Tasks::PerClass(classes) = self.tasks else { return Vec::new() };
        let mut counts = vec![0; classes as usize];
        self.train.labels().iter().for_each(|&y| counts[y as usize] += 1);
        counts
    }

    /// Takes the sum of all labels, and how many are of each class, from other processes, unless all labels
    /// are here.
    pub fn know_labels(&mut self, sum: ExactSum, classes: Vec<u64>) {
        if self.train.labels().len() < self.train.total_rows() {
            self.labels = Some((sum, classes));
        }
    }

    /// The same, which scores only these peers on held-out samples.
    #[must_use]
    pub fn scoring(self, scored: Scored) -> Self {
        Self { scored, ..self }
    }

    /// The same for the models of several tasks.
    #[must_use]
    pub fn of_tasks(self, tasks: Tasks) -> Self {
        Self { tasks, ..self }
    }

    /// All training samples as a task sees them: F_k(w) is the mean loss over them, with the ridge.
    pub fn pooled(&self, task: u32) -> Batch<'_> {
        let LocalView { x, y } = self.train.everybody();
        let x = x.to_slice().expect("rows are stored one after the other");
        let Self { tasks, loss, regulariser: Regulariser { ridge, .. }, .. } = *self;
        Batch { x, y, tasks, task, loss, ridge }
    }

    /// R.
    pub fn regulariser(&self) -> Regulariser {
        self.regulariser
    }

    /// The mean loss over all training samples.
    pub fn pooled_objective(&self) -> Objective<'_> {
        let LocalView { x, y } = self.train.everybody();
        Objective::mean(Samples::new(x, y), self.loss)
    }

    /// The mean loss over all training samples with the regulariser.
    pub fn pooled_risk(&self, w: &[f64]) -> f64 {
        self.pooled_objective().value(w) + self.regulariser.value(w)
    }

    /// Accuracy, or mean squared error, of the tasks' models together on the held-out samples; NaN
    /// without any.
    pub fn models_on_test(&self, models: &[f64]) -> f64 {
        self.test
            .as_ref()
            .map_or(f64::NAN, |test| self.models_on(models, Samples::new(test.x.view(), &test.y)))
    }

    /// The same on all training samples.
    pub fn models_on_train(&self, models: &[f64]) -> f64 {
        let LocalView { x, y } = self.train.everybody();
        self.models_on(models, Samples::new(x, y))
    }

    fn models_on(&self, models: &[f64], samples: Samples<'_>) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (x, y) in samples.rows() {
            let predicted = self.tasks.predict(self.loss, models, x);
            sum += match self.loss {
                _ if predicted.is_nan() => f64::NAN,
                Loss::Logistic | Loss::Hinge => f64::from(u8::from(predicted == y)),
                Loss::Squared => (predicted - y) * (predicted - y),
            };
            count += 1.0;
        }
        sum / count
    }

    /// The training samples, all in memory for as long as they are held: see [`Partitioned::stored`].
    pub fn rows(&self) -> Arc<Partitioned> {
        self.train.stored()
    }

    /// The same with the labels that the peers see.
    pub fn rows_as_solved(&self) -> Arc<Partitioned> {
        self.as_solved().stored()
    }

    fn as_solved(&self) -> &Arc<Partitioned> {
        self.perturbed.as_ref().map_or(&self.train, |perturbed| &perturbed.train)
    }

    /// The mean loss over each peer's samples among these rows.
    ///
    /// # Panics
    /// For rows that are not stored.
    pub fn mean_losses<'a>(&self, rows: &'a Partitioned) -> Vec<Objective<'a>> {
        let mean_loss = |peer| self.mean_loss(rows.local(peer));
        rows.ids().map(mean_loss).collect()
    }

    /// F_i, the mean loss over the samples of each peer.
    ///
    /// # Panics
    /// Where rows are not stored: then [`mean_losses`](Self::mean_losses) over [`rows`](Self::rows).
    pub fn objectives(&self) -> Vec<Objective<'_>> {
        self.mean_losses(&self.train)
    }

    /// The same with the labels that the peers see.
    ///
    /// # Panics
    /// As [`objectives`](Self::objectives): then over [`rows_as_solved`](Self::rows_as_solved).
    pub fn objectives_as_solved(&self) -> Vec<Objective<'_>> {
        self.mean_losses(self.as_solved())
    }

    /// The objective noise of each peer, η_i/n; nothing where there is none.
    pub fn linear_terms(&self) -> impl Iterator<Item = &[f64]> {
        let linear = self.perturbed.as_ref().map_or(&[][..], |perturbed| &perturbed.linear);
        linear.chunks_exact(self.train.dimension().max(1))
    }

    fn mean_loss<'a>(&self, LocalView { x, y }: LocalView<'a>) -> Objective<'a> {
        Objective::mean(Samples::new(x, y), self.loss)
    }

    /// J_i(w) of a peer with these samples.
    fn risk(&self, own: LocalView<'_>, w: &[f64]) -> f64 {
        self.mean_loss(own).value(w) + self.regulariser.value(w)
    }

    /// J~_i(w) = J_i(w) with the labels that the peer sees, + η_iᵀw/n.
    pub fn objective_as_solved(&self, peer: PeerId, w: &[f64]) -> f64 {
        let Some(perturbed) = &self.perturbed else {
            return self.risk(self.train.held(peer).view(), w);
        };
        let mean_loss = self.mean_loss(perturbed.train.held(peer).view()).value(w);
        let linear = self.linear_terms().nth(peer.index()).map_or(0.0, |eta| dot(eta, w));
        mean_loss + self.regulariser.value(w) + linear
    }

    /// Compares averages with the tangents at this optimum from now on: those of peers whose rows are
    /// here.
    pub fn draw_tangents(&mut self, optimum: &[f64]) {
        let value = |peer| match self.train.holds(peer) {
            true => self.objective_as_solved(peer, optimum),
            false => f64::NAN,
        };
        let values = self.train.ids().map(value).collect();
        let mut gradients = vec![0.0; self.train.peers() * optimum.len()];
        let train = self.as_solved();
        let all = gradients.chunks_exact_mut(optimum.len().max(1)).zip(train.ids());
        for (g, peer) in all.filter(|(_, peer)| train.holds(*peer)) {
            self.mean_loss(train.held(peer).view()).gradient(optimum, g);
            self.regulariser.add_gradient(optimum, g);
        }
        for (g, eta) in gradients.chunks_exact_mut(optimum.len().max(1)).zip(self.linear_terms()) {
            axpy(1.0, eta, g);
        }
        self.tangents = Some(Tangents { optimum: optimum.to_vec(), values, gradients });
    }

    /// How far J~_i at w is above its tangent at the optimum; NaN without one.
    fn above_tangent(&self, peer: PeerId, w: &[f64]) -> f64 {
        self.tangents.as_ref().map_or(f64::NAN, |Tangents { optimum, values, gradients }| {
            let gradient = &gradients[peer.index() * optimum.len()..][..optimum.len()];
            let along: f64 =
                gradient.iter().zip(w).zip(optimum).map(|((g, w), best)| g * (w - best)).sum();
            self.objective_as_solved(peer, w) - values[peer.index()] - along
        })
    }

    /// The trivial model and the central optimum, where it is known.
    pub fn reference(&self, optimum: Option<&[f64]>) -> Reference {
        let n = self.train.peers();
        let trivial_test = match (&self.test, self.tasks) {
            (None, _) => f64::NAN,
            (Some(test), Tasks::One) => {
                let all = self.labels.as_ref().map(|(sum, _)| sum.clone());
                let sum = all.unwrap_or_else(|| self.label_sum()).value();
                let mean = sum / self.train.total_rows() as f64;
                let constant = if self.loss.is_classification() { mean.signum() } else { mean };
                score(self.loss, test.y.iter().map(|&y| (constant, y)))
            }
            (Some(test), Tasks::PerClass(_)) => {
                let all = self.labels.as_ref().map(|(_, classes)| classes.clone());
                let counts = all.unwrap_or_else(|| self.class_counts());
                let most = (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap_or(0);
                let right = test.y.iter().filter(|&&y| y as usize == most).count();
                right as f64 / test.y.len() as f64
            }
        };
        Reference {
            trivial_test,
            central_test: optimum.map_or(f64::NAN, |models| self.models_on_test(models)),
            central_risk: optimum.filter(|_| self.tasks == Tasks::One).map_or(f64::NAN, |w| {
                let risk = |peer| self.risk(self.train.held(peer).view(), w);
                self.train.ids().map(risk).sum::<f64>() / n as f64
            }),
        }
    }

    fn on_test(&self, w: &[f64]) -> f64 {
        self.test.as_ref().map_or(f64::NAN, |test| {
            let samples = Samples::new(test.x.view(), &test.y);
            score(self.loss, samples.rows().map(|(x, y)| (dot(x, w), y)))
        })
    }
}

/// Accuracy of the margins' signs (a margin of 0 counts for −1), or the mean squared error; NaN
/// without samples, and where a margin is NaN.
fn score(loss: Loss, margins_and_labels: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (z, y) in margins_and_labels {
        sum += if loss.is_classification() {
            if z.is_nan() { z } else { f64::from(u8::from((z > 0.0) == (y > 0.0))) }
        } else {
            (z - y) * (z - y)
        };
        count += 1.0;
    }
    sum / count
}

impl Probe for Scorer {
    type Local = LocalFigures;
    type Found = Survey;

    fn local(&self, peer: PeerId, snapshot: &Snapshot<'_>) -> LocalFigures {
        let [risk, train, test] = self.wants;
        let w = snapshot.scored;
        let scored = self.scored.has(peer);
        let of_average = |f: &dyn Fn(&[f64]) -> f64| snapshot.average.map_or(f64::NAN, f);
        let own = (risk || train || snapshot.average.is_some()).then(|| self.train.held(peer));
        let on_own =
            |f: &dyn Fn(LocalView<'_>) -> f64| own.as_ref().map_or(f64::NAN, |own| f(own.view()));
        let score_of = |LocalView { x, y }: LocalView<'_>| {
            score(self.loss, Samples::new(x, y).rows().map(|(x, y)| (dot(x, w), y)))
        };
        LocalFigures {
            risk: if risk { on_own(&|own| self.risk(own, w)) } else { f64::NAN },
            train: if train { on_own(&score_of) } else { f64::NAN },
            test: if test && scored { self.on_test(w) } else { f64::NAN },
            average_risk: of_average(&|w| on_own(&|own| self.risk(own, w))),
            average_objective: of_average(&|w| self.objective_as_solved(peer, w)),
            average_divergence: of_average(&|w| self.above_tangent(peer, w)),
            average_test: if scored { of_average(&|w| self.on_test(w)) } else { f64::NAN },
        }
    }

    fn token(&self, task: u32, snapshot: &Snapshot<'_>) -> LocalFigures {
        let [risk, ..] = self.wants;
        LocalFigures {
            risk: if risk || self.compares {
                self.pooled(task).value(snapshot.scored)
            } else {
                f64::NAN
            },
            average_risk: snapshot.average.map_or(f64::NAN, |w| self.pooled(task).value(w)),
            ..LocalFigures::NONE
        }
    }

    fn look(
        &self,
        row: &Row<LocalFigures>,
        peer: &dyn Fn(usize) -> PeerId,
        together: Option<&Survey>,
    ) -> Survey {
        let aims = self.aims.each_ref().map(Option::as_deref);
        let Self { scored, pick, .. } = *self;
        let surveyor = Surveyor { train: &self.train, scored, aims, pick };
        together.map_or_else(|| surveyor.first(row, peer), |all| second(row, &all.mean()))
    }

    fn parting(&self, _peer: PeerId, models: &[f64]) -> LocalFigures {
        let [_, _, test] = self.wants;
        let wanted = test && !models.is_empty();
        LocalFigures {
            test: if wanted { self.models_on_test(models) } else { f64::NAN },
            ..LocalFigures::NONE
        }
    }
}
