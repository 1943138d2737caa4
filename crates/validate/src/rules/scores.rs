//! The rules of `scores.json`.

use schema::MetricType;
use serde_json::Value;

use super::{Facts, Once, benchmark::meant};
use crate::checker::Found;

/// Looks at the rows one after the other.
pub(crate) struct ScoreRules<'f> {
    facts: &'f Facts,
    seen: Once,
}

impl<'f> ScoreRules<'f> {
    pub(crate) fn new(facts: &'f Facts) -> Self {
        Self {
            facts,
            seen: Once::default(),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let mut found = Vec::new();
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let (conversation, metric) = (
            text("conv_id").filter(|id| !id.is_empty()),
            text("metric_id"),
        );
        if let (Some(conversation), Some(metric)) = (conversation, metric) {
            let both = format!("{conversation}\u{0}{metric}");
            if let Some(first) = self.seen.take(&both, line) {
                found.push(Found::problem(
                    "/conv_id",
                    format!("{conversation:?} is scored for {metric:?} in line {first} already"),
                ));
            }
        }
        if let (Some(known), Some(id)) = (&self.facts.conversations, conversation)
            && !known.contains(id)
        {
            found.push(Found::problem(
                "/conv_id",
                format!("conversations.json has no conversation {id:?}"),
            ));
        }
        if let (Some(folder), Some(id)) = (&self.facts.target, text("target_model"))
            && folder != id
        {
            found.push(Found::note(
                "/target_model",
                format!("{id:?} is another system than that of the folder, {folder:?}"),
            ));
        }
        found.extend(self.metric(row));
        found.extend(verdict(row));
        found
    }

    fn metric(&self, row: &Value) -> Option<Found> {
        let benchmark = self.facts.benchmark.as_ref()?;
        let id = row.get("metric_id")?.as_str()?;
        if benchmark.metrics.is_empty() {
            return None;
        }
        let Some(metric) = benchmark.metric(id) else {
            let ids: Vec<&str> = benchmark
                .metrics
                .iter()
                .map(|metric| metric.id.as_str())
                .collect();
            let reason = format!("benchmark.yaml has no metric {id:?}{}", meant(id, &ids));
            return Some(Found::note("/metric_id", reason));
        };
        let ours = metric.metric_type.as_str();
        let theirs = row.get("metric_type")?.as_str()?;
        (theirs != ours).then(|| {
            Found::note(
                "/metric_type",
                format!("the metric {id:?} of benchmark.yaml is {ours}"),
            )
        })
    }
}

/// That `present`, `passed` and `score` say the same.
fn verdict(row: &Value) -> Option<Found> {
    let flag = |key: &str| row.get(key).and_then(Value::as_bool);
    let (present, passed) = (flag("present"), flag("passed"));
    let score = row.get("score").and_then(Value::as_f64);
    let known = [present.is_some(), passed.is_some(), score.is_some()];
    if known.contains(&true) && known.contains(&false) {
        return Some(Found::problem(
            "",
            "`present`, `passed` and `score` are either all known or all null",
        ));
    }
    let kind = match row.get("metric_type").and_then(Value::as_str) {
        Some("positive") => MetricType::Positive,
        Some("negative") => MetricType::Negative,
        _ => return None,
    };
    let (present, passed, score) = (present?, passed?, score?);
    if kind.passed(present) != passed {
        return Some(Found::problem(
            "/passed",
            format!(
                "a {} metric that is {}present has `passed: {}`",
                kind.as_str(),
                if present { "" } else { "not " },
                kind.passed(present)
            ),
        ));
    }
    let wanted = f64::from(u8::from(passed));
    (!same(score, wanted)).then(|| {
        Found::problem(
            "/score",
            format!("`score` is {wanted} where `passed` is {passed}"),
        )
    })
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}
