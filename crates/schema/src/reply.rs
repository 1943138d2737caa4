//! Strict parsing of a model's JSON reply, and retries with what was wrong.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    CallContext, ChatModel, ChatReply, ChatRequest, Extra, FinishReason, Message, ModelError,
    Origin, Role, Spend, text::is_blank,
};

/// The one JSON object in a reply.
///
/// Thinking blocks (`<think>`, `<thinking>`) and one Markdown fence around the object are removed. Any other text beside the
/// object is refused: a reply that argues first and answers then is not a clear answer. Duplicate keys are refused.
///
/// ```
/// use schema::reply::json_object;
///
/// let object = json_object("<think>hm</think>\n```json\n{\"present\": true}\n```").unwrap();
/// assert_eq!(object["present"], true);
/// assert!(json_object("The answer is {\"present\": true}").is_err());
/// ```
///
/// # Errors
/// What is wrong, in a text that can be sent back to the model.
pub fn json_object(reply: &str) -> Result<Extra, String> {
    let (text, _) = split_thinking(reply);
    let text = strip_fence(text.trim());
    if text.is_empty() {
        return Err("the reply is empty; one JSON object was expected".to_owned());
    }
    if !text.starts_with('{') {
        return Err(format!(
            "the reply starts with {:?}, not with a JSON object",
            excerpt(text)
        ));
    }
    check_duplicate_keys(text)?;
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("the reply is not a JSON object".to_owned()),
        Err(error) if error.is_eof() => Err(format!(
            "the JSON object is cut off (line {}, column {})",
            error.line(),
            error.column()
        )),
        Err(error) => Err(format!("the reply is not one valid JSON object: {error}")),
    }
}

/// The complete elements of the list at `key`, the first key of an object that was cut off.
///
/// ```
/// use schema::reply::cut_off_list;
///
/// let elements = cut_off_list("{\"rows\": [{\"a\": 1}, {\"a\": 2}, {\"a", "rows");
/// assert_eq!(elements.len(), 2);
/// assert!(cut_off_list("I would", "rows").is_empty());
/// ```
#[must_use]
pub fn cut_off_list(reply: &str, key: &str) -> Vec<Value> {
    let (text, _) = split_thinking(reply);
    let text = text.trim();
    let fenced = text
        .strip_prefix("```")
        .and_then(|text| text.split_once('\n'));
    let text = fenced.map_or(text, |(_, inside)| inside);
    let list = || {
        let inside = text.trim_start().strip_prefix('{')?;
        let behind_key = inside.trim_start().strip_prefix(&format!("{key:?}"))?;
        let value = behind_key.trim_start().strip_prefix(':')?;
        value.trim_start().strip_prefix('[')
    };
    let mut rest = list().unwrap_or_default();
    let mut elements = Vec::new();
    loop {
        let mut one = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(element)) = one.next() else {
            return elements;
        };
        elements.push(element);
        rest = rest.get(one.byte_offset()..).unwrap_or_default();
        rest = rest.trim_start().strip_prefix(',').unwrap_or_default();
    }
}

/// The boolean at `key`. Text such as `"true"` and numbers are not booleans.
///
/// # Errors
/// What is wrong, in a text that can be sent back to the model.
pub fn boolean(object: &Extra, key: &str) -> Result<bool, String> {
    match object.get(key) {
        Some(Value::Bool(value)) => Ok(*value),
        Some(other) => Err(format!("{key:?} is {}, not true or false", kind_of(other))),
        None => Err(format!("the key {key:?} is missing")),
    }
}

/// The text at `key`, trimmed.
///
/// # Errors
/// When it is missing, not a string, or blank. The text can be sent back to the model.
pub fn text<'a>(object: &'a Extra, key: &str) -> Result<&'a str, String> {
    match object.get(key) {
        Some(Value::String(value)) if is_blank(value) => Err(format!("{key:?} is empty")),
        Some(Value::String(value)) => Ok(value.trim()),
        Some(other) => Err(format!("{key:?} is {}, not a string", kind_of(other))),
        None => Err(format!("the key {key:?} is missing")),
    }
}

/// The list at `key`.
///
/// # Errors
/// When it is missing or not a list. The text can be sent back to the model.
pub fn list<'a>(object: &'a Extra, key: &str) -> Result<&'a [Value], String> {
    match object.get(key) {
        Some(Value::Array(values)) => Ok(values),
        Some(other) => Err(format!("{key:?} is {}, not a list", kind_of(other))),
        None => Err(format!("the key {key:?} is missing")),
    }
}

