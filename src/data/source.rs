//! Where rows come from.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clusters::Clusters;
use super::csv::CsvFile;
use super::idx::IdxFiles;
use super::libsvm::LibsvmFile;
use super::linear_logistic::LinearLogistic;
use super::linear_regression::LinearRegression;
use super::named::NamedSet;
use super::npy::NpyFiles;
use super::ringnorm::Ringnorm;
use super::split::Extent;
use super::twonorm::Twonorm;
use super::waveform::Waveform;
use super::{DataError, Task, cache, numbered};
use crate::random::{Family, Purpose, Stream, Streams};

/// Where rows come from: a law to draw them from, a public set by its name, or a file. A set by name
/// is read from the cache, where `hushmesh data fetch NAME` puts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Source {
    /// Breiman's twonorm: 20 features, two round Gaussian classes with means ±2/√20 in every
    /// feature; the label is +1 for the positive mean. A linear rule reaches 97.7 %, the optimum.
    Twonorm,
    /// Breiman's ringnorm: 20 features, N(0, 4I) labelled −1 against N(2/√20·1, I) labelled +1. A
    /// linear rule reaches 76 to 77 %, the best one about 98.7 %.
    Ringnorm,
    /// The waveform data of CART: 21 features; the second of its three classes is labelled +1 (a
    /// third of the rows), the others −1. A linear rule reaches about 88 %.
    Waveform,
    /// Features on the unit sphere, labels ±1 from a logistic model with a known true parameter.
    LinearLogistic(LinearLogistic),
    /// Features on the unit sphere, clipped labels from a linear model with a known true parameter.
    LinearRegression(LinearRegression),
    /// Round Gaussian classes of unit variance, as many as asked for, around centres at the same
    /// distance from the origin.
    Clusters(Clusters),
    /// UCI Adult: 45,222 complete rows, 105 features; +1 earns more than 50,000 a year.
    Adult,
    /// MNIST: 60,000 images of 784 pixels from 0 to 255 and 10,000 held out, ten classes; `test_share`
    /// must be 0.
    Mnist,
    /// UCI Covertype: 581,012 rows, 54 features, seven classes.
    Covertype,
    /// UCI bank marketing, the full set: 41,188 rows, 65 features; +1 subscribes.
    Bank,
    /// UCI German credit in its original coding: 1,000 rows, 63 features; +1 is a bad risk.
    German,
    /// UCI image segmentation as in Rätsch's benchmark, two groups of surfaces: 2,086 rows, 18
    /// features.
    Image,
    /// The draw of twonorm in Rätsch's benchmark: 7,400 rows, 20 features; +1 is the class with the
    /// negative mean.
    #[serde(rename = "twonorm-7400")]
    Twonorm7400,
    /// Banana of Rätsch's benchmark: 5,300 rows, 2 features.
    Banana,
    /// Credit-card fraud: 284,807 transactions, 30 features; +1 is fraud, 492 rows.
    CreditCardFraud,
    /// Breast Cancer Wisconsin, the 683 complete rows, 9 features from 1 to 10; +1 is malignant.
    BreastCancer,
    /// A file of comma- or otherwise separated values.
    Csv(CsvFile),
    /// A sparse file in the format of LIBSVM.
    Libsvm(LibsvmFile),
    /// Images and labels in the idx format of MNIST.
    Idx(IdxFiles),
    /// Features and labels as NumPy arrays.
    Npy(NpyFiles),
}

impl Source {
    /// What its labels mean.
    pub fn task(&self) -> Task {
        match self {
            Self::Twonorm | Self::Ringnorm | Self::Waveform | Self::LinearLogistic(_) => {
                Task::Classification
            }
            Self::LinearRegression(_) => Task::Regression,
            Self::Clusters(_) => Task::MultiClass,
            Self::Csv(file) => file.task,
            Self::Libsvm(file) => file.task,
            Self::Idx(files) => files.task(),
            Self::Npy(files) => files.task,
            named => named.files().task(),
        }
    }

