//! The `data` section of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::{Counts, Extent};
use super::{NamedSet, Partition, Source, Step, Task};
use crate::random::Streams;
use crate::units::Seed;

/// How many rows a synthetic source gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Samples {
    /// All rows, held-out ones included.
    Total(u32),
    /// Training rows per peer (on average, where the partition is uneven); the held-out rows come on
    /// top. Where every peer has the same rows (`replicated`), as many in all.
    PerPeer(u32),
}

/// What the peers learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Where rows come from.
    pub source: Source,
    /// How many rows are drawn: required for synthetic sources, absent for files, which have as
    /// many as they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Samples>,
    /// Share of all rows that is held out for testing, from 0 to below 1; rounded to whole rows.
    /// Default 0.
    #[serde(default)]
    pub test_share: f64,
    /// Steps that change the features, in order. Default none.
    #[serde(default)]
    pub preprocess: Vec<Step>,
    /// How training rows are dealt to peers. Default `even`.
    #[serde(default)]
    pub partition: Partition,
    /// Peers that hold no rows, such as a server or a relay; the partition deals to the others, as if
    /// these were all. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<u32>,
    /// Whether every repeat has the same rows, split and partition. Default false.
    #[serde(default)]
    pub fixed: bool,
    /// Whether training rows stay in memory. Default true. With false, for drawn sources, the features
    /// of a row are made again from the seed whenever its peer or a measurement needs them: the same
    /// results, with room for 12 bytes per row (its number and its label) in the place of all features.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub keep: bool,
}

fn yes() -> bool {
    true
}

impl From<Source> for DataConfig {
    /// A section that says its source and nothing else.
    fn from(source: Source) -> Self {
        Self {
            source,
            samples: None,
            test_share: 0.0,
            preprocess: Vec::new(),
            partition: Partition::Even,
            without: Vec::new(),
            fixed: false,
            keep: true,
        }
    }
}

impl DataConfig {
    /// The streams that [`prepare`](super::prepare) draws from in a repeat: those of repeat 0 in
    /// every one where the data is `fixed`.
    pub fn streams(&self, seed: Seed, repeat: u32) -> Streams {
        Streams::new(seed, if self.fixed { 0 } else { repeat })
    }

    /// Whether how many samples each peer has, or how often a sample was dealt, may differ from repeat
    /// to repeat.
    pub fn deal_varies(&self) -> bool {
        let repeats = matches!(self.partition, Partition::WithRepetition(_));
        !self.fixed && (repeats || self.partition.draws_sizes())
    }

    /// What preparing the data takes from private rows outside of any mechanism, in words.
    pub fn declarations(&self) -> Vec<String> {
        let statistics = self.preprocess.iter().filter_map(Step::declaration);
        let dealing = self.partition.looks_at_labels().then(|| {
            format!(
                "{}: rows are dealt by their labels, so that who holds a row tells something of its \
                 label",
                self.partition.name()
            )
        });
        self.source.declarations().into_iter().chain(statistics).chain(dealing).collect()
    }

    /// Every problem as (field path relative to the section, what was found and expected). No file
    /// is looked at; without `peers`, what depends on their number is not checked.
    pub fn check(&self, peers: Option<usize>) -> Vec<(String, String)> {
        let within = |section: &'static str| {
            move |(field, message): (String, String)| (format!("{section}.{field}"), message)
        };
        let mut problems: Vec<_> = self.source.check().into_iter().map(within("source")).collect();
        let mut problem = |field: &str, message: String| problems.push((field.into(), message));

