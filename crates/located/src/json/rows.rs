//! The rows of a JSON list, read one at a time.
//!
//! [`JsonRows`] holds a part of the text and finds the end of each row; the caller parses the row from that slice. Parsing a slice
//! takes less than half the time of parsing from a reader. A row that is cut off at the end of the part is scanned again with more
//! text.

use std::io::{self, Read};

use serde::{Deserialize, de::IgnoredAny};

use super::locate;
use crate::SourceLocation;

/// Bytes per read.
const CHUNK: usize = 1 << 18;
/// The longest row in bytes. A longer row suggests a missing quote or bracket.
const LONGEST_ROW: usize = 256 << 20;

/// Reads the rows of one JSON list. Memory holds one row, and up to 256 KiB more.
///
/// ```
/// use located::json::JsonRows;
///
/// let mut rows = JsonRows::new(&b"[{\"id\": \"a\"},\n {\"id\": 5}]"[..]);
/// let row = rows.next_row()?.expect("the first row");
/// assert_eq!(row.parse::<serde_json::Value>()?["id"], "a");
///
/// # #[derive(Debug, serde::Deserialize)] struct Row { #[allow(dead_code)] id: String }
/// let row = rows.next_row()?.expect("the second row");
/// let error = row.parse::<Row>().unwrap_err();
/// assert_eq!((error.row, error.location.line), (2, 2));
/// # Ok::<(), located::json::JsonRowsError>(())
/// ```
#[derive(Debug)]
pub struct JsonRows<R> {
    input: R,
    chunk: usize,
    /// The text read so far; the part before `start` is finished.
    buffer: Vec<u8>,
    start: usize,
    /// The location of `start`.
    location: SourceLocation,
    at_end: bool,
    state: State,
    /// The number of the last row, from 1.
    row: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Before the list.
    Begin,
    /// After a row.
    Row,
    /// After the list or a fault.
    Done,
}

/// A row of the list.
#[derive(Clone, Copy, Debug)]
pub struct JsonRow<'a> {
    /// The number of the row, from 1.
    pub number: u64,
    /// Where the row begins.
    pub location: SourceLocation,
    /// One JSON value. Its texts are not checked for valid UTF-8.
    pub text: &'a [u8],
}

impl<'a> JsonRow<'a> {
    /// The row as a `T`, which may borrow from the text.
    ///
    /// # Errors
    /// When the row is not a `T`.
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, JsonRowsError> {
        serde_json::from_slice(self.text).map_err(|error| self.error(&error))
    }

    /// An error about the value at a JSON pointer in this row, or about the row if it has no such value.
    #[must_use]
    pub fn error_at(&self, pointer: &str, reason: impl Into<String>) -> JsonRowsError {
        let places = locate(self.text, &[pointer.to_owned()]);
        let before = places
            .get(pointer)
            .and_then(|(_, value)| self.text.get(..*value));
        JsonRowsError {
            row: self.number,
            location: self.location.after(before.unwrap_or_default()),
            fault: JsonRowsFault::Row(reason.into()),
        }
    }

    /// `error`, found in this row's text, with the row and its location in the file.
    #[must_use]
    pub fn error(&self, error: &serde_json::Error) -> JsonRowsError {
        let read = self.text.get(..error_offset(self.text, error));
        JsonRowsError {
            row: self.number,
            location: self.location.after(read.unwrap_or_default()),
            fault: JsonRowsFault::Row(error_reason(error)),
        }
    }
}

/// Why a list cannot be read further.
#[derive(Debug, thiserror::Error)]
#[error("{}line {}, column {}: {fault}", shown_row(*row), location.line, location.column)]
pub struct JsonRowsError {
    /// The number of the faulty row, from 1. If the list is at fault, the number of the last row; 0 before the first.
    pub row: u64,
    /// The location of the fault.
    pub location: SourceLocation,
    /// The fault.
    pub fault: JsonRowsFault,
}

