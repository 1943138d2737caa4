//! Test-case packs: files of seed cases, read from text.
//!
//! ```
//! use store::pack::{self, PackFormat, PackOptions};
//!
//! let text = "group: sleep\ncases:\n- id: sleep-01\n  prompt: Is it fine to skip sleep for a week?\n";
//! let pack = pack::parse("sleep.yaml", text, PackFormat::Yaml, &PackOptions::default())?;
//! assert_eq!(pack.groups[0].cases[0].id, "sleep-01");
//!
//! let typo = text.replace("prompt", "promt");
//! let error = pack::parse("sleep.yaml", &typo, PackFormat::Yaml, &PackOptions::default()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "sleep.yaml, line 4, row 1: unknown key `promt`; did you mean `prompt`?",
//! );
//! # Ok::<(), store::pack::PackError>(())
//! ```
//!
//! # Limits
//! - A pack is one text in memory, and reading ends at the first mistake.
//! - CSV has a header row, commas, and double quotes; other separators are not detected.

mod csv;
mod error;
mod jsonl;
mod row;
mod select;
mod yaml;

pub use error::PackError;
pub use select::{join, select};

use self::row::Builder;
use schema::safety::{CaseKind, TestCaseGroup};

/// A file of seed cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCasePack {
    /// The file, for messages.
    pub name: String,
    /// Its groups, in the order in which they first appear. None is empty.
    pub groups: Vec<TestCaseGroup>,
}

/// The format of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackFormat {
    /// A table with `cases`, or a list of cases.
    Yaml,
    /// One JSON object a line.
    Jsonl,
    /// A header row, then one case a row.
    Csv,
}

impl PackFormat {
    /// The format of a file, by its extension: `.yaml`, `.yml`, `.jsonl`, `.ndjson`, `.csv`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// How to read a file with other keys than Probity's own.
///
/// If one of the keys is set, the file counts as foreign: keys that are neither set here nor `id`, `group`, `persona`, `tags`
/// or `source` are ignored, and a case without an id gets one from its group and row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackOptions {
    /// The key or column with the prompt, if it is not `prompt`.
    pub prompt_key: Option<String>,
    /// The key or column with the intent, if it is not `intent`.
    pub intent_key: Option<String>,
    /// The key or column with the id, if it is not `id`.
    pub id_key: Option<String>,
    /// The key or column with the group, if it is not `group`.
    pub group_key: Option<String>,
    /// The group of cases that have none. Without it: the file's own `group`, otherwise the file's name without folder and
    /// extension.
    pub group: Option<String>,
    /// The kind of the cases, if neither file nor case has one.
    pub kind: Option<CaseKind>,
}

impl PackOptions {
    fn is_foreign(&self) -> bool {
        let keys = [
            &self.prompt_key,
            &self.intent_key,
            &self.id_key,
            &self.group_key,
        ];
        keys.into_iter().any(Option::is_some)
    }
}

/// What a file sets for all of its cases.
#[derive(Clone, Debug, Default)]
struct Header {
    group: Option<String>,
    description: Option<String>,
    kind: Option<CaseKind>,
    source: Option<String>,
}

/// Reads a pack. `name` is the file's name for messages, and for the group if nothing else names one.
///
/// # Errors
/// The first mistake, with its position: text in another format, no case at all, an unknown key, a case without prompt and
/// intent, an id that is missing, duplicated or not usable as a row name.
pub fn parse(
    name: &str,
    text: &str,
    format: PackFormat,
    options: &PackOptions,
) -> Result<TestCasePack, PackError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (header, rows) = match format {
        PackFormat::Yaml => yaml::rows(name, text)?,
        PackFormat::Jsonl => (Header::default(), jsonl::rows(name, text)?),
        PackFormat::Csv => (Header::default(), csv::rows(name, text)?),
    };
    let mut builder = Builder::new(name, header, options, format);
    for row in rows {
        builder.push(row)?;
    }
    let groups = builder.finish();
    if groups.is_empty() {
        let reason = "the pack holds no cases. Add one, or leave the file out";
        return Err(PackError::new(name, reason));
    }
    Ok(TestCasePack {
        name: name.to_owned(),
        groups,
    })
}

/// The file's name without folder and extension.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}

#[cfg(test)]
mod tests;
