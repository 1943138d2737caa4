//! Items that come whole from the cache: what is written of them, and when it is not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use journal::{
    CallRole, ContentHash, EarlierItem, EarlierItems, ItemContent, ItemTurns, KeptCalls,
};
use schema::{
    Event, EventBody, EventKind, ItemKey, Journal, JsonText, Spend,
    event::{
        AnnotatorReply, CachedAnnotatorReply, ItemFinished, QueuingItem, SutReply,
        TranslatedAnnotation, TranslatedSutReply,
    },
};
use serde_json::json;

#[derive(Default)]
struct Written(Mutex<Vec<Event>>);

impl Journal for Written {
    fn record(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

/// An earlier journal with one item.
#[derive(Debug)]
struct Earlier {
    queued: ContentHash,
    content: Option<ContentHash>,
    lines: BTreeMap<String, u64>,
}

impl EarlierItems for Earlier {
    fn knows(&self, queued: ContentHash) -> bool {
        queued == self.queued
    }

    fn find(&self, queued: ContentHash, content: ContentHash) -> Option<EarlierItem> {
        (queued == self.queued && Some(content) == self.content).then(|| EarlierItem {
            run_id: "run-1".into(),
            lines: self.lines.clone(),
        })
    }
}

fn key() -> Arc<ItemKey> {
    Arc::new(ItemKey {
        test: "t".into(),
        prompt_id: "p".into(),
        sut: "s".into(),
    })
}

fn queued() -> EventBody {
    EventBody::QueuingItem(QueuingItem {
        prompt_text: Some("Hi".into()),
        context: Some(JsonText::of(&json!({"id": "p"}))),
        ..QueuingItem::default()
    })
}

fn reply(turn: u32, text: &str) -> SutReply {
    SutReply {
        turn: Some(turn),
        request: Some(JsonText::of(&json!({"messages": [turn]}))),
        response: Some(JsonText::of(text)),
        spend: Some(Spend {
            calls: 1,
            input_tokens: u64::from(turn),
            ..Spend::default()
        }),
        ..SutReply::default()
    }
}

fn said(turn: u32, text: &str) -> EventBody {
    EventBody::TranslatedSutResponse(TranslatedSutReply {
        response_text: Some(text.into()),
        turn: Some(turn),
        ..TranslatedSutReply::default()
    })
}

fn verdict() -> EventBody {
    EventBody::TranslatedAnnotation(TranslatedAnnotation {
        annotator: "j".into(),
        annotation: json!({"is_safe": true}),
    })
}

/// An item of two turns, fetched.
fn fetched() -> Vec<EventBody> {
    let body = || JsonText::of("raw");
    vec![
        queued(),
        EventBody::FetchedSutResponse(reply(1, "a")),
        said(1, "a"),
        EventBody::FetchedSutResponse(reply(2, "b")),
        said(2, "b"),
        EventBody::FetchedAnnotatorResponse(AnnotatorReply {
            annotator: "j".into(),
            request: Some(body()),
            response: Some(body()),
            ..AnnotatorReply::default()
        }),
        verdict(),
        EventBody::ItemFinished(ItemFinished {}),
    ]
}

/// The same item from the cache.
fn cached() -> Vec<EventBody> {
    let of_cache = |body| match body {
        EventBody::FetchedSutResponse(reply) => EventBody::UsingCachedSutResponse(reply),
        EventBody::FetchedAnnotatorResponse(reply) => {
            EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
                annotator: reply.annotator,
                annotator_request: reply.request,
                response: reply.response,
                ..CachedAnnotatorReply::default()
            })
        }
        other => other,
    };
    fetched().into_iter().map(of_cache).collect()
}

/// The events that are written for an item, without an earlier journal or with it.
fn written(events: Vec<EventBody>, earlier: Option<Earlier>) -> Vec<Event> {
    let mut journal = ItemTurns::new(Written::default());
    if let Some(earlier) = earlier {
        journal = journal.with_earlier(Arc::new(earlier));
    }
    for event in events {
        journal.record(Event::new(event).item(Some(&key())));
    }
    let written = journal.inner().0.lock().unwrap();
    written.clone()
}

