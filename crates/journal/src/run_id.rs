//! The id of a run.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::Serialize;

use crate::Form;

/// The id of a run: `run-YYYYMMDD-HHMMSS-ffffff`, the UTC time of its start to the microsecond.
///
/// ```
/// use journal::RunId;
///
/// let id: RunId = "run-20261121-015207-588619".parse()?;
/// assert_eq!(id.journal_file_name(), "journal-run-20261121-015207-588619.jsonl");
/// assert!("run-../../x".parse::<RunId>().is_err());
/// # Ok::<(), journal::RunIdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// The id of a run that starts now.
    #[must_use]
    pub fn now() -> Self {
        Self::at(Timestamp::now())
    }

    /// The id of a run that starts at `time`. Ids sort by time.
    #[must_use]
    pub fn at(time: Timestamp) -> Self {
        Self(time.strftime("run-%Y%m%d-%H%M%S-%6f").to_string())
    }

    /// When the run started. `None` for digits that are no time.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        let part = |range: std::ops::Range<usize>| self.0.get(range);
        let (date, time, micros) = (part(4..12)?, part(13..19)?, part(20..26)?);
        let text = format!("{date}T{time}.{micros}Z");
        text.parse().ok()
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the run's journal: `journal-<run id>.jsonl`.
    #[must_use]
    pub fn journal_file_name(&self) -> String {
        self.journal_file_name_as(Form::Plain)
    }

    /// The name of the run's journal in the form `form`.
    #[must_use]
    pub fn journal_file_name_as(&self, form: Form) -> String {
        format!("journal-{self}.{}", form.extension())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let form = b"run-dddddddd-dddddd-dddddd";
        let fits = |(byte, form): (u8, &u8)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == *other,
        };
        if text.len() == form.len() && text.bytes().zip(form).all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RunIdError(text.to_owned()))
        }
    }
}

/// The error of a text that is not a run id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no run id: one looks like run-20261121-015207-588619")]
pub struct RunIdError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_of_the_time_to_the_microsecond() {
        let time: Timestamp = "2026-01-02T03:04:05.000067999Z".parse().unwrap();
        let id = RunId::at(time);
        assert_eq!(id.as_str(), "run-20260102-030405-000067");
        assert_eq!(id.as_str().parse::<RunId>().unwrap(), id);
        assert_eq!(id.time(), "2026-01-02T03:04:05.000067Z".parse().ok());
        let none: RunId = "run-20261399-000000-000000".parse().unwrap();
        assert_eq!(none.time(), None);
        assert!(RunId::now() > id);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "run-",
            "run-2026112-0152070-588619",
            "Run-20261121-015207-588619",
        ] {
            let error = text.parse::<RunId>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}
