//! Several calls within one item: each is a `... turn` message when it happens, and the item's end sums them up.
//!
//! Scripts for ModelBench's journals expect one response of the SUT for each item, one translation of it, and one response of
//! each annotator. So the calls of a conversation, and those of a judge that is called more than once, are named apart from
//! them, and one message of each kind is written when the item ends.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{Event, Field, Item, Journal};
use serde_json::Value;

const CLASS: &str = "ItemTurns";
const METHOD: &str = "summarise";

/// A journal that names the calls of an item by their number, and passes all events on to another one.
///
/// An item begins with its `queuing item` and ends with its `item finished` or `item failed`. Events of other items pass as they
/// are. `one_reply` in `queuing item` says that the SUT is called once: its call then keeps the plain names.
#[derive(Debug, Default)]
pub struct ItemTurns<J> {
    inner: J,
    items: Mutex<HashMap<Arc<Item>, Calls>>,
}

/// The calls of an item that has not ended.
#[derive(Debug, Default)]
struct Calls {
    /// Whether the SUT is called once.
    one_reply: bool,
    sut: Sum,
    /// What the SUT said, by reply.
    said: Vec<Arc<str>>,
    judges: Vec<Judge>,
    summarised: bool,
}

/// The calls to one annotator.
#[derive(Debug)]
struct Judge {
    annotator: Arc<str>,
    sum: Sum,
    /// The first response, as long as it may stay the only one.
    held: Option<Event>,
    /// Whether a response has the plain name.
    is_plain: bool,
}

/// What replies add up to.
#[derive(Debug, Default)]
struct Sum {
    replies: u64,
    fetched: u64,
    /// Seconds.
    run_time: f64,
}

/// What an event says of the responses that are held back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// The item goes on, so that a judge that has answered is called again.
    MoreTurns,
    /// The judge is done with the item.
    Judged,
    /// Nothing.
    Nothing,
}

impl<J> ItemTurns<J> {
    /// A journal that passes its events on to `inner`.
    pub fn new(inner: J) -> Self {
        Self {
            inner,
            items: Mutex::default(),
        }
    }

    /// The journal behind it.
    pub fn inner(&self) -> &J {
        &self.inner
    }

    fn items(&self) -> MutexGuard<'_, HashMap<Arc<Item>, Calls>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J: Journal> ItemTurns<J> {
    /// Passes on what is held back: no more events come.
    pub fn release(&self) {
        let left = std::mem::take(&mut *self.items());
        for mut calls in left.into_values() {
            for event in calls.release(Means::Judged) {
                self.inner.record(event);
            }
        }
    }
}

impl<J: Journal> Journal for ItemTurns<J> {
    fn record(&self, event: Event) {
        let Some(item) = event.item.clone() else {
            return self.inner.record(event);
        };
        // Recording may wait for the disk, and others must not wait for it meanwhile.
        let (before, event) = {
            let mut items = self.items();
            match event.message {
                "queuing item" => {
                    items.insert(item, Calls::begin(&event));
                    (Vec::new(), Some(event))
                }
                "item finished" | "item failed" => {
                    let before = items.remove(&item).map(|calls| calls.end(&event));
                    (before.unwrap_or_default(), Some(event))
                }
                _ => match items.get_mut(&item) {
                    Some(calls) => calls.take(event),
                    None => (Vec::new(), Some(event)),
                },
            }
        };
        before
            .into_iter()
            .chain(event)
            .for_each(|event| self.inner.record(event));
    }
}

impl Calls {
    fn begin(queued: &Event) -> Self {
        Self {
            one_reply: matches!(field(queued, "one_reply"), Some(Field::Bool(true))),
            ..Self::default()
        }
    }

