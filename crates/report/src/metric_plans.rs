//! The differences that a run could show, metric by metric.

use schema::statistics::MetricPlan;

use crate::{
    numbers::{interval, percent},
    table::Table,
    text::{clean, wrapped},
};

/// Shown instead of a difference if no difference can be shown.
const NONE: &str = "none";

/// A table of the differences that the rows of a run could show, with a line below for each assumption. `want_difference` is the
/// difference that `scenarios_needed` of the plans refers to. Empty without plans. `width` is the terminal's width.
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
            "difference",
            "none fail",
        ],
    );
    for plan in plans {
        table.row(vec![
            name(plan),
            plan.scenarios.to_string(),
            plan.rows.to_string(),
            format!("{:.1}", plan.effective_rows),
            interval(Some((plan.expected_lower, plan.expected_upper))),
            plan.smallest_difference
                .map_or_else(|| NONE.to_owned(), rounded_up),
            percent(Some(plan.upper_if_none_fails)),
        ]);
    }
    let mut text = String::from("what the rows of one target could show\n");
    text.push_str(&table.render(width));
    let mut notes = vec![MEANING.to_owned()];
    notes.extend(grouped(plans, &name, |plan| {
        (!plan.can_differ).then(|| shows_none(plan))
    }));
    if let Some(difference) = want_difference {
        notes.extend(grouped(plans, &name, |plan| Some(needed(plan, difference))));
    }
    notes.extend(grouped(plans, &name, |plan| Some(assumptions(plan))));
    for note in notes {
        text.push_str(&wrapped(&note, "  ", width));
    }
    text
}

const MEANING: &str = "worth: how many independent rows these are worth. 95% interval: the one to expect of the rate. \
    difference: the smallest between two targets that would be shown four times in five. \
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

fn shows_none(plan: &MetricPlan) -> String {
    let compared = match plan.metrics {
        1 => String::new(),
        metrics => format!(" and {metrics} metrics compared at once"),
    };
    format!(
        "no difference between two targets can be shown with {} scenario{}{compared}; it takes {} or more.",
        plan.scenarios,
        if plan.scenarios == 1 { "" } else { "s" },
        fewest_scenarios(plan.metrics)
    )
}

/// The fewest base scenarios that show a difference if all of them differ in the same direction: 2^(1 - scenarios) * metrics <= 0.05.
fn fewest_scenarios(metrics: u64) -> u64 {
    let shows = |scenarios: &u64| {
        let signs = 1_u128.checked_shl(u32::try_from(scenarios - 1).unwrap_or(u32::MAX));
        signs.is_none_or(|signs| signs >= u128::from(metrics) * 20)
    };
    (1..=u64::from(u128::BITS)).find(shows).unwrap_or(u64::MAX)
}

fn needed(plan: &MetricPlan, difference: f64) -> String {
    match plan.scenarios_needed {
        Some(scenarios) => format!(
            "a difference of {difference} takes {scenarios} scenario{} with as many rows of each (planned: {}).",
            if scenarios == 1 { "" } else { "s" },
            plan.scenarios
        ),
        None => format!("a difference of {difference} takes more than 100 million scenarios."),
    }
}

/// The source of each number that a plan assumes.
fn assumptions(plan: &MetricPlan) -> String {
    let all = [
        ("rate", format!("rate {}", percent(Some(plan.assumed.rate)))),
        ("icc", format!("ICC {:.2}", plan.assumed.icc)),
        (
            "correlation",
            format!("correlation {:.2}", plan.assumed.correlation),
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

/// Rounds up to two digits: the run could not show a smaller difference.
fn rounded_up(difference: f64) -> String {
    format!("{:.2}", (difference * 100.0 - 1e-9).ceil() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_scenarios_show_a_difference_of_one_metric() {
        for (metrics, scenarios) in [(1, 6), (2, 7), (3, 7), (5, 8), (100, 12)] {
            assert_eq!(fewest_scenarios(metrics), scenarios, "{metrics}");
        }
    }

    #[test]
    fn a_difference_is_never_said_to_be_smaller_than_it_is() {
        assert_eq!(rounded_up(0.401), "0.41");
        assert_eq!(rounded_up(0.4), "0.40");
    }
}
