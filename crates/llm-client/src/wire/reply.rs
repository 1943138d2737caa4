//! Reads a reply. Lenient about the form of a completion, strict about what counts as one.

use std::{borrow::Cow, fmt, sync::Arc};

use schema::{
    FinishReason, Purpose, ReasoningField, ReturnedReasoning, ToolCall, Usage,
    reasoning::{self, ReasoningOpening},
    reply::split_thinking,
};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{text::Text, usage::Billed};
use crate::ReplyBody;

/// Which parts of a reply's text are reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// For a system under test: the block that opens the reply, and no other. Its reply is not shortened.
    Opening(ReasoningOpening),
    /// For a helper: every block, and all text before a closing tag without an opening one.
    All,
}

impl Blocks {
    /// For replies to calls of `purpose`.
    pub(crate) fn of(purpose: Purpose, opening: ReasoningOpening) -> Self {
        match purpose {
            Purpose::TargetTurn => Self::Opening(opening),
            _ => Self::All,
        }
    }
}

/// Why a reply is not a completion, and what it was billed nevertheless.
#[derive(Debug)]
pub(crate) struct Unparsed {
    pub(crate) reason: Reason,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: Option<f64>,
}

/// Why a reply is not a completion.
#[derive(Debug)]
pub(crate) enum Reason {
    /// Its form is wrong; the text says how.
    Form(String),
    /// It contains an error object.
    Error(Value),
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<First<'a>>,
    #[serde(default)]
    usage: Billed,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    message: Option<Said>,
    /// For endpoints that answer in the older completions form.
    #[serde(default)]
    text: Option<Text>,
    #[serde(borrow, default)]
    finish_reason: Option<Word<'a>>,
    #[serde(default)]
    error: Option<Value>,
}

/// Text that is borrowed if it contains no escapes. (A `Cow` directly in an `Option` is always owned.)
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

/// The first of a list of choices. The others are parsed too, so that a damaged reply is detected.
struct First<'a>(Option<Choice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstVisitor)
    }
}

struct FirstVisitor;

impl<'de> Visitor<'de> for FirstVisitor {
    type Value = First<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<First<'de>, A::Error> {
        let first = choices.next_element()?;
        while choices.next_element::<Choice<'de>>()?.is_some() {}
        Ok(First(first))
    }
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    content: Text,
    #[serde(default)]
    refusal: Text,
    /// `None` where the field is missing or null.
    #[serde(default)]
    reasoning_content: Option<Text>,
    #[serde(default)]
    reasoning: Option<Text>,
    #[serde(default, deserialize_with = "super::calls::read")]
    tool_calls: Vec<ToolCall>,
}

/// Reads the body of a 2xx reply.
pub(crate) fn parse(body: &str, blocks: Blocks) -> Result<ReplyBody, Box<Unparsed>> {
    let completion = completion(body).map_err(|reason| {
        Box::new(Unparsed {
            reason: Reason::Form(reason),
            usage: None,
            cost: None,
        })
    })?;
    let Billed { usage, cost } = completion.usage;
    let unparsed = |reason| {
        Box::new(Unparsed {
            reason,
            usage,
            cost,
        })
    };
    let Some(choice) = completion.choices.and_then(|choices| choices.0) else {
        let reason = match completion.error {
            Some(error) if !is_blank(&error) => Reason::Error(error),
            _ => Reason::Form("the reply has no choices".to_owned()),
        };
        return Err(unparsed(reason));
    };
    if let Some(error) = choice.error.filter(|error| !is_blank(error)) {
        return Err(unparsed(Reason::Error(error)));
    }
    let finish = choice.finish_reason;
    let finish = FinishReason::from(finish.as_ref().map_or("unknown", |word| &*word.0));
    let cut_off = finish == FinishReason::Length;
    let Some(said) = said(choice.message, choice.text, blocks, cut_off) else {
        let reason = "the reply's first choice has no message".to_owned();
        return Err(unparsed(Reason::Form(reason)));
    };
    Ok(ReplyBody {
        content: said.content,
        reasoning: said.reasoning,
        returned_reasoning: said.returned_reasoning,
        tool_calls: said.tool_calls,
        steps: Vec::new(),
        finish,
        model: completion.model.and_then(model_name),
        usage,
        cost,
        called: None,
    })
}

/// The model's name, if it is a string.
fn model_name(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<Word<'_>>(raw.get())
        .ok()
        .map(|word| word.0.into_owned())
}

fn completion(body: &str) -> Result<Completion<'_>, String> {
    if body.trim_start().starts_with('[') {
        // serde would read a list as the fields in their order.
        return Err("the reply is a list, no chat completion".to_owned());
    }
    serde_json::from_str(body).map_err(|error| wrong_form(body, &error))
}

