//! The format of a journal file.

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
