//! What there is to say about prepared data at a glance.

use ndarray::ArrayView2;
use serde::Serialize;

use super::{Prepared, Task};
use crate::units::PeerId;

/// Prepared data in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// What the labels mean.
    pub task: Task,
    /// The names of the classes in the order of their numbers, for a task of several; else empty.
    pub classes: Vec<String>,
    /// The names of the features, the intercept included.
    pub features: Vec<String>,
    /// All training rows, repeated ones counted each time.
    pub training: Holding,
    /// The held-out rows, if any.
    pub held_out: Option<Holding>,
    /// How many times the most repeated training row was dealt.
    pub multiplicity: usize,
    /// What each peer has.
    pub peers: Vec<Holding>,
    /// Each statistic that private data went into, outside of any mechanism.
    pub declarations: Vec<String>,
}

/// Some rows in numbers. Of no rows there is neither a share nor a mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Holding {
    /// How many rows.
    pub rows: usize,
    /// Share of the rows that are labelled +1, for classification into two classes.
    pub positive_share: Option<f64>,
    /// Rows of each class, for a task of several.
    pub class_rows: Option<Vec<usize>>,
    /// The labels, for regression.
    pub targets: Option<Span>,
    /// The norms |x| of the rows.
    pub norms: Option<Span>,
}

/// Least, mean and greatest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// The least.
    pub least: f64,
    /// Their mean.
    pub mean: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Description {
    /// Looks at all rows.
    pub fn of(prepared: &Prepared) -> Self {
        let (train, task) = (&prepared.train.stored(), prepared.task);
        let classes = prepared.classes.len();
        let held_out = |table: &super::Table| Holding::of(task, classes, table.x.view(), &table.y);
        let peers = (0..train.peers()).map(|peer| {
            let local = train.local(PeerId::new(peer));
            Holding::of(task, classes, local.x, local.y)
        });
        let everybody = train.everybody();
        Self {
            task,
            classes: prepared.classes.clone(),
            features: prepared.features.clone(),
            training: Holding::of(task, classes, everybody.x, everybody.y),
            held_out: prepared.test.as_ref().map(held_out),
            multiplicity: prepared.multiplicity,
            peers: peers.collect(),
            declarations: prepared.declarations.clone(),
        }
    }
}

impl Holding {
    fn of(task: Task, classes: usize, x: ArrayView2<'_, f64>, y: &[f64]) -> Self {
        let class_rows = (task == Task::MultiClass).then(|| {
            let mut rows = vec![0; classes];
            y.iter().for_each(|&label| rows[label as usize] += 1);
            rows
        });
        let positive = y.iter().filter(|&&label| label > 0.0).count();
        let share = (!y.is_empty()).then(|| positive as f64 / y.len() as f64);
        Self {
            rows: y.len(),
            positive_share: share.filter(|_| task == Task::Classification),
            class_rows,
            targets: Span::of(y.iter().copied()).filter(|_| task == Task::Regression),
            norms: Span::of(x.rows().into_iter().map(|row| row.dot(&row).sqrt())),
        }
    }
}

impl Span {
    /// The span of some numbers, if there are any.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut count = 0.0;
        let mut span = Self { least: f64::INFINITY, mean: 0.0, greatest: f64::NEG_INFINITY };
        for number in numbers {
            count += 1.0;
            span.least = span.least.min(number);
            span.greatest = span.greatest.max(number);
            span.mean += number;
        }
        span.mean /= count;
        (count > 0.0).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::data::{CsvFile, DataConfig, Partition, Source, prepare};
    use crate::units::Seed;

    #[test]
    fn a_small_file_in_closed_form() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.csv"), "x,z,y\n3,4,1\n0,0,0\n6,8,0\n").unwrap();
        let source = Source::Csv(CsvFile::new("a.csv", "y"));
        let partition = Partition::Ratio(vec![1.0, 0.0]);
        let config = DataConfig { partition, ..DataConfig::from(source) };
        let streams = config.streams(Seed(1), 0);
        let prepared = prepare(&config, 2, false, &streams, folder.path()).unwrap();
        let description = Description::of(&prepared);
        let norms = Some(Span { least: 0.0, mean: 5.0, greatest: 10.0 });
        let none =
            Holding { rows: 0, positive_share: None, class_rows: None, targets: None, norms: None };
        let all = Holding { rows: 3, positive_share: Some(1.0 / 3.0), norms, ..none.clone() };
        assert_eq!(description.peers, [all.clone(), none]);
        assert_eq!(description.training, all);
        assert_eq!((description.held_out, description.multiplicity), (None, 1));
    }

    #[test]
    fn rows_of_each_class() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.csv"), "x,y\n1,c\n2,a\n3,b\n4,c\n").unwrap();
        let file = CsvFile { task: Task::MultiClass, ..CsvFile::new("a.csv", "y") };
        let config =
            DataConfig { partition: Partition::Blocks, ..DataConfig::from(Source::Csv(file)) };
        let streams = config.streams(Seed(1), 0);
        let prepared = prepare(&config, 2, false, &streams, folder.path()).unwrap();
        let description = Description::of(&prepared);
        assert_eq!(description.classes, ["a", "b", "c"]);
        assert_eq!(description.training.class_rows, Some(vec![1, 1, 2]));
        assert_eq!(description.training.positive_share, None);
        let of_peers = description.peers.iter().map(|holding| holding.class_rows.clone().unwrap());
        assert!(of_peers.eq([vec![1, 0, 1], vec![0, 1, 1]]));
        assert_eq!(
            description.declarations,
            ["csv: the classes, found in all rows, held-out ones included"]
        );
    }

    #[test]
    fn targets_of_a_regression() {
        let config =
            crate::data::LinearRegression { dimension: 3, norm: 1.0, noise: 5.0, bound: 0.5 };
        let config = DataConfig {
            samples: Some(crate::data::Samples::Total(500)),
            ..DataConfig::from(Source::LinearRegression(config))
        };
        let streams = config.streams(Seed(1), 0);
        let prepared = prepare(&config, 2, false, &streams, Path::new(".")).unwrap();
        let training = Description::of(&prepared).training;
        assert_eq!(training.positive_share, None);
        let targets = training.targets.unwrap();
        assert_eq!((targets.least, targets.greatest), (-0.5, 0.5));
        let norms = training.norms.unwrap();
        assert!((norms.least - 1.0).abs() < 1e-12 && (norms.greatest - 1.0).abs() < 1e-12);
    }
}
