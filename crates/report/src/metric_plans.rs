//! The differences that a run could show, and the answers of a gate, metric by metric.

use schema::{
    statistics::{GatePlan, MetricPlan},
    text::counted,
};

use crate::{
    numbers::{self, interval, percent, point_digits, points, rounded, worth},
    table::Table,
    text::{clean, wrapped},
};

/// Shown instead of a difference if no difference can be shown.
const NONE: &str = "none";
/// The plan of the rows of all metrics.
const ALL: &str = "all";

/// A table of the differences that the rows of a run could show, with a line below for each assumption, and a table of what the rules of a
/// gate would say, where the plans have rules. `want_difference` is the difference that `scenarios_needed` of the plans refers to. Empty
/// without plans. `width` is the terminal's width.
#[must_use]
pub fn metric_plan_table(
    plans: &[MetricPlan],
    want_difference: Option<f64>,
    width: usize,
) -> String {
    let Some(first) = plans.first() else {
        return String::new();
    };
    let several = plans.iter().any(|plan| plan.benchmark != first.benchmark);
    let name = |plan: &MetricPlan| name(plan, several);
    let mut table = Table::new(
        1,
        &[
            "metric",
            "scenarios",
            "rows",
            "worth",
            "95% interval",
            "points",
            "none fail",
        ],
    );
    for plan in plans {
        table.row(vec![
            name(plan),
            numbers::grouped(plan.scenarios),
            numbers::grouped(plan.rows),
            worth(plan.effective_rows),
            interval(Some((plan.expected_lower, plan.expected_upper))),
            plan.smallest_difference
                .map_or_else(|| NONE.to_owned(), point_digits),
            percent(Some(plan.upper_if_none_fails)),
        ]);
    }
    let mut text = String::from("what the rows of one target could show\n");
    text.push_str(&table.render(width));
    let mut notes = vec![MEANING.to_owned()];
    notes.extend(grouped(plans, &name, shows_none));
    notes.push(corrected(plans));
    if let Some(difference) = want_difference {
        notes.extend(grouped(plans, &name, |plan| Some(needed(plan, difference))));
    }
    notes.extend(grouped(plans, &name, |plan| Some(assumptions(plan))));
    for note in notes {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text.push_str(&gate_table(plans, several, width));
    text
}

/// What the rules of a gate would say; empty without rules.
fn gate_table(plans: &[MetricPlan], several: bool, width: usize) -> String {
    if plans.iter().all(|plan| plan.gates.is_empty()) {
        return String::new();
    }
    let mut table = Table::new(
        2,
        &[
            "scope",
            "requires",
            "rate",
            "pass",
            "fail",
            "neither",
            "has/needs",
        ],
    );
    for plan in plans {
        for gate in &plan.gates {
            let scope = match several {
                true => format!("{} {}", plan.benchmark, gate.scope),
                false => gate.scope.clone(),
            };
            table.row(vec![
                clean(&scope),
                gate.requires.clone(),
                percent(Some(gate.rate)),
                percent(Some(gate.pass)),
                percent(Some(gate.fail)),
                percent(Some(gate.inconclusive)),
                format!("{}/{}", gate.scenarios, fewest_to_pass(gate)),
            ]);
        }
    }
    let mut text = String::from("\nwhat the rules of the gate would say\n");
    text.push_str(&table.render(width));
    text.push_str(&wrapped(GATE_MEANING, "  ", width));
    text
}

fn fewest_to_pass(gate: &GatePlan) -> String {
    match gate.scenarios_for_pass {
        Some(scenarios) => numbers::grouped(scenarios),
        None => ">10000".to_owned(),
    }
}

const GATE_MEANING: &str = "rate: the true rate that is assumed. pass, fail, neither: how likely each answer is at this rate, if no verdict is missing. \
    has/needs: the scenarios of the rows, and those with which the rule passes four times in five, with as many rows of each.";

const MEANING: &str = "worth: how many independent rows these are worth. 95% interval: the one to expect of the rate. \
    points: the smallest difference between two targets that would be shown four times in five. \
    none fail: where no row fails, up to this share of such rows may still fail. ICC: how alike rows of one scenario are. \
    correlation: how far two targets find the same scenarios hard.";

fn name(plan: &MetricPlan, several: bool) -> String {
    let metric = plan.metric.as_deref().unwrap_or("each");
    clean(&match several {
        true => format!("{} {metric}", plan.benchmark),
        false => metric.to_owned(),
    })
}

/// A line for each text that `words` returns, preceded by the metrics that it applies to unless it applies to all.
fn grouped(
    plans: &[MetricPlan],
    name: &impl Fn(&MetricPlan) -> String,
    words: impl Fn(&MetricPlan) -> Option<String>,
) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for plan in plans {
        let Some(words) = words(plan) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(name(plan)),
            None => found.push((words, vec![name(plan)])),
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(words, names)| match names.len() == plans.len() {
            true => words,
            false => format!("{}: {words}", names.join(", ")),
        })
        .collect()
}

