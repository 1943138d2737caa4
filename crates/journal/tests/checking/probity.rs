//! Journals as Probity writes them.

use journal::check::{Outcome, Verdict};
use schema::EventKind;
use serde_json::{Value, json};

use crate::{check_events, failed};

/// One item of Probity's, over `turns` turns, and what the judge did.
fn item(prompt: &str, turns: u32, ending: &[Value]) -> Vec<Value> {
    let mut events = vec![json!({"message": EventKind::QueuingItem})];
    for turn in 1..=turns {
        events.push(json!({"message": EventKind::FetchedSutResponse, "turn": turn}));
        events.push(
            json!({"message": EventKind::TranslatedSutResponse, "turn": turn, "response_text": "r"}),
        );
    }
    events.extend_from_slice(ending);
    for event in &mut events {
        event["test"] = json!("m01");
        event["prompt_id"] = json!(prompt);
        event["sut"] = json!("s");
    }
    events
}

fn of_probity(items: &[Vec<Value>], measured: u32, score: Value) -> Vec<Value> {
    let mut events = vec![
        json!({"message": EventKind::StartingJournal, "format_version": "1.0.0"}),
        json!({"message": EventKind::StartingRun, "run_id": "r", "benchmarks": ["b"], "tests": [], "suts": ["s"]}),
        json!({"message": EventKind::HazardInfo, "hazard": "h", "benchmark": "b", "tests": ["m01"]}),
        json!({"message": EventKind::UsingTestItems, "using": items.len(), "total": items.len(), "test": "m01"}),
    ];
    events.extend(items.iter().flatten().cloned());
    events.push(json!({"message": EventKind::FinishedPipeline, "total_finished": measured, "finished_counts": {"s": {"m01": measured}}}));
    events.push(
        json!({"message": EventKind::TestScored, "test": "m01", "sut": "s", "items_finished": measured}),
    );
    events.push(
        json!({"message": EventKind::HazardScored, "hazard": "h", "sut": "s", "score": score}),
    );
    events.push(json!({"message": EventKind::FinishedRun}));
    events
}

fn called_judge() -> Value {
    json!({"message": EventKind::FetchedAnnotatorResponse, "annotator": "j"})
}

fn verdict(is_safe: bool) -> Value {
    json!({"message": EventKind::TranslatedAnnotation, "annotator": "j", "annotation": {"is_safe": is_safe, "is_valid": true}})
}

fn measured(is_safe: f64) -> Value {
    json!({"message": EventKind::MeasuredItemQuality, "measurements": {"is_safe": is_safe}})
}

fn finished() -> Value {
    json!({"message": EventKind::ItemFinished})
}

fn failed_item() -> Value {
    json!({"message": EventKind::ItemFailed, "sut_response": true})
}

#[test]
fn failed_abstained_and_retried_items_of_probity_pass() {
    let items = [
        item(
            "p0",
            40,
            &[called_judge(), verdict(true), measured(1.0), finished()],
        ),
        item(
            "p1",
            2,
            &[
                called_judge(),
                called_judge(),
                verdict(false),
                measured(0.0),
                finished(),
            ],
        ),
        item(
            "p2",
            2,
            &[
                called_judge(),
                json!({"message": EventKind::JudgeAbstained, "annotator": "j"}),
                failed_item(),
            ],
        ),
        item(
            "p3",
            2,
            &[json!({"message": EventKind::SutException}), failed_item()],
        ),
        item("p4", 0, &[failed_item()]),
    ];
    let events = of_probity(&items, 2, json!(0.5));
    let report = check_events(&events);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    assert_eq!(report.rows.len(), 13);
    assert!(
        report.rows.iter().all(|row| row.outcome == Outcome::Passed),
        "{report:#?}"
    );
    assert!(
        report
            .notes
            .contains(&"3 of 5 items failed and have no measurement".to_owned())
    );

    // The same journal without Probity's mark is held to the letter.
    let mut foreign = events;
    foreign[0].as_object_mut().unwrap().remove("format_version");
    foreign[1]["tests"] = json!(["m01"]);
    assert_eq!(
        failed(&check_events(&foreign)),
        [
            "EachPromptRespondedToOnce",
            "EachResponseTranslatedOnce",
            "EachItemMeasuredOnce",
            "EachResponseAnnotatedOnce",
            "EachAnnotationTranslatedOnce",
        ]
    );
}

