//! Explains to its author why a JSON schema is invalid.

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use schema::nearest;
use serde_json::Value;

/// The types of JSON schema.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// The mistake at the position of `error` in a schema.
pub(super) fn why(error: &ValidationError<'_>) -> String {
    let found = error.instance();
    let is_type = error.instance_path().as_str().ends_with("/type");
    match error.kind() {
        ValidationErrorKind::AnyOf { .. } if is_type => no_type(found),
        ValidationErrorKind::Type { kind } => {
            let kinds: Vec<String> = match kind {
                TypeKind::Single(kind) => vec![kind.to_string()],
                TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect(),
            };
            let names: Vec<&str> = kinds.iter().map(|kind| called(kind)).collect();
            format!("{found} stands there, and {} is wanted", names.join(" or "))
        }
        ValidationErrorKind::Format { format } if format == "regex" => {
            format!("{found} is no regular expression")
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("{found} is too small; the least is {limit}")
        }
        ValidationErrorKind::UniqueItems => "an item of the list stands twice".to_owned(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{found} is nothing that may stand there")
        }
        _ => error.to_string(),
    }
}

fn no_type(found: &Value) -> String {
    let near = found.as_str().and_then(|word| nearest(word, TYPES));
    match near {
        Some(near) => format!("{found} is no type; did you mean `{near}`?"),
        None => format!("{found} is no type; the types are {}", TYPES.join(", ")),
    }
}

/// The name of a type for people.
fn called(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ArgumentValidator;

    #[test]
    fn what_is_no_schema_is_explained_in_words_of_its_author() {
        let reason = |schema: serde_json::Value| {
            let parameters = json!({"type": "object", "properties": {"x": schema}});
            ArgumentValidator::new(&parameters).unwrap_err().reason
        };
        for (schema, expected) in [
            (
                json!({"type": "txt"}),
                ".x.type` is no JSON schema: \"txt\" is no type; the types are string, number,",
            ),
            (
                json!({"type": "strng"}),
                ".x.type` is no JSON schema: \"strng\" is no type; did you mean `string`?",
            ),
            (
                json!(5),
                ".x` is no JSON schema: 5 stands there, and true or false or an object is wanted",
            ),
            (
                json!({"required": "y"}),
                ".x.required` is no JSON schema: \"y\" stands there, and a list is wanted",
            ),
            (
                json!({"pattern": "("}),
                ".x.pattern` is no JSON schema: \"(\" is no regular expression",
            ),
            (
                json!({"minLength": -1}),
                ".x.minLength` is no JSON schema: -1 is too small; the least is 0",
            ),
        ] {
            let said = reason(schema);
            let expected = format!("`parameters.properties{expected}");
            assert!(said.starts_with(&expected), "{said}\n{expected}");
        }
    }
}
