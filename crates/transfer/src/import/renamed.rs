//! Replaces the name of a benchmark in the files beside it when the benchmark is renamed.

use std::{fs, path::Path};

use serde_json::Value;

use store::RunError;

/// The files, and the keys in them that name the benchmark.
const NAMED: [(&str, &[&str]); 2] = [
    (
        "grades.json",
        &["/benchmark/uid", "/standards/reference_benchmark"],
    ),
    ("standards.json", &["/standards/reference_benchmark"]),
];

/// The old and the new name of a benchmark.
pub(super) struct Renamed {
    pub(super) before: String,
    pub(super) now: String,
}

impl Renamed {
    /// Whether the file `name` contains the benchmark's name, so that it must be rewritten.
    pub(super) fn concerns(&self, name: &str) -> bool {
        self.before != self.now && NAMED.iter().any(|(file, _)| *file == name)
    }

    /// Copies the file `name` and replaces the old name with the new one. A file that is not JSON is not copied: returns the reason.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<Option<String>, RunError> {
        let text = files::read(from).map_err(|error| RunError::read(from, error))?;
        let mut file: Value = match serde_json::from_slice(&text) {
            Ok(file) => file,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let name = from.file_name().and_then(|name| name.to_str());
        let places = NAMED.iter().filter(|(file, _)| Some(*file) == name);
        for place in places.flat_map(|(_, places)| places.iter()) {
            match file.pointer_mut(place) {
                Some(Value::String(uid)) if *uid == self.before => uid.clone_from(&self.now),
                _ => {}
            }
        }
        fs::write(to, format!("{file:#}\n"))
            .map(|()| None)
            .map_err(|error| RunError::write(to, error))
    }
}
