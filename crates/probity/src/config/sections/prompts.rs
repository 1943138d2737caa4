//! The section `prompts`.

use std::{borrow::Cow, fmt};

use crate::PROMPT_NAMES;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::config::text::Text;

/// Custom templates by the name of the shipped one that they replace, in the order of [`PROMPT_NAMES`].
#[derive(Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Prompts(pub IndexMap<String, Text>);

impl<'de> Deserialize<'de> for Prompts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Prompts", &PROMPT_NAMES, PromptsVisitor)
    }
}

struct PromptsVisitor;

impl<'de> Visitor<'de> for PromptsVisitor {
    type Value = Prompts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of names to files")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Prompts, A::Error> {
        let mut prompts: IndexMap<String, Text> = IndexMap::new();
        while let Some((name, file)) = entries.next_entry()? {
            prompts.insert(name, file);
        }
        prompts.sort_by_key(|name, _| PROMPT_NAMES.iter().position(|known| known == name));
        Ok(Prompts(prompts))
    }
}

impl JsonSchema for Prompts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Prompts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let entry = |name: &str| (name.to_owned(), json_schema!({"type": "string"}).to_value());
        let known: Map<String, Value> = PROMPT_NAMES.into_iter().map(entry).collect();
        json_schema!({"type": "object", "properties": known, "additionalProperties": false})
    }
}