/// The text, the reasoning and the tool calls of a message.
struct Heard {
    content: String,
    reasoning: Option<String>,
    returned_reasoning: Option<Arc<ReturnedReasoning>>,
    tool_calls: Vec<ToolCall>,
}

fn said(message: Option<Said>, text: Option<Text>, blocks: Blocks, cut_off: bool) -> Option<Heard> {
    let message = match (message, text) {
        (Some(message), _) => message,
        (None, Some(text)) => Said {
            content: text,
            refusal: Text::default(),
            reasoning_content: None,
            reasoning: None,
            tool_calls: Vec::new(),
        },
        (None, None) => return None,
    };
    let mut content = message.content.0;
    if content.is_empty() {
        // A refusal is the model's answer in a field of its own.
        content = message.refusal.0;
    }
    let returned_reasoning = returned(message.reasoning_content, message.reasoning);
    let mut reasoning = match &returned_reasoning {
        Some(returned) => returned.text.clone(),
        None => String::new(),
    };
    if let Some((outside, inside)) = apart(&content, blocks, cut_off) {
        if let Some(inside) = inside {
            if !reasoning.is_empty() {
                reasoning.push('\n');
            }
            reasoning.push_str(&inside);
        }
        content = outside;
    }
    Some(Heard {
        content,
        reasoning: (!reasoning.is_empty()).then_some(reasoning),
        returned_reasoning: returned_reasoning.map(Arc::new),
        tool_calls: message.tool_calls,
    })
}

/// The reasoning in a field of its own: the first field that has a text, or else the first that is there at all.
fn returned(content: Option<Text>, plain: Option<Text>) -> Option<ReturnedReasoning> {
    let fields = [
        (ReasoningField::ReasoningContent, content),
        (ReasoningField::Reasoning, plain),
    ];
    let returned = fields.into_iter().filter_map(|(field, text)| {
        let text = text?.0;
        Some(ReturnedReasoning { field, text })
    });
    let mut present: Vec<ReturnedReasoning> = returned.collect();
    let at = present.iter().position(|field| !field.text.is_empty());
    (!present.is_empty()).then(|| present.swap_remove(at.unwrap_or(0)))
}

/// The text and the reasoning in `content`; `None` if it contains no reasoning.
fn apart(content: &str, blocks: Blocks, cut_off: bool) -> Option<(String, Option<String>)> {
    // Most replies contain no angle bracket, and one byte is found much faster than two words.
    let tagged = memchr::memchr(b'<', content.as_bytes()).is_some()
        && (content.contains("<think") || content.contains("</think"));
    match blocks {
        Blocks::All => tagged.then(|| split_thinking(content)),
        Blocks::Opening(opening) => {
            let inside = cut_off && opening == ReasoningOpening::Template;
            if !tagged && !inside {
                return None;
            }
            let split = reasoning::split(content, opening, cut_off);
            (split.said.len() < content.len())
                .then(|| (split.said.to_owned(), split.reasoning.map(str::to_owned)))
        }
    }
}

