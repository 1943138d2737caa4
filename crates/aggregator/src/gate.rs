//! The answers of a gate: whether numbers support a rule, contradict it, or do not decide.
//!
//! A rule on a rate passes if the bound that it names meets the limit. It fails if the other bound, which is the best that the rows allow,
//! does not meet the limit either. Otherwise the rows do not decide. Missing verdicts never help a rule: the bounds are those over all possible
//! values of the missing verdicts, from the first one on. Only up to the share [`GateRules::max_missing`](schema::gate::GateRules), 0 by
//! default, does the interval of the measured rows decide; the decision then says how many rows were left out.

use schema::{
    PhaseCost,
    gate::{GateAnswer, GateQuantity, GateRequirement, GateSide},
    numbers::{percent, rounded},
    statistics::{MissingRows, RateStatistics},
    text::counted,
};

use crate::statistics::{AlikeBy, GateComparison, float};

/// The numbers that a rule is evaluated on, for one target and scope.
#[derive(Clone, Copy, Debug)]
pub struct GateEvidence<'a> {
    /// The rate.
    pub rate: &'a RateStatistics,
    /// What makes its rows alike.
    pub alike: AlikeBy,
    /// Rows that were never made; `rate` counts them as missing.
    pub not_run: u64,
    /// The comparison with the baseline.
    pub baseline: BaselineEvidence<'a>,
    /// The cost in dollars, if known.
    pub cost: Option<PhaseCost>,
}

/// How the rate compares with that of a baseline.
#[derive(Clone, Copy, Debug)]
pub enum BaselineEvidence<'a> {
    /// There is no baseline of the target.
    NoTarget,
    /// The difference, if a scenario has a verdict on both sides.
    Compared(Option<&'a GateComparison>),
}

/// Whether a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateDecision {
    /// The answer.
    pub answer: GateAnswer,
    /// The reason, with the numbers that decided.
    pub reason: String,
    /// Rows that count as missing and that `max_missing` left out of the decision.
    pub left_out: u64,
}

impl From<(GateAnswer, String)> for GateDecision {
    fn from((answer, reason): (GateAnswer, String)) -> Self {
        Self {
            answer,
            reason,
            left_out: 0,
        }
    }
}

/// Returns whether `require` holds, and the reason.
#[must_use]
pub fn gate_answer(
    require: GateRequirement,
    max_missing: f64,
    evidence: &GateEvidence<'_>,
) -> GateDecision {
    let limit = require.limit;
    match require.quantity {
        GateQuantity::Lower | GateQuantity::Upper => rate_answer(require, max_missing, evidence),
        GateQuantity::Difference => difference_answer(require, max_missing, evidence),
        GateQuantity::Missing => missing_answer(limit, evidence).into(),
        GateQuantity::Cost => cost_answer(limit, evidence).into(),
    }
}

fn rate_answer(
    require: GateRequirement,
    max_missing: f64,
    evidence: &GateEvidence<'_>,
) -> GateDecision {
    let GateEvidence {
        rate,
        alike,
        not_run,
        ..
    } = *evidence;
    let undecided = |reason: String| (GateAnswer::Inconclusive, reason).into();
    let rows = rate.rows + rate.missing.unscored();
    let (Some(measured), Some(bounds)) = (rate.lower.zip(rate.upper), rate.bounds) else {
        return undecided(without_verdicts(rows, not_run));
    };
    if rate.scenarios == 1 {
        return undecided(format!("{} says nothing of others", alike.one()));
    }
    let missing = rate.missing.unscored() + rate.missing.incomplete;
    let share = float(missing) / float(rows);
    let is_let_go = share <= max_missing;
    let (lower, upper) = match is_let_go {
        true => measured,
        false => (bounds.lower, bounds.upper),
    };
    let (answer, reason) = bounds_answer(require, lower, upper, &alike.counted(rate.scenarios));
    if missing == 0 {
        return (answer, reason).into();
    }
    GateDecision {
        answer,
        reason: format!(
            "{reason}, {}",
            how_missing_count(rate.missing, share, max_missing)
        ),
        left_out: if is_let_go { missing } else { 0 },
    }
}

