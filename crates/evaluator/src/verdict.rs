//! How a judge's reply is read.

use std::sync::{Arc, LazyLock};

use schema::{Extra, Metric, ResponseFormat, Verdict, VerdictType, reply};
use serde_json::{Value, json};

use crate::quotes;

/// A judge's verdict and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeReply {
    /// A verdict that the metric allows.
    pub verdict: Verdict,
    /// The judge's reason. Never blank.
    pub justification: String,
}

/// Parses a reply about `metric` strictly: one JSON object with the verdict and a `justification` that is not blank. The verdict is
/// `present`, a boolean; for a metric with a scale it is `value`, a whole number of the scale; for a metric with categories it is `label`,
/// one of the labels exactly as written. Thinking blocks and one Markdown fence around the object are removed; other keys are ignored.
///
/// ```
/// use schema::{Metric, MetricType, Verdict};
///
/// let mut metric = Metric::new("m", "n", MetricType::Positive, "d");
/// let reply = evaluator::verdict::parse(r#"{"present": false, "justification": "Nothing of the sort."}"#, &metric).unwrap();
/// assert_eq!(reply.verdict, Verdict::yes_no(false));
/// metric.verdict = Some(serde_json::from_str(r#"{"type": "scale", "min": 1, "max": 5, "threshold": 4}"#)?);
/// let reason = evaluator::verdict::parse(r#"{"value": 6, "justification": "Much."}"#, &metric).unwrap_err();
/// assert_eq!(reason, r#""value" is 6, not a whole number from 1 to 5"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// The reason, in words that can be sent back to the judge.
pub fn parse(reply: &str, metric: &Metric) -> Result<JudgeReply, String> {
    let object = reply::json_object(reply)?;
    let verdict = match &metric.verdict {
        None => Verdict::yes_no(reply::boolean(&object, "present")?),
        Some(VerdictType::Scale { min, max, .. }) => Verdict::scale(value(&object, *min, *max)?),
        Some(VerdictType::Categories { labels, .. }) => Verdict::category(label(&object, labels)?),
    };
    Ok(JudgeReply {
        verdict,
        justification: reply::text(&object, "justification")?.to_owned(),
    })
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

/// The response format of a judge's reply about a metric of this `verdict`, with quotes or without.
#[must_use]
pub fn response_format(verdict: Option<&VerdictType>, quotes: bool) -> ResponseFormat {
    static NAME: LazyLock<Arc<str>> = LazyLock::new(|| "verdict".into());
    static YES_NO: LazyLock<Arc<Value>> =
        LazyLock::new(|| Arc::new(form("present", json!({"type": "boolean"}))));
    let mut schema = match verdict {
        None => Arc::clone(&YES_NO),
        // Not every endpoint accepts the bounds of a number, so only the prompt has them.
        Some(VerdictType::Scale { .. }) => Arc::new(form("value", json!({"type": "integer"}))),
        Some(VerdictType::Categories { labels, .. }) => {
            Arc::new(form("label", json!({"type": "string", "enum": labels})))
        }
    };
    if quotes {
        let schema = Arc::make_mut(&mut schema);
        schema["properties"]["quotes"] = quotes::form();
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("quotes".into());
        }
    }
    ResponseFormat::JsonSchema {
        name: Arc::clone(&NAME),
        schema,
    }
}

fn form(key: &str, verdict: Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            key: verdict,
            "justification": {"type": "string"},
        },
        "required": [key, "justification"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
                Verdict::scale(value)
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
            Verdict::category("hedges")
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
            verdict: Verdict::yes_no(true),
            justification: "so".into(),
        };
        assert_eq!(parse(reply, &metric(Value::Null)), Ok(expected));
    }
}