/// The earlier journal with the fetched item, as its lines say.
fn earlier() -> Earlier {
    let events = written(fetched(), None);
    let mut content = ItemContent::queued(&key(), &events[0].body).unwrap();
    for (line, event) in (1..).zip(&events) {
        content.add(&event.body, "s", line);
    }
    Earlier {
        queued: content.of_queued(),
        content: content.whole(),
        lines: content.lines().clone(),
    }
}

fn kinds(events: &[Event]) -> Vec<EventKind> {
    events.iter().map(|event| event.body.kind()).collect()
}

#[test]
fn an_item_that_an_earlier_journal_has_is_written_as_its_summaries() {
    let events = written(cached(), Some(earlier()));
    assert_eq!(
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::UsingCachedSutResponse,
            EventKind::TranslatedSutResponse,
            EventKind::UsingCachedAnnotatorResponse,
            EventKind::TranslatedAnnotation,
            EventKind::ItemFinished,
        ]
    );
    let EventBody::QueuingItem(queued) = &events[0].body else {
        panic!("{events:?}");
    };
    assert_eq!(queued.kept.as_ref().map(|kept| kept.line), Some(1));
    assert!(queued.context.is_none() && queued.prompt_text.is_some());
    let EventBody::UsingCachedSutResponse(reply) = &events[1].body else {
        panic!("{events:?}");
    };
    // The summary has the bodies, after four lines of turns.
    assert_eq!(reply.kept.as_ref().map(|kept| kept.line), Some(6));
    let calls = KeptCalls::of(&events[1].body, "s").unwrap();
    assert_eq!((calls.role, calls.replies), (CallRole::Sut, 2));
    assert_eq!(
        calls.spend.map(|spend| (spend.calls, spend.input_tokens)),
        Some((2, 3))
    );
    let judge = KeptCalls::of(&events[3].body, "s").unwrap();
    assert_eq!(
        (judge.role, judge.model, judge.replies),
        (CallRole::Annotator, "j", 1)
    );
}

#[test]
fn an_item_that_differs_in_anything_is_written_whole() {
    let whole = |events: Vec<EventBody>| {
        let (with, without) = (
            written(events.clone(), Some(earlier())),
            written(events, None),
        );
        assert_eq!(kinds(&with), kinds(&without));
        let held = with.iter().find_map(|event| match &event.body {
            EventBody::QueuingItem(queued) => {
                assert!(queued.kept.is_none() && queued.context.is_some());
                queued.held_back
            }
            _ => None,
        });
        held.is_some()
    };
    // Another reply, a fetched one, and one of a failed attempt.
    let mut other = cached();
    other[3] = EventBody::UsingCachedSutResponse(reply(2, "c"));
    assert!(whole(other));
    let mut partly = cached();
    partly[3] = EventBody::FetchedSutResponse(reply(2, "b"));
    assert!(whole(partly));
    assert!(whole(fetched()));
    // Another scenario need not wait.
    let mut scenario = cached();
    scenario[0] = EventBody::QueuingItem(QueuingItem {
        context: Some(JsonText::of(&json!({"id": "q"}))),
        ..QueuingItem::default()
    });
    assert!(!whole(scenario));
}

#[test]
fn no_event_of_an_item_without_an_end_is_lost() {
    let journal = ItemTurns::new(Written::default()).with_earlier(Arc::new(earlier()));
    let events: Vec<EventBody> = cached().into_iter().take(4).collect();
    for event in events {
        journal.record(Event::new(event).item(Some(&key())));
    }
    assert!(journal.inner().0.lock().unwrap().is_empty());
    journal.release();
    assert_eq!(journal.inner().0.lock().unwrap().len(), 4);
}
