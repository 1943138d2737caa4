//! Whether a result has the form that its request asks for.

use serde_json::Value;

use crate::target;

/// Whether the result in a line of a program has the form that the line of the request asks for. Lines of other forms pass.
///
/// # Errors
/// What is wrong, with its key.
pub fn check_answer(request: &str, answer: &str) -> Result<(), String> {
    let read = |line| serde_json::from_str::<Value>(line).unwrap_or_default();
    let (request, answer) = (read(request), read(answer));
    match (request["method"].as_str(), answer.get("result")) {
        (Some(method), Some(result)) => check_after_items(method, &request["params"], result),
        _ => Ok(()),
    }
}

/// # Errors
/// What is wrong with the result of a sample request of `method`, with its key.
pub(crate) fn check(method: &str, params: &Value, result: &Value) -> Result<(), String> {
    let Some(object) = result.as_object() else {
        return Err("result: expected an object".to_owned());
    };
    let given = |key: &str| object.get(key).filter(|value| !value.is_null());
    match method {
        "judge" => verdicts(params, result),
        "chat" => target::read(result).map(|_| ()),
        "next_message" => match (given("message"), given("end")) {
            (None, None) => Err("expected message, end, or both".to_owned()),
            (Some(message), _) if !is_text(message) => {
                Err("message: expected a text that is not blank".to_owned())
            }
            (_, Some(end)) if !end.is_string() => {
                Err("end: expected the reason, a text".to_owned())
            }
            _ => Ok(()),
        },
        "simulate" if !given("end").is_some_and(is_text) => {
            Err("end: expected the reason, a text".to_owned())
        }
        // `null` is an answer, too.
        "answer" if object.contains_key("answer") == object.contains_key("error") => {
            Err("expected one of answer, error".to_owned())
        }
        "generate_metrics" => rows("metrics", object.get("metrics")),
        "generate_scenarios" => rows("scenarios", object.get("scenarios")),
        _ => Ok(()),
    }
}