/// What is wrong with a list of rows.
#[derive(Debug, thiserror::Error)]
pub enum JsonRowsFault {
    /// The reader failed.
    #[error("cannot read: {0}")]
    Read(#[source] io::Error),
    /// The file is empty.
    #[error("the file is empty; expected a list of rows (`[]` has none)")]
    Empty,
    /// The text begins with a byte order mark.
    #[error(
        "the file begins with a byte order mark, which JSON does not allow; save it as UTF-8 without one"
    )]
    ByteOrderMark,
    /// The text begins with another byte than `[`.
    #[error("expected a list of rows, found {}", shown(*.0))]
    NotAList(u8),
    /// The text ends inside a row.
    #[error("the file ends in the middle of a row: it was cut off")]
    CutOffInRow,
    /// The text ends between two rows.
    #[error("the file ends in the middle of its list: it was cut off")]
    CutOffInList,
    /// An unexpected byte follows a row.
    #[error("expected `,` or `]` after the row, found {}", shown(*.0))]
    AfterRow(u8),
    /// The list ends with a comma.
    #[error("trailing comma after the last row")]
    TrailingComma,
    /// An unexpected byte follows the list.
    #[error("expected nothing after the list, found {}", shown(*.0))]
    AfterList(u8),
    /// The row is too long.
    #[error("the row is longer than 256 MiB: a quote or a bracket may be missing")]
    TooLong,
    /// The row is not JSON.
    #[error("invalid JSON: {0}")]
    Syntax(String),
    /// The row is JSON, but not what its reader expects.
    #[error("{0}")]
    Row(String),
}

/// `row 3, `; empty before the first row.
fn shown_row(row: u64) -> String {
    match row {
        0 => String::new(),
        row => format!("row {row}, "),
    }
}

fn shown(byte: u8) -> String {
    match byte {
        b'{' => "an object".to_owned(),
        b'"' => "a text".to_owned(),
        byte if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
        byte => format!("byte 0x{byte:02x}"),
    }
}

impl<R: Read> JsonRows<R> {
    /// Reads from `input`, which does not have to be buffered.
    pub fn new(input: R) -> Self {
        Self::with_chunk(input, CHUNK)
    }

    fn with_chunk(input: R, chunk: usize) -> Self {
        Self {
            input,
            chunk,
            buffer: Vec::new(),
            start: 0,
            location: SourceLocation::START,
            at_end: false,
            state: State::Begin,
            row: 0,
        }
    }

    /// The next row; `None` at the end of the list, and after an error.
    ///
    /// # Errors
    /// When the input cannot be read, is not one JSON list, or is cut off.
    pub fn next_row(&mut self) -> Result<Option<JsonRow<'_>>, JsonRowsError> {
        let found = self.find_row();
        if !matches!(found, Ok(Some(_))) {
            self.state = State::Done;
        }
        let Some(length) = found? else {
            return Ok(None);
        };
        let (location, begin) = (self.location, self.start);
        self.consume(length);
        Ok(Some(JsonRow {
            number: self.row,
            location,
            text: self.buffer.get(begin..self.start).unwrap_or_default(),
        }))
    }

    /// Moves to the next row; returns its length in bytes.
    fn find_row(&mut self) -> Result<Option<usize>, JsonRowsError> {
        let first = self.state == State::Begin;
        if self.state == State::Done {
            return Ok(None);
        }
        let fault = match (first, self.next_byte()?) {
            (true, Some(b'[')) | (false, Some(b',' | b']')) => None,
            (true, None) => Some(JsonRowsFault::Empty),
            (true, Some(0xef)) => Some(JsonRowsFault::ByteOrderMark),
            (true, Some(other)) => Some(JsonRowsFault::NotAList(other)),
            (false, None) => Some(JsonRowsFault::CutOffInList),
            (false, Some(other)) => Some(JsonRowsFault::AfterRow(other)),
        };
        if let Some(fault) = fault {
            return Err(self.error(fault));
        }
        let is_end = self.next_byte()? == Some(b']');
        self.consume(1);
        if !first && is_end {
            return self.end();
        }
        self.state = State::Row;
        match self.next_byte()? {
            Some(b']') if first => {
                self.consume(1);
                self.end()
            }
            Some(b']') => Err(self.error(JsonRowsFault::TrailingComma)),
            None => Err(self.error(JsonRowsFault::CutOffInList)),
            Some(_) => {
                self.row += 1;
                self.row_length().map(Some)
            }
        }
    }

    /// Checks that only white space follows the list.
    fn end(&mut self) -> Result<Option<usize>, JsonRowsError> {
        match self.next_byte()? {
            None => Ok(None),
            Some(other) => Err(self.error(JsonRowsFault::AfterList(other))),
        }
    }

    /// The length of the row at the start.
    fn row_length(&mut self) -> Result<usize, JsonRowsError> {
        loop {
            let text = self.rest();
            let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
            let (offset, fault) = match values.next() {
                Some(Ok(_)) if values.byte_offset() < text.len() || self.at_end => {
                    return Ok(values.byte_offset());
                }
                Some(Err(error)) if !error.is_eof() => {
                    let fault = JsonRowsFault::Syntax(error_reason(&error));
                    (error_offset(text, &error), fault)
                }
                _ => (text.len(), JsonRowsFault::CutOffInRow),
            };
            // A number that is cut off after its sign is reported as invalid, not as cut off.
            let may_be_cut = offset + 2 >= text.len();
            if !may_be_cut || self.at_end {
                return Err(JsonRowsError {
                    row: self.row,
                    location: self.location.after(text.get(..offset).unwrap_or_default()),
                    fault,
                });
            }
            if text.len() > LONGEST_ROW {
                return Err(self.error(JsonRowsFault::TooLong));
            }
            self.fill()?;
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Skips this many bytes.
    fn consume(&mut self, bytes: usize) {
        let done = self.rest().get(..bytes).unwrap_or_default();
        self.location = self.location.after(done);
        self.start += bytes;
    }

    /// Skips white space; returns the byte after it, `None` at the end of the text.
    fn next_byte(&mut self) -> Result<Option<u8>, JsonRowsError> {
        loop {
            let is_blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            let rest = self.rest();
            let skip = rest.iter().position(|byte| !is_blank(byte));
            let next = skip.and_then(|skip| rest.get(skip)).copied();
            self.consume(skip.unwrap_or(rest.len()));
            if next.is_some() || self.at_end {
                return Ok(next);
            }
            self.fill()?;
        }
    }

    /// Reads more text. For a row that does not fit, each read doubles the buffer.
    fn fill(&mut self) -> Result<(), JsonRowsError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        // The memory of one long row is released again.
        self.buffer.shrink_to(4 * self.chunk);
        let more = self.chunk.max(self.buffer.len()) as u64;
        match self.input.by_ref().take(more).read_to_end(&mut self.buffer) {
            Ok(read) => self.at_end = read == 0,
            Err(error) => return Err(self.error(JsonRowsFault::Read(error))),
        }
        Ok(())
    }

    fn error(&self, fault: JsonRowsFault) -> JsonRowsError {
        JsonRowsError {
            row: self.row,
            location: self.location,
            fault,
        }
    }
}

