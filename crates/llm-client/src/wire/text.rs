//! Text that endpoints send in several shapes.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Text that may be a string, null, one part or a list of parts such as `{"type": "text", "text": "…"}`. Parts without text
/// are skipped.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a list of text parts, or null")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Text>()? {
            text.push_str(&part.0);
        }
        Ok(Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Text, A::Error> {
        let mut text = Text::default();
        while let Some(key) = part.next_key::<String>()? {
            if key == "text" {
                text = part.next_value()?;
            } else {
                part.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_in_several_shapes() {
        for (json, text) in [
            (r#""a\nb""#, "a\nb"),
            ("null", ""),
            (
                r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                "ab",
            ),
            (r#"[{"type":"image","url":{"x":1}},"c"]"#, "c"),
            (r#"{"type":"text","text":"d"}"#, "d"),
            ("[]", ""),
        ] {
            let parsed: Text = serde_json::from_str(json).unwrap();
            assert_eq!(parsed.0, text, "{json}");
        }
        serde_json::from_str::<Text>("5").unwrap_err();
    }
}
