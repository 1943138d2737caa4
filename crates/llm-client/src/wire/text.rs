//! Text that endpoints send in several forms.

use serde::Deserialize;

/// Text that may be a string, null, one part or a list of parts such as `{"type": "text", "text": "…"}`. Parts without text
/// are skipped.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Shape")]
pub(super) struct Text(pub(super) String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text, a list of text parts, or null")]
enum Shape {
    Text(String),
    Parts(Vec<Text>),
    Part {
        #[serde(default)]
        text: Box<Text>,
    },
    Null(()),
}

impl From<Shape> for Text {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Text(text) => Self(text),
            Shape::Parts(parts) => Self(parts.into_iter().map(|part| part.0).collect()),
            Shape::Part { text } => *text,
            Shape::Null(()) => Self::default(),
        }
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
