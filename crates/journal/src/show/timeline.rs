//! The history of an item, from its first event to its last.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schema::{EventBody, ItemKey, event::MeasuredItemQuality};

use super::{Filter, ItemRenderer, Step, value};
use crate::Line;

/// The history of one item in words.
#[derive(Clone, Debug, Default)]
pub struct ItemTimeline {
    /// The time of its first event; `None` if no event has a time.
    pub start: Option<Timestamp>,
    /// The time of its last event; `None` if no event has a time.
    pub end: Option<Timestamp>,
    /// Its events, in the order of the file.
    pub steps: Vec<Step>,
    /// How it ended, if the journal says so: `finished, is_safe 1`.
    pub outcome: Option<String>,
    /// The measurements, for the outcome.
    measured: Option<String>,
    renderer: ItemRenderer,
}

impl ItemTimeline {
    fn push(&mut self, line: &Line<'_>) -> Result<(), serde_json::Error> {
        let entry = line.to_entry()?;
        let event = line.event().and_then(Result::ok);
        let step = self.renderer.render_event(&entry, event.as_ref());
        if let Some(time) = step.time {
            self.start = Some(self.start.map_or(time, |start| start.min(time)));
            self.end = Some(self.end.map_or(time, |end| end.max(time)));
        }
        match event {
            Some(EventBody::MeasuredItemQuality(quality)) => {
                self.measured = measured(&quality);
                self.outcome = self.measured.clone();
            }
            Some(EventBody::ItemFinished(_)) => self.outcome = Some(self.ended("finished")),
            Some(EventBody::ItemFailed(_)) => self.outcome = Some(self.ended("failed")),
            _ => {}
        }
        self.steps.push(step);
        Ok(())
    }

    fn ended(&self, how: &str) -> String {
        match &self.measured {
            Some(measured) => format!("{how}, {measured}"),
            None => how.to_owned(),
        }
    }
}

/// The measurements on one line: `is_safe 1`.
fn measured(quality: &MeasuredItemQuality) -> Option<String> {
    let measurements = quality.measurements.iter();
    measurements
        .map(|(name, n)| format!("{name} {}", value::inline(&(*n).into())))
        .reduce(|all, one| format!("{all}, {one}"))
}

/// The timelines of the items that a filter selects. They are held in memory.
///
/// ```
/// use journal::{Filter, ItemTimelines, JournalReader};
///
/// let text = r#"{"message":"queuing item","test":"t","prompt_id":"p","sut":"s","prompt_text":"Hello?"}
/// {"message":"item finished","test":"t","prompt_id":"p","sut":"s"}
/// "#;
/// let filter = Filter { prompt_id: Some("p".to_owned()), ..Filter::default() };
/// let mut timelines = ItemTimelines::new(filter);
/// let mut reader = JournalReader::new(text.as_bytes(), "example");
/// while let Some(line) = reader.next_line() {
///     timelines.push(&line?)?;
/// }
/// let (item, timeline) = timelines.into_items().next().ok_or("no item")?;
/// assert_eq!((&*item.sut, timeline.steps.len()), ("s", 2));
/// assert_eq!(timeline.outcome.as_deref(), Some("finished"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ItemTimelines {
    filter: Filter,
    /// The time of the journal's first event.
    start: Option<Timestamp>,
    items: BTreeMap<ItemKey, ItemTimeline>,
}

impl ItemTimelines {
    /// Collects the items that `filter` selects.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Adds the next line of the journal. Lines of other items, and lines without an item, are skipped.
    ///
    /// # Errors
    /// When a field of a selected item cannot be read; see [`Line::to_entry`].
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
            test: test.unwrap_or_default().into(),
            prompt_id: prompt_id.into(),
            sut: sut.unwrap_or_default().into(),
        };
        self.items.entry(key).or_default().push(line)
    }

    /// Whether no event matched so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items in the order of test, prompt and system under test. A test or system that the lines do not have is empty. Each timeline
    /// keeps only the steps whose message and time the filter selects; its start and end remain those of the whole item.
    pub fn into_items(self) -> impl Iterator<Item = (ItemKey, ItemTimeline)> {
        let Self {
            filter,
            start,
            items,
        } = self;
        items.into_iter().map(move |(key, mut timeline)| {
            timeline.steps.retain(|step| {
                filter.takes_message(&step.message) && filter.takes_time(step.time, start)
            });
            (key, timeline)
        })
    }
}
