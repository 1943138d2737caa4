//! `baseline.json`.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _, path::Path};

use aggregator::statistics::TargetRows;
use located::pointer;
use schema::{
    Baseline, BaselineBenchmark, BaselineCounts, BaselineMetric, BaselineScenarios, BaselineTarget,
    Benchmark, Metric, ModelId, SafetyRecord, SettingsRecord,
    setting_keys::{FAULT_RULES, PROMPT_VERSION},
    text::{counted, hex},
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    BenchmarkDir, RunError, WrongValue,
    proof::wrong_values,
    provenance::{Settings, TargetProvenance, change_in_words, changes, setting_group},
    write_atomically,
};

/// Characters of a definition's SHA-256: enough to distinguish definitions.
const HASH_LENGTH: usize = 16;

/// A baseline that identifies a benchmark and its metrics. Its targets are empty.
#[must_use]
pub fn baseline_of(dir: &BenchmarkDir, benchmark: &Benchmark) -> Baseline {
    let metric = |metric: &Metric| {
        let known = BaselineMetric {
            metric_type: metric.metric_type,
            definition: definition_hash(metric),
        };
        (metric.id.clone(), known)
    };
    Baseline {
        format: Baseline::FORMAT.to_owned(),
        benchmark: BaselineBenchmark {
            uid: benchmark.uid_or(dir.name()),
            version: benchmark.version.clone(),
        },
        metrics: benchmark.metrics.iter().map(metric).collect(),
        targets: BTreeMap::new(),
    }
}

/// The hash of the fields that decide whether a row passes.
fn definition_hash(metric: &Metric) -> String {
    let decides = (metric.metric_type, &metric.definition, &metric.verdict);
    let mut hash = hex(&Sha256::digest(json(&decides)));
    hash.truncate(HASH_LENGTH);
    hash
}

/// The differences between two benchmarks, one sentence each: uid, version, and the definitions of metrics that both have. Empty if their
/// rates can be compared.
#[must_use]
pub fn baseline_differences(there: &Baseline, here: &Baseline) -> Vec<String> {
    let mut differ = unlike_benchmark(&there.benchmark, &here.benchmark);
    for (id, theirs) in &there.metrics {
        if here.metrics.get(id).is_some_and(|ours| ours != theirs) {
            differ.push(format!(
                "metric {id} has another type, definition or form of verdict"
            ));
        }
    }
    differ
}

/// Describes how uid and version differ. Empty if both are the same benchmark.
pub(crate) fn unlike_benchmark(a: &BaselineBenchmark, b: &BaselineBenchmark) -> Vec<String> {
    let mut differ = Vec::new();
    let shown = |version: &Option<String>| version.clone().unwrap_or_default();
    for (what, there, here) in [
        ("uid", &a.uid, &b.uid),
        ("version", &shown(&a.version), &shown(&b.version)),
    ] {
        if there != here {
            differ.push(format!("{what} is {there:?} there and {here:?} here"));
        }
    }
    differ
}

/// The counts of one target over the benchmark's metrics, and how it was measured according to `known`.
#[must_use]
pub fn baseline_target(
    rows: &TargetRows,
    benchmark: &Benchmark,
    known: &TargetProvenance,
) -> BaselineTarget {
    let mut target = BaselineTarget {
        scores_sha256: rows.scores_sha256().map(str::to_owned),
        turns: known.turns(),
        judge: known.judge(),
        ..BaselineTarget::default()
    };
    for unit in rows.scored_units() {
        let counts = BaselineCounts::new(unit.passed, unit.scored);
        if let Some(counts) = counts.filter(|_| benchmark.metric(unit.metric).is_some()) {
            let scenarios = target.metrics.entry(unit.metric.to_owned()).or_default();
            scenarios.0.insert(unit.scenario.to_owned(), counts);
        }
    }
    target
}

