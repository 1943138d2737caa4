//! JSON as Inspect writes it: a score without a value is the bare word `NaN`.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::{Formatter, Serializer as JsonSerializer};

/// The value of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScoreValue {
    /// The score of a verdict.
    Known(f64),
    /// No verdict. Inspect keeps the score but counts it nowhere.
    Unscored,
}

impl Serialize for ScoreValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Whole numbers without ".0", as in the run's own files.
            Self::Known(0.0) => serializer.serialize_u8(0),
            Self::Known(1.0) => serializer.serialize_u8(1),
            Self::Known(value) => serializer.serialize_f64(*value),
            // serde_json writes the float NaN as null, which Inspect refuses. No other value in a log has 128
            // bits.
            Self::Unscored => serializer.serialize_u128(0),
        }
    }
}

/// Writes [`ScoreValue::Unscored`] as `NaN`.
struct WithNan;

impl Formatter for WithNan {
    fn write_u128<W: ?Sized + Write>(&mut self, writer: &mut W, _: u128) -> io::Result<()> {
        writer.write_all(b"NaN")
    }
}

/// Writes `value` without line breaks.
pub(super) fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = JsonSerializer::with_formatter(out, WithNan);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_without_a_value_is_nan() {
        let mut out = Vec::new();
        let values = [
            ScoreValue::Known(1.0),
            ScoreValue::Known(0.25),
            ScoreValue::Unscored,
        ];
        write(&mut out, &(values, None::<u8>)).unwrap();
        assert_eq!(out, b"[[1,0.25,NaN],null]");
    }
}
