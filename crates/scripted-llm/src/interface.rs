//! Other interfaces than chat completions: requests become those of chat completions, and the replies to these become theirs.

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::{reply::Reply, wire::ApiError};

/// The interface of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    /// OpenAI's chat completions.
    ChatCompletions,
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
}

impl Interface {
    /// The interface at `path`.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path.strip_prefix("/v1").unwrap_or(path) {
            "/chat/completions" => Some(Self::ChatCompletions),
            "/messages" => Some(Self::Messages),
            "/responses" => Some(Self::Responses),
            _ => None,
        }
    }

    /// Refuses headers that the interface does not take.
    pub(crate) fn check(self, headers: &HeaderMap) -> Result<(), ApiError> {
        match self == Self::Messages && !headers.contains_key("anthropic-version") {
            true => Err(ApiError::invalid(
                "anthropic-version: header is required".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// The body of the chat completions request that asks the same.
    pub(crate) fn to_chat(self, body: Bytes) -> Result<Bytes, ApiError> {
        if self == Self::ChatCompletions {
            return Ok(body);
        }
        let value: Value = serde_json::from_slice(&body).map_err(|error| {
            ApiError::invalid(format!("The request body cannot be read as JSON: {error}"))
        })?;
        let chat = match self {
            Self::Responses => chat_of_responses(&value),
            _ => chat_of_messages(&value)?,
        };
        Ok(chat.to_string().into())
    }

    /// `reply` in the form of the interface. Errors, and what is no completion, stay as they are.
    pub(crate) fn to_own(self, mut reply: Reply) -> Reply {
        if self == Self::ChatCompletions || reply.status != StatusCode::OK {
            return reply;
        }
        let completion = serde_json::from_slice::<Value>(&reply.body).ok();
        if let Some(completion) =
            completion.filter(|completion| completion["choices"][0].is_object())
        {
            let own = match self {
                Self::Responses => response_of(&completion),
                _ => message_of(&completion),
            };
            reply.body = own.to_string().into();
        }
        reply
    }
}

/// The texts of a content: a text, or a list of blocks.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn chat_of_messages(body: &Value) -> Result<Value, ApiError> {
    if !body["max_tokens"].is_u64() {
        return Err(ApiError::invalid("max_tokens: Field required".to_owned()));
    }
    let mut messages = Vec::new();
    if !body["system"].is_null() {
        messages.push(json!({"role": "system", "content": text_of(&body["system"])}));
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        let blocks = message["content"].as_array().into_iter().flatten();
        let of = |kind: &'static str| blocks.clone().filter(move |block| block["type"] == kind);
        let results = of("tool_result").map(|block| {
            json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text_of(&block["content"])})
        });
        messages.extend(results);
        let calls: Vec<Value> = of("tool_use")
            .map(|block| {
                let function =
                    json!({"name": block["name"], "arguments": block["input"].to_string()});
                json!({"id": block["id"], "type": "function", "function": function})
            })
            .collect();
        let text = text_of(&message["content"]);
        if text.is_empty() && calls.is_empty() {
            continue;
        }
        let mut said = json!({"role": message["role"], "content": text});
        if !calls.is_empty() {
            said["tool_calls"] = calls.into();
        }
        messages.push(said);
    }
    let mut chat =
        json!({"model": body["model"], "messages": messages, "max_tokens": body["max_tokens"]});
    let offered = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = offered
        .map(|tool| function(tool, &tool["input_schema"]))
        .collect();
    add_tools(&mut chat, tools, &body["tool_choice"]["type"]);
    Ok(chat)
}