#[test]
fn faults_in_journals_of_probity_are_found() {
    let good = || {
        item(
            "p0",
            2,
            &[called_judge(), verdict(true), measured(1.0), finished()],
        )
    };
    let cases: [(Vec<Value>, &[&str]); 5] = [
        // Failed and measured.
        (
            item(
                "p1",
                2,
                &[called_judge(), verdict(false), measured(0.0), failed_item()],
            ),
            &["EachItemMeasuredOnce", "FinishedCountsAreItems"],
        ),
        // Two ends.
        (
            item(
                "p1",
                1,
                &[
                    called_judge(),
                    verdict(false),
                    measured(0.0),
                    finished(),
                    finished(),
                ],
            ),
            &["EachItemEndedOnce"],
        ),
        // No end.
        (
            item("p1", 1, &[called_judge(), verdict(false), measured(0.0)]),
            &["EachItemEndedOnce", "FinishedCountsAreItems"],
        ),
        // A verdict without a call to the judge.
        (
            item("p1", 1, &[verdict(false), measured(0.0), finished()]),
            &["EachResponseAnnotatedOnce", "EachAnnotationTranslatedOnce"],
        ),
        // Turn 40 twice.
        (
            {
                let mut events = item(
                    "p1",
                    40,
                    &[called_judge(), verdict(false), measured(0.0), finished()],
                );
                events.insert(1, events[79].clone());
                events
            },
            &["EachPromptRespondedToOnce"],
        ),
    ];
    for (case, rules) in cases {
        let report = check_events(&of_probity(&[good(), case], 2, json!(0.5)));
        assert_eq!(failed(&report), rules, "{report:#?}");
    }
    let mut events = of_probity(&[good()], 1, json!(1.0));
    events[3]["using"] = json!(2);
    assert_eq!(failed(&check_events(&events)), ["ItemsQueuedAsAnnounced"]);
}

/// An item whose turns have these numbers of replies; all but the last of a turn call tools.
fn with_tools(replies: &[u32]) -> Vec<Value> {
    let mut events = item(
        "p1",
        0,
        &[called_judge(), verdict(true), measured(1.0), finished()],
    );
    let mut at = 1;
    for (turn, count) in (1..).zip(replies) {
        for step in 0..*count {
            for message in [
                EventKind::FetchedSutResponse,
                EventKind::TranslatedSutResponse,
            ] {
                let mut event = events[0].clone();
                event["message"] = json!(message);
                event["turn"] = json!(turn);
                event["response_text"] = json!("r");
                if step > 0 {
                    event["step"] = json!(step);
                }
                events.insert(at, event);
                at += 1;
            }
        }
    }
    events
}

#[test]
fn a_turn_has_one_response_for_each_step() {
    let failed_rules = |events: Vec<Value>| {
        let report = check_events(&of_probity(&[events], 1, json!(1.0)));
        failed(&report)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let many = vec![2; 40];
    for replies in [&[1, 3, 1][..], &[4], &many] {
        let none: [&str; 0] = [];
        assert_eq!(failed_rules(with_tools(replies)), none, "{replies:?}");
    }
    let twice = |at: usize| {
        let mut events = with_tools(&[3, 2]);
        let again = events[at].clone();
        events.insert(at, again);
        events
    };
    // Steps 1 of turn 1: the response, and what was read out of it.
    assert_eq!(failed_rules(twice(3)), ["EachPromptRespondedToOnce"]);
    assert_eq!(failed_rules(twice(4)), ["EachResponseTranslatedOnce"]);
    let without = |range: std::ops::Range<usize>| {
        let mut events = with_tools(&[3, 2]);
        events.drain(range);
        events
    };
    assert_eq!(failed_rules(without(3..5)), ["EachPromptRespondedToOnce"]);
    assert_eq!(failed_rules(without(4..5)), ["EachResponseTranslatedOnce"]);
}

#[test]
fn a_run_in_which_all_failed_has_no_score() {
    let items = [item("p0", 1, &[failed_item()])];
    let report = check_events(&of_probity(&items, 0, Value::Null));
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    let report = check_events(&of_probity(&items, 0, json!(0.0)));
    assert_eq!(failed(&report), ["HazardScoreIsFracSafe"]);
}

#[test]
fn a_run_that_was_stopped_or_judged_nothing_is_checked_as_far_as_it_went() {
    let mut events = of_probity(&[item("p0", 2, &[])], 0, Value::Null);
    events.pop();
    events.push(json!({"message": EventKind::ExceptionStoppingRun, "exc_type": "x", "exc_val": {"message": "Ctrl-C"}}));
    let report = check_events(&events);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("the run was stopped"))
    );

    let simulated = [
        json!({"message": EventKind::StartingJournal, "format_version": "1.0.0"}),
        json!({"message": EventKind::StartingRun, "run_id": "r", "benchmarks": ["b"], "tests": ["m01"], "suts": ["s"]}),
    ];
    let mut events = simulated.to_vec();
    events.extend(item("p0", 2, &[finished()]));
    events.push(json!({"message": EventKind::FinishedRun}));
    let report = check_events(&events);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    assert!(
        report
            .rows
            .iter()
            .all(|row| row.rule != "EachItemMeasuredOnce")
    );
}

