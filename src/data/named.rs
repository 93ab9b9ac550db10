//! The papers' public sets by name: `source: adult`.
//!
//! A name stands for files in the [cache](super::cache()) and for how they are read: which column is the
//! label, which label is positive, what the categories are. [`fetch`](super::fetch()) puts the files
//! there; each is compared with its known SHA-256 whenever it is opened.

mod cards;
mod categories;
mod package;
mod recipes;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use self::cards::Card;
pub(super) use self::cards::Piece;
pub use self::package::{Client, Package};
use super::Task;
use super::csv::{Categories, CsvFile, Missing};
use super::error::DataError;
use super::file::unreadable;
use super::idx::{IdxFiles, IdxPair};
use super::source::{Source, Stored};

/// A public set that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedSet {
    /// UCI Adult.
    Adult,
    /// MNIST, with its held-out part.
    Mnist,
    /// UCI Covertype.
    Covertype,
    /// UCI bank marketing.
    Bank,
    /// UCI German credit.
    German,
    /// UCI image segmentation, as in Rätsch's benchmark.
    Image,
    /// The benchmark's draw of twonorm.
    #[serde(rename = "twonorm-7400")]
    Twonorm7400,
    /// Banana of Rätsch's benchmark.
    Banana,
    /// Credit-card fraud.
    CreditCardFraud,
    /// Breast Cancer Wisconsin, the complete rows.
    BreastCancer,
}

/// Whether the files of a set are in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All of them, as they should be.
    AtHand,
    /// Not all of them.
    Absent,
    /// One has other bytes than it should have.
    Damaged,
}

/// What the files of a set have in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Rows to train on, or all of them where the set holds out none itself.
    pub rows: usize,
    /// Rows that the set itself holds out.
    pub held_out: usize,
    /// Number of features.
    pub features: usize,
    /// Each label with its number of rows, held-out ones included: the names of classes, or −1 and
    /// +1.
    pub labels: Vec<(String, usize)>,
}

impl NamedSet {
    /// Every set.
    pub const ALL: [Self; 10] = [
        Self::Adult,
        Self::Mnist,
        Self::Covertype,
        Self::Bank,
        Self::German,
        Self::Image,
        Self::Twonorm7400,
        Self::Banana,
        Self::CreditCardFraud,
        Self::BreastCancer,
    ];

    /// The set that a source is the name of, if it is one.
    pub fn of(source: &Source) -> Option<Self> {
        Some(match source {
            Source::Adult => Self::Adult,
            Source::Mnist => Self::Mnist,
            Source::Covertype => Self::Covertype,
            Source::Bank => Self::Bank,
            Source::German => Self::German,
            Source::Image => Self::Image,
            Source::Twonorm7400 => Self::Twonorm7400,
            Source::Banana => Self::Banana,
            Source::CreditCardFraud => Self::CreditCardFraud,
            Source::BreastCancer => Self::BreastCancer,
            _ => return None,
        })
    }

