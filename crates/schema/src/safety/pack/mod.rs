//! Test-case packs: files of seed cases, read from text.
//!
//! ```
//! use schema::safety::pack::{self, PackFormat, PackOptions};
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
//! # Ok::<(), schema::safety::pack::PackError>(())
//! ```
//!
//! # Limits
//! - A pack is one text in memory, and the first mistake in it ends the reading.
//! - CSV has a header row, commas, and double quotes; other separators are not guessed.

mod csv;
mod error;
mod jsonl;
mod row;
mod select;
mod yaml;

pub use error::PackError;
pub use select::{join, select};

use self::row::Builder;
use super::{CaseKind, TestCaseGroup};

/// A file of seed cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCasePack {
    /// The file, for messages.
    pub name: String,
    /// Its groups, in the order in which they come up. None is empty.
    pub groups: Vec<TestCaseGroup>,
}

/// How a pack is written.
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
    /// The format of a file, by the end of its name: `.yaml`, `.yml`, `.jsonl`, `.ndjson`, `.csv`.
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

/// How to read a file whose keys are not Probity's own.
///
/// Where one of the keys is named, the file counts as foreign: keys that are neither named here nor `id`, `group`, `persona`,
/// `tags` or `source` are passed over, and a case without an id gets one of its group and row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackOptions {
    /// The key or column that holds the prompt, where it is not `prompt`.
    pub prompt_key: Option<String>,
    /// The key or column that holds the intent, where it is not `intent`.
    pub intent_key: Option<String>,
    /// The key or column that holds the id, where it is not `id`.
    pub id_key: Option<String>,
    /// The key or column that holds the group, where it is not `group`.
    pub group_key: Option<String>,
    /// The group of cases that name none. Without it: the file's own `group`, else the file's name without folder and ending.
    pub group: Option<String>,
    /// What sort of cases they are, where neither file nor case says so.
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

/// What a file says for all of its cases.
#[derive(Clone, Debug, Default)]
struct Header {
    group: Option<String>,
    description: Option<String>,
    kind: Option<CaseKind>,
    source: Option<String>,
}

/// Reads a pack. `name` is the file's name for messages, and for the group's name where nothing else gives one.
///
/// # Errors
/// The first mistake, with its place: text that is not of the format, no case at all, an unknown key, a case without prompt and
/// intent, an id that is missing, is duplicated or cannot name a row.
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

/// The file's name without folder and ending.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    }
}

#[cfg(test)]
mod tests;