/// The type of a JSON value, in words.
#[must_use]
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Splits the reply of a helper (a judge, a simulated user, a generator) into what is said and the thoughts in `<think>` or
/// `<thinking>` blocks, wherever they are. For replies of a system under test see [`crate::reasoning::split`].
///
/// A block that is never closed includes everything after it. A closing tag without an opening one, as some chat templates
/// leave it, ends a block that began with the reply.
#[must_use]
pub fn split_thinking(reply: &str) -> (String, Option<String>) {
    // Most replies have no tag at all, which one check finds.
    if !reply.contains('<') {
        return (reply.to_owned(), None);
    }
    let mut said = String::with_capacity(reply.len());
    let mut thought = String::new();
    let mut rest = reply;
    if let Some((close, length)) = find_tag(rest, true)
        && find_tag(rest, false).is_none_or(|(open, _)| close < open)
    {
        thought.push_str(rest[..close].trim());
        rest = &rest[close + length..];
    }
    while let Some((open, open_length)) = find_tag(rest, false) {
        said.push_str(&rest[..open]);
        let inside = &rest[open + open_length..];
        let (end, close_length) = find_tag(inside, true).unwrap_or((inside.len(), 0));
        if !thought.is_empty() {
            thought.push('\n');
        }
        thought.push_str(inside[..end].trim());
        rest = &inside[end + close_length..];
    }
    if thought.is_empty() && said.is_empty() && rest.len() == reply.len() {
        return (reply.to_owned(), None);
    }
    said.push_str(rest);
    (
        said.trim().to_owned(),
        (!thought.is_empty()).then_some(thought),
    )
}

/// The position and length of the first thinking tag.
fn find_tag(text: &str, closing: bool) -> Option<(usize, usize)> {
    let tags = if closing {
        ["</think>", "</thinking>"]
    } else {
        ["<think>", "<thinking>"]
    };
    tags.iter()
        .filter_map(|tag| text.find(tag).map(|at| (at, tag.len())))
        .min()
}

/// `text` without one Markdown fence around the whole of it. The caller trims white space around it.
#[must_use]
pub fn strip_fence(text: &str) -> &str {
    let Some(inner) = text
        .strip_prefix("```")
        .and_then(|inner| inner.strip_suffix("```"))
    else {
        return text;
    };
    let body = inner.split_once('\n').map_or(inner, |(info, body)| {
        if info.trim().chars().all(char::is_alphanumeric) {
            body
        } else {
            inner
        }
    });
    body.trim()
}

/// Refuses an object with a duplicate key at the top level: it is unclear which of the two counts.
fn check_duplicate_keys(text: &str) -> Result<(), String> {
    struct Keys;
    impl<'de> serde::de::Visitor<'de> for Keys {
        type Value = Option<String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut seen = BTreeSet::new();
            let mut twice = None;
            while let Some(key) = map.next_key::<String>()? {
                map.next_value::<serde::de::IgnoredAny>()?;
                if !seen.insert(key.clone()) {
                    twice = Some(key);
                }
            }
            Ok(twice)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde::Deserializer::deserialize_map(&mut deserializer, Keys) {
        Ok(Some(key)) => Err(format!("the key {key:?} stands twice")),
        _ => Ok(()),
    }
}

/// The first characters of a text, for messages.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The result of requesting a structured reply.
#[derive(Debug)]
pub struct Asked<T> {
    /// The parsed reply, or what was wrong with the last one.
    pub answer: Result<T, Unusable>,
    /// What all the calls used and cost.
    pub spend: Spend,
}

/// A model that gave no usable reply in any try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no usable reply in {asked} {}; the last one: {reason}{}", if *.asked == 1 { "try" } else { "tries" }, advice(*.cut_off))]
pub struct Unusable {
    /// How often it was called.
    pub asked: u32,
    /// What was wrong with the last reply.
    pub reason: String,
    /// Whether the token limit cut off the last reply.
    pub cut_off: bool,
    /// The last reply.
    pub reply: String,
}

/// Advice for a person about an unusable reply. The model does not see it, because it cannot act on it.
#[must_use]
pub fn advice(cut_off: bool) -> &'static str {
    match cut_off {
        true => "; raise its max_tokens",
        false => "",
    }
}

/// A call that failed for good while a structured reply was requested.
#[derive(Debug)]
pub struct AskFailed {
    /// The failed call.
    pub error: ModelError,
    /// What all the calls used and cost, including the failed one.
    pub spend: Spend,
}

/// How often a model is called for a usable reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// The most tries. 0 counts as 1.
    pub at_most: u32,
    /// The most additional tries while every reply comes from the cache. In that case an earlier run got nothing usable, and
    /// each later run makes one new request.
    pub more_when_cached: u32,
}

