//! `scenarios.json`.

use std::{
    collections::{HashMap, HashSet},
    io::{ErrorKind, Read, Write},
    path::Path,
    sync::Arc,
};

use files::Unreadable;
use located::json::{JsonRows, JsonRowsError, JsonRowsFault};
use schema::{Benchmark, Notice, Scenario, notice, text::is_blank};
use serde_json::Value;

use crate::{
    BenchmarkDir, BrokenRule, RunError,
    tools::unknown_tools,
    tree::{DigestReader, DigestWriter, FileVersion},
    write_atomically,
};

/// Reads and checks `scenarios.json`. A missing file is an empty list. The file is read once, as long as it stays the same.
///
/// # Errors
/// When the file is not a JSON list of scenarios, is cut off, or breaks one of the [`ScenarioRules`]. The text has row, line and column.
pub fn read_scenarios(dir: &BenchmarkDir) -> Result<Arc<Vec<Scenario>>, RunError> {
    let (path, memory) = (dir.scenarios(), dir.memory());
    let read = || {
        let version = FileVersion::now(&path);
        let file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(RunError::read(&path, error)),
        };
        let mut file = DigestReader::new(file);
        let rows = read_rows(&mut file).map_err(|error| refused(&path, error))?;
        memory.digests.set(&path, version, file.finish());
        Ok(Arc::new(rows))
    };
    memory.scenarios.get_or_read(&path, read)
}

/// Replaces `scenarios.json` with `rows`.
///
/// # Errors
/// When the file cannot be written.
pub fn write_scenarios(dir: &BenchmarkDir, rows: &[&Scenario]) -> Result<(), RunError> {
    let path = dir.scenarios();
    let sha256 = write_atomically(&path, |file| {
        let mut file = DigestWriter::new(file);
        serde_json::to_writer_pretty(&mut file, rows)?;
        file.write_all(b"\n")?;
        Ok(file.finish())
    })?;
    let version = FileVersion::now(&path);
    dir.memory().digests.set(&path, version, sha256);
    Ok(())
}

