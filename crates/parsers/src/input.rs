//! A file as one input of a fuzz target.

use std::borrow::Cow;

use crate::Parser;

/// The input that is a file of this name. Where the name decides how the file is read, it is the first line.
#[must_use]
pub fn to_input<'b>(parser: Parser, name: &str, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    match parser.goes_by_name() {
        true => [name.as_bytes(), b"\n", bytes].concat().into(),
        false => bytes.into(),
    }
}

/// The name and the content of the file that an input is. The name leads to no other folder.
#[must_use]
pub fn from_input(parser: Parser, input: &[u8]) -> (String, &[u8]) {
    if !parser.goes_by_name() {
        return ("file".to_owned(), input);
    }
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (name, bytes) = input.split_at(end);
    let is_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let name: Vec<u8> = name.iter().filter(is_plain).take(60).copied().collect();
    let name = match String::from_utf8_lossy(&name).trim_start_matches('.') {
        "" => "file".to_owned(),
        name => name.to_owned(),
    };
    (name, bytes.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_behind_its_input() {
        for parser in Parser::ALL {
            let input = to_input(parser, "scores.json", b"[1]\n");
            let (name, bytes) = from_input(parser, &input);
            assert_eq!(bytes, b"[1]\n");
            assert_eq!(name == "scores.json", parser.goes_by_name());
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (input, expected) in [
            (&b"../../etc/x\n1"[..], "etcx"),
            (b"..\n1", "file"),
            (b"\n1", "file"),
            (b"a\0b/\xff.json\n1", "ab.json"),
        ] {
            assert_eq!(
                from_input(Parser::Data, input),
                (expected.to_owned(), &b"1"[..])
            );
        }
        assert_eq!(from_input(Parser::Data, b"").0, "file");
    }
}