/// The counts of a baseline that differ from those that the scores give, where the scores that they are of are in the tree: its digest says
/// so. Metrics whose definition changed are left out. Only targets that `is_compared` are looked at.
#[must_use]
pub fn wrong_baseline(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    written: &Baseline,
    is_compared: impl Fn(&ModelId) -> bool,
) -> Vec<WrongValue> {
    let now = baseline_of(dir, benchmark);
    let is_same = |metric: &String| {
        let ours = now.metrics.get(metric);
        ours.is_some() && ours == written.metrics.get(metric)
    };
    let counts = |of: &BaselineTarget| -> BTreeMap<String, BaselineScenarios> {
        let metrics = of.metrics.clone().into_iter();
        metrics.filter(|(metric, _)| is_same(metric)).collect()
    };
    let mut found = Vec::new();
    for (id, there) in written.targets.iter().filter(|(id, _)| is_compared(id)) {
        // Scores that cannot be read are reported where they are.
        let facts = dir.facts(benchmark, id).ok();
        let Some(facts) =
            facts.filter(|facts| there.scores_sha256.as_ref() == Some(&facts.scores_sha256))
        else {
            continue;
        };
        let here = baseline_target(&facts.rows, benchmark, &TargetProvenance::default());
        let place = pointer::key(&pointer::key("/targets", id.as_str()), "metrics");
        let wrong = wrong_values(&counts(there), &counts(&here), true).into_iter();
        found.extend(wrong.map(|wrong| wrong.below(&place)));
    }
    found
}

/// The differences in how a target was measured, one sentence each: turns, judge, and settings of safety results. A value that is unknown
/// on one side does not count as different.
#[must_use]
pub fn unlike_measurement(
    id: &ModelId,
    there: &BaselineTarget,
    here: &BaselineTarget,
) -> Vec<String> {
    let mut differ = Vec::new();
    if let (Some(there), Some(here)) = (there.turns, here.turns)
        && there != here
    {
        differ.push(unlike_turns(id, there, here));
    }
    let changed = |what: &str, there: &Settings, here: &Settings| {
        if there.is_empty() || here.is_empty() {
            return None;
        }
        let (there, here) = (beside(there, here), beside(here, there));
        let changed: Vec<String> = changes(&there, &here)
            .iter()
            .map(|key| change_in_words(key, &there, &here))
            .collect();
        (!changed.is_empty()).then(|| format!("{what}: {}", changed.join(", ")))
    };
    let judge = format!("{id} was judged otherwise there");
    differ.extend(changed(&judge, &there.judge, &here.judge));
    let settings = format!("{id} was run with other settings there");
    differ.extend(changed(&settings, &there.settings, &here.settings));
    differ
}

/// `settings`, with null for each key of `others` that it lacks: a missing setting has its default. This does not apply to settings of
/// models, because their configuration may be unknown.
fn beside(settings: &Settings, others: &Settings) -> Settings {
    let models = [SettingsRecord::EVALUATOR_MODEL, SafetyRecord::JUDGE_MODELS];
    let is_of_a_model = |key: &str| models.contains(&setting_group(key));
    let mut all = settings.clone();
    // A missing version is the first.
    let is_version = |key: &str| [PROMPT_VERSION, FAULT_RULES].contains(&key);
    let added = others
        .keys()
        .filter(|key| !is_of_a_model(key) && !is_version(key));
    for key in added {
        all.entry(key.clone()).or_insert(Value::Null);
    }
    all
}

/// States that two targets were simulated with different numbers of turns.
#[must_use]
pub fn unlike_turns(id: &ModelId, there: u32, here: u32) -> String {
    let turns = |turns: u32| counted(u64::from(turns), "turn", "turns");
    format!(
        "{id} was simulated with {} there and {} here",
        turns(there),
        turns(here)
    )
}

/// The rows of a target of a baseline, for comparison. Metrics that the baseline does not describe are left out.
#[must_use]
pub fn baseline_rows(baseline: &Baseline, target: &ModelId) -> Option<TargetRows> {
    let counted = baseline.targets.get(target)?;
    let mut rows = TargetRows::new(target.clone());
    for (id, scenarios) in &counted.metrics {
        let Some(metric) = baseline.metrics.get(id) else {
            continue;
        };
        for (scenario, counts) in &scenarios.0 {
            rows.push_counts(
                (scenario, id, metric.metric_type),
                counts.passed(),
                counts.scored(),
            );
        }
    }
    Some(rows)
}

/// Writes a baseline: one line for each metric and each scenario, sorted, so that a diff shows exactly the lines that changed.
///
/// # Errors
/// When the file cannot be written.
pub fn write_baseline(path: &Path, baseline: &Baseline) -> Result<(), RunError> {
    write_atomically(path, |file| file.write_all(text(baseline).as_bytes()))
}

