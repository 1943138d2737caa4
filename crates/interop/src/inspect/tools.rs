//! Tools, their calls and their answers, in Inspect's format.

use std::io;

use schema::{Extra, Scenario, Tool, ToolCall};
use serde::Serialize;
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};

use crate::Run;

/// The tools of a benchmark as `ToolInfo`, created once for a log.
pub(super) struct Tools(Vec<(String, Box<RawValue>)>);

impl Tools {
    pub(super) fn of(run: &Run) -> io::Result<Self> {
        let tools = run.benchmark.tools.iter();
        let infos = tools.map(|tool| Ok((tool.name.clone(), to_raw_value(&info(tool))?)));
        infos.collect::<io::Result<_>>().map(Self)
    }

    /// The tools that the target may call in `scenario`.
    pub(super) fn offered<'a>(&'a self, run: &'a Run, scenario: &'a Scenario) -> Vec<&'a RawValue> {
        let names = run.tools(scenario).map(|tool| &tool.name);
        let info = |name| self.0.iter().find(|(known, _)| known == name);
        names.filter_map(info).map(|(_, info)| &**info).collect()
    }
}

fn info(tool: &Tool) -> Value {
    let schema = &tool.parameters;
    let mut parameters = json!({"type": "object", "properties": properties(schema, DEPTH)});
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.insert("required".to_owned(), required(schema));
        let more = schema.get("additionalProperties").and_then(Value::as_bool);
        parameters.insert(
            "additionalProperties".to_owned(),
            more.unwrap_or(true).into(),
        );
    }
    json!({"name": tool.name, "description": tool.description, "parameters": parameters})
}

/// The deepest level of nested schemas that is followed.
const DEPTH: u8 = 16;

/// The types that Inspect supports.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "array", "object", "null",
];

/// The parts of a JSON schema that Inspect accepts. Its reader refuses a log if a keyword has a wrong type, so the rest is left out;
/// the log's metadata contain the unchanged schema.
fn schema(given: &Value, depth: u8) -> Value {
    let mut kept = Map::new();
    let Some((given, depth)) = given.as_object().zip(depth.checked_sub(1)) else {
        return Value::Object(kept);
    };
    for (key, value) in given {
        let fits = match key.as_str() {
            "type" => is_type(value),
            "format" | "description" | "pattern" => value.is_string(),
            "enum" | "examples" => value.is_array(),
            "minLength" | "maxLength" => value.is_u64(),
            "minimum" | "maximum" => value.is_number(),
            "default" => true,
            _ => false,
        };
        if fits {
            kept.insert(key.clone(), value.clone());
        }
        let inside = match (key.as_str(), value) {
            ("items", Value::Object(_)) => schema(value, depth),
            ("additionalProperties", Value::Bool(_)) => value.clone(),
            ("additionalProperties", Value::Object(_)) => schema(value, depth),
            ("anyOf", Value::Array(any)) => any.iter().map(|one| schema(one, depth)).collect(),
            ("properties", Value::Object(all)) => {
                let all = all.iter();
                all.map(|(name, one)| (name.clone(), schema(one, depth)))
                    .collect()
            }
            ("required", Value::Array(names)) if names.iter().all(Value::is_string) => {
                value.clone()
            }
            _ => continue,
        };
        kept.insert(key.clone(), inside);
    }
    Value::Object(kept)
}

fn is_type(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    known(value)
        || value
            .as_array()
            .is_some_and(|names| names.iter().all(known))
}

fn properties(given: &Value, depth: u8) -> Value {
    let inside = schema(&json!({"properties": given.get("properties")}), depth);
    inside
        .get("properties")
        .cloned()
        .unwrap_or_else(|| json!({}))
}

fn required(given: &Value) -> Value {
    let names = given
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|name| name.is_string());
    names.cloned().collect()
}

/// A tool call of a message.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    id: &'a str,
    function: &'a str,
    arguments: Extra,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parse_error: Option<String>,
}

impl<'a> Call<'a> {
    pub(super) fn of(call: &'a ToolCall) -> Self {
        let (arguments, parse_error) = match call.object() {
            Ok(arguments) => (arguments, None),
            Err(why) => (Extra::new(), Some(format!("{why}: {}", call.arguments))),
        };
        Self {
            id: &call.id,
            function: &call.name,
            arguments,
            r#type: "function",
            parse_error,
        }
    }
}

/// The error of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CallError {
    r#type: &'static str,
    message: String,
}

/// The error in an answer that is `{"error": "…"}` and nothing else.
pub(super) fn error_of(answer: &str) -> Option<CallError> {
    // Most answers are not errors: they need not be parsed.
    if !answer.trim_start().starts_with('{') {
        return None;
    }
    let answer: Map<String, Value> = serde_json::from_str(answer).ok()?;
    let message = answer
        .get("error")
        .filter(|_| answer.len() == 1)?
        .as_str()?;
    Some(CallError {
        r#type: "unknown",
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_inspect_would_refuse_is_cut_to_what_it_takes() {
        let tool: Tool = serde_json::from_value(json!({
            "name": "pay", "description": "d", "answer": "ok",
            "parameters": {
                "type": "object", "required": ["to", 5], "additionalProperties": {"type": "string"},
                "properties": {
                    "to": {"type": "string", "minLength": -1, "$ref": "#/x"},
                    "n": {"type": "count", "anyOf": [{"type": ["integer", "null"]}, 7], "minimum": 0.5},
                    "list": {"type": "array", "items": [1], "enum": "no list"},
                    "odd": true,
                },
            },
        }))
        .unwrap();
        let expected = json!({
            "name": "pay", "description": "d",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": {"type": "string"},
                    "n": {"anyOf": [{"type": ["integer", "null"]}, {}], "minimum": 0.5},
                    "list": {"type": "array"},
                    "odd": {},
                },
                "required": ["to"],
                "additionalProperties": true,
            },
        });
        assert_eq!(info(&tool), expected);
        for no_schema in [
            json!("text"),
            json!(null),
            json!([1]),
            json!({"properties": 5}),
        ] {
            let tool = Tool {
                parameters: no_schema,
                ..tool.clone()
            };
            assert_eq!(info(&tool)["parameters"]["properties"], json!({}));
        }
    }

    #[test]
    fn only_an_answer_that_is_an_error_and_nothing_else_is_one() {
        let message = |answer: &str| error_of(answer).map(|error| error.message);
        assert_eq!(
            message(r#" {"error": "no such account"}"#).unwrap(),
            "no such account"
        );
        for answer in [
            "",
            "error",
            r#"{"error": 5}"#,
            r#"{"error": "x", "id": 1}"#,
            "{",
        ] {
            assert_eq!(message(answer), None, "{answer}");
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_kept_in_the_error() {
        let call = ToolCall {
            id: "c".into(),
            name: "f".into(),
            arguments: "{oops".into(),
        };
        let call = serde_json::to_value(Call::of(&call)).unwrap();
        assert_eq!(call["arguments"], json!({}));
        assert!(call["parse_error"].as_str().unwrap().ends_with(": {oops"));
    }
}
