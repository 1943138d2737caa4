//! `benchmark.yaml`.

use std::{collections::BTreeSet, path::Path};

use located::YamlError;
use reply_check::{Check, CheckError};
use schema::{Benchmark, Metric, VerdictType, nearest, text::is_blank};

use super::{
    broken_rule::BrokenRule,
    hazards::{check_hazards, check_names},
    tools::check_tools,
};
use crate::{BenchmarkDir, RunError};

/// Reads and checks `benchmark.yaml`. The name defaults to the folder's.
///
/// # Errors
/// When the file is missing, empty, not YAML, or contains something that cannot be run: an unknown metric type, a duplicate id,
/// hazards that do not fit the metrics, tools that cannot be offered, neither metrics nor a description. The text names the file
/// and, if known, line and column.
pub fn read_benchmark(dir: &BenchmarkDir) -> Result<Benchmark, RunError> {
    let path = dir.yaml();
    let known = &dir.memory().benchmarks;
    known.get_or_read(&path, || read(dir, &path))
}

fn read(dir: &BenchmarkDir, path: &Path) -> Result<Benchmark, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    let mut benchmark = parse(path, &text)?;
    if benchmark.name.trim().is_empty() {
        dir.name().clone_into(&mut benchmark.name);
    }
    match broken_rules(&benchmark).first() {
        None => Ok(benchmark),
        Some(broken) => Err(RunError::in_file(
            path,
            broken.line(&text),
            broken.to_string(),
        )),
    }
}

fn parse(path: &Path, text: &str) -> Result<Benchmark, RunError> {
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        let reason = "the file is empty. Add a name and a description of what is measured";
        return Err(RunError::in_file(path, None, reason));
    }
    serde_saphyr::from_str(text)
        .map_err(|error| RunError::in_yaml(path, &YamlError::new(&error, text)))
}

/// All rules that a benchmark breaks, in the order of the file's sections. A run refuses the benchmark because of the first;
/// `validate` lists all of them.
#[must_use]
pub fn broken_rules(benchmark: &Benchmark) -> Vec<BrokenRule> {
    if benchmark.metrics.is_empty() && is_blank(&benchmark.description) {
        let reason = format!(
            "it has neither metrics nor a description to write them from{}. Add `description` or `metrics`",
            mistyped(benchmark)
        );
        return vec![BrokenRule::new("", reason)];
    }
    let mut broken = metrics_fit(&benchmark.metrics);
    broken.extend(check_names(benchmark));
    broken.extend(check_hazards(&benchmark.hazards, Some(&benchmark.metrics)));
    broken.extend(check_tools(benchmark));
    broken
}

/// Lists keys that were probably meant to be `description` or `metrics`, as a hint.
fn mistyped(benchmark: &Benchmark) -> String {
    let keys = benchmark.extra.keys().filter_map(|key| {
        let meant = nearest(key, ["description", "metrics"])?;
        Some(format!("; unknown key `{key}`: did you mean `{meant}`"))
    });
    match keys.collect::<String>() {
        hint if hint.is_empty() => hint,
        hint => hint + "?",
    }
}

/// Checks that judges and files can use the metrics. `path`: where the metrics come from, for messages.
pub fn check_metrics(path: &Path, metrics: &[Metric]) -> Result<(), RunError> {
    match metrics_fit(metrics).first() {
        None => Ok(()),
        Some(broken) => Err(RunError::in_file(path, None, broken.to_string())),
    }
}

