//! Journals of ModelBench's form, changed in one place.

use journal::check::Verdict;
use schema::EventKind;
use serde_json::{Value, json};

use crate::{check_events, check_text, events, failed, failures, text};

/// A change to a journal that passes.
type Fault = fn(&mut Vec<Value>);

fn at(events: &[Value], message: EventKind, prompt: &str) -> usize {
    let is_it = |event: &Value| event["message"] == message && event["prompt_id"] == prompt;
    events.iter().position(is_it).unwrap()
}

fn first(events: &[Value], message: EventKind) -> usize {
    events
        .iter()
        .position(|event| event["message"] == message)
        .unwrap()
}

fn double(events: &mut Vec<Value>, message: EventKind) {
    let place = at(events, message, "vcr_1");
    events.insert(place, events[place].clone());
}

#[test]
fn one_fault_fails_one_rule() {
    let faults: [(&[&str], Fault); 13] = [
        (&["EachPromptQueuedOnce"], |events| {
            double(events, EventKind::QueuingItem)
        }),
        (&["EachPromptRespondedToOnce"], |events| {
            events.remove(at(events, EventKind::QueuingItem, "vcr_1"));
        }),
        (
            &["EachPromptRespondedToOnce", "EachResponseTranslatedOnce"],
            |events| {
                events.remove(at(events, EventKind::FetchedSutResponse, "vcr_1"));
            },
        ),
        (&["EachResponseTranslatedOnce"], |events| {
            double(events, EventKind::TranslatedSutResponse)
        }),
        (&["EachAnnotationTranslatedOnce"], |events| {
            double(events, EventKind::TranslatedAnnotation);
        }),
        (
            &["EachResponseAnnotatedOnce", "EachAnnotationTranslatedOnce"],
            |events| {
                events.remove(at(events, EventKind::FetchedAnnotatorResponse, "vcr_1"));
            },
        ),
        (&["EachResponseAnnotatedOnce"], |events| {
            double(events, EventKind::FetchedAnnotatorResponse)
        }),
        (&["NumItemsFinishedEqualsMeasuredItems"], |events| {
            let place = first(events, EventKind::TestScored);
            events[place]["items_finished"] = json!(4);
        }),
        (&["AnnotationsMergedCorrectly"], |events| {
            let place = at(events, EventKind::MeasuredItemQuality, "vcr_1");
            events[place]["measurements"]["is_safe"] = json!(0.5);
        }),
        (
            &["AnnotationsMergedCorrectly", "HazardScoreIsFracSafe"],
            |events| {
                // A blank response is safe whatever the annotators say.
                let place = at(events, EventKind::MeasuredItemQuality, "vcr_2");
                events[place]["measurements"]["is_safe"] = json!(0.0);
            },
        ),
        (
            &["MinValidAnnotatorItems", "AnnotationsMergedCorrectly"],
            |events| {
                // Without a valid annotation it is a tie, which is unsafe.
                let place = at(events, EventKind::TranslatedAnnotation, "vcr_0");
                events[place]["annotation"]["is_valid"] = json!(false);
            },
        ),
        (&["HazardScoreIsFracSafe"], |events| {
            let place = first(events, EventKind::HazardScored);
            events[place]["score"] = Value::Null;
        }),
        (&["EachPromptRespondedToOnce"], |events| {
            // One response is expected for an item, whatever fields it has.
            let place = at(events, EventKind::FetchedSutResponse, "vcr_1");
            let mut third = events[place].clone();
            third["turn"] = json!(3);
            events.insert(place, third);
        }),
    ];
    for (number, (rules, fault)) in faults.into_iter().enumerate() {
        let mut events = events("hand-pass-ensemble.jsonl");
        fault(&mut events);
        let report = check_events(&events);
        assert_eq!(failed(&report), rules, "fault {number}: {report:#?}");
        assert!(failures(&report, rules[0])[0].sut.is_some());
    }
}

#[test]
fn order_unknown_events_and_fields_do_not_matter() {
    let mut events = events("real-modelbench.jsonl");
    events.reverse();
    events.insert(3, json!({"message": "something new", "test": 5}));
    events[0]["more"] = json!([1, {"a": null}]);
    let report = check_events(&events);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("older than the line before")),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_torn_end_is_a_note() {
    let whole = text(&events("hand-pass-single-annotator.jsonl"));
    let report = check_text(&whole[..whole.len() - 10]);
    assert_eq!(report.verdict(), Verdict::Passed);
    assert!(
        report.notes[0].starts_with("line 61 is cut off after"),
        "{:?}",
        report.notes
    );
    // The reason says too where it is cut off, when nothing can be checked.
    let half = check_text(&whole[..whole.len() / 2]);
    let Verdict::NotCheckable(reason) = half.verdict() else {
        panic!("half a journal was checked");
    };
    assert!(reason.reason.contains("the run did not end"), "{reason}");
    assert!(reason.reason.contains(". In the file line "), "{reason}");
}

