//! Finding and reading the standards of a benchmark.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use aggregator::{StandardsError, check_standards, read_standards, standards_note};
use schema::{Benchmark, Hazard, Standards, StandardsFile, StandardsMetadata, StandardsRef};
use serde_json::Value;

use super::check_readable;
use crate::{BenchmarkDir, RunError};

/// Standards that fit the benchmark, and where they come from.
#[derive(Clone, Debug)]
pub struct LoadedStandards {
    /// The file as records name it: nothing of the machine is in it.
    pub file: String,
    /// What grades compare with.
    pub standards: Standards,
    /// By reference system, the turns that its conversations were simulated with, where the file says so.
    pub turns: BTreeMap<String, u64>,
}

impl LoadedStandards {
    /// What a person should know of how the standards fit `hazards`: that some have none, for one.
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

/// Reads and checks the standards of a benchmark; `None` where it has none.
///
/// `configured` is a file for all benchmarks, or a folder that holds `<uid>.json`. Where it is not given, or the folder holds no
/// such file, the benchmark's own `standards.json` is taken.
pub fn load_standards(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    configured: Option<&Path>,
) -> Result<Option<LoadedStandards>, RunError> {
    let uid = benchmark.uid_or(dir.name());
    let Some(path) = find(dir, &uid, configured)? else {
        return Ok(None);
    };
    check_readable(&path)?;
    let text = fs::read(&path).map_err(|error| RunError::read(&path, error))?;
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

/// What `calibrate` says of the references' turns. Files of other programs, and older ones, say nothing.
fn reference_turns(metadata: &StandardsMetadata) -> BTreeMap<String, u64> {
    let turns = metadata.run_info.get("sut_turns");
    let turns = turns.and_then(Value::as_object).into_iter().flatten();
    turns
        .filter_map(|(sut, turns)| Some((sut.clone(), turns.as_u64()?)))
        .collect()
}

/// What helps against `error`, where that is known. `path`: the standards file; `None` where there is none yet.
#[must_use]
pub fn standards_help(
    error: &StandardsError,
    dir: &BenchmarkDir,
    path: Option<&Path>,
) -> Option<String> {
    let (command, name) = (dir.command(), dir.name());
    let own = dir.standards();
    let out = match path.filter(|path| **path != own) {
        Some(path) => format!(" --out {}", path.display()),
        None => String::new(),
    };
    let again = format!("`{command} calibrate {name} --reference ID{out} --force`");
    match error {
        StandardsError::Json(_)
        | StandardsError::Version { .. }
        | StandardsError::MissingHazards { .. } => Some(format!("{again} writes the file again")),
        StandardsError::OtherBenchmark { .. } => Some(format!(
            "use the standards that belong to the benchmark, or make them with {again}"
        )),
        StandardsError::Unmeasured { sut, .. } => {
            Some(format!("`{command} run {name} --target {sut}` measures it"))
        }
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
            .with_help(format!(
                "write it with `{} calibrate {} --out FILE`, or leave the key out",
                dir.command(),
                dir.name()
            )));
        }
    }
    let own = dir.standards();
    Ok(own.exists().then_some(own))
}
