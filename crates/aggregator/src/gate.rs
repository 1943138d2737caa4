//! The answers of a gate: whether numbers support a rule, contradict it, or do not decide.
//!
//! A rule on a rate passes where the bound that it names meets the limit, and fails where the other bound contradicts it: where even the
//! best that the rows allow does not meet the limit. In between, the rows do not decide. Missing verdicts never help a rule: above
//! [`GateRules::max_missing`](schema::gate::GateRules) the bounds over everything that they could have been take the interval's place.

use schema::{
    PhaseCost,
    gate::{GateAnswer, GateQuantity, GateRequirement, GateSide},
    statistics::{DifferenceStatistics, MissingRows, RateStatistics},
    text::counted,
};

use crate::statistics::{AlikeBy, DIFFER, float};

/// What a rule is held against, for one target and scope.
#[derive(Clone, Copy, Debug)]
pub struct GateEvidence<'a> {
    /// The rate.
    pub rate: &'a RateStatistics,
    /// What its rows are alike by.
    pub alike: AlikeBy,
    /// Rows that were never made; `rate` counts them as missing.
    pub not_run: u64,
    /// The comparison with the baseline.
    pub baseline: BaselineEvidence<'a>,
    /// Dollars, where they are known.
    pub cost: Option<PhaseCost>,
}

/// How the rate compares with that of a baseline.
#[derive(Clone, Copy, Debug)]
pub enum BaselineEvidence<'a> {
    /// There is no baseline of the target.
    NoTarget,
    /// The difference, where a scenario has a verdict on both sides, and how many scenarios and metrics have one in the baseline alone.
    Compared(Option<&'a DifferenceStatistics>, u64),
}

/// Whether `require` holds, and why.
#[must_use]
pub fn gate_answer(
    require: GateRequirement,
    max_missing: f64,
    evidence: &GateEvidence<'_>,
) -> (GateAnswer, String) {
    let limit = require.limit;
    match require.quantity {
        GateQuantity::Lower | GateQuantity::Upper => rate_answer(require, max_missing, evidence),
        GateQuantity::Difference => difference_answer(require, max_missing, evidence),
        GateQuantity::Missing => missing_answer(limit, evidence),
        GateQuantity::Cost => cost_answer(limit, evidence),
    }
}

fn rate_answer(
    require: GateRequirement,
    max_missing: f64,
    evidence: &GateEvidence<'_>,
) -> (GateAnswer, String) {
    let GateEvidence {
        rate,
        alike,
        not_run,
        ..
    } = *evidence;
    let undecided = |reason: String| (GateAnswer::Inconclusive, reason);
    let rows = rate.rows + rate.missing.unscored();
    let (Some(lower), Some(upper)) = (rate.lower, rate.upper) else {
        return undecided(without_verdicts(rows, not_run));
    };
    if rate.scenarios == 1 {
        return undecided(format!("{} says nothing of others", alike.one()));
    }
    let missing = rate.missing.unscored() + rate.missing.incomplete;
    let share = float(missing) / float(rows);
    let bounds = rate.bounds.filter(|_| share > max_missing);
    let (lower, upper) = bounds.map_or((lower, upper), |bounds| (bounds.lower, bounds.upper));
    let (answer, reason) = bounds_answer(require, lower, upper, &alike.counted(rate.scenarios));
    match bounds {
        None => (answer, reason),
        Some(_) => (
            answer,
            format!(
                "{reason}, if all {} failed or passed ({}, more than {})",
                missing_words(rate.missing),
                percent(share),
                percent(max_missing)
            ),
        ),
    }
}

fn without_verdicts(rows: u64, not_run: u64) -> String {
    match rows {
        0 => "no rows".to_owned(),
        rows if rows == not_run => format!("{}, and none was run", counted(rows, "row", "rows")),
        rows => format!("{} without any verdict", counted(rows, "row", "rows")),
    }
}

/// What an interval says of a limit.
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

