//! Tests of the settings for benchmarks with tools.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use super::tests::{problem, yaml};

#[test]
fn tools_are_simulated_by_the_user_model_unless_another_is_named() {
    let user = "user_model: {model: u, source: ollama}\n";
    let settings = yaml(user).unwrap().settings;
    let tool = settings.models.tool.as_ref().unwrap();
    assert_eq!((tool.id.as_str(), tool.path.as_str()), ("u", "user_model"));
    assert_eq!(*settings.generation.max_tool_steps, 10);

    let text = format!(
        "{user}tool_model: {{model: t, source: ollama, apikey: secret}}\ngeneration: {{max_tool_steps: 3}}\n"
    );
    let settings = yaml(&text).unwrap().settings;
    let tool = settings.models.tool.as_ref().unwrap();
    assert_eq!((tool.id.as_str(), tool.path.as_str()), ("t", "tool_model"));
    let public = settings.to_public_json();
    assert_eq!(public["tool_model"]["model"], "t");
    assert_eq!(public["tool_model"]["apikey"], "***");
    assert_eq!(public["generation"]["max_tool_steps"], 3);
}

#[test]
fn a_wrong_setting_is_told_with_its_place() {
    let steps = |value: &str| format!("generation:\n  max_tool_steps: {value}\n");
    let wanted = |value: &str| {
        format!(
            "config.yaml, line 2: generation.max_tool_steps: expected a whole number from 1 to 100, found `{value}`"
        )
    };
    for value in ["0", "101", "-1", "many"] {
        assert_eq!(problem(&steps(value)), wanted(value));
    }
    for value in ["1", "100"] {
        yaml(&steps(value)).unwrap();
    }
    assert_eq!(
        problem("tool_model: gpt-4.1"),
        "config.yaml, line 1: tool_model: no source for `gpt-4.1`; write source/model, such as openai/gpt-4.1"
    );
    assert_eq!(
        problem("tool_modell: {model: x, source: ollama}"),
        "config.yaml, line 1: tool_modell: unknown key `tool_modell`; did you mean `tool_model`?"
    );
}
