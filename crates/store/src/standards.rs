//! Finds and reads the standards of a benchmark.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aggregator::{StandardsError, check_standards, read_standards, standards_note};
use schema::{
    Benchmark, Hazard, Notice, Standards, StandardsFile, StandardsMetadata, StandardsRef, notice,
};
use serde_json::Value;

use crate::{BenchmarkDir, RunError, read_grades};

/// Standards that fit the benchmark, and their origin.
#[derive(Clone, Debug)]
pub struct LoadedStandards {
    /// The file's name in records, which shows nothing about the machine.
    pub file: String,
    /// What grades compare with.
    pub standards: Standards,
    /// For each reference system, the number of turns of its conversations, if the file has it.
    pub turns: BTreeMap<String, u64>,
}

impl LoadedStandards {
    /// A note for people about how the standards fit `hazards`, for example that some have none.
    #[must_use]
    pub fn note(&self, hazards: &[Hazard]) -> Option<String> {
        standards_note(&self.standards, hazards)
    }

    /// The standards as grades and records refer to them.
    #[must_use]
    pub fn as_ref(&self) -> StandardsRef {
        StandardsRef {
            file: self.file.clone(),
            reference_benchmark: self.standards.reference_benchmark.clone(),
            reference_suts: self.standards.reference_suts.clone(),
        }
    }
}

/// Reads and checks the standards of a benchmark; `None` if it has none.
///
/// `configured` is a file for all benchmarks, or a folder that holds `<uid>.json`. If it is not given, or the folder lacks that
/// file, the benchmark's own `standards.json` is used.
pub fn load_standards(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    configured: Option<&Path>,
) -> Result<Option<LoadedStandards>, RunError> {
    let uid = benchmark.uid_or(dir.name());
    let Some(path) = find(dir, &uid, configured)? else {
        return Ok(None);
    };
    let text = files::read(&path).map_err(|error| RunError::read(&path, error))?;
    let bad = |error: StandardsError| {
        let help = standards_help(&error, dir, Some(&path));
        let refused = RunError::in_file(&path, None, error.to_string()).with_source(error);
        match help {
            Some(help) => refused.with_help(help),
            None => refused,
        }
    };
    let StandardsFile {
        metadata,
        standards,
        ..
    } = read_standards(&text).map_err(bad)?;
    check_standards(&standards, &uid, &benchmark.scored_hazards()).map_err(bad)?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    let file = match path.strip_prefix(dir.root()) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => name.unwrap_or_default().into_owned(),
    };
    Ok(Some(LoadedStandards {
        file,
        standards,
        turns: reference_turns(&metadata),
    }))
}

/// The turns of the references of the `standards.json` in the tree, as far as it has them. Empty if there is no such file or it cannot be
/// read.
#[must_use]
pub fn read_tree_reference_turns(dir: &BenchmarkDir) -> BTreeMap<String, u64> {
    let text = files::read(dir.standards()).unwrap_or_default();
    let file = read_standards(&text).ok();
    let is_graded = || read_grades(&dir.grades()).is_ok_and(|grades| grades.standards.is_some());
    file.filter(|_| is_graded())
        .map(|file| reference_turns(&file.metadata))
        .unwrap_or_default()
}

/// The turns of the references as `calibrate` writes them. Files of other programs, and older ones, do not have them.
fn reference_turns(metadata: &StandardsMetadata) -> BTreeMap<String, u64> {
    let turns = metadata.run_info.get("sut_turns");
    turns
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(sut, turns)| Some((sut.clone(), turns.as_u64()?)))
        .collect()
}

/// Advice against `error`, if there is any. `path`: the standards file; `None` if there is none yet.
#[must_use]
pub fn standards_help(
    error: &StandardsError,
    dir: &BenchmarkDir,
    path: Option<&Path>,
) -> Option<Notice> {
    let own = dir.standards();
    let calibrate = dir.command("calibrate").with("reference", "ID");
    let again = match path.filter(|path| **path != own) {
        Some(path) => calibrate.with("out", path.display()),
        None => calibrate,
    }
    .flag("force");
    match error {
        StandardsError::Json(_)
        | StandardsError::Version { .. }
        | StandardsError::MissingHazards { .. } => Some(notice![again, " writes the file again"]),
        StandardsError::OtherBenchmark { .. } => Some(notice![
            "use the standards that belong to the benchmark, or make them with ",
            again
        ]),
        StandardsError::Unmeasured { sut, .. } => Some(notice![
            dir.command("run").with("target", sut),
            " measures it"
        ]),
        _ => None,
    }
}

fn find(
    dir: &BenchmarkDir,
    uid: &str,
    configured: Option<&Path>,
) -> Result<Option<PathBuf>, RunError> {
    if let Some(path) = configured {
        if path.is_dir() {
            let file = path.join(format!("{uid}.json"));
            if file.exists() {
                return Ok(Some(file));
            }
        } else if path.exists() {
            return Ok(Some(path.to_owned()));
        } else {
            return Err(RunError::input(format!(
                "`standards` in the config names {}: no such file or folder",
                path.display()
            ))
            .with_help(notice![
                "write it with ",
                dir.command("calibrate").with("out", "FILE"),
                ", or leave the key out"
            ]));
        }
    }
    let own = dir.standards();
    Ok(own.exists().then_some(own))
}