/// What the interval of a difference and its p-value say of a limit.
fn compared_answer(require: GateRequirement, found: &DifferenceStatistics) -> (GateAnswer, String) {
    let GateRequirement { side, limit, .. } = require;
    let shown = |value| number(value, limit);
    let (lower, upper) = (found.lower, found.upper);
    let is_high = side == GateSide::AtLeast;
    // The ends that support the rule and contradict it.
    let (holds, misses) = match is_high {
        true => (lower >= limit, upper < limit),
        false => (upper <= limit, lower > limit),
    };
    // A limit of what is allowed to get worse, and not of what has to get better.
    let allows_worse = if is_high { limit < 0.0 } else { limit > 0.0 };
    let asks_better = if is_high { limit > 0.0 } else { limit < 0.0 };
    let at_least = format!("the difference is {} or more", shown(lower));
    let at_most = format!("the difference is {} at most", shown(upper));
    // What says that the two differ needs the corrected p-value too.
    let differ = found.p_holm <= DIFFER;
    let p = format!("p {:.3} after Holm's correction", found.p_holm);
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

/// The rows that the bounds take for missing: those without a verdict, and passed ones of negative metrics whose reply is
/// empty or cut off. `missing <= N` counts only the first, so each has words of its own.
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

/// A number with three decimals, or as many more as it takes to stand on the same side of `limit`.
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
mod tests {
    use schema::statistics::RateBounds;

    use super::*;

    fn rate(lower: f64, upper: f64) -> RateStatistics {
        RateStatistics {
            rows: 100,
            passed: 80,
            scenarios: 25,
            estimate: Some(0.8),
            lower: Some(lower),
            upper: Some(upper),
            ..RateStatistics::default()
        }
    }

    fn missing(rate: RateStatistics, failed: u64, bounds: (f64, f64)) -> RateStatistics {
        RateStatistics {
            missing: MissingRows {
                failed,
                ..rate.missing
            },
            bounds: Some(RateBounds {
                lowest: 0.0,
                highest: 1.0,
                lower: bounds.0,
                upper: bounds.1,
            }),
            ..rate
        }
    }

    fn difference(lower: f64, upper: f64, p_holm: f64) -> DifferenceStatistics {
        DifferenceStatistics {
            units: 40,
            unmatched: 0,
            scenarios: 20,
            rate_a: 0.7,
            rate_b: 0.8,
            difference: f64::midpoint(lower, upper),
            lower,
            upper,
            effective_rows_a: 20.0,
            effective_rows_b: 20.0,
            correlation: 0.0,
            p_value: p_holm,
            p_holm,
            test: "normal".to_owned(),
            says: "no difference shown".to_owned(),
        }
    }

    fn evidence(rate: &RateStatistics) -> GateEvidence<'_> {
        GateEvidence {
            rate,
            alike: AlikeBy::BaseScenario,
            not_run: 0,
            baseline: BaselineEvidence::NoTarget,
            cost: None,
        }
    }

    #[track_caller]
    fn check(require: &str, evidence: &GateEvidence<'_>, answer: GateAnswer, reason: &str) {
        let found = gate_answer(require.parse().unwrap(), 0.05, evidence);
        assert_eq!(found, (answer, reason.to_owned()), "{require}");
    }

    use GateAnswer::{Fail, Inconclusive, Pass};

    #[test]
    fn a_bound_supports_a_rule_and_the_other_contradicts_it() {
        for (require, lower, upper, answer, reason) in [
            ("lower >= 0.8", 0.8, 0.9, Pass, "the lower bound is 0.800"),
            (
                "lower >= 0.8",
                0.7,
                0.799_96,
                Fail,
                "the upper bound is 0.79996, below 0.8",
            ),
            (
                "lower >= 0.8",
                0.7,
                0.8,
                Inconclusive,
                "0.8 is within 0.700 to 0.800: 25 scenarios do not decide",
            ),
            (
                "lower >= 0.8",
                0.799_999,
                0.9,
                Inconclusive,
                "0.8 is within 0.799999 to 0.900: 25 scenarios do not decide",
            ),
            ("upper <= 0.2", 0.1, 0.2, Pass, "the upper bound is 0.200"),
            (
                "upper <= 0.2",
                0.25,
                0.5,
                Fail,
                "the lower bound is 0.250, above 0.2",
            ),
            (
                "upper <= 0.2",
                0.2,
                0.5,
                Inconclusive,
                "0.2 is within 0.200 to 0.500: 25 scenarios do not decide",
            ),
        ] {
            check(require, &evidence(&rate(lower, upper)), answer, reason);
        }
    }

    #[test]
    fn what_says_nothing_decides_nothing() {
        let none = RateStatistics::default();
        check("lower >= 0.1", &evidence(&none), Inconclusive, "no rows");
        let unscored = missing(RateStatistics::default(), 12, (0.0, 1.0));
        check(
            "lower >= 0.1",
            &evidence(&unscored),
            Inconclusive,
            "12 rows without any verdict",
        );
        let not_run = GateEvidence {
            not_run: 12,
            ..evidence(&unscored)
        };
        check(
            "lower >= 0.1",
            &not_run,
            Inconclusive,
            "12 rows, and none was run",
        );
        let one = RateStatistics {
            scenarios: 1,
            ..rate(0.0, 0.05)
        };
        let reason = "one base scenario says nothing of others";
        check("lower >= 0.1", &evidence(&one), Inconclusive, reason);
    }

    #[test]
    fn missing_verdicts_never_help() {
        // 5 of 105 are 4.8%: the interval decides. 6 of 106 are 5.7%: the bounds do.
        let few = missing(rate(0.85, 0.95), 5, (0.75, 0.97));
        check(
            "lower >= 0.8",
            &evidence(&few),
            Pass,
            "the lower bound is 0.850",
        );
        let many = missing(rate(0.85, 0.95), 6, (0.75, 0.97));
        let reason = "0.8 is within 0.750 to 0.970: 25 scenarios do not decide, if all 6 missing verdicts failed or passed (5.7%, more \
                      than 5.0%)";
        check("lower >= 0.8", &evidence(&many), Inconclusive, reason);
        let still = missing(rate(0.9, 0.95), 6, (0.81, 0.97));
        let reason = "the lower bound is 0.810, if all 6 missing verdicts failed or passed (5.7%, more than 5.0%)";
        check("lower >= 0.8", &evidence(&still), Pass, reason);
        // Passed rows of negative metrics whose reply is empty are missing here too.
        let mut empty = rate(0.85, 0.95);
        empty.missing.incomplete = 6;
        let empty = missing(empty, 0, (0.7, 0.97));
        let found = gate_answer("lower >= 0.8".parse().unwrap(), 0.05, &evidence(&empty));
        assert_eq!(found.0, Inconclusive, "{}", found.1);
        assert!(
            found
                .1
                .contains("if all 6 empty or cut-off replies failed or passed (6.0%"),
            "{}",
            found.1
        );
        assert_eq!(
            missing_words(MissingRows {
                failed: 2,
                abstained: 1,
                incomplete: 1,
                ..MissingRows::default()
            }),
            "3 missing verdicts and 1 empty or cut-off reply"
        );
    }

    #[test]
    fn a_difference_needs_the_corrected_p_value_where_it_says_that_rates_differ() {
        let same = "no difference shown";
        for (require, lower, upper, p, answer, reason) in [
            ("difference >= -0.1", -0.08, 0.2, 1.0, Pass, "the difference is -0.080 or more".to_owned()),
            (
                "difference >= -0.1",
                -0.4,
                -0.15,
                0.012,
                Fail,
                "the difference is -0.150 at most, below -0.1; p 0.012 after Holm's correction".to_owned(),
            ),
            (
                "difference >= -0.1",
                -0.4,
                -0.15,
                0.06,
                Inconclusive,
                "-0.400 to -0.150 leaves -0.1 out, and p 0.060 after Holm's correction does not show it".to_owned(),
            ),
            (
                "difference >= -0.1",
                -0.2,
                0.1,
                1.0,
                Inconclusive,
                format!("-0.1 is within -0.200 to 0.100: {same}"),
            ),
            ("difference >= 0.1", 0.15, 0.3, 0.01, Pass, "the difference is 0.150 or more".to_owned()),
            (
                "difference >= 0.1",
                0.15,
                0.3,
                0.2,
                Inconclusive,
                "0.150 to 0.300 leaves 0.1 out, and p 0.200 after Holm's correction does not show it".to_owned(),
            ),
            // That an improvement is not reached says nothing of a difference.
            (
                "difference >= 0.1",
                -0.05,
                0.05,
                1.0,
                Fail,
                "the difference is 0.050 at most, below 0.1".to_owned(),
            ),
            ("difference >= 0", 0.01, 0.3, 0.2, Inconclusive,
                "0.010 to 0.300 leaves 0 out, and p 0.200 after Holm's correction does not show it".to_owned()),
            // Where lower is better, everything is the other way round.
            ("difference <= 0.1", -0.2, 0.08, 1.0, Pass, "the difference is 0.080 at most".to_owned()),
            ("difference <= 0.1", 0.15, 0.4, 0.012, Fail,
                "the difference is 0.150 or more, above 0.1; p 0.012 after Holm's correction".to_owned()),
            ("difference <= 0.1", 0.15, 0.4, 0.06, Inconclusive,
                "0.150 to 0.400 leaves 0.1 out, and p 0.060 after Holm's correction does not show it".to_owned()),
            ("difference <= 0.1", -0.1, 0.2, 1.0, Inconclusive, format!("0.1 is within -0.100 to 0.200: {same}")),
            ("difference <= -0.1", -0.3, -0.15, 0.01, Pass, "the difference is -0.150 at most".to_owned()),
            ("difference <= -0.1", -0.05, 0.05, 1.0, Fail, "the difference is -0.050 or more, above -0.1".to_owned()),
        ] {
            let found = difference(lower, upper, p);
            let rate = rate(0.6, 0.8);
            let evidence = GateEvidence {
                baseline: BaselineEvidence::Compared(Some(&found), 0),
                ..evidence(&rate)
            };
            check(require, &evidence, answer, &reason);
        }
    }

    #[test]
    fn a_baseline_without_matching_rows_decides_nothing() {
        let rate = rate(0.6, 0.8);
        let of = |baseline| GateEvidence {
            baseline,
            ..evidence(&rate)
        };
        let require = "difference >= -0.1";
        check(
            require,
            &evidence(&rate),
            Inconclusive,
            "the baseline has no rows of this target",
        );
        check(
            require,
            &of(BaselineEvidence::Compared(None, 3)),
            Inconclusive,
            "no scenario has a verdict here and in the baseline",
        );
        // 40 units match: two lost are 4.8%, three 7.0%.
        let found = difference(-0.05, 0.05, 1.0);
        let lost = |n| of(BaselineEvidence::Compared(Some(&found), n));
        check(require, &lost(2), Pass, "the difference is -0.050 or more");
        let reason =
            "3 of 43 units with a verdict in the baseline have none here (7.0%, more than 5.0%)";
        check(require, &lost(3), Inconclusive, reason);
    }

    #[test]
    fn shares_and_costs_are_counted() {
        let few = missing(rate(0.6, 0.8), 5, (0.5, 0.9));
        let require = "missing <= 0.05";
        check(
            require,
            &evidence(&few),
            Pass,
            "5 of 105 rows without a verdict, 0.048",
        );
        let not_run = GateEvidence {
            not_run: 2,
            ..evidence(&few)
        };
        let reason = "5 of 105 rows without a verdict, 0.048; 2 of them not run, above 0.04";
        check("missing <= 0.04", &not_run, Fail, reason);
        let none = RateStatistics::default();
        check(require, &evidence(&none), Inconclusive, "no rows");
        let cost = |cost, priced_cost, unpriced_calls| GateEvidence {
            cost: Some(PhaseCost {
                cost,
                priced_cost,
                unpriced_calls,
                ..PhaseCost::default()
            }),
            ..evidence(&none)
        };
        check("cost <= 2", &cost(Some(2.0), None, 0), Pass, "$2.000");
        check(
            "cost <= 2",
            &cost(Some(2.000_01), None, 0),
            Fail,
            "$2.00001, above $2",
        );
        let unknown = "$1.500 and 3 calls of unknown price";
        check(
            "cost <= 2",
            &cost(None, Some(1.5), 3),
            Inconclusive,
            unknown,
        );
        check(
            "cost <= 2",
            &cost(None, Some(2.5), 3),
            Fail,
            "$2.500, above $2",
        );
        let reason = "no cost.json says what the rows cost";
        check("cost <= 2", &evidence(&none), Inconclusive, reason);
    }
}
