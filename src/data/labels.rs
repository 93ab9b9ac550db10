//! How the labels of a file become −1 and +1, numbers of classes, or numbers.

use std::collections::BTreeMap;

use super::Task;
use super::error::quoted;

/// How labels are read.
pub(super) enum Labels<'a> {
    /// One text against all others, and whether it came up.
    Text { positive: &'a str, seen: bool },
    /// One number against all others, and whether it came up.
    Number { positive: f64, seen: bool },
    /// 1 against −1 or 0: whichever came first.
    Binary { negative: Option<f64> },
    /// Any number.
    Target,
    /// Every label is a class, with the order in which it came up; `texts` where it need not be a
    /// number.
    Classes { found: BTreeMap<String, usize>, texts: bool },
}

/// The most classes: more of them are most likely no classes.
pub(super) const MOST_CLASSES: usize = 1000;

impl<'a> Labels<'a> {
    /// Labels of a text file.
    pub(super) fn texts(positive: Option<&'a str>, task: Task) -> Self {
        match (positive, task) {
            (Some(text), Task::Classification) => {
                Self::Text { positive: text.trim_ascii(), seen: false }
            }
            (_, Task::MultiClass) => Self::Classes { found: BTreeMap::new(), texts: true },
            _ => Self::numbers(None, task),
        }
    }

    /// Labels of a file that has numbers only.
    pub(super) fn numbers(positive: Option<f64>, task: Task) -> Self {
        match (positive, task) {
            (_, Task::Regression) => Self::Target,
            (_, Task::MultiClass) => Self::Classes { found: BTreeMap::new(), texts: false },
            (Some(positive), Task::Classification) => Self::Number { positive, seen: false },
            (None, Task::Classification) => Self::Binary { negative: None },
        }
    }

    /// The label that `text` says, or what was found and what was expected. That of a class is
    /// provisional, until [`number`](Self::number) knows them all.
    pub(super) fn read(&mut self, text: &str) -> Result<f64, (String, String)> {
        if let Self::Text { positive, seen } = self {
            let is_positive = text == *positive;
            *seen |= is_positive;
            return Ok(sign(is_positive));
        }
        if let Self::Classes { found, texts: true } = self {
            return class(found, text).map_err(|expected| (quoted(text), expected));
        }
        let value = text.parse().unwrap_or(f64::NAN);
        self.accept(value).map_err(|expected| (quoted(text), expected))
    }

    /// The label that a number says, or what was expected.
    pub(super) fn accept(&mut self, value: f64) -> Result<f64, String> {
        match self {
            Self::Binary { negative } => match value {
                1.0 => Ok(1.0),
                -1.0 | 0.0 if negative.is_none_or(|negative| negative == value) => {
                    *negative = Some(value);
                    Ok(-1.0)
                }
                _ => Err(match negative {
                    None => "-1 or 1, or 0 or 1".to_string(),
                    Some(negative) => format!("{negative} or 1 as before"),
                }),
            },
            _ if !value.is_finite() => Err("a finite number".to_string()),
            Self::Number { positive, seen } => {
                *seen |= value == *positive;
                Ok(sign(value == *positive))
            }
            // Zero has two signs, and is one class.
            Self::Classes { found, .. } => class(found, &(value + 0.0).to_string()),
            Self::Target | Self::Text { .. } => Ok(value),
        }
    }

    /// The names of the classes in the order of their numbers, which take the place of the
    /// provisional ones in `y`: by value where all are numbers, else by their text. No names, and
    /// `y` as it was, where labels are no classes.
    pub(super) fn number(&self, y: &mut [f64]) -> Vec<String> {
        let Self::Classes { found, .. } = self else { return Vec::new() };
        let (names, numbers) = ranked(found);
        y.iter_mut().for_each(|label| *label = numbers[*label as usize]);
        names
    }

    /// What to say about a label that is wanting: a positive one that no row has, most likely a slip
    /// of the pen, or that of a second class.
    pub(super) fn unseen(&self) -> Option<String> {
        let positive = match self {
            Self::Classes { found, .. } => {
                let (names, _) = ranked(found);
                let only = names.first().filter(|_| names.len() < 2)?;
                let only = quoted(only);
                return Some(format!(
                    "every row is labelled {only}, expected at least two classes"
                ));
            }
            Self::Text { positive, seen: false } => format!("{positive:?}"),
            Self::Number { positive, seen: false } => positive.to_string(),
            _ => return None,
        };
        Some(format!("found no row labelled {positive}, expected the positive label"))
    }
}

pub(super) fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

