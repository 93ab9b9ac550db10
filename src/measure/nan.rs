//! JSON has no NaN: it is written as null and read back as the one NaN.

/// For single numbers.
pub(crate) mod nan_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A number, or null.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    /// A number, or NaN for null.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// For lists.
pub(crate) mod nans_as_nulls {
    use serde::{Deserialize, Deserializer, Serializer};

    /// A list of numbers and nulls.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub(crate) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| value.is_finite().then_some(*value)))
    }

    /// A list of numbers, NaN for null.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}
