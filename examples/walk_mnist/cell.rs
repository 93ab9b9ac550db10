//! One cell of a table, or one point of a curve: MNIST learnt by walking tokens.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hushmesh::experiment::{self, RepeatResult};
use hushmesh::measure::Metric;
use hushmesh::scenario::Checked;

/// What is run. All cells have a complete graph with a uniform walk, the classic calibration of ε per
/// task at δ = 1/60000², and pixels divided by 255, their 50 principal directions about 0, an
/// intercept, and all of that on the unit sphere.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// M.
    pub peers: usize,
    /// λ = 1e-4, and not 0.
    pub strongly_convex: bool,
    /// As a scenario has it.
    pub step: &'static str,
    /// b.
    pub batch: u32,
    /// How often each batch is used, with ε split among the passes.
    pub passes: u32,
    /// None for updates without noise.
    pub epsilon: Option<f64>,
    /// As a scenario has it; none for algorithm 1.
    pub decision: Option<&'static str>,
    /// As a scenario has it: `replicated` gives every peer all 60,000 samples.
    pub partition: &'static str,
}

impl Cell {
    /// Algorithm 1 at ε = 1 with all samples at every peer.
    pub(crate) fn new(peers: usize, strongly_convex: bool) -> Self {
        Self {
            peers,
            strongly_convex,
            step: if strongly_convex { "strongly-convex" } else { "{constant: 0.1}" },
            batch: 50,
            passes: 1,
            epsilon: Some(1.0),
            decision: None,
            partition: "replicated",
        }
    }

    /// The scenario, for data in this folder.
    fn scenario(&self, folder: &Path, seeds: u32) -> String {
        let Self { peers, batch, passes, step, partition, .. } = self;
        let file = |name: &str| folder.join(name).display().to_string();
        // Each peer's share of the regularisation is λ.
        let regularisation = if self.strongly_convex { 1e-4 * *peers as f64 } else { 0.0 };
        let noise = self.epsilon.map_or("null".to_string(), |epsilon| {
            format!("{{epsilon: {epsilon}, calibration: classic, passes: split}}")
        });
        let decision = self.decision.unwrap_or("null");
        format!(
            "name: mnist
seed: 7
repeat: {seeds}
topology: {{complete: {{peers: {peers}}}}}
data:
  source:
    idx:
      images: {images}
      labels: {labels}
      test: {{images: {test_images}, labels: {test_labels}}}
  preprocess:
    - divide: {{by: 255}}
    - pca: {{dimension: 50, centre: false}}
    - intercept
    - unit-sphere
  partition: {partition}
model: {{loss: logistic, regularisation: {regularisation}}}
privacy: {{delta: {delta}}}
network: {{workers: 1}}
protocol:
  walk-sgd:
    batch: {batch}
    passes: {passes}
    step: {step}
    noise: {noise}
    decision: {decision}
measure: {{every: 4000000000, what: [test, walk]}}
",
            images = file("train-images-idx3-ubyte.gz"),
            labels = file("train-labels-idx1-ubyte.gz"),
            test_images = file("t10k-images-idx3-ubyte.gz"),
            test_labels = file("t10k-labels-idx1-ubyte.gz"),
            delta = 1.0 / (60_000.0 * 60_000.0),
        )
    }
}

/// What a cell gave: a figure of every seed.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Held-out accuracy of the global models, in per cent.
    pub accuracy: Vec<f64>,
    /// Of the peers' own models, the mean over peers; empty without decisions.
    pub local_accuracy: Vec<f64>,
    /// Share of the updates that were global, in per cent.
    pub global_share: Vec<f64>,
}

impl Outcome {
    /// Runs a cell.
    ///
    /// # Errors
    /// Whatever the scenario or the run says.
    fn of(cell: &Cell, folder: &Path, seeds: u32) -> Result<Self, Box<dyn Error>> {
        let checked = Checked::from_text("mnist.yaml", &cell.scenario(folder, seeds))?;
        let result = experiment::run(&checked)?;
        let figures = |metric: Metric| {
            let column = result.metrics.iter().position(|&other| other == metric);
            let last = |repeat: &RepeatResult| Some(100.0 * repeat.rows.last()?.values[column?]);
            result.repeats.iter().filter_map(last).collect()
        };
        Ok(Self {
            accuracy: figures(Metric::TestAccuracy),
            local_accuracy: figures(Metric::LocalTestAccuracy),
            global_share: figures(Metric::GlobalShare),
        })
    }
}

/// Runs all cells, as many at a time as there are cores, and gives their outcomes in order. Says which
/// are done as it goes, on standard error.
///
/// # Errors
/// The first failure.
pub(crate) fn run_all(
    cells: &[Cell],
    folder: &Path,
    seeds: u32,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let folder: PathBuf = folder.canonicalize()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    // The long ones are last in the list, from which they are taken first, so that no core idles at the end.
    let cost = |cell: &Cell| cell.peers * if cell.decision.is_some() { 20 } else { 1 };
    order.sort_by_key(|&place| cost(&cells[place]));
    let left = Mutex::new(order);
    let done = Mutex::new(vec![None; cells.len()]);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(place) = left.lock().expect("no holder panics").pop() else { return };
                    let outcome = Outcome::of(&cells[place], &folder, seeds);
                    let outcome = outcome.map_err(|error| error.to_string());
                    eprintln!("{:?}: {outcome:?}", cells[place]);
                    done.lock().expect("no holder panics")[place] = Some(outcome);
                }
            });
        }
    });
    let done = done.into_inner().expect("no holder panics");
    let outcomes = done.into_iter().map(|outcome| outcome.expect("every cell was taken"));
    Ok(outcomes.collect::<Result<Vec<_>, String>>()?)
}

/// Mean and standard deviation.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
