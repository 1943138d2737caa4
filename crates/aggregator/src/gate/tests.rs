use schema::statistics::{DifferenceStatistics, RateBounds};

use super::*;

fn rate(lower: f64, upper: f64) -> RateStatistics {
    RateStatistics {
        rows: 100,
        passed: 80,
        scenarios: 25,
        estimate: Some(0.8),
        lower: Some(lower),
        upper: Some(upper),
        bounds: Some(RateBounds {
            lowest: 0.8,
            highest: 0.8,
            lower,
            upper,
        }),
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

fn difference(lower: f64, upper: f64, p_corrected: f64) -> DifferenceStatistics {
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
        p_value: Some(p_corrected),
        p_corrected: Some(p_corrected),
        scenarios_that_differ: Some(10),
        family: schema::statistics::DifferenceFamily::Metric,
        family_size: 1,
        could_have_shown: None,
        test: Some("normal".to_owned()),
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
    let found = gate_answer(require.parse().unwrap(), 0.0, evidence);
    assert_eq!(found, (answer, reason.to_owned()).into(), "{require}");
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
    let one = missing(rate(0.85, 0.95), 1, (0.79, 0.97));
    let reason = "0.8 is within 0.790 to 0.970: 25 scenarios do not decide, if the 1 row without a verdict failed or passed (1%)";
    check("lower >= 0.8", &evidence(&one), Inconclusive, reason);
    let still = missing(rate(0.9, 0.95), 6, (0.81, 0.97));
    let reason = "the lower bound is 0.810, if all 6 rows without a verdict failed or passed (6%)";
    check("lower >= 0.8", &evidence(&still), Pass, reason);
    let bad = missing(rate(0.3, 0.4), 6, (0.25, 0.5));
    let reason = "the upper bound is 0.500, below 0.8, if all 6 rows without a verdict failed or passed (6%)";
    check("lower >= 0.8", &evidence(&bad), Fail, reason);
    // Passed rows of negative metrics whose reply is empty are missing here too.
    let mut empty = rate(0.85, 0.95);
    empty.missing.incomplete = 6;
    let empty = missing(empty, 0, (0.7, 0.97));
    let found = gate_answer("lower >= 0.8".parse().unwrap(), 0.0, &evidence(&empty));
    assert_eq!(found.answer, Inconclusive, "{}", found.reason);
    assert!(
        found
            .reason
            .contains("if all 6 empty or cut-off replies failed or passed (6%"),
        "{}",
        found.reason
    );
    assert_eq!(
        missing_words(MissingRows {
            failed: 2,
            abstained: 1,
            incomplete: 1,
            ..MissingRows::default()
        }),
        "3 rows without a verdict and 1 empty or cut-off reply"
    );
}

#[test]
fn up_to_max_missing_rows_are_left_out_and_the_decision_says_how_many() {
    // 5 of 105 are 4.8%: the interval decides. 6 of 106 are 5.7%: the bounds do.
    let decide = |failed| {
        let rate = missing(rate(0.85, 0.95), failed, (0.75, 0.97));
        gate_answer("lower >= 0.8".parse().unwrap(), 0.05, &evidence(&rate))
    };
    let few = decide(5);
    assert_eq!((few.answer, few.left_out), (Pass, 5));
    assert_eq!(
        few.reason,
        "the lower bound is 0.850, with 5 rows without a verdict left out (5%)"
    );
    let many = decide(6);
    assert_eq!((many.answer, many.left_out), (Inconclusive, 0));
    assert!(
        many.reason
            .ends_with("if all 6 rows without a verdict failed or passed (6%, more than 5%)"),
        "{}",
        many.reason
    );
    assert_eq!(decide(0).left_out, 0);
}

fn comparison(lower: f64, upper: f64) -> GateComparison {
    GateComparison {
        measured: difference(lower, upper, 1.0),
        lower,
        upper,
        missing_here: 0,
        missing_before: 0,
        missing_share: 0.0,
        samples_changed: false,
    }
}

#[test]
fn a_difference_is_decided_by_the_ends_of_its_interval() {
    let same = "no difference shown";
    for (require, lower, upper, answer, reason) in [
        (
            "difference >= -0.1",
            -0.08,
            0.2,
            Pass,
            "the difference is −8 points or more".to_owned(),
        ),
        (
            "difference >= -0.1",
            -0.4,
            -0.15,
            Fail,
            "the difference is −15 points at most, below −10 points".to_owned(),
        ),
        (
            "difference >= -0.1",
            -0.2,
            0.1,
            Inconclusive,
            format!("−10 points is within −20 to 10: {same}"),
        ),
        (
            "difference >= 0.1",
            0.15,
            0.3,
            Pass,
            "the difference is 15 points or more".to_owned(),
        ),
        (
            "difference >= 0.1",
            -0.05,
            0.05,
            Fail,
            "the difference is 5 points at most, below 10 points".to_owned(),
        ),
        (
            "difference >= -0.07",
            -0.4,
            -0.070_04,
            Fail,
            "the difference is −7.004 points at most, below −7 points".to_owned(),
        ),
        (
            "difference >= 0.004",
            0.01,
            0.3,
            Pass,
            "the difference is 1 point or more".to_owned(),
        ),
        // Where lower is better, everything is the other way round.
        (
            "difference <= 0.1",
            -0.2,
            0.08,
            Pass,
            "the difference is 8 points at most".to_owned(),
        ),
        (
            "difference <= 0.1",
            0.15,
            0.4,
            Fail,
            "the difference is 15 points or more, above 10 points".to_owned(),
        ),
        (
            "difference <= 0.1",
            -0.1,
            0.2,
            Inconclusive,
            format!("10 points is within −10 to 20: {same}"),
        ),
    ] {
        let found = comparison(lower, upper);
        let rate = rate(0.6, 0.8);
        let evidence = GateEvidence {
            baseline: BaselineEvidence::Compared(Some(&found)),
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
        &of(BaselineEvidence::Compared(None)),
        Inconclusive,
        "no scenario has a verdict here and in the baseline",
    );
}

#[test]
fn missing_rows_of_either_side_count_against_a_difference() {
    let rate = rate(0.6, 0.8);
    let found = GateComparison {
        measured: difference(-0.05, 0.05, 1.0),
        missing_here: 2,
        missing_before: 1,
        missing_share: 0.04,
        samples_changed: true,
        ..comparison(-0.12, 0.1)
    };
    let evidence = GateEvidence {
        baseline: BaselineEvidence::Compared(Some(&found)),
        ..evidence(&rate)
    };
    let reason = "−10 points is within −12 to 10: no difference shown, whatever 2 rows without a verdict here and 1 row without a verdict in the baseline \
                  would have been (4%; the number of samples changed)";
    check("difference >= -0.1", &evidence, Inconclusive, reason);
    let let_go = gate_answer("difference >= -0.1".parse().unwrap(), 0.05, &evidence);
    assert_eq!(
        (let_go.answer, let_go.left_out),
        (Pass, 3),
        "{}",
        let_go.reason
    );
}

#[test]
fn shares_and_costs_are_counted() {
    let few = missing(rate(0.6, 0.8), 5, (0.5, 0.9));
    let require = "missing <= 0.05";
    check(
        require,
        &evidence(&few),
        Pass,
        "5 of 105 rows without a verdict, 5%",
    );
    let not_run = GateEvidence {
        not_run: 2,
        ..evidence(&few)
    };
    let reason = "5 of 105 rows without a verdict, 5%, more than 4%; 2 of them not run";
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
    check("cost <= 2", &cost(Some(2.0), None, 0), Pass, "$2.00");
    check(
        "cost <= 2",
        &cost(Some(2.000_01), None, 0),
        Fail,
        "just above $2.00",
    );
    let unknown = "$1.50 and 3 calls of unknown price";
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
        "$2.50, above $2.00",
    );
    let reason = "no cost.json says what the rows cost";
    check("cost <= 2", &evidence(&none), Inconclusive, reason);
}
