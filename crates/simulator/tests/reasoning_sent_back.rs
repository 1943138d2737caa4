//! A target that wants the reasoning of its earlier replies back, as DeepSeek does: without it, a conversation with tools is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

mod play;

use std::sync::Arc;

use llm_client::{HttpClient, ModelSettings, OpenAi, ReasoningSentBack};
use play::{tools::*, *};
use schema::{ChatModel, Conversation, ModelId};
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::Value;
use simulator::{
    ChatSimulator,
    tools::{SimulatedTools, Toolbox},
};

/// Refuses a reply of its own without reasoning where there are tools.
fn strict(asked: &Asked<'_>) -> Answer {
    if asked.model != "target" {
        return Answer::says(format!("Message: Message {}.", asked.number + 1));
    }
    let messages = asked.body["messages"].as_array().unwrap();
    let mut own = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    if !own.all(|message| message["reasoning_content"].is_string()) {
        return Answer::status(400);
    }
    match asked.number {
        0 => Answer::calls([("a", "get_rate", "")]).reasoning("reasoning_content", "Look first."),
        1 => Answer::says("It is 1.5.").reasoning("reasoning_content", ""),
        _ => Answer::says("Still 1.5.").reasoning("reasoning_content", "Again."),
    }
}

async fn played(when: ReasoningSentBack) -> (Conversation, Vec<Value>) {
    let server = ScriptedServer::builder()
        .keep_requests(100)
        .answer(|asked| strict(&asked))
        .start()
        .await
        .unwrap();
    let model = |name: &str| -> Arc<dyn ChatModel> {
        let id = ModelId::new(name).unwrap();
        let settings = ModelSettings {
            reasoning_sent_back: when,
            ..ModelSettings::new(id, name, server.base_url())
        };
        Arc::new(OpenAi::new(settings, &HttpClient::default()).unwrap())
    };
    let tools = SimulatedTools::new(model("tool")).unwrap();
    let simulator = ChatSimulator::new(model("user"), model("target"), gpt_x(), turns(2))
        .unwrap()
        .with_tools(Toolbox::new(&bank(), Arc::new(tools)).unwrap());
    let row = play_one(&simulator, &scenario()).await.unwrap();
    let requests = server.requests().into_iter();
    let of_target = requests.filter(|body| body["model"] == "target").collect();
    (row, of_target)
}

#[tokio::test]
async fn the_reasoning_of_earlier_replies_goes_back_in_its_field() {
    let (row, asked) = played(ReasoningSentBack::WithTools).await;
    assert_eq!(row.error, None);
    assert_eq!(asked.len(), 3);
    let last = asked[2]["messages"].as_array().unwrap();
    let own = last.iter().filter(|message| message["role"] == "assistant");
    let sent: Vec<&Value> = own.map(|message| &message["reasoning_content"]).collect();
    assert_eq!(sent, ["Look first.", ""]);
    // The row has the reasoning beside the message, as it always had.
    assert_eq!(row.transcript[1].reasoning.as_deref(), Some("Look first."));
    assert!(
        !serde_json::to_string(&row)
            .unwrap()
            .contains("returned_reasoning")
    );
}

#[tokio::test]
async fn without_it_such_a_target_refuses_the_row() {
    let (row, asked) = played(ReasoningSentBack::Never).await;
    assert_eq!(asked.len(), 2);
    assert!(row.error.unwrap().contains("400"));
    assert!(asked[1]["messages"][2].get("reasoning_content").is_none());
}