/// What the missing rows, this share of all, mean for a decision.
fn how_missing_count(missing: MissingRows, share: f64, max_missing: f64) -> String {
    let words = missing_words(missing);
    if share <= max_missing {
        return format!("with {words} left out ({})", percent(share));
    }
    let share = above(share, max_missing);
    let all = match missing.unscored() + missing.incomplete {
        1 => "the",
        _ => "all",
    };
    format!("if {all} {words} failed or passed ({share})")
}

fn without_verdicts(rows: u64, not_run: u64) -> String {
    match rows {
        0 => "no rows".to_owned(),
        rows if rows == not_run => format!("{}, and none was run", counted(rows, "row", "rows")),
        rows => format!("{} without any verdict", counted(rows, "row", "rows")),
    }
}

/// Compares an interval with a limit.
fn bounds_answer(
    require: GateRequirement,
    lower: f64,
    upper: f64,
    scenarios: &str,
) -> (GateAnswer, String) {
    let limit = require.limit;
    let shown = |value| number(value, limit);
    match require.quantity {
        GateQuantity::Upper if upper <= limit => (
            GateAnswer::Pass,
            format!("the upper bound is {}", shown(upper)),
        ),
        GateQuantity::Upper if lower > limit => (
            GateAnswer::Fail,
            format!("the lower bound is {}, above {limit}", shown(lower)),
        ),
        GateQuantity::Lower if lower >= limit => (
            GateAnswer::Pass,
            format!("the lower bound is {}", shown(lower)),
        ),
        GateQuantity::Lower if upper < limit => (
            GateAnswer::Fail,
            format!("the upper bound is {}, below {limit}", shown(upper)),
        ),
        _ => (
            GateAnswer::Inconclusive,
            format!(
                "{limit} is within {} to {}: {scenarios} do not decide",
                shown(lower),
                shown(upper)
            ),
        ),
    }
}

fn difference_answer(
    require: GateRequirement,
    max_missing: f64,
    evidence: &GateEvidence<'_>,
) -> GateDecision {
    let undecided = |reason: String| (GateAnswer::Inconclusive, reason).into();
    let alike = evidence.alike;
    let found = match evidence.baseline {
        BaselineEvidence::NoTarget => {
            return undecided("the baseline has no rows of this target".to_owned());
        }
        BaselineEvidence::Compared(None) => {
            let what = match alike {
                AlikeBy::BaseScenario => "scenario",
                AlikeBy::Case => "case",
            };
            return undecided(format!("no {what} has a verdict here and in the baseline"));
        }
        BaselineEvidence::Compared(Some(found)) => found,
    };
    if found.measured.scenarios == 1 {
        return undecided(format!("{} says nothing of others", alike.one()));
    }
    let missing = found.missing_here + found.missing_before;
    let is_let_go = found.missing_share <= max_missing;
    let (lower, upper) = match is_let_go {
        true => (found.measured.lower, found.measured.upper),
        false => (found.lower, found.upper),
    };
    let (answer, reason) = ends_answer(require, lower, upper, &found.measured.says);
    let reason = match missing {
        0 => reason,
        _ => format!("{reason}, {}", how_missing_compare(found, max_missing)),
    };
    GateDecision {
        answer,
        reason,
        left_out: if is_let_go { missing } else { 0 },
    }
}

/// Compares the ends of a difference's interval with a limit.
fn ends_answer(
    require: GateRequirement,
    lower: f64,
    upper: f64,
    says: &str,
) -> (GateAnswer, String) {
    let GateRequirement { side, limit, .. } = require;
    let shown = |value| number(value, limit);
    let at_least = format!("the difference is {} or more", shown(lower));
    let at_most = format!("the difference is {} at most", shown(upper));
    match side {
        GateSide::AtLeast if lower >= limit => (GateAnswer::Pass, at_least),
        GateSide::AtLeast if upper < limit => {
            (GateAnswer::Fail, format!("{at_most}, below {limit}"))
        }
        GateSide::AtMost if upper <= limit => (GateAnswer::Pass, at_most),
        GateSide::AtMost if lower > limit => {
            (GateAnswer::Fail, format!("{at_least}, above {limit}"))
        }
        _ => (
            GateAnswer::Inconclusive,
            format!(
                "{limit} is within {} to {}: {says}",
                shown(lower),
                shown(upper)
            ),
        ),
    }
}

