//! Files of earlier versions: tables with fewer columns, and replies in files beside the database.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use schema::Spend;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    CacheError, CacheKey, file, repair,
    row::{COLUMNS, CREATE, Row},
};

/// The columns of the table that differ between versions.
pub(super) struct Layout {
    /// From format 3 on.
    pub(super) has_checksum: bool,
    /// Body, model and endpoint, from format 4 on.
    has_body: bool,
}

impl Layout {
    /// The layout of the table. `None`: there is no table, or one of another kind.
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let mut select = connection.prepare("SELECT name FROM pragma_table_info('replies')")?;
        let names: Vec<String> = select
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let has = |name: &str| names.iter().any(|known| known == name);
        let usual = ["key", "created", "run_time_us", "failed", "response"];
        let layout = Self {
            has_checksum: has("checksum"),
            has_body: ["body", "model", "endpoint"].into_iter().all(has),
        };
        Ok(usual.into_iter().all(has).then_some(layout))
    }

    /// [`COLUMNS`], with NULL for columns that the table does not have.
    pub(super) fn columns(&self) -> String {
        let without = |columns: String, missing: &str, has: bool| match has {
            true => columns,
            false => columns.replace(missing, "NULL"),
        };
        let columns = without(COLUMNS.to_owned(), "checksum", self.has_checksum);
        ["body", "model", "endpoint"]
            .into_iter()
            .fold(columns, |columns, name| {
                without(columns, name, self.has_body)
            })
    }
}

/// Adds the columns of this version to the table. The number of the format does not decide alone: it may be damaged, and dropped
/// replies cost again.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let Some(layout) = Layout::of(connection)? else {
        connection.execute_batch("DROP TABLE IF EXISTS replies")?;
        return connection.execute_batch(CREATE);
    };
    if !layout.has_checksum {
        add_checksums(connection)?;
    }
    if !layout.has_body {
        connection.execute_batch(
            "ALTER TABLE replies ADD COLUMN body TEXT;
            ALTER TABLE replies ADD COLUMN model TEXT;
            ALTER TABLE replies ADD COLUMN endpoint TEXT;",
        )?;
    }
    Ok(())
}

/// Sets the checksum of every row by its current content. A row that makes no sense keeps a checksum that does not match.
fn add_checksums(connection: &Connection) -> rusqlite::Result<()> {
    let mut sums = Vec::new();
    repair::walk(connection, |number, row| {
        sums.extend(row.map(|row| [number, row.checksum()]));
        Ok(())
    })?;
    connection
        .execute_batch("ALTER TABLE replies ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")?;
    let mut update = connection.prepare("UPDATE replies SET checksum = ?2 WHERE rowid = ?1")?;
    for sum in sums {
        update.execute(sum)?;
    }
    Ok(())
}

/// The part of a tail's file name between the database's name and the tail's number. Up to format 3, the newest replies of a process
/// were in such files, a line each, and a killed process left them behind.
const TAIL: &str = "-tail1-";
/// A longer line is not a line of a tail.
const LONGEST_LINE: u64 = 256 << 20;

/// A line of a tail without its check.
#[derive(Deserialize)]
struct Line<'a> {
    /// How often the file was written from its start before. Lines of another round than the first line's are leftovers.
    round: u64,
    #[serde(borrow)]
    key: Cow<'a, str>,
    created: i64,
    /// The reply replaces only a reply that was stored before this time.
    oldest: i64,
    run_time_us: i64,
    #[serde(default)]
    failed: Spend,
    #[serde(borrow)]
    response: &'a RawValue,
}

/// Stores the replies of tails that were left behind, and removes the tails.
pub(super) fn take_in_tails(connection: &mut Connection, path: &Path) -> Result<(), CacheError> {
    let failed = |source| CacheError::Tail {
        path: path.to_owned(),
        source,
    };
    let sqlite = |error| CacheError::sqlite(path, error);
    for (tail, at) in tails(path).map_err(failed)? {
        let transaction = file::begin(connection).map_err(sqlite)?;
        let mut reader = BufReader::new(&tail);
        let (mut line, mut round) = (Vec::new(), None);
        loop {
            line.clear();
            let mut limited = (&mut reader).take(LONGEST_LINE);
            limited.read_until(b'\n', &mut line).map_err(failed)?;
            // This is the end, a line of an older round, or a line that a kill has torn.
            let Some(whole) =
                whole(&line).filter(|line| *round.get_or_insert(line.round) == line.round)
            else {
                break;
            };
            whole.insert(&transaction).map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        fs::remove_file(at).map_err(failed)?;
    }
    Ok(())
}

/// The tails beside `database` that no process holds. A process locks its tail as long as it lives.
fn tails(database: &Path) -> io::Result<Vec<(File, PathBuf)>> {
    let mut prefix = database.file_name().unwrap_or_default().to_owned();
    prefix.push(TAIL);
    let folder = database
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut tails = Vec::new();
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name
            .as_encoded_bytes()
            .strip_prefix(prefix.as_encoded_bytes());
        if !number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
        {
            continue;
        }
        match File::options().read(true).write(true).open(entry.path()) {
            Ok(file) if file.try_lock().is_ok() => tails.push((file, entry.path())),
            Ok(_) => {}
            // The process of this tail has just ended in order.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tails)
}

/// Parses the line in `bytes`, which begin with the CRC-32 of the rest in eight hexadecimal digits. `None` if the line is not whole.
fn whole(bytes: &[u8]) -> Option<Line<'_>> {
    let (check, text) = bytes.strip_suffix(b"\n")?.split_at_checked(8)?;
    if check != format!("{:08x}", crc32fast::hash(text)).as_bytes() {
        return None;
    }
    serde_json::from_slice(text).ok()
}

impl Line<'_> {
    /// Stores the reply, unless a later one has taken its place.
    fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Some(key) = CacheKey::from_hex(&self.key) else {
            return Ok(());
        };
        let failed = (self.failed.calls > 0)
            .then(|| serde_json::to_string(&self.failed))
            .transpose()
            .ok()
            .flatten();
        let row = Row {
            key: key.as_bytes(),
            created: self.created,
            run_time_us: self.run_time_us,
            failed: failed.as_deref(),
            response: self.response.get(),
            body: None,
            model: None,
            endpoint: None,
        };
        row.insert(connection, self.oldest.min(self.created))
    }
}