    /// The events to pass on in the place of `event`.
    fn take(&mut self, mut event: Event) -> (Vec<Event>, Option<Event>) {
        match event.message {
            "fetched sut response" | "using cached sut response" => {
                let before = self.release(Means::MoreTurns);
                self.sut.add(&event);
                self.rename(&mut event);
                (before, Some(event))
            }
            "translated sut response" => {
                if !self.one_reply {
                    self.said.push(text(&event, "response_text"));
                }
                self.rename(&mut event);
                (Vec::new(), Some(event))
            }
            "fetched annotator response" | "using cached annotator response" => self.judge(event),
            "measured item quality" => {
                let mut before = self.release(Means::Judged);
                before.extend(self.summarise(event.item.as_ref(), true));
                (before, Some(event))
            }
            message => (self.release(means(message)), Some(event)),
        }
    }

    fn rename(&self, event: &mut Event) {
        if !self.one_reply {
            event.message = of_turn(event.message);
        }
    }

    /// A response of an annotator: the first is held back until it is known whether it is the only one.
    fn judge(&mut self, mut event: Event) -> (Vec<Event>, Option<Event>) {
        let annotator = text(&event, "annotator");
        let known = self
            .judges
            .iter_mut()
            .find(|judge| judge.annotator == annotator);
        let Some(judge) = known else {
            let mut sum = Sum::default();
            sum.add(&event);
            self.judges.push(Judge {
                annotator,
                sum,
                held: Some(event),
                is_plain: false,
            });
            return (Vec::new(), None);
        };
        judge.sum.add(&event);
        event.message = of_turn(event.message);
        let held = judge.held.take().map(|mut first| {
            first.message = of_turn(first.message);
            first
        });
        (Vec::from_iter(held), Some(event))
    }

    /// What was held back and may go now.
    fn release(&mut self, means: Means) -> Vec<Event> {
        if means == Means::Nothing {
            return Vec::new();
        }
        let held = self.judges.iter_mut().filter_map(|judge| {
            let mut event = judge.held.take()?;
            match means {
                Means::Judged => judge.is_plain = true,
                _ => event.message = of_turn(event.message),
            }
            Some(event)
        });
        held.collect()
    }

    /// The last events of the item before `ended`.
    fn end(mut self, ended: &Event) -> Vec<Event> {
        let mut events = self.release(Means::Judged);
        // An item that failed may have a conversation that was not finished, which is no response.
        let answered = ended.message == "item finished"
            || matches!(field(ended, "sut_response"), Some(Field::Bool(true)));
        events.extend(self.summarise(ended.item.as_ref(), answered));
        events
    }

    /// One event for the calls of each kind that were several.
    fn summarise(&mut self, item: Option<&Arc<Item>>, answered: bool) -> Vec<Event> {
        let mut events = Vec::new();
        if std::mem::replace(&mut self.summarised, true) {
            return events;
        }
        if answered && !self.one_reply && self.sut.replies > 0 {
            let messages = ["fetched sut response", "using cached sut response"];
            events.push(self.sut.event(messages, "request", None));
        }
        if answered && !self.said.is_empty() {
            let said: Vec<&str> = self.said.iter().map(|text| &**text).collect();
            let said: Vec<&str> = said.into_iter().filter(|text| !is_blank(text)).collect();
            events.push(
                Event::new("translated sut response", CLASS, METHOD)
                    .with("response_text", said.join("\n\n"))
                    .with("turns", self.said.len() as u64),
            );
        }
        for judge in self.judges.iter().filter(|judge| !judge.is_plain) {
            let messages = [
                "fetched annotator response",
                "using cached annotator response",
            ];
            let request = match judge.sum.fetched {
                0 => "annotator_request",
                _ => "request",
            };
            events.push(judge.sum.event(messages, request, Some(&judge.annotator)));
        }
        events.into_iter().map(|event| event.item(item)).collect()
    }
}

impl Sum {
    fn add(&mut self, event: &Event) {
        self.replies += 1;
        self.fetched += u64::from(event.message.starts_with("fetched "));
        if let Some(Field::Number(seconds)) = field(event, "run_time") {
            self.run_time += seconds;
        }
    }

