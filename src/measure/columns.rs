//! The figures of all peers by column, as files keep them: a million peers have a million numbers in each
//! column that was measured, and one number in each that was not.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::probe::LocalFigures;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    peers: usize,
    columns: [Column; 7],
}

/// One number per peer, or one that is everybody's.
#[derive(Serialize, Deserialize)]
struct Column(#[serde(with = "crate::measure::nan::any_numbers")] Vec<f64>);

impl LocalFigures {
    fn to_array(self) -> [f64; 7] {
        let Self { risk, train, test, average_risk, average_objective, .. } = self;
        let Self { average_divergence, average_test, .. } = self;
        let [objective, divergence] = [average_objective, average_divergence];
        [risk, train, test, average_risk, objective, divergence, average_test]
    }

    fn from_array(figures: [f64; 7]) -> Self {
        let [risk, train, test, average_risk, average_objective, average_divergence, average_test] =
            figures;
        Self {
            risk,
            train,
            test,
            average_risk,
            average_objective,
            average_divergence,
            average_test,
        }
    }
}

pub(crate) fn serialize<S: Serializer>(
    locals: &[LocalFigures],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let column = |c: usize| {
        let mut values: Vec<f64> = locals.iter().map(|local| local.to_array()[c]).collect();
        if values.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()) {
            values.truncate(1);
        }
        Column(values)
    };
    Columns { peers: locals.len(), columns: std::array::from_fn(column) }.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<LocalFigures>, D::Error> {
    let Columns { peers, columns } = Columns::deserialize(deserializer)?;
    let whole = |Column(values): &Column| values.len() == peers || values.len() == 1;
    if !columns.iter().all(whole) {
        return Err(D::Error::custom("a column has neither one number nor one for each peer"));
    }
    let at = |i: usize| columns.each_ref().map(|Column(values)| values[i.min(values.len() - 1)]);
    Ok((0..peers).map(|i| LocalFigures::from_array(at(i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Kept(#[serde(with = "super")] Vec<LocalFigures>);

    #[test]
    fn figures_are_read_back_and_what_is_the_same_for_all_is_written_once() {
        let of =
            |risk| LocalFigures { risk, test: f64::NAN, train: 0.1, ..LocalFigures::default() };
        for figures in [vec![], vec![of(1.5)], vec![of(f64::INFINITY), of(0.5), of(0.25)]] {
            let json = serde_json::to_string(&Kept(figures.clone())).unwrap();
            let Kept(read) = serde_json::from_str(&json).unwrap();
            assert_eq!(format!("{read:?}"), format!("{figures:?}"));
            assert!(json.matches("NaN").count() <= 1, "{json}");
        }
        let short = r#"{"peers":3,"columns":[[1,2],[0],[0],[0],[0],[0],[0]]}"#;
        assert!(serde_json::from_str::<Kept>(short).is_err());
    }
}
