//! The rules of Every Eval Ever beyond its schemas: those of the validator in the package `every-eval-ever`, and that checksums are right.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Component, Path, PathBuf},
};

use schema::text::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::checker::Found;

/// Names that Windows reserves.
const RESERVED: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];

/// The path below the public datastore: from the last folder `data` on. `None` where there is none.
fn stored_path(path: &Path) -> Option<Vec<String>> {
    let whole = path.canonicalize().ok()?;
    let parts: Vec<String> = whole
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    let from = parts.iter().rposition(|part| part == "data")?;
    Some(parts[from..].to_vec())
}

/// What is wrong with the place of a file.
fn place(path: &Path) -> Vec<Found> {
    let Some(parts) = stored_path(path) else {
        return vec![Found::note(
            "",
            "the file is in no folder `data`, so its place in the datastore is not checked",
        )];
    };
    let problem = |reason: String| vec![Found::problem("", reason)];
    if parts.len() != 5 {
        return problem(format!(
            "the datastore has data/COLLECTION/DEVELOPER/MODEL/FILE; this is {}",
            parts.join("/")
        ));
    }
    let is_portable = |name: &&String| {
        let stem = name.split('.').next().unwrap_or_default().to_uppercase();
        let numbered = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
        let is_device = numbered.is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']));
        let is_odd = |char: char| "<>:\"\\|?*".contains(char) || char.is_control();
        !(name.contains(is_odd)
            || name.ends_with(['.', ' '])
            || RESERVED.contains(&stem.as_str())
            || is_device
            || *name == "data")
    };
    if let Some(name) = parts[1..4].iter().find(|name| !is_portable(name)) {
        return problem(format!(
            "the folder {name:?} has a name that not every system can have"
        ));
    }
    let name = parts[4].as_str();
    let stem = name
        .strip_suffix("_samples.jsonl")
        .or(name.strip_suffix(".json"));
    if !stem.is_some_and(is_uuid4) {
        return problem(format!(
            "the name {name:?} is not UUID.json or UUID_samples.jsonl, with a UUID of version 4 in lower case"
        ));
    }
    Vec::new()
}

fn is_uuid4(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let is_hex = |char: char| char.is_ascii_digit() || ('a'..='f').contains(&char);
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.chars().all(is_hex))
        && groups[2].starts_with('4')
        && groups[3].starts_with(['8', '9', 'a', 'b'])
}

/// The rules of an aggregate.
pub(crate) fn eee_log(path: &Path, log: &Value) -> Vec<Found> {
    let mut found = place(path);
    found.extend(identity(path, log));
    let results = log["evaluation_results"].as_array();
    for (at, result) in results.into_iter().flatten().enumerate() {
        found.extend(score(&format!("/evaluation_results/{at}"), result));
    }
    found.extend(companion(path, log));
    found
}

/// A model's id says which folders it is in.
fn identity(path: &Path, log: &Value) -> Option<Found> {
    let parts = stored_path(path).filter(|parts| parts.len() == 5)?;
    let id = log["model_info"]["id"].as_str()?;
    let (developer, model) = match id.split_once('/') {
        Some((developer, model)) => (developer.to_owned(), model),
        None => (log["model_info"]["developer"].as_str()?.to_owned(), id),
    };
    let model = model.replace(['/', ':'], "_");
    let is_there = (&parts[2], &parts[3]) == (&developer, &model);
    (!is_there).then(|| {
        let reason = format!(
            "the model {id:?} belongs into {developer}/{model}, and the file is in {}/{}: readers look models up by their folder",
            parts[2], parts[3]
        );
        Found::note("/model_info/id", reason)
    })
}

/// A bound of scores, where `Infinity` is a text.
fn bound(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}

fn score(at: &str, result: &Value) -> Option<Found> {
    let metric = &result["metric_config"];
    let (least, most) = (bound(&metric["min_score"]), bound(&metric["max_score"]));
    let is_continuous = metric["score_type"] == "continuous";
    if is_continuous && (least.is_none() || most.is_none()) {
        let reason = "a continuous metric needs `min_score` and `max_score`";
        return Some(Found::problem(format!("{at}/metric_config"), reason));
    }
    let score = result["score_details"]["score"].as_f64()?;
    let (least, most) = (
        least.unwrap_or(f64::NEG_INFINITY),
        most.unwrap_or(f64::INFINITY),
    );
    if least > most {
        let reason = format!("the lowest score, {least}, is above the highest, {most}");
        return Some(Found::problem(
            format!("{at}/metric_config/min_score"),
            reason,
        ));
    }
    (!(least..=most).contains(&score)).then(|| {
        let reason = format!("the score {score} is outside of {least} to {most}");
        Found::problem(format!("{at}/score_details/score"), reason)
    })
}

