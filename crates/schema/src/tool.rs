//! Tools that the system under test may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Extra;

/// A tool of a benchmark: one entry of `tools` in `benchmark.yaml`. The model sees name, description and parameters; only the
/// simulator sees how it is answered.
///
/// Exactly one of `answer`, `answers` and `simulated` determines how calls are answered; see [`Tool::check`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The function's name: letters, digits, `_` and `-`, 1 to 64. Unique in the benchmark.
    pub name: String,
    /// Its description, as sent to the model. May be empty.
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    pub description: String,
    /// JSON schema of the arguments, an object. Absent: no arguments.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// The answer to every call: text unchanged, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Answers by arguments. The first that matches is used.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub answers: Vec<ToolAnswer>,
    /// Whether a model that knows the world's state invents the answer.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    #[schemars(transform = crate::or_null)]
    pub simulated: bool,
    /// Keys that Probity does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One row of a tool's table of answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolAnswer {
    /// The arguments that it answers: the call has every key with an equal value; it may have others. Empty: any call.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Extra::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub when: Extra,
    /// The answer: text unchanged, anything else as JSON.
    pub answer: Value,
}

/// The schema of a tool without arguments.
fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Why a tool cannot be offered, explained to the author of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ToolError {
    /// The key path within the tool, such as `parameters.required`; empty if the whole tool is at fault.
    pub key: String,
    /// The mistake. The text names the key.
    pub reason: String,
}

impl ToolError {
    /// An error at `key`, which is empty for the whole tool.
    pub fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            reason: reason.into(),
        }
    }
}

impl Tool {
    /// The tool's definition, as sent to the model.
    #[must_use]
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
        }
    }

    /// Checks that the name can be sent and that there is exactly one way of answering. Does not check that `parameters` is a
    /// schema.
    ///
    /// # Errors
    /// The mistake, explained to the author of the file.
    pub fn check(&self) -> Result<(), ToolError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            let reason = format!(
                "`name` {:?} is not 1 to 64 letters, digits, `_` or `-`",
                self.name
            );
            return Err(ToolError::new("name", reason));
        }
        let ways = usize::from(self.answer.is_some())
            + usize::from(!self.answers.is_empty())
            + usize::from(self.simulated);
        match ways {
            1 => Ok(()),
            0 => Err(ToolError::new(
                "",
                "it has no answer: give `answer`, `answers` or `simulated: true`",
            )),
            _ => Err(ToolError::new(
                "answer",
                "it has more than one of `answer`, `answers` and `simulated`: keep one",
            )),
        }
    }
}

impl ToolAnswer {
    /// Whether it answers a call with `arguments`. Numbers are equal if their values are: `1` and `1.0`.
    #[must_use]
    pub fn fits(&self, arguments: &Extra) -> bool {
        let equal = |(key, wanted): (&String, &Value)| match (wanted, arguments.get(key)) {
            (_, None) => false,
            (Value::Number(wanted), Some(Value::Number(given))) => {
                wanted == given || wanted.as_f64() == given.as_f64()
            }
            (wanted, Some(given)) => wanted == given,
        };
        self.when.iter().all(equal)
    }
}

/// A tool as described to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// The function's name.
    pub name: String,
    /// Its description for the model. Empty: the model gets none.
    #[serde(default)]
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

/// Whether the model may call the tools of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must answer in words.
    None,
}

/// A tool call of a model, in the form of the chat completions API:
/// `{"id", "type": "function", "function": {"name", "arguments"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Wire", into = "Wire")]
#[schemars(with = "Wire")]
pub struct ToolCall {
    /// Distinguishes the call from others of its message; its answer refers to it.
    pub id: String,
    /// The tool, as the model named it. It may not exist.
    pub name: String,
    /// The arguments as the model wrote them. They should be a JSON object, but may not be.
    pub arguments: String,
}

/// [`ToolCall`] in requests and in files.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Wire {
    #[serde(default, deserialize_with = "crate::or_default")]
    #[schemars(transform = crate::or_null)]
    id: String,
    #[serde(rename = "type", default = "function")]
    kind: String,
    function: Function,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Arguments,
}

/// Text, or the object itself, which some endpoints and programs write.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Arguments {
    Text(String),
    Object(Value),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

fn function() -> String {
    "function".to_owned()
}

impl From<Wire> for ToolCall {
    fn from(wire: Wire) -> Self {
        Self {
            id: wire.id,
            name: wire.function.name,
            arguments: match wire.function.arguments {
                Arguments::Text(text) => text,
                Arguments::Object(Value::Null) => String::new(),
                Arguments::Object(value) => value.to_string(),
            },
        }
    }
}

impl From<ToolCall> for Wire {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.id,
            kind: function(),
            function: Function {
                name: call.name,
                arguments: Arguments::Text(call.arguments),
            },
        }
    }
}

impl ToolCall {
    /// The arguments as an object. Blank text counts as no arguments.
    ///
    /// # Errors
    /// Why they are not an object, in a text that can be sent back to the model.
    pub fn object(&self) -> Result<Extra, String> {
        if self.arguments.trim().is_empty() {
            return Ok(Extra::new());
        }
        match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => Err(format!(
                "the arguments are {}, not an object",
                crate::reply::kind_of(&other)
            )),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_form_of_the_wire() {
        let text =
            r#"{"id":"c1","type":"function","function":{"name":"pay","arguments":"{\"to\":1}"}}"#;
        let call: ToolCall = serde_json::from_str(text).unwrap();
        assert_eq!(call.object().unwrap()["to"], 1);
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
        let lax: ToolCall =
            serde_json::from_str(r#"{"function":{"name":"pay","arguments":{"to":1}}}"#).unwrap();
        assert_eq!(lax.arguments, r#"{"to":1}"#);
    }

    #[test]
    fn arguments_that_are_no_object_say_so() {
        let call = |arguments: &str| ToolCall {
            id: "c".into(),
            name: "f".into(),
            arguments: arguments.into(),
        };
        assert!(call(" ").object().unwrap().is_empty());
        assert!(call("[1]").object().unwrap_err().contains("a list"));
        assert!(
            call("{oops")
                .object()
                .unwrap_err()
                .contains("not valid JSON")
        );
    }

    #[test]
    fn exactly_one_way_of_answering() {
        let tool = |text: &str| serde_json::from_str::<Tool>(text).unwrap().check();
        tool(r#"{"name": "a", "answer": 1}"#).unwrap();
        tool(r#"{"name": "a", "simulated": true}"#).unwrap();
        assert!(
            tool(r#"{"name": "a"}"#)
                .unwrap_err()
                .reason
                .contains("no answer")
        );
        assert!(
            tool(r#"{"name": "a", "answer": 1, "simulated": true}"#)
                .unwrap_err()
                .reason
                .contains("more than one")
        );
        assert!(tool(r#"{"name": "a b", "answer": 1}"#).is_err());
    }

    #[test]
    fn a_row_of_the_table_fits_by_the_keys_it_has() {
        let row: ToolAnswer =
            serde_json::from_str(r#"{"when": {"n": 1, "to": "x"}, "answer": "ok"}"#).unwrap();
        let fits = |text: &str| row.fits(&serde_json::from_str(text).unwrap());
        assert!(fits(r#"{"n": 1.0, "to": "x", "more": true}"#));
        assert!(!fits(r#"{"n": 1}"#));
        assert!(!fits(r#"{"n": 2, "to": "x"}"#));
    }
}
