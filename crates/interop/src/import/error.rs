//! Why a file cannot be imported.

use std::{fmt, io, path::Path};

/// Why a file cannot be imported. Its text is for people: it names the file, and the location in it if
/// known.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ImportError {
    fault: ImportFailure,
}

#[derive(Debug, thiserror::Error)]
enum ImportFailure {
    #[error("{place}: cannot be read: {error}")]
    Read {
        place: String,
        #[source]
        error: io::Error,
    },
    #[error("{place}: {what}")]
    Unusable { place: String, what: String },
}

impl ImportError {
    /// A file that cannot be read.
    pub(super) fn read(path: &Path, error: io::Error) -> Self {
        Self {
            fault: ImportFailure::Read {
                place: path.display().to_string(),
                error,
            },
        }
    }

    /// An existing file that cannot be used.
    pub(super) fn unusable(place: impl fmt::Display, what: impl Into<String>) -> Self {
        Self {
            fault: ImportFailure::Unusable {
                place: place.to_string(),
                what: what.into(),
            },
        }
    }

    /// JSON at `place` that is cut off or invalid.
    pub(super) fn json(place: impl fmt::Display, error: &serde_json::Error) -> Self {
        let what = if error.is_eof() {
            format!("the file ends in the middle ({error}). Fetch it again")
        } else {
            error.to_string()
        };
        Self::unusable(place, what)
    }
}