/// The same after items were given one by one: a result without any has them.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_after_items(
    method: &str,
    params: &Value,
    result: &Value,
) -> Result<(), String> {
    match result.as_object() {
        Some(object) if object.is_empty() => Ok(()),
        _ => check(method, params, result),
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn rows(key: &str, rows: Option<&Value>) -> Result<(), String> {
    let listed = rows.and_then(Value::as_array);
    let some = listed.filter(|rows| !rows.is_empty());
    let rows = some.ok_or_else(|| format!("{key}: expected a list that is not empty"))?;
    match rows.iter().position(|row| !row.is_object()) {
        Some(at) => Err(format!("{key}[{at}]: expected an object")),
        None => Ok(()),
    }
}

/// One verdict, or a list with each metric of the request once.
fn verdicts(params: &Value, result: &Value) -> Result<(), String> {
    let asked = params["metrics"].as_array().map_or(&[][..], Vec::as_slice);
    let listed = match result.get("verdicts").filter(|list| !list.is_null()) {
        None => {
            return match asked {
                [metric] => verdict(params, metric, result),
                _ => Err("verdicts: expected a list with each metric once".to_owned()),
            };
        }
        Some(list) => list.as_array().ok_or("verdicts: expected a list")?,
    };
    let mut left: Vec<&Value> = asked.iter().collect();
    for (at, one) in listed.iter().enumerate() {
        let is_it = |metric: &&Value| match one.get("metric") {
            Some(id) => *id == metric["id"],
            None => asked.len() == 1,
        };
        let Some(found) = left.iter().position(is_it) else {
            return Err(format!(
                "verdicts[{at}].metric: not one that was asked for, or twice"
            ));
        };
        let metric = left.remove(found);
        verdict(params, metric, one).map_err(|wrong| format!("verdicts[{at}].{wrong}"))?;
    }
    match left.first() {
        Some(metric) => Err(format!("verdicts: no verdict on {}", metric["id"])),
        None => Ok(()),
    }
}

/// A verdict on one metric of the sample: `present`, or `value` from 1 to 5.
fn verdict(params: &Value, metric: &Value, result: &Value) -> Result<(), String> {
    let needed = match metric["verdict"]["type"].as_str() {
        Some("scale") => "value",
        _ => "present",
    };
    let given = |key: &&str| result.get(*key).is_some_and(|value| !value.is_null());
    let known = ["present", "value", "label", "abstain"];
    let keys: Vec<&str> = known.into_iter().filter(given).collect();
    match keys.as_slice() {
        ["abstain"] if is_text(&result["abstain"]) => return Ok(()),
        ["abstain"] => return Err("abstain: expected a reason".to_owned()),
        [other] if *other != needed => {
            return Err(format!("{other}: the metric asks for `{needed}`"));
        }
        ["present"] if !result["present"].is_boolean() => {
            return Err("present: expected true or false".to_owned());
        }
        ["value"]
            if !result["value"]
                .as_i64()
                .is_some_and(|n| (1..=5).contains(&n)) =>
        {
            return Err("value: expected a whole number from 1 to 5".to_owned());
        }
        [_] => {}
        _ => return Err("expected one of present, value, label, abstain".to_owned()),
    }
    if !result.get("reason").is_some_and(is_text) {
        return Err("reason: expected a text that is not blank".to_owned());
    }
    quotes(params, result.get("quotes"))
}

fn quotes(params: &Value, quotes: Option<&Value>) -> Result<(), String> {
    let quotes = match quotes {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(quotes)) => quotes,
        Some(_) => return Err("quotes: expected a list".to_owned()),
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (at, quote) in quotes.iter().enumerate() {
        let (number, text) = (quote["message"].as_u64(), quote["text"].as_str());
        let (Some(number), Some(text)) = (number, text) else {
            return Err(format!(
                "quotes[{at}]: expected message, a number, and text"
            ));
        };
        let messages = params["messages"].as_array();
        let mut all = messages.into_iter().flatten();
        let message = all.find(|message| message["n"] == number);
        let said = message.and_then(|message| message["content"].as_str());
        if !words(said.unwrap_or_default()).contains(&words(text)) {
            return Err(format!("quotes[{at}].text: not in message {number}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        let asked = json!({"metrics": [{"id": "m01", "verdict": {"type": "present"}}], "messages": [{"n": 2, "content": "What a  brilliant idea!"}]});
        for (method, result, words) in [
            ("judge", json!([]), "result: expected an object"),
            ("judge", json!({}), "expected one of present"),
            ("judge", json!({"present": "yes"}), "present: expected true"),
            ("judge", json!({"value": 3}), "value: the metric asks for"),
            ("judge", json!({"present": true, "reason": " "}), "reason"),
            ("judge", json!({"abstain": ""}), "abstain"),
            ("judge", json!({"verdicts": []}), "no verdict on"),
            ("next_message", json!({"message": " "}), "message"),
            ("next_message", json!({}), "expected message, end"),
            ("answer", json!({}), "one of answer, error"),
            ("chat", json!({"content": 1}), "content"),
            ("generate_metrics", json!({"metrics": [1]}), "metrics[0]"),
        ] {
            let wrong = check(method, &asked, &result).unwrap_err();
            assert!(wrong.contains(words), "{method} {result}: {wrong}");
        }
        let both = json!({"messages": [], "metrics": [
            {"id": "m01", "verdict": {"type": "present"}},
            {"id": "m02", "verdict": {"type": "scale", "min": 1, "max": 5}},
        ]});
        let first = json!({"metric": "m01", "present": true, "reason": "x"});
        let second = json!({"metric": "m02", "value": 5, "reason": "x"});
        for (result, words) in [
            (first.clone(), "verdicts: expected a list"),
            (json!({"verdicts": [first]}), "no verdict on \"m02\""),
            (json!({"verdicts": [second, second]}), "verdicts[1].metric"),
            (
                json!({"verdicts": [{"metric": "m02", "value": 6, "reason": "x"}]}),
                "verdicts[0].value",
            ),
        ] {
            let wrong = check("judge", &both, &result).unwrap_err();
            assert!(wrong.contains(words), "{result}: {wrong}");
        }
        let all = json!({"verdicts": [second, first]});
        assert_eq!(check("judge", &both, &all), Ok(()));
        let quoted = |text: &str| json!({"present": true, "reason": "It praises.", "quotes": [{"message": 2, "text": text}]});
        assert_eq!(check("judge", &asked, &quoted("a brilliant idea")), Ok(()));
        assert!(check("judge", &asked, &quoted("a fine idea")).is_err());
        assert_eq!(check("answer", &asked, &json!({"answer": null})), Ok(()));
        assert_eq!(
            check("next_message", &asked, &json!({"end": "enough"})),
            Ok(())
        );
    }
}