/// The provisional number of a class: the order in which it came up.
fn class(found: &mut BTreeMap<String, usize>, label: &str) -> Result<f64, String> {
    let (next, known) = (found.len(), found.get(label).copied());
    match known {
        Some(number) => Ok(number as f64),
        None if next == MOST_CLASSES => Err(format!("at most {MOST_CLASSES} classes")),
        None => {
            found.insert(label.to_string(), next);
            Ok(next as f64)
        }
    }
}

/// The names of classes in order, and for each provisional number the one in that order. Texts that
/// say the same number are one class.
fn ranked(found: &BTreeMap<String, usize>) -> (Vec<String>, Vec<f64>) {
    let value = |text: &String| text.parse().ok().filter(|value: &f64| value.is_finite());
    let values: Option<Vec<f64>> = found.keys().map(|text| Some(value(text)? + 0.0)).collect();
    let mut numbers = vec![0.0; found.len()];
    let Some(values) = values else {
        found.values().zip(0_u32..).for_each(|(&code, rank)| numbers[code] = f64::from(rank));
        return (found.keys().cloned().collect(), numbers);
    };
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    for (&code, value) in found.values().zip(&values) {
        numbers[code] = sorted.partition_point(|other| other < value) as f64;
    }
    (sorted.iter().map(f64::to_string).collect(), numbers)
}

/// What the list of classes tells about the rows of a file.
pub(super) fn found_classes(source: &str) -> String {
    format!("{source}: the classes, found in all rows, held-out ones included")
}

/// What to say where a task that has none is given a positive label.
pub(super) fn no_positive(task: Task) -> Option<String> {
    let message = match task {
        Task::Classification => return None,
        Task::Regression => "labels of a regression are numbers: expected no positive label",
        Task::MultiClass => {
            "each label of a multi-class task is a class: expected no positive label"
        }
    };
    Some(message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_against_the_rest() {
        let mut labels = Labels::numbers(Some(2.0), Task::Classification);
        assert_eq!(labels.accept(1.0), Ok(-1.0));
        assert_eq!(
            labels.unseen().unwrap(),
            "found no row labelled 2, expected the positive label"
        );
        assert_eq!(labels.read("+2.0"), Ok(1.0));
        assert_eq!(labels.unseen(), None);
        assert_eq!(labels.accept(f64::NAN), Err("a finite number".to_string()));
    }

    #[test]
    fn zero_and_minus_one_do_not_mix() {
        let mut labels = Labels::numbers(None, Task::Classification);
        assert_eq!(labels.read("+1"), Ok(1.0));
        assert_eq!(labels.read("-1"), Ok(-1.0));
        assert_eq!(labels.read("0"), Err(("\"0\"".to_string(), "-1 or 1 as before".to_string())));
    }

    fn classes(mut labels: Labels<'_>, texts: &[&str]) -> (Vec<f64>, Vec<String>) {
        let mut y: Vec<f64> = texts.iter().map(|text| labels.read(text).unwrap()).collect();
        assert_eq!(labels.unseen(), None);
        let names = labels.number(&mut y);
        (y, names)
    }

    #[test]
    fn classes_are_numbered_by_value_or_by_text() {
        let texts = || Labels::texts(None, Task::MultiClass);
        let (y, names) = classes(texts(), &["pear", "10", "apple", "9", "pear"]);
        assert_eq!(names, ["10", "9", "apple", "pear"], "one is no number: all are texts");
        assert_eq!(y, [3.0, 0.0, 2.0, 1.0, 3.0]);
        for labels in [texts(), Labels::numbers(None, Task::MultiClass)] {
            let (y, names) = classes(labels, &["10", "-0", "9", "1e1", "-2.5", "0", "+9"]);
            assert_eq!(names, ["-2.5", "0", "9", "10"]);
            assert_eq!(y, [3.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0]);
        }
    }

    #[test]
    fn one_class_is_too_few_and_a_thousand_are_enough() {
        let mut labels = Labels::texts(None, Task::MultiClass);
        labels.read("1").unwrap();
        labels.read("1.0").unwrap();
        let expected = "every row is labelled \"1\", expected at least two classes";
        assert_eq!(labels.unseen().unwrap(), expected);
        let mut labels = Labels::numbers(None, Task::MultiClass);
        assert_eq!(labels.read("a"), Err(("\"a\"".to_string(), "a finite number".to_string())));
        assert!((0..1_000).all(|k| labels.accept(f64::from(k)) == Ok(f64::from(k))));
        assert_eq!(labels.accept(0.5), Err("at most 1000 classes".to_string()));
        assert_eq!(labels.accept(999.0), Ok(999.0));
    }
}
