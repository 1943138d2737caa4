//! Checks whether a tool can be offered to a model, and whether the arguments of a call fit it.
//!
//! [`check_tool`] checks a [`Tool`] as a benchmark declares it, and explains the mistake to its author. An [`ArgumentValidator`] checks
//! calls, and explains the mistakes to the model under test. Who calls a tool and what it answers is the simulator's.
//!
//! ```
//! use serde_json::json;
//! use tool_schema::ArgumentValidator;
//!
//! let validator = ArgumentValidator::new(&json!({"type": "object", "properties": {"to": {"type": "string"}}}))?;
//! let fits = json!({"to": "main"});
//! assert_eq!(validator.misfits(fits.as_object().ok_or("an object")?), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Schemas in other documents are not fetched: a `$ref` to one is refused.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod no_schema;

use jsonschema::Validator;
use schema::{Extra, Tool, ToolError, nearest, reply::kind_of};
use serde_json::Value;

/// The most mistakes in arguments that are reported.
const REPORTED: usize = 5;

/// Checks that `tool` can be offered: its name can be sent, it has exactly one way of answering, its parameters are a JSON schema
/// of an object, and each row of its table can answer.
///
/// # Errors
/// The mistake, explained to the author of the file: the key and the reason.
pub fn check_tool(tool: &Tool) -> Result<(), ToolError> {
    tool.check()?;
    ArgumentValidator::new(&tool.parameters)?;
    check_answers(tool)
}

/// Refuses rows of a table that no call can reach: rows after one that matches any call, and rows that need an argument that the
/// schema forbids.
fn check_answers(tool: &Tool) -> Result<(), ToolError> {
    let any = tool.answers.iter().position(|row| row.when.is_empty());
    if let Some(any) = any.filter(|any| any + 1 < tool.answers.len()) {
        let key = format!("answers[{}]", any + 1);
        let reason = format!(
            "`{key}` is never reached: `answers[{any}]` has no `when`, so it fits any call. Put it last, or give it a `when`"
        );
        return Err(ToolError::new(key, reason));
    }
    let parameters = &tool.parameters;
    let closed = parameters.get("additionalProperties") == Some(&Value::Bool(false))
        && parameters.get("patternProperties").is_none();
    if !closed {
        return Ok(());
    }
    let known: Vec<&str> = parameters
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, _)| &**key)
        .collect();
    for (at, row) in tool.answers.iter().enumerate() {
        if let Some(key) = row.when.keys().find(|key| !known.contains(&key.as_str())) {
            let meant = nearest(key, known.iter().copied())
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            let place = format!("answers[{at}].when");
            let reason =
                format!("`{place}` asks for `{key}`, which `parameters` does not allow{meant}");
            return Err(ToolError::new(place, reason));
        }
    }
    Ok(())
}

/// The compiled schema of a tool's arguments.
#[derive(Debug)]
pub struct ArgumentValidator(Validator);

impl ArgumentValidator {
    /// Compiles the schema of a tool's arguments. A `$ref` to another document is refused, because nothing is fetched.
    ///
    /// # Errors
    /// The mistake in the schema, explained to the author of the file: the key and the reason.
    pub fn new(parameters: &Value) -> Result<Self, ToolError> {
        let Some(schema) = parameters.as_object() else {
            let reason = format!(
                "`parameters` is {}, not a JSON schema: write `type: object` and `properties`",
                kind_of(parameters)
            );
            return Err(ToolError::new("parameters", reason));
        };
        match schema.get("type") {
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => {
                let reason = format!(
                    "`parameters.type` is {other}; arguments are always an object: write `type: object`"
                );
                return Err(ToolError::new("parameters.type", reason));
            }
            None => {
                let reason = "`parameters` has no `type`: write `type: object`";
                return Err(ToolError::new("parameters", reason));
            }
        }
        jsonschema::options()
            .offline()
            .build(parameters)
            .map(Self)
            .map_err(|error| {
                let key = format!("parameters{}", dotted(error.instance_path().as_str()));
                let reason = format!("`{key}` is no JSON schema: {}", no_schema::why(&error));
                ToolError::new(key, reason)
            })
    }

