//! Repairs invalid JSON of other programs.

use std::io::{self, Read};

/// Reads JSON and repairs what some programs write and strict readers refuse: the bare words `NaN`, `Infinity` and `-Infinity` become
/// null, escaped halves of surrogate pairs become U+FFFD, and a leading byte order mark is removed. Everything else is unchanged.
pub(super) struct Clean<R> {
    inner: R,
    input: Box<[u8]>,
    out: Vec<u8>,
    /// How many bytes of `out` were returned.
    given: usize,
    state: State,
    /// The bytes of an unfinished word or escape.
    held: Vec<u8>,
    started: bool,
    ended: bool,
    replaced: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Outside of texts.
    Plain,
    /// In a text.
    Text,
    /// In an escape of a text; `held` contains the escape, and the first half of a pair before it, if there is one.
    Escape,
    /// In a word that begins with a capital letter, with or without a sign.
    Word,
}

/// A longer word is not a number.
const LONGEST_WORD: usize = 16;
/// `\ud83d`: one half of a pair.
const HALF: usize = 6;

impl<R: Read> Clean<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            input: vec![0; 1 << 15].into_boxed_slice(),
            out: Vec::with_capacity(1 << 15),
            given: 0,
            state: State::Plain,
            held: Vec::new(),
            started: false,
            ended: false,
            replaced: 0,
        }
    }

    /// The number of replaced halves of surrogate pairs so far.
    pub(super) fn replaced(&self) -> u64 {
        self.replaced
    }

    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.given = 0;
        while self.out.is_empty() && !self.ended {
            let mut read = self.inner.read(&mut self.input)?;
            if !self.started {
                // The byte order mark must be read as a whole.
                while read < 3 {
                    let rest = self.input.get_mut(read..).unwrap_or_default();
                    match self.inner.read(rest)? {
                        0 => break,
                        more => read += more,
                    }
                }
            }
            let input = std::mem::take(&mut self.input);
            let mut bytes = input.get(..read).unwrap_or_default();
            if !self.started {
                self.started = true;
                bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            }
            self.ended = read == 0;
            if self.ended {
                self.flush_held();
            } else {
                self.feed(bytes);
            }
            self.input = input;
        }
        Ok(())
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Plain => {
                    let special = |byte: &u8| matches!(byte, b'"' | b'-' | b'N' | b'I');
                    bytes = self.copy_until(bytes, special);
                    if let [byte, rest @ ..] = bytes {
                        if *byte == b'"' {
                            self.out.push(b'"');
                            self.state = State::Text;
                        } else {
                            self.held.push(*byte);
                            self.state = State::Word;
                        }
                        bytes = rest;
                    }
                }
                State::Text => {
                    bytes = self.copy_until(bytes, |byte| matches!(byte, b'"' | b'\\'));
                    if let [byte, rest @ ..] = bytes {
                        if *byte == b'"' {
                            self.out.push(b'"');
                            self.state = State::Plain;
                        } else {
                            self.held.push(b'\\');
                            self.state = State::Escape;
                        }
                        bytes = rest;
                    }
                }
                State::Word => bytes = self.word(bytes),
                State::Escape => bytes = self.escape(bytes),
            }
        }
    }

    fn copy_until<'b>(&mut self, bytes: &'b [u8], special: impl Fn(&u8) -> bool) -> &'b [u8] {
        let at = bytes.iter().position(special).unwrap_or(bytes.len());
        let (copied, rest) = bytes.split_at(at);
        self.out.extend_from_slice(copied);
        rest
    }

    fn word<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        match bytes {
            [byte, rest @ ..] if byte.is_ascii_alphabetic() && self.held.len() < LONGEST_WORD => {
                self.held.push(*byte);
                rest
            }
            _ => {
                self.flush_held();
                self.state = State::Plain;
                bytes
            }
        }
    }

    /// Handles one byte of an escape.
    fn escape<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let [byte, rest @ ..] = bytes else {
            return bytes;
        };
        // A single first half waits for a second one.
        if self.held.len() == HALF && *byte != b'\\' {
            self.give_up_half();
            self.state = State::Text;
            return bytes;
        }
        self.held.push(*byte);
        let current = self
            .held
            .get(HALF..)
            .filter(|_| self.held.len() > HALF)
            .unwrap_or(&self.held);
        let done = match current {
            [_] => false,
            [_, b'u', hex @ ..] => hex.len() == 4 || !byte.is_ascii_hexdigit() && !hex.is_empty(),
            _ => true,
        };
        if done {
            self.end_escape();
        }
        rest
    }

    /// Handles a complete escape, alone or after a first half.
    fn end_escape(&mut self) {
        let held = std::mem::take(&mut self.held);
        let (first, current) = held.split_at(if held.len() > HALF { HALF } else { 0 });
        match (first.is_empty(), unit(current)) {
            // It may be the first half of a pair: the next escape decides. An earlier first half is not part of a pair.
            (alone, Some(0xD800..=0xDBFF)) => {
                if !alone {
                    self.replacement();
                }
                self.held = current.to_vec();
                return;
            }
            (false, Some(0xDC00..=0xDFFF)) => self.out.extend_from_slice(&held),
            (true, Some(0xDC00..=0xDFFF)) => self.replacement(),
            (alone, _) => {
                if !alone {
                    self.replacement();
                }
                self.out.extend_from_slice(current);
            }
        }
        self.state = State::Text;
    }

    fn give_up_half(&mut self) {
        self.held.clear();
        self.replacement();
    }

    fn replacement(&mut self) {
        self.replaced += 1;
        self.out.extend_from_slice(b"\\ufffd");
    }

    /// Writes the pending bytes: a word that is a number without a JSON form becomes null.
    fn flush_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        match held.as_slice() {
            b"NaN" | b"Infinity" | b"-Infinity" if self.state == State::Word => {
                self.out.extend_from_slice(b"null");
            }
            other => self.out.extend_from_slice(other),
        }
    }
}

