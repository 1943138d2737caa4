//! Finds rows in the pages of a damaged file, without the trees that lead to them.
//!
//! The pages of a table's rows are self-contained: each lists its rows, and a row holds all of its columns, followed by a list of further
//! pages if it is long. So a row survives a damaged root, and pages that are not where the tree says. A row counts only if its checksum
//! matches. The format is described in <https://www.sqlite.org/fileformat2.html>.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    path::Path,
};

use super::{bounds::KEY, row::Row};

/// The head of the file, which is in the first page.
const FILE_HEAD: usize = 100;
/// The kind of a page that holds rows of a table.
const TABLE_LEAF: u8 = 13;
/// The head of such a page; the places of its cells follow.
const LEAF_HEAD: usize = 8;
/// Columns of a row, in the order of [`CREATE`](super::row::CREATE). Rows of earlier versions end before the last three.
const COLUMNS: usize = 9;
const COLUMNS_BEFORE_BODY: usize = 6;
/// Pages by which the further pages of a row may be moved: where a page is lost or doubled, all later ones are moved alike.
const MOVED: [i64; 5] = [0, 1, -1, 2, -2];

/// Passes each intact row of the file at `path` to `each`, until it says to stop. A row may be passed several times: pages that are no
/// longer used keep earlier copies of rows.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn rows(
    path: &Path,
    mut each: impl FnMut(Row<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut pages = Pages::open(path)?;
    let (mut page, mut payload) = (Vec::new(), Vec::new());
    for number in 1..=pages.count {
        pages.read(number, &mut page)?;
        let head = if number == 1 { FILE_HEAD } else { 0 };
        for at in cells(&page, head) {
            let Some(cell) = Cell::parse(&page, at, pages.usable) else {
                continue;
            };
            // Most cells of a damaged page are refused here, before any further page is read.
            if !cell.may_be_row() {
                continue;
            }
            for moved in MOVED {
                if !pages.payload(&cell, moved, &mut payload)? {
                    continue;
                }
                if let Some(row) = intact(&payload) {
                    if each(row).is_break() {
                        return Ok(());
                    }
                    break;
                }
                if cell.next == 0 {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The pages of a file.
struct Pages {
    file: File,
    size: usize,
    /// Bytes of a page that hold content.
    usable: usize,
    count: u64,
    /// Further pages that may still be read: damaged cells may all lead through the same ones.
    further: u64,
    buffer: Vec<u8>,
}

impl Pages {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::options().read(true).open(path)?;
        let mut head = [0; FILE_HEAD];
        file.read_exact(&mut head)?;
        let size = match u16::from_be_bytes([head[16], head[17]]) {
            1 => 1 << 16,
            size => usize::from(size),
        };
        let usable = size.saturating_sub(usize::from(head[20]));
        // SQLite allows no other sizes.
        if !size.is_power_of_two() || size < 512 || usable < 480 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let count = file.metadata()?.len() / size as u64;
        Ok(Self {
            file,
            size,
            usable,
            count,
            further: count.saturating_mul(1 + MOVED.len() as u64),
            buffer: Vec::new(),
        })
    }

    /// Reads the page `number`, counted from 1.
    fn read(&mut self, number: u64, page: &mut Vec<u8>) -> io::Result<()> {
        page.resize(self.size, 0);
        let start = (number - 1).saturating_mul(self.size as u64);
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(page)
    }

    /// Collects the payload of `cell`, whose further pages are `moved` from where it says. Returns false if they are not all there.
    fn payload(&mut self, cell: &Cell<'_>, moved: i64, payload: &mut Vec<u8>) -> io::Result<bool> {
        payload.clear();
        payload.extend_from_slice(cell.local);
        let mut next = cell.next;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut is_whole = true;
        while payload.len() < cell.length {
            let number = u64::try_from(i64::from(next).saturating_add(moved)).unwrap_or_default();
            if next == 0 || number == 0 || number > self.count || self.further == 0 {
                is_whole = false;
                break;
            }
            self.further -= 1;
            self.read(number, &mut buffer)?;
            next = number_at(&buffer, 0).unwrap_or_default();
            let content = buffer.get(4..self.usable).unwrap_or_default();
            let wanted = content.len().min(cell.length - payload.len());
            payload.extend_from_slice(content.get(..wanted).unwrap_or_default());
        }
        self.buffer = buffer;
        Ok(is_whole)
    }
}

/// The places of the cells in a page of rows; none if it is another page.
fn cells(page: &[u8], head: usize) -> impl Iterator<Item = usize> {
    let count = match page.get(head) {
        Some(&TABLE_LEAF) => two_bytes(page, head + 3).unwrap_or_default(),
        _ => 0,
    };
    // The list ends at the end of the page, whatever the count is.
    (0..count).map_while(move |cell| two_bytes(page, head + LEAF_HEAD + 2 * cell))
}

/// A row in a page, not checked yet.
struct Cell<'p> {
    /// Bytes of the payload.
    length: usize,
    /// The part of it in this page.
    local: &'p [u8],
    /// The first of the pages with the rest; 0 if there is no rest.
    next: u32,
}

impl<'p> Cell<'p> {
    fn parse(page: &'p [u8], at: usize, usable: usize) -> Option<Self> {
        let cell = page.get(at..usable)?;
        let (length, rest) = varint(cell)?;
        let (_number, rest) = varint(rest)?;
        let length = usize::try_from(length).ok()?;
        let most = usable - 35;
        if length <= most {
            let local = rest.get(..length)?;
            return Some(Self {
                length,
                local,
                next: 0,
            });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let here = least + (length - least) % (usable - 4);
        let here = if here <= most { here } else { least };
        Some(Self {
            length,
            local: rest.get(..here)?,
            next: number_at(rest, here)?,
        })
    }

    /// Whether the head of the record fits a row of the table and the length of the payload.
    fn may_be_row(&self) -> bool {
        let columns = || {
            let mut columns = Columns::parse(self.local)?;
            let key = columns.types.next()?;
            let length = columns
                .types
                .try_fold(bytes_of(key)?, |sum, kind| sum.checked_add(bytes_of(kind)?))?;
            Some(bytes_of(key)? == KEY && length.checked_add(columns.head) == Some(self.length))
        };
        columns() == Some(true)
    }
}

/// The row in a payload, if it is one and its checksum matches.
fn intact(payload: &[u8]) -> Option<Row<'_>> {
    let columns = Columns::parse(payload)?;
    let mut rest = payload.get(columns.head..)?;
    let mut values = [Value::Null; COLUMNS];
    let mut count = 0;
    for kind in columns.types {
        let (content, after) = rest.split_at_checked(bytes_of(kind)?)?;
        *values.get_mut(count)? = Value::parse(kind, content)?;
        (rest, count) = (after, count + 1);
    }
    if !matches!(count, COLUMNS | COLUMNS_BEFORE_BODY) {
        return None;
    }
    let [
        key,
        created,
        run_time_us,
        failed,
        response,
        checksum,
        body,
        model,
        endpoint,
    ] = values;
    let row = Row {
        key: key.blob().filter(|key| key.len() == KEY)?,
        created: created.number()?,
        run_time_us: run_time_us.number()?,
        failed: failed.text_or_null()?,
        response: response.text_or_null()??,
        body: body.text_or_null()?,
        model: model.text_or_null()?,
        endpoint: endpoint.text_or_null()?,
    };
    (checksum.number()? == row.checksum()).then_some(row)
}

/// The head of a record: the kinds of its columns.
struct Columns<'p> {
    /// Bytes of the head.
    head: usize,
    types: Types<'p>,
}

impl<'p> Columns<'p> {
    fn parse(payload: &'p [u8]) -> Option<Self> {
        let (head, _) = varint(payload)?;
        let head = usize::try_from(head).ok()?;
        let (_, types) = varint(payload.get(..head)?)?;
        Some(Self {
            head,
            types: Types(types),
        })
    }
}

/// The kinds of the columns of a record, as the format numbers them.
struct Types<'p>(&'p [u8]);

impl Iterator for Types<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (kind, rest) = varint(self.0)?;
        self.0 = rest;
        Some(kind)
    }
}

