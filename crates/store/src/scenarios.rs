//! `scenarios.json`.

use std::{collections::HashSet, fs, path::Path};

use schema::{Benchmark, Scenario};

use crate::{BenchmarkDir, RunError};

/// Reads and checks `scenarios.json`. A missing file is an empty list.
///
/// # Errors
/// When the file is not a JSON list of scenarios, is cut off, or holds an id twice or an id that is blank.
pub fn read_scenarios(path: &Path) -> Result<Vec<Scenario>, RunError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::read(path, error)),
    };
    let bad = |what: String| RunError::input(format!("{}: {what}", path.display()));
    let text =
        std::str::from_utf8(&text).map_err(|error| RunError::not_utf8(path, &text, error))?;
    let rows: Vec<Scenario> = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            bad(format!(
                "the file ends in the middle of a row (line {}). Restore it, or delete it to generate the scenarios again",
                error.line()
            ))
        } else {
            bad(error.to_string())
        }
    })?;
    let mut seen = HashSet::new();
    for (index, row) in rows.iter().enumerate() {
        if row.id.trim().is_empty() || row.id.chars().any(char::is_control) {
            return Err(bad(format!(
                "row {}: the id {:?} is blank or holds a control character",
                index + 1,
                row.id
            )));
        }
        if !seen.insert(row.id.as_str()) {
            return Err(bad(format!(
                "row {}: duplicate id {:?}. Ids must be unique",
                index + 1,
                row.id
            )));
        }
    }
    Ok(rows)
}

/// Checks that the rows were written for this benchmark. Rows of a metric that has been removed are fine, as long as some
/// rows belong to a metric that is.
pub fn check_belongs(
    dir: &BenchmarkDir,
    rows: &[Scenario],
    benchmark: &Benchmark,
) -> Result<(), RunError> {
    // One metric under another name was renamed by hand; all of several make another benchmark.
    let renamed = benchmark.metrics.len() == 1;
    let belongs = |row: &Scenario| {
        benchmark.metric(&row.metric_id).is_some_and(|metric| {
            renamed
                || row
                    .metric_name
                    .as_ref()
                    .is_none_or(|name| *name == metric.name)
        })
    };
    if rows.is_empty() || benchmark.metrics.is_empty() || rows.iter().any(belongs) {
        return Ok(());
    }
    let named = |row: &Scenario| match &row.metric_name {
        Some(name) => format!("{} ({name})", row.metric_id),
        None => row.metric_id.clone(),
    };
    let first = rows.first().map(named).unwrap_or_default();
    Err(RunError::input(format!(
        "{}: these scenarios belong to another benchmark: the first is for metric {first}, and no row fits a metric of \
         benchmark.yaml",
        dir.scenarios().display()
    ))
    .with_help(format!(
        "restore the right file, or replace the scenarios with `{} gen-scenarios {} --force`",
        dir.command(),
        dir.name()
    )))
}

/// Fills in what older files leave out: the metric's name and type.
pub fn fill_from_metrics(row: &mut Scenario, benchmark: &Benchmark) {
    if let Some(metric) = benchmark.metric(&row.metric_id) {
        row.metric_name.get_or_insert_with(|| metric.name.clone());
        row.metric_type.get_or_insert(metric.metric_type);
    }
}
