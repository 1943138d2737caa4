//! The gate: rules that the rates of a benchmark must meet, and the answers.

mod requirement;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Finding, Hazard, MetricType, ModelId, PhaseCost, TargetBasis,
    safety::results::SafetyRate,
    statistics::{DifferenceStatistics, MissingRows, RateStatistics},
};

pub use self::requirement::{
    GateQuantity, GateRequirement, GateRequirementError, GateSide, meant_number,
};

/// The content of a `gate.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRules {
    /// The baseline's file as written in the rules: relative to their folder.
    pub baseline: Option<String>,
    /// The largest share of missing verdicts, 0 to 1, that is left out of a decision. Above it, the bounds over all possible values of
    /// the missing verdicts decide.
    pub max_missing: f64,
    /// The rules; at least one.
    pub rules: Vec<GateRule>,
}

impl GateRules {
    /// The version of the format that is read, a whole number.
    pub const FORMAT: &str = "1";
    /// The default of [`GateRules::max_missing`]: missing verdicts always count against a rule.
    pub const MAX_MISSING: f64 = 0.0;

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
    /// The name for people.
    pub name: Option<String>,
    /// The rows that the rule applies to.
    pub scope: GateScope,
    /// The targets that the rule applies to; empty: all.
    pub targets: Vec<ModelId>,
    /// The requirement.
    pub require: GateRequirement,
}

/// The rows that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateScope {
    /// All rows of a target.
    All,
    /// The rows of positive metrics.
    Positive,
    /// The rows of negative metrics.
    Negative,
    /// The rows of each metric separately.
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
    /// Failed conversations of the original cases, without controls.
    Seed,
    /// Cases that were broken by any attempt, without controls.
    Broken,
    /// Conversations of controls that the target declined to answer.
    ControlsRefused,
    /// Failed conversations of all cases and layers.
    Attempts,
}

impl SafetyScope {
    /// All rates.
    pub const ALL: [Self; 4] = [
        Self::Seed,
        Self::Broken,
        Self::ControlsRefused,
        Self::Attempts,
    ];

    /// The name in rules and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Broken => "broken",
            Self::ControlsRefused => "controls_refused",
            Self::Attempts => "attempts",
        }
    }

    /// This rate of one group: `seed of fraud`.
    #[must_use]
    pub fn of_group(self, group: &str) -> String {
        format!("{} of {group}", self.name())
    }

    /// The group of a name that [`of_group`](Self::of_group) made of this rate.
    #[must_use]
    pub fn group_of(self, of_group: &str) -> Option<&str> {
        of_group.strip_prefix(self.name())?.strip_prefix(" of ")
    }
}

/// The groups of safety results that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupScope {
    /// All groups together.
    All,
    /// Each group separately.
    Each,
    /// One group, by its name.
    One(String),
}

impl GroupScope {
    /// The spelling of [`GroupScope::Each`] in rules.
    pub const EACH: &str = "each-group";
}

impl GateScope {
    /// Whether the rows of a metric of a benchmark belong to it. `hazards` are the benchmark's. Of safety results, a rate of one group is a
    /// metric: [`SafetyScope::of_group`].
    #[must_use]
    pub fn has(&self, metric: &str, metric_type: MetricType, hazards: &[Hazard]) -> bool {
        match self {
            Self::All | Self::EachMetric => true,
            Self::Positive => metric_type == MetricType::Positive,
            Self::Negative => metric_type == MetricType::Negative,
            Self::Metric(id) => id == metric,
            Self::Hazard(id) => {
                let mut hazards = hazards.iter();
                let hazard = hazards.find(|hazard| hazard.id == *id);
                hazard.is_some_and(|hazard| hazard.metrics.iter().any(|of| of == metric))
            }
            Self::Safety(rate, group) => match (rate.group_of(metric), group) {
                (Some(_), GroupScope::All | GroupScope::Each) => true,
                (Some(of), GroupScope::One(name)) => of == name,
                (None, _) => false,
            },
        }
    }
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
            Self::Safety(rate, GroupScope::Each) => f.write_str(&rate.of_group(GroupScope::EACH)),
            Self::Safety(rate, GroupScope::One(name)) => f.write_str(&rate.of_group(name)),
        }
    }
}

/// The answer of a gate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum GateAnswer {
    /// The bound supports the rule.
    Pass,
    /// Neither: the rows are not enough to decide.
    Inconclusive,
    /// The other bound contradicts the rule, or a share or cost is above its limit.
    Fail,
}

impl GateAnswer {
    /// The worst of several answers: `Fail`, then `Inconclusive`, then `Pass`. `Inconclusive` if there are none.
    #[must_use]
    pub fn of(answers: impl IntoIterator<Item = Self>) -> Self {
        answers.into_iter().max().unwrap_or(Self::Inconclusive)
    }