    /// Whether rows come from a file, which has as many as it has.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::Csv(_) | Self::Libsvm(_) | Self::Idx(_) | Self::Npy(_))
            || NamedSet::of(self).is_some()
    }

    /// The source of files that a name stands for, wherever these are: for what does not depend on it.
    fn files(&self) -> Self {
        NamedSet::of(self).expect("what is no law and no file is a name").files(Path::new(""))
    }

    /// Whether it says itself which rows are held out.
    pub(super) fn holds_out(&self) -> bool {
        match self {
            Self::Idx(files) => files.test.is_some(),
            source => NamedSet::of(source).is_some_and(|set| set == NamedSet::Mnist),
        }
    }

    /// The paths of its files, for a scenario that moves to another folder. A set by name stays where
    /// it is.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Csv(file) => vec![&mut file.path],
            Self::Libsvm(file) => vec![&mut file.path],
            Self::Idx(files) => {
                let test = files.test.iter_mut();
                let test = test.flat_map(|test| [&mut test.images, &mut test.labels]);
                [&mut files.images, &mut files.labels].into_iter().chain(test).collect()
            }
            Self::Npy(files) => vec![&mut files.x, &mut files.y],
            _ => Vec::new(),
        }
    }

    /// Each thing that the choice of features and classes tells about private rows.
    pub(super) fn declarations(&self) -> Vec<String> {
        match self {
            Self::Csv(file) => file.declarations(),
            Self::Libsvm(file) => file.declarations(),
            Self::Idx(files) => files.declarations(),
            Self::Npy(files) => files.declarations(),
            source => NamedSet::of(source).map_or_else(Vec::new, |_| source.files().declarations()),
        }
    }

    /// Every problem as (field path relative to the source, message).
    pub(super) fn check(&self) -> Vec<(String, String)> {
        let (name, problems) = match self {
            Self::LinearLogistic(source) => ("linear-logistic", source.check()),
            Self::LinearRegression(source) => ("linear-regression", source.check()),
            Self::Clusters(source) => ("clusters", source.check()),
            Self::Csv(file) => ("csv", file.check()),
            Self::Libsvm(file) => ("libsvm", file.check()),
            Self::Idx(files) => ("idx", files.check()),
            Self::Npy(files) => ("npy", files.check()),
            // Nothing in a name alone can be wrong.
            _ => return Vec::new(),
        };
        let path = |(field, message)| (format!("{name}.{field}"), message);
        problems.into_iter().map(path).collect()
    }

    /// How many rows there are, where the source decides it, the number of features, and that of
    /// classes where there are several to learn. Draws nothing; a file is gone through.
    pub(super) fn shape(&self, base: &Path) -> Result<(Option<Extent>, usize, usize), DataError> {
        let dimension = match self {
            Self::Twonorm => Twonorm.dimension(),
            Self::Ringnorm => Ringnorm.dimension(),
            Self::Waveform => Waveform.dimension(),
            Self::LinearLogistic(source) => source.dimension,
            Self::LinearRegression(source) => source.dimension,
            Self::Clusters(source) => source.dimension,
            Self::Csv(file) => {
                let (rows, features, classes) = file.shape(base)?;
                return Ok((Some(Extent { rows, held_out: None }), features, classes));
            }
            Self::Libsvm(_) | Self::Idx(_) | Self::Npy(_) => {
                let rows = self.read(base)?;
                return Ok((Some(rows.extent()), rows.features.len(), rows.classes.len()));
            }
            named => return named.at_hand()?.shape(base),
        };
        let classes = if let Self::Clusters(source) = self { source.classes } else { 0 };
        Ok((None, dimension, classes))
    }

    /// Makes the rows reachable by number: draws the true parameter, or reads the file.
    pub(super) fn open(&self, streams: &Streams, base: &Path) -> Result<Rows, DataError> {
        let law: Box<dyn Law> = match self {
            Self::Twonorm => Box::new(Twonorm),
            Self::Ringnorm => Box::new(Ringnorm),
            Self::Waveform => Box::new(Waveform),
            Self::LinearLogistic(source) => Box::new(source.law(streams)),
            Self::LinearRegression(source) => Box::new(source.law(streams)),
            Self::Clusters(source) => Box::new(source.law(streams)),
            file => return Ok(Rows::Read(file.read(base)?)),
        };
        Ok(Rows::Drawn { law, family: streams.family(Purpose::Rows, 0) })
    }

    /// The source of files that a name stands for, in the cache.
    fn at_hand(&self) -> Result<Self, DataError> {
        NamedSet::of(self).expect("what is no law and no file is a name").at_hand(&cache()?)
    }

    /// Reads all rows of a file.
    pub(super) fn read(&self, base: &Path) -> Result<Stored, DataError> {
        match self {
            Self::Csv(file) => file.read(base),
            Self::Libsvm(file) => file.read(base),
            Self::Idx(files) => files.read(base),
            Self::Npy(files) => files.read(base),
            named => named.at_hand()?.read(base),
        }
    }
}