fn metrics_fit(metrics: &[Metric]) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, metric) in metrics.iter().enumerate() {
        let entry = format!("metrics[{index}]");
        if let Some(reason) = wrong_id(metric, &mut seen) {
            broken.push(BrokenRule::new(&entry, reason).at("id"));
        }
        if is_blank(&metric.definition) {
            let reason = "the definition is empty, and the judge sees nothing else of the metric";
            let rule = BrokenRule::new(&entry, reason);
            broken.push(rule.of(&metric.id).at("definition"));
        }
        if let Some(Err(error)) = metric.verdict.as_ref().map(VerdictType::check) {
            let entry = match error.key() {
                (key, Some(index)) => format!("{entry}.verdict.{key}[{index}]"),
                (key, None) => format!("{entry}.verdict.{key}"),
            };
            broken.push(BrokenRule::new(entry, error.to_string()).of(&metric.id));
        }
        if let Some(reason) = wrong_check(metric) {
            let rule = BrokenRule::new(&entry, reason.reason).of(&metric.id);
            broken.push(match reason.key {
                "" => rule.at("check"),
                key => rule.at(&format!("check.{key}")),
            });
        }
    }
    broken
}

/// What is wrong with the check of a metric.
fn wrong_check(metric: &Metric) -> Option<CheckError> {
    let check = metric.check.as_ref()?;
    if metric.verdict.is_some() {
        let reason =
            "a check decides whether the behaviour is present; take out `verdict`, or `check`";
        return Some(CheckError {
            key: "",
            reason: reason.to_owned(),
        });
    }
    Check::new(check).err()
}

/// What is wrong with the id of a metric. `seen` holds the ids before it.
fn wrong_id<'m>(metric: &'m Metric, seen: &mut BTreeSet<&'m str>) -> Option<String> {
    let id = metric.id.as_str();
    if id.trim().is_empty() {
        Some("the id is empty".to_owned())
    } else if id.contains(['/', '\\']) || id.contains("__") || id.chars().any(char::is_control) {
        Some(format!(
            "the id {id:?} holds a slash, `__` or a control character"
        ))
    } else if seen.insert(id) {
        None
    } else {
        Some(format!("duplicate id {id:?}. Each metric needs its own id"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_verdict_section_with_mistakes_is_reported_with_its_place() {
        let error = |verdict: &str| {
            let folder = tempfile::tempdir().unwrap();
            let dir = crate::Layout::new(folder.path()).benchmark("b").unwrap();
            fs::create_dir_all(dir.root()).unwrap();
            let text = format!(
                "metrics:\n- id: m01\n  name: n\n  type: negative\n  definition: d\n  verdict: {verdict}\n"
            );
            fs::write(dir.yaml(), text).unwrap();
            let error = read_benchmark(&dir).unwrap_err().to_string();
            let name = dir.yaml().display().to_string();
            error.strip_prefix(&name).unwrap().to_owned()
        };
        for (verdict, expected) in [
            (
                "{type: scale, min: 1, max: 5, threshold: 7}",
                ", line 6: metrics[0].verdict.threshold (m01): 7 is outside the scale: expected 2 to 5",
            ),
            (
                "\n    type: categories\n    labels:\n    - a\n    - a\n    present_labels: [a]",
                ", line 10: metrics[0].verdict.labels[1] (m01): duplicate label \"a\"",
            ),
            (
                "{type: scale, min: 1, max: 5}",
                ", line 6, column 34: metrics[0].verdict: `threshold` is missing",
            ),
            (
                "{type: stars}",
                ", line 6, column 19: metrics[0].verdict.type: expected `scale` or `categories`, found \"stars\"",
            ),
            (
                "{type: scale, min: 1, max: 5, threshold: high}",
                ", line 6, column 53: metrics[0].verdict.threshold: expected a whole number",
            ),
            (
                "{type: scale, min: 1, max: 5, treshold: 4}",
                ", line 6, column 42: metrics[0].verdict: unknown key `treshold`; did you mean `threshold`?",
            ),
            (
                "{type: scale, min: 1, max: 5, threshold: 4, labels: [a]}",
                ", line 6, column 56: metrics[0].verdict: unknown key `labels`; known keys: type, min, max, threshold, anchors",
            ),
        ] {
            assert_eq!(error(verdict), expected);
        }
    }
}
