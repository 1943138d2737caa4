//! The canonical form of requests, for cache keys.

use schema::{ChatRequest, ResponseFormat, ToolChoice};
use serde::Serialize;

use super::sent_back::Messages;
use crate::settings::{ModelSettings, ReasoningSentBack, StructuredSupport};

/// Must be raised whenever the same settings and request give other bytes or another meaning.
const VERSION: u32 = 1;

/// Writes the canonical form of requests to one model: its bytes are equal exactly when the requests are equivalent.
///
/// The form depends on the user's settings, not on what was negotiated with the endpoint, and on no key, header, price or timeout.
/// The context of a call (row, sample, turn) is not part of it.
///
/// The part that all requests to the model share is computed once.
#[derive(Clone, Debug)]
pub struct Canonical {
    prefix: Vec<u8>,
    /// Reasoning that is sent back is part of the messages. Where none is, their bytes are those of requests without this setting.
    reasoning_sent_back: ReasoningSentBack,
}

#[derive(Serialize)]
struct Prefix<'a> {
    version: u32,
    endpoint: &'a str,
    model: &'a str,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    seed: Option<i64>,
    reasoning_effort: Option<&'a str>,
    structured: &'static str,
    extra_body: &'a schema::Extra,
    /// Absent where it is not given, so that keys without it stay what they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_version: Option<&'a str>,
}

impl Canonical {
    /// For requests to the model of `settings`.
    #[must_use]
    pub fn new(settings: &ModelSettings) -> Self {
        let endpoint = settings
            .cache_name
            .clone()
            .unwrap_or_else(|| settings.address());
        let prefix = Prefix {
            version: VERSION,
            endpoint: &endpoint,
            model: &settings.model,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
            top_p: settings.top_p,
            seed: settings.seed,
            reasoning_effort: settings.reasoning_effort.as_deref(),
            structured: match settings.structured {
                StructuredSupport::Auto | StructuredSupport::JsonSchema => "json_schema",
                StructuredSupport::JsonObject => "json_object",
                StructuredSupport::Text => "text",
            },
            extra_body: &settings.extra_body,
            target_version: settings.version.as_deref(),
        };
        let prefix = match &settings.wire {
            None => line(&prefix),
            // The settings of requests to an endpoint mean nothing to others.
            Some(wire) => line(&(VERSION, wire.canonical(), prefix.target_version)),
        };
        Self {
            prefix,
            reasoning_sent_back: settings.reasoning_sent_back,
        }
    }

    /// The part that all requests share.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Appends the canonical form of `request` to `out`: three lines of JSON, and two more where tools are offered.
    pub fn write(&self, request: &ChatRequest, out: &mut Vec<u8>) {
        self.pass(request, |part| out.extend_from_slice(part));
    }

    /// Passes the canonical form of `request` to `take`, line by line.
    pub(crate) fn pass(&self, request: &ChatRequest, mut take: impl FnMut(&[u8])) {
        take(&self.prefix);
        take(&line(&Messages::of(request, self.reasoning_sent_back)));
        take(&match &request.response_format {
            ResponseFormat::Text => line("text"),
            ResponseFormat::JsonObject => line("json_object"),
            ResponseFormat::JsonSchema { name, schema } => line(&(name, schema)),
        });
        if !request.tools.is_empty() {
            take(&line(&request.tools));
            take(&line(&(request.tool_choice == ToolChoice::Auto)));
        }
    }
}

