//! A value of the tree as a serde `Deserializer`. It adds the position of the faulty value to every error, replaces `${NAME}` when a
//! value is read, and reports keys that a struct does not have.
//!
//! Types request features that serde lacks under these names: [`TEXT`], [`PLACE`] and [`FORM`].

use std::{cell::RefCell, collections::BTreeSet};

use schema::{nearest, shown_name};
use serde::{
    Deserializer, de,
    de::{
        DeserializeSeed, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
        Unexpected, VariantAccess, Visitor, value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::json;

use super::{
    error::{ConfigProblem, KeyPlace},
    keys,
    read::{Problems, ReadError},
    tree::{Data, Value},
    values::yaml_bool,
    vars::Vars,
};

/// The name of a struct that reads a scalar as written (`raw`) and its `place`.
pub const TEXT: &str = "$text";
/// The name of the struct that reads the position of a value. As the key of a struct, it exists in every table.
pub const PLACE: &str = "$place";
/// The name of an enum whose variants `text`, `list` and `table` are selected by the form of the value.
pub const FORM: &str = "$form";

/// The structs in which every unknown key is an error, also in tables below them: a key that is not understood there (`prefill` of a
/// model) would change what is measured or spent.
const STRICT: [&str; 3] = ["ModelTable", "Limits", "Judging"];

/// The name of a table in errors.
const MAPPING: &str = "a mapping of keys to values";

/// The state that all nodes of a tree share.
pub struct Context<'a> {
    /// The environment, for `${NAME}`.
    pub vars: &'a Vars,
    /// The key paths of faulty values. They are skipped, so that the next mistake is found.
    pub left_out: BTreeSet<String>,
    /// Unknown keys.
    pub unknown: RefCell<Problems>,
}

/// A value at a key path.
#[derive(Clone)]
pub struct Node<'a> {
    /// The value.
    pub value: &'a Value,
    /// Its key path; empty for the root.
    pub key: String,
    /// Whether it is in a table of [`STRICT`].
    pub strict: bool,
    /// Shared by all nodes.
    pub context: &'a Context<'a>,
}

impl<'a> Node<'a> {
    fn place(&self) -> KeyPlace {
        KeyPlace {
            origin: Some(self.value.origin.clone()),
            key: self.key.clone(),
        }
    }

    fn child(&self, value: &'a Value, key: &str) -> Self {
        // The path is for messages.
        let key = shown_name(key);
        Self {
            value,
            key: match self.key.as_str() {
                "" => key.to_owned(),
                parent => format!("{parent}.{key}"),
            },
            strict: self.strict,
            context: self.context,
        }
    }