/// How one row is drawn.
pub(super) trait Law: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Number of features.
    fn dimension(&self) -> usize;

    /// The true parameter, if there is one.
    fn truth(&self) -> Option<&[f64]> {
        None
    }

    /// How many classes there are, where there may be more than two.
    fn classes(&self) -> usize {
        0
    }

    /// Writes the features of a row to `x` and returns its label.
    fn draw(&self, stream: &mut Stream, x: &mut [f64]) -> f64;
}

/// The features of a file's rows, in whatever form takes least room.
pub(super) trait Cells {
    /// Writes the features of a row to `x`.
    fn write(&self, row: usize, x: &mut [f64]);
}

/// The rows of a file.
pub(super) struct Stored {
    /// The names of the features.
    pub(super) features: Vec<String>,
    /// The features of each row.
    pub(super) x: Box<dyn Cells>,
    /// The label of each row.
    pub(super) y: Vec<f64>,
    /// The names of the classes in the order of their numbers; none where labels are none.
    pub(super) classes: Vec<String>,
    /// How many rows, the last ones, the source itself sets aside, if it does.
    pub(super) held_out: Option<usize>,
}

impl Stored {
    fn extent(&self) -> Extent {
        Extent { rows: self.y.len(), held_out: self.held_out }
    }
}

/// The rows of a source, by number.
pub(super) enum Rows {
    /// Row r is drawn from stream r, wherever and whenever it is asked for.
    Drawn { law: Box<dyn Law>, family: Family },
    /// The rows of a file.
    Read(Stored),
}

impl Rows {
    /// The law and its streams, where rows are drawn.
    pub(super) fn into_law(self) -> Option<(Box<dyn Law>, Family)> {
        match self {
            Self::Drawn { law, family } => Some((law, family)),
            Self::Read(_) => None,
        }
    }

    /// Writes the features of row `r` to `x` and returns its label.
    pub(super) fn write(&self, r: u32, x: &mut [f64]) -> f64 {
        match self {
            Self::Drawn { law, family } => law.draw(&mut family.stream(r.into()), x),
            Self::Read(stored) => {
                stored.x.write(r as usize, x);
                stored.y[r as usize]
            }
        }
    }

    /// The labels of the rows numbered `rows`.
    pub(super) fn labels(&self, rows: &[u32]) -> Vec<f64> {
        match self {
            Self::Drawn { law, .. } => {
                let mut x = vec![0.0; law.dimension()];
                rows.iter().map(|&r| self.write(r, &mut x)).collect()
            }
            Self::Read(stored) => rows.iter().map(|&r| stored.y[r as usize]).collect(),
        }
    }

    /// The names of the features: those of the file, or x1, x2, …
    pub(super) fn features(&self) -> Vec<String> {
        match self {
            Self::Drawn { law, .. } => numbered("x", law.dimension()),
            Self::Read(stored) => stored.features.clone(),
        }
    }

