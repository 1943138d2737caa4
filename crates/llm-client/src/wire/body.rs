//! The request body.

use std::sync::Arc;

use schema::{ChatRequest, ResponseFormat, ToolChoice};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::{calls::Offered, sent_back::Messages};
use crate::{
    prompt_caching::{conversation_key, has_key},
    settings::{ModelSettings, StructuredSupport, TokenLimitName},
};

/// An optional field that an endpoint may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Temperature,
    TopP,
    Seed,
    ReasoningEffort,
    PromptCacheKey,
}

impl Field {
    pub(crate) const ALL: [Self; 5] = [
        Self::Temperature,
        Self::TopP,
        Self::Seed,
        Self::ReasoningEffort,
        Self::PromptCacheKey,
    ];

    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::Seed => "seed",
            Self::ReasoningEffort => "reasoning_effort",
            Self::PromptCacheKey => "prompt_cache_key",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The form in which an endpoint accepts requests: the settings that remain after it refused some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Whether the token limit is sent under its newer name.
    pub(crate) max_completion_tokens: bool,
    /// Whether the endpoint refused the other name before.
    pub(crate) token_limit_switched: bool,
    /// The strongest response format, never `Auto`.
    pub(crate) structured: StructuredSupport,
    /// Fields that are left out, one bit for each.
    left_out: u8,
}

impl Form {
    /// The form that the settings request.
    pub(crate) fn of(settings: &ModelSettings) -> Self {
        let openai = settings
            .endpoint()
            .to_ascii_lowercase()
            .starts_with("https://api.openai.com/");
        Self {
            max_completion_tokens: match settings.token_limit {
                TokenLimitName::Auto => openai,
                TokenLimitName::MaxTokens => false,
                TokenLimitName::MaxCompletionTokens => true,
            },
            token_limit_switched: false,
            structured: match settings.structured {
                StructuredSupport::Auto => StructuredSupport::JsonSchema,
                known => known,
            },
            left_out: 0,
        }
    }

    /// The name under which the token limit is sent.
    pub(crate) fn token_limit(self) -> &'static str {
        if self.max_completion_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        }
    }

    pub(crate) fn leave_out(&mut self, field: Field) {
        self.left_out |= field.bit();
    }

    fn leaves_out(self, field: Field) -> bool {
        self.left_out & field.bit() != 0
    }

    /// Merges what another call learned.
    pub(crate) fn merge(&mut self, other: Self) {
        if other.token_limit_switched && !self.token_limit_switched {
            self.token_limit_switched = true;
            self.max_completion_tokens = other.max_completion_tokens;
        }
        self.structured = weaker(self.structured, other.structured);
        self.left_out |= other.left_out;
    }
}

/// The weaker of two levels.
fn weaker(a: StructuredSupport, b: StructuredSupport) -> StructuredSupport {
    use StructuredSupport::{JsonObject, JsonSchema, Text};
    match (a, b) {
        (Text, _) | (_, Text) => Text,
        (JsonObject, _) | (_, JsonObject) => JsonObject,
        _ => JsonSchema,
    }
}

/// One request body, with its fields in a fixed order, `extra_body` last.
pub(crate) struct Body<'a> {
    pub(crate) settings: &'a ModelSettings,
    pub(crate) request: &'a ChatRequest,
    pub(crate) form: Form,
}

impl Body<'_> {
    /// Whether `name` is sent as Probity's own field.
    fn is_ours(&self, name: &str) -> bool {
        self.settings.extra_body.is_empty() || !self.settings.extra_body.contains_key(name)
    }

    /// Whether the body contains `field` because the settings or the request ask for it.
    pub(crate) fn sends(&self, field: Field) -> bool {
        let set = match field {
            Field::Temperature => self.settings.temperature.is_some(),
            Field::TopP => self.settings.top_p.is_some(),
            Field::Seed => self.settings.seed.is_some(),
            Field::ReasoningEffort => self.settings.reasoning_effort.is_some(),
            Field::PromptCacheKey => has_key(self.settings, self.request),
        };
        set && !self.form.leaves_out(field) && self.is_ours(field.name())
    }

    /// Whether the body contains a token limit because the settings request it.
    pub(crate) fn sends_token_limit(&self) -> bool {
        self.settings.max_tokens.is_some() && self.is_ours(self.form.token_limit())
    }

    /// The response format that is sent, if any.
    pub(crate) fn response_format(&self) -> Option<Format<'_>> {
        if !self.is_ours("response_format") {
            return None;
        }
        match (&self.request.response_format, self.form.structured) {
            (ResponseFormat::Text, _) | (_, StructuredSupport::Text) => None,
            (
                ResponseFormat::JsonSchema { name, schema },
                StructuredSupport::JsonSchema | StructuredSupport::Auto,
            ) => Some(Format::JsonSchema { name, schema }),
            _ => Some(Format::JsonObject),
        }
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (settings, request) = (self.settings, self.request);
        let mut object = serializer.serialize_map(None)?;
        if self.is_ours("model") {
            object.serialize_entry("model", &settings.model)?;
        }
        let messages = Messages::of(request, settings.reasoning_sent_back)
            .marking_prefill(settings.marks_prefill());
        object.serialize_entry("messages", &messages)?;
        if !request.tools.is_empty() && self.is_ours("tools") {
            object.serialize_entry("tools", &Offered(&request.tools))?;
        }
        // `auto` is the default of every endpoint.
        let may_not_call = !request.tools.is_empty() && request.tool_choice == ToolChoice::None;
        if may_not_call && self.is_ours("tool_choice") {
            object.serialize_entry("tool_choice", "none")?;
        }
        if self.sends_token_limit() {
            object.serialize_entry(self.form.token_limit(), &settings.max_tokens)?;
        }
        if self.sends(Field::Temperature) {
            object.serialize_entry("temperature", &settings.temperature)?;
        }
        if self.sends(Field::TopP) {
            object.serialize_entry("top_p", &settings.top_p)?;
        }
        if self.sends(Field::Seed) {
            object.serialize_entry("seed", &settings.seed)?;
        }
        if self.sends(Field::ReasoningEffort) {
            object.serialize_entry("reasoning_effort", &settings.reasoning_effort)?;
        }
        if let Some(format) = self.response_format() {
            object.serialize_entry("response_format", &WireFormat::from(format))?;
        }
        if self.sends(Field::PromptCacheKey) {
            let key = conversation_key(&self.request.context);
            object.serialize_entry(Field::PromptCacheKey.name(), &key)?;
        }
        for (name, value) in &settings.extra_body {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

/// A response format that is sent.
pub(crate) enum Format<'a> {
    JsonObject,
    JsonSchema {
        name: &'a str,
        schema: &'a Arc<Value>,
    },
}

