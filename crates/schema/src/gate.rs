//! The gate: rules that the rates of a benchmark must meet, and the answers.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ModelId, PhaseCost, nearest,
    safety::results::SafetyRate,
    statistics::{DifferenceStatistics, MissingRows, RateStatistics},
};

/// What a `gate.yaml` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRules {
    /// The baseline's file, as it is written: relative to the folder of the rules.
    pub baseline: Option<String>,
    /// The largest share of missing verdicts, 0 to 1, at which an interval alone decides.
    pub max_missing: f64,
    /// The rules; at least one.
    pub rules: Vec<GateRule>,
}

impl GateRules {
    /// The version of the format that is read, a whole number.
    pub const FORMAT: &str = "1";
    /// [`GateRules::max_missing`] where the file has none.
    pub const MAX_MISSING: f64 = 0.05;

    /// Whether a rule compares with a baseline.
    #[must_use]
    pub fn need_baseline(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.require.quantity == GateQuantity::Difference)
    }
}

/// One rule of a `gate.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRule {
    /// What people call it.
    pub name: Option<String>,
    /// The rows it is about.
    pub scope: GateScope,
    /// The targets it is about; empty: all.
    pub targets: Vec<ModelId>,
    /// What must hold.
    pub require: GateRequirement,
}

/// The rows that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateScope {
    /// All rows of a target.
    All,
    /// The rows of positive metrics.
    Positive,
    /// The rows of negative metrics.
    Negative,
    /// The rows of each metric by itself.
    EachMetric,
    /// The rows of the metrics of a hazard, by its id.
    Hazard(String),
    /// The rows of a metric, by its id.
    Metric(String),
    /// Cases of safety results.
    Safety(SafetyScope, GroupScope),
}

/// A rate of safety results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SafetyScope {
    /// Failed conversations of the cases as they were given, without controls.
    Seed,
    /// Cases that were broken by any attempt, without controls.
    Broken,
    /// Conversations of controls that the target declined to answer.
    ControlsRefused,
    /// Failed conversations of all cases and layers.
    Attempts,
}

impl SafetyScope {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Seed,
        Self::Broken,
        Self::ControlsRefused,
        Self::Attempts,
    ];

    /// As rules and files spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Broken => "broken",
            Self::ControlsRefused => "controls_refused",
            Self::Attempts => "attempts",
        }
    }
}

/// The groups of safety results that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupScope {
    /// All groups together.
    All,
    /// Each group by itself.
    Each,
    /// One group, by its name.
    One(String),
}

impl GroupScope {
    /// As rules spell [`GroupScope::Each`].
    pub const EACH: &str = "each-group";
}

impl fmt::Display for GateScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Positive => f.write_str("positive"),
            Self::Negative => f.write_str("negative"),
            Self::EachMetric => f.write_str("each-metric"),
            Self::Hazard(id) => write!(f, "hazard {id}"),
            Self::Metric(id) => write!(f, "metric {id}"),
            Self::Safety(rate, GroupScope::All) => f.write_str(rate.name()),
            Self::Safety(rate, GroupScope::Each) => {
                write!(f, "{} of {}", rate.name(), GroupScope::EACH)
            }
            Self::Safety(rate, GroupScope::One(name)) => write!(f, "{} of {name}", rate.name()),
        }
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateQuantity {
    /// The lower end of the rate's 95% interval.
    Lower,
    /// The upper end of the rate's 95% interval.
    Upper,
    /// The rate less that of the baseline.
    Difference,
    /// The share of rows without a verdict.
    Missing,
    /// Dollars for simulating and judging.
    Cost,
}

impl GateQuantity {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Lower,
        Self::Upper,
        Self::Difference,
        Self::Missing,
        Self::Cost,
    ];

    /// As rules spell it.
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

    /// The sides that make sense of it. What a difference has to be depends on whether the rate should be high or low.
    fn sides(self) -> &'static [GateSide] {
        match self {
            Self::Lower => &[GateSide::AtLeast],
            Self::Upper | Self::Missing | Self::Cost => &[GateSide::AtMost],
            Self::Difference => &[GateSide::AtLeast, GateSide::AtMost],
        }
    }

    /// What is wrong with a limit; `None` where nothing is. A limit that every row meets, or none can, decides nothing.
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

/// On which side of its limit a number has to be.
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
    /// What is held against the limit.
    pub quantity: GateQuantity,
    /// On which side of the limit it has to be.
    pub side: GateSide,
    /// The limit: rates, differences and shares as numbers and not in percent, costs in dollars.
    pub limit: f64,
}

