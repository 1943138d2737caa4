//! A bank's tools, and looking at calls of them.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::sync::Arc;

use schema::{Conversation, Role, Scenario, Tool};
use serde_json::{Value, json};
use simulator::{
    ChatSimulator, SimulatorSettings,
    tools::{SimulatedTools, Toolbox},
};
use watched_llm::{Answer, KeptEvents, Recorder};

use super::{gpt_x, play_item, scenario, turns};

/// `get_rate` has a fixed answer, `get_balance` a table, `send_money` is simulated.
pub fn bank() -> Vec<Tool> {
    let tools = json!([
        {"name": "get_rate", "description": "Today's rate.", "answer": {"rate": 1.5}},
        {
            "name": "get_balance",
            "parameters": {
                "type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"],
                "additionalProperties": false,
            },
            "answers": [
                {"when": {"account": "main"}, "answer": "120 dollars"},
                {"when": {"account": "savings"}, "answer": {"dollars": 9}},
            ],
        },
        {
            "name": "send_money",
            "description": "Sends money.",
            "parameters": {
                "type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "number"}},
                "required": ["to", "amount"],
            },
            "simulated": true,
        },
    ]);
    serde_json::from_value(tools).unwrap()
}

pub fn toolbox(server: &Recorder) -> Toolbox {
    let simulated = SimulatedTools::new(server.model("tool")).unwrap();
    Toolbox::new(&bank(), Arc::new(simulated))
        .unwrap()
        .with_world_state(Some("WORLD: Ann has 120 dollars."))
}

pub fn with_bank(server: &Recorder, settings: SimulatorSettings) -> ChatSimulator {
    let (user, target) = (server.model("user"), server.model("target"));
    ChatSimulator::new(user, target, gpt_x(), settings)
        .unwrap()
        .with_tools(toolbox(server))
}

/// The result of a conversation.
pub struct Played {
    pub server: Recorder,
    pub row: Conversation,
    pub events: Vec<Value>,
}

pub async fn play_scenario(
    script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    settings: SimulatorSettings,
    scenario: Scenario,
) -> Played {
    let server = Recorder::start(script).await;
    let journal = Arc::new(KeptEvents::default());
    let simulator = with_bank(&server, settings);
    let row = play_item(&simulator, &scenario, 0, Arc::clone(&journal) as _)
        .await
        .unwrap();
    Played {
        server,
        row,
        events: journal.events(),
    }
}

/// One turn in which the target gives these replies; the user says `Message n.`, and the tool model `DONE n`.
pub async fn play_bank(replies: Vec<Answer>) -> Played {
    let script = move |model: &str, nth: usize| match model {
        "target" => replies[nth].clone(),
        "tool" => Answer::says(format!(" DONE {}\n", nth + 1)),
        _ => Answer::says(format!("Message: Message {}.", nth + 1)),
    };
    play_scenario(script, turns(1), scenario()).await
}

pub fn roles_of(row: &Conversation) -> Vec<&'static str> {
    row.transcript
        .iter()
        .map(|turn| turn.role.as_str())
        .collect()
}

/// The answers of tools, in order.
pub fn answers(row: &Conversation) -> Vec<&str> {
    let tools = row.transcript.iter().filter(|turn| turn.role == Role::Tool);
    tools.map(|turn| &*turn.content).collect()
}

/// The ids that calls have and those that answers name.
pub fn ids(row: &Conversation) -> (Vec<&str>, Vec<&str>) {
    let turns = row.transcript.iter();
    let called = turns.clone().flat_map(|turn| &turn.tool_calls);
    (
        called.map(|call| call.id.as_str()).collect(),
        turns
            .filter_map(|turn| turn.tool_call_id.as_deref())
            .collect(),
    )
}
