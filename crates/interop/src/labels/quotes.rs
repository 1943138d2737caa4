//! Checks the double quotes of a CSV text. A parser takes the rest of the file for one field where a quote is not closed.

/// A quote that cannot be meant as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuoteFault {
    /// The line of the quote that opens the field, from 1.
    pub(super) opened: u64,
    /// The line where text follows the closing quote; `None` if nothing closes it.
    pub(super) closed: Option<u64>,
}

impl QuoteFault {
    /// The sentence for people.
    pub(super) fn reason(self) -> String {
        match self.closed {
            None => "a double quote opens a field here, and none closes it".to_owned(),
            Some(line) => format!(
                "a double quote opens a field here, and text follows the quote that closes it in line {line}"
            ),
        }
    }
}

/// The first fault of the quotes in `text`, whose fields are separated by commas.
pub(super) fn fault(text: &str) -> Option<QuoteFault> {
    /// Where the reader is.
    enum At {
        Start,
        Plain,
        Quoted,
        Closed,
    }

    let (mut at, mut line, mut opened) = (At::Start, 1, 1);
    for byte in text.bytes() {
        at = match (at, byte) {
            (At::Start, b'"') => {
                opened = line;
                At::Quoted
            }
            (At::Quoted, b'"') => At::Closed,
            // Two quotes inside a field are one quote of its text.
            (At::Closed, b'"') | (At::Quoted, _) => At::Quoted,
            (_, b',' | b'\n' | b'\r') => At::Start,
            (At::Closed, _) => {
                return Some(QuoteFault {
                    opened,
                    closed: Some(line),
                });
            }
            (At::Start | At::Plain, _) => At::Plain,
        };
        line += u64::from(byte == b'\n');
    }
    matches!(at, At::Quoted).then_some(QuoteFault {
        opened,
        closed: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_that_are_not_closed_are_found_where_they_open() {
        for fine in [
            "",
            "a,b\n1,\"x, \"\"y\"\"\nz\"\r\n2,\"\"\n",
            "a\n5\" wide\n",
            "\"a\"",
        ] {
            assert_eq!(fault(fine), None, "{fine:?}");
        }
        let open = |opened, closed| Some(QuoteFault { opened, closed });
        assert_eq!(fault("a,b\n1,\"x\n2,y\n"), open(2, None));
        assert_eq!(fault("a,b\n1,\"x\n2,\"y\"\n"), open(2, Some(3)));
        assert_eq!(fault("a\n\"x\"y\n"), open(2, Some(2)));
        assert_eq!(fault("a\n\"x\"\"\n"), open(2, None));
    }
}
