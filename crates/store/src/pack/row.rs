//! Converts the rows of any format to checked cases.

use schema::text::is_blank;
use std::collections::{BTreeMap, HashMap};

use super::{Header, PackError, PackFormat, PackOptions, stem};
use schema::{
    ProgramFlag,
    nearest::hint,
    safety::{CaseKind, TestCase, TestCaseGroup},
};

/// The keys of a case.
const KEYS: [&str; 8] = [
    "id", "prompt", "intent", "group", "kind", "persona", "tags", "source",
];

/// Advice about the columns of another program.
fn foreign_columns() -> String {
    let column = ProgramFlag::new("csv-column");
    format!(" If this file is another program's, say which column holds the prompt (`{column}`)")
}

/// One row as in the file.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its first line, from 1.
    pub line: u64,
    pub fields: Vec<RowField>,
}

/// One key of a row.
#[derive(Clone, Debug)]
pub(super) struct RowField {
    pub key: String,
    pub line: u64,
    pub value: RowValue,
}

/// A value, of the types that packs support.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowValue {
    Null,
    Text(String),
    List(Vec<Self>),
    Other(&'static str),
}

impl RowValue {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Other(kind) => kind,
        }
    }
}

/// The meaning of a key in the file.
enum Meaning {
    Known(&'static str),
    PassedOver,
    Unknown,
}

/// Collects cases into groups.
pub(super) struct Builder<'a> {
    name: &'a str,
    header: Header,
    options: &'a PackOptions,
    format: PackFormat,
    groups: Vec<TestCaseGroup>,
    group_index: HashMap<String, usize>,
    seen: HashMap<String, u64>,
    rows: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        name: &'a str,
        header: Header,
        options: &'a PackOptions,
        format: PackFormat,
    ) -> Self {
        Self {
            name,
            header,
            options,
            format,
            groups: Vec::new(),
            group_index: HashMap::new(),
            seen: HashMap::new(),
            rows: 0,
        }
    }

    pub(super) fn finish(self) -> Vec<TestCaseGroup> {
        self.groups
    }

    /// Adds the case of one row.
    pub(super) fn push(&mut self, row: Row) -> Result<(), PackError> {
        self.rows += 1;
        let line = row.line;
        let columns: Vec<String> = row.fields.iter().map(|field| field.key.clone()).collect();
        let mut values = self.take(row)?;
        let mut text = |key: &'static str| self.text(&mut values, key);
        let group = text("group")?;
        let id = text("id")?;
        let prompt = text("prompt")?;
        let intent = text("intent")?;
        let kind = text("kind")?;
        let persona = text("persona")?;
        let source = text("source")?.or_else(|| self.header.source.clone());
        let tags = self.tags(&mut values)?;

        if prompt.is_none() && intent.is_none() {
            return Err(self.missing_prompt(line, &columns));
        }
        let group = self.group(group);
        let id = self.id(id, &group, line)?;
        let kind = match kind {
            Some(kind) => CaseKind::from_name(&kind).ok_or_else(|| self.bad_kind(line, &kind))?,
            None => self.header.kind.or(self.options.kind).unwrap_or_default(),
        };
        let case = TestCase {
            id,
            group,
            kind,
            prompt,
            intent,
            persona,
            tags,
            source,
        };
        self.add(case);
        Ok(())
    }

    fn error(&self, line: u64, reason: impl Into<String>) -> PackError {
        PackError::new(self.name, reason)
            .at_line(line)
            .in_row(self.rows)
    }

    /// The row's values by their meaning.
    fn take(&self, row: Row) -> Result<BTreeMap<&'static str, RowField>, PackError> {
        let mut values = BTreeMap::new();
        for field in row.fields {
            let known = match self.meaning(&field.key) {
                Meaning::Known(known) => known,
                Meaning::PassedOver => continue,
                Meaning::Unknown => return Err(self.unknown(&field)),
            };
            let (line, key) = (field.line, field.key.clone());
            if values.insert(known, field).is_some() {
                return Err(self.error(line, "duplicate key").at_key(key));
            }
        }
        Ok(values)
    }

    fn meaning(&self, key: &str) -> Meaning {
        let named = [
            ("prompt", &self.options.prompt_key),
            ("intent", &self.options.intent_key),
            ("id", &self.options.id_key),
            ("group", &self.options.group_key),
        ];
        if let Some((known, _)) = named.iter().find(|(_, name)| name.as_deref() == Some(key)) {
            return Meaning::Known(known);
        }
        let foreign = self.options.is_foreign();
        let replaced = |known: &str| {
            let mut named = named.iter();
            named.any(|(name, by)| *name == known && by.is_some())
        };
        match KEYS.into_iter().find(|known| *known == key) {
            // A `kind` of another program most likely has a different meaning.
            Some(known) if !(replaced(known) || (foreign && known == "kind")) => {
                Meaning::Known(known)
            }
            _ if foreign => Meaning::PassedOver,
            _ => Meaning::Unknown,
        }
    }

    fn unknown(&self, field: &RowField) -> PackError {
        let hint = hint(&field.key, &KEYS, "known are");
        let end = match self.format {
            PackFormat::Csv if hint.ends_with('?') => foreign_columns(),
            PackFormat::Csv => format!(".{}", foreign_columns()),
            _ => String::new(),
        };
        let reason = format!("unknown key `{}`{hint}{end}", field.key);
        match self.format {
            PackFormat::Csv => PackError::new(self.name, reason).at_line(1),
            _ => self.error(field.line, reason),
        }
    }

    /// The text of a key; `None` if it is absent, null or blank.
    fn text(
        &self,
        values: &mut BTreeMap<&'static str, RowField>,
        key: &'static str,
    ) -> Result<Option<String>, PackError> {
        let Some(field) = values.remove(key) else {
            return Ok(None);
        };
        match field.value {
            RowValue::Null => Ok(None),
            RowValue::Text(text) if is_blank(&text) => Ok(None),
            RowValue::Text(text) => Ok(Some(text.trim().to_owned())),
            other => {
                let reason = format!("expected text, found {}", other.kind());
                Err(self.error(field.line, reason).at_key(field.key))
            }
        }
    }

    /// Tags: a list of texts, or one text with `;` between them.
    fn tags(
        &self,
        values: &mut BTreeMap<&'static str, RowField>,
    ) -> Result<Vec<String>, PackError> {
        let Some(field) = values.remove("tags") else {
            return Ok(Vec::new());
        };
        let texts = match field.value {
            RowValue::Null => Vec::new(),
            RowValue::Text(text) => text.split(';').map(str::to_owned).collect(),
            RowValue::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items {
                    let RowValue::Text(text) = item else {
                        let reason = format!("expected tags of text, found {}", item.kind());
                        return Err(self.error(field.line, reason).at_key(field.key));
                    };
                    texts.push(text);
                }
                texts
            }
            other => {
                let reason = format!("expected a list of texts, found {}", other.kind());
                return Err(self.error(field.line, reason).at_key(field.key));
            }
        };
        let trimmed = texts.iter().map(|tag| tag.trim().to_owned());
        Ok(trimmed.filter(|tag| !tag.is_empty()).collect())
    }

    fn missing_prompt(&self, line: u64, columns: &[String]) -> PackError {
        let wanted = self.options.prompt_key.as_deref().unwrap_or("prompt");
        let intent = self.options.intent_key.as_deref().unwrap_or("intent");
        let there = |key: &str| columns.iter().any(|column| column == key);
        if there(wanted) || there(intent) {
            return self.error(
                line,
                "prompt and intent are both missing or blank. A case needs one",
            );
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let hint = hint(wanted, &columns, "there are");
        self.error(line, format!("neither `{wanted}` nor `{intent}`{hint}"))
    }

    fn bad_kind(&self, line: u64, kind: &str) -> PackError {
        self.error(line, kind_reason(kind)).at_key("kind")
    }

    fn group(&self, group: Option<String>) -> String {
        group
            .or_else(|| self.options.group.clone())
            .or_else(|| self.header.group.clone())
            .unwrap_or_else(|| stem(self.name).to_owned())
    }

    fn id(&mut self, id: Option<String>, group: &str, line: u64) -> Result<String, PackError> {
        let may_be_made = self.options.is_foreign() || self.format == PackFormat::Csv;
        let id = match id {
            Some(id) => id,
            None if may_be_made => format!("{group}-{:04}", self.rows),
            None => {
                let reason = "the id is missing. Each case needs one that stays the same when the pack is edited";
                return Err(self.error(line, reason).at_key("id"));
            }
        };
        let bad = |reason: String| Err(self.error(line, reason).at_key("id"));
        if id.contains(['/', '\\']) || id.contains("__") || id.chars().any(char::is_control) {
            return bad(format!("{id:?} holds a slash, `__` or a control character"));
        }
        if id.len() > 200 {
            return bad(format!(
                "the id is longer than 200 bytes: {}…",
                schema::reply::excerpt(&id)
            ));
        }
        if let Some(first) = self.seen.get(&id) {
            return bad(format!(
                "duplicate id {id:?}, first in line {first}. Each case needs its own id"
            ));
        }
        self.seen.insert(id.clone(), line);
        Ok(id)
    }

    fn add(&mut self, case: TestCase) {
        let index = self.group_index.get(&case.group).copied();
        if let Some(group) = index.and_then(|index| self.groups.get_mut(index)) {
            group.cases.push(case);
            return;
        }
        let name = case.group.clone();
        let own = self
            .header
            .group
            .as_ref()
            .is_none_or(|group| *group == name);
        self.group_index.insert(name.clone(), self.groups.len());
        self.groups.push(TestCaseGroup {
            name,
            description: self.header.description.clone().filter(|_| own),
            cases: vec![case],
        });
    }
}

/// Why a word is not a kind.
pub(super) fn kind_reason(kind: &str) -> String {
    format!(
        "unknown kind of case {kind:?}{}",
        hint(kind, &CaseKind::NAMES, "known are")
    )
}
