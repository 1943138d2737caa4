//! Several calls within one item: each is a `... turn` message when it happens, and the item's end sums them up.
//!
//! Scripts for ModelBench's journals expect one response of the SUT for each item, one translation of it, and one response of
//! each annotator. So the calls of a conversation, and those of a judge that is called more than once, are named apart from
//! them, and one message of each kind is written when the item ends.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{
    Event, EventBody, ItemKey, Journal,
    event::{AnnotatorReply, CachedAnnotatorReply, QueuingItem, SutReply, TranslatedSutReply},
};

/// A journal that names the calls of an item by their number, and passes all events on to another one.
///
/// An item begins with its `queuing item` and ends with its `item finished` or `item failed`. Events of other items pass as they
/// are. `one_reply` in `queuing item` says that the SUT is called once: its call then keeps the plain names.
#[derive(Debug, Default)]
pub struct ItemTurns<J> {
    inner: J,
    items: Mutex<HashMap<Arc<ItemKey>, Calls>>,
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

    fn items(&self) -> MutexGuard<'_, HashMap<Arc<ItemKey>, Calls>> {
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
            match &event.body {
                EventBody::QueuingItem(queued) => {
                    items.insert(item, Calls::begin(queued));
                    (Vec::new(), Some(event))
                }
                EventBody::ItemFinished(_) | EventBody::ItemFailed(_) => {
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
    fn begin(queued: &QueuingItem) -> Self {
        Self {
            one_reply: queued.one_reply == Some(true),
            ..Self::default()
        }
    }

    /// The events to pass on in the place of `event`.
    fn take(&mut self, event: Event) -> (Vec<Event>, Option<Event>) {
        match &event.body {
            // The summary is of the last attempt.
            EventBody::RetryingItem(_) => {
                self.sut = Sum::default();
                self.said.clear();
                (self.release(Means::MoreTurns), Some(event))
            }
            EventBody::FetchedSutResponse(reply) => {
                self.sut.add(true, reply.run_time);
                (self.release(Means::MoreTurns), Some(self.renamed(event)))
            }
            EventBody::UsingCachedSutResponse(_) => {
                self.sut.add(false, None);
                (self.release(Means::MoreTurns), Some(self.renamed(event)))
            }
            EventBody::TranslatedSutResponse(said) => {
                if !self.one_reply {
                    self.said
                        .push(said.response_text.clone().unwrap_or_default());
                }
                (Vec::new(), Some(self.renamed(event)))
            }
            EventBody::FetchedAnnotatorResponse(reply) => {
                let (annotator, run_time) = (Arc::clone(&reply.annotator), reply.run_time);
                self.judge(annotator, event, |sum| sum.add(true, run_time))
            }
            EventBody::UsingCachedAnnotatorResponse(reply) => {
                let annotator = Arc::clone(&reply.annotator);
                self.judge(annotator, event, |sum| sum.add(false, None))
            }
            EventBody::MeasuredItemQuality(_) => {
                let mut before = self.release(Means::Judged);
                before.extend(self.summarise(event.item.as_ref(), true));
                (before, Some(event))
            }
            body => (self.release(means(body)), Some(event)),
        }
    }

    fn renamed(&self, event: Event) -> Event {
        match self.one_reply {
            true => event,
            false => of_turn(event),
        }
    }

    /// A response of an annotator: the first is held back until it is known whether it is the only one.
    fn judge(
        &mut self,
        annotator: Arc<str>,
        event: Event,
        add: impl FnOnce(&mut Sum),
    ) -> (Vec<Event>, Option<Event>) {
        let known = self
            .judges
            .iter_mut()
            .find(|judge| judge.annotator == annotator);
        let Some(judge) = known else {
            let mut sum = Sum::default();
            add(&mut sum);
            self.judges.push(Judge {
                annotator,
                sum,
                held: Some(event),
                is_plain: false,
            });
            return (Vec::new(), None);
        };
        add(&mut judge.sum);
        let held = judge.held.take().map(of_turn);
        (Vec::from_iter(held), Some(of_turn(event)))
    }

    /// What was held back and may go now.
    fn release(&mut self, means: Means) -> Vec<Event> {
        if means == Means::Nothing {
            return Vec::new();
        }
        let held = self.judges.iter_mut().filter_map(|judge| {
            let event = judge.held.take()?;
            match means {
                Means::Judged => {
                    judge.is_plain = true;
                    Some(event)
                }
                _ => Some(of_turn(event)),
            }
        });
        held.collect()
    }

    /// The last events of the item before `ended`.
    fn end(mut self, ended: &Event) -> Vec<Event> {
        let mut events = self.release(Means::Judged);
        // An item that failed may have a conversation that was not finished, which is no response.
        let answered = match &ended.body {
            EventBody::ItemFailed(failed) => failed.sut_response == Some(true),
            _ => true,
        };
        events.extend(self.summarise(ended.item.as_ref(), answered));
        events
    }

    /// One event for the calls of each kind that were several.
    fn summarise(&mut self, item: Option<&Arc<ItemKey>>, answered: bool) -> Vec<Event> {
        let mut events = Vec::new();
        if std::mem::replace(&mut self.summarised, true) {
            return Vec::new();
        }
        if answered && !self.one_reply && self.sut.replies > 0 {
            events.push(self.sut.of_sut());
        }
        if answered && !self.said.is_empty() {
            let said = self.said.iter().map(|text| &**text);
            let said: Vec<&str> = said.filter(|text| !is_blank(text)).collect();
            events.push(EventBody::TranslatedSutResponse(TranslatedSutReply {
                response_text: Some(said.join("\n\n").into()),
                turns: Some(self.said.len() as u64),
                ..TranslatedSutReply::default()
            }));
        }
        for judge in self.judges.iter().filter(|judge| !judge.is_plain) {
            events.push(judge.sum.of_judge(&judge.annotator));
        }
        let event = |body| Event::new(body).by("ItemTurns", "summarise").item(item);
        events.into_iter().map(event).collect()
    }
}

impl Sum {
    fn add(&mut self, fetched: bool, seconds: Option<f64>) {
        self.replies += 1;
        self.fetched += u64::from(fetched);
        self.run_time += seconds.unwrap_or_default();
    }

    /// The summary of the replies of the SUT: fetched, or cached where all replies were.
    fn of_sut(&self) -> EventBody {
        let reply = SutReply {
            turns: Some(self.replies),
            ..SutReply::default()
        };
        match self.fetched {
            0 => EventBody::UsingCachedSutResponse(reply),
            _ => EventBody::FetchedSutResponse(SutReply {
                run_time: Some(self.run_time),
                ..reply
            }),
        }
    }

    /// As [`of_sut`](Self::of_sut), of a judge's replies.
    fn of_judge(&self, annotator: &Arc<str>) -> EventBody {
        let annotator = Arc::clone(annotator);
        match self.fetched {
            0 => EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator,
                turns: Some(self.replies),
                ..CachedAnnotatorReply::default()
            }),
            _ => EventBody::FetchedAnnotatorResponse(AnnotatorReply {
                annotator,
                run_time: Some(self.run_time),
                turns: Some(self.replies),
                ..AnnotatorReply::default()
            }),
        }
    }
}

