//! The tests of a text: what it contains, what it is, the option that it picks, a pattern.

use regex::Regex;
use schema::{CheckTexts, Extra, ReplyCheck, reply::excerpt};

use crate::{CheckError, Decision, Undecided, choice, filled};

#[derive(Clone, Debug)]
pub(crate) enum TextTest {
    Contains(Texts),
    Equals(Texts),
    Choice(Texts),
    Regex(Regex),
}

/// Texts of which one has to fit.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    /// As in the file.
    given: CheckTexts,
    /// With the values of a scenario.
    texts: Vec<String>,
    case_sensitive: bool,
}

impl TextTest {
    pub(crate) fn new(check: &ReplyCheck) -> Result<Option<Self>, CheckError> {
        let texts = |given: &CheckTexts| Texts {
            given: given.clone(),
            texts: Vec::new(),
            case_sensitive: check.case_sensitive,
        };
        let no_option = |given: &CheckTexts| {
            let mut texts = given.iter().filter(|text| !text.contains("{{"));
            let wrong = texts.find(|text| !choice::is_option(text))?;
            Some(CheckError {
                key: "choice",
                reason: format!("{wrong:?} is no option, such as B, 2 or yes"),
            })
        };
        let blank = |key: &'static str, given: &CheckTexts| match given
            .iter()
            .any(|text| text.trim().is_empty())
        {
            true => Err(CheckError {
                key,
                reason: "a text is empty, and every reply would fit it".to_owned(),
            }),
            false => Ok(()),
        };
        if let Some(given) = &check.contains {
            blank("contains", given)?;
            return Ok(Some(Self::Contains(texts(given))));
        }
        if let Some(given) = &check.equals {
            return Ok(Some(Self::Equals(texts(given))));
        }
        if let Some(given) = &check.choice {
            if let Some(error) = no_option(given) {
                return Err(error);
            }
            return Ok(Some(Self::Choice(texts(given))));
        }
        let Some(pattern) = &check.regex else {
            return Ok(None);
        };
        let regex = Regex::new(pattern).map_err(|error| CheckError {
            key: "regex",
            reason: format!("{pattern:?} is no regular expression: {error}"),
        })?;
        Ok(Some(Self::Regex(regex)))
    }

    /// The same with the values of a scenario.
    ///
    /// # Errors
    /// The key that the scenario lacks.
    pub(crate) fn filled(&self, scenario: &Extra) -> Result<Self, String> {
        let fill = |of: &Texts| -> Result<Texts, String> {
            Ok(Texts {
                texts: filled(&of.given, scenario)?,
                ..of.clone()
            })
        };
        Ok(match self {
            Self::Contains(texts) => Self::Contains(fill(texts)?),
            Self::Equals(texts) => Self::Equals(fill(texts)?),
            Self::Choice(texts) => Self::Choice(fill(texts)?),
            Self::Regex(regex) => Self::Regex(regex.clone()),
        })
    }

    /// Tests `text`, which people know as `what`.
    pub(crate) fn decide(&self, what: &str, text: &str) -> Result<Decision, Undecided> {
        let (found, yes, no) = match self {
            Self::Contains(texts) => (
                texts.find(|expected, text| text.contains(expected), text),
                "contains",
                "does not contain",
            ),
            Self::Equals(texts) => (
                texts.find(|expected, text| text.trim() == expected.trim(), text),
                "is",
                "is not",
            ),
            Self::Choice(texts) => return texts.decide_choice(what, text),
            Self::Regex(regex) => {
                let found = regex.find(text);
                return Ok(Decision {
                    present: found.is_some(),
                    reason: match found {
                        Some(found) => format!("{what} matches: {:?}.", excerpt(found.as_str())),
                        None => format!("{what} does not match /{regex}/."),
                    },
                });
            }
        };
        let reason = match (&found, self) {
            (Ok(text), _) => format!("{what} {yes} {:?}.", excerpt(text)),
            (Err(texts), Self::Equals(_)) => {
                format!("{what} {no} {texts}: {:?}.", excerpt(text.trim()))
            }
            (Err(texts), _) => format!("{what} {no} {texts}."),
        };
        Ok(Decision {
            present: found.is_ok(),
            reason,
        })
    }
}

impl Texts {
    /// The first text that fits, or all of them in words.
    fn find(&self, fits: impl Fn(&str, &str) -> bool, text: &str) -> Result<&str, String> {
        let same = |text: &str| match self.case_sensitive {
            true => text.to_owned(),
            false => text.to_lowercase(),
        };
        let text = same(text);
        let found = self
            .texts
            .iter()
            .find(|expected| fits(&same(expected), &text));
        found.map(String::as_str).ok_or_else(|| self.words())
    }

    fn decide_choice(&self, what: &str, text: &str) -> Result<Decision, Undecided> {
        let like = self.texts.first().map(String::as_str).unwrap_or_default();
        let picked = choice::picked(text, like)
            .map_err(|reason| Undecided::NoChoice(format!("{what} {reason}.")))?;
        let present = self
            .texts
            .iter()
            .any(|expected| choice::bare(expected) == picked);
        let reason = match present {
            true => format!("{what} picks {picked}."),
            false => format!("{what} picks {picked}, not {}.", self.words()),
        };
        Ok(Decision { present, reason })
    }

    fn words(&self) -> String {
        let words = self.texts.iter().map(|text| format!("{:?}", excerpt(text)));
        words.collect::<Vec<_>>().join(" or ")
    }
}
