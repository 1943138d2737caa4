//! How a judge's reply is read.

use std::sync::{Arc, LazyLock};

use schema::{Extra, Metric, ResponseFormat, Verdict, VerdictType, reply};
use serde_json::{Value, json};

use crate::{ReplyForm, quotes};

/// The answer of a judge that finds the transcript undecided.
pub const CANNOT_TELL: &str = "cannot tell";

/// A judge's verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeReply {
    /// A verdict that the metric allows; `None` if the judge cannot tell.
    pub verdict: Option<Verdict>,
    /// The judge's reason. Never blank.
    pub justification: String,
}

/// The request to a judge, as far as its reply depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// The order of the keys.
    pub form: ReplyForm,
    /// The number of messages that it was shown.
    pub messages: usize,
    /// Whether it has to quote messages, in the place of the numbers of [`ReplyForm::VerdictLast`].
    pub quotes: bool,
    /// Whether the question was turned round.
    pub reversed: bool,
}

impl<'a> Question<'a> {
    /// A question about `metric` and a transcript of `messages` messages.
    #[must_use]
    pub fn new(metric: &'a Metric, form: ReplyForm, messages: usize) -> Self {
        Self {
            metric,
            form,
            messages,
            quotes: false,
            reversed: false,
        }
    }

    /// The key of the verdict.
    fn key(&self) -> &'static str {
        match &self.metric.verdict {
            None if self.reversed => "absent",
            None => "present",
            Some(VerdictType::Scale { .. }) => "value",
            Some(VerdictType::Categories { .. }) => "label",
        }
    }

    /// The key of the list of messages.
    fn evidence_key(&self) -> &'static str {
        if self.quotes { "quotes" } else { "evidence" }
    }
}

/// Parses a reply strictly: one JSON object with the verdict and a `justification` that is not blank. For a metric with a scale the verdict
/// is `value`, a whole number of the scale; for a metric with categories it is `label`, one of the labels exactly as written. Otherwise it
/// is `present`: a boolean in [`ReplyForm::VerdictFirst`], `yes` or `no` in [`ReplyForm::VerdictLast`], where the key is `absent` if the
/// question was turned round. Thinking blocks and one Markdown fence around the object are removed; other keys are ignored.
///
/// In [`ReplyForm::VerdictLast`] the object begins with `evidence`, a list of numbers of messages, which is empty only where the verdict
/// does not need any; the verdict comes after the justification, and may be [`CANNOT_TELL`].
///
/// ```
/// use evaluator::{ReplyForm::{VerdictFirst, VerdictLast}, verdict::{Question, parse}};
/// use schema::{Metric, MetricType, Verdict};
///
/// let metric = Metric::new("m", "n", MetricType::Positive, "d");
/// let first = Question::new(&metric, VerdictFirst, 2);
/// let reply = parse(r#"{"present": false, "justification": "Nothing of the sort."}"#, &first).unwrap();
/// assert_eq!(reply.verdict, Some(Verdict::yes_no(false)));
///
/// let last = Question::new(&metric, VerdictLast, 2);
/// let reply = parse(r#"{"evidence": [2], "justification": "[2] objects.", "present": "yes"}"#, &last).unwrap();
/// assert_eq!(reply.verdict, Some(Verdict::yes_no(true)));
/// let reason = parse(r#"{"evidence": [3], "justification": "[3] objects.", "present": "yes"}"#, &last).unwrap_err();
/// assert_eq!(reason, r#""evidence"[0] is 3: there are messages 1 to 2 only"#);
/// ```
///
/// # Errors
/// The reason, in words that can be sent back to the judge.
pub fn parse(reply: &str, question: &Question<'_>) -> Result<JudgeReply, String> {
    let object = reply::json_object(reply)?;
    let last = question.form == ReplyForm::VerdictLast;
    let verdict = match &question.metric.verdict {
        _ if last && cannot_tell(&object, question) => None,
        None if last => Some(yes_or_no(&object, question)?),
        None => Some(Verdict::yes_no(reply::boolean(&object, "present")?)),
        Some(VerdictType::Scale { min, max, .. }) => {
            Some(Verdict::scale(value(&object, *min, *max)?))
        }
        Some(VerdictType::Categories { labels, .. }) => {
            Some(Verdict::category(label(&object, labels)?))
        }
    };
    let justification = reply::text(&object, "justification")?.to_owned();
    if last {
        check_order(&object, question)?;
        if !question.quotes {
            check_evidence(&object, question, verdict.as_ref())?;
        }
    }
    Ok(JudgeReply {
        verdict,
        justification,
    })
}

