//! The two files of a safety run: single-turn and multi-turn results.
//!
//! A file is either an envelope, `{"type": …, "data": {…}}`, or the bare data. [`SafetyFile::read`] accepts both, in all known
//! generations, and keeps every key that it does not know. Probity's data beyond the documented fields is under a single key,
//! `probity`: see [`Details`]. `docs/formats/safety-results.md` documents every field.
//!
//! ```
//! use schema::safety::results::{Form, SafetyFile, SafetyResults};
//!
//! let text = r#"{"type": "multi_turn_response", "data": {"total_passed": 2, "total_failed": 0, "failed_results": []}}"#;
//! let file = SafetyFile::read("old.json", text)?;
//! assert!(matches!(file.form, Form::Envelope { .. }));
//! assert!(matches!(&file.results, SafetyResults::MultiTurn(data) if data.total_passed == 2));
//! # Ok::<(), schema::safety::results::ResultsError>(())
//! ```

mod details;
mod multi;
mod rates;
mod read;
mod sequence;
mod single;

use serde::{Serialize, ser::SerializeMap};

pub use details::{
    AttackerRefusal, CaseError, ConversationDetail, Details, MessageScore, RunParameters,
};
pub use multi::{MultiTurnResults, MultiTurnRow, SavedMessage};
pub use rates::{SafetyRate, SafetyRates};
pub use read::ResultsError;
pub use sequence::{SafetySequence, SequencedCase};
pub use single::{SingleTurnResults, SingleTurnRow};

use super::Tally;
use crate::Extra;

/// A result file.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetyFile {
    /// Envelope or bare.
    pub form: Form,
    /// The content.
    pub results: SafetyResults,
}

/// The form of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `{"type": …, "data": {…}}`: the documented form, and the one written by default.
    Envelope {
        /// Keys other than `type` and `data`.
        extra: Extra,
    },
    /// The data alone.
    Bare,
}

/// The content of a result file.
#[derive(Clone, Debug, PartialEq)]
pub enum SafetyResults {
    /// The results of a single-turn run.
    SingleTurn(SingleTurnResults),
    /// The results of a multi-turn run.
    MultiTurn(MultiTurnResults),
}

impl SafetyResults {
    /// `single_turn_response` or `multi_turn_response`: the `type` of the envelope.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::SingleTurn(_) => read::SINGLE,
            Self::MultiTurn(_) => read::MULTI,
        }
    }

    /// The totals, and the errors if the file has Probity's details.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let (passed, failed) = match self {
            Self::SingleTurn(data) => (data.total_passed, data.total_failed),
            Self::MultiTurn(data) => (data.total_passed, data.total_failed),
        };
        let errors = self.details().map_or(0, |details| details.errors.len());
        let incomplete = self.details().map_or(0, Details::cut_off_passes);
        Tally {
            passed,
            failed,
            errors: u64::try_from(errors).unwrap_or(u64::MAX),
            incomplete: u64::try_from(incomplete).unwrap_or(u64::MAX),
        }
    }

    /// Probity's details, if the file has them.
    #[must_use]
    pub fn details(&self) -> Option<&Details> {
        match self {
            Self::SingleTurn(data) => data.probity.as_deref(),
            Self::MultiTurn(data) => data.probity.as_deref(),
        }
    }

    /// As [`details`](Self::details), to change them.
    pub fn details_mut(&mut self) -> Option<&mut Details> {
        match self {
            Self::SingleTurn(data) => data.probity.as_deref_mut(),
            Self::MultiTurn(data) => data.probity.as_deref_mut(),
        }
    }
}

impl SafetyFile {
    /// A file in the documented form.
    #[must_use]
    pub fn envelope(results: SafetyResults) -> Self {
        let form = Form::Envelope {
            extra: Extra::new(),
        };
        Self { form, results }
    }

    /// A file with only the data.
    #[must_use]
    pub fn bare(results: SafetyResults) -> Self {
        Self {
            form: Form::Bare,
            results,
        }
    }

    /// Reads a file. `name` appears in errors. It also determines the kind of a file whose text does not show it, a bare file
    /// with only an empty `failed_results`: the name may contain `single_turn` or `multi_turn`. Otherwise the file is read as
    /// multi-turn, since a single-turn file has at least the list of layer 0.
    ///
    /// # Errors
    /// When the text is not JSON, is neither kind of file, or a field has a wrong type or value. The error names the row.
    pub fn read(name: &str, text: &str) -> Result<Self, ResultsError> {
        read::read(name, text)
    }

    /// The file's text: JSON, indented by two spaces, with a line break at the end.
    ///
    /// # Errors
    /// Never with values that a reader or a writer creates; the signature is serde's.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

impl Serialize for SafetyFile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.form {
            Form::Bare => self.results.serialize(serializer),
            Form::Envelope { extra } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("type", self.results.type_name())?;
                map.serialize_entry("data", &self.results)?;
                for (key, value) in extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl Serialize for SafetyResults {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SingleTurn(data) => data.serialize(serializer),
            Self::MultiTurn(data) => data.serialize(serializer),
        }
    }
}

/// Reads a value that may be null, and distinguishes null from absent.
fn present<'de, D>(deserializer: D) -> Result<Option<serde_json::Value>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    serde::Deserialize::deserialize(deserializer).map(Some)
}
