//! Where values of the configuration stand.

use std::fmt;

/// A file with a line, an environment variable or a flag that sets a value.
///
/// `config` keeps it with each value as a text: the one that `Display` makes, which is read back by `From<&str>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file, variable or flag.
    pub name: String,
    /// The line in the file, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
}

impl Origin {
    /// A file, variable or flag as a whole.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            line: None,
            column: None,
        }
    }

    /// With the line in the file.
    pub fn at_line(self, line: Option<u64>) -> Self {
        Self { line, ..self }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        Ok(())
    }
}

impl From<&str> for Origin {
    fn from(text: &str) -> Self {
        let number = |text: &str, word: &str| -> Option<(usize, u64)> {
            let at = text.rfind(word)?;
            let digits = text.get(at + word.len()..)?;
            Some((at, digits.parse().ok()?))
        };
        let column = number(text, ", column ");
        let text = column.map_or(text, |(at, _)| text.split_at(at).0);
        let line = number(text, ", line ");
        Self {
            name: line.map_or(text, |(at, _)| text.split_at(at).0).to_owned(),
            line: line.map(|(_, line)| line),
            column: column.map(|(_, column)| column),
        }
    }
}

/// A value of the configuration: where it was set, and its key path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// An [`Origin`] as text; empty for what is built in.
    pub origin: String,
    /// Such as `targets[0].id`; empty for the whole configuration.
    pub key: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_they_are_written() {
        for (text, name, line, column) in [
            ("config.yaml", "config.yaml", None, None),
            ("config.yaml, line 3", "config.yaml", Some(3), None),
            (
                "a, line 1.yaml, line 3, column 7",
                "a, line 1.yaml",
                Some(3),
                Some(7),
            ),
            ("PROBITY_RUN__FORCE", "PROBITY_RUN__FORCE", None, None),
        ] {
            let origin = Origin::from(text);
            assert_eq!(origin.to_string(), text);
            assert_eq!(
                (origin.name.as_str(), origin.line, origin.column),
                (name, line, column)
            );
        }
    }
}
