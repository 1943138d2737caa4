//! Values of the configuration. Every one of them may also be a text that holds `${NAME}`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident $schema:tt)*) => {
        $($(#[$doc])*
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

values! {
    /// Text. Numbers and true or false are taken as they are written.
    Text {"type": ["string", "number", "boolean"]}
    /// A whole number of 1 or more.
    Count {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}
    /// A whole number of 0 or more.
    Natural {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}
    /// A whole number.
    Whole {"type": ["integer", "string"]}
    /// A number of 0 or more.
    Amount {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}
    /// A number from 0 to 1.
    Fraction {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}
    /// A number from 0 to 2.
    Temperature {"anyOf": [{"type": "number", "minimum": 0, "maximum": 2}, {"type": "string"}]}
    /// True or false.
    Flag {"type": ["boolean", "string"]}
    /// `45s`, `10m`, `12h`, `30d`, or a number of seconds.
    Length {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}
    /// A count, a range such as `4-6`, `[4, 6]`, or `{min: 4, max: 6}`.
    Range {"anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string"},
        {"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 1},
        {"type": "object", "properties": {"min": {"type": ["integer", "string"]}, "max": {"type": ["integer", "string"]}}, "additionalProperties": false},
    ]}
    /// An even number from 2 to 1000.
    Messages {"anyOf": [{"type": "integer", "minimum": 2, "maximum": 1000, "multipleOf": 2}, {"type": "string"}]}
    /// Names: a list, or one text with commas between them.
    Names {"anyOf": [{"type": "array", "items": {"type": ["string", "number"]}}, {"type": "string"}]}
    /// Paths: a list, or one.
    Paths {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
}

/// The templates that a file of one's own can replace.
pub(super) struct Prompts;

impl JsonSchema for Prompts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Prompts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let entry = |name: &str| (name.to_owned(), json_schema!({"type": "string"}).to_value());
        let known: serde_json::Map<String, Value> =
            store::PROMPT_NAMES.into_iter().map(entry).collect();
        json_schema!({"type": "object", "properties": known, "additionalProperties": false})
    }
}
