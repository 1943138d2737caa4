//! Reads the error bodies of endpoints.

use std::time::Duration;

use schema::ModelErrorKind;
use serde_json::Value;

/// The most bytes of a body that are searched for a message.
const READ: usize = 64 * 1024;

/// The content of an error body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Refusal {
    /// The endpoint's message; the start of the body if it contains no message. Not scrubbed.
    pub(crate) message: String,
    /// The error's `code`, `type` and `status`, in lower case.
    marks: Vec<String>,
    /// Whether the error names the input that a moderation flagged, as OpenRouter does.
    is_flagged: bool,
    /// The field of the request that the error names.
    param: Option<String>,
    /// A status in the body: some endpoints answer 200 and put the real status there.
    pub(crate) status: Option<u16>,
    /// How long to wait, if the body says so.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads the body of a reply with a status other than 2xx.
    pub(crate) fn read(body: &[u8]) -> Self {
        let json = (body.len() <= READ)
            .then(|| serde_json::from_slice::<Value>(body).ok())
            .flatten();
        match json {
            Some(json) => Self::of_json(&json),
            None => Self {
                message: plain_text(&String::from_utf8_lossy(&body[..body.len().min(READ)])),
                ..Self::default()
            },
        }
    }

    /// Reads a body, or the error object in a body.
    pub(crate) fn of_json(json: &Value) -> Self {
        // Gemini wraps its error in a list.
        let json = json
            .as_array()
            .and_then(|list| list.first())
            .unwrap_or(json);
        let error = match json.get("error") {
            Some(error) if !error.is_null() => error,
            _ => json,
        };
        let mark = |key: &str| match error.get(key).or_else(|| json.get(key)) {
            Some(Value::String(text)) => Some(text.to_ascii_lowercase()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let marks: Vec<String> = ["code", "type", "status"]
            .into_iter()
            .filter_map(mark)
            .collect();
        Self {
            message: message(error, json),
            status: marks
                .iter()
                .filter_map(|mark| mark.parse().ok())
                .find(|status| (400..600).contains(status)),
            marks,
            is_flagged: error.pointer("/metadata/flagged_input").is_some(),
            param: mark("param"),
            retry_after: retry_delay(error),
        }
    }

    /// The kind of the failure.
    pub(crate) fn kind(&self, status: Option<u16>, retry_after: bool) -> ModelErrorKind {
        if self.is_out_of_money() {
            return ModelErrorKind::Permanent;
        }
        match status {
            // 529: Anthropic is overloaded.
            Some(429 | 498 | 529) => ModelErrorKind::RateLimited,
            Some(503) if retry_after => ModelErrorKind::RateLimited,
            Some(408 | 409 | 425) => ModelErrorKind::Transient,
            Some(501) => ModelErrorKind::Permanent,
            Some(500..) => ModelErrorKind::Transient,
            Some(300..) => ModelErrorKind::Permanent,
            _ => self.kind_of_marks(),
        }
    }

    /// The kind of an error object in a 200 that has no status of its own.
    fn kind_of_marks(&self) -> ModelErrorKind {
        let any = |words: &[&str]| {
            self.marks
                .iter()
                .any(|mark| words.iter().any(|word| mark.contains(word)))
        };
        if any(&["rate_limit", "too_many_requests", "resource_exhausted"]) {
            ModelErrorKind::RateLimited
        } else if any(&[
            "server_error",
            "internal",
            "overloaded",
            "unavailable",
            "timeout",
        ]) {
            ModelErrorKind::Transient
        } else if any(&[
            "invalid",
            "not_found",
            "authentication",
            "permission",
            "context_length",
            "unsupported",
            "billing",
        ]) {
            ModelErrorKind::Permanent
        } else {
            ModelErrorKind::Malformed
        }
    }

    /// Whether the account is empty or closed: waiting does not help.
    pub(crate) fn is_out_of_money(&self) -> bool {
        const MARKS: [&str; 5] = [
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "account_deactivated",
            "insufficient_balance",
        ];
        const WORDS: [&str; 4] = [
            "insufficient_quota",
            "insufficient balance",
            "credit balance is too low",
            "insufficient credits",
        ];
        let message = self.message.to_ascii_lowercase();
        self.marks.iter().any(|mark| MARKS.contains(&mark.as_str()))
            || WORDS.iter().any(|word| message.contains(word))
    }

    /// Whether a filter refused the content of the request, by the marks of the endpoint or of the provider behind it.
    pub(crate) fn is_for_content(&self) -> bool {
        const MARKS: [&str; 3] = ["content_filter", "content_policy", "responsibleaipolicy"];
        let marked = |mark: &String| MARKS.iter().any(|known| mark.contains(known));
        self.is_flagged || self.marks.iter().any(marked)
    }

    /// Whether the endpoint says that the conversation is too long for the model.
    pub(crate) fn is_too_long(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        self.marks
            .iter()
            .any(|mark| mark.contains("context_length"))
            || message.contains("context length")
            || message.contains("context window")
    }

    /// Whether the message or the named field contains `word`.
    pub(crate) fn names(&self, word: &str) -> bool {
        self.message.to_ascii_lowercase().contains(word)
            || self
                .param
                .as_deref()
                .is_some_and(|param| param.contains(word))
    }

    /// Whether the message says that something is unknown or not allowed, as opposed to out of range.
    pub(crate) fn says_unsupported(&self) -> bool {
        const WORDS: [&str; 13] = [
            "unsupported",
            "not supported",
            "not support",
            "unknown",
            "unrecognized",
            "unexpected",
            "not permitted",
            "not allowed",
            "extra inputs",
            "extra fields",
            "extra_forbidden",
            "deprecated",
            "unavailable",
        ];
        let message = self.message.to_ascii_lowercase();
        WORDS.iter().any(|word| message.contains(word))
            || self
                .marks
                .iter()
                .any(|mark| mark.starts_with("unsupported") || mark.starts_with("unknown"))
    }
}

/// The message in the usual places.
fn message(error: &Value, json: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found = text(error)
        .or_else(|| error.get("message").and_then(text))
        .or_else(|| json.get("message").and_then(text))
        .or_else(|| {
            json.get("detail")
                .map(|detail| text(detail).unwrap_or_else(|| detail.to_string()))
        })
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| json.to_string());
    // OpenRouter keeps the message of the provider behind it here.
    match error.pointer("/metadata/raw").and_then(text) {
        Some(raw) if !found.contains(&raw) => format!("{found}: {raw}"),
        _ => found,
    }
}