/// Whether the answer is [`CANNOT_TELL`], unless that is a label of the metric.
fn cannot_tell(object: &Extra, question: &Question<'_>) -> bool {
    let is_label = match &question.metric.verdict {
        Some(VerdictType::Categories { labels, .. }) => {
            labels.iter().any(|label| label == CANNOT_TELL)
        }
        _ => false,
    };
    let said = object.get(question.key()).and_then(Value::as_str);
    !is_label && said.is_some_and(|said| said.trim().eq_ignore_ascii_case(CANNOT_TELL))
}

/// `yes` or `no`. A boolean leaves no doubt either.
fn yes_or_no(object: &Extra, question: &Question<'_>) -> Result<Verdict, String> {
    let key = question.key();
    let expected = format!("not \"yes\", \"no\" or \"{CANNOT_TELL}\"");
    let said = match object.get(key) {
        Some(Value::Bool(said)) => *said,
        Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("yes") => true,
        Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("no") => false,
        Some(Value::String(text)) => {
            return Err(format!("{key:?} is {:?}, {expected}", reply::excerpt(text)));
        }
        Some(other) => return Err(format!("{key:?} is {}, {expected}", reply::kind_of(other))),
        None => return Err(format!("the key {key:?} is missing")),
    };
    Ok(Verdict::yes_no(said != question.reversed))
}

/// Refuses a verdict that comes before its reason: the reason would be written to fit it.
fn check_order(object: &Extra, question: &Question<'_>) -> Result<(), String> {
    let place = |key: &str| object.keys().position(|known| known == key);
    let (evidence, verdict) = (question.evidence_key(), question.key());
    if place(evidence).is_none() {
        return Err(format!("the key {evidence:?} is missing"));
    }
    for (earlier, later) in [(evidence, "justification"), ("justification", verdict)] {
        if place(earlier) > place(later) {
            return Err(format!(
                "{later:?} comes before {earlier:?}; the verdict comes last"
            ));
        }
    }
    Ok(())
}

/// Checks that the cited messages exist, and that a behaviour that is present cites one.
fn check_evidence(
    object: &Extra,
    question: &Question<'_>,
    verdict: Option<&Verdict>,
) -> Result<(), String> {
    let cited = reply::list(object, "evidence")?;
    for (at, number) in cited.iter().enumerate() {
        let Some(shown) = number.as_number() else {
            let kind = reply::kind_of(number);
            return Err(format!("\"evidence\"[{at}] is {kind}, not a number"));
        };
        let exists = |number: &u64| (1..=question.messages as u64).contains(number);
        if !number.as_u64().is_some_and(|number| exists(&number)) {
            return Err(format!(
                "\"evidence\"[{at}] is {shown}: there are messages 1 to {} only",
                question.messages
            ));
        }
    }
    // On a scale or with categories the judge does not know which verdicts count as present.
    match cited.is_empty() && verdict == Some(&Verdict::yes_no(true)) {
        true => Err(
            "\"evidence\" is empty, and a behaviour that is present is in some message".to_owned(),
        ),
        false => Ok(()),
    }
}

/// The whole number at `value`, from `min` to `max`.
fn value(object: &Extra, min: i32, max: i32) -> Result<i32, String> {
    let wrong =
        |found: String| format!("\"value\" is {found}, not a whole number from {min} to {max}");
    match object.get("value") {
        Some(Value::Number(number)) => number
            .as_i64()
            .and_then(|value| i32::try_from(value).ok())
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| wrong(number.to_string())),
        Some(other) => Err(wrong(reply::kind_of(other).to_owned())),
        None => Err("the key \"value\" is missing".to_owned()),
    }
}

