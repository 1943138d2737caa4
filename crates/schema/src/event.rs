//! What the journal is told.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{JsonText, ModelId, Scenario, Spend};

/// Where events go. An extension point: implement it to send the record of a run elsewhere. It must not block for long.
pub trait Journal: Send + Sync {
    /// Takes one event. The journal adds the timestamp.
    fn record(&self, event: Event);
}

/// A journal that forgets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn record(&self, _event: Event) {}
}

/// The item of an event: one sample of one test against one system under test.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Item {
    /// The metric's id.
    pub test: Arc<str>,
    /// The scenario's id, with `__s<k>` behind it for sample k > 0.
    pub prompt_id: Arc<str>,
    /// The system under test.
    pub sut: ModelId,
}

/// Room for the fields of most events, so that the list is allocated once.
const FIELDS: usize = 8;

/// One line of the journal, without its timestamp. Serializes to the line's object.
#[derive(Clone, Debug)]
pub struct Event {
    /// The type of the event: `fetched sut response`, for one.
    pub message: &'static str,
    /// The Rust type that wrote it.
    pub class: &'static str,
    /// The function that wrote it.
    pub method: &'static str,
    /// The item it belongs to.
    pub item: Option<Arc<Item>>,
    /// Its own fields, in order.
    pub fields: Vec<(&'static str, Field)>,
}

impl Event {
    /// An event without item and fields, written by `class::method`.
    #[must_use]
    pub fn new(message: &'static str, class: &'static str, method: &'static str) -> Self {
        Self {
            message,
            class,
            method,
            item: None,
            fields: Vec::with_capacity(FIELDS),
        }
    }

    /// Sets the item.
    #[must_use]
    pub fn item(mut self, item: Option<&Arc<Item>>) -> Self {
        self.item = item.cloned();
        self
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.fields.push((name, value.into()));
        self
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", self.message)?;
        map.serialize_entry("class", self.class)?;
        map.serialize_entry("method", self.method)?;
        if let Some(item) = &self.item {
            map.serialize_entry("test", &item.test)?;
            map.serialize_entry("prompt_id", &item.prompt_id)?;
            map.serialize_entry("sut", &item.sut)?;
        }
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The value of an event's field. Large texts are shared, not copied.
#[derive(Clone, Debug)]
pub enum Field {
    /// Any JSON value.
    Json(Value),
    /// A fixed text.
    Static(&'static str),
    /// A shared text.
    Text(Arc<str>),
    /// JSON text as it is, such as a raw response.
    Raw(RawField),
    /// A number of things.
    Count(u64),
    /// A measurement, such as seconds.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// What a call used and cost.
    Spend(Spend),
    /// A whole scenario, shared with the run.
    Scenario(Arc<Scenario>),
}

impl Field {
    /// The JSON of `value`, written at once: for values with a type of their own, which need not be made a [`Value`] first.
    /// What cannot be written as JSON is null.
    #[must_use]
    pub fn json(value: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::value::to_raw_value(value) {
            Ok(raw) => Self::Raw(RawField::Own(raw.into())),
            Err(_) => Self::Json(Value::Null),
        }
    }
}

/// JSON text as it is. That of an exchange is shared with it.
#[derive(Clone, Debug)]
pub enum RawField {
    /// The request of an exchange.
    Request(Arc<crate::Exchange>),
    /// The response of an exchange.
    Response(Arc<crate::Exchange>),
    /// Text of its own.
    Own(JsonText),
}

impl RawField {
    /// The bytes of the JSON text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.raw().as_bytes()
    }

    /// Whether the text is known to stand on one line; see [`JsonText::is_line`].
    #[must_use]
    pub fn is_line(&self) -> bool {
        self.raw().is_line()
    }

    fn raw(&self) -> &JsonText {
        match self {
            Self::Request(exchange) => &exchange.request,
            Self::Response(exchange) => &exchange.response,
            Self::Own(raw) => raw,
        }
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::Static(text) => serializer.serialize_str(text),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Raw(raw) => raw.raw().serialize(serializer),
            Self::Count(n) => serializer.serialize_u64(*n),
            Self::Number(n) => serializer.serialize_f64(*n),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Spend(spend) => spend.serialize(serializer),
            Self::Scenario(scenario) => scenario.serialize(serializer),
        }
    }
}

macro_rules! field_from {
    ($($from:ty => |$value:ident| $field:expr),* $(,)?) => {
        $(impl From<$from> for Field {
            fn from($value: $from) -> Self {
                $field
            }
        })*
    };
}

field_from! {
    Value => |value| Self::Json(value),
    &'static str => |value| Self::Static(value),
    Arc<str> => |value| Self::Text(value),
    String => |value| Self::Text(value.into()),
    &ModelId => |value| Self::Text(value.shared()),
    RawField => |value| Self::Raw(value),
    u64 => |value| Self::Count(value),
    u32 => |value| Self::Count(u64::from(value)),
    f64 => |value| Self::Number(value),
    bool => |value| Self::Bool(value),
    Spend => |value| Self::Spend(value),
    Arc<Scenario> => |value| Self::Scenario(value),
    Option<String> => |value| value.map_or(Self::Json(Value::Null), Self::from),
}
