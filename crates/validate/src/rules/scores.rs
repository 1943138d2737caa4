//! The rules of `scores.json`.

use schema::{Conversation, JudgeVerdict, MetricType, ModelId, Score, Verdict, panel};
use serde::Deserialize;
use serde_json::Value;

use super::{BenchmarkFacts, Once, benchmark::meant};
use crate::checker::Found;

/// Checks the rows one after the other.
pub(crate) struct ScoreRules<'f> {
    facts: &'f BenchmarkFacts,
    seen: Once,
}

impl<'f> ScoreRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            facts,
            seen: Once::default(),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let mut found = Vec::new();
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let named = text("conv_id").filter(|id| !id.is_empty());
        let made = self.conversation(row);
        let (conversation, key) = match named {
            Some(id) => (Some(id), "/conv_id"),
            None => (made.as_deref(), "/id"),
        };
        if let (Some(conversation), Some(metric)) = (conversation, text("metric_id")) {
            let both = format!("{conversation}\u{0}{metric}");
            if let Some(first) = self.seen.take(&both, line) {
                found.push(Found::problem(
                    key,
                    format!("{conversation:?} is scored for {metric:?} in line {first} already"),
                ));
            }
        }
        if let (Some(known), Some(id)) = (&self.facts.conversations, conversation)
            && !known.contains(id)
        {
            found.push(Found::problem(
                key,
                format!("conversations.json has no conversation {id:?}"),
            ));
        }
        if let (Some(folder), Some(id)) = (&self.facts.target, text("target_model"))
            && folder != id
        {
            found.push(Found::note(
                "/target_model",
                format!("{id:?} differs from the folder, {folder:?}"),
            ));
        }
        found.extend(self.metric(row));
        found.extend(verdict(row, self.kind(row)));
        found.extend(reason_beside_verdict(row));
        found.extend(self.threshold(row));
        found.extend(self.panel(row));
        found.extend(self.fits(row));
        found
    }

    /// The id of the row's conversation; if it is missing, derived like readers do.
    fn conversation(&self, row: &Value) -> Option<String> {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let target = text("target_model").or(self.facts.target.as_deref())?;
        let sample = row
            .get("sample")
            .or_else(|| row.get("_sample"))
            .and_then(Value::as_u64)
            .unwrap_or(0);
        Some(Conversation::make_id(
            text("id")?,
            &ModelId::new(target).ok()?,
            u32::try_from(sample).ok()?,
        ))
    }

    /// The type by which the row counts, from the row or the benchmark.
    fn kind(&self, row: &Value) -> Option<MetricType> {
        let recorded = match row.get("metric_type").and_then(Value::as_str) {
            Some("positive") => Some(MetricType::Positive),
            Some("negative") => Some(MetricType::Negative),
            Some(_) => return None,
            None => None,
        };
        let benchmark = self.facts.benchmark.as_ref();
        let metric = row.get("metric_id").and_then(Value::as_str);
        let metric = benchmark.and_then(|benchmark| benchmark.metric(metric?));
        let of_metric = metric.map(|metric| metric.metric_type);
        let flag = |key: &str| row.get(key).and_then(Value::as_bool);
        match (recorded, of_metric) {
            (Some(recorded), Some(of_metric)) => {
                Some(of_metric.settled(recorded, flag("present"), flag("passed")))
            }
            (recorded, of_metric) => recorded.or(of_metric),
        }
    }

    /// Checks that `present` follows from `_verdict` by the metric's `verdict`.
    fn threshold(&self, row: &Value) -> Option<Found> {
        let verdict = Verdict::deserialize(row.get("_verdict")?).ok()?;
        let benchmark = self.facts.benchmark.as_ref()?;
        let metric = benchmark.metric(row.get("metric_id")?.as_str()?)?;
        match metric.is_present(&verdict) {
            Err(error) => Some(Found::problem("/_verdict", error.to_string())),
            Ok(present) if row.get("present").and_then(Value::as_bool) == Some(present) => None,
            Ok(present) => Some(Found::problem(
                "/present",
                format!(
                    "a verdict of {:?} has `present: {present}` by the metric's `verdict` in benchmark.yaml",
                    verdict.text()
                ),
            )),
        }
    }

    /// Checks that `present` follows from the verdicts in `_judges`.
    fn panel(&self, row: &Value) -> Option<Found> {
        let judges = Vec::<JudgeVerdict>::deserialize(row.get("_judges")?).ok()?;
        let benchmark = self.facts.benchmark.as_ref()?;
        let metric = benchmark.metric(row.get("metric_id")?.as_str()?)?;
        // Verdicts of another form than the metric's were given before the metric changed.
        let fits = |judge: &JudgeVerdict| {
            judge.present.is_none() || judge.verdict.is_some() == metric.verdict.is_some()
        };
        if judges.len() < 2 || !judges.iter().all(fits) {
            return None;
        }
        let decided = panel::decide(metric, &judges).and_then(|verdict| {
            let present = metric.is_present(&verdict);
            present.map_err(|error| error.to_string())
        });
        let present = row.get("present").and_then(Value::as_bool);
        match (decided, present) {
            (Ok(decided), _) if present == Some(decided) => None,
            (Err(_), None) => None,
            (Ok(decided), _) => Some(Found::problem(
                "/present",
                format!("the judges in `_judges` decide `present: {decided}`"),
            )),
            (Err(why), Some(present)) => Some(Found::problem(
                "/present",
                format!("the judges in `_judges` do not decide `present: {present}`: {why}"),
            )),
        }
    }

    /// The errors by the type that the schema does not detect. A row without its metric's type gets the type from the benchmark, if
    /// known.
    fn fits(&self, row: &Value) -> Option<Found> {
        let row = row.as_object()?;
        let leaves_out = !row.contains_key("metric_type");
        let metrics = match &self.facts.benchmark {
            Some(benchmark) => benchmark.metrics.as_slice(),
            None if leaves_out => return None,
            None => &[],
        };
        let target = self.facts.target.as_deref().unwrap_or("target");
        let target = ModelId::new(target).ok()?;
        let error = Score::joined(row.clone(), metrics, &target).err()?;
        Some(Found::problem("", error.to_string()))
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

/// Checks that `present`, `passed` and `score` are consistent.
fn verdict(row: &Value, kind: Option<MetricType>) -> Option<Found> {
    let flag = |key: &str| row.get(key).and_then(Value::as_bool);
    let (present, passed) = (flag("present"), flag("passed"));
    // Rows of ImpactBench have no score.
    let score = match row.get("score") {
        Some(score) => score.as_f64(),
        None => passed.map(|passed| f64::from(u8::from(passed))),
    };
    let known = [present.is_some(), passed.is_some(), score.is_some()];
    if known.contains(&true) && known.contains(&false) {
        return Some(Found::problem(
            "",
            "`present`, `passed` and `score` are either all known or all null",
        ));
    }
    let (kind, present, passed, score) = (kind?, present?, passed?, score?);
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

/// Checks that a row has either a verdict or a reason why it has none, and not both. The schema checks the reasons.
fn reason_beside_verdict(row: &Value) -> Option<Found> {
    let is_there = |key: &str| row.get(key).is_some_and(|value| !value.is_null());
    let verdict = ["present", "passed"]
        .into_iter()
        .find(|key| is_there(key))?;
    is_there("_no_verdict").then(|| {
        Found::problem(
            "/_no_verdict",
            format!("`_no_verdict` says why there is no verdict, and `{verdict}` is one"),
        )
    })
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}