/// What the missing rows of both sides mean for a decision.
fn how_missing_compare(found: &GateComparison, max_missing: f64) -> String {
    let words = |n: u64, place: &str| {
        (n > 0).then(|| {
            format!(
                "{} {place}",
                counted(n, "row without a verdict", "rows without a verdict")
            )
        })
    };
    let parts = [
        words(found.missing_here, "here"),
        words(found.missing_before, "in the baseline"),
    ];
    let words = parts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ");
    if found.missing_share <= max_missing {
        return format!("with {words} left out ({})", percent(found.missing_share));
    }
    let share = above(found.missing_share, max_missing);
    let why = match found.samples_changed {
        true => "; the number of samples changed",
        false => "",
    };
    format!("whatever {words} would have been ({share}{why})")
}

/// A share of missing rows and, unless that is 0, the limit that it is above, in percent: both with as many decimals as it takes to see it.
fn above(share: f64, limit: f64) -> String {
    if limit <= 0.0 {
        return percent(share);
    }
    let pairs = (0..6).map(|decimals| [share, limit].map(|n| rounded(n * 100.0, decimals)));
    let differ = pairs.into_iter().find(|[share, limit]| share != limit);
    let [share, limit] = differ.unwrap_or_else(|| [share, limit].map(|n| (n * 100.0).to_string()));
    format!("{share}%, more than {limit}%")
}

/// The rows that the bounds count as missing: rows without a verdict, and passed rows of negative metrics whose reply is
/// empty or cut off. `missing <= N` counts only the former, so each kind has its own words.
fn missing_words(missing: MissingRows) -> String {
    let unscored = |n| counted(n, "row without a verdict", "rows without a verdict");
    let incomplete = |n| counted(n, "empty or cut-off reply", "empty or cut-off replies");
    match (missing.unscored(), missing.incomplete) {
        (n, 0) => unscored(n),
        (0, n) => incomplete(n),
        (n, m) => format!("{} and {}", unscored(n), incomplete(m)),
    }
}

fn missing_answer(limit: f64, evidence: &GateEvidence<'_>) -> (GateAnswer, String) {
    let missing = evidence.rate.missing.unscored();
    let rows = evidence.rate.rows + missing;
    if rows == 0 {
        return (GateAnswer::Inconclusive, "no rows".to_owned());
    }
    let share = float(missing) / float(rows);
    let not_run = match evidence.not_run {
        0 => String::new(),
        n => format!("; {n} of them not run"),
    };
    let found = format!(
        "{missing} of {} without a verdict, {}{not_run}",
        counted(rows, "row", "rows"),
        number(share, limit)
    );
    match share <= limit {
        true => (GateAnswer::Pass, found),
        false => (GateAnswer::Fail, format!("{found}, above {limit}")),
    }
}

fn cost_answer(limit: f64, evidence: &GateEvidence<'_>) -> (GateAnswer, String) {
    let Some(cost) = evidence.cost else {
        let reason = match evidence.alike {
            AlikeBy::BaseScenario => "no cost.json says what the rows cost",
            AlikeBy::Case => "the file does not say what its rows cost",
        };
        return (GateAnswer::Inconclusive, reason.to_owned());
    };
    let known = cost.cost.or(cost.priced_cost).unwrap_or(0.0);
    let dollars = number(known, limit);
    match cost.cost {
        _ if known > limit => (GateAnswer::Fail, format!("${dollars}, above ${limit}")),
        Some(_) => (GateAnswer::Pass, format!("${dollars}")),
        None => (
            GateAnswer::Inconclusive,
            format!(
                "${dollars} and {} of unknown price",
                counted(cost.unpriced_calls, "call", "calls")
            ),
        ),
    }
}

/// A number with three decimals, or as many more as it needs to stay on the same side of `limit`.
fn number(value: f64, limit: f64) -> String {
    let texts = (3..16).map(|decimals| format!("{value:.decimals$}"));
    let keeps_its_side = |text: &String| {
        let shown = text.parse().unwrap_or(value);
        f64::total_cmp(&shown, &limit) == value.total_cmp(&limit)
    };
    let text = texts.into_iter().find(keeps_its_side);
    text.unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests;
