//! JSON as text.

use std::fmt;

use bytes::Bytes;
use serde::{Serialize, Serializer, de::IgnoredAny, ser::Error};
use serde_json::value::RawValue;

/// JSON text as it went over the wire, with its numbers and spaces as they were. Cloning it shares the text.
///
/// It is `serde_json`'s [`RawValue`] for text that is there already: to become one of those it would be read through once more.
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
pub struct JsonText {
    text: Bytes,
    /// Known to hold no line break. Other text may hold some or none.
    one_line: bool,
}

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

    /// Takes text that `serde_json` has just written, or has just read to its end. It is not looked at again: what is no JSON
    /// would spoil the line of a journal that it gets into, and nothing else.
    #[must_use]
    pub fn proven(text: impl Into<Bytes>) -> Self {
        Self {
            text: text.into(),
            one_line: false,
        }
    }

    /// As [`proven`](Self::proven), for text that is also known to stand on one line: it was just searched for line breaks, or
    /// `serde_json` wrote it without spaces. A journal then copies it without another look.
    #[must_use]
    pub fn proven_line(text: impl Into<Bytes>) -> Self {
        Self {
            one_line: true,
            ..Self::proven(text)
        }
    }

    /// Whether it is known to stand on one line. JSON may have line breaks between its tokens, never in its strings.
    #[must_use]
    pub fn is_line(&self) -> bool {
        self.one_line
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The text. Empty when it was said to be proven and is not even text.
    #[must_use]
    pub fn get(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
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
    fn one_line_is_what_was_said_to_be_one() {
        let line = JsonText::proven_line("{}");
        assert!(line.is_line() && line.clone().is_line());
        assert!(!JsonText::proven("{}").is_line());
        assert!(!JsonText::new("{\n}").unwrap().is_line());
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
