//! What a conversation asks its providers to cache: the beginning that the next request has too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod play;

use std::sync::Arc;

use llm_client::{Api, HttpClient, ModelFactory, ModelSettings, NativeModel};
use play::*;
use schema::{ChatModel, Conversation, ModelId, Scenario};
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};
use simulator::ChatSimulator;

const TURNS: u32 = 4;

fn said(asked: &Asked<'_>) -> Answer {
    match asked.model {
        "user" => Answer::says(format!("Message: Message {}.", asked.number + 1)),
        _ => Answer::says(format!("Reply {}.", asked.number + 1)),
    }
}

/// A conversation whose persona and system prompt are long enough to be cached.
fn long() -> Scenario {
    Scenario {
        persona: "A retired sailor who tells stories. ".repeat(200),
        target_system_prompt: Some("Know the tides of every harbour. ".repeat(200)),
        ..scenario()
    }
}

async fn played(api: Api) -> (Conversation, Vec<Value>) {
    let server = ScriptedServer::builder()
        .keep_requests(100)
        .answer(|asked| said(&asked))
        .start()
        .await
        .unwrap();
    let factory = ModelFactory::new(HttpClient::default());
    let model = |name: &str| -> Arc<dyn ChatModel> {
        let id = ModelId::new(name).unwrap();
        let mut settings = ModelSettings {
            prompt_caching: Some(true),
            ..ModelSettings::new(id, name, server.base_url())
        };
        if api != Api::ChatCompletions {
            let wire = NativeModel::new(api, &settings, HttpClient::default()).unwrap();
            settings.wire = Some(Arc::new(wire));
        }
        factory.model(settings).unwrap()
    };
    let simulator =
        ChatSimulator::new(model("user"), model("target"), gpt_x(), turns(TURNS)).unwrap();
    let row = play_one(&simulator, &long()).await.unwrap();
    (row, server.requests())
}

fn of<'a>(requests: &'a [Value], model: &str) -> Vec<&'a Value> {
    let of_model = |body: &&Value| body["model"] == model;
    requests.iter().filter(of_model).collect()
}

/// The marked messages of a request, from 0.
fn marked(body: &Value) -> Vec<usize> {
    let messages = body["messages"].as_array().unwrap().iter().enumerate();
    let is_marked = |message: &Value| {
        let mut blocks = message["content"].as_array().unwrap().iter();
        blocks.any(|block| block["cache_control"] == json!({"type": "ephemeral"}))
    };
    messages
        .filter(|(_, message)| is_marked(message))
        .map(|(at, _)| at)
        .collect()
}

#[tokio::test]
async fn anthropic_is_marked_where_the_next_request_goes_on() {
    let (row, requests) = played(Api::Messages).await;
    assert_eq!(row.error, None);
    let target = of(&requests, "target");
    // The last request reads what the one before it wrote.
    let places: Vec<Vec<usize>> = target.iter().map(|body| marked(body)).collect();
    assert_eq!(places, [vec![0], vec![2], vec![4], vec![4]]);
    let user = of(&requests, "user");
    let places: Vec<Vec<usize>> = user.iter().map(|body| marked(body)).collect();
    // Its newest message has notes of the turn, which the next request has not.
    assert_eq!(places, [vec![], vec![1], vec![3], vec![3]]);
    for body in user.iter().chain(&target) {
        assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    }
}

#[tokio::test]
async fn openai_gets_one_name_for_each_side_of_a_conversation() {
    for api in [Api::ChatCompletions, Api::Responses] {
        let (row, requests) = played(api).await;
        assert_eq!(row.error, None);
        let names = |model: &str| {
            let mut names: Vec<String> = of(&requests, model)
                .iter()
                .map(|body| body["prompt_cache_key"].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(names.len(), TURNS as usize);
            names.dedup();
            names
        };
        let (user, target) = (names("user"), names("target"));
        assert_eq!((user.len(), target.len()), (1, 1), "{api:?}");
        assert_ne!(user, target);
    }
}
