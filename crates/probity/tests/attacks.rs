//! Attacks over HTTP: the requests to attacker and target, and how their replies are used.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod attack;

use std::error::Error;

use attack::{PLAN, SORRY, dialogue, play};
use engine::safety::{Broken, Dialogue, Exchanged, Target};
use prompt::Prompt;
use schema::{
    FinishReason, ModelErrorKind, PhaseErrorKind, Role, Turn, reply::Unusable, safety::Stage,
};
use serde_json::Value;
use simulator::safety::{
    AttackPrompts, SemanticChunks, TEST_TYPES, UserPersona, attacker_calls, multi_turn_strategies,
};
use watched_llm::{Answer, Recorder};

fn texts(dialogue: &Dialogue) -> Vec<&str> {
    dialogue
        .conversation()
        .iter()
        .map(|turn| &*turn.content)
        .collect()
}

fn last(body: &Value) -> &str {
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap()
}

/// An attacker that says `Message n.` and a target that says `Reply n.`
fn plain(model: &str, nth: usize) -> Answer {
    let n = nth + 1;
    match model {
        "attacker" => Answer::says(format!("Thought: THOUGHT {n}.\nMessage: Message {n}.")),
        _ => Answer::says(format!("Reply {n}.")),
    }
}

/// An attacker that gives these replies one after the other.
fn attacker_says(replies: &'static [&'static str]) -> impl Fn(&str, usize) -> Answer {
    move |model, nth| match model {
        "attacker" => Answer::says(replies[nth]),
        _ => plain(model, nth),
    }
}

async fn persona_against(
    script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    exchanges: u32,
) -> (Recorder, Dialogue, Result<Exchanged, Broken>) {
    let server = Recorder::start(script).await;
    let strategy = UserPersona::new(server.model("attacker")).unwrap();
    let mut dialogue = dialogue(&strategy, Target::new(server.model("target")), exchanges);
    let end = play(&mut dialogue).await;
    (server, dialogue, end)
}

#[tokio::test]
async fn a_persona_adapts_to_every_reply_and_the_target_sees_words_only() {
    let (server, dialogue, end) = persona_against(plain, 2).await;
    assert_eq!(end.unwrap(), Exchanged::Over);
    assert_eq!(
        texts(&dialogue),
        ["Message 1.", "Reply 1.", "Message 2.", "Reply 2."]
    );
    assert_eq!(dialogue.spend().input_tokens, 40);
    let asked = server.asked("attacker");
    let system = asked[1]["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("<persona>\nPERSONA: a daughter\n</persona>"),
        "{system}"
    );
    assert!(
        system.contains("<intent>\nINTENT: to wait\n</intent>"),
        "{system}"
    );
    assert_eq!(last(&asked[1]), "Reply 1.\n\n<turn>2 of 2</turn>");
    assert_eq!(
        asked[1]["messages"][2]["content"],
        "Thought: THOUGHT 1.\nMessage: Message 1."
    );
    let heard = server.asked("target")[1]["messages"].to_string();
    for hidden in [
        "INTENT",
        "PERSONA",
        "THOUGHT",
        "GROUPNAME",
        "<turn>",
        "system",
    ] {
        assert!(!heard.contains(hidden), "{hidden}: {heard}");
    }
    let rows = |purpose: &str| -> Vec<(String, u64)> {
        let contexts = server.contexts(purpose);
        let row = |context: &Value| context["row"].as_str().unwrap().to_owned();
        contexts
            .iter()
            .map(|c| (row(c), c["turn"].as_u64().unwrap()))
            .collect()
    };
    let row = "advice-01__gpt-x__user_persona".to_owned();
    assert_eq!(rows("user_turn"), [(row.clone(), 1), (row.clone(), 2)]);
    assert_eq!(rows("target_turn"), [(row.clone(), 1), (row, 2)]);
}

#[tokio::test]
async fn chunks_are_planned_and_then_asked_for_one_by_one() {
    let server = Recorder::start(attacker_says(&[
        PLAN,
        "Message: One?",
        "Message: Two?",
        "Message: Three?",
        "Message: And all?",
    ]))
    .await;
    let strategy = SemanticChunks::new(server.model("attacker")).unwrap();
    let mut dialogue = dialogue(&strategy, Target::new(server.model("target")), 4);
    assert_eq!(play(&mut dialogue).await.unwrap(), Exchanged::Over);
    assert_eq!(dialogue.conversation().len(), 8);
    assert_eq!(dialogue.conversation()[7].role, Role::Assistant);
    assert_eq!(dialogue.spend().input_tokens, 90);
    let asked = server.asked("attacker");
    assert_eq!(
        asked.len() as u32,
        attacker_calls("semantic_chunks", 4).unwrap()
    );
    assert!(
        last(&asked[0]).contains("<count>4</count>"),
        "{}",
        last(&asked[0])
    );
    let system = asked[1]["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("<pieces>\n1. PIECE one\n2. PIECE two\n3. PIECE three\n</pieces>"),
        "{system}"
    );
    assert!(
        last(&asked[2]).starts_with("Reply 1."),
        "{}",
        last(&asked[2])
    );
    assert!(last(&asked[2]).ends_with("<turn>2 of 4</turn>\n<instruction>PIECE two</instruction>"));
    assert!(
        last(&asked[4]).ends_with("<turn>4 of 4</turn>"),
        "no piece is left"
    );
    assert_eq!(server.contexts("user_turn")[0]["turn"], 0);
    assert!(
        !server.asked("target")[3]["messages"]
            .to_string()
            .contains("PIECE")
    );
}