/// Bytes of a value of this kind.
fn bytes_of(kind: u64) -> Option<usize> {
    Some(match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        _ => usize::try_from((kind - 12) / 2).ok()?,
    })
}

/// A value of a column.
#[derive(Clone, Copy)]
enum Value<'p> {
    Null,
    Number(i64),
    Text(&'p str),
    Blob(&'p [u8]),
}

impl<'p> Value<'p> {
    /// `None`: a text that is not UTF-8, or a number with a fraction, which no column has.
    fn parse(kind: u64, content: &'p [u8]) -> Option<Self> {
        Some(match kind {
            0 => Self::Null,
            8 => Self::Number(0),
            9 => Self::Number(1),
            1..=6 => {
                let first = if content.first()? & 0x80 == 0 { 0 } else { -1 };
                let join = |number: i64, byte: &u8| (number << 8) | i64::from(*byte);
                Self::Number(content.iter().fold(first, join))
            }
            7 => return None,
            kind if kind % 2 == 0 => Self::Blob(content),
            _ => Self::Text(std::str::from_utf8(content).ok()?),
        })
    }

    fn blob(self) -> Option<&'p [u8]> {
        match self {
            Self::Blob(blob) => Some(blob),
            _ => None,
        }
    }

    fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    fn text_or_null(self) -> Option<Option<&'p str>> {
        match self {
            Self::Text(text) => Some(Some(text)),
            Self::Null => Some(None),
            _ => None,
        }
    }
}

/// The number of up to nine bytes at the start of `bytes`, and the rest.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if at == 8 {
            return Some(((number << 8) | u64::from(*byte), bytes.get(9..)?));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(at + 1..)?));
        }
    }
    None
}

