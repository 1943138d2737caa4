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
    let rest = name.strip_prefix("journal-")?;
    let mut forms = Form::ALL.iter();
    let stem = forms.find_map(|form| rest.strip_suffix(form.extension())?.strip_suffix('.'))?;
    Some(format!("{INDEX_PREFIX}{stem}"))
}

/// Whether `name` is the name of a file of [`index_name`], for the journal of a run.
#[must_use]
pub fn is_index_name(name: &str) -> bool {
    let run = name.strip_prefix(INDEX_PREFIX);
    run.is_some_and(|run| run.parse::<RunId>().is_ok())
}

const INDEX_PREFIX: &str = "index-";
