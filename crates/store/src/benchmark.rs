//! `benchmark.yaml`.

use std::{collections::BTreeSet, fs, path::Path};

use schema::{
    Benchmark, Metric, nearest,
    text::is_blank,
    yaml::{YamlError, line_of},
};

use super::{hazards::check_hazards, tools::check_tools};
use crate::{BenchmarkDir, PipelineError};

/// Reads and checks `benchmark.yaml`. The name defaults to the folder's.
///
/// # Errors
/// When the file is missing, empty, no YAML, or says something that cannot be run: an unknown metric type, an id that stands
/// twice, hazards that do not fit the metrics, tools that cannot be offered, neither metrics nor a description. The text names the file
/// and, where it is known, line and column.
pub fn read_benchmark(dir: &BenchmarkDir) -> Result<Benchmark, PipelineError> {
    let path = dir.yaml();
    let text = fs::read(&path).map_err(|error| PipelineError::read(&path, error))?;
    let text =
        std::str::from_utf8(&text).map_err(|error| PipelineError::not_utf8(&path, &text, error))?;
    let mut benchmark = parse(&path, text)?;
    if benchmark.name.trim().is_empty() {
        dir.name().clone_into(&mut benchmark.name);
    }
    check(&benchmark).map_err(|what| {
        let place = match line(text, &what) {
            Some(line) => format!("{}, line {line}", path.display()),
            None => path.display().to_string(),
        };
        PipelineError::input(format!("{place}: {what}"))
    })?;
    Ok(benchmark)
}

/// The line of what a rule is broken by: of the key path that `what` begins with, and further in where it names `parameters`, as in
/// ``tools[0] (pay): `parameters.required` is no …``.
fn line(text: &str, what: &str) -> Option<u64> {
    let key = what
        .split([' ', ':'])
        .next()
        .filter(|key| key.contains('['))?;
    let inner = what.split('`').nth(1).unwrap_or_default();
    let deepest = format!("{key}.{inner}");
    let mut paths = std::iter::successors(Some(deepest.as_str()), |path| {
        path.rsplit_once('.').map(|(outer, _)| outer)
    });
    paths.find_map(|path| line_of(text, path).filter(|_| path.len() >= key.len()))
}

fn parse(path: &Path, text: &str) -> Result<Benchmark, PipelineError> {
    let bad = |what: String| PipelineError::input(format!("{}: {what}", path.display()));
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        return Err(bad(
            "the file is empty. Add a name and a description of what is measured".to_owned(),
        ));
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let error = YamlError::new(&error, text);
        PipelineError::input(error.in_file(&path.display().to_string()))
    })
}

fn check(benchmark: &Benchmark) -> Result<(), String> {
    if benchmark.metrics.is_empty() && is_blank(&benchmark.description) {
        return Err(format!(
            "it has neither metrics nor a description to write them from{}. Add `description` or `metrics`",
            mistyped(benchmark)
        ));
    }
    metrics_fit(&benchmark.metrics)?;
    check_hazards(benchmark)?;
    check_tools(benchmark)
}

/// The keys that were meant to be `description` or `metrics`, as a hint.
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

/// Checks that judges and files can work with the metrics. `path`: where they come from, for people.
pub fn check_metrics(path: &Path, metrics: &[Metric]) -> Result<(), PipelineError> {
    metrics_fit(metrics).map_err(|what| PipelineError::input(format!("{}: {what}", path.display())))
}

fn metrics_fit(metrics: &[Metric]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (index, metric) in metrics.iter().enumerate() {
        let place = format!("metrics[{index}]");
        if metric.id.trim().is_empty() {
            return Err(format!("{place}: the id is empty"));
        }
        if metric.id.contains(['/', '\\'])
            || metric.id.contains("__")
            || metric.id.chars().any(char::is_control)
        {
            return Err(format!(
                "{place}: the id {:?} holds a slash, `__` or a control character",
                metric.id
            ));
        }
        if !seen.insert(&metric.id) {
            return Err(format!(
                "{place}: duplicate id {:?}. Each metric needs its own id",
                metric.id
            ));
        }
        if is_blank(&metric.definition) {
            return Err(format!(
                "{place} ({}): the definition is empty, and the judge sees nothing else of the metric",
                metric.id
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_rule_is_told_with_its_line() {
        let text = "metrics:\n- {id: a}\ntools:\n- name: pay\n  parameters:\n    type: object\n    required: x\nhazards:\n- id: h\n  \
            metrics:\n  - a\n";
        for (what, expected) in [
            ("metrics[0]: the id is empty", Some(2)),
            ("tools[0] (pay): it has no answer: give `answer`", Some(4)),
            (
                "tools[0] (pay): `parameters.required` is no JSON schema",
                Some(7),
            ),
            ("tools[0] (pay): `parameters` has no `type`", Some(5)),
            (
                "tools[0] (pay): `parameters.type.x` is no JSON schema",
                Some(6),
            ),
            ("hazards[0].metrics[0] (h): there is no metric", Some(11)),
            ("metrics is not there", None),
            ("tools[7]: duplicate name", None),
        ] {
            assert_eq!(line(text, what), expected, "{what}");
        }
    }
}
