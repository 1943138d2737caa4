//! The origin of standards.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use jiff::Timestamp;
use schema::{BenchmarkScore, Extra, ModelId, Record, StandardsFile, StandardsMetadata};
use serde_json::{Value, json};

use super::CalibrateOptions;
use store::Layout;

/// The origin of the standards, with the fields of ModelBench's files except user, host and system, which nobody needs to
/// know.
pub(super) fn metadata(
    options: &CalibrateOptions,
    scores: &[BenchmarkScore],
    journals: &BTreeSet<String>,
    turns: impl Fn(&ModelId) -> Option<u32>,
) -> StandardsMetadata {
    let of_sut = |score: &BenchmarkScore| {
        let of_hazard = |hazard: &schema::HazardScore| {
            let score = hazard.score.map(|score| score.estimate);
            (hazard.hazard.clone(), json!(score))
        };
        let hazards: Extra = score.hazards.iter().map(of_hazard).collect();
        (score.sut.to_string(), Value::Object(hazards))
    };
    let of_sut_samples = |score: &BenchmarkScore| {
        let of_hazard = |hazard: &schema::HazardScore| {
            let samples = hazard.score.map_or(0, |score| score.samples);
            (hazard.hazard.clone(), json!(samples))
        };
        let hazards: Extra = score.hazards.iter().map(of_hazard).collect();
        (score.sut.to_string(), Value::Object(hazards))
    };
    let sut_scores: Extra = scores.iter().map(of_sut).collect();
    let sut_samples: Extra = scores.iter().map(of_sut_samples).collect();
    let of_sut_turns = |score: &BenchmarkScore| {
        let turns = turns(&score.sut)?;
        Some((score.sut.to_string(), json!(turns)))
    };
    let sut_turns: Extra = scores.iter().filter_map(of_sut_turns).collect();
    let mut run_info = Extra::new();
    let timestamp = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC");
    for (key, value) in [
        ("timestamp", json!(timestamp.to_string())),
        ("probity", json!(env!("CARGO_PKG_VERSION"))),
        ("command", json!(options.command)),
        ("sut_scores", Value::Object(sut_scores)),
        ("sut_samples", Value::Object(sut_samples)),
        ("sut_turns", Value::Object(sut_turns)),
        ("journals", json!(journals)),
    ] {
        run_info.insert(key.to_owned(), value);
    }
    StandardsMetadata {
        notice: "This file is written by `cargo xtask calibrate`. Every grade depends on it: do not edit it by hand."
            .to_owned(),
        file_format_version: StandardsFile::FORMAT_VERSION.to_owned(),
        run_info,
        extra: Extra::new(),
    }
}

/// The journals of the newest runs whose records hold exactly the references' current scores.
pub(super) fn measured_in(
    layout: &Layout,
    uid: &str,
    scores: &[BenchmarkScore],
) -> BTreeSet<String> {
    let mut newest: BTreeMap<&str, String> = BTreeMap::new();
    for record in records(layout) {
        for score in scores {
            let same = record.scores.iter().any(|other| {
                other.sut == score.sut && other.passed == score.passed && other.score == score.score
            });
            if same && record.benchmark.uid == uid {
                let run = newest.entry(score.sut.as_str()).or_default();
                if *run < record.metadata.run.run_id {
                    run.clone_from(&record.metadata.run.run_id);
                }
            }
        }
    }
    let journal = |run: String| format!("journal-{run}.jsonl");
    newest.into_values().map(journal).collect()
}

/// All readable records of runs.
fn records(layout: &Layout) -> impl Iterator<Item = Record> {
    let runs = layout.run("");
    let folders = fs::read_dir(runs).into_iter().flatten().flatten();
    let files =
        folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files
        .filter(|file| {
            let file_name = file.file_name();
            let name = file_name.to_string_lossy();
            name.starts_with("record") && name.ends_with(".json")
        })
        .filter_map(|file| serde_json::from_slice(&files::read(file.path()).ok()?).ok())
}