    /// The summary: fetched, or cached where all replies were.
    fn event(
        &self,
        [fetched, cached]: [&'static str; 2],
        request: &'static str,
        annotator: Option<&Arc<str>>,
    ) -> Event {
        let message = if self.fetched > 0 { fetched } else { cached };
        let mut event = Event::new(message, CLASS, METHOD);
        if let Some(annotator) = annotator {
            event = event.with("annotator", Arc::clone(annotator));
        }
        if self.fetched > 0 {
            event = event.with("run_time", self.run_time);
        }
        event
            .with(request, Value::Null)
            .with("response", Value::Null)
            .with("turns", self.replies)
    }
}

/// The name of one of several.
fn of_turn(message: &'static str) -> &'static str {
    match message {
        "fetched sut response" => "fetched sut turn",
        "using cached sut response" => "using cached sut turn",
        "translated sut response" => "translated sut turn",
        "fetched annotator response" => "fetched annotator turn",
        "using cached annotator response" => "using cached annotator turn",
        other => other,
    }
}

/// What is said of a judge's response by the event that follows.
fn means(message: &str) -> Means {
    match message {
        "translated annotation"
        | "judge abstained"
        | "merged annotation"
        | "annotation exception"
        | "score finished"
        | "case failed" => Means::Judged,
        // Another judge of a panel may be called meanwhile.
        "retrying call"
        | "model call failed"
        | "call not made"
        | "request form changed"
        | "annotator exception" => Means::Nothing,
        _ => Means::MoreTurns,
    }
}

fn field<'a>(event: &'a Event, name: &str) -> Option<&'a Field> {
    let mut fields = event.fields.iter();
    fields
        .find(|(field, _)| *field == name)
        .map(|(_, value)| value)
}

fn text(event: &Event, name: &str) -> Arc<str> {
    match field(event, name) {
        Some(Field::Text(text)) => Arc::clone(text),
        Some(Field::Static(text)) => Arc::from(*text),
        Some(Field::Json(Value::String(text))) => Arc::from(text.as_str()),
        _ => Arc::default(),
    }
}

/// Whether `text` says nothing, as Python's `str.strip` has it: U+001C to U+001F are blanks too.
///
/// ```
/// assert!(journal::is_blank(" \n\u{1c}"));
/// assert!(!journal::is_blank("no"));
/// ```
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

