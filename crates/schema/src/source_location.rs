//! Lines and columns of a text.

/// A location in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

impl SourceLocation {
    /// The beginning of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The location behind `text`, which begins here.
    ///
    /// ```
    /// use schema::SourceLocation;
    ///
    /// let location = SourceLocation::START.after("{\n  \"é\"".as_bytes());
    /// assert_eq!(location, SourceLocation { line: 2, column: 6 });
    /// ```
    #[must_use]
    pub fn after(self, text: &[u8]) -> Self {
        let breaks = text.iter().filter(|byte| **byte == b'\n').count() as u64;
        let last_line = text.rsplit(|byte| *byte == b'\n').next();
        // Bytes that begin a character of UTF-8.
        let begins = |byte: &&u8| (**byte & 0xc0) != 0x80;
        let characters = last_line.unwrap_or_default().iter().filter(begins).count() as u64;
        Self {
            line: self.line + breaks,
            column: characters + if breaks == 0 { self.column } else { 1 },
        }
    }
}
