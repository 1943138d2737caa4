//! Multi-turn safety runs: conversations, and what goes wrong on the way.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

mod safety_project;

use probity::safety::TargetReport;
use safety_project::{
    DECLINES, Project, all_messages, case, details, judged, last_message, multi, run, tally,
};
use schema::{
    Role,
    safety::{
        ErrorKind, Stage,
        results::{MultiTurnRow, SafetyResults},
    },
};
use scripted_llm::{Answer, Asked};

/// Whether a strategy first asks for a plan.
fn is_plan(asked: &Asked<'_>) -> bool {
    all_messages(asked).contains("<plan_request>")
}

/// An attacker that numbers its messages, and says what it plans.
fn attacker(asked: &Asked<'_>) -> Answer {
    if is_plan(asked) {
        return Answer::says("{\"pieces\": [\"one\", \"two\"]}");
    }
    let messages = asked.body["messages"].as_array().unwrap();
    let own = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    Answer::says(format!("Thought: go on\nMessage: step {}", own.count() + 1))
}

/// A target that gives in at the second step.
fn target(asked: &Asked<'_>) -> Answer {
    Answer::says(match last_message(asked).contains("step 2") {
        true => "MEH, if you must",
        false => "Better not.",
    })
}

fn all_three(asked: Asked<'_>) -> Answer {
    match asked.model {
        "attacker" => attacker(&asked),
        "target" => target(&asked),
        _ => judged(&asked),
    }
}

fn rows(report: &TargetReport) -> &[MultiTurnRow] {
    let SafetyResults::MultiTurn(data) = &report.results else {
        panic!("a multi-turn run");
    };
    data.results.as_deref().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_case_is_played_with_each_test_type_and_is_as_safe_as_its_worst_message() {
    let project = Project::new(all_three).await;
    let cases = vec![case("a", "a"), case("b", "b")];
    let report = run(project.multi(multi(6, &["user_persona", "semantic_chunks"]), cases)).await;
    assert_eq!(tally(&report), [0, 4, 0]);
    let types: Vec<_> = details(&report)
        .conversations
        .iter()
        .map(|row| (row.case_id.as_str(), row.test_type.as_deref().unwrap()))
        .collect();
    assert_eq!(
        types,
        [
            ("a", "user_persona"),
            ("a", "semantic_chunks"),
            ("b", "user_persona"),
            ("b", "semantic_chunks")
        ]
    );
    for row in rows(&report) {
        assert_eq!(row.min_safe_response_score.get(), 0.4);
        assert_eq!(row.conversation.len(), 6);
        assert_eq!(row.conversation[5].role, Role::Assistant);
    }
    let scores = &details(&report).conversations[0].messages;
    let scores: Vec<_> = scores
        .iter()
        .map(|message| (message.message, message.score.unwrap().get()))
        .collect();
    assert_eq!(scores, [(1, 0.9), (3, 0.4), (5, 0.9)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_may_end_once_it_has_failed() {
    let project = Project::new(all_three).await;
    let mut settings = multi(8, &["user_persona"]);
    settings.early_stop = true;
    let report = run(project.multi(settings, vec![case("a", "a")])).await;
    assert_eq!(rows(&report)[0].conversation.len(), 4);
    assert!(details(&report).conversations[0].stopped_early);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attacker_that_declines_gives_way_to_another_strategy() {
    let project = Project::new(|asked| match asked.model {
        // Also after a first message that the target answered.
        "attacker" if all_messages(&asked).contains("pieces") => attacker(&asked),
        "attacker" if all_messages(&asked).contains("step 1") => Answer::says(DECLINES),
        "attacker" => attacker(&asked),
        "target" => target(&asked),
        _ => judged(&asked),
    })
    .await;
    let report = run(project.multi(multi(4, &["user_persona"]), vec![case("a", "a")])).await;
    assert_eq!(tally(&report), [0, 1, 0]);
    let details = details(&report);
    assert_eq!(
        details.conversations[0].test_type.as_deref(),
        Some("semantic_chunks")
    );
    let refusal = &details.attacker_refusals[0];
    assert_eq!(refusal.strategy, "user_persona");
    assert_eq!(refusal.retried_with.as_deref(), Some("semantic_chunks"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attacker_that_always_declines_is_an_error_and_no_pass() {
    let project = Project::new(|asked| match asked.model {
        "attacker" => Answer::says(DECLINES),
        "target" => target(&asked),
        _ => judged(&asked),
    })
    .await;
    let report = run(project.multi(multi(4, &["user_persona"]), vec![case("a", "a")])).await;
    assert_eq!(tally(&report), [0, 0, 1]);
    let error = &details(&report).errors[0];
    assert_eq!(
        (error.stage, error.kind),
        (Stage::Attacker, ErrorKind::InvalidResponse)
    );
    assert_eq!(details(&report).attacker_refusals.len(), 2);
    // The target was never asked.
    let asked = project.server.requests();
    assert!(asked.iter().all(|body| body["model"] == "attacker"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_falls_silent_is_an_error_unless_it_has_failed_before() {
    for (silent_at, tally_wanted) in [("step 2", [0, 0, 1]), ("step 3", [0, 1, 0])] {
        let project = Project::new(move |asked| match asked.model {
            "attacker" => attacker(&asked),
            "target" if last_message(&asked).contains(silent_at) => Answer::says(""),
            "target" => target(&asked),
            _ => judged(&asked),
        })
        .await;
        let report = run(project.multi(multi(6, &["user_persona"]), vec![case("a", "a")])).await;
        assert_eq!(tally(&report), tally_wanted, "{silent_at}");
        match details(&report).errors.first() {
            Some(error) => {
                assert_eq!(
                    (error.stage, error.kind),
                    (Stage::Target, ErrorKind::InvalidResponse)
                );
                assert_eq!(error.conversation.len(), 4);
            }
            // What nobody answered is not part of the conversation.
            None => assert_eq!(rows(&report)[0].conversation.len(), 4),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_score_is_an_error_unless_another_fails() {
    for (target_says, tally_wanted) in [("Better not.", [0, 0, 1]), ("MEH", [0, 1, 0])] {
        let project = Project::new(move |asked| match asked.model {
            "attacker" => attacker(&asked),
            "target" if last_message(&asked).contains("step 1") => Answer::says("Well."),
            "target" => Answer::says(target_says),
            // The judge finds no words for the first message, however often it is called.
            _ if !all_messages(&asked).contains("[4] ASSISTANT") => Answer::says("well"),
            _ => judged(&asked),
        })
        .await;
        let report = run(project.multi(multi(4, &["user_persona"]), vec![case("a", "a")])).await;
        assert_eq!(tally(&report), tally_wanted, "{target_says}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_conversations_is_bounded() {
    let project = Project::new(all_three).await;
    let mut settings = multi(4, &["user_persona", "semantic_chunks"]);
    settings.max_cases = Some(3);
    let cases = vec![case("a", "a"), case("b", "b"), case("c", "c")];
    let report = run(project.multi(settings, cases)).await;
    assert_eq!(rows(&report).len(), 3);
    assert_eq!(report.not_run.cap, 3);
}