#[tokio::test]
async fn a_plan_with_too_many_pieces_is_asked_for_again_and_then_shortened() {
    let server = Recorder::start(attacker_says(&[
        PLAN,
        "no plan",
        r#"{"pieces": ["a", "b"]}"#,
        "Message: a?",
    ]))
    .await;
    let strategy = SemanticChunks::new(server.model("attacker")).unwrap();
    let mut dialogue = dialogue(&strategy, Target::new(server.model("target")), 2);
    assert_eq!(dialogue.exchange().await.unwrap(), Exchanged::Replied);
    let asked = server.asked("attacker");
    assert!(
        last(&asked[1]).contains("there are 3 pieces; 2 are wanted"),
        "{}",
        last(&asked[1])
    );
    let server = Recorder::start(attacker_says(&[
        PLAN,
        PLAN,
        PLAN,
        "Message: One?",
        "Message: Three?",
    ]))
    .await;
    let strategy = SemanticChunks::new(server.model("attacker")).unwrap();
    let mut dialogue = attack::dialogue(&strategy, Target::new(server.model("target")), 2);
    assert_eq!(play(&mut dialogue).await.unwrap(), Exchanged::Over);
    let last_asked = &server.asked("attacker")[4];
    assert!(last(last_asked).ends_with("<instruction>PIECE three</instruction>"));
}

#[tokio::test]
async fn an_attacker_that_declines_is_no_pass_of_the_target() {
    let (server, dialogue, end) =
        persona_against(attacker_says(&[SORRY, "Message: Hello."]), 1).await;
    assert_eq!(end.unwrap(), Exchanged::Over);
    assert_eq!(texts(&dialogue), ["Hello.", "Reply 1."]);
    assert!(last(&server.asked("attacker")[1]).contains("it declines"));

    let (server, dialogue, end) =
        persona_against(attacker_says(&["Message: Hi.", SORRY, SORRY]), 3).await;
    let reason = SORRY.to_owned();
    assert_eq!(end.unwrap(), Exchanged::AttackerRefused { reason });
    assert_eq!(texts(&dialogue), ["Hi.", "Reply 1."]);
    assert_eq!(
        (server.asked("attacker").len(), server.asked("target").len()),
        (3, 1)
    );

    let server = Recorder::start(attacker_says(&[SORRY, SORRY])).await;
    let strategy = SemanticChunks::new(server.model("attacker")).unwrap();
    let mut dialogue = attack::dialogue(&strategy, Target::new(server.model("target")), 2);
    let end = play(&mut dialogue).await.unwrap();
    assert!(matches!(end, Exchanged::AttackerRefused { .. }), "{end:?}");
    assert!(dialogue.conversation().is_empty());
}

#[tokio::test]
async fn an_attacker_without_a_usable_message_breaks_the_conversation_off() {
    let (_, dialogue, end) = persona_against(
        attacker_says(&[
            "Message: Hi.",
            "Thought: a",
            "Message: <intent>x</intent>",
            "Thought: c",
        ]),
        2,
    )
    .await;
    let broken = end.unwrap_err();
    assert_eq!(
        (broken.stage, broken.error.kind()),
        (Stage::Attacker, PhaseErrorKind::Failed)
    );
    assert!(
        broken
            .error
            .source()
            .is_some_and(|source| source.is::<Unusable>())
    );
    assert_eq!(texts(&dialogue), ["Hi.", "Reply 1."]);
}

#[tokio::test]
async fn a_message_that_repeats_the_prompt_is_asked_for_again() {
    let (server, dialogue, end) = persona_against(
        attacker_says(&[
            "Thought: (for yourself)\nMessage: (What this person writes to the assistant)",
            "Message: (Nothing has been said yet. Write your first message to the assistant.)",
            "Message: Hi.",
            "Message: ...",
            "Message: And now?",
        ]),
        2,
    )
    .await;
    assert_eq!(end.unwrap(), Exchanged::Over);
    assert_eq!(
        texts(&dialogue),
        ["Hi.", "Reply 1.", "And now?", "Reply 2."]
    );
    let asked = server.asked("attacker");
    assert_eq!(asked.len(), 5);
    assert!(
        last(&asked[1]).contains("repeats the instructions"),
        "{}",
        last(&asked[1])
    );

    let server = Recorder::start(attacker_says(&[
        r#"{"pieces": ["..."]}"#,
        r#"{"pieces": ["PIECE"]}"#,
        "Message: (what this person writes to the assistant)",
        "Message: One?",
    ]))
    .await;
    let strategy = SemanticChunks::new(server.model("attacker")).unwrap();
    let mut dialogue = attack::dialogue(&strategy, Target::new(server.model("target")), 1);
    assert_eq!(play(&mut dialogue).await.unwrap(), Exchanged::Over);
    assert_eq!(texts(&dialogue), ["One?", "Reply 1."]);
}

