//! `benchmark.yaml`.

use std::{collections::BTreeSet, fs, path::Path};

use schema::{Benchmark, Metric, yaml::YamlError};

use super::{hazards::check_hazards, tools::check_tools};
use crate::{error::PipelineError, layout::BenchmarkDir};

/// Reads and checks `benchmark.yaml`. The name defaults to the folder's.
///
/// # Errors
/// When the file is missing, empty, no YAML, or says something that cannot be run: an unknown metric type, an id that stands
/// twice, hazards that do not fit the metrics, tools that cannot be offered, neither metrics nor a description. The text names the file and, where it is known, line and column.
pub fn read_benchmark(dir: &BenchmarkDir) -> Result<Benchmark, PipelineError> {
    let path = dir.yaml();
    let text = fs::read_to_string(&path).map_err(|error| PipelineError::read(&path, error))?;
    let mut benchmark = parse(&path, &text)?;
    if benchmark.name.trim().is_empty() {
        dir.name().clone_into(&mut benchmark.name);
    }
    check(&path, &benchmark)?;
    Ok(benchmark)
}

fn parse(path: &Path, text: &str) -> Result<Benchmark, PipelineError> {
    let bad = |what: String| PipelineError::input(format!("{}: {what}", path.display()));
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        return Err(bad(
            "the file is empty. Give it a name and a description of what is measured".to_owned(),
        ));
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let error = YamlError::new(&error, text);
        PipelineError::input(error.in_file(&path.display().to_string()))
    })
}

fn check(path: &Path, benchmark: &Benchmark) -> Result<(), PipelineError> {
    let bad = |what: String| Err(PipelineError::input(format!("{}: {what}", path.display())));
    if benchmark.metrics.is_empty() && benchmark.description.trim().is_empty() {
        return bad("it has neither metrics nor a description to write them from. Describe in `description` what is \
                    measured, or list `metrics`"
            .to_owned());
    }
    check_metrics(path, &benchmark.metrics)?;
    check_hazards(benchmark)
        .and_then(|()| check_tools(benchmark))
        .or_else(bad)
}

/// Checks that judges and files can work with the metrics. `path`: where they come from, for people.
pub(crate) fn check_metrics(path: &Path, metrics: &[Metric]) -> Result<(), PipelineError> {
    let bad = |what: String| Err(PipelineError::input(format!("{}: {what}", path.display())));
    let mut seen = BTreeSet::new();
    for (index, metric) in metrics.iter().enumerate() {
        let place = format!("metrics[{index}]");
        if metric.id.trim().is_empty() {
            return bad(format!("{place}: the id is empty"));
        }
        if metric.id.contains(['/', '\\'])
            || metric.id.contains("__")
            || metric.id.chars().any(char::is_control)
        {
            return bad(format!(
                "{place}: the id {:?} holds a slash, `__` or a control character",
                metric.id
            ));
        }
        if !seen.insert(&metric.id) {
            return bad(format!(
                "{place}: the id {:?} stands twice. Each metric needs an id of its own",
                metric.id
            ));
        }
        if metric.definition.trim().is_empty() {
            return bad(format!(
                "{place} ({}): the definition is empty, and it is all that the judge is told",
                metric.id
            ));
        }
    }
    Ok(())
}
