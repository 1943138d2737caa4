//! A plan as text: what would be played, the calls by model, the budget, and what the rows could show.

use std::collections::BTreeSet;

use probity::Phase;
use report::{
    PlanRow, labelled_text, limits_text, metric_plan_table, plan_table, until_decided_text,
};
use schema::{
    Finding, FindingSeverity,
    numbers::{grouped, points},
    statistics::MetricPlan,
    text::counted,
};

use super::{Context, plan::table_row, plan_budget::Budget};

/// The most benchmarks that have a line of their own.
const MOST: usize = 3;

/// The content of a plan.
pub struct PlanView<'a> {
    /// The calls.
    pub rows: &'a [probity::PlanRow],
    /// What the rows of one target could show.
    pub metrics: &'a [MetricPlan],
    /// The difference that `scenarios_needed` refers to.
    pub want_difference: Option<f64>,
    /// Whether the tables by metric are shown.
    pub by_metric: bool,
    /// Whether every target has a line.
    pub is_whole: bool,
    /// The limits of the spending.
    pub budget: &'a Budget,
    /// What limits results that are in the trees.
    pub findings: &'a [Finding],
}

impl PlanView<'_> {
    /// The plan as text.
    pub fn text(&self, context: &Context) -> String {
        let width = context.terminal.page();
        let mut text = String::new();
        for line in self.titles() {
            text.push_str(&line);
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let table: Vec<PlanRow> = self.rows.iter().map(table_row).collect();
        text.push_str(&plan_table(&table, self.is_whole, width));
        let mut entries = Vec::new();
        entries.extend(self.budget.line().map(|line| ("budget", line)));
        entries.extend(self.will_show().map(|line| ("shows", line)));
        let until = self.metrics.iter().filter_map(until_decided_text);
        entries.extend(until.take(1).map(|line| ("until", line)));
        entries.push(("", "No model was called.".to_owned()));
        text.push('\n');
        text.push_str(&labelled_text(&entries, width));
        // Warnings are on standard error.
        let notes: Vec<&Finding> = self
            .findings
            .iter()
            .filter(|finding| finding.severity == FindingSeverity::Note)
            .collect();
        let limits = limits_text(&text, &notes, "`--json`", &context.program, width);
        text.push_str(&limits);
        if self.by_metric && !self.metrics.is_empty() {
            text.push('\n');
            text.push_str(&metric_plan_table(
                self.metrics,
                self.want_difference,
                width,
            ));
        }
        text
    }

    /// `pressure: 12 metrics, 240 scenarios, 4 models: 1,920 rows`, for each benchmark.
    fn titles(&self) -> Vec<String> {
        let names: Vec<&str> = self.rows.iter().fold(Vec::new(), |mut names, row| {
            if !names.contains(&row.benchmark.as_str()) {
                names.push(&row.benchmark);
            }
            names
        });
        let mut titles: Vec<String> = names
            .iter()
            .take(MOST)
            .filter_map(|name| self.title(name))
            .collect();
        if names.len() > MOST {
            let more = counted((names.len() - MOST) as u64, "benchmark", "benchmarks");
            titles.push(format!("… and {more} more"));
        }
        titles
    }

    fn title(&self, name: &str) -> Option<String> {
        let phase = [Phase::Evaluate, Phase::Simulate]
            .into_iter()
            .find(|phase| {
                let mut rows = self.rows.iter();
                rows.any(|row| row.benchmark == name && row.phase == *phase)
            })?;
        // Each target counts once, whatever the number of judges.
        let mut targets = BTreeSet::new();
        let of_targets: Vec<&probity::PlanRow> = self
            .rows
            .iter()
            .filter(|row| row.benchmark == name && row.phase == phase)
            .filter(|row| targets.insert(row.target.as_ref()))
            .collect();
        let [low, high] = [
            of_targets.iter().map(|row| row.rows.low).sum::<u64>(),
            of_targets.iter().map(|row| row.rows.high).sum::<u64>(),
        ];
        let rows = match low == high {
            true => counted(high, "row", "rows"),
            false => format!("{} to {}", grouped(low), counted(high, "row", "rows")),
        };
        let plans = self.metrics.iter().filter(|plan| plan.benchmark == name);
        let single = plans
            .clone()
            .filter(|plan| plan.metric.as_deref() != Some("all"));
        let metrics = single.filter(|plan| plan.metric.is_some()).count() as u64;
        let all = plans
            .clone()
            .find(|plan| plan.metric.as_deref() == Some("all"));
        let mut parts = Vec::new();
        if metrics > 0 {
            parts.push(counted(metrics, "metric", "metrics"));
        }
        if let Some(all) = all {
            parts.push(counted(all.scenarios, "scenario", "scenarios"));
        }
        parts.push(counted(of_targets.len() as u64, "model", "models"));
        Some(format!("{name}: {}: {rows}", parts.join(", ")))
    }

    /// The smallest differences that would be shown four times in five. `None` if no row is judged, or there are several benchmarks.
    fn will_show(&self) -> Option<String> {
        let first = self.metrics.first()?;
        if self
            .metrics
            .iter()
            .any(|plan| plan.benchmark != first.benchmark)
        {
            return Some("see `--json`: there are several benchmarks".to_owned());
        }
        let smallest = |plans: &[&MetricPlan]| {
            let each = plans.iter().map(|plan| plan.smallest_difference);
            each.reduce(|one, other| Some(one?.max(other?))).flatten()
        };
        let (all, single): (Vec<&MetricPlan>, Vec<&MetricPlan>) = self
            .metrics
            .iter()
            .partition(|plan| plan.metric.as_deref() == Some("all"));
        let words = |found: Option<f64>, rows: &str| match found {
            Some(difference) => format!("{} or more {rows}", points(difference)),
            None => format!("no difference {rows}"),
        };
        let mut parts = Vec::new();
        if !all.is_empty() {
            parts.push(words(smallest(&all), "over all rows"));
        }
        if !single.is_empty() {
            parts.push(words(smallest(&single), "in a single metric"));
        }
        let by_metric = match self.by_metric {
            true => "",
            false => "; by metric: `--json`",
        };
        Some(format!(
            "{}, four times in five, corrected{by_metric}",
            parts.join(", ")
        ))
    }
}
