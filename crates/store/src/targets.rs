//! The targets that have files in the folder of a benchmark.

use std::fs;

use schema::{ModelId, notice};

use crate::{BenchmarkDir, RunError, TargetDir};

/// The ids of the folders under `runs/` that hold scores, sorted.
pub fn scored_targets(dir: &BenchmarkDir) -> Result<Vec<ModelId>, RunError> {
    targets_that(dir, |files| files.scores().exists())
}

/// The targets `chosen`, or all that have scores if it is empty.
///
/// # Errors
/// When no target has scores, or a chosen one has none.
pub fn choose_scored_targets(
    dir: &BenchmarkDir,
    chosen: &[ModelId],
) -> Result<Vec<ModelId>, RunError> {
    let scored = scored_targets(dir)?;
    if scored.is_empty() {
        return Err(
            RunError::input(format!("{}: no scores", dir.root().display()))
                .with_help(notice![dir.command("run"), " writes them"]),
        );
    }
    let unknown = chosen.iter().find(|id| !scored.contains(id));
    match unknown {
        Some(id) => Err(RunError::input(format!(
            "{}: no scores of {id}; there are scores of {}",
            dir.root().display(),
            list_ids(&scored)
        ))),
        None if chosen.is_empty() => Ok(scored),
        None => Ok(chosen.to_vec()),
    }
}

/// The ids, separated by commas; "no target" if there is none.
#[must_use]
pub fn list_ids(targets: &[ModelId]) -> String {
    let names: Vec<&str> = targets.iter().map(ModelId::as_str).collect();
    match names.is_empty() {
        true => "no target".to_owned(),
        false => names.join(", "),
    }
}

/// The ids of the folders under `runs/` that hold conversations, sorted.
pub fn simulated_targets(dir: &BenchmarkDir) -> Result<Vec<ModelId>, RunError> {
    targets_that(dir, |files| files.conversations().exists())
}

/// The ids of the folders under `runs/` that `is_wanted` accepts, sorted. Entries whose names cannot be target ids are skipped, such as
/// those that desktops leave behind.
fn targets_that(
    dir: &BenchmarkDir,
    is_wanted: impl Fn(&TargetDir) -> bool,
) -> Result<Vec<ModelId>, RunError> {
    let runs = dir.runs();
    let entries = match fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::read(&runs, error)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| RunError::read(&runs, error))?;
        let name = entry.file_name().into_string().ok();
        if let Some(id) = name.and_then(|name| ModelId::new(name).ok())
            && let Ok(files) = dir.target(&id)
            && is_wanted(&files)
        {
            ids.push(id);
        }
    }
    ids.sort();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn what_can_be_no_target_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Layout::new(folder.path()).benchmark("b").unwrap();
        for id in ["b", "a", " c", ".hidden", "nothing"] {
            fs::create_dir_all(dir.runs().join(id)).unwrap();
        }
        for id in ["b", "a", " c", ".hidden"] {
            fs::write(dir.runs().join(id).join("scores.json"), "[]").unwrap();
        }
        fs::write(dir.runs().join(".DS_Store"), "x").unwrap();
        let targets = scored_targets(&dir).unwrap();
        let found: Vec<&str> = targets.iter().map(ModelId::as_str).collect();
        assert_eq!(found, ["a", "b"]);
    }
}