    /// The names of the classes in the order of their numbers: those of the file, or 0, 1, …; none
    /// where labels are no numbers of classes.
    pub(super) fn classes(&self) -> Vec<String> {
        match self {
            Self::Drawn { law, .. } => (0..law.classes()).map(|k| k.to_string()).collect(),
            Self::Read(stored) => stored.classes.clone(),
        }
    }

    /// The true parameter, if there is one.
    pub(super) fn truth(&self) -> Option<&[f64]> {
        match self {
            Self::Drawn { law, .. } => law.truth(),
            Self::Read(_) => None,
        }
    }

    /// How many rows there are, where the source decides it.
    pub(super) fn extent(&self) -> Option<Extent> {
        match self {
            Self::Drawn { .. } => None,
            Self::Read(stored) => Some(stored.extent()),
        }
    }
}

/// What the tests of the sources share: samples and their moments.
#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::data::Table;
    use crate::units::Seed;

    impl Stored {
        /// All rows, written out.
        pub(crate) fn to_table(&self) -> Table {
            let shape = (self.y.len(), self.features.len());
            let mut x = ndarray::Array2::from_elem(shape, f64::NAN);
            for (r, row) in x.rows_mut().into_iter().enumerate() {
                self.x.write(r, row.into_slice().unwrap());
            }
            Table { x, y: self.y.clone(), features: self.features.clone() }
        }
    }

    /// The first `n` rows of a law with their labels.
    pub(crate) fn sample(law: &dyn Law, n: usize) -> Vec<(Vec<f64>, f64)> {
        let family = Streams::new(Seed(2026), 0).family(Purpose::Rows, 0);
        let row = |r| {
            let mut x = vec![f64::NAN; law.dimension()];
            let y = law.draw(&mut family.stream(r), &mut x);
            (x, y)
        };
        (0..n as u64).map(row).collect()
    }

    /// Asserts that a mean of `n` draws with the given deviation lies within five standard errors
    /// of its expectation: a right law fails one such test in two million.
    #[track_caller]
    pub(crate) fn within(found: f64, expected: f64, deviation: f64, n: usize) {
        let allowed = 5.0 * deviation / (n as f64).sqrt();
        assert!((found - expected).abs() <= allowed, "{found} is not {expected} ± {allowed}");
    }

    /// The rows of one label.
    pub(crate) struct Class(Vec<Vec<f64>>);

    impl Class {
        pub(crate) fn rows(&self) -> usize {
            self.0.len()
        }

        pub(crate) fn iter(&self) -> impl Iterator<Item = &[f64]> {
            self.0.iter().map(Vec::as_slice)
        }

        pub(crate) fn mean(&self, feature: usize) -> f64 {
            self.iter().map(|x| x[feature]).sum::<f64>() / self.rows() as f64
        }

        pub(crate) fn variance(&self, feature: usize) -> f64 {
            let mean = self.mean(feature);
            self.iter().map(|x| (x[feature] - mean).powi(2)).sum::<f64>() / self.rows() as f64
        }
    }

    /// A sample of a binary law, by label.
    pub(crate) struct Moments {
        pub(crate) positive: Class,
        pub(crate) negative: Class,
    }

    impl Moments {
        pub(crate) fn of(law: &dyn Law, n: usize) -> Self {
            let mut sample = Self { positive: Class(Vec::new()), negative: Class(Vec::new()) };
            for (x, y) in self::sample(law, n) {
                match y {
                    1.0 => sample.positive.0.push(x),
                    -1.0 => sample.negative.0.push(x),
                    other => panic!("{other} is no label"),
                }
            }
            sample
        }

        pub(crate) fn positive_share(&self) -> f64 {
            self.positive.rows() as f64 / (self.positive.rows() + self.negative.rows()) as f64
        }

        /// The share of rows that `rule` gives the wrong label.
        pub(crate) fn error_of(&self, rule: impl Fn(&[f64]) -> f64) -> f64 {
            let wrong = self.positive.iter().filter(|x| rule(x) < 0.0).count()
                + self.negative.iter().filter(|x| rule(x) > 0.0).count();
            wrong as f64 / (self.positive.rows() + self.negative.rows()) as f64
        }
    }
}