fn two_bytes(page: &[u8], at: usize) -> Option<usize> {
    let bytes = page.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes(bytes.try_into().ok()?)))
}

fn number_at(page: &[u8], at: usize) -> Option<u32> {
    let bytes = page.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::PathBuf};

    use fastrand::Rng;
    use rusqlite::Connection;

    use super::*;
    use crate::cache::row::CREATE;

    const PAGE: usize = 1024;
    const ROWS: usize = 120;

    /// A file of rows that take a part of a page, or several pages, and the texts in them by key.
    fn whole(folder: &Path) -> (Vec<u8>, BTreeMap<Vec<u8>, String>) {
        let path = folder.join("whole");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!("PRAGMA page_size = {PAGE}; {CREATE}"))
            .unwrap();
        let mut texts = BTreeMap::new();
        for number in 0..ROWS {
            let key = vec![u8::try_from(number).unwrap(); KEY];
            let length = if number % 10 == 0 { 5 * PAGE } else { PAGE / 4 };
            let response = format!("{number} {}", "x".repeat(length));
            let row = Row {
                key: &key,
                created: i64::try_from(number).unwrap() - 3,
                run_time_us: i64::MIN >> (number % 64),
                failed: (number % 3 == 0).then_some("{}"),
                response: &response,
                body: (number % 2 == 0).then_some("körper"),
                model: None,
                endpoint: Some(""),
            };
            row.insert(&connection, i64::MIN).unwrap();
            texts.insert(key, response);
        }
        drop(connection);
        (fs::read(path).unwrap(), texts)
    }

    /// The texts of the rows that are found in a file of `bytes`. Each of them is one of `texts`.
    fn found(
        folder: &Path,
        bytes: &[u8],
        texts: &BTreeMap<Vec<u8>, String>,
    ) -> BTreeMap<Vec<u8>, String> {
        let path: PathBuf = folder.join("damaged");
        fs::write(&path, bytes).unwrap();
        let mut found = BTreeMap::new();
        let _ = rows(&path, |row| {
            assert_eq!(texts.get(row.key).map(String::as_str), Some(row.response));
            found.insert(row.key.to_vec(), row.response.to_owned());
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn rows_are_found_without_the_trees_that_lead_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, texts) = whole(folder.path());
        assert_eq!(found(folder.path(), &whole, &texts), texts);
        // No schema, no root, no page that leads to another one.
        let mut bytes = whole.clone();
        bytes[FILE_HEAD..PAGE].fill(0);
        for page in bytes.chunks_mut(PAGE).skip(1) {
            if matches!(page[0], 2 | 5 | 10) {
                page.fill(0);
            }
        }
        assert_eq!(found(folder.path(), &bytes, &texts), texts);
        // A page is lost or doubled: all later ones have another number, and long rows lead to the wrong ones.
        for page in [3, 4] {
            let at = page * PAGE;
            let lost = [&whole[..at], &whole[at + PAGE..]].concat();
            let doubled = [&whole[..at], &whole[at - PAGE..]].concat();
            let most = found(folder.path(), &lost, &texts).len();
            assert!((ROWS - 5..ROWS).contains(&most), "{most} of {ROWS}");
            let most = found(folder.path(), &doubled, &texts).len();
            assert!(most >= ROWS - 1, "{most} of {ROWS}");
        }
    }

    #[test]
    fn no_damage_makes_a_row_that_never_was() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, texts) = whole(folder.path());
        let mut rng = Rng::with_seed(20_261_124);
        let mut all = 0;
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..rng.usize(1..400) {
                let at = rng.usize(0..bytes.len());
                bytes[at] = match rng.u8(0..4) {
                    0 => bytes[at] ^ (1 << rng.u8(0..8)),
                    1 => 0xff,
                    2 => TABLE_LEAF,
                    _ => rng.u8(..),
                };
            }
            if rng.bool() {
                bytes.truncate(rng.usize(0..bytes.len()));
            }
            all += found(folder.path(), &bytes, &texts).len();
        }
        assert!(all > 400 * ROWS / 10, "{all}");
        // Pages that lead to each other in circles: every cell claims to be as long as the file.
        for _ in 0..20 {
            let mut bytes = whole.clone();
            for page in bytes.chunks_mut(PAGE).skip(1) {
                let next = rng.u32(1..30).to_be_bytes();
                page[..4].copy_from_slice(&next);
                page[PAGE - 4..].copy_from_slice(&next);
            }
            found(folder.path(), &bytes, &texts);
        }
        for length in [0, 1, 99, 100, 101, PAGE] {
            found(folder.path(), &rng_bytes(&mut rng, length), &texts);
        }
    }

    fn rng_bytes(rng: &mut Rng, length: usize) -> Vec<u8> {
        (0..length).map(|_| rng.u8(..)).collect()
    }
}
