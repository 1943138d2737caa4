//! The rows of a JSON list as bytes, found without reading what is in them.
//!
//! Large files are read several times as fast so: a row in one piece is parsed where it lies. Whatever is not a plain list of objects is left to
//! the readers of the tree, which know older forms and tell people what is wrong.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use memchr::memchr2;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 18;

/// What came of a row.
pub(super) enum Took {
    /// The next one, please.
    Next,
    /// No more rows are wanted.
    Enough,
    /// It is not what it was taken for.
    Odd,
}

/// How the reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the end of the list, or because no more was wanted.
    Done,
    /// Behind so many rows there is something odd: other readers have to tell what.
    Odd(u64),
}

/// Hands each row of the list at `path` to `take`.
pub(super) fn each(path: &Path, take: impl FnMut(&[u8]) -> Took) -> Ended {
    match File::open(path) {
        Ok(file) => each_of(file, take),
        Err(_) => Ended::Odd(0),
    }
}

fn each_of(from: impl Read, mut take: impl FnMut(&[u8]) -> Took) -> Ended {
    let mut list = List {
        from,
        buffer: Vec::new(),
        at: 0,
    };
    let mut rows = 0;
    let mut before = b'[';
    loop {
        match list.next(before) {
            Ok(Next::Row(end)) => {
                let row = list.buffer.get(list.at..end).unwrap_or_default();
                match take(row) {
                    Took::Next => rows += 1,
                    Took::Enough => return Ended::Done,
                    Took::Odd => return Ended::Odd(rows),
                }
                list.at = end;
                before = b',';
            }
            Ok(Next::End) => return Ended::Done,
            Ok(Next::Odd) | Err(_) => return Ended::Odd(rows),
        }
    }
}

/// What comes next in a list.
enum Next {
    /// A row, up to here in the buffer.
    Row(usize),
    End,
    Odd,
}

struct List<R> {
    from: R,
    /// What was read and is not done with begins at `at`.
    buffer: Vec<u8>,
    at: usize,
}

impl<R: Read> List<R> {
    /// Goes to the next row, which follows on `before`: the bracket that opens the list, or a comma.
    fn next(&mut self, before: u8) -> io::Result<Next> {
        match self.sign()? {
            Some(sign) if sign == before => self.at += 1,
            Some(b']') if before == b',' => return self.end(),
            _ => return Ok(Next::Odd),
        }
        match self.sign()? {
            Some(b'{') => Ok(self.row()?.map_or(Next::Odd, Next::Row)),
            Some(b']') if before == b'[' => self.end(),
            _ => Ok(Next::Odd),
        }
    }

    /// Only blanks may follow the list.
    fn end(&mut self) -> io::Result<Next> {
        self.at += 1;
        Ok(match self.sign()? {
            None => Next::End,
            Some(_) => Next::Odd,
        })
    }

    /// Goes to the next byte that is no blank.
    fn sign(&mut self) -> io::Result<Option<u8>> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            match rest.iter().position(|byte| !blank(byte)) {
                Some(more) => {
                    self.at += more;
                    return Ok(self.buffer.get(self.at).copied());
                }
                None => self.at = self.buffer.len(),
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// The end of the object that begins here; `None` where the file ends in it.
    fn row(&mut self) -> io::Result<Option<usize>> {
        let mut depth = 0_u32;
        let mut in_text = false;
        // How much of the row was looked at.
        let mut seen = 0;
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            while let Some(&byte) = rest.get(seen) {
                if in_text {
                    let text = rest.get(seen..).unwrap_or_default();
                    match memchr2(b'"', b'\\', text) {
                        Some(more) if text.get(more) == Some(&b'"') => {
                            in_text = false;
                            seen += more + 1;
                        }
                        // What follows a backslash ends no text.
                        Some(more) => seen += more + 2,
                        None => seen = rest.len(),
                    }
                    continue;
                }
                seen += 1;
                match byte {
                    b'"' => in_text = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => continue,
                }
                if depth == 0 {
                    return Ok(Some(self.at + seen));
                }
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads on. What is not done with moves to the front. `false` at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() < CHUNK {
            // One long row does not keep its room for ever.
            self.buffer.shrink_to(4 * CHUNK);
        }
        let length = self.buffer.len();
        // A row that is longer than a chunk is read in growing steps.
        let more = CHUNK.max(length);
        let read = (&mut self.from)
            .take(more as u64)
            .read_to_end(&mut self.buffer)?;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> (Vec<String>, Ended) {
        let mut rows = Vec::new();
        let ended = each_of(text.as_bytes(), |row| {
            rows.push(String::from_utf8(row.to_vec()).unwrap());
            Took::Next
        });
        (rows, ended)
    }

    #[test]
    fn rows_are_cut_where_they_end() {
        let text = "\n[ {\"a\": \"}\\\"]\"}\n,{\"b\":[{},[\"\\\\\"]]}] \n";
        let (found, ended) = rows(text);
        assert_eq!(found, ["{\"a\": \"}\\\"]\"}", "{\"b\":[{},[\"\\\\\"]]}"]);
        assert_eq!(ended, Ended::Done);
        assert_eq!(rows("[]"), (vec![], Ended::Done));
    }

    #[test]
    fn long_rows_come_whole() {
        let long = format!("{{\"a\":\"{}\"}}", "x\\\"".repeat(CHUNK));
        let text = format!("[{long},{{}},{long}]");
        let (found, ended) = rows(&text);
        assert_eq!(ended, Ended::Done);
        assert_eq!(found, [long.as_str(), "{}", long.as_str()]);
    }

    #[test]
    fn what_is_odd_is_told_with_the_rows_before_it() {
        for (text, before) in [
            ("", 0),
            ("{}", 0),
            ("[5]", 0),
            ("[{},]", 1),
            ("[{} {}]", 1),
            ("[{}, {\"a\": 1", 1),
            ("[{}", 1),
            ("[{}] x", 1),
            ("[,{}]", 0),
        ] {
            assert_eq!(rows(text).1, Ended::Odd(before), "{text}");
        }
        let odd = each_of(&b"[{},{\"a\":1}]"[..], |row| match row.len() {
            2 => Took::Next,
            _ => Took::Odd,
        });
        assert_eq!(odd, Ended::Odd(1));
    }
}
