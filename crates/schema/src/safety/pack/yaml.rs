//! Packs in YAML: a table with `cases`, or a list of cases.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{
    Header, PackError,
    row::{Row, RowField, RowValue, kind_reason},
};
use crate::{
    safety::{CaseKind, nearest::hint},
    yaml::YamlError,
};

/// The keys of the table.
const KEYS: [&str; 5] = ["group", "description", "kind", "source", "cases"];

/// The header and the rows of a YAML text.
pub(super) fn rows(name: &str, text: &str) -> Result<(Header, Vec<Row>), PackError> {
    let file = File { name, text };
    if text.lines().all(|line| line.trim().is_empty()) {
        return Ok(Default::default());
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let root: Spanned<Node> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| file.no_yaml(&error))?;
    let line = root.referenced.line();
    match root.value {
        Node::Null => Ok(Default::default()),
        Node::List(items) => Ok((Header::default(), file.cases(items)?)),
        Node::Table(entries) => file.table(entries),
        Node::Scalar(_) => {
            let reason = "a pack is a table with `cases`, or a list of cases";
            Err(PackError::new(name, reason).at_line(line))
        }
    }
}

pub(crate) type Entries = Vec<(Spanned<String>, Spanned<Node>)>;

/// A YAML value with the places of what is in it.
pub(crate) enum Node {
    Null,
    /// The text, where it is known already; else it is read off the file, so that `007` stays `007`.
    Scalar(Option<String>),
    List(Vec<Spanned<Node>>),
    Table(Entries),
}

#[derive(Clone, Copy)]
struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(self, line: u64, reason: impl Into<String>) -> PackError {
        PackError::new(self.name, reason).at_line(line)
    }

    fn no_yaml(self, error: &serde_saphyr::Error) -> PackError {
        let line = error.location().map_or(0, |at| at.line());
        let error = error.without_snippet();
        let reason = match error {
            serde_saphyr::Error::DuplicateMappingKey { .. } => "a key stands twice".to_owned(),
            serde_saphyr::Error::MultipleDocuments { .. } => {
                "a pack is one document, without `---` inside".to_owned()
            }
            serde_saphyr::Error::Budget { .. } => {
                let reason = "the file is too large or too deep for YAML. A pack of many thousand cases is better kept as JSONL";
                return self.error(line, reason);
            }
            error => return self.error(line, YamlError::new(error, "").reason()),
        };
        self.error(line, format!("this is no valid YAML: {reason}"))
    }

    fn table(self, entries: Entries) -> Result<(Header, Vec<Row>), PackError> {
        let mut header = Header::default();
        let mut rows = None;
        for (key, value) in entries {
            let line = key.referenced.line();
            let key = key.value;
            if key != "cases" && KEYS.contains(&key.as_str()) {
                self.header_key(&mut header, line, key, self.value(value))?;
                continue;
            }
            match (key.as_str(), value.value) {
                ("cases", Node::List(items)) => rows = Some(self.cases(items)?),
                ("cases", Node::Null) => rows = Some(Vec::new()),
                ("cases", _) => {
                    let reason = "the value must be a list of cases";
                    return Err(self.error(line, reason).at_key(key));
                }
                _ => {
                    let hint = hint(&key, &KEYS, "known are");
                    let reason = format!("unknown key `{key}` of a pack{hint}");
                    return Err(self.error(line, reason));
                }
            }
        }
        let rows = rows.ok_or_else(|| PackError::new(self.name, "the key `cases` is missing"))?;
        Ok((header, rows))
    }

    fn header_key(
        self,
        header: &mut Header,
        line: u64,
        key: String,
        value: RowValue,
    ) -> Result<(), PackError> {
        let text = match value {
            RowValue::Null => return Ok(()),
            RowValue::Text(text) => text.trim().to_owned(),
            _ => return Err(self.error(line, "the value must be text").at_key(key)),
        };
        if text.is_empty() {
            return Ok(());
        }
        match key.as_str() {
            "group" => header.group = Some(text),
            "description" => header.description = Some(text),
            "source" => header.source = Some(text),
            _ => {
                let kind = CaseKind::from_name(&text);
                let bad = || self.error(line, kind_reason(&text)).at_key(key);
                header.kind = Some(kind.ok_or_else(bad)?);
            }
        }
        Ok(())
    }

    fn cases(self, items: Vec<Spanned<Node>>) -> Result<Vec<Row>, PackError> {
        let mut rows = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let line = item.referenced.line();
            let Node::Table(entries) = item.value else {
                let reason = "a case is a table of `key: value`";
                return Err(self.error(line, reason).in_row(index + 1));
            };
            let field = |(key, value): (Spanned<String>, Spanned<Node>)| RowField {
                line: key.referenced.line(),
                key: key.value,
                value: self.value(value),
            };
            rows.push(Row {
                line,
                fields: entries.into_iter().map(field).collect(),
            });
        }
        Ok(rows)
    }

    fn value(self, node: Spanned<Node>) -> RowValue {
        match node.value {
            Node::Null => RowValue::Null,
            Node::Scalar(Some(text)) => RowValue::Text(text),
            Node::Scalar(None) => {
                let span = node.defined.span();
                let start = span.byte_offset().and_then(|at| usize::try_from(at).ok());
                let len = span.byte_len().and_then(|len| usize::try_from(len).ok());
                let written = start
                    .zip(len)
                    .and_then(|(start, len)| self.text.get(start..start.checked_add(len)?));
                written.map_or(RowValue::Other("a number or a boolean"), |text| {
                    RowValue::Text(text.trim().to_owned())
                })
            }
            Node::List(items) => {
                RowValue::List(items.into_iter().map(|item| self.value(item)).collect())
            }
            Node::Table(_) => RowValue::Other("a table"),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Some(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Node::Table(table))
    }
}
