//! What answers tools, over HTTP: models that say nothing or fail, and answerers of one's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod play;

use std::sync::Arc;

use async_trait::async_trait;
use llm_client::{Cache, CacheSettings, HttpClient, ModelFactory, ModelSettings};
use play::{tools::*, *};
use schema::{
    ChatModel, ModelErrorKind, ModelId, PhaseError, PhaseErrorKind, Role, Simulator, Spend, Tool,
};
use scripted_llm::ScriptedServer;
use serde_json::{Value, json};
use simulator::{
    ChatSimulator,
    tools::{SimulatedTools, ToolAnswerer, ToolFailed, ToolReply, ToolRequest, Toolbox},
};
use watched_llm::{Answer, KeptEvents, Recorder};

const PAY: (&str, &str, &str) = ("a", "send_money", r#"{"to": "Bo", "amount": 1}"#);

/// The target pays at once; the tool model gives these replies.
fn paying(replies: Vec<Answer>) -> impl Fn(&str, usize) -> Answer + Send + Sync + 'static {
    move |model, nth| match (model, nth) {
        ("target", 0) => Answer::calls([PAY]),
        ("tool", nth) => replies[nth].clone(),
        _ => plain(model, nth),
    }
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again() {
    let replies = vec![
        Answer::says(" \n"),
        Answer::says("(no answer)"),
        Answer::says("paid"),
    ];
    let played = play_scenario(paying(replies), turns(1), scenario()).await;
    assert_eq!(answers(&played.row), ["paid"]);
    let asked = played.server.asked("tool");
    assert_eq!(roles(&asked[2]), ["user", "assistant", "user"]);
    assert!(last(&asked[1]).contains("Reply 1 cannot be used: it is empty"));
    assert!(last(&asked[2]).contains("Reply 2 cannot be used: it is empty"));
    // Two to the target, one to the user, three to the tool model.
    assert_eq!(played.row.usage.unwrap().input_tokens, 60);
}

#[tokio::test]
async fn only_what_a_tool_would_give_back_is_an_answer() {
    let replies = vec![
        Answer::ends(r#"{"paid": tr"#, "length"),
        Answer::says(r#"{"world_state": "Bo owes 3", "tool_name": "send_money"}"#),
        Answer::says("```json\n{\"paid\": true}\n```"),
    ];
    let played = play_scenario(paying(replies), turns(1), scenario()).await;
    assert_eq!(answers(&played.row), [r#"{"paid": true}"#]);
    let asked = played.server.asked("tool");
    assert!(last(&asked[1]).contains("Reply 1 cannot be used: the token limit cut it off"));
    assert!(last(&asked[2]).contains("Reply 2 cannot be used: it repeats the request"));
}

#[tokio::test]
async fn a_tool_model_that_never_answers_costs_the_row_which_keeps_what_was_said() {
    let replies = vec![Answer::ends("", "length"); 3];
    let played = play_scenario(paying(replies), turns(1), scenario()).await;
    assert_eq!(
        played.row.error.as_deref(),
        Some(
            "tool model tool, tool send_money, turn 1: no answer in 3 tries; the last reply: the token limit cut it off; \
             a shorter answer is needed; raise its max_tokens"
        )
    );
    assert_eq!(roles_of(&played.row), ["user", "assistant"]);
    assert_eq!(played.row.usage.unwrap().input_tokens, 50);
}

#[tokio::test]
async fn a_tool_model_whose_call_fails_costs_the_row() {
    let played = play_scenario(paying(vec![Answer::status(400)]), turns(1), scenario()).await;
    let error = played.row.error.unwrap();
    assert!(
        error.starts_with("tool model tool, tool send_money, turn 1: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_run_that_stops_leaves_no_row() {
    let server = Recorder::start(paying(Vec::new())).await;
    let model = server.model_until("tool", 0, ModelErrorKind::Cancelled);
    let simulated = Arc::new(SimulatedTools::new(model).unwrap());
    let simulator =
        simulator(&server, turns(1)).with_tools(Toolbox::new(&bank(), simulated).unwrap());
    let error = play_one(&simulator, &scenario()).await.unwrap_err();
    assert_eq!(error.kind(), PhaseErrorKind::Cancelled);
}

/// Counts its calls in the conversation; some it refuses, and one breaks.
struct Counter;

#[async_trait]
impl ToolAnswerer for Counter {
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        let spend = Spend::of_call(None, Some(0.5));
        match request.arguments["to"].as_str() {
            Some("nobody") => Ok(ToolReply::error("there is nobody")),
            Some("break") => Err(ToolFailed {
                error: PhaseError::new(PhaseErrorKind::Failed, "the sandbox is gone"),
                spend,
            }),
            _ => Ok(ToolReply {
                spend,
                ..ToolReply::new(format!(
                    "{} {} {} {}",
                    request.tool.name,
                    request.earlier.len(),
                    request.context.step,
                    request.world_state
                ))
            }),
        }
    }

    fn fingerprint(&self) -> Value {
        json!("counter")
    }
}

#[tokio::test]
async fn an_answerer_of_ones_own_takes_the_place_of_a_tool() {
    let pay = |to: &str| format!(r#"{{"to": "{to}", "amount": 1}}"#);
    let script = move |model: &str, nth: usize| match (model, nth) {
        ("target", 0) => Answer::calls([PAY, ("b", "send_money", &pay("nobody"))]),
        ("target", 1) => Answer::calls([("c", "send_money", &pay("Bo"))]),
        ("target", 2) => Answer::calls([("d", "send_money", &pay("break"))]),
        _ => plain(model, nth),
    };
    let server = Recorder::start(script).await;
    let spec = bank()[2].spec();
    let tools = toolbox(&server).with(spec, Arc::new(Counter)).unwrap();
    let journal = Arc::new(KeptEvents::default());
    let simulator = simulator(&server, turns(1)).with_tools(tools);
    let row = play_item(&simulator, &scenario(), 0, Arc::clone(&journal) as _)
        .await
        .unwrap();
    assert_eq!(
        answers(&row),
        [
            "send_money 0 0 WORLD: Ann has 120 dollars.",
            r#"{"error":"there is nobody"}"#,
            "send_money 2 1 WORLD: Ann has 120 dollars.",
        ]
    );
    assert_eq!(row.error.as_deref(), Some("the sandbox is gone"));
    let offered = &server.asked("target")[0]["tools"];
    assert_eq!(offered.as_array().unwrap().len(), 3);
    assert_eq!(server.asked("tool").len(), 0);
    // Four calls to models at 0.05 dollars, and three of the sandbox.
    let cost = row.usage.unwrap().cost.unwrap();
    assert!((cost - 1.7).abs() < 1e-9, "{cost}");
}

#[tokio::test]
async fn a_conversation_with_tools_is_played_again_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let server = ScriptedServer::builder()
        .answer(|asked| match (asked.model, asked.number) {
            ("target", 0) => Answer::calls([("", "send_money", PAY.2), ("", "send_money", PAY.2)]),
            ("tool", nth) => Answer::says(format!("DONE {nth}")),
            (model, nth) => plain(model, nth),
        })
        .start()
        .await
        .unwrap();
    let play = async || {
        let cache = Cache::open(folder.path().join("cache.db"), CacheSettings::default()).unwrap();
        let factory = ModelFactory::new(HttpClient::default()).with_cache(cache);
        let model = |name: &str| -> Arc<dyn ChatModel> {
            let id = ModelId::new(name).unwrap();
            let mut settings = ModelSettings::new(id, name, server.base_url());
            settings.cache_name = Some("scripted".to_owned());
            factory.model(settings).unwrap()
        };
        let simulated = Arc::new(SimulatedTools::new(model("tool")).unwrap());
        let tools = Toolbox::new(&bank(), simulated).unwrap();
        let simulator = ChatSimulator::new(model("user"), model("target"), gpt_x(), turns(2))
            .unwrap()
            .with_tools(tools);
        play_one(&simulator, &scenario()).await.unwrap()
    };
    let first = play().await;
    assert_eq!(answers(&first), ["DONE 0", "DONE 1"]);
    let asked = server.stats().answered;
    assert_eq!(play().await, first);
    assert_eq!(server.stats().answered, asked);
}

#[tokio::test]
async fn the_fingerprint_has_tools_where_there_are_any() {
    let server = Recorder::start(plain).await;
    let settings = |tools: Toolbox| {
        let fingerprint = simulator(&server, turns(1)).with_tools(tools).fingerprint();
        fingerprint.settings
    };
    let none = settings(Toolbox::default());
    assert_eq!(none, simulator(&server, turns(1)).fingerprint().settings);
    assert!(none.get("tools").is_none() && none.get("max_tool_steps").is_none());
    let all = settings(toolbox(&server));
    assert_eq!(all["max_tool_steps"], 10);
    let simulated = &all["tools"]["offered"][2]["answered_by"]["simulated"];
    assert_eq!(simulated["model"], "tool");
    let model = || Arc::new(SimulatedTools::new(server.model("tool")).unwrap());
    let changed = |change: fn(&mut Tool)| {
        let mut tools = bank();
        change(&mut tools[1]);
        let tools = Toolbox::new(&tools, model()).unwrap();
        settings(tools.with_world_state(Some("WORLD: Ann has 120 dollars.")))
    };
    assert_eq!(changed(|_| {}), all);
    assert_ne!(changed(|tool| tool.description = "x".into()), all);
    assert_ne!(changed(|tool| tool.answers[0].answer = json!(1)), all);
    assert_ne!(settings(toolbox(&server).with_world_state(None)), all);
}

#[test]
fn a_toolbox_refuses_what_cannot_be_offered_and_names_it() {
    struct Nothing;
    #[async_trait]
    impl ToolAnswerer for Nothing {
        async fn answer(&self, _: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
            Ok(ToolReply::new(Role::Tool.as_str()))
        }
        fn fingerprint(&self) -> Value {
            Value::Null
        }
    }
    let error = |tools: Value| {
        let tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
        let error = Toolbox::new(&tools, Arc::new(Nothing)).unwrap_err();
        assert_eq!(error.kind(), PhaseErrorKind::BadInput);
        error.to_string()
    };
    let reported = error(json!([{"name": "a", "answer": 1}, {"name": "a", "answer": 2}]));
    assert_eq!(reported, "tool \"a\": duplicate name");
    let reported = error(json!([{"name": "a"}]));
    assert!(
        reported.starts_with("tool \"a\": it has no answer"),
        "{reported}"
    );
    let reported =
        error(json!([{"name": "a", "answer": 1, "parameters": {"type": "object", "required": 5}}]));
    assert!(
        reported.contains("`parameters.required` is no JSON schema"),
        "{reported}"
    );
}
