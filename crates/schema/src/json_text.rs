//! JSON as text.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny, ser::Error};
use serde_json::value::RawValue;

/// JSON text as it went over the wire, with its numbers and spaces as they were. Cloning it shares the text.
///
/// It is `serde_json`'s [`RawValue`] for text that is there already: to become one of those it would be read through again.
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
pub struct JsonText(Bytes);

impl JsonText {
    /// Takes `text` if it is JSON.
    ///
    /// # Errors
    /// When it is not.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        serde_json::from_str::<IgnoredAny>(&text)?;
        Ok(Self::proven(text))
    }

    /// The JSON of `value`. What cannot be written as JSON is null.
    #[must_use]
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        Self::proven(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// Takes text that `serde_json` has just written, or has just read to its end. Text that is not JSON
    /// fails where it is serialized.
    #[must_use]
    pub fn proven(text: impl Into<Bytes>) -> Self {
        Self(text.into())
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text. Empty when it was said to be proven and is not even text.
    #[must_use]
    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<Box<RawValue>> for JsonText {
    fn from(raw: Box<RawValue>) -> Self {
        let text: Box<str> = raw.into();
        Self::proven(String::from(text))
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// Writes the text as it is.
impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.get()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Keeps the text as it is.
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
    fn what_is_no_json_is_refused_or_does_no_harm() {
        for text in ["", "{", "{} {}", "nul"] {
            JsonText::new(text).unwrap_err();
            serde_json::to_string(&JsonText::proven(text)).unwrap_err();
        }
        assert_eq!(JsonText::proven(vec![0xff]).get(), "");
    }
}
