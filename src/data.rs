//! What the peers learn from: sources of rows, the held-out part, preprocessing, and the deal of
//! training rows to peers.
//!
//! ```text
//! source ─▶ split (test rows set aside) ─▶ partition (rows dealt to peers) ─▶ preprocess ─▶ intercept
//! ```
//!
//! Row `r` of a synthetic source is a function of (seed, repeat, r) alone, and splits and
//! partitions are permutations of row numbers. So rows are written once, straight into the matrix
//! that the peers share, or are made again whenever their peer needs them (`keep: false`); each peer
//! holds a [`LocalData`] that reaches its own rows only.
//!
//! ```
//! use std::path::Path;
//!
//! use hushmesh::data::{DataConfig, LocalData, Samples, Source, Task, prepare};
//! use hushmesh::units::{PeerId, Seed};
//!
//! let config = DataConfig {
//!     samples: Some(Samples::PerPeer(100)),
//!     test_share: 0.5,
//!     ..DataConfig::from(Source::Twonorm)
//! };
//! let streams = config.streams(Seed(1), 0);
//! let prepared = prepare(&config, 4, true, &streams, Path::new(".")).unwrap();
//! assert_eq!(prepared.task, Task::Classification);
//! assert_eq!(prepared.test.unwrap().y.len(), 400);
//!
//! let local = LocalData::new(prepared.train, PeerId(3));
//! assert_eq!((local.rows(), local.dimension()), (100, 21));
//! ```

mod cache;
mod clusters;
mod config;
mod csv;
mod description;
mod error;
mod fetch;
mod file;
mod frame;
mod idx;
mod labels;
mod libsvm;
mod linear_logistic;
mod linear_regression;
mod local;
mod named;
mod npy;
mod partition;
mod prepare;
mod preprocess;
mod reach;
mod recipe;
mod ringnorm;
mod source;
mod sphere;
mod split;
mod twonorm;
mod waveform;

use ndarray::Array2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::cache::cache;
pub use self::clusters::Clusters;
pub use self::config::{DataConfig, Samples};
pub use self::csv::{Categories, CsvFile, Missing};
pub use self::description::{Description, Holding, Span};
pub use self::error::{DataError, FileProblem};
pub use self::fetch::{ByHand, Clients, FetchError, Fetched, fetch};
pub use self::idx::{IdxFiles, IdxPair};
pub use self::libsvm::LibsvmFile;
pub use self::linear_logistic::LinearLogistic;
pub use self::linear_regression::LinearRegression;
pub use self::local::{Held, LocalData, LocalView, Partitioned};
pub(crate) use self::named::sha256;
pub use self::named::{Card, Client, Contents, NamedSet, Package, State};
pub use self::npy::NpyFiles;
pub use self::partition::{
    Dirichlet, LabelShards, Partition, RandomSizes, TwoGroups, WithRepetition,
};
pub use self::prepare::{Dealing, Others, Outline, Prepared, Whose, deal, outline, prepare};
pub use self::preprocess::{Clip, Divide, NormOrder, Pca, Scaled, Step};
pub use self::reach::Reach;
pub use self::source::Source;

/// What the labels mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Labels are −1 and +1.
    #[default]
    Classification,
    /// Labels are finite numbers.
    Regression,
    /// Labels are the numbers 0, 1, …, K − 1 of K classes, at least two of them.
    MultiClass,
}

/// Rows with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// One row per sample, in row-major order.
    pub x: Array2<f64>,
    /// One label per row.
    pub y: Vec<f64>,
    /// One name per column of `x`.
    pub features: Vec<String>,
}

/// The names of features that have none of their own: x1, x2, …
fn numbered(letter: &str, count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("{letter}{i}")).collect()
}
