//! One call in a journal: its request and its reply.

use interop::{Asked, Call};
use journal::{CallEnding, CallRole};
use llm_client::ReplyBody;
use schema::{EventBody, Extra, JsonText, Purpose, Usage};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// A call of an item to any model.
pub(super) struct Exchange<'e>(journal::Call<'e>);

impl<'e> Exchange<'e> {
    /// The call that `event` of the system under test `sut` records, and the role of the model. `None` for an event that is not a call,
    /// sums up several calls, or repeats a reply of an earlier run.
    pub(super) fn of(event: &'e EventBody, sut: &'e str) -> Option<(Asked, Self)> {
        let call = journal::Call::of(event, sut).filter(|call| call.source.is_none())?;
        let by = match call.role {
            CallRole::Sut => Asked::Target,
            CallRole::User => Asked::User,
            CallRole::ConversationJudge => Asked::ConversationJudge,
            CallRole::Tool => Asked::Tool,
            CallRole::Annotator => Asked::Judge,
            CallRole::Generator | CallRole::Host | CallRole::Probe => return None,
        };
        Some((by, Self(call)))
    }

    /// The model's id.
    pub(super) fn model(&self) -> &'e str {
        self.0.model
    }

    /// Whether the reply came from the cache.
    pub(super) fn is_cached(&self) -> bool {
        self.0.is_cached()
    }

    /// Whether the call failed.
    pub(super) fn has_failed(&self) -> bool {
        self.0.has_failed()
    }

    /// The call in the form of exports.
    pub(super) fn to_call(&self, by: Asked) -> Call {
        let reply = Reply::of(self.0.response, by);
        let spend = self.0.spend.copied().unwrap_or_default();
        let used = Usage {
            input_tokens: spend.input_tokens,
            cached_input_tokens: spend.cached_input_tokens,
            cache_write_tokens: spend.cache_write_tokens,
            output_tokens: spend.output_tokens,
            reasoning_tokens: spend.reasoning_tokens,
        };
        let error = match self.0.ending {
            CallEnding::Failed(exception) => exception.message.as_ref(),
            CallEnding::Fetched | CallEnding::Cached => None,
        };
        Call {
            by,
            metric_id: None,
            tool_call_id: None,
            model: self.0.model.to_owned(),
            turn: self.0.turn.unwrap_or_default(),
            step: self.0.step.unwrap_or_default(),
            cached: self.is_cached(),
            ended: None,
            run_time: self.0.run_time,
            request_id: reply.id,
            answered_by: reply.model,
            finish_reason: reply.finish_reason,
            reasoning: reply.reasoning,
            usage: (used != Usage::default()).then_some(used),
            cost: spend.total_cost().filter(|_| spend.calls > 0),
            error: error.and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// The first message of the request, if its role is `system`.
    pub(super) fn system_prompt(&self) -> Option<String> {
        let first = self
            .messages()
            .into_iter()
            .next()
            .filter(|message| message.role == "system")?;
        first.content.as_str().map(str::to_owned)
    }

    /// The messages of the request, of whichever interface.
    pub(super) fn messages(&self) -> Vec<RequestMessage> {
        let Some(request) = parse::<Extra>(self.0.request) else {
            return Vec::new();
        };
        let system = request.get("system").map(|system| RequestMessage {
            role: "system".to_owned(),
            content: joined(system),
        });
        let list = request.get("messages").or_else(|| request.get("input"));
        let said = list.and_then(Value::as_array).into_iter().flatten();
        let messages = said.filter_map(|message| {
            Some(RequestMessage {
                role: message.get("role")?.as_str()?.to_owned(),
                content: message.get("content").map(joined).unwrap_or_default(),
            })
        });
        system.into_iter().chain(messages).collect()
    }

    /// The name of the model in the request.
    pub(super) fn requested_model(&self) -> Option<String> {
        let request = parse::<Extra>(self.0.request)?;
        request.get("model")?.as_str().map(str::to_owned)
    }

    /// The body of the request without the fields that vary from call to call. Empty for a program or an application: what they get is not a
    /// request to a model.
    pub(super) fn settings(&self) -> Extra {
        let mut settings = parse::<Extra>(self.0.request).unwrap_or_default();
        if settings.contains_key("method") {
            return Extra::new();
        }
        for key in [
            "messages",
            "system",
            "input",
            "model",
            "response_format",
            "stream",
            "stream_options",
        ] {
            settings.shift_remove(key);
        }
        // A request that ends with words of the model begins its reply.
        let messages = self.messages();
        let beginning = messages.last().filter(|last| last.role == "assistant");
        if let Some(beginning) = beginning {
            settings.insert("prefill".to_owned(), beginning.content.clone());
        }
        settings
    }
}

fn parse<T: DeserializeOwned>(text: Option<&JsonText>) -> Option<T> {
    serde_json::from_str(text?.get()).ok()
}

/// A message of a request.
pub(super) struct RequestMessage {
    pub(super) role: String,
    /// A text, where it has nothing but texts.
    pub(super) content: Value,
}

/// The text of a content that is one or a list of texts; any other as it is.
fn joined(content: &Value) -> Value {
    let texts = content.as_array().map(|parts| {
        let texts = parts.iter().map(|part| part.get("text")?.as_str());
        texts.collect::<Option<Vec<_>>>()
    });
    match texts.flatten() {
        Some(texts) => texts.join("\n").into(),
        None => content.clone(),
    }
}

/// The parts of a response body that exports contain.
#[derive(Default)]
struct Reply {
    id: Option<String>,
    model: Option<String>,
    finish_reason: Option<String>,
    reasoning: Option<String>,
}

impl Reply {
    /// The parts of the reply to a call of `by`, read as the run reads them.
    fn of(response: Option<&JsonText>, by: Asked) -> Self {
        let text = |value: Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let head = parse::<Head>(response).unwrap_or_default();
        let purpose = match by {
            Asked::Target => Purpose::TargetTurn,
            Asked::User => Purpose::UserTurn,
            Asked::Tool => Purpose::ToolAnswer,
            Asked::Judge => Purpose::Judge,
            Asked::ConversationJudge => Purpose::UserJudge,
        };
        let body = response.and_then(|text| ReplyBody::read(text.get(), purpose));
        let (finish, reasoning) = body.map(|body| (body.finish, body.reasoning)).unzip();
        let finish = finish.map(String::from);
        Self {
            id: text(head.id),
            model: text(head.model),
            finish_reason: finish.filter(|finish| !finish.is_empty() && finish != UNKNOWN_FINISH),
            reasoning: reasoning.flatten(),
        }
    }
}

/// The reason of a reply that gives none.
const UNKNOWN_FINISH: &str = "unknown";

#[derive(Default, Deserialize)]
struct Head {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(body: &str, by: Asked) -> Reply {
        Reply::of(Some(&JsonText::new(body).unwrap()), by)
    }

    #[test]
    fn a_reply_is_read_as_the_run_reads_it() {
        let body = r#"{"id":"x","model":"m","choices":[{"message":{"content":"Well. <think>A trap?</think> No."},"finish_reason":"stop"}]}"#;
        let target = reply(body, Asked::Target);
        assert_eq!(target.reasoning, None);
        assert_eq!(target.id.as_deref(), Some("x"));
        assert_eq!(target.finish_reason.as_deref(), Some("stop"));
        // The run removes every block from what a helper says.
        for by in [Asked::User, Asked::Judge] {
            assert_eq!(reply(body, by).reasoning.as_deref(), Some("A trap?"));
        }
        // A block that the token limit cut off is reasoning, as in the transcript.
        let cut = r#"{"choices":[{"message":{"content":"<think>A tr"},"finish_reason":"length"}]}"#;
        let cut = reply(cut, Asked::Target);
        assert_eq!(cut.reasoning.as_deref(), Some("A tr"));
        assert_eq!(cut.finish_reason.as_deref(), Some("length"));
    }

    #[test]
    fn exchanges_of_other_interfaces_are_read() {
        let body = r#"{"type":"message","id":"x","model":"m","content":[{"type":"thinking","thinking":"A trap?"},{"type":"text","text":"No."}],"stop_reason":"max_tokens"}"#;
        let target = reply(body, Asked::Target);
        assert_eq!(target.reasoning.as_deref(), Some("A trap?"));
        assert_eq!(target.finish_reason.as_deref(), Some("length"));
        assert_eq!(
            joined(&serde_json::json!([{"type": "text", "text": "a"}, {"text": "b"}])),
            "a\nb"
        );
        let other = serde_json::json!([{"type": "tool_result"}]);
        assert_eq!(joined(&other), other);
    }

    #[test]
    fn a_reply_of_another_form_has_what_is_known() {
        let named = reply(r#"{"id":"x","model":"m","output":"a"}"#, Asked::Judge);
        assert_eq!(
            (named.id.as_deref(), named.model.as_deref()),
            (Some("x"), Some("m"))
        );
        assert_eq!((named.finish_reason, named.reasoning), (None, None));
        let plain = reply(r#""a text""#, Asked::Target);
        assert_eq!((plain.id, plain.model), (None, None));
        let unended = reply(
            r#"{"choices":[{"message":{"content":"a"}}]}"#,
            Asked::Target,
        );
        assert_eq!(unended.finish_reason, None);
    }
}
