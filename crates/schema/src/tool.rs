//! Tools that the system under test may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Extra;

/// A tool of a benchmark: one entry of `tools` in `benchmark.yaml`. The model sees name, description and parameters; how it is
/// answered is for the simulator alone.
///
/// Exactly one of `answer`, `answers` and `simulated` says how calls are answered; see [`Tool::check`].
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
    /// The answer to every call: text as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Answers by arguments. The first that fits counts.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub answers: Vec<ToolAnswer>,
    /// Whether a model that knows the world's state makes up the answer.
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
    /// The arguments that it answers: every key here is in the call with an equal value; the call may have others. Empty: any
    /// call.
    #[serde(
        default,
        deserialize_with = "crate::or_default",
        skip_serializing_if = "Extra::is_empty"
    )]
    #[schemars(transform = crate::or_null)]
    pub when: Extra,
    /// The answer: text as it is, anything else as JSON.
    pub answer: Value,
}

/// The schema of a tool without arguments.
fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Why a tool cannot be offered, in words for the author of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ToolError {
    /// The key path within the tool, such as `parameters.required`; empty where the tool as a whole is at fault.
    pub key: String,
    /// What is wrong. It names the key.
    pub reason: String,
}

impl ToolError {
    /// An error at `key`, which is empty for the tool as a whole.
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

    /// Whether the name can be sent and exactly one way of answering is given. Whether `parameters` is a schema is not checked
    /// here.
    ///
    /// # Errors
    /// What is wrong, in words for the author of the file.
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
    /// Whether it answers a call with `arguments`. Numbers are equal when their values are: `1` and `1.0`.
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

/// A tool as it is described to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The function's name.
    pub name: String,
    /// What it does, for the model. Empty: it sees nothing.
    #[serde(default)]
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

/// Whether the model may call the tools of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must answer in words.
    None,
}

/// A call of a tool that a model asks for, in the form of the chat completions API:
/// `{"id", "type": "function", "function": {"name", "arguments"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Wire", into = "Wire")]
#[schemars(with = "Wire")]
pub struct ToolCall {
    /// Tells the call apart from others of its message; its answer names it.
    pub id: String,
    /// The tool, as the model named it. It need not exist.
    pub name: String,
    /// The arguments as the model wrote them: meant to be a JSON object, and not always one.
    pub arguments: String,
}

/// [`ToolCall`] on the wire and in files.
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

/// Text, or the object itself, as some endpoints and programs write it.
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
    /// Why they are none, in words that can be sent back to the model.
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
