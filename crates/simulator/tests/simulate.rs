//! Whole conversations over HTTP: what comes into the row.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod play;

use std::sync::Arc;

use llm_client::{HttpClient, ModelSettings, OpenAi};
use play::*;
use schema::{
    EventKind, FinishReason, ModelErrorKind, ModelId, PhaseErrorKind, Role, SimulatorFaultKind,
};
use scripted_llm::ScriptedServer;
use serde_json::json;
use simulator::{ChatSimulator, SimulatorSettings};
use watched_llm::{Answer, KeptEvents, Recorder};

#[tokio::test]
async fn a_conversation_alternates_and_keeps_thoughts_inside() {
    let (_, row) = play(plain, turns(3)).await;
    assert_eq!(
        texts(&row),
        [
            "Message 1.",
            "Reply 1.",
            "Message 2.",
            "Reply 2.",
            "Message 3.",
            "Reply 3."
        ]
    );
    let speakers: Vec<Role> = row.transcript.iter().map(|turn| turn.role).collect();
    assert_eq!(speakers, [Role::User, Role::Assistant].repeat(3));
    assert_eq!(
        (row.conv_id.as_str(), row.error),
        ("m01_s001_v01__gpt-x", None)
    );
    let usage = row.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cost),
        (60, 12, Some(0.3))
    );
}

#[tokio::test]
async fn the_users_word_ends_the_conversation_and_stays_out_of_it() {
    let (server, row) = play(
        user_says(&[
            "Message: Hello.",
            "Thought: done.\nMessage: \"Terminate conversation.\"",
        ]),
        turns(3),
    )
    .await;
    assert_eq!(texts(&row), ["Hello.", "Reply 1."]);
    assert_eq!((row.error, server.asked("target").len()), (None, 1));
}

#[tokio::test]
async fn a_farewell_is_sent_before_the_end() {
    let (server, row) = play(
        user_says(&[
            "Message: Hello.",
            "Message: Thanks.\n[terminate conversation]",
        ]),
        turns(3),
    )
    .await;
    assert_eq!(texts(&row), ["Hello.", "Reply 1.", "Thanks.", "Reply 2."]);
    assert_eq!(server.asked("user").len(), 2);
}

#[tokio::test]
async fn an_end_before_anything_was_said_is_an_error() {
    const END: &str = "Message: terminate conversation";
    let (server, row) = play(user_says(&[END, END, END]), turns(5)).await;
    assert!(row.transcript.is_empty() && server.asked("target").is_empty());
    assert_eq!(
        row.unmended_fault().map(|fault| (fault.fault, fault.turn)),
        Some((SimulatorFaultKind::EndedEarly, 1))
    );
    let error = row.error.unwrap();
    assert_eq!(
        error,
        "user model user, turn 1: no usable message in 3 tries; the last reply: it ended the conversation before anything was said"
    );
}

#[tokio::test]
async fn an_unusable_message_is_asked_for_again_with_the_reason() {
    let (server, row) = play(
        user_says(&[
            "Message: Hello.",
            "Thought: hm, what now?",
            "",
            "Message: Go on.",
        ]),
        turns(2),
    )
    .await;
    assert_eq!(texts(&row), ["Hello.", "Reply 1.", "Go on.", "Reply 2."]);
    let asked = server.asked("user");
    let expected = ["system", "user", "assistant", "user", "assistant", "user"];
    for body in &asked[2..4] {
        assert_eq!(roles(body), expected);
        assert!(last(body).ends_with("<turn>2 of 2</turn>"), "{body}");
    }
    assert_eq!(asked[2]["messages"][4]["content"], "Thought: hm, what now?");
    assert!(
        last(&asked[2]).contains("no \"Message:\" line"),
        "{}",
        last(&asked[2])
    );
    assert_eq!(asked[3]["messages"][4]["content"], "(no answer)");
    assert!(
        last(&asked[3]).contains("it is empty"),
        "{}",
        last(&asked[3])
    );
    assert_eq!(row.usage.unwrap().input_tokens, 60);
}

