//! Values in a reply that is JSON.

use serde_json::Value;
use serde_json_path::JsonPath;

/// A path into the JSON of a reply.
#[derive(Clone, Debug)]
pub(crate) struct JsonValues {
    path: JsonPath,
    /// As in the file.
    text: String,
}

impl JsonValues {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let parsed = JsonPath::parse(text);
        let path = parsed.map_err(|error| {
            format!("{text:?} is no JSON path of RFC 9535, such as $.answer: {error}")
        })?;
        Ok(Self {
            path,
            text: text.to_owned(),
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.text
    }

    /// The values that the path selects: texts as they are, others as JSON.
    ///
    /// # Errors
    /// Why there is none, after the name of the message.
    pub(crate) fn of(&self, reply: &str) -> Result<Vec<String>, String> {
        let value: Value = serde_json::from_str(without_fence(reply.trim()))
            .map_err(|error| format!("is not JSON: {error}"))?;
        let found = self.path.query(&value).all();
        if found.is_empty() {
            return Err(format!("has no value at {}", self.text));
        }
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(found.into_iter().map(text).collect())
    }
}

/// The inside of a Markdown fence that is the whole text.
fn without_fence(text: &str) -> &str {
    text.strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'))
        .map_or(text, |(_, inside)| inside)
}
