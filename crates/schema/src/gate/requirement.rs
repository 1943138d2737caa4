//! The requirements of a gate's rules.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::Serialize;

use crate::nearest;

/// The quantity that a rule limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateQuantity {
    /// The lower end of the rate's 95% interval.
    Lower,
    /// The upper end of the rate's 95% interval.
    Upper,
    /// The rate minus that of the baseline.
    Difference,
    /// The share of rows without a verdict.
    Missing,
    /// Dollars for simulating and judging.
    Cost,
}

impl GateQuantity {
    /// All quantities.
    pub const ALL: [Self; 5] = [
        Self::Lower,
        Self::Upper,
        Self::Difference,
        Self::Missing,
        Self::Cost,
    ];

    /// The name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Difference => "difference",
            Self::Missing => "missing",
            Self::Cost => "cost",
        }
    }

    /// The sides that make sense for the quantity. For a difference, the side depends on whether the rate should be high
    /// or low.
    fn sides(self) -> &'static [GateSide] {
        match self {
            Self::Lower => &[GateSide::AtLeast],
            Self::Upper | Self::Missing | Self::Cost => &[GateSide::AtMost],
            Self::Difference => &[GateSide::AtLeast, GateSide::AtMost],
        }
    }

    /// What is wrong with a limit; `None` if it is valid. A limit that every row meets, or none can meet, decides
    /// nothing.
    fn wrong_limit(self, limit: f64) -> Option<&'static str> {
        let (is_right, expected) = match self {
            Self::Lower | Self::Upper => (0.0 < limit && limit < 1.0, "above 0 and below 1"),
            Self::Difference => (-1.0 < limit && limit < 1.0, "above -1 and below 1"),
            Self::Missing => ((0.0..1.0).contains(&limit), "from 0 and below 1"),
            Self::Cost => (limit.is_finite() && limit >= 0.0, "of dollars, 0 or more"),
        };
        (!is_right).then_some(expected)
    }
}

/// The required side of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSide {
    /// At the limit or above it.
    AtLeast,
    /// At the limit or below it.
    AtMost,
}

impl GateSide {
    /// The operator in rules.
    #[must_use]
    pub fn operator(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }
}

/// What a rule requires: `lower >= 0.8`.
///
/// ```
/// use schema::gate::GateRequirement;
///
/// let requirement: GateRequirement = "lower>=.80".parse()?;
/// assert_eq!(requirement.to_string(), "lower >= 0.8");
/// let error = "lowr >= 0.8".parse::<GateRequirement>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown quantity `lowr`; did you mean `lower`?");
/// # Ok::<(), schema::gate::GateRequirementError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String", inline)]
pub struct GateRequirement {
    /// The quantity that is compared with the limit.
    pub quantity: GateQuantity,
    /// The required side of the limit.
    pub side: GateSide,
    /// The limit: rates, differences and shares as numbers, not as percentages; costs in dollars.
    pub limit: f64,
}

/// Why a text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateRequirementError(String);

impl FromStr for GateRequirement {
    type Err = GateRequirementError;

    fn from_str(text: &str) -> Result<Self, GateRequirementError> {
        let error = |reason: String| Err(GateRequirementError(reason));
        let Some(at) = text.find(['<', '>', '=']) else {
            return error(format!(
                "expected a quantity, an operator and a number, such as `lower >= 0.8`, found `{text}`"
            ));
        };
        let (word, rest) = text.split_at(at);
        let number = rest.trim_start_matches(['<', '>', '=']);
        let operator = rest.strip_suffix(number).unwrap_or(rest);
        let (word, number) = (word.trim(), number.trim());
        let Some(quantity) = GateQuantity::ALL.into_iter().find(|all| all.name() == word) else {
            return error(unknown_quantity(word));
        };
        let sides = quantity.sides();
        let Some(side) = sides.iter().find(|side| side.operator() == operator) else {
            let known: Vec<String> = sides
                .iter()
                .map(|side| format!("`{}`", side.operator()))
                .collect();
            return error(format!(
                "`{word}` takes {}, found `{operator}`",
                known.join(" or ")
            ));
        };
        let limit = number.parse().unwrap_or(f64::NAN);
        match quantity.wrong_limit(limit) {
            None => Ok(Self {
                quantity,
                side: *side,
                limit,
            }),
            Some(expected) => error(format!(
                "`{word}`: expected a number {expected}, found `{number}`{}",
                meant_number(number)
            )),
        }
    }
}

