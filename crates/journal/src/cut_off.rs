//! Where a journal is cut off.

use std::fmt;

use schema::text::counted;

/// Where a journal is cut off: an unfinished last line or zstd frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// The first incomplete line, from 1.
    pub line: u64,
    /// The number of its bytes in the file; 0 when a frame ends with a whole line.
    pub bytes: u64,
    /// For compressed journals: the error of the frame. `None` if all frames are whole.
    pub frame: Option<String>,
}

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, bytes, frame } = self;
        match (frame, bytes) {
            (None, _) => {
                let bytes = counted(*bytes, "byte", "bytes");
                write!(f, "line {line} is cut off after {bytes}")?;
            }
            (Some(frame), 0) => write!(f, "the compressed data ends before line {line} ({frame})")?,
            (Some(frame), _) => write!(
                f,
                "the compressed data ends after {} of line {line} ({frame})",
                counted(*bytes, "byte", "bytes")
            )?,
        }
        f.write_str(": the program that wrote the journal was stopped, or could not write on. ")?;
        f.write_str(match line {
            0 | 1 => "There is no line before it",
            _ => "The lines before it are whole",
        })
    }
}
