//! Detects the kind of a file from its name and content.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
};

use journal::{JournalReader, JournalSource};
use located::json::{self, JsonRows};
use schema::EventKind;
use serde_json::Value;
use store::{RowForm, plain_path};

use crate::{Kind, tree};

/// The most bytes of a file of lines that are read to detect its kind.
const LOOKED_AT: u64 = 1 << 20;

/// The kind of the file at `path`; `None` if neither its name nor its content shows it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("mine.yaml");
/// std::fs::write(&path, "group: sleep\ncases: []\n")?;
/// assert_eq!(validate::recognise(&path), Some(validate::Kind::TestCases));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn recognise(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    if RowForm::of(path) == RowForm::Segments {
        return by_name(plain_path(path).file_name()?.to_str()?);
    }
    by_name(name).or_else(|| by_content(path, name))
}

/// The kind by the name alone.
pub(crate) fn by_name(name: &str) -> Option<Kind> {
    let is_record = name.starts_with("record-") && name.ends_with(".json");
    let is_journal =
        name.starts_with("journal-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"));
    Some(match name {
        "benchmark.yaml" | "benchmark.yml" => Kind::Benchmark,
        "scenarios.json" => Kind::Scenarios,
        "conversations.json" => Kind::Conversations,
        "scores.json" => Kind::Scores,
        "labels.json" => Kind::Labels,
        "cost.json" => Kind::Cost,
        "results.json" => Kind::Results,
        "grades.json" => Kind::Grades,
        "statistics.json" => Kind::Statistics,
        "sequence.json" => Kind::Sequence,
        "shard.json" => Kind::Shard,
        "baseline.json" => Kind::Baseline,
        "gate.yaml" | "gate.yml" => Kind::Gate,
        "standards.json" => Kind::Standards,
        "record.json" => Kind::Record,
        "manifest.json" => Kind::Manifest,
        "imported.json" => Kind::Imported,
        "config.yaml" | "probity.toml" => Kind::Config,
        "prices.json" => Kind::Prices,
        "runs.jsonl" => Kind::ExportRuns,
        "conversations.jsonl" => Kind::ExportConversations,
        "scores.jsonl" => Kind::ExportScores,
        _ if name.ends_with(".eval") => Kind::InspectLog,
        _ if is_record => Kind::Record,
        _ if is_journal => Kind::Journal,
        _ => return None,
    })
}

fn by_content(path: &Path, name: &str) -> Option<Kind> {
    // Reading something other than a file may block forever.
    if !path.is_file() {
        return None;
    }
    let (_, end) = name.rsplit_once('.')?;
    match end.to_ascii_lowercase().as_str() {
        "json" => json_file(path, name),
        "jsonl" | "ndjson" => line_file(path),
        "zst" if name.ends_with(".jsonl.zst") => packed_file(path),
        "yaml" | "yml" => text_file(path, false),
        "toml" => text_file(path, true),
        "csv" => csv_file(path),
        _ => None,
    }
}

fn json_file(path: &Path, name: &str) -> Option<Kind> {
    let mut rows = JsonRows::new(files::open(path).ok()?);
    match rows.next_row() {
        Ok(Some(row)) => {
            let row = json::parse(row.text).ok()?.0;
            let has = |key: &str| row.get(key).is_some();
            Some(if has("transcript") {
                Kind::Conversations
            } else if has("present") && has("metric_id") {
                Kind::Scores
            } else if has("labeller") && has("conv_id") {
                Kind::Labels
            } else if has("by_metric") {
                Kind::Results
            } else if has("metric_id") {
                Kind::Scenarios
            } else if has("metrics") {
                Kind::Hazards
            } else {
                return None;
            })
        }
        Ok(None) => None,
        // Not a list: most likely an object.
        Err(_) => object_file(path, name),
    }
}

fn object_file(path: &Path, name: &str) -> Option<Kind> {
    let whole = files::read_text(path).ok()?;
    let text = whole.strip_prefix('\u{feff}').unwrap_or(&whole);
    let value: Value = serde_json::from_str(text).ok()?;
    let has = |key: &str| value.get(key).is_some();
    Some(if has("command") && has("exit_code") {
        Kind::Output
    } else if is_safety(&value) {
        return safety(name, text, &value);
    } else if has("run_uid") {
        Kind::Record
    } else if has("eval") && has("version") && has("status") {
        Kind::InspectLog
    } else if has("evaluation_results") && has("source_metadata") {
        Kind::EeeLog
    } else if has("standards") && value.pointer("/_metadata/file_format_version").is_some() {
        Kind::Standards
    } else if has("prices") {
        Kind::Prices
    } else if has("scores") && has("standards") && has("benchmark") {
        Kind::Grades
    } else if has("level") && has("method") && has("comparisons") {
        Kind::Statistics
    } else if has("format") && has("metrics") && has("targets") {
        Kind::Baseline
    } else if has("run_id") && has("outcome") {
        Kind::Manifest
    } else {
        return None;
    })
}