/// The number that was probably meant by a percentage, a quoted number or one with a comma, as advice; empty if there is
/// none.
#[must_use]
pub fn meant_number(text: &str) -> String {
    let plain = text.trim_matches(['"', '\'']).replace(',', ".");
    let (number, percent) = match plain.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (plain.as_str(), false),
    };
    let Some(number) = number.parse::<f64>().ok().filter(|n| n.is_finite()) else {
        return String::new();
    };
    // 7% becomes 0.07, not 0.07000000000000001.
    let number = if percent {
        (number * 1e10).round() / 1e12
    } else {
        number
    };
    match plain == text && !percent {
        true => String::new(),
        false => format!("; did you mean `{number}`?"),
    }
}

fn unknown_quantity(word: &str) -> String {
    let names = GateQuantity::ALL.map(GateQuantity::name);
    match word {
        // A rate is not a bound: the rows support only its interval.
        "rate" | "estimate" | "score" => {
            format!("`{word}`: rules are on bounds, not on point rates; did you mean `lower`?")
        }
        _ => match nearest(word, names) {
            Some(near) => format!("unknown quantity `{word}`; did you mean `{near}`?"),
            None => format!(
                "unknown quantity `{word}`; known ones: {}",
                names.join(", ")
            ),
        },
    }
}

impl fmt::Display for GateRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, operator) = (self.quantity.name(), self.side.operator());
        write!(f, "{name} {operator} {}", self.limit)
    }
}

impl From<GateRequirement> for String {
    fn from(requirement: GateRequirement) -> Self {
        requirement.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_in_any_spacing() {
        for (text, expected) in [
            ("lower >= 0.8", "lower >= 0.8"),
            ("  upper<=.25 ", "upper <= 0.25"),
            ("difference >= -0.05", "difference >= -0.05"),
            ("difference >= +0.05", "difference >= 0.05"),
            ("difference <= 0.1", "difference <= 0.1"),
            ("missing <= 0", "missing <= 0"),
            ("cost <= 12.50", "cost <= 12.5"),
        ] {
            let read: GateRequirement = text.parse().unwrap();
            assert_eq!(read.to_string(), expected);
        }
    }

    #[test]
    fn what_decides_nothing_or_is_misspelled_is_refused() {
        for (text, expected) in [
            ("", "such as `lower >= 0.8`, found ``"),
            ("lower", "found `lower`"),
            (
                "rate >= 0.8",
                "rules are on bounds, not on point rates; did you mean `lower`?",
            ),
            (
                "mising <= 0.1",
                "unknown quantity `mising`; did you mean `missing`?",
            ),
            (
                "tokens <= 5",
                "known ones: lower, upper, difference, missing, cost",
            ),
            ("lower > 0.8", "`lower` takes `>=`, found `>`"),
            ("lower <= 0.8", "`lower` takes `>=`, found `<=`"),
            ("cost == 1", "`cost` takes `<=`, found `==`"),
            (
                "difference == 0",
                "`difference` takes `>=` or `<=`, found `==`",
            ),
            ("upper <= \"0.1\"", "found `\"0.1\"`; did you mean `0.1`?"),
            ("upper <= 0,1", "found `0,1`; did you mean `0.1`?"),
            ("upper <= 7 %", "found `7 %`; did you mean `0.07`?"),
            (
                "lower >= 80%",
                "expected a number above 0 and below 1, found `80%`; did you mean `0.8`?",
            ),
            ("lower >= 1", "above 0 and below 1, found `1`"),
            ("upper <= 0", "above 0 and below 1, found `0`"),
            ("lower >= NaN", "found `NaN`"),
            ("difference >= -1", "above -1 and below 1"),
            ("missing <= 1", "from 0 and below 1"),
            ("cost <= inf", "of dollars, 0 or more"),
            ("cost <= -1", "of dollars, 0 or more"),
            ("lower >= ", "found ``"),
        ] {
            let error = text.parse::<GateRequirement>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
