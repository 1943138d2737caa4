//! Where result files are written.

use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use schema::{
    ModelId, ProgramFlag,
    safety::results::{SafetyFile, SafetyResults},
};

use store::{RunError, check_replaceable, check_writable, write_atomically};

/// The result files of a run: one for each target.
#[derive(Clone, Debug)]
pub struct OutputFiles {
    path: PathBuf,
    bare: bool,
    overwrite: bool,
}

impl OutputFiles {
    /// A file at `path`. With several targets each has its own file, with the target's id at the end of its name:
    /// `out_<id>.json` for `out.json`.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            bare: false,
            overwrite: false,
        }
    }

    /// Writes only the data, without the envelope.
    #[must_use]
    pub fn bare(mut self, bare: bool) -> Self {
        self.bare = bare;
        self
    }

    /// Replaces an existing file. Otherwise an existing file prevents the run from starting.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Whether an existing file is replaced.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        self.overwrite
    }

    /// The given path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of each of `targets`, in their order. Checks that none exists, unless it may be overwritten, and that each can
    /// be written.
    ///
    /// # Errors
    /// What is in the way, with the path.
    pub fn places(&self, targets: &[&ModelId]) -> Result<Vec<PathBuf>, RunError> {
        let path = &self.path;
        not_a_folder(path)?;
        if path.file_name().is_none() {
            return Err(RunError::input(format!(
                "{:?} is not the name of a file",
                path.display().to_string()
            )));
        }
        let places: Vec<PathBuf> = match targets {
            [_] => vec![self.path.clone()],
            several => several.iter().map(|id| named(&self.path, id)).collect(),
        };
        for place in &places {
            self.check(place)?;
        }
        Ok(places)
    }

    fn check(&self, path: &Path) -> Result<(), RunError> {
        not_a_folder(path)?;
        check_replaceable(path).map_err(|error| {
            RunError::input(format!(
                "{}: cannot be written: {error}. Name a file",
                path.display()
            ))
        })?;
        if path.symlink_metadata().is_ok() && !self.overwrite {
            return Err(RunError::input(format!(
                "{}: the file exists. Move it, name another, or replace it with `{}`",
                path.display(),
                ProgramFlag::new("overwrite")
            )));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(RunError::input(format!(
                "{}: cannot be written: no such folder: {}",
                path.display(),
                folder.display()
            )));
        }
        check_writable(folder).map_err(|error| {
            let text = format!(
                "{}: no file can be created in its folder: {error}",
                path.display()
            );
            RunError::output(text).with_source(error)
        })
    }

    /// Writes `results` to `path`.
    pub(super) fn write(&self, path: &Path, results: SafetyResults) -> Result<(), RunError> {
        write_results(path, results, self.bare)
    }
}

/// Writes the result file `path`, with or without the envelope.
///
/// # Errors
/// When it cannot be written.
pub fn write_results(path: &Path, results: SafetyResults, bare: bool) -> Result<(), RunError> {
    let file = match bare {
        true => SafetyFile::bare(results),
        false => SafetyFile::envelope(results),
    };
    let text = file.to_json().map_err(|error| {
        RunError::output(format!("{}: {error}", path.display())).with_source(error)
    })?;
    write_atomically(path, |writer| {
        std::io::Write::write_all(writer, text.as_bytes())
    })
}

fn not_a_folder(path: &Path) -> Result<(), RunError> {
    if path.is_dir() {
        return Err(RunError::input(format!(
            "{}: this is a folder; name a file to write",
            path.display()
        )));
    }
    Ok(())
}

/// The name of a result file that the user did not name: `circuit_breaker_labs_single_turn_evaluation_20261121_015207.json`.
/// `mode` is `single_turn` or `multi_turn`, `time` the local time.
///
/// ```
/// use engine::safety::default_name;
///
/// let time = jiff::civil::date(2026, 11, 21).at(1, 52, 7, 0);
/// assert_eq!(default_name("multi_turn", time), "circuit_breaker_labs_multi_turn_evaluation_20261121_015207.json");
/// ```
#[must_use]
pub fn default_name(mode: &str, time: DateTime) -> String {
    let time = time.strftime("%Y%m%d_%H%M%S");
    format!("circuit_breaker_labs_{mode}_evaluation_{time}.json")
}

/// `path` with the target's id at the end of its name.
fn named(path: &Path, id: &ModelId) -> PathBuf {
    // An id can be any text, but a file name cannot contain separators.
    let id = id.as_str().replace(['/', '\\', ':'], "-");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(end) => format!("{stem}_{id}.{}", end.to_string_lossy()),
        None => format!("{stem}_{id}"),
    };
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_targets_have_a_file_each() {
        let folder = tempfile::tempdir().unwrap();
        let files = OutputFiles::at(folder.path().join("out.json"));
        let (a, b) = (
            ModelId::new("gpt-4.1").unwrap(),
            ModelId::new("llama3:8b").unwrap(),
        );
        let names = |ids: &[&ModelId]| -> Vec<String> {
            let places = files.places(ids).unwrap();
            let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            places.iter().map(name).collect()
        };
        assert_eq!(names(&[&a]), ["out.json"]);
        assert_eq!(names(&[&a, &b]), ["out_gpt-4.1.json", "out_llama3-8b.json"]);
    }

    #[test]
    fn a_file_that_is_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        std::fs::write(&path, "mine").unwrap();
        let id = ModelId::new("a").unwrap();
        let error = OutputFiles::at(&path).places(&[&id]).unwrap_err();
        assert!(error.to_string().contains("the file exists"), "{error}");
        OutputFiles::at(&path)
            .overwrite(true)
            .places(&[&id])
            .unwrap();
        for (path, words) in [
            (folder.path().to_owned(), "this is a folder"),
            (folder.path().join("none/out.json"), "no such folder"),
        ] {
            let error = OutputFiles::at(path).places(&[&id]).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