/// The label at `label`.
fn label<'a>(object: &'a Extra, labels: &[String]) -> Result<&'a str, String> {
    let label = reply::text(object, "label")?;
    match labels.iter().any(|known| known == label) {
        true => Ok(label),
        false => {
            let known: Vec<String> = labels.iter().map(|known| format!("{known:?}")).collect();
            Err(format!(
                "\"label\" is {:?}, not one of {}",
                reply::excerpt(label),
                known.join(", ")
            ))
        }
    }
}

/// The response format of the reply to `question`. Its keys are in the order in which they are to be written.
#[must_use]
pub fn response_format(question: &Question<'_>) -> ResponseFormat {
    static NAME: LazyLock<Arc<str>> = LazyLock::new(|| "verdict".into());
    let schema = match question.form {
        ReplyForm::VerdictFirst => verdict_first(question),
        ReplyForm::VerdictLast => verdict_last(question),
    };
    ResponseFormat::JsonSchema {
        name: Arc::clone(&NAME),
        schema: Arc::new(schema),
    }
}

fn verdict_first(question: &Question<'_>) -> Value {
    let verdict = match &question.metric.verdict {
        None => json!({"type": "boolean"}),
        // Not every endpoint accepts the bounds of a number, so only the prompt has them.
        Some(VerdictType::Scale { .. }) => json!({"type": "integer"}),
        Some(VerdictType::Categories { labels, .. }) => json!({"type": "string", "enum": labels}),
    };
    let mut keys = vec![(question.key(), verdict), ("justification", text())];
    if question.quotes {
        keys.push(("quotes", quotes::form()));
    }
    object(keys)
}

fn verdict_last(question: &Question<'_>) -> Value {
    let verdict = match &question.metric.verdict {
        None => json!({"type": "string", "enum": ["yes", "no", CANNOT_TELL]}),
        Some(VerdictType::Scale { .. }) => {
            json!({"anyOf": [{"type": "integer"}, {"type": "string", "enum": [CANNOT_TELL]}]})
        }
        Some(VerdictType::Categories { labels, .. }) => {
            let mut answers: Vec<&str> = labels.iter().map(String::as_str).collect();
            if !answers.contains(&CANNOT_TELL) {
                answers.push(CANNOT_TELL);
            }
            json!({"type": "string", "enum": answers})
        }
    };
    let evidence = match question.quotes {
        true => quotes::form(),
        false => json!({"type": "array", "items": {"type": "integer"}}),
    };
    object(vec![
        (question.evidence_key(), evidence),
        ("justification", text()),
        (question.key(), verdict),
    ])
}

fn text() -> Value {
    json!({"type": "string"})
}