/// Gemini states the delay in the details of its error, as `"retryDelay": "34s"`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let delay = error
        .get("details")?
        .as_array()?
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The title of a web page, or the text unchanged.
fn plain_text(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if let Some(start) = lower.find("<title>")
        && let Some(length) = lower[start..].find("</title>")
    {
        return text[start + "<title>".len()..start + length]
            .trim()
            .to_owned();
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_is_found_wherever_it_stands() {
        for (body, message) in [
            (r#"{"error":{"message":"m","code":"c"}}"#, "m"),
            (r#"{"error":"m"}"#, "m"),
            (r#"{"message":"m"}"#, "m"),
            (r#"{"detail":"m"}"#, "m"),
            (
                r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#,
                "m",
            ),
            ("<html><head><title>m</title></head></html>", "m"),
            (" m\n", "m"),
            ("", ""),
            (
                r#"{"detail":[{"loc":["body","top_p"],"msg":"no"}]}"#,
                r#"[{"loc":["body","top_p"],"msg":"no"}]"#,
            ),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"m"}}}"#,
                "Provider returned error: m",
            ),
        ] {
            assert_eq!(Refusal::read(body.as_bytes()).message, message, "{body}");
        }
        assert_eq!(Refusal::read(b"\xff\xfe").message, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn statuses_are_sorted() {
        use ModelErrorKind::{Malformed, Permanent, RateLimited, Transient};
        let quota = json!({"error": {"code": "insufficient_quota", "message": "pay"}});
        let plain = json!({"error": {"message": "x"}});
        for (status, retry_after, body, kind) in [
            (Some(429), false, &plain, RateLimited),
            (Some(429), true, &quota, Permanent),
            (Some(503), true, &plain, RateLimited),
            (Some(503), false, &plain, Transient),
            (Some(500), false, &plain, Transient),
            (Some(529), false, &plain, RateLimited),
            (Some(408), false, &plain, Transient),
            (Some(400), false, &plain, Permanent),
            (Some(401), false, &plain, Permanent),
            (Some(402), false, &plain, Permanent),
            (Some(404), false, &plain, Permanent),
            (Some(302), false, &plain, Permanent),
            (None, false, &plain, Malformed),
            (
                None,
                false,
                &json!({"error": {"type": "server_error"}}),
                Transient,
            ),
            (
                None,
                false,
                &json!({"error": {"code": "rate_limit_exceeded"}}),
                RateLimited,
            ),
            (
                None,
                false,
                &json!({"error": {"code": "invalid_api_key"}}),
                Permanent,
            ),
        ] {
            let refusal = Refusal::of_json(body);
            assert_eq!(refusal.kind(status, retry_after), kind, "{status:?} {body}");
        }
    }

    #[test]
    fn a_refusal_for_content_is_known_by_its_mark() {
        for (body, refused) in [
            (
                json!({"error": {"code": "content_filter", "message": "m"}}),
                true,
            ),
            (
                json!({"error": {"code": "content_policy_violation", "message": "m"}}),
                true,
            ),
            (
                json!({"error": {"code": 403, "message": "m", "metadata": {"flagged_input": "x"}}}),
                true,
            ),
            (
                json!({"error": {"code": "invalid_api_key", "message": "content_filter"}}),
                false,
            ),
        ] {
            assert_eq!(Refusal::of_json(&body).is_for_content(), refused, "{body}");
        }
    }

    #[test]
    fn a_status_and_a_delay_in_the_body_are_found() {
        let refusal = Refusal::of_json(&json!({"error": {"code": 429, "message": "slow",
            "details": [{"@type": "x"}, {"retryDelay": "1.5s"}]}}));
        assert_eq!(refusal.status, Some(429));
        assert_eq!(refusal.retry_after, Some(Duration::from_millis(1500)));
    }
}
