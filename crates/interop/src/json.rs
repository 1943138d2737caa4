//! JSON that every reader treats as one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Writes `value` as one line of JSON and a line break. U+0085, U+2028 and U+2029 are escaped: some readers end a line at them.
///
/// # Errors
/// When `out` cannot be written, or `value` is not JSON.
pub fn write_line<W: Write>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    write_compact(out, value)?;
    out.write_all(b"\n")
}

/// Writes the same without the line break.
///
/// # Errors
/// See [`write_line`].
pub fn write_compact<W: Write>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Escaped(CompactFormatter));
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Writes `value` indented by two spaces, with a line break at the end and the same escapes.
///
/// # Errors
/// See [`write_line`].
pub fn write_pretty<W: Write>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, Escaped(PrettyFormatter::new()));
    value.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A formatter that also escapes the characters that some readers treat as the end of a line.
struct Escaped<F>(F);

impl<F: Formatter> Formatter for Escaped<F> {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_ends_it() {
        let text = "a\u{2028}b\u{85}\u{2029}c\nd\0\u{b}\u{1c}é";
        let mut line = Vec::new();
        write_line(&mut line, &text).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(
            line,
            "\"a\\u2028b\\u0085\\u2029c\\nd\\u0000\\u000b\\u001cé\"\n"
        );
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