    /// The entries of a table, without the skipped ones.
    fn entries(&self) -> Result<Entries<'a>, ReadError> {
        let Data::Table(table) = &self.value.data else {
            return Err(self.wrong(&MAPPING));
        };
        let entry = |(key, value): (&'a String, &'a Value)| (key.as_str(), self.child(value, key));
        let entries = table
            .iter()
            .map(entry)
            .filter(|(_, node)| !self.context.left_out.contains(&node.key));
        Ok(Entries::new(entries.collect()))
    }

    /// The scalar with every `${NAME}` replaced.
    fn scalar(&self, expected: &dyn Expected) -> Result<String, ReadError> {
        match &self.value.data {
            Data::Text(raw) => self.context.vars.expand(raw).map_err(ReadError::custom),
            Data::Json(value) if !value.is_null() => Ok(value.to_string()),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The error for a value whose form is not `expected`.
    fn wrong(&self, expected: &dyn Expected) -> ReadError {
        let found = match &self.value.data {
            Data::Text(raw) if raw.parse::<f64>().is_ok() => Unexpected::Str(raw),
            // Text may be secret.
            Data::Text(_) => Unexpected::Other("text"),
            Data::Json(value) if value.is_null() => Unexpected::Unit,
            Data::Json(_) => Unexpected::Other("a number"),
            Data::List(_) => Unexpected::Seq,
            Data::Table(_) => Unexpected::Map,
        };
        ReadError::invalid_type(found, expected)
    }

    /// Adds this position to an error that has none.
    fn at<T>(&self, result: Result<T, ReadError>) -> Result<T, ReadError> {
        let raw = match &self.value.data {
            Data::Text(raw) => Some(raw.as_str()),
            _ => None,
        };
        result.map_err(|error| error.at(|| self.place(), raw))
    }

    /// Reports a key that is not in `known`. A key that is similar to a known one is an error, because it is a typing mistake that would
    /// change the run; so is every key of a strict table. Any other key is a warning, since files of other programs have keys of their own.
    fn unknown(&self, key: &str, known: &[&'static str]) {
        let meant = match key {
            // People call the evaluator a judge, and the nearest known word to that is `budget`.
            "judge" if known.contains(&"evaluator_model") => Some("evaluator_model"),
            _ => nearest(key, known.iter().copied().filter(|known| *known != PLACE)),
        };
        let key = shown_name(key);
        let reason = match meant {
            Some(meant) => format!("unknown key `{key}`; did you mean `{meant}`?"),
            None if self.strict => {
                let known: Vec<&str> = known
                    .iter()
                    .filter(|known| **known != PLACE)
                    .copied()
                    .collect();
                format!("unknown key `{key}`; expected one of {}", known.join(", "))
            }
            None => match nested(key).filter(|_| !self.key.contains(['.', '['])) {
                Some(path) => format!("unknown key `{key}` is ignored; write `{path}`"),
                None => format!("unknown key `{key}` is ignored"),
            },
        };
        let problem = ConfigProblem::at(&self.place(), reason);
        let mut unknown = self.context.unknown.borrow_mut();
        let unknown = match meant.is_some() || self.strict {
            true => &mut unknown.errors,
            false => &mut unknown.warnings,
        };
        if !unknown.contains(&problem) {
            unknown.push(problem);
        }
    }

    fn items(&self) -> Result<Items<'a>, ReadError> {
        let Data::List(items) = &self.value.data else {
            return Err(self.wrong(&"a list"));
        };
        let item = |(number, value)| Self {
            value,
            key: format!("{}[{number}]", self.key),
            strict: self.strict,
            context: self.context,
        };
        let items = items
            .iter()
            .enumerate()
            .map(item)
            .filter(|node| !self.context.left_out.contains(&node.key));
        Ok(Items(items.collect::<Vec<_>>().into_iter()))
    }

    fn fields(&self, fields: &'static [&'static str]) -> Result<Entries<'a>, ReadError> {
        let (mut known, unknown): (Vec<_>, Vec<_>) = self
            .entries()?
            .entries
            .partition(|(key, _)| fields.contains(key) && *key != PLACE);
        for (key, node) in unknown {
            node.unknown(key, fields);
        }
        if fields.contains(&PLACE) {
            known.push((PLACE, self.clone()));
        }
        Ok(Entries::new(known))
    }
}

impl<'a> Deserializer<'a> for Node<'a> {
    type Error = ReadError;

    /// Reads the value as written: `${NAME}` in fields that are sent on is replaced when they are sent.
    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value.data {
            Data::Text(raw) => visitor.visit_str(raw),
            Data::Json(value) => value.deserialize_any(visitor).map_err(ReadError::custom),
            Data::List(_) => self.deserialize_seq(visitor),
            Data::Table(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.value.data {
            Data::Json(serde_json::Value::Number(number)) => {
                match (number.as_u64(), number.as_f64()) {
                    (Some(whole), _) => visitor.visit_u64(whole),
                    (None, Some(real)) => visitor.visit_f64(real),
                    (None, None) => visitor.visit_string(number.to_string()),
                }
            }
            _ => {
                let text = self.scalar(&visitor)?;
                visitor.visit_string(text)
            }
        }
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_string(self.scalar(&"text")?)
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if let Data::Json(serde_json::Value::Bool(value)) = &self.value.data {
            return visitor.visit_bool(*value);
        }
        let expected = &"true or false";
        let text = self.scalar(expected)?;
        match yaml_bool(&text) {
            Some(value) => visitor.visit_bool(value),
            None => Err(ReadError::invalid_value(Unexpected::Str(&text), expected)),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_seq(self.items()?)
    }

    fn deserialize_map<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_map(self.entries()?)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let strict = self.strict || STRICT.contains(&name);
        let place = self.place();
        let located = match (name, &self.value.data) {
            (PLACE, _) => json!(place),
            (TEXT, Data::Text(raw)) => json!({"raw": raw, "place": place}),
            (TEXT, Data::Json(value)) if !value.is_null() => {
                json!({"raw": value.to_string(), "place": place})
            }
            (TEXT, _) => return Err(self.wrong(&"text")),
            (_, Data::Table(_)) => {
                let table = Self { strict, ..self };
                return visitor.visit_map(table.fields(fields)?);
            }
            _ => {
                let expected = (&visitor as &dyn Expected).to_string();
                // A type without its own description is expected by its name in Rust.
                return Err(match expected.starts_with("struct ") {
                    true => self.wrong(&MAPPING),
                    false => self.wrong(&expected.as_str()),
                });
            }
        };
        let visited = located.deserialize_struct(name, fields, visitor);
        visited.map_err(ReadError::custom)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == FORM {
            return visitor.visit_enum(Form {
                node: self,
                variants,
            });
        }
        let text = self.scalar(&"text")?;
        let word = text.trim();
        let mut known = variants.iter();
        match known.find(|known| known.eq_ignore_ascii_case(word)) {
            Some(known) => visitor.visit_enum(known.into_deserializer()),
            None => Err(ReadError::unknown_variant(word, variants)),
        }
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct identifier ignored_any
    }
}

