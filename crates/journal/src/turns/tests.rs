//! The events that are written for an item.

use std::sync::Mutex;

use schema::{
    EventKind, JsonText,
    event::{
        AnnotatorReply, CachedAnnotatorReply, CaseFailed, FailedAttempt, ItemFailed, ItemFinished,
        JudgeAbstained, MeasuredItemQuality, MergedAnnotation, QueuingItem, SutException, SutReply,
        TranslatedAnnotation, TranslatedSutReply,
    },
    safety::Stage,
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

/// The lines that are written for an item with these events.
fn written(events: Vec<EventBody>) -> Vec<Value> {
    let journal = ItemTurns::new(Kept::default());
    let item = Arc::new(ItemKey {
        test: "t".into(),
        prompt_id: "p".into(),
        sut: "s".into(),
    });
    for event in events {
        journal.record(Event::new(event).item(Some(&item)));
    }
    assert!(journal.items().is_empty(), "an item is left");
    let events = journal.inner.0.into_inner().unwrap();
    let value = |event: &Event| serde_json::to_value(event).unwrap();
    events.iter().map(value).collect()
}

fn kinds(events: &[Value]) -> Vec<EventKind> {
    let messages = events.iter().map(|event| event["message"].as_str());
    let kinds = messages.map(|message| EventKind::of(message?));
    kinds.collect::<Option<_>>().unwrap()
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
    EventBody::UsingCachedSutResponse(SutReply {
        response: Some(JsonText::of("cached")),
        ..SutReply::default()
    })
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
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::FetchedSutTurn,
            EventKind::TranslatedSutTurn,
            EventKind::UsingCachedSutTurn,
            EventKind::TranslatedSutTurn,
            EventKind::FetchedSutResponse,
            EventKind::TranslatedSutResponse,
            EventKind::FetchedAnnotatorResponse,
            EventKind::TranslatedAnnotation,
            EventKind::MeasuredItemQuality,
            EventKind::ItemFinished,
        ]
    );
    let summary = &events[5];
    assert_eq!(summary["run_time"], 0.25);
    assert_eq!(summary["turns"], 2);
    assert_eq!(summary["prompt_id"], "p");
    assert_eq!(summary["response"], "cached");
    assert_eq!(events[6]["response_text"], "a");
}

#[test]
fn one_reply_and_one_judgement_keep_the_plain_names() {
    let plain = [
        EventKind::QueuingItem,
        EventKind::UsingCachedSutResponse,
        EventKind::TranslatedSutResponse,
        EventKind::FetchedAnnotatorResponse,
        EventKind::TranslatedAnnotation,
        EventKind::MeasuredItemQuality,
        EventKind::ItemFinished,
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
    assert_eq!(kinds(&written(events)), plain);
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
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::RetryingCall,
            EventKind::FetchedAnnotatorTurn,
            EventKind::FetchedAnnotatorTurn,
            EventKind::JudgeAbstained,
            EventKind::FetchedAnnotatorResponse,
            EventKind::ItemFailed,
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
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::FetchedAnnotatorResponse,
            EventKind::FetchedAnnotatorResponse,
            EventKind::MergedAnnotation,
            EventKind::ItemFinished,
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
    let kinds = kinds(&events);
    let plain = kinds
        .iter()
        .filter(|kind| **kind == EventKind::FetchedAnnotatorResponse);
    assert_eq!(plain.count(), 1);
}

#[test]
fn cached_turns_alone_are_a_cached_response() {
    let from_cache = EventBody::UsingCachedAnnotatorResponse(CachedAnnotatorReply {
        annotator: "j".into(),
        annotator_request: Some(JsonText::new(r#"{"messages":["again"]}"#).unwrap()),
        ..CachedAnnotatorReply::default()
    });
    let events = written(vec![
        queued(),
        cached(),
        cached(),
        from_cache.clone(),
        from_cache,
        finished(),
    ]);
    assert_eq!(
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::UsingCachedSutTurn,
            EventKind::UsingCachedSutTurn,
            EventKind::UsingCachedSutResponse,
            EventKind::UsingCachedAnnotatorTurn,
            EventKind::UsingCachedAnnotatorTurn,
            EventKind::UsingCachedAnnotatorResponse,
            EventKind::ItemFinished,
        ]
    );
    assert!(events[3].get("run_time").is_none());
    assert_eq!(events[6]["annotator_request"]["messages"][0], "again");
}

#[test]
fn a_conversation_that_failed_is_no_response() {
    let events = written(vec![
        queued(),
        fetched(0.1),
        EventBody::SutException(SutException::default()),
        failed(false),
    ]);
    assert!(!kinds(&events).contains(&EventKind::FetchedSutResponse));
}

/// The judge decides after each turn whether the conversation goes on.
fn judged_between() -> Vec<EventBody> {
    let scored = || EventBody::JudgeScored(schema::event::JudgeScored::default());
    vec![
        EventBody::QueuingItem(QueuingItem {
            judged_between: Some(true),
            ..QueuingItem::default()
        }),
        fetched(0.25),
        said("a"),
        judged("j"),
        scored(),
        fetched(0.5),
        said("b"),
        judged("j"),
        scored(),
    ]
}

#[test]
fn an_item_that_is_judged_between_its_turns_is_summed_up_once_it_is_complete() {
    let mut events = judged_between();
    events.extend([annotated(), measured(), finished()]);
    let events = written(events);
    assert_eq!(
        kinds(&events),
        [
            EventKind::QueuingItem,
            EventKind::FetchedSutTurn,
            EventKind::TranslatedSutTurn,
            EventKind::FetchedSutTurn,
            EventKind::TranslatedSutTurn,
            EventKind::FetchedSutResponse,
            EventKind::TranslatedSutResponse,
            EventKind::FetchedAnnotatorTurn,
            EventKind::JudgeScored,
            EventKind::FetchedAnnotatorTurn,
            EventKind::JudgeScored,
            EventKind::TranslatedAnnotation,
            EventKind::FetchedAnnotatorResponse,
            EventKind::MeasuredItemQuality,
            EventKind::ItemFinished,
        ]
    );
    assert_eq!(events[5]["turns"], 2);
    assert_eq!(events[5]["run_time"], 0.75);
    assert_eq!(events[6]["response_text"], "a\n\nb");
}

#[test]
fn an_item_that_is_judged_between_its_turns_and_fails_loses_no_event() {
    for answered in [true, false] {
        let mut events = judged_between();
        events.push(EventBody::CaseFailed(CaseFailed {
            stage: Stage::Judge,
            kind: "timeout".into(),
            reason: "no reply".into(),
        }));
        events.push(failed(answered));
        let kinds = kinds(&written(events));
        let judged = |kind: &&EventKind| **kind == EventKind::FetchedAnnotatorTurn;
        assert_eq!(kinds.iter().filter(judged).count(), 2, "{kinds:?}");
        assert!(kinds.contains(&EventKind::CaseFailed));
        let summed = kinds.contains(&EventKind::FetchedSutResponse);
        assert_eq!(summed, answered);
    }
}