    /// The set with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Its name, as it is written in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adult => "adult",
            Self::Mnist => "mnist",
            Self::Covertype => "covertype",
            Self::Bank => "bank",
            Self::German => "german",
            Self::Image => "image",
            Self::Twonorm7400 => "twonorm-7400",
            Self::Banana => "banana",
            Self::CreditCardFraud => "credit-card-fraud",
            Self::BreastCancer => "breast-cancer",
        }
    }

    /// What is known of it before it is at hand.
    pub fn card(self) -> &'static Card {
        cards::card(self)
    }

    /// The paths of its files in a cache.
    pub fn paths(self, cache: &Path) -> Vec<PathBuf> {
        let folder = cache.join(self.name());
        self.card().pieces.iter().map(|piece| folder.join(piece.file)).collect()
    }

    /// The source of files that the name stands for in a cache: what a scenario would say to have the
    /// same rows, and can say otherwise to have others.
    pub fn files(self, cache: &Path) -> Source {
        let mut paths = self.paths(cache).into_iter();
        let mut next = || paths.next().expect("every set has the files that its source reads");
        let (label, categories): (_, &[categories::Listed]) = match self {
            Self::Mnist => {
                let (images, labels) = (next(), next());
                let test = Some(IdxPair { images: next(), labels: next() });
                return Source::Idx(IdxFiles { images, labels, positive: None, test });
            }
            Self::Adult => ("income", categories::ADULT),
            Self::Covertype => ("Cover_Type", &[]),
            Self::Bank => ("y", categories::BANK),
            Self::German => ("class", categories::GERMAN),
            Self::BreastCancer => ("class", &[]),
            Self::CreditCardFraud => ("Class", &[]),
            Self::Image | Self::Twonorm7400 | Self::Banana => ("label", &[]),
        };
        let listed = |(column, values): &categories::Listed| {
            let values = values.iter().map(|value| value.to_string()).collect();
            (column.to_string(), Categories::Values(values))
        };
        let positive = match self {
            Self::Adult => Some(">50K"),
            Self::Bank => Some("yes"),
            Self::German => Some("2"),
            Self::BreastCancer => Some("4"),
            _ => None,
        };
        let file = CsvFile {
            categorical: categories.iter().map(listed).collect::<BTreeMap<_, _>>(),
            positive: positive.map(String::from),
            ..CsvFile::new(next(), label)
        };
        Source::Csv(match self {
            Self::Adult => CsvFile { missing: Missing::DropRow, ..file },
            Self::Bank => CsvFile { delimiter: ';', ..file },
            Self::Covertype => CsvFile { task: Task::MultiClass, ..file },
            _ => file,
        })
    }

    /// Whether its files are in a cache, to the last byte.
    ///
    /// # Errors
    /// A file that is there and cannot be read.
    pub fn state(self, cache: &Path) -> Result<State, DataError> {
        Ok(state(self.card().pieces, &cache.join(self.name()))?.0)
    }

    /// The source of files that the name stands for, once these are known to be as they should.
    pub(super) fn at_hand(self, cache: &Path) -> Result<Source, DataError> {
        let (state, path) = state(self.card().pieces, &cache.join(self.name()))?;
        match state {
            State::AtHand => Ok(self.files(cache)),
            State::Absent => Err(DataError::Absent { set: self.name(), path }),
            State::Damaged => Err(DataError::Damaged { set: self.name(), path }),
        }
    }

    /// Reads the files and counts.
    ///
    /// # Errors
    /// Files that are not in the cache, or not as they should be.
    pub fn contents(self, cache: &Path) -> Result<Contents, DataError> {
        let Stored { features, y, classes, held_out, .. } = self.at_hand(cache)?.read(cache)?;
        let held_out = held_out.unwrap_or(0);
        let count = |label: f64| y.iter().filter(|&&y| y == label).count();
        let labels = if classes.is_empty() {
            vec![("-1".to_string(), count(-1.0)), ("+1".to_string(), count(1.0))]
        } else {
            let rows = (0..classes.len()).map(|class| count(class as f64));
            classes.into_iter().zip(rows).collect()
        };
        Ok(Contents { rows: y.len() - held_out, held_out, features: features.len(), labels })
    }
}

