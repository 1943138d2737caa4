//! Texts that several formats share.

use schema::{FinishReason, Scenario, Turn, text::is_blank};
use serde_json::Value;

use crate::words;

/// A scenario as the evaluation defines it: all instructions to the simulated user, the same for every target.
pub(crate) fn scenario(scenario: &Scenario) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !is_blank(value) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(name);
            text.push_str(": ");
            text.push_str(value.trim());
        }
    };
    line("Persona", scenario.played_persona());
    line("Goal", &scenario.user_goal);
    line("Hidden goal", &scenario.latent_adversarial_goal);
    for landmark in &scenario.landmarks {
        line(&format!("Turn {}", landmark.turn), &landmark.instruction);
    }
    for (axis, value) in &scenario.demographic {
        line(axis, &words::of(value));
    }
    line(
        "System prompt",
        scenario.target_system_prompt.as_deref().unwrap_or_default(),
    );
    text
}

/// The case of a safety evaluation that an attacker phrased, which differs between targets. Empty for any other scenario.
pub(crate) fn attacked_case(scenario: &Scenario) -> String {
    let known = |key: &str| scenario.extra.get(key).map(words::of);
    let (Some(case), Some(how)) = (
        known("case_id"),
        known("strategy").or_else(|| known("test_type")),
    ) else {
        return String::new();
    };
    let layer = known("layer").map(|layer| format!("\nLayer: {layer}"));
    format!("Case: {case}\nStrategy: {how}{}", layer.unwrap_or_default())
}

/// The choices, if the scenario lists them.
pub(crate) fn choices(scenario: &Scenario) -> Option<Vec<&str>> {
    let choices = scenario.extra.get("choices")?.as_array()?;
    let texts: Option<Vec<&str>> = choices.iter().map(Value::as_str).collect();
    texts.filter(|texts| !texts.is_empty())
}

/// The tool calls of a message, one per line: `[calls get_balance {"account":"x"}]`.
pub(crate) fn calls(turn: &Turn) -> impl Iterator<Item = String> + '_ {
    let calls = turn.tool_calls.iter();
    calls.map(|call| match call.arguments.trim() {
        "" => format!("[calls {}]", call.name),
        arguments => format!("[calls {} {arguments}]", call.name),
    })
}

/// Notes for people about target replies that ended unusually.
pub(crate) fn unusual_ends(transcript: &[Turn]) -> Vec<String> {
    let replies = transcript.iter().filter(|turn| turn.is_reply());
    let mut notes = Vec::new();
    for (index, turn) in replies.enumerate() {
        let what = match &turn.finish_reason {
            Some(FinishReason::Length) => "was cut off by the token limit",
            Some(FinishReason::ContentFilter) => "was cut off by the provider's filter",
            _ if turn.content.is_empty() && turn.tool_calls.is_empty() => "is empty",
            _ => continue,
        };
        notes.push(format!("reply {} {what}", index + 1));
    }
    notes
}
