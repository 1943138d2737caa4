//! The elements of a JSON list, one at a time.

use std::io::{self, BufRead};

use super::locate::characters;
use crate::Place;

/// The longest row that is read.
const LONGEST: usize = 256 * 1024 * 1024;

/// Why the list cannot be read on.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Where.
    pub place: Place,
    /// Why.
    pub reason: String,
}

/// Splits a list into the texts of its elements. It holds one element at a time, and does not look whether that is JSON.
pub(crate) struct Rows<R> {
    input: R,
    at: Place,
    state: State,
    row: Vec<u8>,
    start: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Begin,
    /// Behind the bracket.
    First,
    /// Behind an element.
    Next,
    Done,
}

/// How an element that is being read can end.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_text: bool,
    escaped: bool,
    begun: bool,
}

/// What a byte is to the element.
#[derive(PartialEq)]
enum Step {
    Part,
    LastPart,
    Behind,
}

impl Scan {
    fn step(&mut self, byte: u8) -> Step {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_text = false;
                    if self.depth == 0 {
                        return Step::LastPart;
                    }
                }
                _ => {}
            }
            return Step::Part;
        }
        let first = !self.begun;
        self.begun = true;
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Step::LastPart;
                }
            }
            b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 && !first => {
                return Step::Behind;
            }
            _ => {}
        }
        Step::Part
    }
}

