//! The published JSON Schemas, generated from the Rust types.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::{Kind, shapes};

/// The JSON Schema (draft 2020-12) of files of this kind, as readers accept them: keys that a reader does not need are optional,
/// and keys that a reader keeps or ignores are allowed.
///
/// `None` for the configuration and the output of commands: their types belong to the caller, who creates their schemas and passes them
/// to [`named`].
///
/// ```
/// use validate::{Kind, schema};
///
/// let schema = schema(Kind::Scores).ok_or("the configuration and the output of commands have none")?;
/// assert_eq!(schema["$id"], "scores.schema.json");
/// assert_eq!(schema["type"], "array");
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn schema(kind: Kind) -> Option<Value> {
    let schema = match kind {
        Kind::Benchmark => of::<schema::Benchmark>(),
        Kind::Hazards => of::<Vec<schema::Hazard>>(),
        Kind::Scenarios => shapes::scenarios(of::<Vec<schema::Scenario>>()),
        Kind::Conversations => shapes::conversations(of::<Vec<schema::Conversation>>()),
        Kind::Scores => shapes::scores(of::<Vec<schema::Score>>()),
        Kind::Labels => shapes::labels(of::<Vec<schema::HumanLabel>>()),
        Kind::Cost => of::<store::CostFile>(),
        Kind::Results => of::<Vec<schema::Summary>>(),
        Kind::Grades => of::<schema::Grades>(),
        Kind::Statistics => of::<schema::statistics::Statistics>(),
        Kind::Sequence => of::<schema::sequence::Sequence>(),
        Kind::Segments => of::<store::SegmentIndex>(),
        Kind::Shard => of::<schema::ShardFile>(),
        Kind::Baseline => of::<schema::Baseline>(),
        Kind::Gate => of::<shapes::Gate>(),
        Kind::Standards => of::<schema::StandardsFile>(),
        Kind::Record => of::<schema::Record>(),
        Kind::Manifest => of::<store::Manifest>(),
        Kind::Imported => of::<store::ImportRecord>(),
        Kind::Config | Kind::Output => return None,
        Kind::Journal => shapes::journal(),
        Kind::SafetySingleTurn => shapes::wrapped(
            "single_turn_response",
            of::<schema::safety::results::SingleTurnResults>(),
        ),
        Kind::SafetyMultiTurn => shapes::wrapped(
            "multi_turn_response",
            of::<schema::safety::results::MultiTurnResults>(),
        ),
        Kind::TestCases => of::<shapes::Pack>(),
        Kind::Prices => of::<shapes::Prices>(),
        Kind::ExportRuns => of::<shapes::ExportRun>(),
        Kind::ExportConversations => of::<shapes::ExportConversation>(),
        Kind::ExportScores => of::<shapes::ExportScore>(),
        Kind::EeeLog => shapes::eee_log(),
        Kind::EeeSamples => shapes::eee_samples(),
        Kind::InspectLog => shapes::inspect_log(),
        Kind::ProgramLines => of::<shapes::ProgramLine>(),
    };
    Some(named(kind, schema))
}

/// The published schema of files of this kind: with its name and title, and with descriptions in plain text.
#[must_use]
pub fn named(kind: Kind, mut schema: Value) -> Value {
    plain_words(&mut schema);
    let mut named = Map::new();
    named.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    named.insert("$id".to_owned(), kind.schema_file().into());
    named.insert("title".to_owned(), kind.title().into());
    if let Value::Object(schema) = schema {
        for (key, value) in schema {
            named.entry(key).or_insert(value);
        }
    }
    Value::Object(named)
}

/// The text of a published schema: indented by two spaces, with a trailing line break.
#[must_use]
pub fn schema_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// The schema of one row of a list, or of a whole file that is not a list. An unknown kind allows everything.
pub(crate) fn row_schema(kind: Kind) -> Value {
    let mut whole = schema(kind).unwrap_or(Value::Bool(true));
    if !kind.is_rows() {
        return whole;
    }
    let defs = whole.get("$defs").cloned();
    let mut row = whole.get_mut("items").map(Value::take).unwrap_or_default();
    if let (Some(defs), Some(row)) = (defs, row.as_object_mut()) {
        row.insert("$defs".to_owned(), defs);
    }
    row
}

pub(crate) fn of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Converts doc comments to descriptions: removes links to Rust items.
fn plain_words(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if key == "description" => *text = unlinked(text),
                    // An empty list or table as the default of a key is not informative.
                    other => plain_words(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_words),
        _ => {}
    }
}

/// `[`Role::User`]` becomes `` `user` ``: the name in the file instead of the name in Rust.
fn unlinked(text: &str) -> String {
    let text = text
        .replace('\n', " ")
        .replace("[`", "`")
        .replace("`]", "`")
        .replace("crate::", "");
    let mut parts = Vec::new();
    // Every second part is code.
    for (number, part) in text.split('`').enumerate() {
        let name = part.rsplit_once("::").map(|(_, name)| name);
        parts.push(match name.filter(|_| number % 2 == 1) {
            Some(name) => name.to_lowercase(),
            None => part.to_owned(),
        });
    }
    parts.join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_do_not_speak_rust() {
        assert_eq!(
            unlinked(
                "Who speaks: [`Role::User`]\nor [`Role::Tool`], see [`crate::Turn`]: `a` is not ::b."
            ),
            "Who speaks: `user` or `tool`, see `Turn`: `a` is not ::b."
        );
    }
}