/// Why no difference is shown; `None` where one is.
fn shows_none(plan: &MetricPlan) -> Option<String> {
    if plan.smallest_difference.is_some() {
        return None;
    }
    let scenarios = counted(plan.scenarios, "scenario", "scenarios");
    if plan.can_differ {
        return Some(format!(
            "no difference between two targets is shown four times in five with {scenarios}."
        ));
    }
    let compared = match plan.comparisons {
        1 => String::new(),
        comparisons => format!(" and {comparisons} comparisons at once"),
    };
    Some(format!(
        "no difference between two targets can be shown with {scenarios}{compared}; it takes {} or more.",
        fewest_scenarios(plan.comparisons)
    ))
}

/// How many comparisons are corrected together.
fn corrected(plans: &[MetricPlan]) -> String {
    let number = |is_all: bool| {
        let plans = plans.iter();
        let mut plans = plans.filter(|plan| (plan.metric.as_deref() == Some(ALL)) == is_all);
        plans.next().map_or(1, |plan| plan.comparisons)
    };
    let comparisons = |n| counted(n, "comparison", "comparisons");
    format!(
        "differences are corrected over {} of all metrics together, and over {} by metric.",
        comparisons(number(true)),
        comparisons(number(false))
    )
}

/// The fewest base scenarios that show a difference if all of them differ in the same direction: 2^(1 - scenarios) * comparisons <= 0.05.
fn fewest_scenarios(comparisons: u64) -> u64 {
    let shows = |scenarios: &u64| {
        let signs = 1_u128.checked_shl(u32::try_from(scenarios - 1).unwrap_or(u32::MAX));
        signs.is_none_or(|signs| signs >= u128::from(comparisons) * 20)
    };
    (1..=u64::from(u128::BITS)).find(shows).unwrap_or(u64::MAX)
}

fn needed(plan: &MetricPlan, difference: f64) -> String {
    let rate = plan.assumed.rate;
    match plan.scenarios_needed {
        Some(scenarios) => format!(
            "a difference of {} takes {} with as many rows of each (planned: {}).",
            points(difference),
            counted(scenarios, "scenario", "scenarios"),
            numbers::grouped(plan.scenarios)
        ),
        None if difference > rate.max(1.0 - rate) => format!(
            "no target can differ by {} from a rate of {}.",
            points(difference),
            percent(Some(rate))
        ),
        None => format!(
            "a difference of {} takes more than 100,000 scenarios.",
            points(difference)
        ),
    }
}

/// The source of each number that a plan assumes.
fn assumptions(plan: &MetricPlan) -> String {
    let all = [
        ("rate", format!("rate {}", percent(Some(plan.assumed.rate)))),
        ("icc", format!("ICC {}", rounded(plan.assumed.icc, 2))),
        (
            "correlation",
            format!("correlation {}", rounded(plan.assumed.correlation, 2)),
        ),
    ];
    let is_measured = |name: &str| plan.assumed.measured.iter().any(|known| known == name);
    let listed = |measured: bool| {
        let some = all.iter().filter(|(name, _)| is_measured(name) == measured);
        let some: Vec<&str> = some.map(|(_, words)| words.as_str()).collect();
        some.join(", ")
    };
    match (listed(true), listed(false)) {
        (measured, assumed) if measured.is_empty() => format!("assumed: {assumed}."),
        (measured, assumed) if assumed.is_empty() => {
            format!("measured by an earlier run: {measured}.")
        }
        (measured, assumed) => {
            format!("measured by an earlier run: {measured}; assumed: {assumed}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::statistics::PlanAssumptions;

    use super::*;

    #[test]
    fn a_page_is_80_columns_wide() {
        let gate = |scope: &str| GatePlan {
            rule: 1,
            scope: scope.to_owned(),
            requires: "lower >= 0.85".to_owned(),
            scenarios: 1200,
            rate: 0.8,
            pass: 0.000_01,
            fail: 0.999_99,
            inconclusive: 0.0,
            scenarios_for_pass: None,
        };
        let plan = |metric: &str, gates| MetricPlan {
            benchmark: "honesty".to_owned(),
            metric: Some(metric.to_owned()),
            comparisons: 6,
            scenarios: 1200,
            rows: 120_000,
            design_effect: 30.7,
            effective_rows: 3908.8,
            expected_lower: 0.787,
            expected_upper: 0.812,
            upper_if_none_fails: 0.003,
            smallest_p: 1e-300,
            can_differ: true,
            smallest_difference: None,
            scenarios_needed: None,
            gates,
            assumed: PlanAssumptions {
                rate: 0.8,
                icc: 0.3,
                correlation: 0.3,
                measured: Vec::new(),
            },
        };
        let plans = [
            plan("all", vec![gate("all"), gate("hazard flattery")]),
            plan("m01", vec![gate("metric m01")]),
        ];
        let text = metric_plan_table(&plans, Some(0.9), 80);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "metric m01 lower >= 0.85 80% <1% >99% 0% 1200/>10000",
            "no difference between two targets is shown four times in five with 1,200 scenarios.",
            "no target can differ by 90 points from a rate of 80%.",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn six_scenarios_show_a_difference_of_one_metric() {
        for (comparisons, scenarios) in [(1, 6), (2, 7), (3, 7), (5, 8), (100, 12)] {
            assert_eq!(fewest_scenarios(comparisons), scenarios, "{comparisons}");
        }
    }
}
