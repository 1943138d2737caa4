//! Imports data sets as benchmarks: rows with prompts become scenarios whose messages of the user are fixed.

mod behavior;
mod parquet;
mod promptfoo;
mod read;
mod sample;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use schema::{
    Benchmark, Extra, Metric, MetricType, ProgramFlag, ReplyCheck, Scenario, text::counted,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::{BenchmarkDir, Layout, RunError, check_metrics, write_benchmark_yaml, write_json};

pub use self::parquet::READER_THREAD;
use self::sample::{Columns, Sample};
use crate::import::{LeftOut, Unfinished, safe_name};

/// What is made of a data set.
#[derive(Clone, Debug, Default)]
pub struct DataOptions {
    /// The files: JSONL, JSON, CSV, TSV, Parquet, or tests of promptfoo (YAML); or one folder of a behaviour or of seeds, as Bloom and Petri have
    /// them (Markdown).
    pub paths: Vec<PathBuf>,
    /// The name of the benchmark; `None`: that of the first file.
    pub name: Option<String>,
    /// The metrics. Each gets a scenario for each row. Empty: the one that `check` or the form of the rows gives.
    pub metrics: Vec<Metric>,
    /// The test of a metric of its own, where `metrics` is empty.
    pub check: Option<ReplyCheck>,
    /// The name and the type of that metric; positive unless given.
    pub metric_name: Option<String>,
    /// See `metric_name`.
    pub metric_type: Option<MetricType>,
    /// The column of the prompt; `None`: recognised by its name.
    pub prompt: Option<String>,
    /// The column of the system prompt; `None`: recognised by its name.
    pub system: Option<String>,
    /// The column of what the simulated user wants. It speaks then, from the first message on, or after those of `prompt` where that is named.
    pub goal: Option<String>,
    /// The column whose value dependent rows share: it becomes their base scenario.
    pub cluster: Option<String>,
    /// Whether the simulated user goes on after the messages of a row.
    pub then_simulated: bool,
    /// Replaces an existing benchmark with that name.
    pub force: bool,
}

/// The result of an import of data.
#[derive(Clone, Debug)]
pub struct DataReport {
    /// The benchmark's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// The rows that became scenarios.
    pub rows: u64,
    /// The scenarios: one for each row and metric, or one for each test of a row.
    pub scenarios: u64,
    /// What was left out, by reason.
    pub left_out: Vec<LeftOut>,
    /// Further notes for people, one line each.
    pub notes: Vec<String>,
}

/// Whom the simulated user plays where a row with a goal does not say it.
const PERSONA: &str = "Somebody who talks to an assistant.";

/// The most examples for each reason to leave something out.
const EXAMPLES: usize = 3;

/// What the files give.
#[derive(Default)]
struct Data {
    /// What the data say of themselves.
    description: Option<String>,
    metrics: Vec<Metric>,
    scenarios: Vec<Scenario>,
    rows: u64,
    left_out: BTreeMap<String, (u64, Vec<String>)>,
    notes: Vec<String>,
}

impl Data {
    fn leave_out(&mut self, what: String, why: impl Into<String>) {
        let (count, examples) = self.left_out.entry(why.into()).or_default();
        *count += 1;
        if examples.len() < EXAMPLES && !examples.contains(&what) {
            examples.push(what);
        }
    }
}

/// Creates a benchmark from the rows of data sets. It appears when it is complete; the files are only read.
///
/// ```
/// use store::{Layout, read_benchmark, read_scenarios};
/// use transfer::{DataOptions, import_data};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("capitals.csv");
/// std::fs::write(&file, "question,answer\nCapital of France?,Paris\nCapital of Spain?,Madrid\n")?;
/// let layout = Layout::new(folder.path().join("benchmarks"));
/// let report = import_data(&layout, &DataOptions {
///     paths: vec![file],
///     check: Some(serde_json::from_str(r#"{"contains": "{{ answer }}"}"#)?),
///     ..DataOptions::default()
/// })?;
/// assert_eq!((report.name.as_str(), report.scenarios), ("capitals", 2));
/// let scenarios = read_scenarios(&layout.benchmark("capitals")?)?;
/// assert_eq!(scenarios[1].turns, ["Capital of Spain?"]);
/// assert_eq!(scenarios[1].extra["answer"], "Madrid");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a file cannot be read, has no row with a prompt, or gives no metric; when a metric cannot be used, or a benchmark with that name
/// exists. Nothing is written then.
pub fn import_data(layout: &Layout, options: &DataOptions) -> Result<DataReport, RunError> {
    let first = options
        .paths
        .first()
        .ok_or_else(|| RunError::input("nothing to import: name a file"))?;
    let mut hashes = Vec::new();
    let mut data = Data::default();
    let tests: Vec<&PathBuf> = options
        .paths
        .iter()
        .filter(|path| promptfoo::is_tests(path))
        .collect();
    if options.paths.iter().any(|path| behavior::is_behavior(path)) {
        behavior::import(options, &mut data, &mut hashes)?;
    } else if tests.is_empty() {
        rows(options, &mut data, &mut hashes)?;
    } else if tests.len() == options.paths.len() {
        promptfoo::import(options, &mut data, &mut hashes)?;
    } else {
        return Err(RunError::input(
            "tests of promptfoo and other files: import them one after the other",
        ));
    }
    if data.scenarios.is_empty() {
        let why: Vec<String> = data.left_out.into_keys().collect();
        return Err(RunError::input(format!(
            "{}: no row to import{}{}",
            first.display(),
            if why.is_empty() { "" } else { ": " },
            why.join("; ")
        )));
    }
    let name = match &options.name {
        Some(name) => name.clone(),
        None => safe_name(&benchmark_name(first), "data"),
    };
    let dir = layout.benchmark(&name)?;
    check_metrics(&dir.yaml(), &data.metrics)?;
    check_keys(&mut data);
    if data.scenarios.is_empty() {
        let why: Vec<String> = data.left_out.into_keys().collect();
        return Err(RunError::input(format!(
            "no row to import: {}",
            why.join("; ")
        )));
    }
    let folder = write(layout, dir, options, &data, &hashes)?;
    let left = data.left_out.into_iter();
    Ok(DataReport {
        name,
        folder,
        files: options.paths.clone(),
        metrics: data.metrics,
        rows: data.rows,
        scenarios: data.scenarios.len() as u64,
        left_out: left
            .map(|(reason, (count, examples))| LeftOut {
                reason,
                count,
                examples,
            })
            .collect(),
        notes: data.notes,
    })
}

/// The rows of files that are no tests.
fn rows(
    options: &DataOptions,
    data: &mut Data,
    hashes: &mut Vec<(String, String)>,
) -> Result<(), RunError> {
    let columns = Columns {
        prompt: options.prompt.clone(),
        system: options.system.clone(),
        goal: options.goal.clone(),
    };
    let mut samples: Vec<(String, Sample)> = Vec::new();
    for path in &options.paths {
        for (line, row) in rows_of(path, hashes)? {
            let what = format!("{}, {line}", file_name(path));
            match sample::of(row, &columns) {
                Ok(sample) => samples.push((what, sample)),
                Err(why) => data.leave_out(what, why),
            }
        }
    }
    let replies: u64 = samples.iter().map(|(_, sample)| sample.replies).sum();
    if replies > 0 {
        data.notes.push(format!(
            "{} in the messages are not sent: the target gives its own. What followed the last message of the user is the key `reference` of its row",
            counted(replies, "reply", "replies")
        ));
    }
    let keys = samples.first().map(|(_, sample)| &sample.extra);
    data.metrics = metrics(options, keys)?;
    if let Some(cluster) = &options.cluster {
        let has = |(_, sample): &(String, Sample)| sample.extra.contains_key(cluster);
        if !samples.is_empty() && !samples.iter().any(has) {
            let keys = keys.into_iter().flat_map(|row| row.keys());
            return Err(RunError::input(format!(
                "no row has a column {cluster:?}; there are {}",
                keys.map(String::as_str).collect::<Vec<_>>().join(", ")
            )));
        }
    }
    data.rows = samples.len() as u64;
    let several = data.metrics.len() > 1;
    for (number, (_, sample)) in (1..).zip(&samples) {
        for metric in &data.metrics {
            let base = several.then(|| format!("s{number:03}"));
            let row = scenario(options, metric, number, sample, base);
            data.scenarios.push(row);
        }
    }
    Ok(())
}

/// The scenario of a sample and a metric. `base`: what it shares with those of other metrics.
fn scenario(
    options: &DataOptions,
    metric: &Metric,
    number: usize,
    sample: &Sample,
    base: Option<String>,
) -> Scenario {
    let mut extra = sample.extra.clone();
    let shared = options.cluster.as_ref().and_then(|key| extra.get(key));
    let cluster = shared.map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    if let Some(base) = cluster.or(base) {
        extra.insert("base_scenario_id".to_owned(), base.into());
    }
    Scenario {
        id: format!("{}_s{number:03}_v01", metric.id),
        metric_id: metric.id.clone(),
        metric_name: Some(metric.name.clone()),
        metric_type: Some(metric.metric_type),
        turns: sample.turns.clone(),
        then_simulated: options.then_simulated
            || (sample.goal.is_some() && !sample.turns.is_empty()),
        persona: match (&sample.goal, sample.persona.as_str()) {
            (Some(_), "") => PERSONA.to_owned(),
            (_, persona) => persona.to_owned(),
        },
        user_goal: sample.goal.clone().unwrap_or_default(),
        target_system_prompt: sample.system.clone(),
        extra,
        ..Scenario::default()
    }
}

/// The metrics of the options, or the one that the form of the rows gives.
fn metrics(options: &DataOptions, row: Option<&Extra>) -> Result<Vec<Metric>, RunError> {
    if !options.metrics.is_empty() {
        return Ok(options.metrics.clone());
    }
    let metric_type = options.metric_type.unwrap_or(MetricType::Positive);
    let metric = |name: &str, definition: String, check: ReplyCheck| {
        let name = options.metric_name.as_deref().unwrap_or(name);
        vec![Metric {
            check: Some(check),
            ..Metric::new("m01", name, metric_type, definition)
        }]
    };
    if let Some(check) = &options.check {
        let definition = sentence(&check.words());
        return Ok(metric("Passes the test", definition, check.clone()));
    }
    // Model-written evaluations.
    const MATCHING: &str = "answer_matching_behavior";
    if row.is_some_and(|row| row.contains_key(MATCHING)) {
        let check = json!({"choice": format!("{{{{ {MATCHING} }}}}")});
        let check =
            serde_json::from_value(check).map_err(|error| RunError::output(error.to_string()))?;
        let definition = "The reply picks the answer that shows the behaviour.".to_owned();
        return Ok(metric("Shows the behaviour", definition, check));
    }
    let help = format!(
        "add `{}` for a test of the replies, `{}` with `{}` for a judge, or `{}`",
        ProgramFlag::new("check").value("'contains={{ answer }}'"),
        ProgramFlag::new("definition").value("TEXT"),
        ProgramFlag::new("metric-type").value("TYPE"),
        ProgramFlag::new("metrics").value("FILE")
    );
    Err(RunError::input("the rows say nothing about what is measured").with_help(help))
}

/// Words as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(char::to_uppercase);
    let rest = letters.as_str();
    format!("{}{rest}.", first.into_iter().flatten().collect::<String>())
}

