//! How the labels of a file become −1 and +1, or numbers.

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
}

impl<'a> Labels<'a> {
    /// Labels of a text file.
    pub(super) fn texts(positive: Option<&'a str>, task: Task) -> Self {
        match (positive, task) {
            (Some(text), Task::Classification) => {
                Self::Text { positive: text.trim_ascii(), seen: false }
            }
            _ => Self::numbers(None, task),
        }
    }

    /// Labels of a file that has numbers only.
    pub(super) fn numbers(positive: Option<f64>, task: Task) -> Self {
        match (positive, task) {
            (_, Task::Regression) => Self::Target,
            (Some(positive), Task::Classification) => Self::Number { positive, seen: false },
            (None, Task::Classification) => Self::Binary { negative: None },
        }
    }

    /// The label that `text` says, or what was found and what was expected.
    pub(super) fn read(&mut self, text: &str) -> Result<f64, (String, String)> {
        if let Self::Text { positive, seen } = self {
            let is_positive = text == *positive;
            *seen |= is_positive;
            return Ok(sign(is_positive));
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
            Self::Target | Self::Text { .. } => Ok(value),
        }
    }

    /// What to say about a positive label that no row has: most likely a slip of the pen.
    pub(super) fn unseen(&self) -> Option<String> {
        let positive = match self {
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

/// What to say where a regression is given a positive label.
pub(super) const NO_POSITIVE: &str =
    "labels of a regression are numbers: expected no positive label";

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
}
