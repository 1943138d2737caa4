//! Lines of a file that arrives in pieces.

/// Splits pieces of bytes into lines, with a bound on each.
pub(super) struct Lines {
    line: Vec<u8>,
    longest: usize,
    /// Whether the rest of a line that is too long is left out.
    skips: bool,
}

impl Lines {
    pub(super) fn new(longest: usize) -> Self {
        Self {
            line: Vec::new(),
            longest,
            skips: false,
        }
    }

    /// Passes each line that `piece` ends to `each`.
    pub(super) fn push(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > self.longest {
                self.line.clear();
                self.skips = true;
            }
            if !self.skips {
                self.line.extend_from_slice(part);
            }
            if part.last() == Some(&b'\n') {
                self.end(&mut each);
            }
        }
    }

    /// Passes the last line, which may have no line break.
    pub(super) fn end(&mut self, mut each: impl FnMut(&[u8])) {
        let line = self.line.trim_ascii();
        if !self.skips && !line.is_empty() {
            each(line);
        }
        self.line.clear();
        self.skips = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive_and_one_that_is_too_long_is_left_out() {
        let text = b"{\"a\":1}\r\n\n{\"long\":\"xxxxxxxxxxxxxxxx\"}\n{\"b\":2}";
        for size in 1..text.len() {
            let mut found = Vec::new();
            let mut lines = Lines::new(12);
            for piece in text.chunks(size) {
                lines.push(piece, |line| found.push(line.to_vec()));
            }
            lines.end(|line| found.push(line.to_vec()));
            assert_eq!(
                found,
                [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()],
                "{size}"
            );
        }
    }
}
