//! A line of a run journal: the common fields, and those of each message.

use schema::{EventBody, event::LineFields};
use schemars::{Schema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a line. An unknown message has the common fields only.
pub(crate) fn journal() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let each: Vec<Value> = EventBody::schemas(&mut generator)
        .into_iter()
        .map(|(message, fields)| {
            json!({
                "if": {"properties": {"message": {"const": message}}, "required": ["message"]},
                "then": fields,
            })
        })
        .collect();
    let mut schema = generator.into_root_schema_for::<LineFields>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        let defs = schema.shift_remove("$defs");
        schema.insert("allOf".to_owned(), each.into());
        schema.extend(defs.map(|defs| ("$defs".to_owned(), defs)));
    }
    schema
}

/// The schema of each message, including the common fields.
pub(crate) fn messages() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let listed = EventBody::schemas(&mut generator);
    let line = generator.subschema_for::<LineFields>();
    let defs = generator.take_definitions(true);
    let schema = |(message, fields): (&str, Schema)| {
        let whole = json!({"allOf": [line, fields], "$defs": defs});
        (message.to_owned(), whole)
    };
    listed.into_iter().map(schema).collect()
}
