//! A JSON object that is written field by field.
//!
//! serde makes the same bytes, but grows its buffer while it writes: a body is one of the largest texts of a call, and its length
//! is known beforehand.

use serde::Serialize;
use serde_json::{Error, to_writer};

/// The text of an object that is not closed yet.
pub(super) struct Object(Vec<u8>);

impl Object {
    /// An object without fields, with room for so many bytes.
    pub(super) fn with_room(bytes: usize) -> Self {
        let mut text = Vec::with_capacity(bytes);
        text.push(b'{');
        Self(text)
    }

    /// Adds a field.
    pub(super) fn add(
        &mut self,
        name: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), Error> {
        self.add_written(name, |text| to_writer(text, value))
    }

    /// Adds a field whose value `write` writes as JSON.
    pub(super) fn add_written(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        to_writer(&mut self.0, name)?;
        self.0.push(b':');
        write(&mut self.0)
    }

    /// The whole text.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_serde_writes() {
        let mut object = Object::with_room(0);
        assert_eq!(Object::with_room(9).end(), b"{}");
        object.add("a \"name\"", "text\n").unwrap();
        object.add("n", &Some(0.5)).unwrap();
        object
            .add_written("list", |text| {
                text.extend_from_slice(b"[1]");
                Ok(())
            })
            .unwrap();
        let text = String::from_utf8(object.end()).unwrap();
        assert_eq!(text, r#"{"a \"name\"":"text\n","n":0.5,"list":[1]}"#);
    }
}