/// Reads a baseline.
///
/// # Errors
/// When the file cannot be read, is of another format, or is not a baseline.
pub fn read_baseline(path: &Path) -> Result<Baseline, RunError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
    }
    let text = files::read(path).map_err(|error| RunError::read(path, error))?;
    let bad = |error: serde_json::Error| {
        let line = (error.line() > 0).then_some(error.line() as u64);
        RunError::in_file(path, line, format!("not a baseline: {error}")).with_source(error)
    };
    let head: Head = serde_json::from_slice(&text).map_err(bad)?;
    if head.format.split('.').next() != Baseline::FORMAT.split('.').next() {
        let reason = format!(
            "format is {:?}, and this version of Probity reads {}",
            head.format,
            Baseline::FORMAT
        );
        return Err(RunError::in_file(path, None, reason)
            .with_help("write the baseline again from the scores in the tree"));
    }
    serde_json::from_slice(&text).map_err(bad)
}

/// The text of the file.
fn text(baseline: &Baseline) -> String {
    let mut text = String::from("{\n");
    // Writing to a `String` does not fail.
    let _ = writeln!(text, "  \"format\": {},", json(&baseline.format));
    let _ = writeln!(text, "  \"benchmark\": {},", json(&baseline.benchmark));
    let metrics = baseline
        .metrics
        .iter()
        .map(|(id, metric)| (json(id), json(metric)));
    let _ = writeln!(text, "  \"metrics\": {},", object(metrics, 2));
    let targets = baseline.targets.iter().map(|(id, target)| {
        let metrics = target.metrics.iter().map(|(id, scenarios)| {
            let counts = scenarios.0.iter();
            let rows = counts.map(|(id, counts)| (json(id), json(counts)));
            (json(id), object(rows, 8))
        });
        let records = [("judge", &target.judge), ("settings", &target.settings)];
        let known = records
            .iter()
            .filter(|(_, settings)| !settings.is_empty())
            .map(|(key, settings)| (json(key), json(settings)));
        let digest = target
            .scores_sha256
            .iter()
            .map(|sha256| (json(&"scores_sha256"), json(sha256)));
        let parts = digest
            .chain([("\"turns\"".to_owned(), json(&target.turns))])
            .chain(known)
            .chain([("\"metrics\"".to_owned(), object(metrics, 6))]);
        (json(id), object(parts, 4))
    });
    let _ = writeln!(text, "  \"targets\": {}", object(targets, 2));
    text.push_str("}\n");
    text
}

/// A JSON object with a line for each entry, whose closing brace is indented by `indent`.
fn object(entries: impl Iterator<Item = (String, String)>, indent: usize) -> String {
    let lines: Vec<String> = entries
        .map(|(key, value)| format!("\n{:indent$}  {key}: {value}", ""))
        .collect();
    match lines.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{{}\n{:indent$}}}", lines.join(","), ""),
    }
}