#[cfg(test)]
mod tests {
    use schema::ModelId;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Event>>);

    impl Journal for Kept {
        fn record(&self, event: Event) {
            self.0.lock().unwrap().push(event);
        }
    }

    /// What is written of an item with these events.
    fn written(events: Vec<Event>) -> Vec<Value> {
        let journal = ItemTurns::new(Kept::default());
        let item = Arc::new(Item {
            test: "t".into(),
            prompt_id: "p".into(),
            sut: ModelId::new("s").unwrap(),
        });
        for event in events {
            journal.record(event.item(Some(&item)));
        }
        assert!(journal.items().is_empty(), "an item is left");
        let events = journal.inner.0.into_inner().unwrap();
        let value = |event: &Event| serde_json::to_value(event).unwrap();
        events.iter().map(value).collect()
    }

    fn messages(events: &[Value]) -> Vec<&str> {
        let messages = events.iter().map(|event| event["message"].as_str());
        messages.collect::<Option<_>>().unwrap()
    }

    fn event(message: &'static str) -> Event {
        Event::new(message, "C", "m")
    }

    fn fetched(message: &'static str, seconds: f64) -> Event {
        event(message).with("run_time", seconds)
    }

    fn judged(annotator: &'static str) -> Event {
        fetched("fetched annotator response", 0.5).with("annotator", annotator)
    }

    fn said(text: &'static str) -> Event {
        event("translated sut response").with("response_text", text)
    }

    #[test]
    fn calls_of_a_conversation_are_turns_and_summed_up() {
        let events = written(vec![
            event("queuing item"),
            fetched("fetched sut response", 0.25),
            said("a"),
            event("using cached sut response"),
            said(" "),
            judged("j"),
            event("translated annotation"),
            event("measured item quality"),
            event("item finished"),
        ]);
        assert_eq!(
            messages(&events),
            [
                "queuing item",
                "fetched sut turn",
                "translated sut turn",
                "using cached sut turn",
                "translated sut turn",
                "fetched annotator response",
                "translated annotation",
                "fetched sut response",
                "translated sut response",
                "measured item quality",
                "item finished",
            ]
        );
        let summary = &events[7];
        assert_eq!(summary["run_time"], 0.25);
        assert_eq!(summary["turns"], 2);
        assert_eq!(summary["prompt_id"], "p");
        assert!(summary["request"].is_null() && summary["response"].is_null());
        assert_eq!(events[8]["response_text"], "a");
    }

    #[test]
    fn one_reply_and_one_judgement_keep_the_plain_names() {
        let plain = [
            "queuing item",
            "using cached sut response",
            "translated sut response",
            "fetched annotator response",
            "translated annotation",
            "measured item quality",
            "item finished",
        ];
        let mut events: Vec<Event> = plain.into_iter().map(event).collect();
        events[0] = event("queuing item").with("one_reply", true);
        events[3] = judged("j");
        assert_eq!(messages(&written(events)), plain);
    }

    #[test]
    fn a_judge_that_is_called_again_has_turns() {
        let events = written(vec![
            event("queuing item").with("one_reply", true),
            judged("j"),
            event("retrying call"),
            judged("j"),
            event("judge abstained"),
            event("item failed").with("sut_response", true),
        ]);
        assert_eq!(
            messages(&events),
            [
                "queuing item",
                "retrying call",
                "fetched annotator turn",
                "fetched annotator turn",
                "judge abstained",
                "fetched annotator response",
                "item failed",
            ]
        );
        assert_eq!(events[5]["annotator"], "j");
        assert_eq!(events[5]["run_time"], 1.0);
    }

    #[test]
    fn the_judges_of_a_panel_are_apart() {
        let events = written(vec![
            event("queuing item").with("one_reply", true),
            judged("a"),
            judged("b"),
            event("merged annotation"),
            event("item finished"),
        ]);
        assert_eq!(
            messages(&events),
            [
                "queuing item",
                "fetched annotator response",
                "fetched annotator response",
                "merged annotation",
                "item finished",
            ]
        );
    }

    #[test]
    fn a_judge_that_decides_before_the_item_ends_is_not_doubled() {
        let events = written(vec![
            event("queuing item"),
            judged("j"),
            event("translated annotation"),
            judged("j"),
            event("item finished"),
        ]);
        let plain = messages(&events);
        let plain = plain
            .iter()
            .filter(|message| **message == "fetched annotator response");
        assert_eq!(plain.count(), 1);
    }

    #[test]
    fn cached_turns_alone_are_a_cached_response() {
        let mut cached = event("using cached annotator response");
        cached = cached.with("annotator", "j");
        let events = written(vec![
            event("queuing item"),
            event("using cached sut response"),
            cached.clone(),
            event("using cached sut response"),
            cached,
            event("item finished"),
        ]);
        let last: Vec<&str> = messages(&events).into_iter().rev().take(3).collect();
        assert_eq!(
            last,
            [
                "item finished",
                "using cached annotator response",
                "using cached sut response",
            ]
        );
        assert!(events[5].get("run_time").is_none());
        assert!(events[6]["annotator_request"].is_null());
    }

    #[test]
    fn a_conversation_that_failed_is_no_response() {
        let events = written(vec![
            event("queuing item"),
            fetched("fetched sut response", 0.1),
            event("sut exception"),
            event("item failed").with("sut_response", false),
        ]);
        assert!(!messages(&events).contains(&"fetched sut response"));
    }
}
