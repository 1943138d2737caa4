//! How a journal is written.

/// How the file of a journal is written. Readers take both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Text: `journal-<run id>.jsonl`.
    #[default]
    Plain,
    /// The same text in zstd frames: `journal-<run id>.jsonl.zst`, about a tenth as long. `zstd -dc` unpacks it.
    Compressed,
}

impl Form {
    /// How names of such files end, from the first dot on.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Plain => "jsonl",
            Self::Compressed => "jsonl.zst",
        }
    }
}
