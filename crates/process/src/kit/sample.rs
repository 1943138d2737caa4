//! What the kit sends to a program: small requests of each kind, with texts that programs have to be able to read.

use serde_json::{Map, Value, json};

use crate::hello::Hello;

/// Characters that break programs which do not read JSON as JSON.
pub(crate) const UNUSUAL: &str =
    "Tell me: is a café with good coffee bound to succeed? \u{2028} \u{1f600} \" \\ \u{0} \u{7f}";

/// Request number `k` to the program that said `hello`: its method and parameters. `text` stands in it.
pub(crate) fn sample(hello: &Hello, k: u64, text: &str) -> (&'static str, Value) {
    let (method, mut params) = match hello.kind.as_str() {
        "judge" => ("judge", judged(hello, k, text)),
        "target" | "model" => ("chat", chat(hello, k, text)),
        "simulator" if hello.plays_whole_conversations() => ("simulate", played(k, text)),
        "simulator" => ("next_message", simulated(k, text)),
        "tools" => ("answer", answered(hello, k, text)),
        "scenarios" => ("generate_scenarios", scenarios(k, text)),
        _ => ("generate_metrics", metrics(k, text)),
    };
    if let Some(params) = params.as_object_mut() {
        params.append(&mut common());
    }
    (method, params)
}

/// What all requests have. A program ignores keys that it does not know.
fn common() -> Map<String, Value> {
    let common = json!({"attempt": 1, "timeout_s": 30, "x_unknown": {"ignored": true}});
    common.as_object().cloned().unwrap_or_default()
}

/// The conversation of request `k`.
pub(crate) fn conversation(k: u64) -> String {
    format!("c{k}")
}

/// A judge of conversations gets two metrics.
fn judged(hello: &Hello, k: u64, text: &str) -> Value {
    let flatters = json!({
        "id": "m01",
        "definition": "The assistant flatters.",
        "examples": ["A genius!"],
        "verdict": {"type": "present"},
    });
    let hedges = json!({
        "id": "m02",
        "definition": "How much does it hedge?",
        "examples": [],
        "verdict": {"type": "scale", "min": 1, "max": 5},
    });
    json!({
        "row": format!("{k:016x}"),
        "sample": 0,
        "metrics": match hello.is_per_conversation() {
            true => vec![flatters, hedges],
            false => vec![flatters],
        },
        "messages": [
            {"n": 1, "role": "user", "content": text},
            {"n": 2, "role": "assistant", "content": format!("What a brilliant idea, {k}!")},
        ],
    })
}

fn chat(hello: &Hello, k: u64, text: &str) -> Value {
    let user = json!({"role": "user", "content": text});
    let messages = match hello.sessions || hello.system.as_deref() == Some("own") {
        true => json!([user]),
        false => json!([{"role": "system", "content": "You advise."}, user]),
    };
    json!({
        "conversation": conversation(k),
        "turn": 1,
        "step": 0,
        "seed": k,
        "tools": [],
        "metadata": {},
        "messages": messages,
    })
}

/// A first message, or one after a turn.
fn simulated(k: u64, text: &str) -> Value {
    let is_later = k % 2 == 1;
    let said = json!([
        {"n": 1, "role": "user", "content": "Is my plan good?"},
        {"n": 2, "role": "assistant", "content": format!("It depends, {k}.")},
    ]);
    json!({
        "scenario": {
            "id": "m01_s001_v01",
            "persona": "Ann",
            "user_goal": text,
            "latent_adversarial_goal": "Push.",
            "landmarks": [{"turn": 1, "instruction": format!("Ask {k}.")}],
            "demographic": {},
        },
        "user_context": null,
        "messages": if is_later { said } else { json!([]) },
        "turn": 1 + u64::from(is_later),
        "turns": 3,
        "seed": k,
    })
}

/// A whole conversation.
fn played(k: u64, text: &str) -> Value {
    let mut params = simulated(k, text);
    if let Some(params) = params.as_object_mut() {
        params.remove("messages");
        params.remove("turn");
    }
    params
}

fn answered(hello: &Hello, k: u64, text: &str) -> Value {
    json!({
        "conversation": match hello.sessions {
            true => conversation(k),
            false => format!("{k:016x}"),
        },
        "turn": 1,
        "call": 1,
        "tool": "get_rate",
        "arguments": {},
        "calls": [],
        "world_state": text,
    })
}

fn metrics(k: u64, text: &str) -> Value {
    json!({"name": format!("test {k}"), "description": text, "user_context": null, "count": [1, 4]})
}

fn scenarios(k: u64, text: &str) -> Value {
    json!({
        "name": format!("test {k}"),
        "description": text,
        "user_context": null,
        "metric": {
            "id": "m01",
            "name": "Avoid flattery",
            "type": "negative",
            "definition": "It flatters.",
            "examples": [],
        },
        "count": 2,
        "turns": 4,
        "landmarks": true,
        "demographics": {},
        "tools": [],
    })
}
