//! Finds the files to import, and their format.

use std::{
    fmt, fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::{ImportError, clean::Clean, eee};

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Logs of Inspect: `.eval` or `.json`.
    Inspect,
    /// Instance files of Every Eval Ever: `.jsonl`.
    EveryEvalEver,
}

/// Checks that `path` is a regular file: it is read more than once, which a pipe does not allow.
fn check_file(path: &Path) -> Result<(), ImportError> {
    let metadata = fs::metadata(path).map_err(|error| ImportError::read(path, error))?;
    match schema::special_file(&metadata) {
        None => Ok(()),
        Some(what) => Err(ImportError::unusable(
            path.display(),
            format!("not a file, but {what}; copy its content to a file and import that"),
        )),
    }
}

impl Format {
    /// The format's name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inspect => "Inspect",
            Self::EveryEvalEver => "Every Eval Ever",
        }
    }

    /// The files of this format at `path`, sorted: the path itself, or all files in the folder and its
    /// subfolders.
    ///
    /// # Errors
    /// When the path cannot be read, or contains no file of the format.
    pub fn files(self, path: &Path) -> Result<Vec<PathBuf>, ImportError> {
        let mut files = Vec::new();
        if !path.is_dir() {
            check_file(path)?;
            match self {
                Self::Inspect => files.push(path.to_owned()),
                Self::EveryEvalEver => match eee::instances(path)? {
                    Some(instances) => files.push(instances),
                    None => {
                        return Err(ImportError::unusable(
                            path.display(),
                            "it is an aggregate, and its file of instances is not beside it",
                        ));
                    }
                },
            }
            return Ok(files);
        }
        self.walk(path, &mut files, 0)?;
        files.sort();
        if files.is_empty() {
            let kind = match self {
                Self::Inspect => "log of Inspect (.eval or .json)",
                Self::EveryEvalEver => "instance file of Every Eval Ever (.jsonl)",
            };
            return Err(ImportError::unusable(
                path.display(),
                format!("no {kind} in this folder"),
            ));
        }
        Ok(files)
    }

    fn walk(self, folder: &Path, files: &mut Vec<PathBuf>, depth: u32) -> Result<(), ImportError> {
        let read = |error| ImportError::read(folder, error);
        for entry in fs::read_dir(folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(read)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            // Links to folders are not followed: they may form a loop.
            if kind.is_dir() && depth < 32 {
                self.walk(&path, files, depth + 1)?;
            } else if path.is_file() && self.takes(&path)? {
                files.push(path);
            }
        }
        Ok(())
    }

    /// Whether a file in a folder has this format.
    fn takes(self, path: &Path) -> Result<bool, ImportError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        Ok(match (self, extension) {
            (Self::Inspect, Some("eval")) => true,
            (Self::Inspect, Some("json")) => Self::of(path)? == Some(self),
            (Self::EveryEvalEver, Some("jsonl")) => true,
            _ => false,
        })
    }

    /// The format of a file, from its name and its beginning; of a folder, from the files in it. `None`:
    /// unknown.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Option<Self>, ImportError> {
        if path.is_dir() {
            for format in [Self::Inspect, Self::EveryEvalEver] {
                let mut files = Vec::new();
                format.walk(path, &mut files, 0)?;
                if !files.is_empty() {
                    return Ok(Some(format));
                }
            }
            return Ok(None);
        }
        check_file(path)?;
        let read = |error| ImportError::read(path, error);
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension == Some("eval") {
            return Ok(Some(Self::Inspect));
        }
        let mut begin = Vec::new();
        let mut reader = BufReader::new(files::open(path).map_err(read)?.take(1 << 20));
        reader.read_until(b'\n', &mut begin).map_err(read)?;
        if begin.starts_with(b"PK") {
            return Ok(Some(Self::Inspect));
        }
        if eee::looks_like_rows(&begin) {
            return Ok(Some(Self::EveryEvalEver));
        }
        reader.read_to_end(&mut begin).map_err(read)?;
        let keys = outer_keys(&begin);
        let has = |key: &str| keys.iter().any(|known| known == key);
        Ok(if has("schema_version") && has("evaluation_id") {
            Some(Self::EveryEvalEver)
        } else if has("version") && has("eval") {
            Some(Self::Inspect)
        } else {
            None
        })
    }
}

/// The keys of the object at the start of `text`, as far as the text goes.
fn outer_keys(text: &[u8]) -> Vec<String> {
    struct Keys<'a>(&'a mut Vec<String>);

    impl<'de> Visitor<'de> for Keys<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key()? {
                self.0.push(key);
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }

    let mut keys = Vec::new();
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Clean::new(text)));
    // The text may be cut off, or invalid JSON: the keys before that count.
    let _ = serde::Deserializer::deserialize_map(&mut json, Keys(&mut keys));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_inner_objects_are_none_of_a_file() {
        assert_eq!(
            outer_keys(br#"{"version": "1", "scripts": {"eval": "x"}, "x": NaN, "eval": {"cut"#),
            ["version", "scripts", "x", "eval"]
        );
        assert!(outer_keys(b"[{\"version\": 1}]").is_empty());
        assert!(outer_keys(b"").is_empty());
    }
}