/// Why a text is no requirement.
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

/// The number that people meant by a percentage, by one in quotes or with a comma, as advice; empty where there is none.
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
    // 7% is 0.07, and not 0.07000000000000001.
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
        // A rate is no bound: what the rows support is its interval.
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

/// What a gate says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum GateAnswer {
    /// The bound supports the rule.
    Pass,
    /// Neither: the rows do not decide.
    Inconclusive,
    /// The other bound contradicts the rule, or a share or cost is above its limit.
    Fail,
}

impl GateAnswer {
    /// The answer of several: the worst, where failing is worse than not knowing. Of none: nothing is known.
    #[must_use]
    pub fn of(answers: impl IntoIterator<Item = Self>) -> Self {
        answers.into_iter().max().unwrap_or(Self::Inconclusive)
    }

    /// As files spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// Which rates are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BetterRate {
    /// Pass rates of a benchmark.
    #[default]
    Higher,
    /// Rates of safety results, which count failures.
    Lower,
}

/// What a gate says of one benchmark, or of the safety results of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateReport {
    /// The benchmark's folder; `safety-single-turn` or `safety-multi-turn` of safety results.
    pub benchmark: String,
    /// Which rates are good: `higher` of a benchmark, `lower` of safety results.
    pub better: BetterRate,
    /// The answer of all rules: `fail` where one fails, else `inconclusive` where one is, else `pass`.
    pub answer: GateAnswer,
    /// The baseline's file; null where no rule compares with one.
    pub baseline: Option<String>,
    /// Each rule for each of its targets and metrics, by target and in the order of the rules.
    pub results: Vec<GateResult>,
}

/// One rule for one target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateResult {
    /// The target.
    pub target: ModelId,
    /// The rule's number in the file, from 1.
    pub rule: usize,
    /// What the rule is called; null where it has no name.
    pub name: Option<String>,
    /// `all`, `positive`, `negative`, `hazard ID` or `metric ID`; of safety results `seed`, `broken`, `controls_refused` or `attempts`, with
    /// ` of GROUP` where it is of one group.
    pub scope: String,
    /// What must hold: `lower >= 0.8`.
    pub requires: GateRequirement,
    /// The answer.
    pub answer: GateAnswer,
    /// Why, with the numbers that decided.
    pub reason: String,
    /// The rate and its interval. Scenarios that have no row yet are in `missing.failed`.
    pub rate: GateRate,
    /// Rows of scenarios that the target has no row of, or safety cases that were not run; `rate` counts them as missing.
    pub not_run: u64,
    /// The difference to the baseline: `rate_a` is the target's rate now, `rate_b` that of the baseline. Null where the rule asks for none,
    /// or nothing can be compared.
    pub difference: Option<DifferenceStatistics>,
    /// What simulating and judging cost; null where the rule does not ask, or it is not known.
    pub cost: Option<PhaseCost>,
}

/// The rate that a rule was held against.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GateRate {
    /// The pass rate of rows of a benchmark.
    Passed(RateStatistics),
    /// How many rows of safety results failed, were broken or refused.
    Failed(SafetyRate),
}

impl GateRate {
    /// The rate, 0 to 1; `None` without rows.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        match self {
            Self::Passed(rate) => rate.estimate,
            Self::Failed(rate) => rate.estimate,
        }
    }

    /// The ends of its 95% interval.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Self::Passed(rate) => rate.lower.zip(rate.upper),
            Self::Failed(rate) => rate.lower.zip(rate.upper),
        }
    }

    /// Rows with a verdict.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self {
            Self::Passed(rate) => rate.rows,
            Self::Failed(rate) => rate.rows,
        }
    }

    /// Rows without one.
    #[must_use]
    pub fn missing(&self) -> MissingRows {
        match self {
            Self::Passed(rate) => rate.missing,
            Self::Failed(rate) => rate.missing,
        }
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

    #[test]
    fn the_worst_answer_is_that_of_all() {
        use GateAnswer::{Fail, Inconclusive, Pass};
        assert_eq!(GateAnswer::of([Pass, Pass]), Pass);
        assert_eq!(GateAnswer::of([Pass, Inconclusive]), Inconclusive);
        assert_eq!(GateAnswer::of([Fail, Inconclusive, Pass]), Fail);
        assert_eq!(GateAnswer::of([]), Inconclusive);
    }
}
