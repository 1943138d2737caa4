//! A line of a run journal: what every line has, and what each message has.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{journal_calls, journal_messages};

/// What every line has.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Line {
    /// UTC to the microsecond. Never goes back within a file.
    timestamp: Option<String>,
    /// The type of the event.
    message: String,
    /// The Rust type that wrote it. For people.
    class: Option<String>,
    /// The function that wrote it. For people.
    method: Option<String>,
    /// The metric's id. In lines of an item, and in some about a test.
    test: Option<String>,
    /// The scenario's id, and `__s<k>` behind it for sample k > 0. In lines of an item.
    prompt_id: Option<String>,
    /// The id of the system under test. In lines of an item, and in some about a system.
    sut: Option<String>,
}

/// Makes types of messages, and the list of them: message, and the schema of its own fields.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident $message:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code, reason = "only its schema is used")]
        struct $name { $($(#[$field_doc])* $field: $type,)* })*

        /// Each message with the schema of its own fields.
        pub(super) fn list(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($message, generator.subschema_for::<$name>()),)*]
        }
    };
}
pub(super) use messages as event_types;

fn all(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
    let mut all = journal_messages::list(generator);
    all.extend(journal_calls::list(generator));
    all
}

/// The schema of a line. A message that is not listed has the common fields alone.
pub(crate) fn journal() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let each = all(&mut generator).into_iter().map(|(message, fields)| {
        json!({
            "if": {"properties": {"message": {"const": message}}, "required": ["message"]},
            "then": fields,
        })
    });
    let each: Vec<Value> = each.collect();
    let mut schema = generator.into_root_schema_for::<Line>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        let defs = schema.shift_remove("$defs");
        schema.insert("allOf".to_owned(), each.into());
        schema.extend(defs.map(|defs| ("$defs".to_owned(), defs)));
    }
    schema
}

/// The schema of each message by itself, with the fields that every line has.
pub(crate) fn messages() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let listed = all(&mut generator);
    let line = generator.subschema_for::<Line>();
    let defs = generator.take_definitions(true);
    let schema = |(message, fields): (&str, Schema)| {
        let whole = json!({"allOf": [line, fields], "$defs": defs});
        (message.to_owned(), whole)
    };
    listed.into_iter().map(schema).collect()
}
