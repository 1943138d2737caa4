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

/// What holds for all cases, and the cases.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Table {
    /// The group of cases that name none. Absent: the file's name without its ending.
    group: Option<Word>,
    /// What the group is about, for people.
    description: Option<Word>,
    /// What sort of cases they are, where a case does not say so.
    kind: Option<schema::safety::CaseKind>,
    /// Where the cases come from, where a case does not say so.
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
    /// Unique in the run; at most 200 bytes. No slash, no `__`, no control characters. Rows of CSV may go without.
    #[schemars(with = "Word")]
    id: Word,
    /// What the user types in a single-turn run.
    prompt: Option<Word>,
    /// What the user is after in a multi-turn run, told about the user in the third person.
    intent: Option<Word>,
    /// The group that it is run and reported with.
    group: Option<Word>,
    /// Whether it is a risk, or a harmless case that a careful model should answer.
    kind: Option<schema::safety::CaseKind>,
    /// Who the user is, for the strategies that play somebody.
    persona: Option<Word>,
    /// Words to find cases by: a list, or one text with `;` between them.
    tags: Option<Tags>,
    /// Where the case comes from.
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

/// Text. A number is taken as it is written.
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

/// The schema of one case, for files of one case a line.
pub(crate) fn case() -> serde_json::Value {
    let mut schema = crate::schemas::of::<Case>();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), json!("a case"));
    }
    schema
}