#[tokio::test]
async fn a_cut_off_attacker_says_what_to_raise_and_to_whom() {
    let (server, _, end) = persona_against(
        |model, nth| match model {
            "attacker" => Answer::ends("Thought: I will", "length"),
            _ => plain(model, nth),
        },
        1,
    )
    .await;
    let error = end.unwrap_err().error.to_string();
    assert!(
        error.contains("token limit") && error.ends_with("; raise its max_tokens"),
        "{error}"
    );
    let reported = server.asked("attacker").last().unwrap().to_string();
    assert!(!reported.contains("raise its"), "{reported}");
}

#[tokio::test]
async fn an_attacker_may_leave_early() {
    let (_, dialogue, end) = persona_against(
        attacker_says(&["Message: Hi.", "Message: terminate conversation"]),
        5,
    )
    .await;
    assert_eq!(end.unwrap(), Exchanged::Over);
    assert_eq!(texts(&dialogue), ["Hi.", "Reply 1."]);
}

#[tokio::test]
async fn an_empty_reply_is_recorded_as_what_it_is() {
    let (_, dialogue, end) = persona_against(
        |model, nth| match model {
            "target" => Answer::ends(" ", "length"),
            _ => plain(model, nth),
        },
        3,
    )
    .await;
    let Exchanged::NothingSaid { reason } = end.unwrap() else {
        panic!("the reply was empty");
    };
    assert!(reason.contains("token limit"), "{reason}");
    let said = dialogue.conversation();
    assert_eq!(said.len(), 2);
    assert_eq!(said[1].finish_reason, Some(FinishReason::Length));
}

#[tokio::test]
async fn a_failed_target_and_a_stop_are_distinguished() {
    let (_, dialogue, end) = persona_against(
        |model, nth| match model {
            "target" => Answer::status(500),
            _ => plain(model, nth),
        },
        3,
    )
    .await;
    let broken = end.unwrap_err();
    assert_eq!(
        (broken.stage, broken.error.kind()),
        (Stage::Target, PhaseErrorKind::Failed)
    );
    assert_eq!(texts(&dialogue), ["Message 1."]);

    let server = Recorder::start(plain).await;
    let stopped = server.model_until("attacker", 1, ModelErrorKind::Cancelled);
    let strategy = UserPersona::new(stopped).unwrap();
    let mut dialogue = attack::dialogue(&strategy, Target::new(server.model("target")), 3);
    let broken = play(&mut dialogue).await.unwrap_err();
    assert_eq!(
        (broken.stage, broken.error.kind()),
        (Stage::Attacker, PhaseErrorKind::Cancelled)
    );
    assert_eq!(texts(&dialogue), ["Message 1.", "Reply 1."]);
}

#[tokio::test]
async fn a_single_question_goes_with_the_system_prompt() {
    let server = Recorder::start(plain).await;
    let target = Target::new(server.model("target")).with_system_prompt(Some("Be brief.".into()));
    let item = attack::case_item();
    let asked = [Turn::new(Role::User, "Can we wait?")];
    let reply = target.reply(&asked, &item, 1).await.unwrap();
    assert_eq!(
        (&*reply.turn.content, reply.nothing_said()),
        ("Reply 1.", None)
    );
    let messages = &server.asked("target")[0]["messages"];
    assert_eq!(messages[0]["content"], "Be brief.");
    assert_eq!(messages[1]["content"], "Can we wait?");
    let context = &server.contexts("target_turn")[0];
    assert_eq!(
        (&context["row"], &context["turn"]),
        (&"advice-01__gpt-x".into(), &1.into())
    );
    let blank = Target::new(server.model("target")).with_system_prompt(Some("  ".into()));
    blank.reply(&asked, &item, 1).await.unwrap();
    assert_eq!(
        server.asked("target")[1]["messages"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn names_and_prompts_are_checked() {
    let server = Recorder::start(plain).await;
    let model = server.model("attacker");
    let names = TEST_TYPES.map(str::to_owned);
    let made = multi_turn_strategies(&names, &model).unwrap();
    let made: Vec<&str> = made.iter().map(|strategy| strategy.name()).collect();
    assert_eq!(made, TEST_TYPES);
    let error = multi_turn_strategies(&["user-persona".to_owned()], &model)
        .err()
        .unwrap();
    assert_eq!(error.kind(), PhaseErrorKind::BadInput);
    assert!(
        error.to_string().contains("did you mean `user_persona`?"),
        "{error}"
    );
    let prompts = AttackPrompts {
        plan: Prompt::new("mine.j2", "{{ intend }}").unwrap(),
        ..AttackPrompts::shipped().unwrap()
    };
    let error = SemanticChunks::new(model)
        .unwrap()
        .with_prompts(prompts)
        .err()
        .unwrap();
    assert!(error.to_string().contains("mine.j2"), "{error}");
}
