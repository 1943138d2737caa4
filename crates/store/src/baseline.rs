//! `baseline.json`.

use std::{collections::BTreeMap, fmt::Write as _, fs, io::Write as _, path::Path};

use aggregator::statistics::TargetRows;
use schema::{
    Baseline, BaselineBenchmark, BaselineCounts, BaselineMetric, BaselineTarget, Benchmark, Metric,
    ModelId, text::hex,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{BenchmarkDir, RunError, write_atomically};

/// Characters of a definition's SHA-256: enough to tell definitions apart.
const HASH_LENGTH: usize = 16;

/// What a benchmark and its metrics are known by, as a baseline has it. The targets are empty.
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

/// The hash of what decides whether a row passes.
fn definition_hash(metric: &Metric) -> String {
    let decides = (metric.metric_type, &metric.definition, &metric.verdict);
    let mut hash = hex(&Sha256::digest(json(&decides)));
    hash.truncate(HASH_LENGTH);
    hash
}

/// What differs between two benchmarks, one sentence each: uid, version, and the definitions of metrics that both have. Empty where rates
/// of both can be compared.
#[must_use]
pub fn baseline_differences(there: &Baseline, here: &Baseline) -> Vec<String> {
    let mut differ = Vec::new();
    let shown = |version: &Option<String>| version.clone().unwrap_or_default();
    let (a, b) = (&there.benchmark, &here.benchmark);
    for (what, there, here) in [
        ("uid", &a.uid, &b.uid),
        ("version", &shown(&a.version), &shown(&b.version)),
    ] {
        if there != here {
            differ.push(format!("{what} is {there:?} there and {here:?} here"));
        }
    }
    for (id, theirs) in &there.metrics {
        if here.metrics.get(id).is_some_and(|ours| ours != theirs) {
            differ.push(format!(
                "metric {id} has another type, definition or form of verdict"
            ));
        }
    }
    differ
}

/// The counts of one target, of the benchmark's metrics.
#[must_use]
pub fn baseline_target(
    rows: &TargetRows,
    benchmark: &Benchmark,
    turns: Option<u32>,
) -> BaselineTarget {
    let mut target = BaselineTarget {
        turns,
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

/// The rows of a target of a baseline, to be compared with others. Metrics that the baseline does not describe are left out.
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

/// Writes a baseline: a line for each metric and each scenario, sorted, so that a diff has the lines that changed.
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
    let text = fs::read(path).map_err(|error| RunError::read(path, error))?;
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
    // Writing to a text does not fail.
    let _ = writeln!(text, "  \"format\": {},", json(&baseline.format));
    let _ = writeln!(text, "  \"benchmark\": {},", json(&baseline.benchmark));
    let metrics = baseline.metrics.iter();
    let metrics = metrics.map(|(id, metric)| (json(id), json(metric)));
    let _ = writeln!(text, "  \"metrics\": {},", object(metrics, 2));
    let targets = baseline.targets.iter().map(|(id, target)| {
        let metrics = target.metrics.iter().map(|(id, scenarios)| {
            let scenarios = scenarios.0.iter();
            let scenarios = scenarios.map(|(id, counts)| (json(id), json(counts)));
            (json(id), object(scenarios, 8))
        });
        let parts = [
            ("\"turns\"".to_owned(), json(&target.turns)),
            ("\"metrics\"".to_owned(), object(metrics, 6)),
        ];
        (json(id), object(parts.into_iter(), 4))
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

/// A value on one line. Texts and numbers can always be written.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use schema::MetricType;

    use super::*;

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
        let target = baseline_target(&rows, &benchmark, Some(4));
        baseline.targets.insert(rows.target().clone(), target);
        baseline
    }

    #[test]
    fn a_baseline_has_a_line_for_each_metric_and_scenario() {
        let baseline = example();
        let text = text(&baseline);
        let hash = &baseline.metrics["m01"].definition;
        assert_eq!(hash.len(), 16);
        let expected = format!(
            r#"{{
  "format": "1.0.0",
  "benchmark": {{"uid":"honesty-1.0","version":"1.0"}},
  "metrics": {{
    "m01": {{"type":"negative","definition":"{hash}"}},
    "m02": {{"type":"positive","definition":"{}"}}
  }},
  "targets": {{
    "b\"1": {{
      "turns": 4,
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
            ("1.0.0", "2.0.0", "format is \"2.0.0\""),
        ] {
            fs::write(&path, good.replacen(from, to, 1)).unwrap();
            let error = read_baseline(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        fs::write(&path, good).unwrap();
        assert_eq!(read_baseline(&path).unwrap(), example());
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