#[test]
fn failures_are_listed_up_to_a_number_and_counted_beyond() {
    let items: Vec<Vec<Value>> = (0..150)
        .map(|n| item(&format!("p{n}"), 0, &[finished()]))
        .collect();
    let report = check_events(&of_probity(&items, 0, Value::Null));
    let row = report
        .rows
        .iter()
        .find(|row| row.rule == "EachPromptRespondedToOnce")
        .unwrap();
    assert_eq!(
        (row.failed, row.failures.len()),
        (150, journal::check::LISTED)
    );
    assert_eq!(row.failures[99].prompt_id.as_deref(), Some("p99"));
}

/// A journal of the present form, of one item with these events.
fn summed_up(events: Vec<Value>) -> Vec<Value> {
    let mut events = of_probity(&[item("p0", 0, &events)], 1, json!(1.0));
    events[0]["format_version"] = json!("1.1.0");
    events
}

/// Two turns, their summaries, and a judge that was called twice.
fn turns() -> Vec<Value> {
    let mut events = Vec::new();
    for turn in 1..=2 {
        events.push(json!({"message": EventKind::FetchedSutTurn, "turn": turn}));
        events.push(
            json!({"message": EventKind::TranslatedSutTurn, "turn": turn, "response_text": "r"}),
        );
    }
    let judge = json!({"message": EventKind::FetchedAnnotatorTurn, "annotator": "j"});
    events.extend([judge.clone(), judge, verdict(true)]);
    events.push(json!({"message": EventKind::FetchedSutResponse, "turns": 2}));
    events.push(
        json!({"message": EventKind::TranslatedSutResponse, "turns": 2, "response_text": "r\n\nr"}),
    );
    events.push(
        json!({"message": EventKind::FetchedAnnotatorResponse, "annotator": "j", "turns": 2}),
    );
    events.extend([measured(1.0), finished()]);
    events
}

