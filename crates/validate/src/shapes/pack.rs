//! Packs of safety test cases.

use schemars::JsonSchema;
use serde_json::json;

/// A pack of seed cases. In JSONL each line is one case; in CSV each row.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Pack {
    /// A table with `cases`.
    Table(Table),
    /// Cases alone.
    List(Vec<Case>),
}

/// The cases, and defaults for all of them.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Table {
    /// The group of cases without one. Absent: the file's name without its extension.
    group: Option<Word>,
    /// What the group is about, for people.
    description: Option<Word>,
    /// The kind of the cases, unless a case states its own.
    kind: Option<schema::safety::CaseKind>,
    /// The source of the cases, unless a case states its own.
    source: Option<Word>,
    /// The cases.
    cases: Option<Vec<Case>>,
}

/// One seed case. It has a prompt, an intent, or both.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["prompt"]}, {"required": ["intent"]}]))]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Case {
    /// Unique in the run; at most 200 bytes. No slash, no `__`, no control characters. Optional in rows of CSV.
    #[schemars(with = "Word")]
    id: Word,
    /// What the user types in a single-turn run.
    prompt: Option<Word>,
    /// The user's goal in a multi-turn run, described in the third person.
    intent: Option<Word>,
    /// The group with which it is run and reported.
    group: Option<Word>,
    /// Whether it is a risk, or a harmless case that a careful model should answer.
    kind: Option<schema::safety::CaseKind>,
    /// Who the user is, for the strategies with a role.
    persona: Option<Word>,
    /// Words for finding cases: a list, or one text separated by `;`.
    tags: Option<Tags>,
    /// The source of the case.
    source: Option<Word>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum Tags {
    List(Vec<Word>),
    Text(Word),
}

/// Text. A number is used as written.
struct Word;

impl JsonSchema for Word {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["string", "number"]})
    }
}

/// The schema of one case, for files with one case per line.
pub(crate) fn case() -> serde_json::Value {
    let mut schema = crate::schemas::of::<Case>();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), json!("a case"));
    }
    schema
}
