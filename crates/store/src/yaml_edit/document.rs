//! Locates keys and values in a YAML text whose root is a mapping.

use std::{collections::BTreeSet, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::YamlEditError;

/// A YAML text, as far as an edit of its `metrics` needs it.
pub(super) struct Document<'a> {
    pub(super) root: Root,
    /// Where a key can be added after the others.
    pub(super) end: usize,
    /// The `metrics` key and its value.
    pub(super) metrics: Option<Entry>,
    /// The root's other keys and values.
    rest: Vec<Event<'a>>,
}

/// The form of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// One key per line, all in this column. A text without any key counts as this form.
    Block { column: usize },
    /// `{key: value}`; a key can be added at this byte.
    Flow { inside: usize },
}

/// A key and its value, as byte positions in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// After the colon of the key.
    pub(super) colon: usize,
    /// The range of the value. If there is no value, it is empty and at the colon.
    pub(super) value: Range<usize>,
    pub(super) shape: Shape,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An empty value, which is null.
    Absent,
    /// `[...]`, an alias, or a written null.
    Inline,
    /// A list with one item per line. Its range ends with its last element, on that element's line.
    Block,
}

type Node<'a> = (Event<'a>, Span);

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, YamlEditError> {
        let events = events(text)?;
        let mut document = Self {
            root: Root::Block { column: 0 },
            end: text.len(),
            metrics: None,
            rest: Vec::new(),
        };
        if let Some((_, span)) = events
            .iter()
            .find(|(event, _)| *event == Event::DocumentEnd)
            && span.slice(text).is_some_and(|marker| !marker.is_empty())
        {
            document.end = bytes(span)?.start;
        }
        let start = events
            .iter()
            .position(|(event, _)| matches!(event, Event::DocumentStart(..)));
        match start.and_then(|at| events.get(at + 1)) {
            None => Ok(document),
            Some((Event::Scalar(value, ScalarStyle::Plain, ..), _)) if is_null(value) => {
                Ok(document)
            }
            Some((Event::MappingStart(style, ..), span)) => {
                document.root = match style {
                    StructureStyle::Block => Root::Block {
                        column: span.start.col(),
                    },
                    StructureStyle::Flow => Root::Flow {
                        inside: bytes(span)?.end,
                    },
                };
                document.read_keys(
                    text,
                    events
                        .get(start.unwrap_or_default() + 2..)
                        .unwrap_or_default(),
                )?;
                Ok(document)
            }
            Some((_, span)) => Err(YamlEditError::new(format!(
                "line {}: a mapping such as `name: ...` is expected",
                span.start.line()
            ))),
        }
    }

    /// Whether all keys except `metrics` are the same, in the same order.
    pub(super) fn rest_equals(&self, other: &Document<'_>) -> bool {
        self.rest == other.rest
    }

    /// Reads the root's keys and values from the events after its start.
    fn read_keys(&mut self, text: &str, mut events: &[Node<'a>]) -> Result<(), YamlEditError> {
        let mut anchors = BTreeSet::new();
        loop {
            let (key, behind) = events.split_at(node_length(events));
            let (value, behind) = behind.split_at(node_length(behind));
            events = behind;
            match (key, value) {
                ([], _) | (_, []) => break,
                ([(Event::Scalar(name, ..), span)], _) if name == "metrics" => {
                    let line = span.start.line();
                    if self.metrics.is_some() {
                        let reason = format!("line {line}: duplicate key `metrics`");
                        return Err(YamlEditError::new(reason));
                    }
                    self.metrics = Some(entry(text, span, value)?);
                    anchors.extend(value.iter().filter_map(|(event, _)| anchor(event)));
                }
                _ => self
                    .rest
                    .extend(key.iter().chain(value).map(|(event, _)| event.clone())),
            }
        }
        let used = |event: &Event<'_>| matches!(event, Event::Alias(id) if anchors.contains(id));
        if self.rest.iter().any(used) {
            return Err(YamlEditError::new(
                "another key uses an anchor that `metrics` defines",
            ));
        }
        Ok(())
    }
}

