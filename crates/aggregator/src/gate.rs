//! The answers of a gate: whether numbers support a rule, contradict it, or do not decide.
//!
//! A rule on a rate passes if the bound that it names meets the limit. It fails if the other bound, which is the best that the rows allow,
//! does not meet the limit either. Otherwise the rows do not decide. Missing verdicts never help a rule: the bounds are those over all possible
//! values of the missing verdicts, from the first one on. Only up to the share [`GateRules::max_missing`](schema::gate::GateRules), 0 by
//! default, does the interval of the measured rows decide; the decision then says how many rows were left out.

use schema::{
    PhaseCost,
    gate::{GateAnswer, GateQuantity, GateRequirement, GateSide},
    numbers::{dollars, dollars_above, grouped, percent, percent_above, point_digits, rounded},
    statistics::{MissingRows, RateStatistics, SequentialRate},
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
    let (answer, reason) = match rate.at_every_look() {
        None => bounds_answer(require, lower, upper, &alike.counted(rate.scenarios)),
        Some(so_far) => answer_at_every_look(require, lower, upper, &so_far_words(so_far, alike)),
    };
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
    let share = percent_above(share, max_missing);
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
    let shown = |value| rate(value, limit);
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

/// `37 of 100 scenarios`.
fn so_far_words(so_far: SequentialRate, alike: AlikeBy) -> String {
    format!(
        "{} of {}",
        grouped(so_far.scenarios),
        alike.counted(so_far.of)
    )
}

/// Compares an interval that holds at every look with a limit. Its ends are on a grid, and what they exclude is excluded with the end.
fn answer_at_every_look(
    require: GateRequirement,
    lower: f64,
    upper: f64,
    scenarios: &str,
) -> (GateAnswer, String) {
    let limit = require.limit;
    let shown = |value| rate(value, limit);
    let is_lower = require.quantity == GateQuantity::Lower;
    match (lower >= limit, upper <= limit) {
        (true, false) => (
            GateAnswer::passes(is_lower),
            format!(
                "the rate is {} or more at every look, after {scenarios}",
                shown(lower)
            ),
        ),
        (false, true) => (
            GateAnswer::passes(!is_lower),
            format!(
                "the rate is {} or less at every look, after {scenarios}",
                shown(upper)
            ),
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
    let reason = match (evidence.rate.at_every_look(), answer) {
        (Some(so_far), GateAnswer::Pass | GateAnswer::Fail) => {
            format!(
                "{reason} at every look, after {}",
                so_far_words(so_far, alike)
            )
        }
        _ => reason,
    };
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
    let [lowest, highest] = [lower, upper].map(|end| point_digits_beside(end, limit));
    let at_least = format!("the difference is {} or more", in_points(&lowest));
    let at_most = format!("the difference is {} at most", in_points(&highest));
    let limit_text = limit_in_points(limit);
    match side {
        GateSide::AtLeast if lower >= limit => (GateAnswer::Pass, at_least),
        GateSide::AtLeast if upper < limit => {
            (GateAnswer::Fail, format!("{at_most}, below {limit_text}"))
        }
        GateSide::AtMost if upper <= limit => (GateAnswer::Pass, at_most),
        GateSide::AtMost if lower > limit => {
            (GateAnswer::Fail, format!("{at_least}, above {limit_text}"))
        }
        _ => (
            GateAnswer::Inconclusive,
            format!("{limit_text} is within {lowest} to {highest}: {says}"),
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
    let share = percent_above(found.missing_share, max_missing);
    let why = match found.samples_changed {
        true => "; the number of samples changed",
        false => "",
    };
    format!("whatever {words} would have been ({share}{why})")
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
        n => format!("; {} of them not run", grouped(n)),
    };
    let is_met = share <= limit;
    let (answer, share) = match is_met {
        true => (GateAnswer::Pass, percent(share)),
        false => (GateAnswer::Fail, percent_above(share, limit)),
    };
    let found = format!(
        "{} of {} without a verdict, {share}{not_run}",
        grouped(missing),
        counted(rows, "row", "rows")
    );
    (answer, found)
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
    match cost.cost {
        _ if known > limit => (GateAnswer::Fail, dollars_above(known, limit)),
        Some(_) => (GateAnswer::Pass, dollars(known)),
        None => (
            GateAnswer::Inconclusive,
            format!(
                "{} and {} of unknown price",
                dollars(known),
                counted(cost.unpriced_calls, "call", "calls")
            ),
        ),
    }
}

/// A rate with three decimals, or with as many more as it takes to tell it from `limit`.
fn rate(value: f64, limit: f64) -> String {
    distinguished(value, limit, 3)
}

/// The digits of a difference in percentage points, with as many decimals as it takes to tell it from `limit`.
fn point_digits_beside(value: f64, limit: f64) -> String {
    let digits = point_digits(value);
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    distinguished(value * 100.0, limit * 100.0, decimals)
}

/// A limit of a difference in percentage points, with all its decimals.
fn limit_in_points(limit: f64) -> String {
    let points = limit * 100.0;
    let is_exact = |decimals: &usize| {
        let scaled = points * 10_f64.powi(i32::try_from(*decimals).unwrap_or(i32::MAX));
        (scaled - scaled.round()).abs() < 1e-6
    };
    in_points(&rounded(points, (0..9).find(is_exact).unwrap_or(9)))
}

fn in_points(digits: &str) -> String {
    match digits.trim_start_matches('\u{2212}') {
        "1" => format!("{digits} point"),
        _ => format!("{digits} points"),
    }
}

/// `value` with `decimals`, or with as many more as it takes to tell it from `limit`.
fn distinguished(value: f64, limit: f64, decimals: usize) -> String {
    let differ = |decimals: &usize| rounded(value, *decimals) != rounded(limit, *decimals);
    let more = (decimals..12).find(differ).unwrap_or(decimals);
    rounded(value, more)
}

#[cfg(test)]
mod tests;