#[tokio::test]
async fn a_user_model_that_never_says_anything_fails_the_row_only() {
    let (server, row) = play(
        user_says(&["Message: Hello.", "Thought: a", "Thought: b", "Thought: c"]),
        turns(4),
    )
    .await;
    assert_eq!(texts(&row), ["Hello.", "Reply 1."]);
    assert_eq!(server.asked("user").len(), 4);
    assert_eq!(
        row.error.unwrap(),
        "user model user, turn 2: no usable message in 3 tries; the last reply: it has a thought but no \"Message:\" line"
    );
}

#[tokio::test]
async fn a_cut_off_reply_is_recorded_as_what_it_is() {
    let cut = |model: &str, nth| match (model, nth) {
        ("target", 0) => Answer::ends("The tide is", "length"),
        _ => plain(model, nth),
    };
    let (_, row) = play(cut, turns(2)).await;
    assert_eq!(
        texts(&row),
        ["Message 1.", "The tide is", "Message 2.", "Reply 2."]
    );
    assert_eq!(row.transcript[1].finish_reason, Some(FinishReason::Length));
    assert_eq!((&row.transcript[3].finish_reason, row.error), (&None, None));
}

#[tokio::test]
async fn an_empty_reply_is_recorded_and_ends_the_conversation() {
    for (finish, recorded) in [
        ("stop", None),
        ("length", Some(FinishReason::Length)),
        ("content_filter", Some(FinishReason::ContentFilter)),
    ] {
        let (server, row) = play(
            move |model, nth| match (model, nth) {
                ("target", 1) => Answer::ends("", finish),
                _ => plain(model, nth),
            },
            turns(4),
        )
        .await;
        assert_eq!(texts(&row), ["Message 1.", "Reply 1.", "Message 2.", ""]);
        assert_eq!(
            (&row.transcript[3].finish_reason, &row.error),
            (&recorded, &None)
        );
        assert_eq!(server.asked("user").len(), 2);
    }
}