/// `value` as a line of JSON. JSON text on one line contains no line break.
///
/// Writing into memory cannot fail, and none of the types written can return an error. If one did, a mark would distinguish the
/// line from others.
fn line(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut line = Vec::new();
    if serde_json::to_writer(&mut line, value).is_err() {
        line.push(b'!');
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use schema::{CallContext, Message, ModelId, Purpose, Role, ToolSpec};

    use super::*;

    fn settings() -> ModelSettings {
        let id = ModelId::new("m").unwrap();
        ModelSettings::new(id, "wire", "https://user:pw@host/v1/")
    }

    fn bytes(settings: &ModelSettings, text: &str) -> String {
        let context = CallContext::new(Purpose::Judge, "row");
        let request = ChatRequest::new(vec![Message::new(Role::User, text)], context);
        let mut out = Vec::new();
        Canonical::new(settings).write(&request, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The keys of stored replies depend on this text: a change must raise [`VERSION`].
    #[test]
    fn the_text_is_this() {
        let mut settings = settings();
        settings.temperature = Some(0.7);
        settings
            .extra_body
            .insert("top_k".to_owned(), serde_json::json!([1, null]));
        let call = schema::ToolCall {
            id: "c1".into(),
            name: "pay".into(),
            arguments: "{\"n\": 1}".into(),
        };
        let messages = vec![
            Message::new(Role::System, "Be \"brief\".\n\u{1}é"),
            Message::new(Role::User, "hi"),
            Message::calling("", vec![call]),
            Message::tool("c1", "paid"),
        ];
        let context = CallContext::new(Purpose::TargetTurn, "row");
        let mut request = ChatRequest::new(messages, context);
        request.tools = vec![ToolSpec {
            name: "pay".into(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object"}),
        }]
        .into();
        request.response_format = ResponseFormat::JsonSchema {
            name: "verdict".into(),
            schema: std::sync::Arc::new(serde_json::json!({"type": "object", "x": [1.5]})),
        };
        let mut out = Vec::new();
        Canonical::new(&settings).write(&request, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"version":1,"endpoint":"https://host/v1","model":"wire","max_tokens":null,"temperature":0.7,"#,
                r#""top_p":null,"seed":null,"reasoning_effort":null,"structured":"json_schema","extra_body":{"top_k":[1,null]}}"#,
                "\n",
                r#"[{"role":"system","content":"Be \"brief\".\n\u0001é"},{"role":"user","content":"hi"},"#,
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":"#,
                r#"{"name":"pay","arguments":"{\"n\": 1}"}}]},{"role":"tool","content":"paid","tool_call_id":"c1"}]"#,
                "\n",
                r#"["verdict",{"type":"object","x":[1.5]}]"#,
                "\n",
                r#"[{"name":"pay","description":"","parameters":{"type":"object"}}]"#,
                "\ntrue\n",
            )
        );
    }

    #[test]
    fn keys_headers_prices_and_timeouts_do_not_count() {
        let plain = bytes(&settings(), "hi");
        let mut other = settings();
        other.api_key = Some("sk-secret".into());
        other.extra_headers = vec![("X".to_owned(), "y".into())];
        other.request_timeout = std::time::Duration::from_secs(1);
        other.token_limit = crate::TokenLimitName::MaxCompletionTokens;
        other.base_url = "https://host/v1".to_owned();
        assert_eq!(bytes(&other, "hi"), plain);
        assert!(!plain.contains("pw"));
    }

    #[test]
    fn tools_count() {
        let context = CallContext::new(Purpose::TargetTurn, "row");
        let mut request = ChatRequest::new(vec![Message::new(Role::User, "hi")], context);
        let canonical = Canonical::new(&settings());
        let mut seen = std::collections::BTreeSet::new();
        let mut add = |request: &ChatRequest| {
            let mut out = Vec::new();
            canonical.write(request, &mut out);
            assert!(seen.insert(out), "{request:?}");
        };
        add(&request);
        request.tools = vec![ToolSpec {
            name: "pay".into(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object"}),
        }]
        .into();
        add(&request);
        request.tool_choice = ToolChoice::None;
        add(&request);
    }

    #[test]
    fn whatever_changes_the_answer_counts() {
        let plain = bytes(&settings(), "hi");
        assert_ne!(bytes(&settings(), "ho"), plain);
        let changes: [fn(&mut ModelSettings); 6] = [
            |s| s.model = "other".to_owned(),
            |s| s.temperature = Some(0.0),
            |s| s.seed = Some(1),
            |s| s.version = Some("a1b2c3".to_owned()),
            |s| s.cache_name = Some("scripted".to_owned()),
            |s| {
                s.extra_body.insert("top_k".to_owned(), 1.into());
            },
        ];
        for change in changes {
            let mut settings = settings();
            change(&mut settings);
            assert_ne!(bytes(&settings, "hi"), plain);
        }
    }
}
