//! Why a file cannot be imported.

use std::{error::Error, fmt, io, path::Path};

/// Why a file cannot be imported, for people: it names the file, and the place in it where that is known.
#[derive(Debug)]
pub struct ImportError {
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Read { place: String, error: io::Error },
    Unusable { place: String, what: String },
}

impl ImportError {
    /// A file that cannot be read.
    pub(super) fn read(path: &Path, error: io::Error) -> Self {
        Self {
            fault: Fault::Read {
                place: path.display().to_string(),
                error,
            },
        }
    }

    /// A file that is there and cannot be used.
    pub(super) fn unusable(place: impl fmt::Display, what: impl Into<String>) -> Self {
        Self {
            fault: Fault::Unusable {
                place: place.to_string(),
                what: what.into(),
            },
        }
    }

    /// JSON at `place` that is cut off, or none.
    pub(super) fn json(place: impl fmt::Display, error: &serde_json::Error) -> Self {
        let what = if error.is_eof() {
            format!("the file ends in the middle ({error}). Fetch it again")
        } else {
            error.to_string()
        };
        Self::unusable(place, what)
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Read { place, error } => write!(f, "{place}: cannot be read: {error}"),
            Fault::Unusable { place, what } => write!(f, "{place}: {what}"),
        }
    }
}

impl Error for ImportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            Fault::Read { error, .. } => Some(error),
            Fault::Unusable { .. } => None,
        }
    }
}