#[tokio::test]
async fn a_call_that_fails_for_good_keeps_what_was_said() {
    let failing = |who: &'static str| {
        move |model: &str, nth| match (model == who, nth) {
            (true, 2) => Answer::status(404),
            _ => plain(model, nth),
        }
    };
    let (_, row) = play(failing("target"), turns(5)).await;
    assert_eq!(row.transcript.len(), 5);
    let error = row.error.unwrap();
    assert!(
        error.starts_with("target gpt-x, turn 3: ") && error.contains("404"),
        "{error}"
    );
    assert_eq!(row.usage.unwrap().input_tokens, 50);
    let (_, row) = play(failing("user"), turns(5)).await;
    assert_eq!(row.transcript.len(), 4);
    let error = row.error.unwrap();
    assert!(
        error.starts_with("user model user, turn 3: ") && error.contains("404"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stopping_run_and_a_spent_budget_give_no_row() {
    for (kind, expected) in [
        (ModelErrorKind::Cancelled, PhaseErrorKind::Cancelled),
        (ModelErrorKind::OverBudget, PhaseErrorKind::OverBudget),
    ] {
        for who in ["user", "target"] {
            let server = Recorder::start(plain).await;
            let model = |name| match name == who {
                true => server.model_until(name, 1, kind),
                false => server.model(name),
            };
            let simulator =
                ChatSimulator::new(model("user"), model("target"), gpt_x(), turns(3)).unwrap();
            let error = play_one(&simulator, &scenario()).await.unwrap_err();
            assert_eq!(error.kind(), expected);
            assert!(error.to_string().contains("turn 2"), "{error}");
        }
    }
}

#[tokio::test]
async fn careless_typing_repeats_and_leaves_the_users_own_view_alone() {
    const SAID: &str = "Message: Would you PLEASE explain whether 400 mg of Ibuprofen twice daily really remains \
        harmless together with Paracetamol? See https://Example.org/A for everything about it.";
    let settings = |seed| SimulatorSettings {
        perfunctory: true,
        seed,
        ..turns(2)
    };
    let (server, first) = play(user_says(&[SAID, SAID]), settings(1)).await;
    let (_, again) = play(user_says(&[SAID, SAID]), settings(1)).await;
    assert_eq!(first, again);
    let mut others = std::collections::BTreeSet::new();
    for seed in 1..9 {
        let (_, row) = play(user_says(&[SAID, SAID]), settings(seed)).await;
        others.insert(row.transcript[0].content.to_string());
    }
    assert!(others.len() > 3, "{others:?}");
    let sent = server.asked("target")[1]["messages"][1]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(sent, &*first.transcript[0].content);
    assert!(
        sent.contains("400") && sent.contains("https://Example.org/A"),
        "{sent}"
    );
    assert!(!sent.contains("PLEASE") && !sent.ends_with('.'), "{sent}");
    assert_eq!(server.asked("user")[1]["messages"][2]["content"], SAID);
}

#[tokio::test]
async fn the_journal_has_every_turn_of_the_item() {
    let server = Recorder::start(plain).await;
    let journal = Arc::new(KeptEvents::default());
    let simulator = simulator(&server, turns(2));
    play_item(&simulator, &scenario(), 1, Arc::clone(&journal) as _)
        .await
        .unwrap();
    let events = journal.events();
    let messages: Vec<&str> = events
        .iter()
        .map(|event| event["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            EventKind::TranslatedUserResponse,
            EventKind::TranslatedSutResponse,
            EventKind::TranslatedUserResponse,
            EventKind::TranslatedSutResponse,
        ]
    );
    for event in &events {
        assert_eq!(event["prompt_id"], "m01_s001_v01__s1");
        assert_eq!(
            (&event["test"], &event["sut"]),
            (&json!("m01"), &json!("gpt-x"))
        );
    }
    assert_eq!(
        (&events[2]["response_text"], &events[2]["turn"]),
        (&json!("Message 2."), &json!(2))
    );
    assert_eq!(
        (&events[3]["response_text"], &events[3]["turn"]),
        (&json!("Reply 2."), &json!(2))
    );
}

#[tokio::test]
async fn the_scripted_models_play_a_whole_conversation() {
    let server = ScriptedServer::start().await.unwrap();
    let http = HttpClient::default();
    let model = |name: &str| {
        let settings = ModelSettings::new(ModelId::new(name).unwrap(), name, server.base_url());
        Arc::new(OpenAi::new(settings, &http).unwrap())
    };
    let (user, target) = (model("scripted-user"), model("scripted-careful"));
    let simulator = ChatSimulator::new(user, target, gpt_x(), turns(4)).unwrap();
    let row = play_one(&simulator, &scenario()).await.unwrap();
    assert_eq!(row.error, None);
    assert!(row.transcript.len() >= 4, "{row:?}");
    assert!(
        row.transcript
            .iter()
            .all(|turn| !turn.content.contains("Thought:"))
    );
    let again = play_one(&simulator, &scenario()).await.unwrap();
    assert_eq!(row, again);
    let tasks = server.stats().by_task;
    assert_eq!(
        tasks.keys().collect::<Vec<_>>(),
        ["target_turn", "user_turn"]
    );
}

#[tokio::test]
async fn a_message_that_repeats_the_prompt_is_asked_for_again() {
    let (server, row) = play(
        user_says(&[
            "Thought: hm\nMessage: What this person writes to the assistant.",
            "Message: (Nothing has been said yet. Write your first message to the assistant.)",
            "Thought: hm\nMessage: Hi.",
        ]),
        turns(1),
    )
    .await;
    assert_eq!(row.error, None);
    assert_eq!(texts(&row), ["Hi.", "Reply 1."]);
    let asked = server.asked("user");
    assert_eq!(asked.len(), 3);
    let reported = asked[1]["messages"].to_string();
    assert!(reported.contains("repeats the instructions"), "{reported}");
}

#[tokio::test]
async fn a_cut_off_user_model_says_what_to_raise() {
    let (_, row) = play(
        |model, nth| match model {
            "user" => Answer::ends("Thought: I will", "length"),
            _ => plain(model, nth),
        },
        turns(1),
    )
    .await;
    let error = row.error.unwrap();
    assert!(
        error.contains("token limit") && error.ends_with("; raise its max_tokens"),
        "{error}"
    );
}
