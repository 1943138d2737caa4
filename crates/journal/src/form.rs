//! The format of a journal file, and the name of its index.

use crate::RunId;

/// The format of a journal file. Readers accept both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Text: `journal-<run id>.jsonl`.
    #[default]
    Plain,
    /// The same text in zstd frames: `journal-<run id>.jsonl.zst`, about a tenth of the size. `zstd -dc` unpacks
    /// it.
    Compressed,
}

impl Form {
    /// The extension of the files, from the first dot on.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Plain => "jsonl",
            Self::Compressed => "jsonl.zst",
        }
    }
}

impl Form {
    const ALL: [Self; 2] = [Self::Plain, Self::Compressed];
}

/// The name of the index that readers keep beside the journal file `name`. It can be removed at any time. `None` for a file that is not
/// called as journals are.
///
/// ```
/// let index = journal::index_name("journal-run-20261121-052131-284600.jsonl.zst");
/// assert_eq!(index.as_deref(), Some("index-run-20261121-052131-284600"));
/// assert_eq!(journal::index_name("notes.jsonl"), None);
/// ```
#[must_use]
pub fn index_name(name: &str) -> Option<String> {
    Some(format!("{INDEX_PREFIX}{}", stem(name)?))
}

/// The name of the table of items that a run leaves beside its journal file `name`: later runs find in it what they need not write again.
/// `None` for a file that is not called as journals are.
///
/// ```
/// let table = journal::item_table_name("journal-run-20261121-052131-284600.jsonl");
/// assert_eq!(table.as_deref(), Some("items-run-20261121-052131-284600"));
/// ```
#[must_use]
pub fn item_table_name(name: &str) -> Option<String> {
    Some(format!("{TABLE_PREFIX}{}", stem(name)?))
}

/// The id in the name of a journal file.
fn stem(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("journal-")?;
    let mut forms = Form::ALL.iter();
    forms.find_map(|form| rest.strip_suffix(form.extension())?.strip_suffix('.'))
}

/// Whether `name` is the name of a file of [`index_name`] or [`item_table_name`], for the journal of a run.
#[must_use]
pub fn is_index_name(name: &str) -> bool {
    let mut prefixes = [INDEX_PREFIX, TABLE_PREFIX].into_iter();
    let run = prefixes.find_map(|prefix| name.strip_prefix(prefix));
    run.is_some_and(|run| run.parse::<RunId>().is_ok())
}

const INDEX_PREFIX: &str = "index-";
const TABLE_PREFIX: &str = "items-";