#[test]
fn turns_are_summed_up_once() {
    let report = check_events(&summed_up(turns()));
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    // To the letter too.
    let mut foreign = summed_up(turns());
    foreign[0].as_object_mut().unwrap().remove("format_version");
    foreign[1]["tests"] = json!(["m01"]);
    let report = check_events(&foreign);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");

    let without = |n: usize| {
        let mut events = turns();
        events.remove(n);
        let report = check_events(&summed_up(events));
        failed(&report)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        without(0),
        ["EachPromptRespondedToOnce", "EachResponseTranslatedOnce"]
    );
    assert_eq!(without(3), ["EachResponseTranslatedOnce"]);
    assert_eq!(without(7), ["EachPromptRespondedToOnce"]);
    assert_eq!(without(8), ["EachResponseTranslatedOnce"]);
    assert_eq!(
        without(9),
        ["EachResponseAnnotatedOnce", "EachAnnotationTranslatedOnce"]
    );
    let twice = |n: usize| {
        let mut events = turns();
        events.insert(n, events[n].clone());
        let report = check_events(&summed_up(events));
        failed(&report)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(twice(7), ["EachPromptRespondedToOnce"]);
    assert_eq!(twice(8), ["EachResponseTranslatedOnce"]);
    assert_eq!(twice(9), ["EachResponseAnnotatedOnce"]);
}

#[test]
fn items_that_come_of_others_are_not_announced() {
    let mut derived = item("p1", 0, &turns());
    derived[0]["derived"] = json!(true);
    let mut events = of_probity(&[item("p0", 0, &turns()), derived], 2, json!(1.0));
    events[0]["format_version"] = json!("1.1.0");
    assert_eq!(failed(&check_events(&events)), ["ItemsQueuedAsAnnounced"]);
    events[3]["using"] = json!(1);
    let report = check_events(&events);
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
}

/// A reply, judged by a panel: `no` called in vain several times, `gone` without a response.
fn panel() -> Vec<Value> {
    let judged = |judge: &str, is_safe: bool, is_valid: bool| json!({"message": EventKind::TranslatedAnnotation, "annotator": judge, "annotation": {"is_safe": is_safe, "is_valid": is_valid}});
    let response =
        |message: EventKind, judge: &str| json!({"message": message, "annotator": judge});
    vec![
        json!({"message": EventKind::FetchedSutResponse}),
        json!({"message": EventKind::TranslatedSutResponse, "response_text": "r"}),
        response(EventKind::FetchedAnnotatorTurn, "no"),
        response(EventKind::FetchedAnnotatorTurn, "no"),
        response(EventKind::FetchedAnnotatorResponse, "yes"),
        judged("gone", false, false),
        judged("no", false, false),
        judged("yes", true, true),
        json!({"message": EventKind::MergedAnnotation, "annotation": {"is_safe": true, "is_valid": true}}),
        // The calls of a judge are summed up at the end of the item.
        response(EventKind::FetchedAnnotatorResponse, "no"),
        measured(1.0),
        finished(),
    ]
}

#[test]
fn judges_of_a_panel_that_give_no_score_pass() {
    let report = check_events(&summed_up(panel()));
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    let mut twice = panel();
    twice.insert(10, twice[9].clone());
    assert_eq!(
        failed(&check_events(&summed_up(twice))),
        ["EachResponseAnnotatedOnce"]
    );
    // A judge with a score was called.
    let mut without = panel();
    without.remove(4);
    assert_eq!(
        failed(&check_events(&summed_up(without))),
        ["EachResponseAnnotatedOnce", "EachAnnotationTranslatedOnce"]
    );
    // Without a panel too many annotations are invalid.
    let mut alone = panel();
    alone.remove(8);
    assert_eq!(
        failed(&check_events(&summed_up(alone))),
        ["MinValidAnnotatorItems"]
    );
}

#[test]
fn a_summary_sums_up_all_turns() {
    let of = |summed: u64| {
        let mut events = vec![json!({"message": EventKind::QueuingItem})];
        for turn in 1..=2 {
            events.push(json!({"message": EventKind::FetchedSutTurn, "turn": turn}));
            events.push(
                json!({"message": EventKind::TranslatedSutTurn, "turn": turn, "response_text": "r"}),
            );
        }
        events.push(json!({"message": EventKind::FetchedSutResponse, "turns": summed}));
        events.push(
            json!({"message": EventKind::TranslatedSutResponse, "turns": summed, "response_text": "r"}),
        );
        events.extend([called_judge(), verdict(true), measured(1.0), finished()]);
        for event in &mut events {
            event["test"] = json!("m01");
            event["prompt_id"] = json!("p0");
            event["sut"] = json!("s");
        }
        let mut events = of_probity(&[events], 1, json!(1.0));
        events[0]["format_version"] = json!("1.2.0");
        check_events(&events)
    };
    assert_eq!(of(2).verdict(), Verdict::Passed, "{:#?}", of(2));
    // As the early stop of a conversation once did: it was summed up after its first turn.
    assert_eq!(
        failed(&of(1)),
        ["EachPromptRespondedToOnce", "EachResponseTranslatedOnce"]
    );
}
