//! The answers of a gate: whether numbers support a rule, contradict it, or do not decide.
//!
//! A rule on a rate passes if the bound that it names meets the limit. It fails if the other bound, which is the best that the rows allow,
//! does not meet the limit either. Otherwise the rows do not decide. Missing verdicts never help a rule: the bounds are those over all possible
//! values of the missing verdicts, from the first one on. Only up to the share [`GateRules::max_missing`](schema::gate::GateRules), 0 by
//! default, does the interval of the measured rows decide; the decision then says how many rows were left out.

use schema::{
    PhaseCost,
    gate::{GateAnswer, GateQuantity, GateRequirement, GateSide},
    statistics::{DifferenceStatistics, MissingRows, RateStatistics},
    text::counted,
};

use crate::statistics::{AlikeBy, float};

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
    /// The difference, if a scenario has a verdict on both sides, and how many scenarios and metrics have one in the baseline alone.
    Compared(Option<&'a DifferenceStatistics>, u64),
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
        GateQuantity::Difference => difference_answer(require, max_missing, evidence).into(),
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
    let more = match max_missing > 0.0 {
        true => format!(", more than {}", percent(max_missing)),
        false => String::new(),
    };
    let all = match missing.unscored() + missing.incomplete {
        1 => "the",
        _ => "all",
    };
    format!(
        "if {all} {words} failed or passed ({}{more})",
        percent(share)
    )
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
) -> (GateAnswer, String) {
    let undecided = |reason: String| (GateAnswer::Inconclusive, reason);
    let alike = evidence.alike;
    let (found, lost) = match evidence.baseline {
        BaselineEvidence::NoTarget => {
            return undecided("the baseline has no rows of this target".to_owned());
        }
        BaselineEvidence::Compared(None, _) => {
            let what = match alike {
                AlikeBy::BaseScenario => "scenario",
                AlikeBy::Case => "case",
            };
            return undecided(format!("no {what} has a verdict here and in the baseline"));
        }
        BaselineEvidence::Compared(Some(found), lost) => (found, lost),
    };
    if found.scenarios == 1 {
        return undecided(format!("{} says nothing of others", alike.one()));
    }
    let share = float(lost) / float(lost + found.units);
    if share > max_missing {
        return undecided(format!(
            "{lost} of {} units with a verdict in the baseline have none here ({}, more than {})",
            lost + found.units,
            percent(share),
            percent(max_missing)
        ));
    }
    compared_answer(require, found)
}

/// Compares the interval of a difference, and its p-value, with a limit.
fn compared_answer(require: GateRequirement, found: &DifferenceStatistics) -> (GateAnswer, String) {
    let GateRequirement { side, limit, .. } = require;
    let shown = |value| number(value, limit);
    let (lower, upper) = (found.lower, found.upper);
    let is_high = side == GateSide::AtLeast;
    // Whether the interval supports the rule, and whether it contradicts it.
    let (holds, misses) = match is_high {
        true => (lower >= limit, upper < limit),
        false => (upper <= limit, lower > limit),
    };
    // Whether the limit says how much worse the target may get, or how much better it has to get.
    let allows_worse = if is_high { limit < 0.0 } else { limit > 0.0 };
    let asks_better = if is_high { limit > 0.0 } else { limit < 0.0 };
    let at_least = format!("the difference is {} or more", shown(lower));
    let at_most = format!("the difference is {} at most", shown(upper));
    // An answer that says that the two differ also needs the corrected p-value.
    let differ = found.differs();
    let p = match found.p_corrected {
        Some(p) => format!("p {p:.3} (corrected)"),
        None => "no p-value".to_owned(),
    };
    if holds && (allows_worse || differ) {
        (GateAnswer::Pass, if is_high { at_least } else { at_most })
    } else if misses && (asks_better || differ) {
        let missed = match is_high {
            true => format!("{at_most}, below {limit}"),
            false => format!("{at_least}, above {limit}"),
        };
        let shown_by = match asks_better {
            true => String::new(),
            false => format!("; {p}"),
        };
        (GateAnswer::Fail, format!("{missed}{shown_by}"))
    } else {
        let reason = match holds || misses {
            true => format!(
                "{} to {} leaves {limit} out, and {p} does not show it",
                shown(lower),
                shown(upper)
            ),
            false => format!(
                "{limit} is within {} to {}: {}",
                shown(lower),
                shown(upper),
                found.says
            ),
        };
        (GateAnswer::Inconclusive, reason)
    }
}

/// The rows that the bounds count as missing: rows without a verdict, and passed rows of negative metrics whose reply is
/// empty or cut off. `missing <= N` counts only the former, so each kind has its own words.
fn missing_words(missing: MissingRows) -> String {
    let unscored = |n| counted(n, "missing verdict", "missing verdicts");
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

/// A share in percent with one decimal.
fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests;