fn read_rows(file: impl Read) -> Result<Vec<Scenario>, JsonRowsError> {
    let mut rules = ScenarioRules::new(None);
    let mut scenarios = Vec::new();
    let mut rows = JsonRows::new(file);
    while let Some(row) = rows.next_row()? {
        let scenario: Scenario = row.parse()?;
        if let Some(broken) = rules.row(&scenario, row.location.line).first() {
            return Err(row.error_at(&broken.pointer(), broken.to_string()));
        }
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

fn refused(path: &Path, error: JsonRowsError) -> RunError {
    // Read again as text: an error in the text explains more than an error in a row.
    if let Err(error) = files::read_text(path)
        && let Some(Unreadable::NotUtf8 { .. }) = Unreadable::of(&error)
    {
        return RunError::read(path, error);
    }
    let is_lost = matches!(
        error.fault,
        JsonRowsFault::Empty | JsonRowsFault::CutOffInRow | JsonRowsFault::CutOffInList
    );
    let error = RunError::in_rows(path, error);
    match is_lost {
        true => error.with_help("restore it, or delete it to generate the scenarios again"),
        false => error,
    }
}

/// The rules of `scenarios.json`, row by row. A run refuses the file because of the first broken one; `validate` lists them all.
///
/// ```
/// use schema::Scenario;
/// use store::ScenarioRules;
///
/// let row: Scenario = serde_json::from_str(r#"{"id": "m01_s001_v01", "metric_id": "m01"}"#)?;
/// let mut rules = ScenarioRules::new(None);
/// assert_eq!(rules.row(&row, 2), []);
/// assert_eq!(rules.row(&row, 3)[0].pointer(), "/id");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScenarioRules<'b> {
    benchmark: Option<&'b Benchmark>,
    /// The line in which each id first occurs.
    lines: HashMap<String, u64>,
    /// The metric of the first row, for messages.
    first: Option<String>,
    /// Whether some row fits a metric.
    belongs: bool,
}

impl<'b> ScenarioRules<'b> {
    /// With a benchmark, the rules between the two files are checked too, in addition to those of single rows.
    #[must_use]
    pub fn new(benchmark: Option<&'b Benchmark>) -> Self {
        Self {
            benchmark,
            lines: HashMap::new(),
            first: None,
            belongs: false,
        }
    }

    /// The rules that the next row breaks. Key paths are relative to the row. `line`: where the row begins.
    pub fn row(&mut self, row: &Scenario, line: u64) -> Vec<BrokenRule> {
        let mut broken = Vec::new();
        broken.extend(self.wrong_id(row, line));
        broken.extend(wrong_base(row));
        if let Some(benchmark) = self.benchmark {
            broken.extend(unplayable(row, benchmark));
            self.hold_against(row, benchmark);
        }
        broken
    }

    /// The rule that the whole list breaks, after its last row: some row must fit a metric of the benchmark. Rows of a removed metric
    /// are allowed beside such a row.
    #[must_use]
    pub fn finish(&self) -> Option<BrokenRule> {
        let has_metrics = self
            .benchmark
            .is_some_and(|benchmark| !benchmark.metrics.is_empty());
        let first = self
            .first
            .as_ref()
            .filter(|_| has_metrics && !self.belongs)?;
        let reason = format!(
            "these scenarios belong to another benchmark: the first is for metric {first}, and no row fits a metric of benchmark.yaml"
        );
        Some(BrokenRule::new("", reason))
    }

    /// The ids of the rows.
    #[must_use]
    pub fn into_ids(self) -> HashSet<String> {
        self.lines.into_keys().collect()
    }

    fn wrong_id(&mut self, row: &Scenario, line: u64) -> Option<BrokenRule> {
        let id = &row.id;
        let reason = if id.trim().is_empty() || id.chars().any(char::is_control) {
            format!("the id {id:?} is blank or holds a control character")
        } else if let Some(first) = self.lines.get(id) {
            format!("duplicate id {id:?}, first in line {first}. Each scenario needs its own id")
        } else {
            self.lines.insert(id.clone(), line);
            return None;
        };
        Some(BrokenRule::new("", reason).at("id"))
    }

    fn hold_against(&mut self, row: &Scenario, benchmark: &Benchmark) {
        self.first.get_or_insert_with(|| match &row.metric_name {
            Some(name) => format!("{} ({name})", row.metric_id),
            None => row.metric_id.clone(),
        });
        // If the only metric has another name, it was renamed by hand; if all of several differ, it is another benchmark.
        let renamed = benchmark.metrics.len() == 1;
        let name = row.metric_name.as_ref();
        self.belongs |= benchmark
            .metric(&row.metric_id)
            .is_some_and(|metric| renamed || name.is_none_or(|name| *name == metric.name));
    }
}

/// A blank `base_scenario_id` counts as absent: the base scenario is then taken from the id. A value that is not text is refused now,
/// because otherwise it would be noticed only when the statistics are computed, after all calls.
fn wrong_base(row: &Scenario) -> Option<BrokenRule> {
    let found = match row.extra.get("base_scenario_id")? {
        Value::Null | Value::String(_) => return None,
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        plain => plain.to_string(),
    };
    let reason = format!("expected text or null, found {found}");
    Some(BrokenRule::new("base_scenario_id", reason))
}

/// Checks that the rows were written for this benchmark: see [`ScenarioRules::finish`].
///
/// # Errors
/// When no row fits a metric of the benchmark.
pub fn check_belongs(
    dir: &BenchmarkDir,
    rows: &[Scenario],
    benchmark: &Benchmark,
) -> Result<(), RunError> {
    let mut rules = ScenarioRules::new(Some(benchmark));
    rows.iter()
        .for_each(|row| rules.hold_against(row, benchmark));
    let Some(broken) = rules.finish() else {
        return Ok(());
    };
    let refused = RunError::in_file(&dir.scenarios(), None, broken.to_string());
    Err(refused.with_help(help_foreign_scenarios(dir)))
}

/// Advice if the scenarios belong to another benchmark.
#[must_use]
pub fn help_foreign_scenarios(dir: &BenchmarkDir) -> Notice {
    notice![
        "restore the right file, or replace the scenarios with ",
        dir.command("gen-scenarios").flag("force")
    ]
}

/// The rules that a row breaks which a run cannot play or judge.
fn unplayable(row: &Scenario, benchmark: &Benchmark) -> Vec<BrokenRule> {
    let mut broken = unknown_tools(row, benchmark);
    broken.extend(wrong_turns(row));
    broken.extend(missing_keys(row, benchmark));
    broken
}

fn wrong_turns(row: &Scenario) -> Option<BrokenRule> {
    if row.then_simulated && row.turns.is_empty() {
        let reason = "there are no `turns` after which the simulated user goes on; take it out";
        return Some(BrokenRule::new("then_simulated", reason));
    }
    let blank = row.turns.iter().position(|text| is_blank(text))?;
    let reason = "the message is blank, and a target cannot answer it";
    Some(BrokenRule::new(format!("turns[{blank}]"), reason))
}

/// Keys that the check of the row's metric needs and the row does not have.
fn missing_keys(row: &Scenario, benchmark: &Benchmark) -> Option<BrokenRule> {
    let check = benchmark.metric(&row.metric_id)?.check.as_ref()?;
    let key = check.missing_key(&row.extra)?;
    let reason = format!(
        "the check of metric {} needs a text at `{key}` of each scenario; add it to the row",
        row.metric_id
    );
    Some(BrokenRule::new("", reason))
}

/// Checks that the scenarios at `path` can be played and judged: their tools are those of `benchmark.yaml`, their turns are no blank
/// messages, and they have the keys that checks of metrics need.
///
/// # Errors
/// When a scenario cannot.
pub fn check_playable(
    path: &Path,
    rows: &[Scenario],
    benchmark: &Benchmark,
) -> Result<(), RunError> {
    for (number, row) in (1..).zip(rows) {
        if let Some(broken) = unplayable(row, benchmark).first() {
            return Err(in_row(path, number, broken));
        }
    }
    Ok(())
}

/// Why a row cannot be used. The file is read again to find line and column.
fn in_row(path: &Path, number: u64, broken: &BrokenRule) -> RunError {
    let located = || {
        let mut rows = JsonRows::new(files::open(path).ok()?);
        while let Some(row) = rows.next_row().ok()? {
            if row.number == number {
                return Some(row.error_at(&broken.pointer(), broken.to_string()));
            }
        }
        None
    };
    match located() {
        Some(error) => RunError::in_rows(path, error),
        None => RunError::in_file(path, None, format!("row {number}: {broken}")),
    }
}

/// Fills in the metric's name and type, which older files leave out.
pub fn fill_from_metrics(row: &mut Scenario, benchmark: &Benchmark) {
    if let Some(metric) = benchmark.metric(&row.metric_id) {
        row.metric_name.get_or_insert_with(|| metric.name.clone());
        row.metric_type.get_or_insert(metric.metric_type);
    }
}
