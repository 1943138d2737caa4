//! The history of one item, and single events.

use schema::numbers::duration;

use super::time::offset;
use crate::{
    numbers::dollars,
    text::{clean, prefix, section, width, wrapped},
};

/// The indent of a step's text, as wide as the column of times.
const INDENT: &str = "          ";

/// One event, in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalStep {
    /// The time of the event in seconds since the start that times count from; `None` if the journal does not have it.
    pub after: Option<f64>,
    /// The type of the event.
    pub title: String,
    /// Short facts.
    pub facts: Vec<String>,
    /// The duration, in seconds.
    pub took: Option<f64>,
    /// The seconds after which the call is retried.
    pub again_after: Option<f64>,
    /// The cost in dollars.
    pub cost: Option<f64>,
    /// Pairs of speaker and text. The speaker is empty for text without one.
    pub sections: Vec<(String, String)>,
    /// The most informative text; may be empty.
    pub brief: String,
}

impl JournalStep {
    /// The type of the event and its facts.
    fn head(&self) -> String {
        let mut head = clean(&self.title);
        let facts = self.facts.iter().map(|fact| clean(fact));
        let took = self.took.map(duration);
        let again = self
            .again_after
            .map(duration)
            .map(|delay| format!("retried after {delay}"));
        let cost = self.cost.map(dollars);
        for fact in facts.chain(took).chain(again).chain(cost) {
            head.push_str(", ");
            head.push_str(&fact);
        }
        head
    }
}

/// The whole history of one item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalItem {
    /// Its prompt.
    pub prompt_id: String,
    /// Its test; may be empty.
    pub test: String,
    /// The system under test; may be empty.
    pub sut: String,
    /// The start time, if known.
    pub start: Option<String>,
    /// The duration in seconds, if known.
    pub lasted: Option<f64>,
    /// The outcome, if known.
    pub outcome: Option<String>,
    /// The events, with times since the item's start.
    pub steps: Vec<JournalStep>,
}

/// The whole history of one item in lines of at most `columns`: its ids, its outcome, and every step with its time and its full text.
#[must_use]
pub fn journal_item(item: &JournalItem, columns: usize) -> String {
    let mut title = clean(&item.prompt_id);
    for (name, id) in [("test", &item.test), ("sut", &item.sut)] {
        if !id.is_empty() {
            title.push_str(&format!(", {name} {}", clean(id)));
        }
    }
    let start = item.start.as_ref();
    let outcome = item.outcome.as_deref();
    let mut about = outcome.unwrap_or("no outcome in the journal").to_owned();
    if let Some(start) = start {
        about.push_str(&format!("; began {start}"));
    }
    if let Some(length) = item.lasted {
        about.push_str(&format!("; lasted {}", duration(length)));
    }
    let mut text = wrapped(&title, "", columns);
    text.push_str(&wrapped(&clean(&about), "", columns));
    for step in &item.steps {
        text.push('\n');
        text.push_str(&hanging(&offset(step.after), 10, &step.head(), columns));
        for (speaker, words) in &step.sections {
            text.push_str(&section(&clean(speaker), words, INDENT, columns));
        }
    }
    text
}

/// One event on one line: its time, its `item` if it has one, its facts and its most informative text. With `columns`, the line is cut
/// off there.
#[must_use]
pub fn journal_line(step: &JournalStep, item: &str, columns: Option<usize>) -> String {
    let mut line = format!("{:<10}", offset(step.after));
    if !item.is_empty() {
        line.push_str(&clean(item));
        line.push_str("  ");
    }
    line.push_str(&step.head());
    let brief = clean(&step.brief);
    if !brief.is_empty() {
        line.push_str(": ");
        line.push_str(&brief);
    }
    if let Some(columns) = columns.filter(|columns| width(&line) > *columns) {
        let end = prefix(&line, columns.saturating_sub(1)).len();
        line.truncate(end);
        line.push('…');
    }
    line.push('\n');
    line
}

/// `text` wrapped behind `lead`. The text starts at column `indent`, or after `lead` and a space if `lead` is longer.
fn hanging(lead: &str, indent: usize, text: &str, columns: usize) -> String {
    let indent = " ".repeat(indent.max(lead.len() + 1));
    let wrapped = wrapped(text, &indent, columns);
    let rest = wrapped.get(lead.len()..).unwrap_or(&wrapped);
    format!("{lead}{rest}")
}

#[cfg(test)]
mod tests {
    use schema::EventKind;

    use super::*;

    fn step() -> JournalStep {
        JournalStep {
            after: Some(0.021),
            title: EventKind::FetchedSutResponse.to_string(),
            facts: vec!["turn 1".to_owned()],
            took: Some(0.02),
            sections: vec![
                (
                    "user".to_owned(),
                    "Is it\u{1b}[2J so?\n\nSay yes.".to_owned(),
                ),
                ("assistant".to_owned(), "No. ".repeat(12)),
                ("a name that is long".to_owned(), "x".to_owned()),
                (String::new(), "as above".to_owned()),
                ("refusal".to_owned(), String::new()),
            ],
            brief: "No.\nNo.".to_owned(),
            ..JournalStep::default()
        }
    }

    #[test]
    fn words_stand_in_a_column_beside_their_speaker() {
        let item = JournalItem {
            prompt_id: "p1".to_owned(),
            test: "m01".to_owned(),
            lasted: Some(1.5),
            steps: vec![step()],
            ..JournalItem::default()
        };
        assert_eq!(
            journal_item(&item, 50),
            "p1, test m01\nno outcome in the journal; lasted 1.50 s\n\n\
             +0.021    fetched sut response, turn 1, 20 ms\n\
             \x20         user       Is it\u{fffd}[2J so?\n\n\
             \x20                    Say yes.\n\
             \x20         assistant  No. No. No. No. No. No. No.\n\
             \x20                    No. No. No. No. No.\n\
             \x20         a name that is long\n\
             \x20           x\n\
             \x20         as above\n\
             \x20         refusal    (nothing)\n"
        );
    }

    #[test]
    fn a_line_is_cut_only_where_there_is_an_edge() {
        assert_eq!(
            journal_line(&step(), "p1 careful", None),
            "+0.021    p1 careful  fetched sut response, turn 1, 20 ms: No. No.\n"
        );
        assert_eq!(
            journal_line(&step(), "", Some(20)),
            "+0.021    fetched s…\n"
        );
    }
}
