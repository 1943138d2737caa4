//! What a server's answer is to the target.

use rmcp::{
    model::{CallToolResult, ContentBlock, ErrorCode, ResourceContents},
    service::ServiceError,
};
use serde_json::{Value, json};

/// The answer in the form of `docs/any-language.md`: `{"answer": ...}`, or `{"error": text}` for a call that failed.
pub(super) fn result(answer: &CallToolResult) -> Value {
    let texts: Vec<String> = answer.content.iter().map(text).collect();
    let text = texts.join("\n");
    if answer.is_error == Some(true) {
        let text = match text.is_empty() {
            true => "the tool failed without a reason".to_owned(),
            false => text,
        };
        return json!({"error": text});
    }
    match &answer.structured_content {
        Some(value) if text.is_empty() => json!({"answer": value}),
        _ => json!({"answer": text}),
    }
}

/// A part of an answer as text. What is none is named.
fn text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[resource {uri}]"),
            _ => "[resource]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        _ => "[content of another kind]".to_owned(),
    }
}

/// What a failed call is: an answer to the target, whose mistake it is, or the reason why there is none.
pub(super) fn failed(error: &ServiceError) -> Result<Value, String> {
    if let ServiceError::McpError(error) = error
        && error.code == ErrorCode::INVALID_PARAMS
    {
        return Ok(json!({"error": error.message}));
    }
    Err(match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            "the MCP server ended during a call, which is not sent a second time".to_owned()
        }
        ServiceError::McpError(error) => format!("the MCP server: {}", error.message),
        error => format!("the MCP server: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_what_a_target_can_read() {
        for (answer, expected) in [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                json!({"answer": "a\nb"}),
            ),
            (
                json!({"content": [], "structuredContent": {"n": 1}}),
                json!({"answer": {"n": 1}}),
            ),
            (
                json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}),
                json!({"answer": "[image, image/png]"}),
            ),
            (
                json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
                json!({"error": "no"}),
            ),
            (
                json!({"content": [], "isError": true}),
                json!({"error": "the tool failed without a reason"}),
            ),
        ] {
            let read: CallToolResult = serde_json::from_value(answer).unwrap();
            assert_eq!(result(&read), expected);
        }
    }
}
