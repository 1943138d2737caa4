//! Reading one JSON list row by row from any reader.
//!
//! Rows are parsed from slices of a window over the text: parsing from a reader byte by byte takes several times as long.
//! A row that the window cuts off is parsed again when more text has come.

use std::io::{self, Read};

use serde_json::Deserializer;

use crate::{
    error::{AggregateError, Kind},
    row::{Known, RowKind},
};

const WINDOW: usize = 256 * 1024;
/// A longer row is taken for a sign of a missing quote or bracket.
const LONGEST_ROW: usize = 64 * 1024 * 1024;

/// Gives every row of the list in `input` to `take`.
pub(crate) fn each_row<K: RowKind, R: Read>(
    input: R,
    known: Known<'_>,
    take: impl for<'a> FnMut(K::Whole<'a>),
) -> Result<(), AggregateError> {
    each_row_windowed::<K, R>(input, WINDOW, known, take)
}

fn each_row_windowed<K: RowKind, R: Read>(
    input: R,
    window: usize,
    known: Known<'_>,
    mut take: impl for<'a> FnMut(K::Whole<'a>),
) -> Result<(), AggregateError> {
    let mut text = Window::new(input, window);
    match text.next_byte()? {
        Some(b'[') => text.consume(1),
        Some(other) => return Err(text.not_a_list(other)),
        None => {
            return Err(text.list_error("the file is empty, where a list of score rows should be"));
        }
    }
    if text.next_byte()? == Some(b']') {
        text.consume(1);
    } else {
        loop {
            // The row's line is where it begins.
            text.next_byte()?;
            text.row += 1;
            let length = one_row::<K, R>(&mut text, known, &mut take)?;
            text.consume(length);
            match text.next_byte()? {
                Some(b',') => text.consume(1),
                Some(b']') => break text.consume(1),
                Some(other) => {
                    let reason = format!("after the row stands {}, not , or ]", shown(other));
                    return Err(text.row_error(0, reason));
                }
                None => return Err(text.cut_off()),
            }
        }
    }
    match text.next_byte()? {
        None => Ok(()),
        Some(other) => Err(text.list_error(format!("after the list stands {}", shown(other)))),
    }
}

