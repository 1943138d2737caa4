//! The locations of values in a JSON text.

use std::collections::{HashMap, HashSet};

use crate::{SourceLocation, pointer};

/// Converts offsets in a text to lines and columns.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t [u8],
    base: SourceLocation,
    /// The offsets after each line break.
    lines: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// The index of `text`, which begins at `base` in its file.
    #[must_use]
    pub fn new(text: &'t [u8], base: SourceLocation) -> Self {
        let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self {
            text,
            base,
            lines: breaks.map(|(at, _)| at + 1).collect(),
        }
    }

    /// The location of an offset.
    #[must_use]
    pub fn place(&self, offset: usize) -> SourceLocation {
        let before = self.lines.partition_point(|start| *start <= offset);
        let line = before.checked_sub(1).and_then(|last| self.lines.get(last));
        let line_begin = match line {
            None => self.base,
            Some(_) => SourceLocation {
                line: self.base.line + before as u64,
                column: 1,
            },
        };
        let start = line.copied().unwrap_or(0);
        line_begin.after(self.text.get(start..offset).unwrap_or_default())
    }
}

/// For each pointer that exists in the value: the offset of its key (or of the value, if it has no key), and the offset of
/// the value. `text` must be JSON. For a duplicate key, the last one counts.
///
/// ```
/// use located::json::locate;
///
/// let text = br#"{"id": "s1", "tools": ["pay"]}"#;
/// assert_eq!(locate(text, &["/tools/0".to_owned()])["/tools/0"], (23, 23));
/// ```
#[must_use]
pub fn locate(text: &[u8], wanted: &[String]) -> HashMap<String, (usize, usize)> {
    let above = wanted.iter().flat_map(|pointer| {
        let ends = pointer.match_indices('/');
        ends.filter_map(|(end, _)| pointer.get(..end))
    });
    let mut walk = Walk {
        text,
        at: 0,
        wanted: wanted.iter().map(String::as_str).collect(),
        above: above.collect(),
        found: HashMap::new(),
    };
    let start = walk.blank();
    walk.value(String::new(), start);
    walk.found
}

struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    wanted: HashSet<&'t str>,
    /// The pointers of the values that contain the requested ones.
    above: HashSet<&'t str>,
    found: HashMap<String, (usize, usize)>,
}

impl Walk<'_> {
    /// Skips white space; returns the offset after it.
    fn blank(&mut self) -> usize {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn value(&mut self, path: String, key: usize) {
        let start = self.blank();
        let is_wanted = self.wanted.contains(path.as_str());
        let is_above = self.above.contains(path.as_str());
        match self.peek() {
            Some(b'{') if is_above => self.object(&path),
            Some(b'[') if is_above => self.list(&path),
            _ => self.skip(),
        }
        if is_wanted {
            self.found.insert(path, (key, start));
        }
    }

    fn object(&mut self, path: &str) {
        self.at += 1;
        loop {
            let start = self.blank();
            if self.peek() != Some(b'"') {
                self.at += 1; // the brace
                return;
            }
            self.string();
            let key = self.text.get(start..self.at).unwrap_or_default();
            let key: String = serde_json::from_slice(key).unwrap_or_default();
            self.blank();
            self.at += 1; // the colon
            self.value(pointer::key(path, &key), start);
            self.blank();
            self.at += 1; // a comma, or the brace
            if self.text.get(self.at - 1) != Some(&b',') {
                return;
            }
        }
    }

    fn list(&mut self, path: &str) {
        self.at += 1;
        let mut number = 0;
        loop {
            let start = self.blank();
            if self.peek() == Some(b']') || self.peek().is_none() {
                self.at += 1;
                return;
            }
            self.value(pointer::index(path, number), start);
            number += 1;
            self.blank();
            self.at += 1; // a comma, or the bracket
            if self.text.get(self.at - 1) != Some(&b',') {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'"' => return,
                _ => {}
            }
        }
    }

    /// Skips a value without looking into it.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b',' if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_found() {
        let text = "{ \"a\": [1,\n {\"é\": \"x,]\\\"}\", \"c\" : -1.5e3}], \"d/e\": null }";
        let wanted: Vec<String> = ["", "/a", "/a/0", "/a/1/é", "/a/1/c", "/d~1e", "/gone"]
            .map(str::to_owned)
            .into();
        let found = locate(text.as_bytes(), &wanted);
        let index = LineIndex::new(
            text.as_bytes(),
            SourceLocation {
                line: 10,
                column: 5,
            },
        );
        let at = |pointer: &str| {
            let (key, value) = found[pointer];
            let place = |at| {
                let place = index.place(at);
                (place.line, place.column)
            };
            (place(key), place(value))
        };
        assert_eq!(at(""), ((10, 5), (10, 5)));
        assert_eq!(at("/a"), ((10, 7), (10, 12)));
        assert_eq!(at("/a/0"), ((10, 13), (10, 13)));
        assert_eq!(at("/a/1/é"), ((11, 3), (11, 8)));
        assert_eq!(at("/a/1/c"), ((11, 18), (11, 24)));
        assert_eq!(at("/d~1e"), ((11, 34), (11, 41)));
        assert!(!found.contains_key("/gone"));
    }
}
