//! The text of a JSON list, and the same rows with one row a line: each is computed from the other, a part of the text at a time.
//!
//! Only white space between the parts of a row changes: numbers and texts stay as they were written.

/// How deep lines are indented. A damaged segment of a few bytes can hold a row with any depth; serde_json reads none that is deeper than this.
const DEEPEST: usize = 128;

/// Where a text is within its lists and objects.
#[derive(Debug, Default)]
struct Nesting {
    /// How many lists and objects are open.
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Whether `byte` is part of a text, its quotes included. Moves behind it.
    fn is_text(&mut self, byte: u8) -> bool {
        match (self.in_text, byte) {
            (true, _) if self.is_escaped => self.is_escaped = false,
            (true, b'\\') => self.is_escaped = true,
            (_, b'"') => self.in_text = !self.in_text,
            (in_text, _) => return in_text,
        }
        true
    }
}

/// Makes lines of a list.
#[derive(Debug, Default)]
pub(super) struct ToLines {
    nesting: Nesting,
    /// Whether the current line has any text.
    has_text: bool,
}

impl ToLines {
    /// Appends the lines of the next part of the list to `lines`.
    pub(super) fn push(&mut self, list: &[u8], lines: &mut Vec<u8>) {
        for byte in list {
            let nesting = &mut self.nesting;
            if nesting.is_text(*byte) {
                lines.push(*byte);
                self.has_text = true;
                continue;
            }
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => {}
                b'[' | b'{' => {
                    if nesting.depth > 0 {
                        lines.push(*byte);
                        self.has_text = true;
                    }
                    nesting.depth += 1;
                }
                b']' | b'}' => {
                    nesting.depth = nesting.depth.saturating_sub(1);
                    match nesting.depth {
                        0 => self.end_line(lines),
                        _ => lines.push(*byte),
                    }
                }
                b',' if nesting.depth == 1 => self.end_line(lines),
                _ => {
                    lines.push(*byte);
                    self.has_text = true;
                }
            }
        }
    }

    fn end_line(&mut self, lines: &mut Vec<u8>) {
        if std::mem::take(&mut self.has_text) {
            lines.push(b'\n');
        }
    }
}

/// Makes a list of lines: indented by two spaces, as [`serde_json::ser::PrettyFormatter`] indents.
#[derive(Debug, Default)]
pub(super) struct ToList {
    nesting: Nesting,
    has_rows: bool,
    /// Whether the current row has begun.
    in_row: bool,
    /// Whether the last byte opened a list or an object.
    is_opened: bool,
}

impl ToList {
    /// Appends the next part of the list, made of `lines`, to `list`.
    pub(super) fn push(&mut self, lines: &[u8], list: &mut Vec<u8>) {
        for byte in lines {
            if *byte == b'\n' {
                (self.nesting, self.in_row, self.is_opened) = (Nesting::default(), false, false);
                continue;
            }
            if !self.in_row {
                list.extend_from_slice(if self.has_rows { b",\n  " } else { b"[\n  " });
                (self.in_row, self.has_rows) = (true, true);
            }
            self.push_byte(*byte, list);
        }
    }

    fn push_byte(&mut self, byte: u8, list: &mut Vec<u8>) {
        let was_text = self.nesting.in_text;
        let is_text = self.nesting.is_text(byte);
        if was_text {
            return list.push(byte);
        }
        let is_close = !is_text && matches!(byte, b']' | b'}');
        if is_close {
            self.nesting.depth = self.nesting.depth.saturating_sub(1);
        }
        if self.is_opened != is_close {
            self.break_line(list);
        }
        self.is_opened = false;
        list.push(byte);
        match byte {
            _ if is_text => {}
            b'[' | b'{' => {
                self.nesting.depth += 1;
                self.is_opened = true;
            }
            b',' => self.break_line(list),
            b':' => list.push(b' '),
            _ => {}
        }
    }

    fn break_line(&self, list: &mut Vec<u8>) {
        list.push(b'\n');
        let depth = self.nesting.depth.min(DEEPEST);
        list.resize(list.len() + 2 * (depth + 1), b' ');
    }

    /// The end of the list.
    pub(super) fn end(&self) -> &'static [u8] {
        match self.has_rows {
            true => b"\n]\n",
            false => b"[]\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn lines(list: &str, step: usize) -> String {
        let (mut to_lines, mut lines) = (ToLines::default(), Vec::new());
        for part in list.as_bytes().chunks(step) {
            to_lines.push(part, &mut lines);
        }
        String::from_utf8(lines).unwrap()
    }

    fn list(lines: &str, step: usize) -> String {
        let (mut to_list, mut list) = (ToList::default(), Vec::new());
        for part in lines.as_bytes().chunks(step) {
            to_list.push(part, &mut list);
        }
        list.extend_from_slice(to_list.end());
        String::from_utf8(list).unwrap()
    }

    #[track_caller]
    fn check(rows: &[Value], step: usize) {
        let plain = format!("{}\n", serde_json::to_string_pretty(rows).unwrap());
        let expected: String = rows.iter().map(|row| format!("{row}\n")).collect();
        assert_eq!(lines(&plain, step), expected);
        assert_eq!(list(&expected, step), plain);
    }

    #[test]
    fn the_deepest_row_that_can_be_read_comes_back() {
        let deep = (0..DEEPEST - 2).fold(json!(1), |inner, _| json!([inner]));
        check(&[deep], 7);
    }

    /// Found by fuzzing: 446 bytes of a segment became 4 GB.
    #[test]
    fn a_row_takes_no_memory_for_its_depth() {
        let open = 1 << 16;
        let text = list(&"[".repeat(open), 4096);
        assert!(text.len() < open * 2 * (DEEPEST + 2), "{}", text.len());
    }

    #[test]
    fn rows_of_all_shapes_come_back_byte_for_byte() {
        let deep = json!({"a": [], "b": {}, "c": [[], {}, [1, [2]]], "d": {"e": {"f": null}}});
        let texts = json!([
            "",
            "\"",
            "\\",
            "a\\\"b",
            "[1, {\n]}",
            "\u{e4}\u{1F600}\u{0}"
        ]);
        let numbers = json!([0, -1, 1.5, 1e300, true, false]);
        for rows in [
            &[][..],
            &[json!({})],
            &[json!([]), json!("x"), json!(1), json!(null)],
            &[deep, texts, numbers],
        ] {
            for step in [1, 2, 3, 1000] {
                check(rows, step);
            }
        }
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        assert_eq!(lines("[1.10, {\"a\" : 1E2}\n]", 1), "1.10\n{\"a\":1E2}\n");
        assert_eq!(list("1.10\n", 1), "[\n  1.10\n]\n");
    }

    #[test]
    fn what_is_not_json_ends_with_its_line() {
        let list = list("}}}\"\n\n]{\n1\n", 1);
        assert!(list.starts_with("[\n  "), "{list}");
        assert!(list.ends_with(",\n  1\n]\n"), "{list}");
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((".*", inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_rows_come_back(rows in proptest::collection::vec(value(), 0..5), step in 1usize..50) {
            check(&rows, step);
        }
    }
}