impl From<u32> for Tries {
    /// Without additional tries.
    fn from(at_most: u32) -> Self {
        Self {
            at_most,
            more_when_cached: 0,
        }
    }
}

/// Why a reply is refused, and the next request. A plain text is the reason, and the request is repeated with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong, in a text that can be sent back to the model.
    pub reason: String,
    /// The next request.
    pub next: NextQuestion,
}

/// The request after a refused reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextQuestion {
    /// The same request, with the reply and the reason.
    Same,
    /// A different request, as often as the tries allow.
    Other {
        /// The text shown to the model as its reply.
        shown: String,
        /// The request.
        text: String,
    },
    /// A request for the missing part, after a reply that can partly be used. It does not count as a try.
    Rest {
        /// The text shown to the model as its reply.
        shown: String,
        /// The request.
        text: String,
    },
    /// None: the same request would get the same reply.
    Nothing,
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self {
            reason,
            next: NextQuestion::Same,
        }
    }
}

/// How often a program is requested to give one result, unless a setting of its phase says otherwise.
pub const PROGRAM_TRIES: u32 = 3;

/// Sends `params` to a program, a model with a [`phase_program`](ChatModel::phase_program), until `read` accepts its result, `tries` times
/// in all; 0 counts as 1. Each request after the first has the number of its `attempt`, from 2, and what was wrong with the result before
/// as `fault`: so it is another request, also for the response cache.
///
/// # Errors
/// When a call fails for good. A program without any usable result is not an error: see [`Asked::answer`].
pub async fn ask_program<T>(
    program: &dyn ChatModel,
    mut params: Value,
    context: &CallContext,
    tries: u32,
    mut read: impl FnMut(&ChatReply) -> Result<T, String> + Send,
) -> Result<Asked<T>, AskFailed> {
    let mut spend = Spend::default();
    let mut asked: u32 = 0;
    loop {
        asked += 1;
        let message = Message::new(Role::User, params.to_string());
        let request = ChatRequest::new(vec![message], context.clone());
        let reply = match program.chat(&request).await {
            Ok(reply) => reply,
            Err(error) => {
                spend.add(error.spend());
                return Err(AskFailed { error, spend });
            }
        };
        spend.add(&reply.spend());
        let reason = match read(&reply) {
            Ok(value) => {
                return Ok(Asked {
                    answer: Ok(value),
                    spend,
                });
            }
            Err(reason) => reason,
        };
        if asked >= tries {
            let unusable = Unusable {
                asked,
                reason,
                cut_off: false,
                reply: reply.content,
            };
            return Ok(Asked {
                answer: Err(unusable),
                spend,
            });
        }
        params["attempt"] = (asked + 1).into();
        params["fault"] = reason.into();
    }
}

