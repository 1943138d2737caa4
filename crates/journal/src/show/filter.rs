//! The selection of entries.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

/// A selection of entries. A field that is `None` selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The item's prompt id.
    pub prompt_id: Option<String>,
    /// The system under test.
    pub sut: Option<String>,
    /// The test.
    pub test: Option<String>,
    /// The type of the event.
    pub message: Option<String>,
    /// Only entries from this time on.
    pub since: Option<Since>,
}

impl Filter {
    /// Whether an entry belongs to the selected items, whatever its type and time.
    #[must_use]
    pub fn takes_item(
        &self,
        prompt_id: Option<&str>,
        sut: Option<&str>,
        test: Option<&str>,
    ) -> bool {
        let fits = |selected: &Option<String>, actual: Option<&str>| {
            selected
                .as_deref()
                .is_none_or(|selected| actual == Some(selected))
        };
        fits(&self.prompt_id, prompt_id) && fits(&self.sut, sut) && fits(&self.test, test)
    }

    /// Whether an entry has the selected type.
    #[must_use]
    pub fn takes_message(&self, message: &str) -> bool {
        self.message
            .as_deref()
            .is_none_or(|selected| selected == message)
    }

    /// Whether an entry written at `time` is late enough. `start` is the time of the journal's first entry. An entry
    /// without a time never is if a time is selected.
    #[must_use]
    pub fn takes_time(&self, time: Option<Timestamp>, start: Option<Timestamp>) -> bool {
        match self.since.map(|since| since.at(start)) {
            None => true,
            Some(since) => time.zip(since).is_some_and(|(time, since)| time >= since),
        }
    }
}

/// A point in time: an instant, or a duration after the journal's first entry.
///
/// ```
/// use journal::Since;
///
/// assert!("2026-11-21T01:52:03Z".parse::<Since>().is_ok());
/// assert!("2026-11-21 01:52:03.5".parse::<Since>().is_ok()); // UTC without a zone
/// assert!("90s".parse::<Since>().is_ok());
/// assert!("yesterday".parse::<Since>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// An instant.
    At(Timestamp),
    /// This long after the journal's first entry.
    After(SignedDuration),
}

impl Since {
    fn at(self, start: Option<Timestamp>) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(time),
            Self::After(duration) => start?.checked_add(duration).ok(),
        }
    }
}

impl FromStr for Since {
    type Err = SinceError;

    fn from_str(text: &str) -> Result<Self, SinceError> {
        let text = text.trim();
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::At(time));
        }
        if let Ok(time) = text.parse::<DateTime>()
            && let Ok(zoned) = time.to_zoned(TimeZone::UTC)
        {
            return Ok(Self::At(zoned.timestamp()));
        }
        match text.trim_start_matches('+').parse::<SignedDuration>() {
            Ok(duration) if !duration.is_negative() => Ok(Self::After(duration)),
            _ => Err(SinceError),
        }
    }
}

/// The error of a text that is not a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a time, such as 2026-11-21T01:52:03Z, or so long after the journal's start, such as 90s or 5m"
)]
#[non_exhaustive]
pub struct SinceError;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_entry_has_to_match_every_field_of_the_filter() {
        let filter = Filter {
            sut: Some("careful".to_owned()),
            test: Some("m01".to_owned()),
            ..Filter::default()
        };
        assert!(filter.takes_item(Some("p"), Some("careful"), Some("m01")));
        assert!(!filter.takes_item(Some("p"), Some("careful"), Some("m02")));
        assert!(!filter.takes_item(Some("p"), None, Some("m01")));
        assert!(filter.takes_message("anything"));
        assert!(filter.takes_time(None, None));
    }

    #[test]
    fn times_are_instants_or_counted_from_the_start() {
        let since = |text: &str| Filter {
            since: Some(text.parse().unwrap()),
            ..Filter::default()
        };
        let start = at("2026-11-21T01:52:02Z");
        for text in [
            "2026-11-21T02:52:04+01:00",
            "2026-11-21 01:52:04",
            "2s",
            "+2s",
        ] {
            let filter = since(text);
            assert!(
                filter.takes_time(at("2026-11-21T01:52:04Z"), start),
                "{text}"
            );
            assert!(
                !filter.takes_time(at("2026-11-21T01:52:03.9Z"), start),
                "{text}"
            );
            assert!(!filter.takes_time(None, start), "{text}");
        }
        assert!(!since("2s").takes_time(at("2026-11-21T01:52:04Z"), None));
        for text in ["", "soon", "-2s", "25:00"] {
            let error = text.parse::<Since>().unwrap_err().to_string();
            assert!(error.contains("or so long after"), "{error}");
        }
    }
}