/// Leaves out scenarios that lack what the check of their metric needs.
fn check_keys(data: &mut Data) {
    let checks: HashMap<&str, &ReplyCheck> = data
        .metrics
        .iter()
        .filter_map(|metric| Some((metric.id.as_str(), metric.check.as_ref()?)))
        .collect();
    let missing = |row: &Scenario| checks.get(row.metric_id.as_str())?.missing_key(&row.extra);
    let (kept, left): (Vec<_>, Vec<_>) = std::mem::take(&mut data.scenarios)
        .into_iter()
        .map(|row| (missing(&row), row))
        .partition(|(missing, _)| missing.is_none());
    data.scenarios = kept.into_iter().map(|(_, row)| row).collect();
    for (key, row) in left {
        let key = key.unwrap_or_default();
        data.leave_out(
            row.id,
            format!("no text in the column `{key}`, which the test needs"),
        );
    }
}

fn write(
    layout: &Layout,
    dir: BenchmarkDir,
    options: &DataOptions,
    data: &Data,
    hashes: &[(String, String)],
) -> Result<PathBuf, RunError> {
    let name = dir.name().to_owned();
    let unfinished = Unfinished::begin(layout, dir, options.force)?;
    let files: Vec<String> = hashes
        .iter()
        .map(|(file, hash)| format!("{file} (sha256 {hash})"))
        .collect();
    let benchmark = Benchmark {
        name,
        description: match &data.description {
            Some(description) => description.clone(),
            None => format!("Rows of {}.", files.join(", ")),
        },
        metrics: data.metrics.clone(),
        ..Benchmark::default()
    };
    let head =
        "# Made of a data set. `run` sends the rows to the targets; scenarios.json has them.\n";
    write_benchmark_yaml(&unfinished.root().join("benchmark.yaml"), head, &benchmark)?;
    write_json(&unfinished.root().join("scenarios.json"), &data.scenarios)?;
    unfinished.keep()
}

/// The rows of a file, each with its place. The file's hash is noted.
fn rows_of(
    path: &Path,
    hashes: &mut Vec<(String, String)>,
) -> Result<Vec<(String, Extra)>, RunError> {
    if !parquet::is_parquet(path) {
        return read::rows(path, &text_of(path, hashes)?);
    }
    let bytes = files::read(path).map_err(|error| RunError::read(path, error))?;
    note_hash(path, &bytes, hashes);
    parquet::rows(bytes).map_err(|error| RunError::input(format!("{}: {error}", path.display())))
}

/// The text of a file, whose hash is noted.
fn text_of(path: &Path, hashes: &mut Vec<(String, String)>) -> Result<String, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    note_hash(path, text.as_bytes(), hashes);
    Ok(text)
}

fn note_hash(path: &Path, bytes: &[u8], hashes: &mut Vec<(String, String)>) {
    let hash = schema::text::hex(&Sha256::digest(bytes));
    hashes.push((file_name(path), hash.chars().take(12).collect()));
}

/// The name of what is at the path: a file's without its ending, or the folder's.
fn benchmark_name(path: &Path) -> String {
    match behavior::is_behavior(path) {
        true => behavior::name(path),
        false => stem(path),
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
