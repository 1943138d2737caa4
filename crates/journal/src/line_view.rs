//! One event, borrowed from its line in the file.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use schema::EventBody;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor},
};
use serde_json::{Map, value::RawValue};

use crate::{Entry, PartialEvent};

/// One line of a journal, borrowed from the reader's buffer: the fast form of [`Entry`](crate::Entry).
///
/// The texts that every entry may have are parsed. All other fields are raw JSON, which costs nothing until it is read:
/// [`get`](Self::get) parses one field into any type, which may borrow from the line too.
///
/// ```
/// use std::borrow::Cow;
///
/// let text = br#"{"message": "fetched sut response", "sut": "careful", "turn": 2, "response": {"id": "x"}}"#;
/// let line = journal::Line::parse(text)?;
/// assert_eq!(line.message, "fetched sut response");
/// assert_eq!(line.sut.as_deref(), Some("careful"));
/// assert_eq!(line.get::<u32>("turn"), Some(2));
/// assert_eq!(line.raw("response").map(|raw| raw.get()), Some(r#"{"id": "x"}"#));
/// assert_eq!(line.text("annotator"), None::<Cow<'_, str>>);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// [`JournalReader::next_line`](crate::JournalReader::next_line) returns these one after the other.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The line in the file, from 1. 0 for a line that was parsed without a reader.
    pub number: u64,
    /// When it was written, as text in the file. See [`time`](Self::time).
    pub timestamp: Option<Cow<'a, str>>,
    /// The type of the event.
    pub message: Cow<'a, str>,
    /// The type that wrote it.
    pub class: Option<Cow<'a, str>>,
    /// The function that wrote it.
    pub method: Option<Cow<'a, str>>,
    /// The test of the event. Entries of an item have all of `test`, `prompt_id` and `sut`; others may have some.
    pub test: Option<Cow<'a, str>>,
    /// The item's prompt.
    pub prompt_id: Option<Cow<'a, str>>,
    /// The system under test.
    pub sut: Option<Cow<'a, str>>,
    /// All other fields as raw JSON, in the order of the file. Fields with the names above are here if they are not texts.
    pub fields: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The whole line.
    text: &'a [u8],
}

impl<'a> Line<'a> {
    /// Parses one line, with or without its line break.
    ///
    /// # Errors
    /// When it is not one JSON object with a text `message`.
    pub fn parse(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        match parse_line(text) {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(serde_json::Error::custom(
                "the event has no `message` that is a text",
            )),
            Err(error) => Err(error),
        }
    }

    /// The same event with owned fields.
    ///
    /// # Errors
    /// When a field is valid JSON by the grammar but cannot be parsed: nested more than 128 levels deep, or half a surrogate
    /// pair.
    pub fn to_entry(&self) -> Result<Entry, serde_json::Error> {
        let owned = |text: &Option<Cow<'a, str>>| text.as_deref().map(str::to_owned);
        let mut fields = Map::with_capacity(self.fields.len());
        for (key, raw) in &self.fields {
            fields.insert(key.as_ref().to_owned(), serde_json::from_str(raw.get())?);
        }
        Ok(Entry {
            line: self.number,
            timestamp: owned(&self.timestamp),
            message: self.message.as_ref().to_owned(),
            class: owned(&self.class),
            method: owned(&self.method),
            test: owned(&self.test),
            prompt_id: owned(&self.prompt_id),
            sut: owned(&self.sut),
            fields,
        })
    }

    /// The whole line.
    pub(crate) fn as_str(&self) -> Option<&'a str> {
        std::str::from_utf8(self.text).ok()
    }

    /// The event as its type. `None` for an unknown message.
    #[must_use]
    pub fn event(&self) -> Option<serde_json::Result<EventBody>> {
        EventBody::read(&self.message, self.text)
    }

    /// The event with the fields that are of the right type, for rules about single fields of a line that may be wrong. `None`
    /// for an unknown message.
    #[must_use]
    pub fn partial_event(&self) -> Option<PartialEvent<'_>> {
        PartialEvent::read(self)
    }

    /// When the line was written; `None` if it has no timestamp, or one that is not a time.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.timestamp.as_deref()?.parse().ok()
    }

    /// The raw JSON of the field `name`, without the texts that are fields of [`Line`]. If the name is duplicate, the last
    /// value counts.
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let mut fields = self.fields.iter().rev();
        fields.find(|field| field.0 == name).map(|field| field.1)
    }

    /// Whether the line has the field `name`, including the texts that are fields of [`Line`].
    pub(crate) fn has(&self, name: &str) -> bool {
        self.item_field(name).is_some() || self.raw(name).is_some()
    }

    /// Deserializes the field `name`.
    pub(crate) fn field<'de, S: DeserializeSeed<'de>>(
        &self,
        name: &str,
        seed: S,
    ) -> serde_json::Result<S::Value>
    where
        'a: 'de,
    {
        match (self.item_field(name), self.raw(name)) {
            (Some(text), _) => seed.deserialize(text.into_deserializer()),
            (None, Some(raw)) => {
                seed.deserialize(&mut serde_json::Deserializer::from_str(raw.get()))
            }
            (None, None) => Err(serde_json::Error::custom("the field is missing")),
        }
    }

    fn item_field(&self, name: &str) -> Option<&str> {
        match name {
            "test" => self.test.as_deref(),
            "prompt_id" => self.prompt_id.as_deref(),
            "sut" => self.sut.as_deref(),
            _ => None,
        }
    }

    /// The field `name` as a `T`; `None` if it is missing or not a `T`.
    #[must_use]
    pub fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// The field `name` as a text, borrowed if possible; `None` if it is missing or not a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.raw(name)?)
    }
}

/// The text in `raw`; `None` if it is not a text.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        // `None` for a lone surrogate, which is not valid text.
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// The event in `text`; `None` for an object without a text `message`.
pub(crate) fn parse_line(text: &[u8]) -> Result<Option<Line<'_>>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let line = deserializer.deserialize_map(LineVisitor)?;
    deserializer.end()?;
    Ok(line.map(|line| Line { text, ..line }))
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Option<Line<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut message = None;
        let mut line = Line {
            number: 0,
            timestamp: None,
            message: Cow::Borrowed(""),
            class: None,
            method: None,
            test: None,
            prompt_id: None,
            sut: None,
            fields: Vec::with_capacity(8),
            text: &[],
        };
        while let Some(Key(key)) = map.next_key()? {
            let raw: &'de RawValue = map.next_value()?;
            let place = match key.as_ref() {
                "timestamp" => &mut line.timestamp,
                "message" => &mut message,
                "class" => &mut line.class,
                "method" => &mut line.method,
                "test" => &mut line.test,
                "prompt_id" => &mut line.prompt_id,
                "sut" => &mut line.sut,
                _ => {
                    line.fields.push((key, raw));
                    continue;
                }
            };
            match text(raw) {
                Some(text) => *place = Some(text),
                None => line.fields.push((key, raw)),
            }
        }
        Ok(message.map(|message| Line { message, ..line }))
    }
}

/// A key, borrowed from the line unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
