//! One entry in words.

use jiff::Timestamp;
use schema::text::is_blank;

/// An entry in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The line in the file, from 1.
    pub line: u64,
    /// When it happened, if known.
    pub time: Option<Timestamp>,
    /// The type of the event.
    pub message: String,
    /// Short facts: the turn, the model called, the tokens.
    pub facts: Vec<String>,
    /// How long it took in seconds, if known.
    pub took: Option<f64>,
    /// The seconds until the call is retried, if it is.
    pub again_after: Option<f64>,
    /// The cost in dollars, if known.
    pub cost: Option<f64>,
    /// The texts and their speakers.
    pub sections: Vec<Section>,
    /// The most informative text, on one line; empty if there is none.
    pub brief: String,
}

/// A text and its speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// A role, such as `user`, or the name of a field. Empty: no speaker.
    pub speaker: String,
    /// The original text, including line breaks.
    pub text: String,
}

impl Section {
    pub(crate) fn new(speaker: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            speaker: speaker.into(),
            text: text.into(),
        }
    }
}

/// The most informative text: the last one with a speaker, or else the first of all.
pub(super) fn brief(sections: &[Section]) -> String {
    let said = sections.iter().rfind(|section| !section.speaker.is_empty());
    match said.or(sections.first()).map(|section| &*section.text) {
        None => String::new(),
        Some(text) if is_blank(text) => "(a blank text)".to_owned(),
        Some(text) => text.to_owned(),
    }
}
