//! Events whose lines do not match the struct of their message in every field.

mod empty;

use std::borrow::Cow;

use schema::{EventBody, EventKind};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use self::empty::Empty;
use crate::Line;

/// An event with the fields of its line that are of the right type; the other fields are empty.
///
/// [`Line::event`] returns an error for a line that lacks a field of its message. This type is for rules that check single fields and report
/// missing ones.
///
/// ```
/// use schema::EventBody;
///
/// let line = journal::Line::parse(br#"{"message": "hazard info", "hazard": "h", "tests": "t"}"#)?;
/// let event = line.partial_event().ok_or("an unknown message")?;
/// assert!(matches!(&*event.body, EventBody::HazardInfo(info) if info.hazard == "h" && info.tests.is_empty()));
/// assert!(event.fits("hazard") && !event.fits("tests"));
/// assert!(event.has("tests") && !event.has("benchmark"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PartialEvent<'l> {
    /// The event. An empty field is zero, `false`, null, or an empty text, list or object.
    pub body: Cow<'l, EventBody>,
    line: &'l Line<'l>,
    is_whole: bool,
    /// Fields that the line has with a value of another type. Few lines have any.
    unfit: Vec<&'static str>,
}

/// A field of an event's struct.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: &'static str,
    state: FieldState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldState {
    /// The line does not have it.
    Missing,
    /// The line has it with a value of another type.
    Unfit,
    Fits,
}

impl<'l> PartialEvent<'l> {
    /// The event of `line`. `None` for an unknown message, and for a line without a field whose type cannot be empty, such as
    /// a model's id.
    pub(crate) fn read(line: &'l Line<'l>) -> Option<Self> {
        match line.event()? {
            Ok(body) => Some(Self::whole(line, Cow::Owned(body))),
            Err(_) => Self::read_fields(line),
        }
    }

    /// The event of `line`, from what [`Line::event`] returned.
    pub(crate) fn of(
        line: &'l Line<'l>,
        event: &'l Option<serde_json::Result<EventBody>>,
    ) -> Option<Self> {
        match event.as_ref()? {
            Ok(body) => Some(Self::whole(line, Cow::Borrowed(body))),
            Err(_) => Self::read_fields(line),
        }
    }

    fn whole(line: &'l Line<'l>, body: Cow<'l, EventBody>) -> Self {
        Self {
            body,
            line,
            is_whole: true,
            unfit: Vec::new(),
        }
    }

    /// Reads a line that does not match its struct field by field.
    fn read_fields(line: &'l Line<'l>) -> Option<Self> {
        let kind = EventKind::of(&line.message)?;
        let mut fields = Vec::new();
        loop {
            let mut at = 0;
            let reader = FieldReader {
                line,
                fields: &mut fields,
                at: &mut at,
            };
            let error = match EventBody::read_fields(kind, reader) {
                Ok(body) => {
                    let unfit = fields
                        .iter()
                        .filter(|field| field.state == FieldState::Unfit);
                    return Some(Self {
                        is_whole: false,
                        unfit: unfit.map(|field| field.name).collect(),
                        ..Self::whole(line, Cow::Owned(body))
                    });
                }
                Err(_) => fields.get_mut(at)?,
            };
            // Each field is left out at most once, so the loop ends.
            if error.state != FieldState::Fits {
                return None;
            }
            error.state = FieldState::Unfit;
        }
    }

    /// Whether the line has all fields of its message, each of the right type.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether the line has the field `name`, with a value of any type.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.line.has(name)
    }

    /// Whether the line has the field `name` with a value of the right type.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        self.has(name) && !self.unfit.contains(&name)
    }

    /// Whether the event summarises several calls of its item, which have events of their own.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        let may_be = matches!(
            *self.body,
            EventBody::FetchedSutResponse(_)
                | EventBody::UsingCachedSutResponse(_)
                | EventBody::TranslatedSutResponse(_)
                | EventBody::FetchedAnnotatorResponse(_)
                | EventBody::UsingCachedAnnotatorResponse(_)
                | EventBody::UsingCachedUserResponse(_)
                | EventBody::UsingCachedToolResponse(_)
        );
        may_be && self.has("turns")
    }
}

/// Deserializes a struct from the fields of a line. `at` is the field that is being read.
struct FieldReader<'r, 'l> {
    line: &'r Line<'l>,
    /// The fields of the struct; empty before the first attempt.
    fields: &'r mut Vec<Field>,
    at: &'r mut usize,
}

impl FieldReader<'_, '_> {
    fn field(&self) -> Option<Field> {
        self.fields.get(*self.at).copied()
    }
}

impl<'de, 'l: 'de> Deserializer<'de> for FieldReader<'_, 'l> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("an event is a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.fields.is_empty() {
            let field = |name: &&'static str| Field {
                name,
                state: match self.line.has(name) {
                    true => FieldState::Fits,
                    false => FieldState::Missing,
                },
            };
            self.fields.extend(names.iter().map(field));
        }
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, 'l: 'de> MapAccess<'de> for FieldReader<'_, 'l> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let Some(field) = self.field() else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, Self::Error> = field.name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let value = match self.field() {
            Some(Field {
                name,
                state: FieldState::Fits,
            }) => self.line.field(name, seed)?,
            _ => seed.deserialize(Empty)?,
        };
        *self.at += 1;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_that_fits_is_read_as_its_event() {
        let text = r#"{"message":"test scored","sut":"s","test":"t","items_finished":2,"result":{"a":1.10}}"#;
        let line = line(text);
        let event = line.partial_event().unwrap();
        // Field by field it is the same.
        let by_field = PartialEvent::read_fields(&line).unwrap();
        let json = |body: &EventBody| serde_json::to_string(body).unwrap();
        assert_eq!(json(&event.body), json(&by_field.body));
        for event in [&event, &by_field] {
            assert!(
                ["sut", "test", "items_finished", "result"]
                    .iter()
                    .all(|name| event.fits(name))
            );
        }
    }

    #[test]
    fn a_field_of_another_type_leaves_the_others() {
        let text = r#"{"message":"fetched generator response","purpose":"gen_scenarios","row":7,"turn":"x","request":{"n":1.50}}"#;
        let line = line(text);
        let event = line.partial_event().unwrap();
        let EventBody::FetchedGeneratorResponse(reply) = &*event.body else {
            panic!("{event:?}");
        };
        assert_eq!(
            (&*reply.purpose, reply.turn, &*reply.row),
            ("gen_scenarios", None, "")
        );
        assert_eq!(
            (reply.request.get(), reply.response.get()),
            (r#"{"n":1.50}"#, "null")
        );
        assert_eq!(reply.spend, schema::Spend::default());
        assert!(event.has("row") && !event.fits("row") && !event.has("spend"));
    }

    #[test]
    fn the_last_value_of_a_duplicate_key_counts() {
        let line = line(r#"{"message":"using test items","using":1,"using":2,"test":"t"}"#);
        let event = line.partial_event().unwrap();
        assert!(matches!(&*event.body, EventBody::UsingTestItems(items) if items.using == 2));
    }

    #[test]
    fn unknown_messages_and_ids_that_are_missing_have_no_event() {
        let none = |text| line(text).partial_event().is_none();
        assert!(none(r#"{"message":"something new"}"#));
        assert!(none(r#"{"message":"kept results","sut":"s"}"#));
    }
}
