//! What readers accept beyond the types: rows of older versions, and wrapped files.

use serde_json::{Map, Value, json};

/// Rows of `scenarios.json`.
pub(crate) fn scenarios(mut schema: Value) -> Value {
    if let Some(row) = row_of(&mut schema, "Scenario") {
        add(
            row,
            "base_scenario_id",
            json!({"description": "The scenario that this one is a variant of. Blank or absent: the `id` without its last `_v` and digits.", "type": ["string", "null"]}),
        );
    }
    schema
}

/// Rows of `conversations.json` of all versions.
pub(crate) fn conversations(mut schema: Value) -> Value {
    let Some(row) = row_of(&mut schema, "Conversation") else {
        return schema;
    };
    // If a row lacks them, the folder names the system, and the scenario gives the row's id.
    only_required(row, &["id", "metric_id", "transcript"]);
    let null_too = json!(["string", "null"]);
    if let Some(id) = property(row, "conv_id") {
        id.insert("type".to_owned(), null_too);
    }
    add(
        row,
        "target_model",
        json!({"description": "In files of other programs, the id of the system under test in place of `target`.", "type": ["string", "null"]}),
    );
    if let Some(target) = property(row, "target") {
        let known = std::mem::take(target);
        target.insert(
            "anyOf".to_owned(),
            json!([known, {"type": ["string", "null"]}]),
        );
    }
    if let Some(sample) = property(row, "sample") {
        sample.insert("type".to_owned(), json!(["integer", "null"]));
    }
    add(
        row,
        "_sample",
        json!({"description": "`sample` again, under the name that ImpactBench reads.", "type": ["integer", "null"], "minimum": 0}),
    );
    schema
}

/// Rows of `scores.json` of all versions.
pub(crate) fn scores(mut schema: Value) -> Value {
    let Some(row) = row_of(&mut schema, "Score") else {
        return schema;
    };
    // ImpactBench stores the rest in benchmark.yaml and the conversations.
    only_required(row, &["id", "metric_id"]);
    add(
        row,
        "_sample",
        json!({"description": "`sample`, as older files spell it.", "type": "integer", "minimum": 0}),
    );
    add(
        row,
        "imported",
        json!({"description": "`true`: another program gave the verdict, which `evaluate` keeps."}),
    );
    schema
}

/// Rows of `labels.json`: null in `passed` is a label, a missing `passed` is not.
pub(crate) fn labels(mut schema: Value) -> Value {
    if let Some(row) = row_of(&mut schema, "HumanLabel") {
        only_required(row, &["conv_id", "metric_id", "passed", "labeller"]);
    }
    schema
}

/// The results of a safety run: the data alone, or `{"type": …, "data": …}`.
pub(crate) fn wrapped(type_name: &str, mut data: Value) -> Value {
    let mut defs = data
        .as_object_mut()
        .and_then(|data| data.shift_remove("$defs"))
        .unwrap_or_else(|| json!({}));
    if let Some(data) = data.as_object_mut() {
        for key in ["$schema", "title"] {
            data.shift_remove(key);
        }
        data.insert(
            "anyOf".to_owned(),
            json!([{"required": ["failed_results"]}, {"required": ["results"]}, {"required": ["results_by_iteration"]}]),
        );
    }
    if let Some(defs) = defs.as_object_mut() {
        defs.insert("Data".to_owned(), data);
    }
    json!({
        "description": "The documented form is wrapped; the bare form is its `data` alone.",
        "type": "object",
        "if": {"required": ["data"]},
        "then": {
            "properties": {
                "type": {"description": "What the file holds.", "const": type_name},
                "data": {"$ref": "#/$defs/Data"},
            },
            "required": ["type", "data"],
        },
        "else": {"$ref": "#/$defs/Data"},
        "$defs": defs,
    })
}

fn row_of<'s>(schema: &'s mut Value, name: &str) -> Option<&'s mut Map<String, Value>> {
    schema.get_mut("$defs")?.get_mut(name)?.as_object_mut()
}

fn property<'r>(row: &'r mut Map<String, Value>, name: &str) -> Option<&'r mut Map<String, Value>> {
    row.get_mut("properties")?.get_mut(name)?.as_object_mut()
}

fn add(row: &mut Map<String, Value>, name: &str, schema: Value) {
    if let Some(properties) = row.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), schema);
    }
}

fn only_required(row: &mut Map<String, Value>, keys: &[&str]) {
    row.insert("required".to_owned(), json!(keys));
}
