//! The rows of a target in segments: `conversations/00001.jsonl.zst` and so on, each with up to 10,000 rows, one a line, and an index of
//! them beside. `docs/formats/segments.md` describes the form.
//!
//! Readers do not see it: [`open_rows`] opens either form, and reads the text of the plain file. So a digest of the rows is the same in both
//! forms.
//!
//! # Invariants
//! - The index names only whole segments that exist. It is replaced as one file, so it decides which rows the folder has.
//! - Where both forms exist, the plain file counts. A change to segments takes effect when the plain file is removed, a change back when it is
//!   renamed into place.

mod index;
mod list_lines;
mod read;
mod replace;
#[cfg(test)]
mod tests;
mod write;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

pub use index::{INDEX_VERSION, Segment, SegmentIndex};
pub use read::{SegmentFault, SegmentRows};
pub(crate) use replace::remove_segments;
pub(crate) use write::SegmentWriter;

use schema::numbers::grouped;

use crate::RunError;

/// The rows of a segment that is not the last one.
const SEGMENT_ROWS: u64 = 10_000;

/// The name of the index in the folder of segments.
const INDEX: &str = "index.json";

/// The folders of segments in that of a target.
pub const ROW_FOLDERS: [&str; 2] = ["conversations", "scores"];

/// The most rows of a target for which plain files are not remarked on.
const MANY_ROWS: u64 = 100_000;

/// How the rows of a target are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowForm {
    /// One JSON list, in a file of text.
    #[default]
    Plain,
    /// A folder of compressed segments.
    Segments,
}

impl RowForm {
    /// The form of the rows at `path`, one of [`TargetDir`](crate::TargetDir)'s.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let folder = path.parent().and_then(Path::file_name);
        let is_rows = folder.is_some_and(|folder| ROW_FOLDERS.iter().any(|name| folder == *name));
        Self::segments_if(is_rows && path.file_name() == Some(OsStr::new(INDEX)))
    }

    /// Segments if `segments` is set.
    #[must_use]
    pub fn segments_if(segments: bool) -> Self {
        match segments {
            true => Self::Segments,
            false => Self::Plain,
        }
    }
}

/// A suggestion to write segments, if a target will have `rows` rows in plain files and these are many.
#[must_use]
pub fn suggest_segments(rows: u64, form: RowForm) -> Option<String> {
    (form == RowForm::Plain && rows > MANY_ROWS).then(|| {
        format!(
            "{} rows of each target are written as one file of text; `tree.segments: true` in the configuration writes compressed files \
             of {} rows, which every command reads",
            grouped(rows),
            grouped(SEGMENT_ROWS)
        )
    })
}

/// The index of the segments that can be in the place of the plain file at `plain`.
fn index_of(plain: &Path) -> PathBuf {
    plain.with_extension("").join(INDEX)
}

/// The file of the rows that are there: the plain file, or the index of the segments if there is only that.
pub(crate) fn rows_at(plain: PathBuf) -> PathBuf {
    let index = index_of(&plain);
    match !plain.exists() && index.exists() {
        true => index,
        false => plain,
    }
}

/// The plain file of the rows at `path`, which can be an index of segments.
#[must_use]
pub fn plain_path(path: &Path) -> PathBuf {
    match (RowForm::of(path), path.parent()) {
        (RowForm::Segments, Some(folder)) => folder.with_extension("json"),
        _ => path.to_owned(),
    }
}

/// The rows of a target as the text of the plain file, whatever their form.
#[derive(Debug)]
pub enum RowsFile {
    /// The plain file.
    Plain(File),
    /// Segments.
    Segments(Box<SegmentRows>),
}

impl Read for RowsFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Segments(rows) => rows.read(buffer),
        }
    }
}

/// Opens the rows at `path`: a JSON list, or the index of segments, as the text of the list.
///
/// # Errors
/// When the file cannot be opened, or is an index that cannot be used. Reading fails where a segment is missing, damaged or not the one that
/// the index names: see [`SegmentFault`].
pub fn open_rows(path: &Path) -> io::Result<RowsFile> {
    match RowForm::of(path) {
        RowForm::Plain => files::open(path).map(RowsFile::Plain),
        RowForm::Segments => {
            let rows = SegmentRows::open(path)?;
            Ok(RowsFile::Segments(Box::new(rows)))
        }
    }
}

/// Copies the rows at `from` into the plain file `to`.
///
/// # Errors
/// When the rows cannot be read, or the file cannot be written.
pub fn copy_plain(from: &Path, to: &Path) -> Result<(), RunError> {
    let mut rows = open_rows(from).map_err(|error| RunError::read(from, error))?;
    let mut unread = None;
    let copied = crate::write_atomically(to, |writer| {
        io::copy(&mut rows, writer)
            .map(|_| ())
            .inspect_err(|error| {
                unread = SegmentFault::of(error).cloned();
            })
    });
    match unread {
        Some(fault) => Err(RunError::read(from, fault.into_io())),
        None => copied,
    }
}

/// The segment with this row of the rows at `path`, and the row's line in it; `None` of a plain file.
pub(crate) fn segment_of(path: &Path, row: u64) -> Option<(PathBuf, u64)> {
    let is_index = RowForm::of(path) == RowForm::Segments;
    let index = is_index.then(|| SegmentIndex::read(path).ok()).flatten()?;
    let (segment, line) = index.locate(row)?;
    Some((path.with_file_name(&segment.file), line))
}

/// Whether `path` is where a tree has the segments of a target, if it has any.
#[must_use]
pub fn is_segment_folder(path: &Path) -> bool {
    let runs = path.ancestors().nth(2).and_then(Path::file_name);
    runs == Some(OsStr::new("runs")) && RowForm::of(&path.join(INDEX)) == RowForm::Segments
}

/// The files in the folder of an index that belong to it: its segments and itself.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name == INDEX || index::is_segment_name(name))
    };
    files.filter(is_ours).collect()
}
