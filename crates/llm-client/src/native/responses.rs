//! OpenAI's Responses.

use schema::{ChatRequest, FinishReason, Message, Role, ToolCall, ToolChoice};
use serde_json::{Map, Value, json};

use super::{add, reasoning_blocks, reply_schema, returned, unreadable};
use crate::{
    ReplyBody,
    prompt_caching::{conversation_key, has_key},
    settings::{ModelSettings, ReasoningSentBack},
    wire::{Reason, Unparsed, usage_of},
};

/// The body of a request. Nothing is stored at the provider.
pub(super) fn body(settings: &ModelSettings, request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), settings.model.as_str().into());
    let mut input = Vec::new();
    for message in &request.messages {
        add_items(&mut input, settings, request, message);
    }
    body.insert("input".to_owned(), input.into());
    body.insert("store".to_owned(), false.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": false,
            })
        });
        body.insert("tools".to_owned(), tools.collect());
        if request.tool_choice == ToolChoice::None {
            body.insert("tool_choice".to_owned(), "none".into());
        }
    }
    add(&mut body, "max_output_tokens", settings.max_tokens);
    add(&mut body, "temperature", settings.temperature);
    add(&mut body, "top_p", settings.top_p);
    if let Some(effort) = &settings.reasoning_effort {
        body.insert("reasoning".to_owned(), json!({"effort": effort}));
        // Models without reasoning refuse the field.
        let goes_back = settings.reasoning_sent_back != ReasoningSentBack::Never;
        if goes_back && !request.tools.is_empty() {
            body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        }
    }
    if let Some((name, schema)) = reply_schema(settings, request) {
        let format = json!({"type": "json_schema", "name": name, "schema": schema, "strict": true});
        body.insert("text".to_owned(), json!({"format": format}));
    }
    let key = has_key(settings, request).then(|| conversation_key(&request.context));
    add(&mut body, "prompt_cache_key", key);
    body
}

