//! The values of fields that a line does not have.

use std::iter;

use serde::{
    Deserializer,
    de::{
        Error as _, IntoDeserializer, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
};
use serde_json::Error;

/// Deserializes the empty value of a type: zero, `false`, null, or an empty text, list or object. A struct consists of empty
/// fields. An enum has no empty value.
#[derive(Clone, Copy)]
pub(super) struct Empty;

impl<'de> IntoDeserializer<'de, Error> for Empty {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Methods that pass one value to the visitor.
macro_rules! visit {
    ($($value:ident($argument:expr) for $($method:ident)+;)+) => {
        $($(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$value($argument)
        })+)+
    };
}

impl<'de> Deserializer<'de> for Empty {
    type Error = Error;

    visit! {
        visit_bool(false) for deserialize_bool;
        // Every number type accepts 0 as an unsigned number.
        visit_u64(0) for
            deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
            deserialize_u64 deserialize_f32 deserialize_f64;
        visit_str("") for deserialize_char deserialize_str deserialize_string deserialize_identifier;
        visit_bytes(b"") for deserialize_bytes deserialize_byte_buf;
        visit_seq(SeqDeserializer::new(iter::empty::<Self>())) for deserialize_seq;
        visit_map(MapDeserializer::new(iter::empty::<(Self, Self)>())) for deserialize_map;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_none()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(MapDeserializer::new(
            fields.iter().map(|field| (*field, self)),
        ))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Raw JSON is a newtype that only serde_json's deserializer supports.
        serde_json::Deserializer::from_str("null").deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        Err(Error::custom(format_args!("{name} has no empty value")))
    }
}