/// Calls `model` until `parse` accepts the reply, as often as `tries` allows.
///
/// After a refused reply, the model is shown that reply and what was wrong with it, or the request in [`Refused::next`].
///
/// # Errors
/// When a call fails for good. A model without any usable reply is not an error: see [`Asked::answer`].
pub async fn ask<T, E: Into<Refused>>(
    model: &dyn ChatModel,
    mut request: ChatRequest,
    tries: impl Into<Tries>,
    mut parse: impl FnMut(&ChatReply) -> Result<T, E> + Send,
) -> Result<Asked<T>, AskFailed> {
    let mut spend = Spend::default();
    let first = request.messages.len();
    let mut asked: u32 = 0;
    // Replies that could partly be used.
    let mut useful: u32 = 0;
    let tries = tries.into();
    let mut most = tries.at_most.saturating_add(tries.more_when_cached);
    loop {
        asked += 1;
        let reply = match model.chat(&request).await {
            Ok(reply) => reply,
            Err(error) => {
                spend.add(error.spend());
                return Err(AskFailed { error, spend });
            }
        };
        spend.add(&reply.spend());
        if reply.origin == Origin::Fetched {
            most = tries.at_most;
        }
        let Refused { reason, next } = match parse(&reply) {
            Ok(value) => {
                return Ok(Asked {
                    answer: Ok(value),
                    spend,
                });
            }
            Err(refused) => refused.into(),
        };
        useful += u32::from(matches!(next, NextQuestion::Rest { .. }));
        if asked >= most.saturating_add(useful) || next == NextQuestion::Nothing {
            let unusable = Unusable {
                asked,
                reason,
                cut_off: reply.finish == FinishReason::Length,
                reply: reply.content,
            };
            return Ok(Asked {
                answer: Err(unusable),
                spend,
            });
        }
        let (shown, text) = match next {
            NextQuestion::Other { shown, text } | NextQuestion::Rest { shown, text } => {
                (shown, text)
            }
            NextQuestion::Same | NextQuestion::Nothing => (
                reply.content,
                format!(
                    "Reply {asked} cannot be used: {reason}. Answer again with one JSON object and nothing else."
                ),
            ),
        };
        request.messages.truncate(first);
        // Some endpoints refuse a blank assistant message.
        let shown = match is_blank(&shown) {
            true => "(no answer)",
            false => &shown,
        };
        request.messages.push(Message::new(Role::Assistant, shown));
        request.messages.push(Message::new(Role::User, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_found_behind_thinking_and_fences() {
        for reply in [
            r#"{"present": false}"#,
            "  {\"present\": false}\n",
            "```json\n{\"present\": false}\n```",
            "```\n{\"present\": false}\n```",
            "<think>it could be {\"present\": true}</think>{\"present\": false}",
            "still thinking</think>\n{\"present\": false}",
        ] {
            let object = json_object(reply).unwrap_or_else(|error| panic!("{reply}: {error}"));
            assert_eq!(boolean(&object, "present"), Ok(false), "{reply}");
        }
    }

    #[test]
    fn anything_unclear_is_refused_with_a_reason() {
        for (reply, reason) in [
            ("", "empty"),
            ("<think>never ends {\"present\": true}", "empty"),
            ("Yes.", "starts with"),
            ("Sure! {\"present\": true}", "starts with"),
            ("{\"present\": true} I hope this helps", "not one valid"),
            ("{\"present\": true}{\"present\": false}", "not one valid"),
            ("{\"present\": true, \"present\": false}", "twice"),
            ("{\"present\": tr", "cut off"),
            ("[true]", "starts with"),
            ("null", "starts with"),
        ] {
            let error = json_object(reply).unwrap_err();
            assert!(error.contains(reason), "{reply}: {error}");
        }
    }

    #[test]
    fn only_booleans_are_booleans() {
        for reply in [
            "{\"present\": \"true\"}",
            "{\"present\": 1}",
            "{\"present\": null}",
            "{}",
        ] {
            boolean(&json_object(reply).unwrap(), "present").unwrap_err();
        }
    }

    #[test]
    fn thinking_is_kept_apart() {
        assert_eq!(split_thinking("plain "), ("plain ".to_owned(), None));
        assert_eq!(
            split_thinking("<think>a</think> said <thinking>b</thinking>"),
            ("said".to_owned(), Some("a\nb".to_owned()))
        );
        assert_eq!(
            split_thinking("<think>open"),
            (String::new(), Some("open".to_owned()))
        );
        assert_eq!(
            split_thinking("<think></think>\n\nhi"),
            ("hi".to_owned(), None)
        );
    }

    /// Answers from a list, saying of each whether it came from the cache.
    struct Listed(
        crate::ModelId,
        std::sync::Mutex<Vec<(&'static str, Origin)>>,
    );

    #[async_trait::async_trait]
    impl ChatModel for Listed {
        fn id(&self) -> &crate::ModelId {
            &self.0
        }
        async fn chat(&self, _: &ChatRequest) -> Result<ChatReply, ModelError> {
            let (text, origin) = self.1.lock().unwrap().remove(0);
            Ok(ChatReply {
                origin,
                ..ChatReply::text(text)
            })
        }
    }

    async fn asked(replies: &[(&'static str, Origin)], tries: impl Into<Tries>) -> (bool, usize) {
        let model = Listed(crate::ModelId::new("m").unwrap(), replies.to_vec().into());
        let context = CallContext::new(crate::Purpose::GenMetrics, "metrics");
        let request = ChatRequest::new(vec![Message::new(Role::User, "?")], context);
        let asked = ask(&model, request, tries, |reply| json_object(&reply.content)).await;
        let left = model.1.lock().unwrap().len();
        (asked.unwrap().answer.is_ok(), replies.len() - left)
    }

    #[tokio::test]
    async fn a_later_run_asks_one_new_question() {
        use Origin::{Cached, Fetched};
        let tries = Tries {
            at_most: 2,
            more_when_cached: 3,
        };
        let fresh = [("no", Fetched), ("no", Fetched), ("{}", Fetched)];
        assert_eq!(asked(&fresh, tries).await, (false, 2));
        let later = [("no", Cached), ("no", Cached), ("{}", Fetched)];
        assert_eq!(asked(&later, tries).await, (true, 3));
        assert_eq!(asked(&later, 2).await, (false, 2));
        let in_vain = [
            ("no", Cached),
            ("no", Cached),
            ("no", Fetched),
            ("{}", Fetched),
        ];
        assert_eq!(asked(&in_vain, tries).await, (false, 3));
        assert_eq!(asked(&[("no", Cached); 6], tries).await, (false, 5));
    }
}
