//! A line as JSON.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::Line;

/// Writes the event as one JSON object: first the texts that every entry may have, then all other fields as in the
/// file.
impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let message = Some(&self.message);
        for (name, text) in [
            ("timestamp", self.timestamp.as_ref()),
            ("message", message),
            ("class", self.class.as_ref()),
            ("method", self.method.as_ref()),
            ("test", self.test.as_ref()),
            ("prompt_id", self.prompt_id.as_ref()),
            ("sut", self.sut.as_ref()),
        ] {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        for (name, raw) in &self.fields {
            map.serialize_entry(name, raw)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_line_is_lost() {
        let text = r#"{"timestamp":"2026","message":"m","class":"C","method":"f","test":"t","prompt_id":"p","sut":"s","sut":1,"score":0.10,"x":{"a": [1]}}"#;
        let line = Line::parse(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }
}
