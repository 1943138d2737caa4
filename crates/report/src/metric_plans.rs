//! The differences that a run could show, and the answers of a gate, metric by metric.

use interop::sheet::{Cell, Column, Sheet, Value, together};
use schema::{
    statistics::{GatePlan, MetricPlan},
    text::counted,
};

use crate::{
    numbers::{self, percent, point_digits, points, rounded},
    terminal::sheets_text,
    text::clean,
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
    let columns = vec![
        Column::name("metric"),
        Column::number("scenarios"),
        Column::number("rows"),
        Column::number("worth"),
        Column::number("95% interval"),
        Column::number("points"),
        Column::number("none fail"),
    ];
    let mut sheet = Sheet::new("plan", "what the rows of one target could show", columns);
    for plan in plans {
        let points = plan.smallest_difference.map(point_digits);
        sheet.row(vec![
            name(plan).into(),
            plan.scenarios.into(),
            plan.rows.into(),
            Cell::of(Value::Worth(plan.effective_rows)),
            Cell::interval(Some((plan.expected_lower, plan.expected_upper))),
            points.as_deref().unwrap_or(NONE).into(),
            Cell::rate(Some(plan.upper_if_none_fails)),
        ]);
    }
    sheet.note(MEANING);
    sheet.notes.extend(grouped(plans, &name, shows_none));
    sheet.note(corrected(plans));
    if let Some(difference) = want_difference {
        let needed = grouped(plans, &name, |plan| Some(needed(plan, difference)));
        sheet.notes.extend(needed);
    }
    let assumed = grouped(plans, &name, |plan| Some(assumptions(plan)));
    sheet.notes.extend(assumed);
    let gates = gate_sheet(plans, several);
    sheets_text(&[sheet, gates, sequence_sheet(plans, several)], width)
}

/// What the rules of a gate would say; without rows where there are no rules.
fn gate_sheet(plans: &[MetricPlan], several: bool) -> Sheet {
    let columns = vec![
        Column::name("scope"),
        Column::words("requires"),
        Column::number("rate"),
        Column::number("pass"),
        Column::number("fail"),
        Column::number("neither"),
        Column::number("has/needs"),
    ];
    let title = "what the rules of the gate would say";
    let mut sheet = Sheet::new("gate", title, columns);
    for plan in plans {
        for gate in &plan.gates {
            let scope = match several {
                true => format!("{} {}", plan.benchmark, gate.scope),
                false => gate.scope.clone(),
            };
            let has = numbers::grouped(gate.scenarios);
            sheet.row(vec![
                scope.into(),
                gate.requires.as_str().into(),
                Cell::rate(Some(gate.rate)),
                Cell::rate(Some(gate.pass)),
                Cell::rate(Some(gate.fail)),
                Cell::rate(Some(gate.inconclusive)),
                format!("{has}/{}", fewest_to_pass(gate)).into(),
            ]);
        }
    }
    if !sheet.is_empty() {
        sheet.note(GATE_MEANING);
    }
    sheet
}

/// What runs would do that stop when the rules are decided; without rows where no rule stops a run.
fn sequence_sheet(plans: &[MetricPlan], several: bool) -> Sheet {
    let columns = vec![
        Column::name("scope"),
        Column::words("requires"),
        Column::number("pass"),
        Column::number("fail"),
        Column::number("neither"),
        Column::number("half"),
        Column::number("80%"),
        Column::number("95%"),
        Column::number("has"),
    ];
    let title = "what a run would do that stops when a rule is decided";
    let mut sheet = Sheet::new("until", title, columns);
    for plan in plans {
        for gate in &plan.gates {
            let Some(until) = &gate.until_decided else {
                continue;
            };
            let scope = match several {
                true => format!("{} {}", plan.benchmark, gate.scope),
                false => gate.scope.clone(),
            };
            let scenarios = |number: u64| numbers::grouped(number).into();
            sheet.row(vec![
                scope.into(),
                gate.requires.as_str().into(),
                Cell::rate(Some(until.pass)),
                Cell::rate(Some(until.fail)),
                Cell::rate(Some(until.inconclusive)),
                scenarios(until.scenarios_half),
                scenarios(until.scenarios_80),
                scenarios(until.scenarios_95),
                scenarios(gate.scenarios),
            ]);
        }
    }
    if !sheet.is_empty() {
        sheet.note(UNTIL_MEANING);
    }
    sheet
}

const UNTIL_MEANING: &str = "half, 80%, 95%: the scenarios that are enough in this share of 1,000 simulated runs, of those that the rows have. \
    neither: given up, or not decided by all of them.";

fn fewest_to_pass(gate: &GatePlan) -> String {
    match gate.scenarios_for_pass {
        Some(scenarios) => numbers::grouped(scenarios),
        None => ">10,000".to_owned(),
    }
}

const GATE_MEANING: &str = "rate: the true rate that is assumed. pass, fail, neither: how likely each answer is at this rate, if every row has a verdict. \
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
    let said = plans
        .iter()
        .filter_map(|plan| Some((words(plan)?, name(plan))));
    let lines = together(said).into_iter();
    lines
        .map(|(words, names)| match names.len() == plans.len() {
            true => words,
            false => format!("{}: {words}", names.join(", ")),
        })
        .collect()
}

/// What a run does that stops when it is known whether two targets differ; `None` where that was not planned.
#[must_use]
pub fn until_decided_text(plan: &MetricPlan) -> Option<String> {
    let until = plan.until_decided.as_ref()?;
    Some(format!(
        "a run that stops when it is decided shows a difference of {} in {} of 1,000 simulations. It ends after {} of {} or fewer in half of them, {} in 80%, {} in 95%",
        points(until.difference),
        percent(Some(until.shown)),
        numbers::grouped(until.scenarios_half),
        counted(plan.scenarios, "scenario", "scenarios"),
        numbers::grouped(until.scenarios_80),
        numbers::grouped(until.scenarios_95)
    ))
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
        let mut plans = plans
            .iter()
            .filter(|plan| (plan.metric.as_deref() == Some(ALL)) == is_all);
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
        let some: Vec<&str> = all
            .iter()
            .filter(|(name, _)| is_measured(name) == measured)
            .map(|(_, words)| words.as_str())
            .collect();
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
            until_decided: Some(schema::statistics::SequencePlan {
                pass: 0.0,
                fail: 1.0,
                inconclusive: 0.0,
                scenarios_half: 1000,
                scenarios_80: 1100,
                scenarios_95: 1200,
            }),
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
            until_decided: None,
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
            "metric m01 lower >= 0.85 80% <1% >99% 0% 1,200/>10,000",
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