    /// The mistakes in the arguments of a call, explained to the target. Values are not repeated, because they may be long.
    #[must_use]
    pub fn misfits(&self, arguments: &Extra) -> Option<String> {
        // The validator needs a `Value`. Most calls fit, so only a few short texts are copied.
        let arguments = Value::Object(arguments.clone());
        let mut errors = self.0.iter_errors(&arguments);
        let misfits: Vec<String> = errors
            .by_ref()
            .take(REPORTED)
            .map(|error| {
                let place = error.instance_path().as_str().to_owned();
                match place.is_empty() {
                    true => error.masked().to_string(),
                    false => format!("{place}: {}", error.masked()),
                }
            })
            .collect();
        if misfits.is_empty() {
            return None;
        }
        let more = match errors.count() {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        Some(format!(
            "the arguments do not fit the tool's parameters: {}{more}",
            misfits.join("; ")
        ))
    }
}

/// `.properties.to` for `/properties/to`.
fn dotted(pointer: &str) -> String {
    pointer.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(parameters: Value) -> String {
        ArgumentValidator::new(&parameters).unwrap_err().reason
    }

    #[test]
    fn parameters_that_are_no_schema_of_an_object_say_so() {
        assert!(wrong(json!("text")).contains("a string"));
        assert!(wrong(json!({"properties": {}})).contains("no `type`"));
        assert!(wrong(json!({"type": "array"})).contains("`parameters.type` is \"array\""));
        let bad = wrong(json!({"type": "object", "properties": {"to": {"type": "txt"}}}));
        assert!(
            bad.starts_with("`parameters.properties.to.type` is no JSON schema"),
            "{bad}"
        );
        let bad = wrong(json!({"type": "object", "required": "to"}));
        assert!(bad.contains("`parameters.required`"), "{bad}");
        let bad = wrong(
            json!({"type": "object", "properties": {"to": {"type": "string", "pattern": "("}}}),
        );
        assert!(bad.contains("no JSON schema"), "{bad}");
    }

    #[test]
    fn rows_that_no_call_reaches_are_refused() {
        let tool = |answers: Value| -> Result<(), ToolError> {
            let tool = json!({"name": "a", "answers": answers, "parameters": {
                "type": "object", "properties": {"account": {}}, "additionalProperties": false}});
            check_tool(&serde_json::from_value(tool).unwrap())
        };
        let main = json!({"when": {"account": "main"}, "answer": 1});
        tool(json!([main, {"answer": 2}])).unwrap();
        let reason = tool(json!([{"answer": 2}, main])).unwrap_err().reason;
        assert!(
            reason.starts_with("`answers[1]` is never reached: `answers[0]` has no `when`"),
            "{reason}"
        );
        let error = tool(json!([main, {"when": {"acount": 1}, "answer": 2}])).unwrap_err();
        assert_eq!(error.key, "answers[1].when");
        assert_eq!(
            error.reason,
            "`answers[1].when` asks for `acount`, which `parameters` does not allow; did you mean `account`?"
        );
    }

    #[test]
    fn nothing_is_fetched() {
        let far =
            json!({"type": "object", "properties": {"to": {"$ref": "https://example.org/x.json"}}});
        assert!(wrong(far).contains("example.org"));
    }

    #[test]
    fn misfits_name_the_place_and_not_the_value() {
        let schema = json!({
            "type": "object", "required": ["to"], "additionalProperties": false,
            "properties": {"to": {"type": "string"}, "amount": {"type": "number", "minimum": 1}},
        });
        let validator = ArgumentValidator::new(&schema).unwrap();
        let misfits = |arguments: Value| validator.misfits(arguments.as_object().unwrap());
        assert_eq!(misfits(json!({"to": "x", "amount": 2})), None);
        let wrong = misfits(json!({"amount": "x".repeat(1000)})).unwrap();
        assert!(wrong.contains("/amount: value is not of type"), "{wrong}");
        assert!(wrong.contains("\"to\" is a required property"), "{wrong}");
        assert!(wrong.len() < 300, "{wrong}");
        let wrong = misfits(json!({"to": "x", "amuont": 2})).unwrap();
        assert!(wrong.contains("amuont"), "{wrong}");
    }
}
