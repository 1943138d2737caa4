//! Reads an attacker's reply.

use schema::{
    ChatReply, FinishReason,
    reply::{excerpt, json_object, kind_of, list},
    safety::sounds_like_refusal,
    text::is_blank,
};
use serde_json::Value;

/// The content of a reply.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// Rewritten prompts, at least one.
    Prompts(Vec<String>),
    /// The attacker declines, with this text.
    Declines(String),
}

/// Reads a reply: one JSON object with the list `prompts`, of which the first `count` are used. A refusal in prose, under the
/// key `refused`, or in place of the prompts is distinguished from a malformed reply.
pub(super) fn read(reply: &ChatReply, count: usize) -> Result<Read, String> {
    let object = match json_object(&reply.content) {
        Ok(object) => object,
        Err(_) if sounds_like_refusal(&reply.content) => return Ok(declines(&reply.content)),
        Err(reason) if reply.finish == FinishReason::Length => {
            return Err(format!("{reason} (the token limit cut the reply off)"));
        }
        Err(reason) => return Err(reason),
    };
    if let Some(Value::String(reason)) = object.get("refused")
        && !is_blank(reason)
    {
        return Ok(declines(reason));
    }
    let mut prompts = Vec::new();
    let mut declined = None;
    for (at, prompt) in (1..).zip(list(&object, "prompts")?) {
        match prompt {
            Value::String(text) if is_blank(text) => {
                return Err(format!("prompt {at} is empty"));
            }
            Value::String(text) if text.trim().trim_matches(['.', '…']).is_empty() => {
                return Err(format!("prompt {at} is the form's \"...\""));
            }
            Value::String(text) if sounds_like_refusal(text) => declined = Some(text),
            Value::String(text) => prompts.push(text.trim().to_owned()),
            other => return Err(format!("prompt {at} is {}, not a string", kind_of(other))),
        }
    }
    prompts.truncate(count);
    match declined {
        Some(text) if prompts.is_empty() => Ok(declines(text)),
        _ if prompts.is_empty() => Err("\"prompts\" is empty".to_owned()),
        _ => Ok(Read::Prompts(prompts)),
    }
}

fn declines(text: &str) -> Read {
    Read::Declines(excerpt(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Read, String> {
        read(&ChatReply::text(text), 2)
    }

    #[test]
    fn prompts_are_taken_in_order_and_no_more_than_asked_for() {
        let prompts = |texts: &[&str]| Ok(Read::Prompts(texts.iter().map(|&t| t.into()).collect()));
        assert_eq!(
            of(r#"{"prompts": [" a ", "b", "c"]}"#),
            prompts(&["a", "b"])
        );
        assert_eq!(of("```json\n{\"prompts\": [\"a\"]}\n```"), prompts(&["a"]));
        let one_declined = r#"{"prompts": ["I can't help with that.", "b"]}"#;
        assert_eq!(of(one_declined), prompts(&["b"]));
    }

    #[test]
    fn refusals_are_no_malformed_replies() {
        for text in [
            "I'm sorry, but I can't help with that.",
            r#"{"refused": "This is harmful."}"#,
            r#"{"prompts": ["I cannot assist with this request."]}"#,
        ] {
            assert!(matches!(of(text), Ok(Read::Declines(_))), "{text}");
        }
    }

    #[test]
    fn what_is_not_as_asked_is_named() {
        for (text, reason) in [
            ("", "empty"),
            ("Here are two prompts: a, b", "starts with"),
            ("{}", "\"prompts\" is missing"),
            (r#"{"prompts": []}"#, "\"prompts\" is empty"),
            (r#"{"prompts": "a"}"#, "a string, not a list"),
            (r#"{"prompts": ["a", 1]}"#, "prompt 2 is a number"),
            (r#"{"prompts": [" "]}"#, "prompt 1 is empty"),
            (r#"{"prompts": ["..."]}"#, "prompt 1 is the form's"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
