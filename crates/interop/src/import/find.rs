//! Finds the files to import, and their format.

use std::{
    fmt, fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::de::{IgnoredAny, MapAccess, Visitor};

use super::{ImportError, clean::Clean, eee, petri, promptfoo, rows};

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Logs of Inspect: `.eval` or `.json`.
    Inspect,
    /// Instance files of Every Eval Ever: `.jsonl`.
    EveryEvalEver,
    /// Results of promptfoo: `.json` or `.jsonl`.
    Promptfoo,
    /// Transcripts of Petri and Bloom: `.json`.
    Petri,
    /// Rows of any program with a conversation each: `.jsonl`.
    Rows,
}

/// The files at a path, by what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// Those to import, sorted.
    pub files: Vec<PathBuf>,
    /// What an import would be expected to read and cannot, each with the reason, sorted.
    pub left_out: Vec<(PathBuf, String)>,
    /// Files in a folder that are not of the format, sorted.
    pub others: Vec<PathBuf>,
}

/// How deep folders in a folder are searched.
const DEEPEST: u32 = 32;

/// Why an aggregate of Every Eval Ever is left out.
const NO_INSTANCES: &str =
    "an aggregate of Every Eval Ever whose instance file is not beside it: it has no conversations";

/// Checks that `path` is a regular file: it is read more than once, which a pipe does not allow.
fn check_file(path: &Path) -> Result<(), ImportError> {
    let metadata = fs::metadata(path).map_err(|error| ImportError::read(path, error))?;
    match files::special_file(&metadata) {
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
            Self::Promptfoo => "promptfoo",
            Self::Petri => "Petri",
            Self::Rows => "JSONL",
        }
    }

    /// What a file of the format is called.
    fn file(self) -> &'static str {
        match self {
            Self::Inspect => "log of Inspect (.eval or .json)",
            Self::EveryEvalEver => "instance file of Every Eval Ever (.jsonl)",
            Self::Promptfoo => "results file of promptfoo (.json or .jsonl)",
            Self::Petri => "transcript of Petri or Bloom (.json)",
            Self::Rows => "file of rows (.jsonl)",
        }
    }

    /// The files of this format at `path`: the path itself, or all files in the folder and its subfolders. Every file of a folder is in
    /// one of the lists of the result, except those whose names begin with a dot.
    ///
    /// # Errors
    /// When the path cannot be read, or contains no file of the format.
    pub fn files(self, path: &Path) -> Result<FoundFiles, ImportError> {
        let mut found = FoundFiles::default();
        if !path.is_dir() {
            check_file(path)?;
            match self {
                Self::Inspect | Self::Promptfoo | Self::Petri | Self::Rows => {
                    found.files.push(path.to_owned());
                }
                Self::EveryEvalEver => match eee::instances(path)? {
                    Some(instances) => found.files.push(instances),
                    None => {
                        return Err(ImportError::unusable(
                            path.display(),
                            "it is an aggregate, and its file of instances is not beside it",
                        ));
                    }
                },
            }
            return Ok(found);
        }
        self.walk(path, &mut found, 0)?;
        found.files.sort();
        found.files.dedup();
        found.left_out.sort();
        // An instance file with a name of its own is found by its aggregate.
        found.others.retain(|path| !found.files.contains(path));
        found.others.sort();
        if found.files.is_empty() {
            let why = found
                .left_out
                .first()
                .map(|(file, reason)| format!("; {}: {reason}", file.display()));
            return Err(ImportError::unusable(
                path.display(),
                format!(
                    "no {} in this folder{}",
                    self.file(),
                    why.unwrap_or_default()
                ),
            ));
        }
        Ok(found)
    }

    fn walk(self, folder: &Path, found: &mut FoundFiles, depth: u32) -> Result<(), ImportError> {
        let read = |error| ImportError::read(folder, error);
        for entry in fs::read_dir(folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(read)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let why = match fs::metadata(&path) {
                Ok(of) if kind.is_dir() && of.is_dir() && depth < DEEPEST => {
                    self.walk(&path, found, depth + 1)?;
                    continue;
                }
                Ok(_) if kind.is_dir() => {
                    format!("folders in more than {DEEPEST} folders are not searched")
                }
                // It may form a loop.
                Ok(of) if of.is_dir() => {
                    "a link to a folder, which is not followed; name that folder".to_owned()
                }
                Ok(of) => match files::special_file(&of) {
                    Some(what) => format!("not a file, but {what}"),
                    None => {
                        self.sort_in(path, found)?;
                        continue;
                    }
                },
                Err(_) if kind.is_symlink() => "a link to a file that is not there".to_owned(),
                Err(error) => return Err(ImportError::read(&path, error)),
            };
            found.left_out.push((path, why));
        }
        Ok(())
    }

    /// Puts a regular file of a folder into the list that it belongs to.
    fn sort_in(self, path: PathBuf, found: &mut FoundFiles) -> Result<(), ImportError> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_json = extension == Some("json");
        match (self, extension) {
            (Self::Inspect, Some("eval")) => {
                found.files.push(path);
                return Ok(());
            }
            // A broken file of instances is named by its reader.
            (Self::EveryEvalEver, Some("jsonl")) if !Self::is_of_another(self, &path)? => {
                found.files.push(path);
                return Ok(());
            }
            (_, Some("eval" | "json" | "jsonl")) => {}
            _ => {
                found.others.push(path);
                return Ok(());
            }
        }
        match Self::of(&path)? {
            Some(of) if of != self => {
                let why = format!("a file of {}; import it by itself", of.name());
                found.left_out.push((path, why));
            }
            Some(Self::EveryEvalEver) => match eee::instances(&path)? {
                Some(instances) => found.files.push(instances),
                None => found.left_out.push((path, NO_INSTANCES.to_owned())),
            },
            Some(Self::Inspect | Self::Promptfoo | Self::Petri | Self::Rows) => {
                found.files.push(path);
            }
            None => match is_json.then(|| json_fault(&path)).transpose()?.flatten() {
                Some(fault) => found.left_out.push((path, fault)),
                None => found.others.push(path),
            },
        }
        Ok(())
    }

    /// The format of a file, from its name and its beginning; of a folder, from the files in it. `None`:
    /// unknown.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Option<Self>, ImportError> {
        if path.is_dir() {
            return Self::of_folder(path);
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
        let first = outer_keys(&begin);
        if petri::has_keys(|key| first.iter().any(|known| known == key)) {
            return Ok(Some(Self::Petri));
        }
        if eee::looks_like_rows(&begin) {
            return Ok(Some(Self::EveryEvalEver));
        }
        if promptfoo::looks_like_rows(&begin) {
            return Ok(Some(Self::Promptfoo));
        }
        if rows::looks_like_rows(&begin) {
            return Ok(Some(Self::Rows));
        }
        reader.read_to_end(&mut begin).map_err(read)?;
        let keys = outer_keys(&begin);
        let has = |key: &str| keys.iter().any(|known| known == key);
        Ok(if has("schema_version") && has("evaluation_id") {
            Some(Self::EveryEvalEver)
        } else if has("version") && has("eval") {
            Some(Self::Inspect)
        } else if has("evalId") && has("results") {
            Some(Self::Promptfoo)
        } else if petri::has_keys(has) {
            Some(Self::Petri)
        } else {
            None
        })
    }

    /// Whether the file is of a format that is known, and not of `format`.
    fn is_of_another(format: Self, path: &Path) -> Result<bool, ImportError> {
        Ok(Self::of(path)?.is_some_and(|of| of != format))
    }

    /// The format of the files in a folder. One without any that can be imported has the format of what is left of them.
    fn of_folder(path: &Path) -> Result<Option<Self>, ImportError> {
        let mut remains = None;
        for format in [
            Self::Inspect,
            Self::EveryEvalEver,
            Self::Promptfoo,
            Self::Petri,
            Self::Rows,
        ] {
            let mut found = FoundFiles::default();
            format.walk(path, &mut found, 0)?;
            if !found.files.is_empty() {
                return Ok(Some(format));
            }
            if found.left_out.iter().any(|(_, why)| why == NO_INSTANCES) {
                remains = Some(format);
            }
        }
        Ok(remains)
    }
}

/// Why the file is no JSON document; `None` if it is one.
fn json_fault(path: &Path) -> Result<Option<String>, ImportError> {
    let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
    let read = serde_json::from_reader(BufReader::new(Clean::new(file)));
    Ok(match read {
        Ok(IgnoredAny) => None,
        Err(error) if error.is_io() => return Err(ImportError::json(path.display(), &error)),
        Err(error) if error.is_eof() => {
            Some(format!("it ends in the middle ({error}); fetch it again"))
        }
        Err(error) => Some(format!("not valid JSON: {error}")),
    })
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
