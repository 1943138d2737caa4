//! The whole life of an item.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Filter, Step, Teller, value};
use crate::{Entry, ItemKey, Line};

/// Everything a journal tells of one item.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The time of its first entry, where told.
    pub start: Option<Timestamp>,
    /// The time of its last entry, where told.
    pub end: Option<Timestamp>,
    /// Its entries, in the order of the file.
    pub steps: Vec<Step>,
    /// How it came out, as far as the journal tells: `finished, is_safe 1`.
    pub outcome: Option<String>,
    /// What it measured, for the outcome.
    measured: Option<String>,
    teller: Teller,
}

impl Life {
    fn push(&mut self, entry: &Entry) {
        let step = self.teller.tell(entry);
        if let Some(time) = step.time {
            self.start = Some(self.start.map_or(time, |start| start.min(time)));
            self.end = Some(self.end.map_or(time, |end| end.max(time)));
        }
        match entry.message.as_str() {
            "measured item quality" => {
                self.measured = measured(entry);
                self.outcome = self.measured.clone();
            }
            "item finished" => self.outcome = Some(self.ended("finished")),
            "item failed" => self.outcome = Some(self.ended("failed")),
            _ => {}
        }
        self.steps.push(step);
    }

    fn ended(&self, how: &str) -> String {
        match &self.measured {
            Some(measured) => format!("{how}, {measured}"),
            None => how.to_owned(),
        }
    }
}

/// What an entry measured: `is_safe 1`.
fn measured(entry: &Entry) -> Option<String> {
    let measurements = entry.fields.get("measurements")?.as_object()?.iter();
    measurements
        .map(|(name, n)| format!("{name} {}", value::inline(n)))
        .reduce(|all, one| format!("{all}, {one}"))
}

/// The lives of the items that a filter asks for. They are held in memory.
///
/// ```
/// use journal::{Filter, JournalReader, Lives};
///
/// let text = r#"{"message":"queuing item","test":"t","prompt_id":"p","sut":"s","prompt_text":"Hello?"}
/// {"message":"item finished","test":"t","prompt_id":"p","sut":"s"}
/// "#;
/// let filter = Filter { prompt_id: Some("p".to_owned()), ..Filter::default() };
/// let mut lives = Lives::new(filter);
/// let mut reader = JournalReader::new(text.as_bytes(), "example");
/// while let Some(line) = reader.next_line() {
///     lives.push(&line?)?;
/// }
/// let (item, life) = lives.into_items().next().ok_or("no item")?;
/// assert_eq!((item.sut.as_str(), life.steps.len()), ("s", 2));
/// assert_eq!(life.outcome.as_deref(), Some("finished"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lives {
    filter: Filter,
    /// The time of the journal's first entry.
    start: Option<Timestamp>,
    items: BTreeMap<ItemKey, Life>,
}

impl Lives {
    /// Gathers the items that `filter` asks for.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Takes the next line of the journal. Lines of other items, and of none, are passed over.
    ///
    /// # Errors
    /// When a field of an item that is asked for cannot be read; see [`Line::to_entry`].
    pub fn push(&mut self, line: &Line<'_>) -> Result<(), serde_json::Error> {
        if self.start.is_none() {
            self.start = line.time();
        }
        let (test, sut) = (line.test.as_deref(), line.sut.as_deref());
        let Some(prompt_id) = line.prompt_id.as_deref() else {
            return Ok(());
        };
        if !self.filter.takes_item(Some(prompt_id), sut, test) {
            return Ok(());
        }
        let key = ItemKey {
            test: test.unwrap_or_default().to_owned(),
            prompt_id: prompt_id.to_owned(),
            sut: sut.unwrap_or_default().to_owned(),
        };
        self.items.entry(key).or_default().push(&line.to_entry()?);
        Ok(())
    }

    /// Whether no entry fitted so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items in the order of test, prompt and system under test. Of each life only the steps of the type and time
    /// that are asked for are left; its start and end stay those of the whole.
    pub fn into_items(self) -> impl Iterator<Item = (ItemKey, Life)> {
        let Self {
            filter,
            start,
            items,
        } = self;
        items.into_iter().map(move |(key, mut life)| {
            life.steps.retain(|step| {
                filter.takes_message(&step.message) && filter.takes_time(step.time, start)
            });
            (key, life)
        })
    }
}
