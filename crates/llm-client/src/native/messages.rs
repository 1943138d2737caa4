//! Anthropic's Messages.

use schema::{ChatRequest, FinishReason, Message, Role, ToolCall, ToolChoice};
use serde_json::{Map, Value, json};

use super::{add, cache_control, reasoning_blocks, reply_schema, returned, unreadable};
use crate::{
    ReplyBody,
    settings::ModelSettings,
    wire::{Reason, Unparsed, usage_of},
};

/// The version of the interface, as its header has it.
pub(super) const VERSION: &str = "2023-06-01";
/// The longest reply where the settings say nothing: the interface requires a number.
const MOST_TOKENS: u32 = 8192;

/// The longest reply, in tokens, that a request allows.
pub(super) fn token_limit(settings: &ModelSettings) -> u32 {
    settings.max_tokens.unwrap_or(MOST_TOKENS)
}

/// The body of a request.
pub(super) fn body(settings: &ModelSettings, request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), settings.model.as_str().into());
    body.insert("max_tokens".to_owned(), token_limit(settings).into());
    let is_system = |message: &&Message| message.role == Role::System;
    let system: Vec<&str> = request
        .messages
        .iter()
        .filter(is_system)
        .map(|message| &*message.content)
        .collect();
    add(
        &mut body,
        "system",
        (!system.is_empty()).then(|| system.join("\n\n")),
    );
    let mut messages: Vec<Value> = Vec::new();
    // The first messages and blocks that other requests begin with too.
    let mut repeated = (0, 0);
    for (at, message) in request.messages.iter().enumerate() {
        if is_system(&message) {
            continue;
        }
        let (role, blocks) = blocks(settings, request, message);
        match messages.last_mut().filter(|last| last["role"] == role) {
            // Several answers of tools are one message.
            Some(last) => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            // An empty message is refused.
            None if blocks.is_empty() => {}
            None => messages.push(json!({"role": role, "content": blocks})),
        }
        if at < request.repeated.messages {
            let last = messages.last().and_then(|last| last["content"].as_array());
            repeated = (messages.len(), last.map_or(0, Vec::len));
        }
    }
    body.insert("messages".to_owned(), messages.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        });
        body.insert("tools".to_owned(), tools.collect());
        if request.tool_choice == ToolChoice::None {
            body.insert("tool_choice".to_owned(), json!({"type": "none"}));
        }
    }
    add(&mut body, "temperature", settings.temperature);
    add(&mut body, "top_p", settings.top_p);
    let mut output = Map::new();
    add(&mut output, "effort", settings.reasoning_effort.clone());
    let format = reply_schema(settings, request);
    add(
        &mut output,
        "format",
        format.map(|(_, schema)| json!({"type": "json_schema", "schema": schema})),
    );
    add(
        &mut body,
        "output_config",
        (!output.is_empty()).then_some(output),
    );
    if request.repeated.messages > 0 && cache_control::is_sent(settings) {
        cache_control::mark(&mut body, repeated);
    }
    body
}

/// The role and the blocks of a message.
fn blocks(
    settings: &ModelSettings,
    request: &ChatRequest,
    message: &Message,
) -> (&'static str, Vec<Value>) {
    if message.role == Role::Tool {
        let result = json!({
            "type": "tool_result",
            "tool_use_id": message.tool_call_id,
            "content": &*message.content,
        });
        return ("user", vec![result]);
    }
    let mut blocks = Vec::new();
    let role = match message.role {
        Role::Assistant => {
            blocks = reasoning_blocks(settings, request, message);
            "assistant"
        }
        _ => "user",
    };
    if !message.content.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": &*message.content}));
    }
    for call in message.tool_calls.iter() {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let input = if input.is_object() { input } else { json!({}) };
        blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    (role, blocks)
}

