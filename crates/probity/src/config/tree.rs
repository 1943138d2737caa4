//! The configuration as a tree in which each value knows where it was set.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A file with a line, an environment variable or a flag that sets a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin {
    /// The file, variable or flag.
    pub name: String,
    /// The line in the file, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
}

impl Origin {
    /// A whole file, variable or flag.
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            line: None,
            column: None,
        }
    }

    /// Sets the line in the file.
    pub(super) fn at_line(self, line: Option<u64>) -> Self {
        Self { line, ..self }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        Ok(())
    }
}

/// A value and where it was set. For a value of a table, this is the position of its key.
#[derive(Clone, Debug)]
pub struct Value {
    /// Where it was set.
    pub origin: Origin,
    /// The value itself.
    pub data: Data,
}

/// The keys of a table in the order of the file.
pub type Table = IndexMap<String, Value>;

/// The content of a value. Numbers and booleans stay as written: a name such as `gpt-4.10` is not a number.
#[derive(Clone, Debug)]
pub enum Data {
    /// A scalar as written.
    Text(String),
    /// A scalar with its type: from a flag, or to be sent to an endpoint unchanged.
    Json(serde_json::Value),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Table),
}

impl Value {
    /// A text.
    pub fn text(origin: Origin, text: impl Into<String>) -> Self {
        Self {
            origin,
            data: Data::Text(text.into()),
        }
    }

    /// A value that was not written as text. Numbers and booleans keep their type.
    pub fn typed(origin: &Origin, value: serde_json::Value) -> Self {
        let data = match value {
            serde_json::Value::String(text) => Data::Text(text),
            serde_json::Value::Array(items) => {
                let items = items.into_iter().map(|item| Self::typed(origin, item));
                Data::List(items.collect())
            }
            serde_json::Value::Object(entries) => {
                let typed = |(key, value)| (key, Self::typed(origin, value));
                Data::Table(entries.into_iter().map(typed).collect())
            }
            scalar => Data::Json(scalar),
        };
        Self {
            origin: origin.clone(),
            data,
        }
    }

    /// The same value with another origin.
    pub fn moved_to(self, origin: &Origin) -> Self {
        let data = match self.data {
            Data::Table(table) => {
                let entries = table.into_iter();
                Data::Table(entries.map(|(k, v)| (k, v.moved_to(origin))).collect())
            }
            Data::List(items) => {
                Data::List(items.into_iter().map(|v| v.moved_to(origin)).collect())
            }
            data => data,
        };
        Self {
            origin: origin.clone(),
            data,
        }
    }
}

/// Merges `over` into `table`: tables are merged key by key and keep their origin; any other value is replaced.
pub fn merge(table: &mut Table, over: Table) {
    for (key, value) in over {
        if let (
            Data::Table(above),
            Some(Value {
                data: Data::Table(below),
                ..
            }),
        ) = (&value.data, table.get_mut(&key))
        {
            merge(below, above.clone());
        } else {
            table.insert(key, value);
        }
    }
}

/// Sets the value at the key path `path`, such as `generation.turns`.
pub fn set(table: &mut Table, path: &str, value: Value) {
    let Some((key, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let empty = || Value {
        origin: value.origin.clone(),
        data: Data::Table(Table::new()),
    };
    let inner = table.entry(key.to_owned()).or_insert_with(empty);
    if !matches!(inner.data, Data::Table(_)) {
        *inner = empty();
    }
    if let Data::Table(inner) = &mut inner.data {
        set(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, text: &str) -> Value {
        Value::text(Origin::new(name), text)
    }

    #[test]
    fn a_merged_table_stays_where_it_was_set() {
        let (mut below, mut above) = (Table::new(), Table::new());
        set(&mut below, "a.x", value("file", "1"));
        set(&mut below, "a.y", value("file", "1"));
        set(&mut above, "a.x", value("flag", "2"));
        set(&mut above, "b", value("flag", "3"));
        merge(&mut below, above);
        assert_eq!(below["a"].origin.name, "file");
        let Data::Table(a) = &below["a"].data else {
            unreachable!("a is a table");
        };
        assert_eq!((a["x"].origin.name.as_str(), a.len()), ("flag", 2));
        assert_eq!(below["b"].origin.name, "flag");
    }
}