/// The samples beside an aggregate.
fn samples_of(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    Some(path.with_file_name(format!("{stem}_samples.jsonl")))
}

/// What the lines of samples have in common.
#[derive(Default)]
struct Samples {
    rows: u64,
    sha256: String,
    evaluations: BTreeMap<String, u64>,
    models: BTreeMap<String, u64>,
}

fn read_samples(path: &Path) -> std::io::Result<Samples> {
    let mut input = BufReader::new(files::open(path)?);
    let (mut line, mut samples, mut hash) = (Vec::new(), Samples::default(), Sha256::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            samples.sha256 = hex(&hash.finalize());
            return Ok(samples);
        }
        hash.update(&line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        samples.rows += 1;
        // A line that cannot be read is a finding of its own file.
        let row: Value = serde_json::from_slice(&line).unwrap_or_default();
        let id = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        samples
            .evaluations
            .entry(id("evaluation_id"))
            .or_insert(samples.rows);
        samples.models.entry(id("model_id")).or_insert(samples.rows);
    }
}

fn companion(path: &Path, log: &Value) -> Vec<Found> {
    let Some(beside) = samples_of(path) else {
        return Vec::new();
    };
    let details = &log["detailed_evaluation_results"];
    let name = beside.file_name().unwrap_or_default().to_string_lossy();
    if details.is_null() {
        return match beside.is_file() {
            true => vec![Found::problem(
                "",
                format!("`detailed_evaluation_results` is missing, and there is {name}"),
            )],
            false => Vec::new(),
        };
    }
    let at = |key: &str| format!("/detailed_evaluation_results/{key}");
    let mut found = Vec::new();
    let expected = stored_path(path).map(|parts| {
        let folder = parts[..parts.len() - 1].join("/");
        format!("{folder}/{name}")
    });
    let given = details["file_path"].as_str().unwrap_or_default().trim();
    let is_expected = match &expected {
        Some(expected) => given == expected,
        None => given.ends_with(&format!("/{name}")),
    };
    if !is_expected {
        let expected = expected.as_deref().unwrap_or(&name);
        let reason = format!(
            "expected exactly {expected:?}: samples have the name and the folder of their aggregate"
        );
        return vec![Found::problem(at("file_path"), reason)];
    }
    let samples = match read_samples(&beside) {
        Ok(samples) => samples,
        Err(error) => {
            let reason = format!("{name}: cannot be read: {error}");
            return vec![Found::problem(at("file_path"), reason)];
        }
    };
    if samples.rows == 0 {
        found.push(Found::problem(
            at("file_path"),
            format!("{name} has no rows"),
        ));
    }
    if let Some(rows) = details["total_rows"]
        .as_u64()
        .filter(|rows| *rows != samples.rows)
    {
        let reason = format!("{rows} rows, and {name} has {}", samples.rows);
        found.push(Found::problem(at("total_rows"), reason));
    }
    let checksum = details["checksum"].as_str();
    let is_sha256 = details["hash_algorithm"] == "sha256";
    if is_sha256 && checksum.is_some_and(|sum| !sum.eq_ignore_ascii_case(&samples.sha256)) {
        let reason = format!("the SHA-256 of {name} is {}", samples.sha256);
        found.push(Found::problem(at("checksum"), reason));
    }
    found.extend(same(
        "evaluation_id",
        &log["evaluation_id"],
        &samples.evaluations,
    ));
    found.extend(same("model_id", &log["model_info"]["id"], &samples.models));
    found
}

/// Samples have the ids of their aggregate.
fn same(key: &str, expected: &Value, ids: &BTreeMap<String, u64>) -> Option<Found> {
    let (other, row) = ids
        .iter()
        .find(|(id, _)| Some(id.as_str()) != expected.as_str())?;
    let at = match key {
        "model_id" => "/model_info/id",
        _ => "/evaluation_id",
    };
    let reason = format!("row {row} of the samples has the {key} {other:?}");
    Some(Found::problem(at, reason))
}

/// The rules of a file of samples.
pub(crate) fn eee_samples(path: &Path) -> Vec<Found> {
    let mut found = place(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(stem) = name.strip_suffix("_samples.jsonl") else {
        return found;
    };
    let aggregate = format!("{stem}.json");
    let log: Option<Value> = files::read_text(path.with_file_name(&aggregate))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let reason = match log {
        None => format!(
            "samples belong beside an aggregate, and there is no {aggregate} that can be read"
        ),
        Some(log) if log["detailed_evaluation_results"].is_null() => {
            format!("{aggregate} has no `detailed_evaluation_results`, which lead to the samples")
        }
        // That they belong together is a rule of the aggregate.
        Some(_) => return found,
    };
    found.push(Found::problem("", reason));
    found
}