/// `response_format` on the wire.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: NamedSchema<'a> },
}

impl<'a> From<Format<'a>> for WireFormat<'a> {
    fn from(format: Format<'a>) -> Self {
        match format {
            Format::JsonObject => Self::JsonObject,
            Format::JsonSchema { name, schema } => Self::JsonSchema {
                json_schema: NamedSchema {
                    name,
                    strict: true,
                    schema,
                },
            },
        }
    }
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a Value,
}

#[cfg(test)]
mod tests {
    use schema::{CallContext, Message, ModelId, Purpose, Role, ToolCall, ToolSpec};
    use serde_json::json;

    use super::*;

    fn request() -> ChatRequest {
        let context = CallContext::new(Purpose::Judge, "row");
        let mut request = ChatRequest::new(vec![Message::new(Role::User, "hi")], context);
        request.response_format = ResponseFormat::JsonSchema {
            name: "verdict".into(),
            schema: Arc::new(json!({"type": "object"})),
        };
        request
    }

    fn settings() -> ModelSettings {
        let mut settings = ModelSettings::new(
            ModelId::new("m").unwrap(),
            "wire-name",
            "https://api.example.com/v1",
        );
        settings.max_tokens = Some(7);
        settings.temperature = Some(0.5);
        settings
    }

    fn body(settings: &ModelSettings, form: Form) -> String {
        let body = Body {
            settings,
            request: &request(),
            form,
        };
        serde_json::to_string(&body).unwrap()
    }

    #[test]
    fn fields_have_a_fixed_order() {
        let settings = settings();
        assert_eq!(
            body(&settings, Form::of(&settings)),
            r#"{"model":"wire-name","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"temperature":0.5,"response_format":{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":{"type":"object"}}}}"#
        );
    }

    #[test]
    fn tools_and_calls_go_out_in_the_form_of_the_api() {
        let settings = settings();
        let call = ToolCall {
            id: "c1".into(),
            name: "pay".into(),
            arguments: "{}".into(),
        };
        let mut request = ChatRequest::new(
            vec![
                Message::calling("", vec![call]),
                Message::tool("c1", "paid"),
            ],
            CallContext::new(Purpose::TargetTurn, "row"),
        );
        request.tools = vec![ToolSpec {
            name: "pay".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        }]
        .into();
        request.tool_choice = ToolChoice::None;
        let form = Form::of(&settings);
        let body = Body {
            settings: &settings,
            request: &request,
            form,
        };
        assert_eq!(
            serde_json::to_value(&body).unwrap(),
            json!({
                "model": "wire-name",
                "messages": [
                    {"role": "assistant", "content": "", "tool_calls":
                        [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}]},
                    {"role": "tool", "content": "paid", "tool_call_id": "c1"},
                ],
                "tools": [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}],
                "tool_choice": "none",
                "max_tokens": 7,
                "temperature": 0.5,
            })
        );
    }

    #[test]
    fn extra_fields_win_and_stand_once() {
        let mut settings = settings();
        settings.extra_body = json!({"temperature": 1, "top_k": 40})
            .as_object()
            .unwrap()
            .clone();
        let text = body(&settings, Form::of(&settings));
        assert_eq!(text.matches("temperature").count(), 1);
        assert!(text.ends_with(r#""temperature":1,"top_k":40}"#), "{text}");
    }

    #[test]
    fn a_negotiated_form_is_weaker() {
        let settings = settings();
        let mut form = Form::of(&settings);
        form.structured = StructuredSupport::JsonObject;
        form.leave_out(Field::Temperature);
        form.max_completion_tokens = true;
        assert_eq!(
            body(&settings, form),
            r#"{"model":"wire-name","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":7,"response_format":{"type":"json_object"}}"#
        );
    }

    #[test]
    fn openai_itself_gets_the_newer_token_limit() {
        let mut settings = settings();
        settings.base_url = "https://api.openai.com/v1/".to_owned();
        assert_eq!(Form::of(&settings).token_limit(), "max_completion_tokens");
    }
}
