//! JSON values, and their duplicate keys.

use std::{cell::RefCell, fmt};

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::rows::{error_offset, error_reason};
use crate::{SourceLocation, pointer};

/// Why a text is not valid JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrictError {
    /// Where.
    pub place: SourceLocation,
    /// The error, without the position.
    pub reason: String,
    /// Whether the text is cut off.
    pub is_cut: bool,
}

impl StrictError {
    /// Why a file with a single JSON text cannot be read.
    #[must_use]
    pub fn of_file(&self) -> String {
        match self.is_cut {
            true => "the file ends in the middle: it was cut off".to_owned(),
            false => format!("invalid JSON: {}", self.reason),
        }
    }
}

/// The value of a text, and the pointers of duplicate keys, of which the last counts.
///
/// # Errors
/// When the text is not one JSON value, or one of its objects has more than a million keys.
pub fn parse(text: &[u8]) -> Result<(Value, Vec<String>), StrictError> {
    parse_at(text, SourceLocation::START)
}

/// Like [`parse`], for a text that begins at `begin` in its file.
///
/// # Errors
/// Like [`parse`].
pub fn parse_at(text: &[u8], begin: SourceLocation) -> Result<(Value, Vec<String>), StrictError> {
    let twice = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict { twice: &twice };
    let parsed = serde::de::DeserializeSeed::deserialize(value, &mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let value = parsed.map_err(|error| {
        let before = text.get(..error_offset(text, &error)).unwrap_or_default();
        StrictError {
            place: begin.after(before),
            is_cut: error.is_eof(),
            reason: error_reason(&error),
        }
    })?;
    Ok((value, twice.into_inner()))
}

/// Reads a value. The pointers in `twice` are built from the end: each level prepends its own part.
#[derive(Clone, Copy)]
struct Strict<'t> {
    twice: &'t RefCell<Vec<String>>,
}

impl Strict<'_> {
    fn known(self) -> usize {
        self.twice.borrow().len()
    }

    fn under(self, known: usize, prefix: &dyn Fn() -> String) {
        let mut twice = self.twice.borrow_mut();
        for path in twice.iter_mut().skip(known) {
            path.insert_str(0, &prefix());
        }
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let known = self.known();
            let Some(item) = items.next_element_seed(self)? else {
                return Ok(Value::Array(list));
            };
            self.under(known, &|| pointer::index("", list.len()));
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let known = self.known();
            let value = entries.next_value_seed(self)?;
            self.under(known, &|| pointer::key("", &key));
            if object.contains_key(&key) {
                self.twice.borrow_mut().push(pointer::key("", &key));
            }
            object.insert(key, value);
            if object.len() > MOST_KEYS {
                return Err(A::Error::custom("an object has more than a million keys"));
            }
        }
        Ok(Value::Object(object))
    }
}

/// No file of Probity has this many keys in one object.
const MOST_KEYS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_stand_twice_are_reported_with_their_pointers() {
        let (value, twice) =
            parse(br#"{"a": [{"b": 1, "b": 2}, {"c/d": {"e": 1, "e": 1}}], "a": 1}"#).unwrap();
        assert_eq!(twice, ["/a/0/b", "/a/1/c~1d/e", "/a"]);
        assert_eq!(value["a"], 1);
    }

    #[test]
    fn what_is_no_json_is_reported_with_its_place() {
        let error = parse(b"{\n  \"a\": tru }").unwrap_err();
        assert_eq!((error.place.line, error.place.column), (2, 11));
        assert_eq!(error.reason, "expected ident");
        for (text, line, column) in [
            ("", 1, 1),
            ("{\"é\": x}", 1, 7),
            ("{\"é\nb\": 1}", 1, 4),
            ("[1,\n", 1, 4),
            ("\n\n[é]", 3, 2),
        ] {
            let place = parse(text.as_bytes()).unwrap_err().place;
            assert_eq!((place.line, place.column), (line, column), "{text:?}");
        }
        assert!(parse(b"[1, 2").unwrap_err().is_cut);
        assert!(!parse(b"[1] 2").unwrap_err().is_cut);
    }
}
