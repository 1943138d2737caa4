//! Files of one JSON object a line.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use serde::de::DeserializeOwned;

use super::{ImportError, clean::Clean};

/// The longest line, in bytes.
const LONGEST: u64 = 512 << 20;

/// The rows of a file, one a line. Blank lines are skipped.
pub(super) struct JsonLines {
    pub(super) place: String,
    reader: BufReader<File>,
    number: u64,
    line: Vec<u8>,
    replaced: u64,
}

impl JsonLines {
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
        Ok(Self {
            place: path.display().to_string(),
            reader: BufReader::with_capacity(1 << 16, file),
            number: 0,
            line: Vec::new(),
            replaced: 0,
        })
    }

    /// The number of replaced halves of surrogate pairs so far.
    pub(super) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// The error of a line.
    pub(super) fn bad(&self, number: u64, what: impl Into<String>) -> ImportError {
        ImportError::unusable(self.line_place(number), what)
    }

    fn line_place(&self, number: u64) -> String {
        format!("{}: line {number}", self.place)
    }

    /// The next row and the number of its line, from 1.
    pub(super) fn next_row<T: DeserializeOwned>(
        &mut self,
    ) -> Result<Option<(u64, T)>, ImportError> {
        loop {
            self.line.clear();
            self.number += 1;
            let number = self.number;
            let read = (&mut self.reader)
                .take(LONGEST)
                .read_until(b'\n', &mut self.line)
                .map_err(|error| ImportError::read(Path::new(&self.place), error))?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == LONGEST {
                return Err(self.bad(number, "the line is longer than 512 MiB"));
            }
            if self.line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let mut clean = Clean::new(self.line.as_slice());
            let parsed = serde_json::from_reader(BufReader::new(&mut clean));
            self.replaced += clean.replaced();
            let row = parsed.map_err(|error| ImportError::json(self.line_place(number), &error))?;
            return Ok(Some((number, row)));
        }
    }
}