        let share_is_valid = (0.0..1.0).contains(&self.test_share);
        if !share_is_valid {
            let message = format!("found {}, expected a share from 0 to below 1", self.test_share);
            problem("test_share", message);
        }
        if self.source.holds_out() && self.test_share != 0.0 {
            let holder = NamedSet::of(&self.source).map_or("source.idx.test", NamedSet::name);
            let message = format!(
                "found {}, but {holder} has the held-out rows: expected 0",
                self.test_share
            );
            problem("test_share", message);
        }
        match (&self.source, self.samples) {
            (source, Some(_)) if source.is_file() => {
                let message = "a file has as many rows as it has: expected no samples";
                problem("samples", message.to_string());
            }
            (source, None) if source.is_file() => {}
            (_, None) => {
                let message = "missing, expected {total: …} or {per-peer: …} for a drawn source";
                problem("samples", message.to_string());
            }
            (_, Some(Samples::Total(0))) => {
                problem("samples.total", "found 0, expected at least one row".to_string());
            }
            (_, Some(Samples::PerPeer(0))) => {
                problem("samples.per-peer", "found 0, expected at least one row".to_string());
            }
            (_, Some(_)) => {
                // Without a number of peers, of one that holds rows.
                let peers = peers.unwrap_or(1 + self.without.len());
                let countable = share_is_valid && self.owners(peers) > 0;
                if let Some(counts) = countable.then(|| self.counts(peers, None)).flatten() {
                    if u32::try_from(counts.total()).is_err() {
                        let message =
                            format!("{} rows, expected at most {}", counts.total(), u32::MAX);
                        problem("samples", message);
                    } else if counts.train == 0 {
                        let message = format!(
                            "{} holds out all of {} rows, expected one to train on",
                            self.test_share, counts.test
                        );
                        problem("test_share", message);
                    }
                }
            }
        }
        if peers == Some(0) {
            problem("partition", "there is no peer to deal rows to, expected one".to_string());
        }
        let mut without_is_valid = true;
        for (i, peer) in self.without.iter().enumerate() {
            let message = if self.without[..i].contains(peer) {
                format!("peer {peer} is listed already, expected it once")
            } else if let Some(peers) = peers.filter(|&peers| *peer as usize >= peers) {
                format!("found peer {peer}, expected one of 0 to {}", peers.saturating_sub(1))
            } else {
                continue;
            };
            without_is_valid = false;
            problem(&format!("without.{i}"), message);
        }
        let owners = peers.filter(|_| without_is_valid).map(|peers| self.owners(peers));
        if owners == Some(0) && !self.without.is_empty() {
            let message = "leaves no peer to deal rows to, expected one";
            problem("without", message.to_string());
        }
        if self.partition.looks_at_labels() && self.source.task() == Task::Regression {
            let field = format!("partition.{}", self.partition.name());
            let message = "labels of a regression are numbers: expected a partition without labels";
            problem(&field, message.to_string());
        }
        if !self.keep {
            self.check_remaking(&mut problem);
        }
        problems.extend(Step::check(&self.preprocess).into_iter().map(within("preprocess")));
        problems.extend(self.partition.check(owners).into_iter().map(within("partition")));
        problems
    }

    /// What keeps rows from being made again one by one.
    fn check_remaking(&self, problem: &mut dyn FnMut(&str, String)) {
        if self.source.is_file() {
            let message = "found false, but the rows of a file are read once and stay: expected true, \
                           or a drawn source";
            problem("keep", message.to_string());
        }
        for (i, step) in self.preprocess.iter().enumerate() {
            if let Some(statistic) = step.declaration() {
                let message = format!(
                    "{statistic}: with keep: false every row is made by itself: expected `clip`, \
                     `divide`, `unit-sphere` or `intercept`, or keep: true"
                );
                problem(&format!("preprocess.{i}"), message);
            }
        }
    }

    /// Where a preprocessing step appends the intercept, as a field path relative to the section:
    /// then `model.intercept` must not.
    pub fn intercept_step(&self) -> Option<String> {
        let place = self.preprocess.iter().position(|step| *step == Step::Intercept);
        place.map(|place| format!("preprocess.{place}"))
    }

    /// How many of `peers` rows are dealt to.
    pub(super) fn owners(&self, peers: usize) -> usize {
        peers.saturating_sub(self.without.len())
    }

    /// How many rows are trained on and held out; `extent` is what there is in the file, for a source
    /// that is one. Nothing where neither says.
    pub(super) fn counts(&self, peers: usize, extent: Option<Extent>) -> Option<Counts> {
        Some(match (extent, self.samples) {
            (Some(extent), _) => extent.counts(self.test_share),
            (None, Some(Samples::Total(rows))) => Counts::of_total(rows as usize, self.test_share),
            (None, Some(Samples::PerPeer(rows))) => {
                let replicated = self.partition == Partition::Replicated;
                let owners = if replicated { 1 } else { self.owners(peers) };
                Counts::of_train((rows as usize).saturating_mul(owners), self.test_share)
            }
            (None, None) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CsvFile, LinearLogistic, LinearRegression};

    fn parse(text: &str) -> Result<DataConfig, String> {
        let deserializer = serde_yaml::Deserializer::from_str(text);
        serde_yaml::with::singleton_map_recursive::deserialize(deserializer)
            .map_err(|error: serde_yaml::Error| error.to_string())
    }

    #[test]
    fn the_shortest_section() {
        let expected =
            DataConfig { samples: Some(Samples::Total(10)), ..DataConfig::from(Source::Twonorm) };
        assert_eq!(parse("source: twonorm\nsamples: {total: 10}").unwrap(), expected);
        assert_eq!(expected.check(Some(20)), [], "fewer rows than peers are allowed");
    }

    #[test]
    fn a_section_that_says_everything() {
        let text = "
            source:
              linear-regression: {dimension: 5, norm: 2, noise: 0.1, bound: 3}
            samples: {per-peer: 30}
            test_share: 0.25
            preprocess: [standardise, unit-ball]
            partition: {ratio: [1, 2, 0]}
            without: [3, 0]
            fixed: true";
        let source = LinearRegression { dimension: 5, norm: 2.0, noise: 0.1, bound: 3.0 };
        let expected = DataConfig {
            source: Source::LinearRegression(source),
            samples: Some(Samples::PerPeer(30)),
            test_share: 0.25,
            preprocess: vec![Step::Standardise, Step::UnitBall],
            partition: Partition::Ratio(vec![1.0, 2.0, 0.0]),
            without: vec![3, 0],
            fixed: true,
            keep: true,
        };
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(expected.check(Some(5)), []);
    }

    #[test]
    fn a_file_with_labels_that_look_like_numbers() {
        let config =
            parse("source: {csv: {path: a.csv, label: class, positive: 1}}\npartition: blocks");
        let file = CsvFile { positive: Some("1".to_string()), ..CsvFile::new("a.csv", "class") };
        assert_eq!(config.unwrap().source, Source::Csv(file));
    }

    #[test]
    fn every_source_step_and_partition_as_it_is_written() {
        for source in [
            "{csv: {path: a, label: y, categorical: {sex: found, work: {values: [u, v]}}, missing: \
             drop-row, missing_tokens: [NA], delimiter: ;, header: false, columns: [sex, work, y]}}",
            "{libsvm: {path: a.gz, dimension: 123, positive: 2}}",
            "{idx: {images: a, labels: b, positive: [0, 3]}}",
            "{idx: {images: a, labels: b, test: {images: ac, labels: bc}}}",
            "{libsvm: {path: a.gz, task: multi-class}}",
            "{npy: {x: a, y: b, task: regression}}",
        ] {
            let mut config = parse(&format!("source: {source}")).unwrap();
            assert_eq!(config.check(Some(2)), [], "{source}");
            assert!(config.source.is_file());
            let files = source.matches(": a").count() + source.matches(": b").count();
            assert_eq!(config.source.paths_mut().len(), files, "{source}");
        }
        let steps = "[divide: {by: 255}, clip: {norm: 2}, clip: {norm: 2, order: l1}, max-scale: all, {max-scale: {columns: [age]}}, pca: {dimension: 5}, \
                     intercept, unit-sphere]";
        for partition in [
            "{dirichlet-sizes: {alpha: 0.5}}",
            "{two-groups: {unevenness: 4}}",
            "{label-shards: {per_peer: 2}}",
            "{dirichlet-labels: {alpha: 0.1}}",
            "{with-repetition: {rows: 100}}",
            "{random-sizes: {floor: 0.5}}",
            "replicated",
        ] {
            let text = format!(
                "source: twonorm\nsamples: {{total: 9}}\npreprocess: {steps}\npartition: {partition}"
            );
            let config = parse(&text).unwrap();
            assert_eq!(config.check(Some(2)), [], "{text}");
            let mut written = Vec::new();
            let mut serializer = serde_yaml::Serializer::new(&mut written);
            serde_yaml::with::singleton_map_recursive::serialize(&config, &mut serializer).unwrap();
            assert_eq!(parse(str::from_utf8(&written).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn a_regression_has_no_labels_to_deal_by() {
        let config = parse(
            "source: {npy: {x: a, y: b, task: regression}}\npartition: {label-shards: {per_peer: 2}}",
        );
        assert_eq!(
            config.unwrap().check(Some(2)),
            [(
                "partition.label-shards".to_string(),
                "labels of a regression are numbers: expected a partition without labels"
                    .to_string()
            )]
        );
    }

    #[test]
    fn unknown_keys_are_refused() {
        for text in [
            "source: twonorm\nsample: {total: 10}",
            "source: {linear-logistic: {dimension: 2, norm: 1, noise: 2}}",
            "source: twonorm\npartition: {odd: 1}",
            "source: threenorm",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("unknown"), "{error}");
        }
    }

    #[test]
    fn every_problem_is_listed_with_its_place() {
        let source = Source::LinearLogistic(LinearLogistic { dimension: 0, norm: f64::NAN });
        let config = DataConfig {
            test_share: 1.0,
            partition: Partition::Ratio(vec![1.0]),
            ..DataConfig::from(source)
        };
        let listed: Vec<_> =
            config.check(Some(2)).iter().map(|(f, m)| format!("{f}: {m}")).collect();
        assert_eq!(
            listed,
            [
                "source.linear-logistic.dimension: found 0, expected 1 to 1000000",
                "source.linear-logistic.norm: found NaN, expected a finite number from 0",
                "test_share: found 1, expected a share from 0 to below 1",
                "samples: missing, expected {total: …} or {per-peer: …} for a drawn source",
                "partition.ratio: number of weights: found 1, expected 2, one for each peer that \
                 is dealt to",
            ]
        );
    }

    #[test]
    fn impossible_numbers_of_rows() {
        let with = |samples, test_share| DataConfig {
            samples: Some(samples),
            test_share,
            ..DataConfig::from(Source::Waveform)
        };
        for (config, expected) in [
            (with(Samples::Total(0), 0.0), "samples.total: found 0, expected at least one row"),
            (
                with(Samples::PerPeer(0), 0.0),
                "samples.per-peer: found 0, expected at least one row",
            ),
            (
                with(Samples::PerPeer(u32::MAX), 0.0),
                "samples: 8589934590 rows, expected at most 4294967295",
            ),
            (
                with(Samples::Total(3), 0.9),
                "test_share: 0.9 holds out all of 3 rows, expected one to train on",
            ),
        ] {
            let listed: Vec<_> =
                config.check(Some(2)).iter().map(|(f, m)| format!("{f}: {m}")).collect();
            assert_eq!(listed, [expected]);
        }
        assert_eq!(with(Samples::Total(3), 0.5).check(Some(0)).len(), 1);
    }
    #[test]
    fn peers_without_rows_exist_are_listed_once_and_leave_somebody() {
        let with = |without: &[u32], partition| DataConfig {
            samples: Some(Samples::PerPeer(4)),
            without: without.to_vec(),
            partition,
            ..DataConfig::from(Source::Twonorm)
        };
        let listed = |without: &[u32], partition, peers| -> Vec<String> {
            let problems = with(without, partition).check(peers);
            problems.iter().map(|(field, message)| format!("{field}: {message}")).collect()
        };
        assert_eq!(listed(&[0, 2], Partition::Even, Some(3)), Vec::<String>::new());
        assert_eq!(listed(&[9], Partition::Even, None), Vec::<String>::new());
        assert_eq!(
            listed(&[1, 3, 1], Partition::Even, Some(3)),
            [
                "without.1: found peer 3, expected one of 0 to 2",
                "without.2: peer 1 is listed already, expected it once",
            ]
        );
        assert_eq!(
            listed(&[1, 0], Partition::Even, Some(2)),
            ["without: leaves no peer to deal rows to, expected one"]
        );
        assert_eq!(
            listed(&[0], Partition::Ratio(vec![1.0; 3]), Some(3)),
            ["partition.ratio: number of weights: found 3, expected 2, one for each peer that is \
              dealt to"]
        );
    }
}