/// Reads the body of a 2xx reply.
pub(super) fn parse(body: &str) -> Result<ReplyBody, Box<Unparsed>> {
    let value: Value = serde_json::from_str(body).map_err(|error| unreadable(body, &error))?;
    let usage = usage_of(&value["usage"]);
    let unparsed = |reason| {
        Box::new(Unparsed {
            reason,
            usage,
            cost: None,
        })
    };
    if value["type"] == "error" {
        return Err(unparsed(Reason::Error(value["error"].clone())));
    }
    let Some(blocks) = value["content"].as_array() else {
        return Err(unparsed(Reason::Form(
            "the reply has no content".to_owned(),
        )));
    };
    let (mut content, mut thought) = (String::new(), String::new());
    let (mut kept, mut tool_calls) = (Vec::new(), Vec::new());
    for block in blocks {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match text("type") {
            "text" => content.push_str(text("text")),
            "thinking" => {
                if !thought.is_empty() {
                    thought.push('\n');
                }
                thought.push_str(text("thinking"));
                kept.push(block.clone());
            }
            "redacted_thinking" => kept.push(block.clone()),
            "tool_use" => tool_calls.push(ToolCall {
                id: text("id").to_owned(),
                name: text("name").to_owned(),
                arguments: block["input"].to_string(),
            }),
            other => {
                let reason = format!("the reply has a block of the type {other:?}");
                return Err(unparsed(Reason::Form(reason)));
            }
        }
    }
    let finish = match value["stop_reason"].as_str() {
        Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("refusal") => FinishReason::from("content_filter"),
        Some(other) => FinishReason::from(other),
        None => FinishReason::from("unknown"),
    };
    Ok(ReplyBody {
        content,
        reasoning: (!thought.is_empty()).then_some(thought),
        returned_reasoning: returned(kept),
        tool_calls,
        steps: Vec::new(),
        finish,
        usage,
        cost: None,
        model: value["model"].as_str().map(str::to_owned),
        called: None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::{CallContext, ModelId, Purpose, ResponseFormat, ToolSpec};

    use super::*;
    use crate::settings::{ReasoningSentBack, StructuredSupport};

    fn settings() -> ModelSettings {
        ModelSettings::new(ModelId::new("m").unwrap(), "claude-x", "https://h/v1")
    }

    /// A reply that thinks and calls two tools.
    const REPLY: &str = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x-1", "content": [
        {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "eHg="},
        {"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {}}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7}}"#;

    fn request(messages: Vec<Message>, with_tools: bool) -> ChatRequest {
        let mut request = ChatRequest::new(messages, CallContext::new(Purpose::TargetTurn, "row"));
        if with_tools {
            let look = ToolSpec {
                name: "look".into(),
                description: "Looks.".into(),
                parameters: json!({"type": "object"}),
            };
            request.tools = vec![look].into();
        }
        request
    }

    #[test]
    fn a_reply_keeps_its_blocks_and_all_tokens() {
        let reply = parse(REPLY).unwrap();
        assert_eq!(reply.content, "Let me look.");
        assert_eq!(reply.reasoning.as_deref(), Some("Two calls."));
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let calls: Vec<(&str, &str)> = reply
            .tool_calls
            .iter()
            .map(|call| (&*call.id, &*call.arguments))
            .collect();
        assert_eq!(calls, [("t1", r#"{"at":"a"}"#), ("t2", "{}")]);
        let usage = reply.usage.unwrap();
        assert_eq!(
            (
                usage.input_tokens,
                usage.cached_input_tokens,
                usage.cache_write_tokens,
                usage.output_tokens
            ),
            (130, 100, 20, 7)
        );
    }

    #[test]
    fn a_conversation_goes_back_as_the_interface_has_it() {
        let reply = parse(REPLY).unwrap();
        let asked = Message {
            tool_calls: reply.tool_calls.into(),
            reasoning: reply.returned_reasoning,
            ..Message::new(Role::Assistant, reply.content)
        };
        let answer = |id: &str, text: &str| Message {
            tool_call_id: Some(id.into()),
            ..Message::new(Role::Tool, text)
        };
        let said = vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::User, "Where?"),
            asked,
            answer("t1", "here"),
            answer("t2", "there"),
        ];
        let mut settings = settings();
        settings.reasoning_sent_back = ReasoningSentBack::WithTools;
        settings.reasoning_effort = Some("low".to_owned());
        let body = Value::from(body(&settings, &request(said.clone(), true)));
        let expected = json!({
            "model": "claude-x", "max_tokens": 8192, "system": "Be brief.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "eHg="},
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}},
                    {"type": "tool_use", "id": "t2", "name": "look", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "here"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": "there"}]}],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
            "output_config": {"effort": "low"}});
        assert_eq!(body, expected);
        // Without tools there is nothing to go on with.
        let body = Value::from(super::body(&settings, &request(said, false)));
        assert_eq!(body["messages"][1]["content"][0]["type"], "text");
    }

    #[test]
    fn a_schema_is_sent_where_it_is_asked_for() {
        let mut settings = settings();
        let mut request = request(
            vec![
                Message::new(Role::User, "hi"),
                Message::new(Role::Assistant, " "),
            ],
            false,
        );
        request.response_format = ResponseFormat::JsonSchema {
            name: "v".into(),
            schema: Arc::new(json!({"type": "object"})),
        };
        let plain = Value::from(body(&settings, &request));
        assert_eq!(plain["output_config"], Value::Null);
        assert_eq!(plain["messages"].as_array().unwrap().len(), 1);
        settings.structured = StructuredSupport::JsonSchema;
        let asked = Value::from(body(&settings, &request));
        assert_eq!(asked["output_config"]["format"]["schema"]["type"], "object");
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let reason = |body: &str| match parse(body).unwrap_err().reason {
            Reason::Form(reason) => reason,
            Reason::Error(error) => error.to_string(),
        };
        assert_eq!(reason("<html>"), "the reply is a web page, not JSON");
        assert_eq!(reason(r#"{"content": "#), "the reply is cut off");
        assert_eq!(reason("{}"), "the reply has no content");
        assert_eq!(
            reason(r#"{"content": [{"type": "image"}]}"#),
            r#"the reply has a block of the type "image""#
        );
        let error =
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
        assert!(reason(error).contains("overloaded_error"));
        for (stop, finish) in [
            ("end_turn", FinishReason::Stop),
            ("max_tokens", FinishReason::Length),
            ("refusal", FinishReason::ContentFilter),
        ] {
            let body = json!({"content": [], "stop_reason": stop}).to_string();
            assert_eq!(parse(&body).unwrap().finish, finish);
        }
    }
}