/// The items of a list. An error of an item gets its position here, even if the type that checks it is above serde's deserializer.
struct Items<'a>(std::vec::IntoIter<Node<'a>>);

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'a>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let read = |node: Node<'a>| node.at(seed.deserialize(node.clone()));
        self.0.next().map(read).transpose()
    }
}

/// The entries of a table. An error of an entry gets its position here.
struct Entries<'a> {
    entries: std::vec::IntoIter<(&'a str, Node<'a>)>,
    value: Option<Node<'a>>,
}

impl<'a> Entries<'a> {
    fn new(entries: Vec<(&'a str, Node<'a>)>) -> Self {
        Self {
            entries: entries.into_iter(),
            value: None,
        }
    }
}

impl<'a> MapAccess<'a> for Entries<'a> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'a>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let Some((key, node)) = self.entries.next() else {
            return Ok(None);
        };
        let key: BorrowedStrDeserializer<'_, ReadError> = BorrowedStrDeserializer::new(key);
        let key = node.at(seed.deserialize(key))?;
        self.value = Some(node);
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let node = self
            .value
            .take()
            .ok_or_else(|| ReadError::custom("a value without a key"))?;
        node.at(seed.deserialize(node.clone()))
    }
}

/// A value whose form selects the variant.
struct Form<'a> {
    node: Node<'a>,
    variants: &'static [&'static str],
}

impl<'a> EnumAccess<'a> for Form<'a> {
    type Error = ReadError;
    type Variant = Node<'a>;

    fn variant_seed<S: DeserializeSeed<'a>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Node<'a>), ReadError> {
        let form = match &self.node.value.data {
            Data::Text(_) | Data::Json(_) => "text",
            Data::List(_) => "list",
            Data::Table(_) => "table",
        };
        if !self.variants.contains(&form) {
            let expected = "text or a mapping of keys to values";
            return Err(self.node.wrong(&expected));
        }
        let variant: de::value::StrDeserializer<'_, ReadError> = form.into_deserializer();
        Ok((seed.deserialize(variant)?, self.node))
    }
}

impl<'a> VariantAccess<'a> for Node<'a> {
    type Error = ReadError;

    fn newtype_variant_seed<S: DeserializeSeed<'a>>(self, seed: S) -> Result<S::Value, ReadError> {
        seed.deserialize(self)
    }

    fn unit_variant(self) -> Result<(), ReadError> {
        Err(ReadError::custom("a form has a value"))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_struct("", fields, visitor)
    }
}

/// Where a key belongs that people write at the top of the file.
fn nested(key: &str) -> Option<&'static str> {
    const NESTED: [&str; 10] = [
        keys::BATCH,
        keys::CONCURRENCY,
        keys::DRY_RUN,
        keys::KEEP_GOING,
        keys::MAX_COST,
        keys::NUM_SAMPLES,
        keys::TURNS,
        "cache.expiry",
        "generation.scenarios_per_metric",
        "limits.max_concurrency",
    ];
    NESTED
        .into_iter()
        .find(|path| path.split_once('.').is_some_and(|(_, name)| name == key))
}
