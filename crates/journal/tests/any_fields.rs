//! Whatever the fields of an event hold: it is shown, counted and listed without a panic, and nothing of it is lost
//! as JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use journal::{Filter, ItemRenderer, ItemTimelines, Line, Scores, StatsBuilder};
use proptest::prelude::*;
use schema::EventKind;
use serde_json::{Map, Value};

/// Any small JSON value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![Just(1e300), Just(-0.0), -10.0..1e12].prop_map(Value::from),
        prop_oneof![".{0,12}", "(a\n|é| ){0,80}"].prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A name that means something somewhere, or any.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "request",
        "response",
        "messages",
        "role",
        "content",
        "choices",
        "message",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "text",
        "annotator",
        "annotator_request",
        "annotation",
        "measurements",
        "is_safe",
        "turn",
        "run_time",
        "delay",
        "kind",
        "status",
        "spend",
        "exception",
        "class",
        "scoring_log",
        "score",
        "benchmarks",
        "response_text",
        "context",
        "model",
        "purpose",
        "row",
        "sample",
        "timestamp",
        "prompt_id",
        "sut",
        "test",
    ];
    prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => ".{0,6}",
    ]
}

fn message() -> impl Strategy<Value = String> {
    let known = [
        EventKind::StartingRun.message(),
        EventKind::QueuingItem.message(),
        EventKind::FetchedSutResponse.message(),
        EventKind::UsingCachedUserResponse.message(),
        EventKind::TranslatedSutResponse.message(),
        EventKind::TranslatedAnnotation.message(),
        EventKind::FetchedAnnotatorResponse.message(),
        EventKind::MeasuredItemQuality.message(),
        EventKind::SutException.message(),
        EventKind::RetryingCall.message(),
        EventKind::ModelCallFailed.message(),
        EventKind::TestScored.message(),
        EventKind::HazardScored.message(),
        EventKind::BenchmarkScored.message(),
        EventKind::ItemFailed.message(),
    ];
    prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => ".{0,12}",
    ]
}

fn event() -> impl Strategy<Value = Map<String, Value>> {
    let fields = prop::collection::vec((key(), value()), 0..8);
    (message(), fields).prop_map(|(message, fields)| {
        let mut event: Map<String, Value> = fields.into_iter().collect();
        event.insert("message".to_owned(), message.into());
        event.entry("prompt_id").or_insert("p".into());
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_in_the_fields_stops_anyone(events in prop::collection::vec(event(), 1..8)) {
        let mut renderer = ItemRenderer::default();
        let mut timelines = ItemTimelines::new(Filter::default());
        let (mut scores, mut stats) = (Scores::default(), StatsBuilder::default());
        for event in &events {
            let text = serde_json::to_string(event).unwrap();
            let line = Line::parse(text.as_bytes()).unwrap();
            renderer.render(&line).unwrap();
            timelines.push(&line).unwrap();
            scores.push(&line);
            stats.push(&line);
            let again: Value = serde_json::to_value(&line).unwrap();
            prop_assert_eq!(again, Value::Object(event.clone()));
        }
        prop_assert_eq!(stats.finish().entries, u64::try_from(events.len()).unwrap());
        prop_assert!(scores.finish().len() <= events.len());
        let steps: usize = timelines.into_items().map(|(_, timeline)| timeline.steps.len()).sum();
        prop_assert!(steps <= events.len());
    }
}