/// Adds the items of a message.
fn add_items(
    input: &mut Vec<Value>,
    settings: &ModelSettings,
    request: &ChatRequest,
    message: &Message,
) {
    if message.role == Role::Tool {
        input.push(json!({
            "type": "function_call_output",
            "call_id": message.tool_call_id,
            "output": &*message.content,
        }));
        return;
    }
    if message.role == Role::Assistant {
        input.extend(reasoning_blocks(settings, request, message));
    }
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        let kind = match message.role {
            Role::Assistant => "output_text",
            _ => "input_text",
        };
        input.push(json!({
            "type": "message",
            "role": message.role.as_str(),
            "content": [{"type": kind, "text": &*message.content}],
        }));
    }
    for call in message.tool_calls.iter() {
        input.push(json!({
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }));
    }
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
    if value["error"].is_object() {
        return Err(unparsed(Reason::Error(value["error"].clone())));
    }
    let Some(items) = value["output"].as_array() else {
        return Err(unparsed(Reason::Form("the reply has no output".to_owned())));
    };
    let (mut content, mut thought) = (String::new(), Vec::new());
    let (mut kept, mut tool_calls) = (Vec::new(), Vec::new());
    for item in items {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let parts = |key: &str| item[key].as_array().into_iter().flatten();
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                for part in parts("content") {
                    // A refusal is the model's answer in a part of its own.
                    let said = part["text"].as_str().or(part["refusal"].as_str());
                    content.push_str(said.unwrap_or_default());
                }
            }
            "reasoning" => {
                let texts = parts("summary").chain(parts("content"));
                thought.extend(texts.filter_map(|part| part["text"].as_str()));
                // Only what the provider can read again may go back.
                if item["encrypted_content"].is_string() {
                    kept.push(item.clone());
                }
            }
            "function_call" => tool_calls.push(ToolCall {
                id: text("call_id"),
                name: text("name"),
                arguments: text("arguments"),
            }),
            other => {
                let reason = format!("the reply has an item of the type {other:?}");
                return Err(unparsed(Reason::Form(reason)));
            }
        }
    }
    let finish = match (
        value["status"].as_str(),
        value["incomplete_details"]["reason"].as_str(),
    ) {
        (_, Some("max_output_tokens")) => FinishReason::Length,
        (_, Some(reason)) => FinishReason::from(reason),
        (Some("completed"), None) if !tool_calls.is_empty() => FinishReason::ToolCalls,
        (Some("completed"), None) => FinishReason::Stop,
        (status, None) => FinishReason::from(status.unwrap_or("unknown")),
    };
    Ok(ReplyBody {
        content,
        reasoning: (!thought.is_empty()).then(|| thought.join("\n")),
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
    use crate::settings::StructuredSupport;

    /// A reply that thinks and calls a tool.
    const REPLY: &str = r#"{"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-x-1", "error": null, "incomplete_details": null,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "One call."}], "encrypted_content": "eA=="},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\": \"a\"}"}],
        "usage": {"input_tokens": 120, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20}}}"#;

    #[test]
    fn a_reply_goes_back_with_its_reasoning() {
        let reply = parse(REPLY).unwrap();
        assert_eq!(reply.content, "Let me look.");
        assert_eq!(reply.reasoning.as_deref(), Some("One call."));
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        let usage = reply.usage.unwrap();
        assert_eq!(
            (
                usage.input_tokens,
                usage.cached_input_tokens,
                usage.output_tokens,
                usage.reasoning_tokens
            ),
            (120, 100, 30, 20)
        );
        let asked = Message {
            tool_calls: reply.tool_calls.into(),
            reasoning: reply.returned_reasoning,
            ..Message::new(Role::Assistant, reply.content)
        };
        let answer = Message {
            tool_call_id: Some("c1".into()),
            ..Message::new(Role::Tool, "here")
        };
        let mut request = ChatRequest::new(
            vec![
                Message::new(Role::System, "Be brief."),
                Message::new(Role::User, "Where?"),
                asked,
                answer,
            ],
            CallContext::new(Purpose::TargetTurn, "row"),
        );
        let look = ToolSpec {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object"}),
        };
        request.tools = vec![look].into();
        let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "gpt-x", "https://h/v1");
        settings.reasoning_sent_back = ReasoningSentBack::WithTools;
        settings.reasoning_effort = Some("low".to_owned());
        settings.max_tokens = Some(50);
        let expected = json!({
            "model": "gpt-x",
            "input": [
                {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]}, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "One call."}], "encrypted_content": "eA=="},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\": \"a\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "here"}],
            "store": false,
            "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": false}],
            "max_output_tokens": 50, "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]});
        assert_eq!(Value::from(body(&settings, &request)), expected);

        request.response_format = ResponseFormat::JsonSchema {
            name: "v".into(),
            schema: Arc::new(json!({"type": "object"})),
        };
        settings.structured = StructuredSupport::JsonSchema;
        assert_eq!(body(&settings, &request)["text"]["format"]["name"], "v");
    }

    #[test]
    fn ends_and_errors_are_read() {
        let parsed = |more: Value| {
            let mut reply = json!({"status": "completed", "output": []});
            for (key, value) in more.as_object().unwrap() {
                reply[key] = value.clone();
            }
            parse(&reply.to_string())
        };
        let cut =
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
        assert_eq!(parsed(cut).unwrap().finish, FinishReason::Length);
        let filtered =
            json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}});
        assert_eq!(
            parsed(filtered).unwrap().finish,
            FinishReason::ContentFilter
        );
        assert_eq!(parsed(json!({})).unwrap().finish, FinishReason::Stop);
        let refused = json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]});
        assert_eq!(parsed(refused).unwrap().content, "No.");
        let failed =
            json!({"status": "failed", "error": {"code": "server_error", "message": "Oh."}});
        assert!(matches!(
            parsed(failed).unwrap_err().reason,
            Reason::Error(_)
        ));
        assert!(matches!(
            parsed(json!({"output": null})).unwrap_err().reason,
            Reason::Form(_)
        ));
        assert!(matches!(
            parsed(json!({"output": [{"type": "image"}]}))
                .unwrap_err()
                .reason,
            Reason::Form(_)
        ));
    }
}