    /// `Pass` or `Fail`.
    #[must_use]
    pub fn passes(is_met: bool) -> Self {
        match is_met {
            true => Self::Pass,
            false => Self::Fail,
        }
    }

    /// The name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// Whether high or low rates are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BetterRate {
    /// Pass rates of a benchmark.
    #[default]
    Higher,
    /// Rates of safety results, which count failures.
    Lower,
}

/// The answers of a gate for one benchmark, or for the safety results of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateReport {
    /// The benchmark's folder; for safety results, `safety-single-turn` or `safety-multi-turn`.
    pub benchmark: String,
    /// Which rates are good: `higher` for a benchmark, `lower` for safety results.
    pub better: BetterRate,
    /// The answer of all rules: `fail` if one fails, otherwise `inconclusive` if one is, otherwise `pass`.
    pub answer: GateAnswer,
    /// The baseline's file; null if no rule compares with one.
    pub baseline: Option<String>,
    /// What the rows rest on: the age of each target's replies, and models that are assumed to be free. A target of which nothing is on
    /// record is left out.
    pub basis: Vec<TargetBasis>,
    /// What limits the answers, the worst first.
    pub findings: Vec<Finding>,
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
    /// The rule's name; null if it has none.
    pub name: Option<String>,
    /// `all`, `positive`, `negative`, `hazard ID` or `metric ID`; for safety results `seed`, `broken`, `controls_refused` or `attempts`,
    /// followed by ` of GROUP` if the rule applies to one group.
    pub scope: String,
    /// The requirement: `lower >= 0.8`.
    pub requires: GateRequirement,
    /// The answer.
    pub answer: GateAnswer,
    /// The reason, with the numbers that decided.
    pub reason: String,
    /// The rate and its interval. Scenarios without a row count in `missing.failed`.
    pub rate: GateRate,
    /// Rows that count as missing and that `max_missing` of the rules left out of the answer; 0 if the bounds over their possible verdicts
    /// decided.
    pub left_out: u64,
    /// Missing rows of scenarios without any row of the target, or safety cases that were not run; `rate` counts them as missing.
    pub not_run: u64,
    /// The difference from the baseline over the verdicts of both: `rate_a` is the target's current rate, `rate_b` that of the baseline. It is
    /// corrected over the targets and metrics of the rule. Null if the rule does not need it, or nothing can be compared.
    pub difference: Option<DifferenceStatistics>,
    /// The interval of the difference that decided: over all possible verdicts of the missing rows of both, or where `max_missing` left these
    /// out, that of `difference`. Null where `difference` is.
    pub difference_bounds: Option<DifferenceBounds>,
    /// What simulating and judging cost; null if the rule does not need it, or it is unknown.
    pub cost: Option<PhaseCost>,
}

impl GateResult {
    /// The interval that a rule on a rate was checked against: the bounds over all possible values of the missing verdicts, or where
    /// `max_missing` left these out, the interval of the rows with a verdict. `None` without such rows.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let measured = self.rate.interval()?;
        match self.left_out {
            0 => self.rate.bounds().or(Some(measured)),
            _ => Some(measured),
        }
    }
}

/// The ends of an interval of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DifferenceBounds {
    /// The lower end, -1 to 1.
    pub lower: f64,
    /// The upper end, -1 to 1.
    pub upper: f64,
}

/// The rate that a rule was checked against.
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

    /// The ends of the 95% interval.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Self::Passed(rate) => rate.lower.zip(rate.upper),
            Self::Failed(rate) => rate.lower.zip(rate.upper),
        }
    }

    /// The ends of the 95% interval over all possible values of the missing verdicts.
    #[must_use]
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let bounds = match self {
            Self::Passed(rate) => rate.bounds,
            Self::Failed(rate) => rate.bounds,
        };
        bounds.map(|bounds| (bounds.lower, bounds.upper))
    }

    /// Rows with a verdict.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self {
            Self::Passed(rate) => rate.rows,
            Self::Failed(rate) => rate.rows,
        }
    }

    /// Rows without a verdict.
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
    fn the_worst_answer_is_that_of_all() {
        use GateAnswer::{Fail, Inconclusive, Pass};
        assert_eq!(GateAnswer::of([Pass, Pass]), Pass);
        assert_eq!(GateAnswer::of([Pass, Inconclusive]), Inconclusive);
        assert_eq!(GateAnswer::of([Fail, Inconclusive, Pass]), Fail);
        assert_eq!(GateAnswer::of([]), Inconclusive);
    }
}
