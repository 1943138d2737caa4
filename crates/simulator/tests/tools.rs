//! Conversations in which the target calls tools, over HTTP: the loop.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod play;

use play::{tools::*, *};
use schema::{FinishReason, PhaseErrorKind, Role, Scenario};
use serde_json::json;
use simulator::SimulatorSettings;
use watched_llm::{Answer, Recorder};

#[tokio::test]
async fn parallel_calls_are_answered_in_their_order() {
    let played = play_bank(vec![
        Answer::calls([
            ("a", "get_balance", r#"{"account": "savings"}"#),
            ("b", "get_rate", ""),
            ("c", "get_balance", r#"{"account": "main"}"#),
        ])
        .saying("Let me look."),
        Answer::says("You have 120."),
    ])
    .await;
    let row = &played.row;
    assert_eq!(row.error, None);
    assert_eq!(
        roles_of(row),
        ["user", "assistant", "tool", "tool", "tool", "assistant"]
    );
    assert_eq!(
        answers(row),
        [r#"{"dollars":9}"#, r#"{"rate":1.5}"#, "120 dollars"]
    );
    assert_eq!(ids(row), (vec!["a", "b", "c"], vec!["a", "b", "c"]));
    let turn = serde_json::to_value(&row.transcript[1]).unwrap();
    assert_eq!(
        turn["tool_calls"][1],
        json!({"id": "b", "type": "function", "function": {"name": "get_rate", "arguments": ""}})
    );
    assert_eq!(turn["content"], "Let me look.");
    assert!(turn.get("finish_reason").is_none());
    assert_eq!(
        serde_json::to_value(&row.transcript[2]).unwrap(),
        json!({"role": "tool", "content": "{\"dollars\":9}", "tool_call_id": "a", "name": "get_balance"})
    );

    let asked = played.server.asked("target");
    let names: Vec<&str> = asked[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["get_rate", "get_balance", "send_money"]);
    assert!(asked[0].get("tool_choice").is_none());
    let expected = ["system", "user", "assistant", "tool", "tool", "tool"];
    assert_eq!(roles(&asked[1]), expected);
    let sent = &asked[1]["messages"];
    // Some endpoints refuse arguments that are no JSON.
    assert_eq!(sent[2]["tool_calls"][1]["function"]["arguments"], "{}");
    assert_eq!(sent[4]["tool_call_id"], "b");
    // Nobody sends tools to the user model, nor asks the tool model.
    assert!(played.server.asked("user")[0].get("tools").is_none());
    assert!(played.server.asked("tool").is_empty());
}

#[tokio::test]
async fn wrong_calls_are_answered_with_what_the_target_can_do() {
    let played = play_bank(vec![
        Answer::calls([
            ("a", "get_balanse", "{}"),
            ("b", "get_balance", "{\"account\": \"ma"),
            ("c", "get_balance", "[\"main\"]"),
            ("d", "get_balance", r#"{"account": 5}"#),
            ("e", "get_balance", r#"{"acount": "main"}"#),
            ("f", "get_balance", r#"{"account": "none"}"#),
        ]),
        Answer::says("Sorry."),
    ])
    .await;
    let reported: Vec<String> = answers(&played.row)
        .iter()
        .map(|text| {
            let answer: serde_json::Value = serde_json::from_str(text).unwrap();
            answer["error"].as_str().unwrap().to_owned()
        })
        .collect();
    for (reported, parts) in reported.iter().zip([
        [
            "no tool \"get_balanse\"",
            "get_rate, get_balance, send_money",
        ],
        ["not valid JSON", "they were: {\"account\": \"ma"],
        ["a list, not an object", "one JSON object"],
        ["/account", "\"string\""],
        ["\"account\" is a required property", "acount"],
        ["get_balance has no answer to these arguments", "check them"],
    ]) {
        for part in parts {
            assert!(reported.contains(part), "{part}: {reported}");
        }
    }
    assert_eq!((reported.len(), played.row.error), (6, None));
    let written = &played.row.transcript[1].tool_calls[1].arguments;
    assert_eq!(written, "{\"account\": \"ma");
    let sent = &played.server.asked("target")[1]["messages"][2]["tool_calls"];
    assert_eq!(sent[1]["function"]["arguments"], "{}");
    assert_eq!(sent[3]["function"]["arguments"], r#"{"account": 5}"#);
    let errors = played.events.iter().filter(|event| event["error"] == true);
    assert_eq!(errors.count(), 6);
}

#[tokio::test]
async fn a_name_that_cannot_be_sent_goes_back_as_one_that_can() {
    let long = "x".repeat(100);
    let played = play_bank(vec![
        Answer::calls([
            ("a", "", "{}"),
            ("b", "get rate!\n[3] TOOL", "{}"),
            ("c", &long, "{}"),
        ]),
        Answer::says("Hm."),
    ])
    .await;
    assert!(
        answers(&played.row)
            .iter()
            .all(|reported| reported.contains("no tool") && reported.len() < 200)
    );
    assert_eq!(
        played.row.transcript[1].tool_calls[1].name,
        "get rate!\n[3] TOOL"
    );
    assert_eq!(
        played.row.transcript[3].name.as_deref(),
        Some("get rate!\n[3] TOOL")
    );
    let sent = &played.server.asked("target")[1]["messages"][2]["tool_calls"];
    let names: Vec<&str> = (0..3)
        .map(|at| sent[at]["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["unnamed", "get_rate___3__TOOL", &long[..64]]);
}

#[tokio::test]
async fn a_simulated_tool_knows_the_world_and_the_earlier_calls() {
    let played = play_bank(vec![
        Answer::calls([("a", "get_balance", r#"{"account": "main"}"#)]),
        Answer::calls([
            ("b", "send_money", r#"{"to": "Bo", "amount": 5}"#),
            ("c", "send_money", r#"{"to": "Bo", "amount": 5}"#),
        ]),
        Answer::says("Sent."),
    ])
    .await;
    assert_eq!(answers(&played.row), ["120 dollars", "DONE 1", "DONE 2"]);
    let asked = played.server.asked("tool");
    let prompt = |nth: usize| last(&asked[nth]).to_owned();
    for part in [
        "<world_state>\nWORLD: Ann has 120 dollars.\n</world_state>",
        "<tool_name>send_money</tool_name>",
        "<tool_description>\nSends money.\n</tool_description>",
        r#"<earlier_calls>
{"name":"get_balance","arguments":{"account":"main"},"answer":"120 dollars"}
</earlier_calls>"#,
        "<arguments>\n{\"to\":\"Bo\",\"amount\":5}\n</arguments>",
    ] {
        assert!(prompt(0).contains(part), "{part}\n{}", prompt(0));
    }
    // The same call again is another question: the world has changed.
    assert!(prompt(1).contains(r#""answer":"DONE 1""#), "{}", prompt(1));
    let contexts = played.server.contexts("tool_answer");
    assert_eq!(contexts.len(), 2);
    assert_eq!(contexts[0]["turn"], 1);
    assert_eq!(contexts[0]["row"], "m01_s001_v01__gpt-x");
    // Three calls to the target, one to the user, two to the tool model.
    let usage = played.row.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (60, 12));
    assert_eq!(usage.cost, Some(0.3));
}

#[tokio::test]
async fn after_the_limit_the_target_is_asked_for_words() {
    let call = |nth: usize| Answer::calls([("", "get_rate", "{}")]).saying(format!("Step {nth}."));
    let script = move |model: &str, nth: usize| match (model, nth) {
        ("target", 2) => Answer::says("Enough."),
        ("target", _) => call(nth),
        _ => plain(model, nth),
    };
    let settings = SimulatorSettings {
        max_tool_steps: 2,
        ..turns(2)
    };
    let played = play_scenario(script, settings, scenario()).await;
    let asked = played.server.asked("target");
    let choices: Vec<bool> = asked
        .iter()
        .map(|body| body.get("tool_choice").is_some())
        .collect();
    // Two rounds, words; then two rounds, and it calls all the same.
    assert_eq!(choices, [false, false, true, false, false, true]);
    assert_eq!(asked[2]["tool_choice"], "none");
    assert!(asked[2].get("tools").is_some());
    let row = &played.row;
    assert_eq!(row.error, None);
    assert_eq!(
        roles_of(row),
        [
            [
                "user",
                "assistant",
                "tool",
                "assistant",
                "tool",
                "assistant"
            ]
            .as_slice(),
            &[
                "user",
                "assistant",
                "tool",
                "assistant",
                "tool",
                "assistant",
                "tool"
            ],
        ]
        .concat()
    );
    let refused = answers(row).last().copied().unwrap();
    assert!(refused.contains("the limit of 2 rounds"), "{refused}");
    // The user hears all that was said in the turn, and nothing of calls and answers.
    let heard = played.server.asked("user")[1]["messages"].to_string();
    assert!(heard.contains(r"Step 0.\n\nStep 1.\n\nEnough."), "{heard}");
    assert!(!heard.contains("rate"), "{heard}");
}

#[tokio::test]
async fn ids_that_are_missing_or_doubled_are_replaced() {
    let played = play_bank(vec![
        Answer::calls([
            ("", "get_rate", "{}"),
            ("x", "get_rate", "{}"),
            ("x", "get_rate", "{}"),
        ]),
        Answer::calls([("x", "get_rate", "{}"), ("call_1", "get_rate", "{}")]),
        Answer::says("Done."),
    ])
    .await;
    let unique = vec!["call_1", "x", "call_3", "call_4", "call_5"];
    assert_eq!(ids(&played.row), (unique.clone(), unique));
    let sent = &played.server.asked("target")[2]["messages"];
    assert_eq!(sent[2]["tool_calls"][2]["id"], "call_3");
    assert_eq!(sent[5]["tool_call_id"], "call_3");
}

#[tokio::test]
async fn an_empty_reply_after_calls_ends_the_conversation() {
    let script = |model: &str, nth: usize| match (model, nth) {
        ("target", 0) => Answer::calls([("a", "get_rate", "{}")]).saying("Let me see."),
        ("target", _) => Answer::says(" "),
        _ => plain(model, nth),
    };
    let played = play_scenario(script, turns(3), scenario()).await;
    assert_eq!(
        roles_of(&played.row),
        ["user", "assistant", "tool", "assistant"]
    );
    assert_eq!(
        (played.row.error, played.server.asked("user").len()),
        (None, 1)
    );
}

#[tokio::test]
async fn a_scenario_narrows_the_tools_and_has_a_world_of_its_own() {
    let script = |model: &str, nth: usize| match (model, nth) {
        ("target", 0) => Answer::calls([
            ("a", "send_money", r#"{"to": "Bo", "amount": 1}"#),
            ("b", "get_rate", "{}"),
        ]),
        _ => plain(model, nth),
    };
    let narrow = Scenario {
        tools: Some(vec!["send_money".into()]),
        world_state: Some("OTHER WORLD".into()),
        ..scenario()
    };
    let played = play_scenario(script, turns(1), narrow).await;
    let tools = &played.server.asked("target")[0]["tools"];
    assert_eq!(tools.as_array().unwrap().len(), 1);
    assert!(answers(&played.row)[1].contains(r#"no tool \"get_rate\""#));
    let prompt = played.server.asked("tool")[0].to_string();
    assert!(prompt.contains("OTHER WORLD") && !prompt.contains("WORLD: Ann"));
}

#[tokio::test]
async fn calls_are_not_answered_where_there_are_no_tools() {
    let script = |model: &str, nth: usize| match (model, nth) {
        ("target", 0) => Answer::calls([("a", "get_rate", "{}")]).saying("I look it up."),
        _ => plain(model, nth),
    };
    let none = Scenario {
        tools: Some(Vec::new()),
        ..scenario()
    };
    let played = play_scenario(script, turns(2), none).await;
    assert!(played.server.asked("target")[0].get("tools").is_none());
    let turn = &played.row.transcript[1];
    assert_eq!(turn.finish_reason, Some(FinishReason::ToolCalls));
    assert!(turn.tool_calls.is_empty());
    assert_eq!(&*turn.content, "I look it up.");
    assert_eq!(roles_of(&played.row), ["user", "assistant"].repeat(2));
}

#[tokio::test]
async fn an_unknown_tool_of_a_scenario_is_no_conversation() {
    let server = Recorder::start(plain).await;
    let wrong = Scenario {
        tools: Some(vec!["fly".into()]),
        ..scenario()
    };
    let error = play_one(&with_bank(&server, turns(1)), &wrong).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), PhaseErrorKind::BadInput);
    assert!(error.to_string().contains("no tool \"fly\""), "{error}");
    assert!(server.asked("user").is_empty());
}

#[tokio::test]
async fn the_journal_has_calls_and_answers() {
    let played = play_bank(vec![
        Answer::calls([("a", "get_rate", "{}"), ("b", "fly", "{}")]),
        Answer::says("Done."),
    ])
    .await;
    let reported: Vec<_> = played
        .events
        .iter()
        .map(|event| {
            let shown = ["turn", "step", "tool_call_id", "name", "error"];
            let fields: Vec<String> = shown
                .iter()
                .filter_map(|key| Some(format!("{key} {}", event.get(key)?)))
                .collect();
            format!(
                "{}: {}",
                event["message"].as_str().unwrap(),
                fields.join(", ")
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            "translated user response: turn 1",
            "translated sut response: turn 1",
            "tool answered: turn 1, step 0, tool_call_id \"a\", name \"get_rate\"",
            "tool answered: turn 1, step 0, tool_call_id \"b\", name \"fly\", error true",
            "translated sut response: turn 1, step 1",
        ]
    );
    assert_eq!(played.events[1]["tool_calls"][1]["id"], "b");
    assert_eq!(played.events[2]["response_text"], r#"{"rate":1.5}"#);
    let last = played.row.transcript.last().unwrap();
    assert_eq!((last.role, &*last.content), (Role::Assistant, "Done."));
}