/// The UTF-16 unit of `\uXXXX`.
fn unit(escape: &[u8]) -> Option<u32> {
    let hex = escape.strip_prefix(b"\\u").filter(|hex| hex.len() == 4)?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

impl<R: Read> Read for Clean<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.fill()?;
        }
        let rest = self.out.get(self.given..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields at most `1` bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (Some(to), [byte, rest @ ..]) = (buffer.first_mut(), self.0) else {
                return Ok(0);
            };
            *to = *byte;
            self.0 = rest;
            Ok(1)
        }
    }

    fn cleaned(text: &str) -> (String, u64) {
        let mut slow = Clean::new(Slow(text.as_bytes()));
        let mut by_byte = String::new();
        slow.read_to_string(&mut by_byte).unwrap();
        let mut fast = Clean::new(text.as_bytes());
        let mut at_once = String::new();
        fast.read_to_string(&mut at_once).unwrap();
        assert_eq!(by_byte, at_once);
        assert_eq!(slow.replaced(), fast.replaced());
        (at_once, fast.replaced())
    }

    #[test]
    fn numbers_that_are_none_become_null() {
        assert_eq!(
            cleaned(r#"{"a":NaN,"b":[Infinity,-Infinity,-1.5e-3],"c":"NaN -Infinity"}"#).0,
            r#"{"a":null,"b":[null,null,-1.5e-3],"c":"NaN -Infinity"}"#
        );
        assert_eq!(cleaned("NaN").0, "null");
        assert_eq!(cleaned("Nan").0, "Nan");
        assert_eq!(cleaned("NaNaNaNaNaNaNaNaNaNaN").0, "NaNaNaNaNaNaNaNaNaNaN");
    }

    #[test]
    fn halves_of_pairs_are_replaced_and_pairs_stay() {
        for (text, clean, replaced) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#, 0),
            (r#""\ud83d""#, r#""\ufffd""#, 1),
            (r#""\ude00x""#, r#""\ufffdx""#, 1),
            (r#""\ud83dx\n""#, r#""\ufffdx\n""#, 1),
            (r#""\ud83d\n""#, r#""\ufffd\n""#, 1),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#, 1),
            (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#, 1),
            (r#""\\ud83d\"""#, r#""\\ud83d\"""#, 0),
        ] {
            assert_eq!(cleaned(text), (clean.to_owned(), replaced), "{text}");
        }
    }

    #[test]
    fn all_else_passes() {
        assert_eq!(cleaned("\u{feff}{\"a\": 1}").0, "{\"a\": 1}");
        for text in [
            "",
            "\"cut \\",
            "\"cut \\u12",
            "{\"é\u{2028}\":\"\\u0000\"}",
            "x\\u",
        ] {
            assert_eq!(cleaned(text).0, text);
        }
    }

    proptest::proptest! {
        #[test]
        fn json_is_not_changed(value in proptest::collection::vec((".*", proptest::num::f64::NORMAL), 0..8)) {
            let text = serde_json::to_string(&value).unwrap();
            proptest::prop_assert_eq!(cleaned(&text), (text, 0));
        }
    }
}
