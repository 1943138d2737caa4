//! JSON as text.

use std::{borrow::Cow, fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// JSON text as it was sent or received, with numbers and inner spaces unchanged. Clones share the text.
///
/// It is checked on creation, not when it is written.
///
/// ```
/// use schema::JsonText;
///
/// let text = JsonText::new(r#"{"n": 1.50}"#)?;
/// assert_eq!(text.get(), r#"{"n": 1.50}"#);
/// assert!(JsonText::new("{").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct JsonText(Arc<RawValue>);

impl JsonText {
    /// Accepts `text`, without the spaces around it, if it is JSON.
    ///
    /// # Errors
    /// When `text` is not JSON.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// The JSON of `value`. A value that cannot be serialised becomes null.
    #[must_use]
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self::from(to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Whether the text is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.get().as_bytes()
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl Default for JsonText {
    /// `null`.
    fn default() -> Self {
        Self::from(RawValue::NULL.to_owned())
    }
}

impl From<Box<RawValue>> for JsonText {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// Writes the text unchanged.
impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Keeps the text unchanged.
impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// Any JSON value.
impl JsonSchema for JsonText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "JsonText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_as_it_is() {
        let text = "{ \"a\" :1.50,\"b\":\"\\u00e9\"}";
        let json = JsonText::new(text).unwrap();
        assert_eq!(json.get(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert_eq!(format!("{json:?}"), text);
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(JsonText::from(raw).get(), text);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "{} {}", "nul"] {
            JsonText::new(text).unwrap_err();
        }
    }

    #[test]
    fn a_value_that_cannot_be_written_is_null() {
        let map = std::collections::HashMap::from([(vec![1], 1)]);
        assert_eq!(JsonText::of(&map).get(), "null");
        assert_eq!(JsonText::of(&[1.5]).get(), "[1.5]");
    }
}