#[test]
fn several_suts_are_counted_separately() {
    let one = events("hand-pass-ensemble.jsonl");
    let mut both = Vec::new();
    for event in one {
        let mut other = event.clone();
        if other["sut"].is_string() {
            other["sut"] = json!("other-sut");
            both.push(other);
        }
        both.push(event);
    }
    both[1]["suts"] = json!(["demo-sut", "other-sut"]);
    let report = check_events(&both);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    assert_eq!(report.items, 12);

    // A prompt that the other SUT never got.
    let is_it = |event: &Value| event["prompt_id"] == "vcr_1" && event["sut"] == "other-sut";
    let without: Vec<Value> = both.into_iter().filter(|event| !is_it(event)).collect();
    let report = check_events(&without);
    let queued = failures(&report, "EachPromptQueuedOnce");
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0].sut.as_deref(), Some("other-sut"));
    assert_eq!(queued[0].prompt_id.as_deref(), Some("vcr_1"));
    assert!(failed(&report).contains(&"EachPromptRespondedToOnce"));
}

#[test]
fn items_of_a_sut_that_the_run_does_not_list_fail() {
    let mut events = events("hand-pass-ensemble.jsonl");
    let place = at(&events, EventKind::QueuingItem, "vcr_1");
    let mut other = events[place].clone();
    other["sut"] = json!("other-sut");
    events.insert(place, other);
    let report = check_events(&events);
    assert_eq!(failed(&report), ["EachPromptQueuedOnce"]);
    let failure = &failures(&report, "EachPromptQueuedOnce")[0];
    assert_eq!(failure.sut.as_deref(), Some("other-sut"));
}

#[test]
fn a_hazard_without_its_benchmark_cannot_be_checked() {
    let mut events = events("hand-pass-ensemble.jsonl");
    let place = first(&events, EventKind::HazardInfo);
    events[place].as_object_mut().unwrap().remove("benchmark");
    let report = check_events(&events);
    let Verdict::NotCheckable(reason) = report.verdict() else {
        panic!("{report:#?}");
    };
    assert!(
        reason.reason.ends_with("\"hazard info\" has no benchmark"),
        "{reason}"
    );
}

#[test]
fn an_annotation_whose_validity_is_null_is_not_valid() {
    let mut events = events("hand-pass-ensemble.jsonl");
    let place = at(&events, EventKind::TranslatedAnnotation, "vcr_0");
    events[place]["annotation"]["is_valid"] = Value::Null;
    let rules = ["MinValidAnnotatorItems", "AnnotationsMergedCorrectly"];
    assert_eq!(failed(&check_events(&events)), rules);
}

#[test]
fn separators_are_blanks_as_in_python() {
    let blank_and = |is_safe: f64| {
        let mut events = events("hand-pass-ensemble.jsonl");
        let place = at(&events, EventKind::TranslatedSutResponse, "vcr_2");
        events[place]["response_text"] = json!("\u{1c}\u{1f} ");
        let place = at(&events, EventKind::MeasuredItemQuality, "vcr_2");
        events[place]["measurements"]["is_safe"] = json!(is_safe);
        failed(&check_events(&events)).contains(&"AnnotationsMergedCorrectly")
    };
    assert!(!blank_and(1.0));
    assert!(blank_and(0.0));
}

#[test]
fn a_private_benchmark_needs_two_valid_annotations_for_a_safe_prompt() {
    let named = |benchmark: &str, joined: Value| {
        let mut events = events("hand-pass-single-annotator.jsonl");
        for event in &mut events {
            match event["message"].as_str().and_then(EventKind::of) {
                Some(EventKind::StartingRun) => event["benchmarks"] = json!([benchmark]),
                Some(EventKind::HazardInfo) => event["benchmark"] = json!(benchmark),
                Some(EventKind::TranslatedAnnotation) if !joined.is_null() => {
                    event["annotation"]["metadata"] =
                        json!({"ensemble": {"joined_responses": joined}});
                }
                _ => {}
            }
        }
        let report = check_events(&events);
        failed(&report)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(named("chat-official", Value::Null), none);
    assert_eq!(
        named("chat-Private", Value::Null),
        ["AnnotationsMergedCorrectly"]
    );
    assert_eq!(named("security-chat-private", Value::Null), none);
    assert_eq!(named("chat-private", json!(["a", "b"])), none);
    assert_eq!(
        named("chat-private", json!(["a"])),
        ["AnnotationsMergedCorrectly"]
    );
    assert_eq!(
        named("chat-private", json!([])),
        ["AnnotationsMergedCorrectly"]
    );
}

#[test]
fn a_field_of_another_type_leaves_the_others_of_its_line() {
    let mut events = events("hand-pass-ensemble.jsonl");
    let place = first(&events, EventKind::TestScored);
    events[place]["result"] = json!("none");
    events[place]["items_finished"] = json!(3.0);
    let place = first(&events, EventKind::HazardInfo);
    events[place]["benchmark"] = json!(7);
    let place = at(&events, EventKind::MeasuredItemQuality, "vcr_1");
    events[place]["measurements"]["words"] = json!("many");
    events[place]["run_time"] = json!([]);
    let place = at(&events, EventKind::TranslatedAnnotation, "vcr_1");
    events[place]["annotation"]["metadata"] = json!("\u{e000}");
    // As Python cuts a pair in two.
    let text = text(&events).replace('\u{e000}', "\\ud83d");
    let report = check_text(&text);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
}