/// Whether an object is a safety result: by the envelope's type, or by a key that other files do not have.
fn is_safety(value: &Value) -> bool {
    let of_safety = value.get("type").and_then(Value::as_str);
    let data = value.get("data").unwrap_or(value);
    matches!(
        of_safety,
        Some("single_turn_response" | "multi_turn_response")
    ) || ["failed_results", "results_by_iteration", "total_failed"]
        .iter()
        .any(|key| data.get(key).is_some())
}

/// Single-turn or multi-turn: by the envelope, or as the reader of these files detects it.
fn safety(name: &str, text: &str, value: &Value) -> Option<Kind> {
    use schema::safety::results::{SafetyFile, SafetyResults};
    match value.get("type").and_then(Value::as_str) {
        Some("single_turn_response") => return Some(Kind::SafetySingleTurn),
        Some("multi_turn_response") => return Some(Kind::SafetyMultiTurn),
        _ => {}
    }
    if let Ok(file) = SafetyFile::read(name, text) {
        return Some(match file.results {
            SafetyResults::SingleTurn(_) => Kind::SafetySingleTurn,
            SafetyResults::MultiTurn(_) => Kind::SafetyMultiTurn,
        });
    }
    // For a file that cannot be read, its form decides: layers are lists in single-turn files only.
    let data = value.get("data").unwrap_or(value);
    let nested = data
        .pointer("/failed_results/0")
        .is_some_and(Value::is_array);
    let single =
        nested || data.get("results_by_iteration").is_some() || name.contains("single_turn");
    Some(if single {
        Kind::SafetySingleTurn
    } else {
        Kind::SafetyMultiTurn
    })
}

/// Whether `message` is the first of a journal. Logs of other programs have a `message` too.
fn begins_journal(message: &str) -> bool {
    matches!(
        EventKind::of(message),
        Some(
            EventKind::StartingJournal | EventKind::StartingRun | EventKind::StartingCalibrationRun
        )
    )
}

fn packed_file(path: &Path) -> Option<Kind> {
    let source = JournalSource::new(files::open(path).ok()?).ok()?;
    let mut reader = JournalReader::new(source.take(LOOKED_AT), "");
    let first = reader.next_line()?.ok()?;
    begins_journal(&first.message).then_some(Kind::Journal)
}

fn line_file(path: &Path) -> Option<Kind> {
    let mut line = Vec::new();
    let mut input = BufReader::new(files::open(path).ok()?.take(LOOKED_AT));
    while line.trim_ascii().is_empty() {
        line.clear();
        if input.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
    }
    let object = json::parse(&line).ok()?.0;
    let has = |key: &str| object.get(key).is_some();
    let message = object.get("message").and_then(Value::as_str);
    Some(if message.is_some_and(begins_journal) {
        Kind::Journal
    } else if has("transcript") && has("benchmark") {
        Kind::ExportConversations
    } else if has("present") && has("benchmark") {
        Kind::ExportScores
    } else if has("definition") && has("benchmark") {
        Kind::ExportRuns
    } else if has("prompt") || has("intent") {
        Kind::TestCases
    } else if has("evaluation_id") && has("answer_attribution") {
        Kind::EeeSamples
    } else if object.get("method").and_then(Value::as_str) == Some("hello") {
        Kind::ProgramLines
    } else {
        return None;
    })
}

fn text_file(path: &Path, is_toml: bool) -> Option<Kind> {
    let whole = files::read_text(path).ok()?;
    let text = whole.strip_prefix('\u{feff}').unwrap_or(&whole);
    let parsed = if is_toml {
        tree::toml(text)
    } else {
        tree::yaml(text)
    };
    let value = parsed.ok()?.value;
    let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
    if let Some(first) = value.as_array().and_then(|items| items.first()) {
        let case = ["prompt", "intent"]
            .iter()
            .any(|key| first.get(key).is_some());
        let hazard = first.get("metrics").is_some();
        return match (case, hazard) {
            (true, _) => Some(Kind::TestCases),
            (_, true) => Some(Kind::Hazards),
            _ => None,
        };
    }
    Some(if has(&["cases"]) {
        Kind::TestCases
    } else if has(&["rules"]) && !is_toml {
        Kind::Gate
    } else if has(&["metrics", "description"]) && !is_toml {
        Kind::Benchmark
    } else if has(&["targets", "user_model", "evaluator_model", "generation"]) {
        Kind::Config
    } else {
        return None;
    })
}

fn csv_file(path: &Path) -> Option<Kind> {
    let mut header = String::new();
    let input = files::open(path).ok()?.take(LOOKED_AT);
    BufReader::new(input).read_line(&mut header).ok()?;
    let mut columns = header.trim_start_matches('\u{feff}').split(',');
    let known = |name: &str| ["prompt", "intent"].contains(&name.trim().trim_matches('"'));
    columns.any(known).then_some(Kind::TestCases)
}