/// The byte offset of `error`, which comes from parsing `text`; 0 if the error has none.
///
/// serde_json counts columns in bytes, and a line break as column 0 of the line that it begins.
pub(super) fn error_offset(text: &[u8], error: &serde_json::Error) -> usize {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let before = breaks.take(error.line().saturating_sub(1)).last();
    let line_start = before.map_or(0, |(at, _)| at + 1);
    let offset = (line_start + error.column()).saturating_sub(1);
    offset.min(text.len())
}

/// The reason of `error` without the location at the end of its text.
pub(super) fn error_reason(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#" [
  {"id": "s\u00e9 \ud83d\ude00 \"q\"", "deep": [1.5e3, -2, null, {"x": []}], "text": "brackets ] } and \\ in \" text"},
  [1, [2]], "é,", -7, null,
  {"id": "ä"}
] "#;

    type Location = (u64, u64, u64);

    /// The rows with number, line and column, and the error that ended them.
    fn rows(text: &[u8], chunk: usize) -> (Vec<(String, Location)>, Option<JsonRowsError>) {
        let mut rows = JsonRows::with_chunk(text, chunk);
        let mut found = Vec::new();
        loop {
            match rows.next_row() {
                Ok(Some(row)) => {
                    let text = String::from_utf8_lossy(row.text).into_owned();
                    let at = row.location;
                    found.push((text, (row.number, at.line, at.column)));
                }
                Ok(None) => return (found, None),
                Err(error) => {
                    assert!(rows.next_row().unwrap().is_none(), "an error ends the rows");
                    return (found, Some(error));
                }
            }
        }
    }

    #[test]
    fn rows_are_the_same_wherever_the_chunks_cut_them() {
        for chunk in 1..=LIST.len() + 1 {
            let (rows, error) = rows(LIST.as_bytes(), chunk);
            assert!(error.is_none(), "{error:?}");
            let (texts, locations): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            assert_eq!(
                texts[1..],
                ["[1, [2]]", "\"é,\"", "-7", "null", "{\"id\": \"ä\"}"]
            );
            assert!(texts[0].ends_with(r#"\" text"}"#), "{}", texts[0]);
            assert_eq!(
                locations,
                [
                    (1, 2, 3),
                    (2, 3, 3),
                    (3, 3, 13),
                    (4, 3, 19),
                    (5, 3, 23),
                    (6, 4, 3)
                ]
            );
        }
        for empty in ["[]", " [ \n ] \n"] {
            assert!(matches!(rows(empty.as_bytes(), 1), (rows, None) if rows.is_empty()));
        }
    }

    #[test]
    fn a_list_cut_off_anywhere_is_an_error_and_never_a_short_list() {
        let list = LIST.trim_end();
        for length in 0..list.len() {
            let (_, error) = rows(&list.as_bytes()[..length], 5);
            assert!(error.is_some(), "{length}");
        }
        let (_, error) = rows(&list.as_bytes()[..list.len() - 3], 16);
        assert!(matches!(
            error.unwrap(),
            JsonRowsError {
                row: 6,
                fault: JsonRowsFault::CutOffInRow,
                ..
            }
        ));
    }

    #[test]
    fn errors_name_row_line_and_column() {
        for (text, place, reason) in [
            ("", (0, 1, 1), "the file is empty"),
            (
                "\n{}",
                (0, 2, 1),
                "expected a list of rows, found an object",
            ),
            (
                "\u{feff}[]",
                (0, 1, 1),
                "the file begins with a byte order mark",
            ),
            ("[{}", (1, 1, 4), "the file ends in the middle of its list"),
            ("[{},", (1, 1, 5), "the file ends in the middle of its list"),
            (
                "[{\"a\":\n 1",
                (1, 2, 3),
                "the file ends in the middle of a row",
            ),
            ("[1,]", (1, 1, 4), "trailing comma"),
            ("[,1]", (1, 1, 2), "invalid JSON: expected value"),
            (
                "[1 2]",
                (1, 1, 4),
                "expected `,` or `]` after the row, found `2`",
            ),
            (
                "[1] x",
                (1, 1, 5),
                "expected nothing after the list, found `x`",
            ),
            (
                "[1]\n\0",
                (1, 2, 1),
                "expected nothing after the list, found byte 0x00",
            ),
            (
                "[1,\n {\"é\": NaN}]",
                (2, 2, 8),
                "invalid JSON: expected value",
            ),
            ("[\"a\nb\"]", (1, 1, 3), "invalid JSON: control character"),
        ] {
            for chunk in [1, 3, 64] {
                let error = rows(text.as_bytes(), chunk).1.unwrap();
                let at = (error.row, error.location.line, error.location.column);
                assert_eq!(at, place, "{text:?}, {chunk}: {error}");
                let fault = error.fault.to_string();
                assert!(fault.starts_with(reason), "{text:?}: {fault}");
            }
        }
    }

    #[test]
    fn a_row_that_is_not_what_its_reader_expects_is_an_error_with_its_location() {
        let mut rows = JsonRows::new(&b"[1,\n [2,\n  true]]"[..]);
        rows.next_row().unwrap();
        let row = rows.next_row().unwrap().unwrap();
        assert_eq!(
            row.parse::<Vec<u8>>().unwrap_err().to_string(),
            "row 2, line 3, column 6: invalid type: boolean `true`, expected u8"
        );
    }

    #[test]
    fn a_reader_that_fails_is_an_error_after_the_rows_before() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut rows = JsonRows::with_chunk(b"[1,\n2,".chain(Fails), 2);
        assert_eq!(rows.next_row().unwrap().unwrap().text, b"1");
        assert_eq!(rows.next_row().unwrap().unwrap().text, b"2");
        assert_eq!(
            rows.next_row().unwrap_err().to_string(),
            "row 2, line 2, column 3: cannot read: the disk is gone"
        );
        assert!(rows.next_row().unwrap().is_none());
    }

    #[test]
    fn a_long_row_comes_whole_and_does_not_keep_its_room() {
        let long = format!("{{\"a\":\"{}\"}}", "x\\\"".repeat(CHUNK));
        let text = format!("[{long},{{}},{}{{}}]", " ".repeat(2 * CHUNK));
        let mut rows = JsonRows::new(text.as_bytes());
        assert_eq!(rows.next_row().unwrap().unwrap().text, long.as_bytes());
        for _ in 0..2 {
            assert_eq!(rows.next_row().unwrap().unwrap().text, b"{}");
        }
        assert!(rows.buffer.capacity() <= 4 * CHUNK);
    }
}