impl<R: BufRead> Rows<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            at: Place::START,
            state: State::Begin,
            row: Vec::new(),
            start: Place::START,
        }
    }

    /// The next element and where it begins; `None` at the end. After a fault there is nothing more.
    pub(crate) fn next_row(&mut self) -> Option<Result<(&[u8], Place), Fault>> {
        match self.advance() {
            Ok(true) => Some(Ok((&self.row, self.start))),
            Ok(false) => None,
            Err(fault) => {
                self.state = State::Done;
                Some(Err(fault))
            }
        }
    }

    fn advance(&mut self) -> Result<bool, Fault> {
        if self.state == State::Begin {
            self.begin()?;
        }
        let byte = match self.state {
            State::Done | State::Begin => return Ok(false),
            _ => self.peek()?,
        };
        match (self.state, byte) {
            (_, None) => {
                return Err(self.fault("the file ends in the middle of its list: it was cut off"));
            }
            (_, Some(b']')) => {
                self.take()?;
                self.end()?;
                self.state = State::Done;
                return Ok(false);
            }
            (State::Next, Some(b',')) => {
                self.take()?;
                match self.peek()? {
                    Some(b']') => {
                        return Err(self.fault("a comma stands behind the last row. Take it out"));
                    }
                    None => {
                        return Err(
                            self.fault("the file ends in the middle of its list: it was cut off")
                        );
                    }
                    Some(_) => {}
                }
            }
            (State::Next, Some(other)) => {
                return Err(self.fault(&format!(
                    "{} where a comma or the end of the list belongs",
                    shown(other)
                )));
            }
            _ => {}
        }
        self.element()?;
        self.state = State::Next;
        Ok(true)
    }

    fn begin(&mut self) -> Result<(), Fault> {
        match self.peek()? {
            Some(b'[') => {
                self.take()?;
                self.state = State::First;
                Ok(())
            }
            Some(0xef) => Err(self.fault(
                "the file begins with a byte order mark, which JSON does not allow. Save it as UTF-8 without one",
            )),
            Some(other) => Err(self.fault(&format!("{} where a list belongs", shown(other)))),
            None => Err(self.fault("the file is empty. It must hold a list: `[]` has no rows")),
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        match self.peek()? {
            None => Ok(()),
            Some(other) => Err(self.fault(&format!("{} behind the end of the list", shown(other)))),
        }
    }

    /// Reads an element into `row`.
    fn element(&mut self) -> Result<(), Fault> {
        self.row.clear();
        self.row.shrink_to(1 << 20);
        self.start = self.at;
        let mut scan = Scan::default();
        loop {
            let at = self.at;
            let bytes = fill(&mut self.input).map_err(|error| unreadable(at, &error))?;
            if bytes.is_empty() {
                return Err(self.fault("the file ends in the middle of a row: it was cut off"));
            }
            let mut used = 0_usize;
            let mut ended = false;
            for byte in bytes {
                match scan.step(*byte) {
                    Step::Part => used += 1,
                    Step::LastPart => {
                        used += 1;
                        ended = true;
                    }
                    Step::Behind => ended = true,
                }
                if scan.in_text && *byte == b'\n' {
                    let read = bytes.get(..used.saturating_sub(1)).unwrap_or_default();
                    let place = moved(at, read);
                    return Err(Fault {
                        place,
                        reason: "a text goes over the end of its line: a double quote is missing, or a line break is not written as \\n"
                            .to_owned(),
                    });
                }
                if ended {
                    break;
                }
            }
            let read = bytes.get(..used).unwrap_or_default();
            self.row.extend_from_slice(read);
            self.at = moved(at, read);
            self.input.consume(used);
            if ended {
                return Ok(());
            }
            if self.row.len() > LONGEST {
                return Err(
                    self.fault("a row is longer than 256 MiB, or its brackets do not close")
                );
            }
        }
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Result<Option<u8>, Fault> {
        loop {
            let at = self.at;
            let bytes = fill(&mut self.input).map_err(|error| unreadable(at, &error))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let blanks = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            let next = bytes.get(blanks).copied();
            self.at = moved(at, bytes.get(..blanks).unwrap_or_default());
            self.input.consume(blanks);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Steps over the byte that was peeked at.
    fn take(&mut self) -> Result<(), Fault> {
        let at = self.at;
        fill(&mut self.input).map_err(|error| unreadable(at, &error))?;
        self.input.consume(1);
        self.at.column += 1;
        Ok(())
    }

    fn fault(&self, reason: &str) -> Fault {
        Fault {
            place: self.at,
            reason: reason.to_owned(),
        }
    }
}

fn fill<R: BufRead>(input: &mut R) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    input.fill_buf()
}

fn unreadable(place: Place, error: &io::Error) -> Fault {
    Fault {
        place,
        reason: format!("the file cannot be read on: {error}"),
    }
}

/// The place behind `read`, which begins at `at`.
fn moved(at: Place, read: &[u8]) -> Place {
    let breaks = read.iter().filter(|byte| **byte == b'\n').count();
    let last = read
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let chars = characters(last);
    Place {
        line: at.line + breaks as u64,
        column: if breaks == 0 {
            at.column + chars
        } else {
            1 + chars
        },
    }
}

fn shown(byte: u8) -> String {
    match byte {
        b'{' => "an object stands".to_owned(),
        b'"' => "a text stands".to_owned(),
        byte if byte.is_ascii_graphic() => format!("`{}` stands", char::from(byte)),
        _ => "binary data stands".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// A text with its line and column.
    type Placed = (String, u64, u64);

    /// The rows with their places, and the fault, whatever the size of the buffer.
    fn split(text: &str, size: usize) -> (Vec<Placed>, Option<Placed>) {
        let mut rows = Rows::new(BufReader::with_capacity(size, text.as_bytes()));
        let mut found = Vec::new();
        while let Some(row) = rows.next_row() {
            match row {
                Ok((row, at)) => {
                    let row = String::from_utf8(row.to_vec()).unwrap();
                    found.push((row, at.line, at.column));
                }
                Err(fault) => {
                    let place = fault.place;
                    return (found, Some((fault.reason, place.line, place.column)));
                }
            }
        }
        (found, None)
    }

    #[test]
    fn rows_come_with_their_places() {
        let text = "[ {\"a\": \"]}\\\"\"},\n  [1, [2]], \"é,\", 7,null\n]\n";
        for size in [1, 2, 3, 7, 64] {
            let (rows, fault) = split(text, size);
            let rows: Vec<(&str, u64, u64)> = rows
                .iter()
                .map(|(row, line, column)| (row.as_str(), *line, *column))
                .collect();
            assert_eq!(
                rows,
                [
                    ("{\"a\": \"]}\\\"\"}", 1, 3),
                    ("[1, [2]]", 2, 3),
                    ("\"é,\"", 2, 13),
                    ("7", 2, 19),
                    ("null", 2, 21),
                ]
            );
            assert_eq!(fault, None);
        }
        assert_eq!(split("[]", 8), (Vec::new(), None));
    }

    #[test]
    fn what_breaks_the_list_is_told_with_its_place() {
        for (text, line, column, reason) in [
            ("", 1, 1, "the file is empty"),
            ("{}", 1, 1, "an object stands where a list belongs"),
            ("\u{feff}[]", 1, 1, "byte order mark"),
            ("[{\"a\": 1}", 1, 10, "cut off"),
            ("[{\"a\":\n 1", 2, 3, "in the middle of a row"),
            ("[1,]", 1, 4, "a comma stands behind the last row"),
            ("[1 2]", 1, 4, "`2` stands where a comma"),
            ("[1] x", 1, 5, "`x` stands behind the end"),
            ("[\"a\nb\"]", 1, 4, "goes over the end of its line"),
        ] {
            for size in [1, 3, 64] {
                let fault = split(text, size).1.unwrap();
                assert_eq!((fault.1, fault.2), (line, column), "{text:?}: {}", fault.0);
                assert!(fault.0.contains(reason), "{text:?}: {}", fault.0);
            }
        }
    }
}
