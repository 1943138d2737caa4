//! Packs in YAML: a table with `cases`, or a list of cases.

use super::{
    Header, PackError,
    row::{Row, RowField, RowValue, kind_reason},
};
use located::{Key, Node, NodeValue, YamlError};
use schema::{nearest::hint, safety::CaseKind};

/// The keys of the table.
const KEYS: [&str; 5] = ["group", "description", "kind", "source", "cases"];

/// The header and the rows of a YAML text.
pub(super) fn rows(name: &str, text: &str) -> Result<(Header, Vec<Row>), PackError> {
    let file = File { name };
    if text.lines().all(|line| line.trim().is_empty()) {
        return Ok(Default::default());
    }
    let root = Node::yaml(text).map_err(|error| file.no_yaml(&error))?;
    let line = root.location.line;
    match root.value {
        NodeValue::Null => Ok(Default::default()),
        NodeValue::List(items) => Ok((Header::default(), file.cases(items)?)),
        NodeValue::Table(entries) => file.table(entries),
        NodeValue::Plain { .. } | NodeValue::Text(_) => {
            let reason = "a pack is a table with `cases`, or a list of cases";
            Err(PackError::new(name, reason).at_line(line))
        }
    }
}

#[derive(Clone, Copy)]
struct File<'a> {
    name: &'a str,
}

impl File<'_> {
    fn error(self, line: u64, reason: impl Into<String>) -> PackError {
        PackError::new(self.name, reason).at_line(line)
    }

    fn no_yaml(self, error: &YamlError) -> PackError {
        let line = error.location().map_or(0, |at| at.line);
        let hint = match error.is_too_large() {
            true => ". A pack of many thousand cases is better kept as JSONL",
            false => "",
        };
        self.error(line, format!("{}{hint}", error.reason()))
    }

    fn table(self, entries: Vec<(Key, Node)>) -> Result<(Header, Vec<Row>), PackError> {
        let mut header = Header::default();
        let mut rows = None;
        for (key, value) in entries {
            let line = key.location.line;
            let key = key.name;
            if key != "cases" && KEYS.contains(&key.as_str()) {
                self.header_key(&mut header, line, key, row_value(value))?;
                continue;
            }
            match (key.as_str(), value.value) {
                ("cases", NodeValue::List(items)) => rows = Some(self.cases(items)?),
                ("cases", NodeValue::Null) => rows = Some(Vec::new()),
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

    fn cases(self, items: Vec<Node>) -> Result<Vec<Row>, PackError> {
        let mut rows = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let line = item.location.line;
            let NodeValue::Table(entries) = item.value else {
                let reason = "a case is a table of `key: value`";
                return Err(self.error(line, reason).in_row(index + 1));
            };
            let field = |(key, value): (Key, Node)| RowField {
                line: key.location.line,
                key: key.name,
                value: row_value(value),
            };
            rows.push(Row {
                line,
                fields: entries.into_iter().map(field).collect(),
            });
        }
        Ok(rows)
    }
}

fn row_value(node: Node) -> RowValue {
    match node.value {
        NodeValue::Null => RowValue::Null,
        NodeValue::Text(text) | NodeValue::Plain { written: text, .. } => RowValue::Text(text),
        NodeValue::List(items) => RowValue::List(items.into_iter().map(row_value).collect()),
        NodeValue::Table(_) => RowValue::Other("a table"),
    }
}