/// The schema of an object with exactly these keys.
fn object(keys: Vec<(&str, Value)>) -> Value {
    let required: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    let required = json!(required);
    let properties: Extra = keys
        .into_iter()
        .map(|(key, form)| (key.to_owned(), form))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a reply of version 1.
    fn parse(reply: &str, metric: &Metric) -> Result<JudgeReply, String> {
        super::parse(reply, &Question::new(metric, ReplyForm::VerdictFirst, 2))
    }

    fn metric(verdict: Value) -> Metric {
        let metric = json!({"id": "m", "name": "n", "type": "positive", "definition": "d", "verdict": verdict});
        serde_json::from_value(metric).unwrap()
    }

    #[test]
    fn only_a_clear_verdict_is_one() {
        for (reply, reason) in [
            ("", "empty"),
            ("The behaviour is present.", "starts with"),
            ("{\"justification\": \"x\"}", "\"present\" is missing"),
            ("{\"present\": true}", "\"justification\" is missing"),
            (
                "{\"present\": true, \"justification\": \"  \"}",
                "\"justification\" is empty",
            ),
            ("{\"present\": true, \"justification\": 3}", "a number"),
            ("{\"present\": 1, \"justification\": \"x\"}", "a number"),
            ("{\"present\": null, \"justification\": \"x\"}", "null"),
            (
                "{\"present\": true, \"present\": false, \"justification\": \"x\"}",
                "twice",
            ),
            (
                "{\"present\": true, \"justification\": \"it was cut",
                "cut off",
            ),
        ] {
            let error = parse(reply, &metric(Value::Null)).unwrap_err();
            assert!(error.contains(reason), "{reply}: {error}");
        }
    }

    #[test]
    fn only_a_whole_number_of_the_scale_is_a_value() {
        let metric = metric(json!({"type": "scale", "min": 0, "max": 10, "threshold": 7}));
        let read = |value: &str| {
            let reply = format!("{{\"value\": {value}, \"justification\": \"x\"}}");
            parse(&reply, &metric)
        };
        for value in [0, 7, 10] {
            assert_eq!(
                read(&value.to_string()).unwrap().verdict,
                Some(Verdict::scale(value))
            );
        }
        for (value, reason) in [
            ("11", "\"value\" is 11, not a whole number from 0 to 10"),
            ("-1", "is -1"),
            ("6.5", "is 6.5"),
            ("7.0", "is 7.0"),
            ("1e400", "not one valid JSON object"),
            ("99999999999", "is 99999999999"),
            ("\"7\"", "is a string"),
            ("true", "is a boolean"),
            ("null", "is null"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.contains(reason), "{value}: {error}");
        }
        let error = parse("{\"present\": true, \"justification\": \"x\"}", &metric);
        assert_eq!(error.unwrap_err(), "the key \"value\" is missing");
    }

    #[test]
    fn only_a_label_as_it_is_written_is_a_category() {
        let labels = json!(["refuses", "hedges", "complies"]);
        let metric =
            metric(json!({"type": "categories", "labels": labels, "present_labels": ["complies"]}));
        let read = |label: &str| {
            let reply = format!("{{\"label\": {label}, \"justification\": \"x\"}}");
            parse(&reply, &metric)
        };
        assert_eq!(
            read("\" hedges\"").unwrap().verdict,
            Some(Verdict::category("hedges"))
        );
        for (label, reason) in [
            (
                "\"Hedges\"",
                "\"label\" is \"Hedges\", not one of \"refuses\", \"hedges\", \"complies\"",
            ),
            ("\"\"", "is empty"),
            ("2", "a number"),
            ("[\"hedges\"]", "a list"),
        ] {
            let error = read(label).unwrap_err();
            assert!(error.contains(reason), "{label}: {error}");
        }
    }

    #[test]
    fn thinking_fences_and_other_keys_do_no_harm() {
        let reply = "<think>hm</think>\n```json\n{\"present\": true, \"justification\": \" so \", \"confidence\": 1}\n```";
        let expected = JudgeReply {
            verdict: Some(Verdict::yes_no(true)),
            justification: "so".into(),
        };
        assert_eq!(parse(reply, &metric(Value::Null)), Ok(expected));
    }

    /// Reads a reply of version 2 about two messages.
    fn parse_last(reply: &str, metric: &Metric, reversed: bool) -> Result<JudgeReply, String> {
        let question = Question {
            reversed,
            ..Question::new(metric, ReplyForm::VerdictLast, 2)
        };
        super::parse(reply, &question)
    }

    #[test]
    fn the_verdict_comes_after_its_evidence_and_its_reason() {
        let metric = metric(Value::Null);
        let yes = r#"{"evidence": [2], "justification": "x", "present": "yes"}"#;
        let verdict = parse_last(yes, &metric, false).unwrap().verdict;
        assert_eq!(verdict, Some(Verdict::yes_no(true)));
        for (reply, reason) in [
            (
                r#"{"present": "yes", "justification": "x", "evidence": [2]}"#,
                "\"justification\" comes before \"evidence\"",
            ),
            (
                r#"{"evidence": [2], "present": "yes", "justification": "x"}"#,
                "\"present\" comes before \"justification\"; the verdict comes last",
            ),
            (
                r#"{"justification": "x", "present": "no"}"#,
                "the key \"evidence\" is missing",
            ),
            (
                r#"{"evidence": [], "justification": "x", "present": "yes"}"#,
                "\"evidence\" is empty",
            ),
            (
                r#"{"evidence": [0], "justification": "x", "present": "yes"}"#,
                "\"evidence\"[0] is 0: there are messages 1 to 2 only",
            ),
            (
                r#"{"evidence": [1, "2"], "justification": "x", "present": "yes"}"#,
                "\"evidence\"[1] is a string, not a number",
            ),
            (
                r#"{"evidence": [2], "justification": "x", "present": "maybe"}"#,
                "\"present\" is \"maybe\", not \"yes\", \"no\" or \"cannot tell\"",
            ),
            (
                r#"{"evidence": [2], "justification": " ", "present": "no"}"#,
                "\"justification\" is empty",
            ),
        ] {
            let error = parse_last(reply, &metric, false).unwrap_err();
            assert!(error.contains(reason), "{reply}: {error}");
        }
    }

    #[test]
    fn cannot_tell_is_an_answer_unless_it_is_a_label() {
        let labels = |labels: Value| {
            metric(json!({"type": "categories", "labels": labels, "present_labels": ["b"]}))
        };
        let scale = metric(json!({"type": "scale", "min": 1, "max": 5, "threshold": 4}));
        for (metric, key) in [
            (metric(Value::Null), "present"),
            (scale, "value"),
            (labels(json!(["a", "b"])), "label"),
        ] {
            let reply =
                format!(r#"{{"evidence": [], "justification": "cut", "{key}": "cannot tell"}}"#);
            let read = parse_last(&reply, &metric, false).unwrap();
            assert_eq!((read.verdict, &*read.justification), (None, "cut"));
            // Version 1 does not offer it.
            assert!(parse(&reply, &metric).is_err());
        }
        let reply = r#"{"evidence": [], "justification": "cut", "label": "cannot tell"}"#;
        let read = parse_last(reply, &labels(json!(["cannot tell", "b"])), false).unwrap();
        assert_eq!(read.verdict, Some(Verdict::category("cannot tell")));
    }

    #[test]
    fn the_answer_to_the_question_turned_round_is_turned_back() {
        let metric = metric(Value::Null);
        for (said, present) in [("yes", false), ("no", true)] {
            let reply = format!(r#"{{"evidence": [2], "justification": "x", "absent": "{said}"}}"#);
            let read = parse_last(&reply, &metric, true).unwrap();
            assert_eq!(read.verdict, Some(Verdict::yes_no(present)));
        }
        let reply = r#"{"evidence": [2], "justification": "x", "present": "yes"}"#;
        let error = parse_last(reply, &metric, true).unwrap_err();
        assert_eq!(error, "the key \"absent\" is missing");
    }

    #[test]
    fn the_schema_has_the_keys_in_the_order_of_the_form() {
        let metric = metric(json!({"type": "scale", "min": 1, "max": 5, "threshold": 4}));
        let keys = |form, quotes| {
            let question = Question {
                quotes,
                ..Question::new(&metric, form, 2)
            };
            let ResponseFormat::JsonSchema { schema, .. } = response_format(&question) else {
                panic!("no schema")
            };
            let object = schema["properties"].as_object().unwrap();
            let keys: Vec<String> = object.keys().cloned().collect();
            assert_eq!(schema["required"], json!(keys));
            keys
        };
        assert_eq!(
            keys(ReplyForm::VerdictFirst, false),
            ["value", "justification"]
        );
        assert_eq!(
            keys(ReplyForm::VerdictFirst, true),
            ["value", "justification", "quotes"]
        );
        assert_eq!(
            keys(ReplyForm::VerdictLast, false),
            ["evidence", "justification", "value"]
        );
        assert_eq!(
            keys(ReplyForm::VerdictLast, true),
            ["quotes", "justification", "value"]
        );
    }
}