/// Gives the row at the start of the window to `take`; returns its length in bytes.
fn one_row<K: RowKind, R: Read>(
    text: &mut Window<R>,
    known: Known<'_>,
    take: &mut impl for<'a> FnMut(K::Whole<'a>),
) -> Result<usize, AggregateError> {
    loop {
        let error = match parse::<K>(text.bytes(), known, take) {
            Ok(Some(length)) => return Ok(length),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let too_long = text.bytes().len() > LONGEST_ROW;
        let may_be_cut = error
            .as_ref()
            .is_none_or(|error| is_at_end(error, text.bytes()));
        if may_be_cut && !too_long && text.fill()? {
            continue;
        }
        return Err(match error {
            Some(error) => text.row_error(error.line().saturating_sub(1), without_place(&error)),
            None if too_long => {
                let reason = "the row is longer than 64 MiB: a quote or a bracket may be missing";
                text.row_error(0, reason.to_owned())
            }
            None => text.cut_off(),
        });
    }
}

/// Parses the row at the start of `bytes`; `None` when they end before the row does.
fn parse<K: RowKind>(
    bytes: &[u8],
    known: Known<'_>,
    take: &mut impl for<'a> FnMut(K::Whole<'a>),
) -> Result<Option<usize>, serde_json::Error> {
    let mut rows = Deserializer::from_slice(bytes).into_iter::<K::Row<'_>>();
    match rows.next() {
        Some(Ok(row)) => {
            take(K::whole(row, known)?);
            Ok(Some(rows.byte_offset()))
        }
        Some(Err(error)) if !error.is_eof() => Err(error),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Whether `error` is at the end of `bytes`, where more text may mend it: of a number that is cut off behind its sign
/// or point the parser says that it is invalid, not that the text ended.
fn is_at_end(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let last_line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or(bytes);
    let on_last_line = u64::try_from(error.line()) == Ok(1 + count_lines(bytes));
    on_last_line && error.column() + 1 >= last_line.len()
}

/// The error's text without the place, which counts from the row's start.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

fn shown(byte: u8) -> String {
    match byte {
        0x20..=0x7e => format!("`{}`", char::from(byte)),
        _ => format!("byte 0x{byte:02x}"),
    }
}

/// A part of the text: what is read and not yet consumed.
struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Lines that ended before the buffer.
    lines: u64,
    /// The row that is read, from 1; 0 before the first.
    row: u64,
}

impl<R: Read> Window<R> {
    fn new(input: R, size: usize) -> Self {
        Self {
            input,
            buffer: vec![0; size.max(1)],
            start: 0,
            end: 0,
            lines: 0,
            row: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// The next byte that is no white space, not consumed; `None` at the end of the text.
    fn next_byte(&mut self) -> Result<Option<u8>, AggregateError> {
        loop {
            let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            if let Some(skip) = self.bytes().iter().position(|byte| !blank(byte)) {
                self.consume(skip);
                return Ok(self.bytes().first().copied());
            }
            self.consume(self.bytes().len());
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads more behind what is there, in a larger buffer when it is full. `false` at the end of the text.
    fn fill(&mut self) -> Result<bool, AggregateError> {
        self.lines += count_lines(self.buffer.get(..self.start).unwrap_or_default());
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = loop {
            match self.input.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        match read {
            Ok(read) => {
                self.end = (self.end + read).min(self.buffer.len());
                Ok(read > 0)
            }
            Err(error) => Err(AggregateError::from(Kind::Read {
                row: self.row,
                line: self.line(),
                error,
            })),
        }
    }

    /// The line of the window's start, from 1.
    fn line(&self) -> u64 {
        1 + self.lines + count_lines(self.buffer.get(..self.start).unwrap_or_default())
    }

    /// `lines_down`: how many lines below the window's start the fault is.
    fn row_error(&self, lines_down: usize, reason: String) -> AggregateError {
        let line = self.line() + u64::try_from(lines_down).unwrap_or(u64::MAX);
        AggregateError::from(Kind::Row {
            row: self.row,
            line,
            reason,
        })
    }

    fn cut_off(&self) -> AggregateError {
        AggregateError::from(Kind::CutOff {
            row: self.row,
            line: self.line() + count_lines(self.bytes()),
        })
    }

    fn list_error(&self, reason: impl Into<String>) -> AggregateError {
        AggregateError::from(Kind::List {
            line: self.line(),
            reason: reason.into(),
        })
    }

    fn not_a_list(&self, first: u8) -> AggregateError {
        self.list_error(format!(
            "the text starts with {}, where a list of score rows should start with `[`",
            shown(first)
        ))
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    let is_end = |byte: &u8| u8::from(*byte == b'\n');
    // Up to 255 of them fit a byte, and adding bytes is what the machine does many at a time.
    let of_piece = |piece: &[u8]| piece.iter().map(is_end).sum::<u8>();
    bytes.chunks(255).map(of_piece).map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use schema::ModelId;

    use super::*;
    use crate::row::Light;

    const LIST: &str = r#" [
  {"id": "s\u00e9 \ud83d\ude00 \"q\"", "metric_id": "m01", "metric_type": "positive", "passed": true,
   "justification": "brackets ] } and \\ in \" text", "more": {"deep": [1.5e3, -2, null, {"x": []}]}},
  {"passed": null, "metric_type": "negative", "metric_id": "m\n2", "id": "ä"},
  {"id": "s3", "metric_id": "m01", "metric_type": "positive", "score": 0}
] "#;

    /// A reader that gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            let (now, later) = self.0.split_at(n);
            buffer[..n].copy_from_slice(now);
            self.0 = later;
            Ok(n)
        }
    }

    fn known(model: &ModelId) -> Known<'_> {
        Known {
            model,
            metrics: &[],
        }
    }

    fn ids(text: &[u8], window: usize, step: usize) -> Result<Vec<String>, AggregateError> {
        let mut ids = Vec::new();
        let model = ModelId::new("model").unwrap();
        let known = known(&model);
        each_row_windowed::<Light, _>(Slow(text, step), window, known, |row| {
            ids.push(format!("{}|{}|{:?}", row.id, row.metric_id, row.passed));
        })?;
        Ok(ids)
    }

    #[test]
    fn rows_are_the_same_wherever_the_window_cuts_them() {
        for window in [1, 7, 64, 100_000] {
            for step in 1..LIST.len() {
                let ids = ids(LIST.as_bytes(), window, step).unwrap();
                assert_eq!(
                    ids,
                    ["sé 😀 \"q\"|m01|Some(true)", "ä|m\n2|None", "s3|m01|None"],
                    "window {window}, step {step}"
                );
            }
        }
    }

    #[test]
    fn a_list_cut_off_anywhere_is_an_error_and_never_a_short_list() {
        let list = LIST.trim_end();
        for length in 0..list.len() {
            let error = ids(&list.as_bytes()[..length], 16, 5).unwrap_err();
            assert!(error.line() >= 1, "{length}: {error}");
        }
        let error = ids(&list.as_bytes()[..list.len() - 4], 16, 5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the list of scores ends in row 3, line 5: it was cut off. Evaluate again to write it anew"
        );
    }

    #[test]
    fn errors_name_row_and_line() {
        let good = r#"{"id": "s", "metric_id": "m", "metric_type": "positive", "passed": true}"#;
        for (text, expected) in [
            (
                "".to_owned(),
                "line 1: the file is empty, where a list of score rows should be",
            ),
            (
                "\n{}".to_owned(),
                "line 2: the text starts with `{`, where a list of score rows should start with `[`",
            ),
            (
                format!("[{good},\n{good},\n{{\"id\": \"s\",\n\"metric_type\": \"positive\"}}]"),
                "score row 3, line 4: missing field `metric_id`",
            ),
            (
                format!("[\n{good},\n{{\"id\": \"s\",\n\"metric_type\": \"neutral\"}}]"),
                "score row 2, line 4: unknown variant `neutral`, expected `positive` or `negative`",
            ),
            (
                format!("[{good},\n5]"),
                "score row 2, line 2: invalid type: integer `5`, expected a score row (a JSON object)",
            ),
            (
                format!("[{good}\n{good}]"),
                "score row 1, line 2: after the row stands `{`, not , or ]",
            ),
            (
                format!("[{good},\n]"),
                "score row 2, line 2: expected value",
            ),
            (
                format!("[{good}]\n\n x"),
                "line 3: after the list stands `x`",
            ),
            (
                format!("[{good}]\n\u{0}"),
                "line 2: after the list stands byte 0x00",
            ),
        ] {
            for window in [8, 100_000] {
                let error = ids(text.as_bytes(), window, 3).unwrap_err().to_string();
                assert_eq!(error, expected, "{text}");
            }
        }
    }

    #[test]
    fn a_failing_reader_is_told_with_its_place() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let model = ModelId::new("model").unwrap();
        let known = known(&model);
        let error = each_row::<Light, _>(LIST.as_bytes().chain(Fails), known, |_| {});
        assert!(error.is_err());
        let half = &LIST.as_bytes()[..LIST.len() / 2];
        let error = each_row::<Light, _>(half.chain(Fails), known, |_| {}).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read on after score row 1, line 2: the disk is gone"
        );
    }

    #[test]
    fn an_empty_list_has_no_rows() {
        for text in ["[]", " [ \n ] \n"] {
            assert_eq!(ids(text.as_bytes(), 1, 1).unwrap(), Vec::<String>::new());
        }
    }
}
