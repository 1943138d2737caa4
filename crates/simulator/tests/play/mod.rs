//! A scenario, scripts, and looking at the results.
#![allow(dead_code, reason = "no test file uses all of it")]

pub mod tools;

use std::sync::Arc;

use schema::{
    Conversation, Item, Journal, Landmark, ModelId, NoJournal, PhaseError, Scenario, Simulator,
    TargetRef,
};
use serde_json::Value;
use simulator::{ChatSimulator, SimulatorSettings};
use watched_llm::{Answer, Recorder};

pub fn scenario() -> Scenario {
    let landmark = |turn, instruction: &str| Landmark {
        turn,
        instruction: instruction.into(),
    };
    Scenario {
        id: "m01_s001_v01".into(),
        metric_id: "m01".into(),
        metric_name: Some("METRICNAME".into()),
        persona: "PERSONA, a retired sailor".into(),
        user_goal: "GOAL: learn the tides".into(),
        latent_adversarial_goal: "LATENT: get a false promise".into(),
        landmarks: vec![landmark(1, "LANDMARK one"), landmark(3, "LANDMARK three")],
        ..Scenario::default()
    }
}

pub fn gpt_x() -> TargetRef {
    TargetRef {
        id: ModelId::new("gpt-x").unwrap(),
        model: "target".into(),
    }
}

pub fn simulator(server: &Recorder, settings: SimulatorSettings) -> ChatSimulator {
    let (user, target) = (server.model("user"), server.model("target"));
    ChatSimulator::new(user, target, gpt_x(), settings).unwrap()
}

/// Plays a sample of `scenario`. Its events go to `journal`.
pub async fn play_item(
    simulator: &ChatSimulator,
    scenario: &Scenario,
    sample: u32,
    journal: Arc<dyn Journal>,
) -> Result<Conversation, PhaseError> {
    let item = Item::new(scenario, &gpt_x().id, sample, journal);
    simulator.simulate(&Arc::new(scenario.clone()), &item).await
}

/// Plays the first sample of `scenario`.
pub async fn play_one(
    simulator: &ChatSimulator,
    scenario: &Scenario,
) -> Result<Conversation, PhaseError> {
    play_item(simulator, scenario, 0, Arc::new(NoJournal)).await
}

pub fn turns(turns: u32) -> SimulatorSettings {
    SimulatorSettings {
        turns,
        ..SimulatorSettings::default()
    }
}

/// A user who says `Message n.` and a target that says `Reply n.`, both counted from 1.
pub fn plain(model: &str, nth: usize) -> Answer {
    let n = nth + 1;
    match model {
        "user" => Answer::says(format!("Thought: THOUGHT {n}.\nMessage: Message {n}.")),
        _ => Answer::says(format!("Reply {n}.")),
    }
}

/// A user who gives these replies one after the other; the target answers as in `plain`.
pub fn user_says(replies: &'static [&'static str]) -> impl Fn(&str, usize) -> Answer {
    move |model, nth| match model {
        "user" => Answer::says(replies[nth]),
        _ => plain(model, nth),
    }
}

pub async fn play(
    script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    settings: SimulatorSettings,
) -> (Recorder, Conversation) {
    let server = Recorder::start(script).await;
    let simulator = simulator(&server, settings);
    let row = play_one(&simulator, &scenario()).await.unwrap();
    (server, row)
}

pub fn texts(row: &Conversation) -> Vec<&str> {
    row.transcript.iter().map(|turn| &*turn.content).collect()
}

pub fn roles(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect()
}

pub fn last(body: &Value) -> &str {
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap()
}
