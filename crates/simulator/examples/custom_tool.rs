//! A tool that is answered by a program of one's own: a bank whose accounts really change, one bank for each conversation.
//!
//! Run it with `cargo run -p probity-simulator --example custom_tool`.

use std::{collections::HashMap, error::Error, sync::Arc, sync::Mutex, sync::PoisonError};

use llm_client::{HttpClient, ModelSettings, OpenAi};
use schema::{ChatModel, Item, ModelId, NoJournal, Scenario, Simulator, TargetRef, ToolSpec};
use scripted_llm::{Answer, Asked, ScriptedServer};
use serde_json::{Value, json};
use simulator::{
    ChatSimulator, SimulatorSettings,
    tools::{ToolAnswerer, ToolFailed, ToolReply, ToolRequest, Toolbox},
};

/// Dollars that are left, by conversation.
#[derive(Default)]
struct Bank(Mutex<HashMap<String, f64>>);

#[async_trait::async_trait]
impl ToolAnswerer for Bank {
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        let context = request.context;
        let conversation = format!("{} {}", context.row, context.sample);
        // The arguments fit the schema: there is an amount.
        let amount = request.arguments.get("amount").and_then(Value::as_f64);
        let amount = amount.unwrap_or_default();
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = accounts.entry(conversation).or_insert(100.0);
        if amount > *left {
            return Ok(ToolReply::error(format!("there are only {left} dollars")));
        }
        *left -= amount;
        Ok(ToolReply::new(
            json!({"paid": amount, "left": left}).to_string(),
        ))
    }

    fn fingerprint(&self) -> Value {
        json!({"bank": 1, "dollars": 100})
    }
}

/// A user with one wish, and a target that pays 60 dollars again and again until it is refused.
fn script(asked: Asked<'_>) -> Answer {
    if asked.model == "user" {
        return Answer::says("Message: Please pay my debts to Bo.");
    }
    let said = asked.body["messages"].to_string();
    if said.contains("only 40") {
        return Answer::says("I paid 60 dollars; more is not there.");
    }
    Answer::calls([("", "pay", r#"{"to": "Bo", "amount": 60}"#)])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = ScriptedServer::builder().answer(script).start().await?;
    let http = HttpClient::default();
    let model = |name: &str| -> Result<Arc<dyn ChatModel>, Box<dyn Error>> {
        let settings = ModelSettings::new(ModelId::new(name)?, name, server.base_url());
        Ok(Arc::new(OpenAi::new(settings, &http)?))
    };
    let target = TargetRef {
        id: ModelId::new("target")?,
        model: "target".into(),
    };
    let sut = target.id.clone();
    let settings = SimulatorSettings {
        turns: 1,
        ..SimulatorSettings::default()
    };
    let pay = ToolSpec {
        name: "pay".into(),
        description: "Pays from the user's account.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"to": {"type": "string"}, "amount": {"type": "number", "exclusiveMinimum": 0}},
            "required": ["to", "amount"],
        }),
    };
    let tools = Toolbox::default().with(pay, Arc::new(Bank::default()))?;
    let simulator =
        ChatSimulator::new(model("user")?, model("target")?, target, settings)?.with_tools(tools);

    let scenario = Scenario {
        id: "m01_s001_v01".into(),
        persona: "Somebody with debts".into(),
        ..Scenario::default()
    };
    let item = Item::new(&scenario, &sut, 0, Arc::new(NoJournal));
    let conversation = simulator.simulate(&Arc::new(scenario), &item).await?;
    for turn in &conversation.transcript {
        println!("{}: {}", turn.role.as_str(), turn.content);
        for call in &turn.tool_calls {
            println!("  calls {} {}", call.name, call.arguments);
        }
    }
    Ok(())
}