/// Whether the files are in the folder, and the first that is not, or the folder.
pub(super) fn state(pieces: &[Piece], folder: &Path) -> Result<(State, PathBuf), DataError> {
    let mut damaged = None;
    for piece in pieces {
        let path = folder.join(piece.file);
        match File::open(&path).and_then(sha256) {
            Ok(found) if found == piece.sha256 => {}
            Ok(_) => damaged = damaged.or(Some(path)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok((State::Absent, path));
            }
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    Ok(damaged.map_or_else(|| (State::AtHand, folder.to_path_buf()), |path| (State::Damaged, path)))
}

/// The SHA-256 of all that is left to read, in hexadecimal.
pub(crate) fn sha256(mut input: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match input.read(&mut block) {
            Ok(0) => break,
            Ok(read) => hash.update(&block[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::DataConfig;

    #[test]
    fn a_name_is_written_as_its_source_is() {
        for set in NamedSet::ALL {
            assert_eq!(serde_json::to_value(set).unwrap(), set.name());
            let source: Source = serde_json::from_value(set.name().into()).unwrap();
            assert_eq!(NamedSet::of(&source), Some(set));
            assert_eq!(serde_json::to_value(&source).unwrap(), set.name());
            assert_eq!(NamedSet::named(set.name()), Some(set));
        }
        assert_eq!(NamedSet::of(&Source::Twonorm), None, "that is the law");
        assert_eq!(NamedSet::named("twonorm"), None);
    }

    #[test]
    fn what_a_name_stands_for_is_a_valid_source() {
        for set in NamedSet::ALL {
            let files = set.files(Path::new("/cache"));
            assert_eq!(DataConfig::from(files.clone()).check(Some(2)), [], "{}", set.name());
            let source: Source = serde_json::from_value(set.name().into()).unwrap();
            assert_eq!(source.task(), files.task());
            assert_eq!(source.declarations(), files.declarations());
            assert_eq!(source.holds_out(), files.holds_out());
            assert!(source.is_file() && source.clone().paths_mut().is_empty());
            // Every value that a category may have is listed; only classes are found.
            let expected = usize::from(files.task() == Task::MultiClass);
            assert_eq!(source.declarations().len(), expected, "{}", set.name());
        }
    }

    #[test]
    fn listed_values_and_numbers_make_the_features() {
        for set in NamedSet::ALL {
            let Source::Csv(file) = set.files(Path::new("")) else { continue };
            let listed = file.categorical.values().map(|categories| match categories {
                Categories::Values(values) => values.len(),
                Categories::Found => panic!("{}: {:?}", set.name(), file.categorical),
            });
            let numbers = set.card().columns - file.categorical.len();
            assert_eq!(numbers + listed.sum::<usize>(), set.card().features, "{}", set.name());
        }
    }

    #[test]
    fn cards_are_filled_in() {
        let mut sums = BTreeSet::new();
        for set in NamedSet::ALL {
            let card = set.card();
            assert!(card.complete_rows <= card.rows && card.columns <= card.features);
            for piece in card.pieces {
                assert!(sums.insert(piece.sha256), "{} is there twice", piece.file);
                assert!(!piece.members.is_empty());
                assert!(piece.recipe.is_some() || piece.members.len() == 1);
            }
        }
        let sums = sums.into_iter().chain(NamedSet::ALL.map(|set| set.card().package.sha256));
        for sum in sums {
            assert!(sum.len() == 64 && sum.bytes().all(|b| b"0123456789abcdef".contains(&b)));
        }
    }

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // FIPS 180-4: the message "abc".
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&b"abc"[..]).unwrap(), expected);
    }

    #[test]
    fn what_is_absent_or_damaged_is_said_with_its_path() {
        let cache = tempfile::tempdir().unwrap();
        let path = cache.path().join("adult").join("adult.csv");
        assert_eq!(NamedSet::Adult.state(cache.path()), Ok(State::Absent));
        let absent = NamedSet::Adult.at_hand(cache.path()).unwrap_err();
        assert_eq!(
            absent.to_string(),
            format!(
                "data.source: adult is not in the cache, expected {}: `hushmesh data fetch adult` \
                 gets it",
                path.display()
            )
        );
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "age,income\n").unwrap();
        assert_eq!(NamedSet::Adult.state(cache.path()), Ok(State::Damaged));
        let damaged = NamedSet::Adult.contents(cache.path()).unwrap_err().to_string();
        assert!(damaged.contains("other bytes than adult has"), "{damaged}");
        assert!(damaged.contains("`hushmesh data fetch adult`"), "{damaged}");
        // A file in the place of the folder hides nothing.
        std::fs::write(cache.path().join("bank"), "").unwrap();
        assert_eq!(NamedSet::Bank.state(cache.path()), Ok(State::Absent));
    }
}
