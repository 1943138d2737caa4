//! The index of segments: which files they are, with what is needed to check them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::SegmentFault;

/// The version of the index that is written, and the newest that is read.
pub const INDEX_VERSION: u32 = 1;

const EXTENSION: &str = ".jsonl.zst";

/// `conversations/index.json` or `scores/index.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentIndex {
    /// The version of the form: 1.
    pub version: u32,
    /// The segments, in the order of their rows.
    pub segments: Vec<Segment>,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// The name of its file, beside the index.
    pub file: String,
    /// How many rows it has.
    pub rows: u64,
    /// The number of its first row, counted from 1 over all segments.
    pub first_row: u64,
    /// The size of the file.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
}

/// The name of the segment with this number, from 1.
pub(super) fn segment_name(number: usize) -> String {
    format!("{number:05}{EXTENSION}")
}

/// The name of the same segment while the one that it replaces is in use.
pub(super) fn replacing_name(number: usize) -> String {
    format!("{number:05}.new{EXTENSION}")
}

/// Whether a file of this name can be a segment. Other names could lead out of the folder.
pub(super) fn is_segment_name(name: &str) -> bool {
    let stem = name.strip_suffix(EXTENSION);
    let number = stem.map(|stem| stem.strip_suffix(".new").unwrap_or(stem));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

impl SegmentIndex {
    /// Reads the index at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, is not an index, or is one of a later version.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        let bytes = files::read(path)?;
        let index: Self = serde_json::from_slice(&bytes).map_err(|error| {
            SegmentFault::index(path, &format!("not an index: {error}")).into_io()
        })?;
        match index.fault() {
            None => Ok(index),
            Some(fault) => Err(SegmentFault::index(path, &fault).into_io()),
        }
    }

    /// How many rows all segments have.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// Why it cannot be used, if so.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.version != INDEX_VERSION {
            return Some(format!(
                "version {} of the index; this version of Probity reads version {INDEX_VERSION}",
                self.version
            ));
        }
        let mut next: u64 = 1;
        for segment in &self.segments {
            if !is_segment_name(&segment.file) {
                return Some(format!("{:?} is no name of a segment", segment.file));
            }
            if segment.first_row != next {
                return Some(format!(
                    "{} begins with row {}; expected row {next}",
                    segment.file, segment.first_row
                ));
            }
            next = next.saturating_add(segment.rows);
        }
        None
    }

    /// The segment of this row, counted from 1, and the line in it.
    #[must_use]
    pub fn locate(&self, row: u64) -> Option<(&Segment, u64)> {
        let next = self
            .segments
            .partition_point(|segment| segment.first_row <= row);
        let segment = self.segments.get(next.checked_sub(1)?)?;
        let line = row - segment.first_row + 1;
        (line <= segment.rows).then_some((segment, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(segments: &[(&str, u64, u64)]) -> SegmentIndex {
        let segment = |(file, first_row, rows): &(&str, u64, u64)| Segment {
            file: (*file).to_owned(),
            rows: *rows,
            first_row: *first_row,
            bytes: 1,
            sha256: String::new(),
        };
        SegmentIndex {
            version: INDEX_VERSION,
            segments: segments.iter().map(segment).collect(),
        }
    }

    #[test]
    fn a_row_is_found_by_its_number() {
        let index = index(&[("00001.jsonl.zst", 1, 3), ("00002.jsonl.zst", 4, 2)]);
        assert_eq!(index.fault(), None);
        let at = |row| {
            index
                .locate(row)
                .map(|(found, line)| (found.first_row, line))
        };
        let rows = [0, 1, 3, 4, 5, 6].map(at);
        let expected = [
            None,
            Some((1, 1)),
            Some((1, 3)),
            Some((4, 1)),
            Some((4, 2)),
            None,
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (segments, words) in [
            (&[("../a.jsonl.zst", 1, 3)][..], "no name of a segment"),
            (&[("a/00001.jsonl.zst", 1, 3)], "no name of a segment"),
            (
                &[("00001.jsonl.zst", 2, 3)],
                "begins with row 2; expected row 1",
            ),
            (
                &[("00001.jsonl.zst", 1, 3), ("00002.jsonl.zst", 5, 3)],
                "begins with row 5; expected row 4",
            ),
        ] {
            let fault = index(segments).fault().unwrap();
            assert!(fault.contains(words), "{fault}");
        }
        let later = SegmentIndex {
            version: 2,
            ..index(&[])
        };
        assert!(later.fault().unwrap().contains("version 2"));
    }
}