fn chat_of_responses(body: &Value) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some("function_call") => {
                let function = json!({"name": item["name"], "arguments": item["arguments"]});
                let call = json!({"id": item["call_id"], "type": "function", "function": function});
                // The calls of one reply follow its text.
                match messages
                    .last_mut()
                    .filter(|last| last["role"] == "assistant")
                {
                    Some(last) => match last["tool_calls"].as_array_mut() {
                        Some(calls) => calls.push(call),
                        None => last["tool_calls"] = json!([call]),
                    },
                    None => messages
                        .push(json!({"role": "assistant", "content": "", "tool_calls": [call]})),
                }
            }
            Some("function_call_output") => messages.push(
                json!({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}),
            ),
            Some("reasoning") => {}
            _ => messages.push(json!({"role": item["role"], "content": text_of(&item["content"])})),
        }
    }
    let mut chat = json!({"model": body["model"], "messages": messages});
    if let Some(limit) = body["max_output_tokens"].as_u64() {
        chat["max_tokens"] = limit.into();
    }
    let offered = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = offered
        .map(|tool| function(tool, &tool["parameters"]))
        .collect();
    add_tools(&mut chat, tools, &body["tool_choice"]);
    if body["text"]["format"].is_object() {
        chat["response_format"] = json!({"type": "json_schema"});
    }
    chat
}

fn function(tool: &Value, parameters: &Value) -> Value {
    let function =
        json!({"name": tool["name"], "description": tool["description"], "parameters": parameters});
    json!({"type": "function", "function": function})
}

fn add_tools(chat: &mut Value, tools: Vec<Value>, choice: &Value) {
    if !tools.is_empty() {
        chat["tools"] = tools.into();
    }
    if choice.is_string() {
        chat["tool_choice"] = choice.clone();
    }
}

/// The text, the calls and the end of a completion.
fn parts(completion: &Value) -> (&str, impl Iterator<Item = &Value> + Clone, &str) {
    let choice = &completion["choices"][0];
    let calls = choice["message"]["tool_calls"]
        .as_array()
        .into_iter()
        .flatten();
    (
        choice["message"]["content"].as_str().unwrap_or_default(),
        calls,
        choice["finish_reason"].as_str().unwrap_or_default(),
    )
}

fn message_of(completion: &Value) -> Value {
    let (text, calls, finish) = parts(completion);
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(calls.map(|call| {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input})
    }));
    let stop = match finish {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        _ => "end_turn",
    };
    let usage = &completion["usage"];
    let mut used = json!({"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]});
    let caches = &usage["prompt_tokens_details"];
    if let (Some(all), Some(read), Some(written)) = (
        usage["prompt_tokens"].as_u64(),
        caches["cached_tokens"].as_u64(),
        caches["cache_write_tokens"].as_u64(),
    ) {
        // Here the other tokens are counted without them.
        used["input_tokens"] = all.saturating_sub(read + written).into();
        used["cache_read_input_tokens"] = read.into();
        used["cache_creation_input_tokens"] = written.into();
    }
    json!({
        "id": completion["id"], "type": "message", "role": "assistant", "model": completion["model"], "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": used,
    })
}

fn response_of(completion: &Value) -> Value {
    let (text, calls, finish) = parts(completion);
    let mut output = Vec::new();
    if !text.is_empty() {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        output.push(json!({"type": "message", "role": "assistant", "status": "completed", "content": content}));
    }
    output.extend(calls.map(|call| {
        let function = &call["function"];
        json!({"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": function["arguments"]})
    }));
    let why = match finish {
        "length" => json!({"reason": "max_output_tokens"}),
        "content_filter" => json!({"reason": "content_filter"}),
        _ => Value::Null,
    };
    let status = if why.is_null() {
        "completed"
    } else {
        "incomplete"
    };
    let usage = &completion["usage"];
    let mut used = json!({"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]});
    if usage["prompt_tokens_details"].is_object() {
        used["input_tokens_details"] = usage["prompt_tokens_details"].clone();
    }
    json!({
        "id": completion["id"], "object": "response", "created_at": completion["created"], "status": status, "error": null,
        "incomplete_details": why,
        "model": completion["model"], "output": output, "usage": used,
    })
}