/// The event under the name of one of several.
fn of_turn(event: Event) -> Event {
    let body = match event.body {
        EventBody::FetchedSutResponse(reply) => EventBody::FetchedSutTurn(reply),
        EventBody::UsingCachedSutResponse(reply) => EventBody::UsingCachedSutTurn(reply),
        EventBody::TranslatedSutResponse(said) => EventBody::TranslatedSutTurn(said),
        EventBody::FetchedAnnotatorResponse(reply) => EventBody::FetchedAnnotatorTurn(reply),
        EventBody::UsingCachedAnnotatorResponse(reply) => {
            EventBody::UsingCachedAnnotatorTurn(reply)
        }
        other => other,
    };
    Event { body, ..event }
}

/// What is said of a judge's response by the event that follows.
fn means(body: &EventBody) -> Means {
    match body {
        EventBody::TranslatedAnnotation(_)
        | EventBody::JudgeAbstained(_)
        | EventBody::MergedAnnotation(_)
        | EventBody::AnnotationException(_)
        | EventBody::ScoreFinished(_)
        | EventBody::CaseFailed(_) => Means::Judged,
        // Another judge of a panel may be called meanwhile.
        EventBody::RetryingCall(_)
        | EventBody::ModelCallFailed(_)
        | EventBody::CallNotMade(_)
        | EventBody::RequestFormChanged(_)
        | EventBody::AnnotatorException(_) => Means::Nothing,
        _ => Means::MoreTurns,
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
    use schema::{
        ModelId,
        event::{
            FailedAttempt, ItemFailed, ItemFinished, JudgeAbstained, MeasuredItemQuality,
            MergedAnnotation, SutException, TranslatedAnnotation,
        },
    };
    use serde_json::Value;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Event>>);

    impl Journal for Kept {
        fn record(&self, event: Event) {
            self.0.lock().unwrap().push(event);
        }
    }

    /// What is written of an item with these events.
    fn written(events: Vec<EventBody>) -> Vec<Value> {
        let journal = ItemTurns::new(Kept::default());
        let item = Arc::new(ItemKey {
            test: "t".into(),
            prompt_id: "p".into(),
            sut: ModelId::new("s").unwrap(),
        });
        for event in events {
            journal.record(Event::new(event).item(Some(&item)));
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

    fn queued() -> EventBody {
        EventBody::QueuingItem(QueuingItem::default())
    }

    fn queued_for_one_reply() -> EventBody {
        EventBody::QueuingItem(QueuingItem {
            one_reply: Some(true),
            ..QueuingItem::default()
        })
    }

    fn fetched(seconds: f64) -> EventBody {
        EventBody::FetchedSutResponse(SutReply {
            run_time: Some(seconds),
            ..SutReply::default()
        })
    }

    fn cached() -> EventBody {
        EventBody::UsingCachedSutResponse(SutReply::default())
    }

    fn said(text: &str) -> EventBody {
        EventBody::TranslatedSutResponse(TranslatedSutReply {
            response_text: Some(text.into()),
            ..TranslatedSutReply::default()
        })
    }

    fn judged(annotator: &str) -> EventBody {
        EventBody::FetchedAnnotatorResponse(AnnotatorReply {
            annotator: annotator.into(),
            run_time: Some(0.5),
            ..AnnotatorReply::default()
        })
    }

    fn annotated() -> EventBody {
        EventBody::TranslatedAnnotation(TranslatedAnnotation::default())
    }

    fn measured() -> EventBody {
        EventBody::MeasuredItemQuality(MeasuredItemQuality::default())
    }

    fn finished() -> EventBody {
        EventBody::ItemFinished(ItemFinished {})
    }

    fn failed(sut_response: bool) -> EventBody {
        EventBody::ItemFailed(ItemFailed {
            sut_response: Some(sut_response),
            ..ItemFailed::default()
        })
    }

    fn retrying() -> EventBody {
        EventBody::RetryingCall(FailedAttempt::default())
    }

    #[test]
    fn calls_of_a_conversation_are_turns_and_summed_up() {
        let events = written(vec![
            queued(),
            fetched(0.25),
            said("a"),
            cached(),
            said(" "),
            judged("j"),
            annotated(),
            measured(),
            finished(),
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
        let events = vec![
            queued_for_one_reply(),
            cached(),
            said("a"),
            judged("j"),
            annotated(),
            measured(),
            finished(),
        ];
        assert_eq!(messages(&written(events)), plain);
    }

    #[test]
    fn a_judge_that_is_called_again_has_turns() {
        let events = written(vec![
            queued_for_one_reply(),
            judged("j"),
            retrying(),
            judged("j"),
            EventBody::JudgeAbstained(JudgeAbstained::default()),
            failed(true),
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
            queued_for_one_reply(),
            judged("a"),
            judged("b"),
            EventBody::MergedAnnotation(MergedAnnotation::default()),
            finished(),
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
            queued(),
            judged("j"),
            annotated(),
            judged("j"),
            finished(),
        ]);
        let plain = messages(&events);
        let plain = plain
            .iter()
            .filter(|message| **message == "fetched annotator response");
        assert_eq!(plain.count(), 1);
    }

    #[test]
    fn cached_turns_alone_are_a_cached_response() {
        let from_cache = EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
            annotator: "j".into(),
            ..CachedAnnotatorReply::default()
        });
        let events = written(vec![
            queued(),
            cached(),
            from_cache.clone(),
            cached(),
            from_cache,
            finished(),
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
            queued(),
            fetched(0.1),
            EventBody::SutException(SutException::default()),
            failed(false),
        ]);
        assert!(!messages(&events).contains(&"fetched sut response"));
    }
}