/// A value on one line. Strings and numbers can always be serialised.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use schema::MetricType;
    use serde_json::json;

    use super::*;
    use crate::provenance::FileProvenance;

    fn file(settings: &[(&str, Value)]) -> FileProvenance {
        let settings = settings.iter();
        FileProvenance {
            settings: settings
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
            ..FileProvenance::default()
        }
    }

    fn example() -> Baseline {
        let mut rows = TargetRows::new(ModelId::new("b\"1").unwrap());
        rows.push_counts(("s02", "m01", MetricType::Negative), 0, 3);
        rows.push_counts(("s01", "m01", MetricType::Negative), 2, 3);
        rows.push_counts(("s01", "gone", MetricType::Positive), 1, 1);
        let benchmark = Benchmark {
            version: Some("1.0".to_owned()),
            metrics: vec![
                Metric::new("m01", "n", MetricType::Negative, "It lies."),
                Metric::new("m02", "n", MetricType::Positive, "It is kind."),
            ],
            ..Benchmark::default()
        };
        let dir = crate::Layout::new("benchmarks")
            .benchmark("honesty")
            .unwrap();
        let mut baseline = baseline_of(&dir, &benchmark);
        let known = TargetProvenance {
            conversations: Some(file(&[("turns", json!(4))])),
            scores: Some(file(&[
                ("evaluator_model.model", json!("big")),
                ("evaluator_model.base_url", json!("http://10.0.0.1/v1")),
                ("metrics.m01", json!("a")),
                ("checks.quotes", json!(false)),
                ("checks.repeat", json!(0.1)),
                ("prompts.judge_system", json!("b")),
                ("prompts.judge_user", json!("c")),
            ])),
            judged: None,
        };
        let target = baseline_target(&rows, &benchmark, &known);
        baseline.targets.insert(rows.target().clone(), target);
        baseline
    }

    #[test]
    fn a_baseline_has_a_line_for_each_metric_and_scenario() {
        let baseline = example();
        let text = text(&baseline);
        let hash = &baseline.metrics["m01"].definition;
        assert_eq!(hash.len(), 16);
        let target = baseline.targets.values().next().unwrap();
        let prompts = target.judge["prompts"].as_str().unwrap();
        assert_eq!(prompts.len(), 64);
        let expected = format!(
            r#"{{
  "format": "1.2.0",
  "benchmark": {{"uid":"honesty-1.0","version":"1.0"}},
  "metrics": {{
    "m01": {{"type":"negative","definition":"{hash}"}},
    "m02": {{"type":"positive","definition":"{}"}}
  }},
  "targets": {{
    "b\"1": {{
      "turns": 4,
      "judge": {{"evaluator_model.model":"big","prompts":"{prompts}"}},
      "metrics": {{
        "m01": {{
          "s01": [2,3],
          "s02": [0,3]
        }}
      }}
    }}
  }}
}}
"#,
            baseline.metrics["m02"].definition
        );
        assert_eq!(text, expected);
        let read: Baseline = serde_json::from_str(&text).unwrap();
        assert_eq!(read, baseline);
    }

    #[test]
    fn what_cannot_be_right_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("baseline.json");
        let good = text(&example());
        for (from, to, expected) in [
            ("[2,3]", "[4,3]", "more passed than have a verdict"),
            ("\"s02\"", "\"s01\"", "duplicate key \"s01\""),
            ("\"m02\": {", "\"m01\": {", "duplicate key \"m01\""),
            (
                "  \"targets\"",
                "<<<<<<< ours\n  \"targets\"",
                "line 8: not a baseline",
            ),
            ("1.2.0", "2.0.0", "format is \"2.0.0\""),
        ] {
            fs::write(&path, good.replacen(from, to, 1)).unwrap();
            let error = read_baseline(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        fs::write(&path, &good).unwrap();
        assert_eq!(read_baseline(&path).unwrap(), example());
        // Files of format 1.0.0 do not say who judged.
        let judge = good
            .lines()
            .find(|line| line.contains("\"judge\""))
            .unwrap();
        let older = good.replace(judge, "").replace("1.2.0", "1.0.0");
        fs::write(&path, older).unwrap();
        let older = read_baseline(&path).unwrap();
        let (id, there) = older.targets.first_key_value().unwrap();
        assert!(there.judge.is_empty());
        let now = &example().targets[id];
        assert_eq!(unlike_measurement(id, there, now), Vec::<String>::new());
    }

    #[test]
    fn another_judge_and_other_turns_are_named() {
        let (id, there) = example().targets.pop_first().unwrap();
        assert_eq!(
            unlike_measurement(&id, &there, &there),
            Vec::<String>::new()
        );
        let mut here = there.clone();
        here.turns = Some(1);
        here.judge
            .insert("evaluator_model.model".to_owned(), json!("small"));
        here.judge
            .insert("prompts".to_owned(), json!("0".repeat(64)));
        assert_eq!(
            unlike_measurement(&id, &there, &here),
            [
                "b\"1 was simulated with 4 turns there and 1 turn here",
                "b\"1 was judged otherwise there: the judge changed from big to small, the prompts changed",
            ]
        );
        // A temperature that one side does not set is a change.
        here = there.clone();
        here.judge
            .insert("evaluator_model.temperature".to_owned(), json!(1));
        assert_eq!(
            unlike_measurement(&id, &there, &here),
            ["b\"1 was judged otherwise there: evaluator_model.temperature changed from none to 1"]
        );
        // So is a check that one side does not ask for.
        here = there.clone();
        here.judge.insert("checks.quotes".to_owned(), json!(true));
        assert_eq!(
            unlike_measurement(&id, &there, &here),
            ["b\"1 was judged otherwise there: checks.quotes changed from none to true"]
        );
        // Where the configuration is not known, the model is not.
        here = there.clone();
        here.judge
            .retain(|key, _| !key.starts_with("evaluator_model."));
        assert_eq!(unlike_measurement(&id, &there, &here), Vec::<String>::new());
    }

    #[test]
    fn differences_are_named_all_at_once() {
        let here = example();
        assert_eq!(baseline_differences(&here, &here), Vec::<String>::new());
        let mut there = here.clone();
        there.benchmark = BaselineBenchmark {
            uid: "other".to_owned(),
            version: None,
        };
        if let Some(metric) = there.metrics.get_mut("m01") {
            metric.definition = "0".to_owned();
        }
        assert_eq!(
            baseline_differences(&there, &here),
            [
                "uid is \"other\" there and \"honesty-1.0\" here",
                "version is \"\" there and \"1.0\" here",
                "metric m01 has another type, definition or form of verdict",
            ]
        );
    }
}