/// Whether an `error` field is empty.
fn is_blank(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Why `body` is not JSON, or not a completion.
fn wrong_form(body: &str, error: &serde_json::Error) -> String {
    let start = body.trim_start();
    if start.is_empty() {
        "the reply is empty".to_owned()
    } else if start.starts_with('<') {
        "the reply is a web page, not JSON".to_owned()
    } else if start.starts_with("data:") {
        "the reply is an event stream, which was not asked for".to_owned()
    } else if error.is_eof() {
        "the reply is cut off".to_owned()
    } else if error.is_data() {
        format!("the reply is no chat completion: {error}")
    } else {
        format!("the reply is not valid JSON: {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(body: &str) -> String {
        parse(body, Blocks::All)
            .unwrap_or_else(|error| panic!("{body}: {error:?}"))
            .content
    }

    #[test]
    fn replies_in_many_shapes_are_completions() {
        for (body, said) in [
            (r#"{"choices":[{"message":{"content":"a"}}]}"#, "a"),
            (
                r#"{"choices":[{"message":{"content":null}}],"error":null}"#,
                "",
            ),
            (
                r#"{"choices":[{"message":{"role":"assistant"}}],"usage":null}"#,
                "",
            ),
            (
                r#"{"choices":[{"message":{"content":[{"type":"text","text":"b"}]}}]}"#,
                "b",
            ),
            (
                r#"{"choices":[{"message":{"content":null,"refusal":"No."}}]}"#,
                "No.",
            ),
            (r#"{"choices":[{"text":"old"}]}"#, "old"),
            (
                r#"{"model":5,"choices":[{"message":{"content":"c","tool_calls":[]}}]}"#,
                "c",
            ),
            (
                "\n\n {\"choices\":[{\"message\":{\"content\":\"d\"}}]}\n",
                "d",
            ),
        ] {
            assert_eq!(content(body), said, "{body}");
        }
    }

    #[test]
    fn calls_of_tools_are_read_in_whatever_shape() {
        let calls = |list: &str| {
            let body =
                format!(r#"{{"choices":[{{"message":{{"content":null,"tool_calls":{list}}}}}]}}"#);
            parse(&body, Blocks::All).unwrap().tool_calls
        };
        let call = &calls(
            r#"[{"id":"a","type":"function","function":{"name":"pay","arguments":"{\"n\":1}"}}]"#,
        )[0];
        assert_eq!((call.id.as_str(), call.name.as_str()), ("a", "pay"));
        assert_eq!(call.object().unwrap()["n"], 1);
        let odd = calls(r#"[{"id":1},{"function":{"name":"pay","arguments":{"n":1}}},"x"]"#);
        let names: Vec<&str> = odd.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["", "pay", ""]);
        assert_eq!(odd[1].arguments, r#"{"n":1}"#);
        assert!(calls("null").is_empty() && calls("{}").is_empty());
    }

    #[test]
    fn thinking_is_kept_apart() {
        for body in [
            r#"{"choices":[{"message":{"content":"x","reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"message":{"content":"x","reasoning":"hm"}}]}"#,
            r#"{"choices":[{"message":{"content":"<think>hm</think>\nx"}}]}"#,
            r#"{"choices":[{"message":{"content":"x","reasoning":null,"reasoning_content":"hm"}}]}"#,
        ] {
            let parsed = parse(body, Blocks::All).unwrap();
            assert_eq!(
                (parsed.content.as_str(), parsed.reasoning.as_deref()),
                ("x", Some("hm")),
                "{body}"
            );
        }
    }

    #[test]
    fn what_a_system_under_test_says_is_not_shortened() {
        let read = |content: &str, finish: &str, blocks| {
            let body = serde_json::json!({"choices": [{"message": {"content": content}, "finish_reason": finish}]});
            let parsed = parse(&body.to_string(), blocks).unwrap();
            (parsed.content, parsed.reasoning)
        };
        let helper = Blocks::of(Purpose::Judge, ReasoningOpening::Reply);
        let target = Blocks::of(Purpose::TargetTurn, ReasoningOpening::Reply);
        for said in [
            "HARMFUL.</think>I cannot help",
            "Sure. <think>X</think> Bye.",
            "Use `<think>`.",
        ] {
            assert_eq!(read(said, "stop", target), (said.to_owned(), None));
            assert_ne!(read(said, "stop", helper).0, said);
        }
        let thought = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("<think>a</think>b", "stop", target),
            ("b".to_owned(), thought("a"))
        );
        let template = Blocks::of(Purpose::TargetTurn, ReasoningOpening::Template);
        assert_eq!(
            read("a</think>b", "stop", template),
            ("b".to_owned(), thought("a"))
        );
        assert_eq!(read("a", "length", template), (String::new(), thought("a")));
        assert_eq!(read("a", "stop", template), ("a".to_owned(), None));
    }

    #[test]
    fn what_is_no_completion_says_why_and_keeps_its_usage() {
        for (body, reason) in [
            ("", "empty"),
            ("<html>", "web page"),
            (r#"{"choices":[{"mess"#, "cut off"),
            ("{}", "no choices"),
            (r#"{"choices":[]}"#, "no choices"),
            (r#"{"choices":[{}]}"#, "no message"),
            ("[1]", "no chat completion"),
            ("hello", "not valid JSON"),
            ("data: {}", "event stream"),
        ] {
            let unparsed = parse(body, Blocks::All).unwrap_err();
            assert!(
                matches!(&unparsed.reason, Reason::Form(text) if text.contains(reason)),
                "{body}: {unparsed:?}"
            );
        }
        let unparsed = parse(
            r#"{"error":{"code":429},"usage":{"prompt_tokens":3,"completion_tokens":0}}"#,
            Blocks::All,
        )
        .unwrap_err();
        assert!(matches!(unparsed.reason, Reason::Error(_)));
        assert_eq!(unparsed.usage.unwrap().input_tokens, 3);
        let unparsed =
            parse(r#"{"choices":[{"message":{"content":""},"error":{"code":502},"finish_reason":"error"}]}"#, Blocks::All)
                .unwrap_err();
        assert!(matches!(unparsed.reason, Reason::Error(_)));
    }

    #[test]
    fn a_missing_finish_reason_is_unknown() {
        let parsed = parse(
            r#"{"model":"gpt-x","choices":[{"message":{"content":"a"}}]}"#,
            Blocks::All,
        )
        .unwrap();
        assert_eq!(parsed.finish.as_str(), "unknown");
        assert_eq!(parsed.model.as_deref(), Some("gpt-x"));
    }
}