/// The number of the anchor that a node defines.
fn anchor(event: &Event<'_>) -> Option<usize> {
    match event {
        Event::Scalar(_, _, id, _)
        | Event::SequenceStart(_, id, _)
        | Event::MappingStart(_, id, _) => (*id != 0).then_some(*id),
        _ => None,
    }
}

/// All events except comments. A second document is refused.
fn events(text: &str) -> Result<Vec<Node<'_>>, YamlEditError> {
    let mut events: Vec<Node<'_>> = Vec::new();
    let mut documents = 0;
    let options = granit_parser::options! { emit_comments: false };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| YamlEditError::new(error.to_string()))?;
        if matches!(event, Event::DocumentStart(..)) {
            documents += 1;
        }
        if documents > 1 {
            return Err(YamlEditError::new(format!(
                "line {}: a second document begins; one is expected",
                span.start.line()
            )));
        }
        events.push((event, span));
    }
    Ok(events)
}

/// The number of events of the first node; 0 at the end of a collection.
fn node_length(events: &[Node<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, (event, _)) in events.iter().enumerate() {
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd if depth == 0 => return 0,
            Event::SequenceEnd | Event::MappingEnd => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    0
}

fn entry(text: &str, key: &Span, value: &[Node<'_>]) -> Result<Entry, YamlEditError> {
    let Some((first, span)) = value.first() else {
        return Err(YamlEditError::new("`metrics` has no value"));
    };
    let range = bytes(span)?;
    let colon = behind_colon(text, bytes(key)?.end).ok_or_else(|| {
        YamlEditError::new(format!("line {}: `metrics` has no colon", key.start.line()))
    })?;
    let (shape, value) = match first {
        Event::SequenceStart(StructureStyle::Block, ..) => {
            let mut end = range.end;
            for node in value {
                end = end.max(leaf_end(text, node)?);
            }
            (Shape::Block, first_dash(text, colon).unwrap_or(end)..end)
        }
        Event::SequenceStart(StructureStyle::Flow, ..) => {
            let end = value
                .last()
                .map_or(Ok(range.clone()), |(_, span)| bytes(span))?
                .end;
            (Shape::Inline, range.start..end)
        }
        Event::Scalar(_, ScalarStyle::Plain, ..) if range.is_empty() => {
            (Shape::Absent, colon..colon)
        }
        Event::Scalar(value, ScalarStyle::Plain, ..) if is_null(value) => (Shape::Inline, range),
        Event::Alias(_) => (Shape::Inline, range),
        _ => {
            return Err(YamlEditError::new(format!(
                "line {}: `metrics` is not a list",
                key.start.line()
            )));
        }
    };
    Ok(Entry {
        colon,
        value,
        shape,
    })
}

/// The byte after the colon that follows a key ending at `key_end`.
fn behind_colon(text: &str, key_end: usize) -> Option<usize> {
    let rest = text.get(key_end..)?;
    let colon = rest.trim_start();
    colon
        .starts_with(':')
        .then(|| key_end + rest.len() - colon.len() + 1)
}

/// Where the first item of a block list begins, after the byte `colon`. The lines before it hold comments or nothing. (The
/// parser returns the position after the dash.)
fn first_dash(text: &str, colon: usize) -> Option<usize> {
    let mut at = colon;
    for line in text.get(colon..)?.split_inclusive('\n') {
        let item = line.trim_start();
        if item.starts_with('-') {
            return Some(at + line.len() - item.len());
        }
        at += line.len();
    }
    None
}

/// Where a node's own text ends; 0 for the ends of block collections, which the parser places after what follows them.
fn leaf_end(text: &str, (event, span): &Node<'_>) -> Result<usize, YamlEditError> {
    let range = bytes(span)?;
    Ok(match event {
        // The range of a block scalar includes the blank lines after it.
        Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
            let slice = text.get(range.clone()).unwrap_or_default();
            range.start + slice.trim_end().len()
        }
        Event::SequenceEnd | Event::MappingEnd if range.is_empty() => 0,
        _ => range.end,
    })
}

fn is_null(value: &str) -> bool {
    matches!(value, "" | "~" | "null" | "Null" | "NULL")
}

fn bytes(span: &Span) -> Result<Range<usize>, YamlEditError> {
    span.byte_range()
        .ok_or_else(|| YamlEditError::new("the parser gave no positions"))
}
