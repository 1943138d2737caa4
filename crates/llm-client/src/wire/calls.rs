//! Tools on the wire: offered tools, and tool calls.

use schema::{ToolCall, ToolSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeSeq};
use serde_json::Value;

/// `tools` of a request.
pub(crate) struct Offered<'a>(pub(crate) &'a [ToolSpec]);

#[derive(Serialize)]
struct Offer<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a Value,
}

impl Serialize for Offered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for tool in self.0 {
            list.serialize_element(&Offer {
                kind: "function",
                function: Function {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.parameters,
                },
            })?;
        }
        list.end()
    }
}

/// Reads `tool_calls` of a reply. An invalid entry becomes a call of a tool without a name, with the entry's text as arguments:
/// the answer to the model can then report the error.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ToolCall>, D::Error> {
    let Value::Array(entries) = Value::deserialize(deserializer)? else {
        return Ok(Vec::new());
    };
    Ok(entries.into_iter().map(call).collect())
}

fn call(entry: Value) -> ToolCall {
    let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
    ToolCall::deserialize(&entry).unwrap_or_else(|_| ToolCall {
        id: id.to_owned(),
        name: String::new(),
        arguments: entry.to_string(),
    })
}
