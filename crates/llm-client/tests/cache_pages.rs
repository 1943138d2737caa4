//! Cache files with damaged pages: whatever is in them, opening, reading, repairing and writing end, and no reply changes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its files fails"
)]

mod endpoint;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use endpoint::{request, stored_reply};
use fastrand::Rng;
use llm_client::{
    CacheKey, KeyMaker, ModelSettings, PruneFilter, ReplyStore, SqliteStore, StoreError,
    StoredReply,
};
use rusqlite::Connection;
use schema::ModelId;

/// Every operation on a damaged file of this size takes milliseconds.
const LIMIT: Duration = Duration::from_secs(20);
/// The seed of the damage.
const SEED: u64 = 20_261_123;
/// Damaged files for each page size.
const FILES: u64 = 120;

fn key(row: &str) -> CacheKey {
    let settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", "http://127.0.0.1:9/v1");
    KeyMaker::new(&settings).key(&request(row))
}

fn content(stored: StoredReply) -> String {
    stored.body.unwrap().content
}

/// Runs `run` in a thread, and fails if it takes longer than [`LIMIT`].
fn timely<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let worker = thread::spawn(move || {
        let _ = done.send(run());
    });
    match result.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().unwrap_err())
        }
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Whatever can be done with the file, as a run does it. Returns how many of `said` it gave.
fn use_all(path: &Path, said: &HashMap<CacheKey, String>) -> Result<usize, String> {
    let named = |error: String| {
        assert!(error.contains(&path.display().to_string()), "{error}");
        error
    };
    let _ = SqliteStore::contents(path).map_err(|error| named(error.to_string()));
    let store = SqliteStore::open(path, None).map_err(|error| named(error.to_string()))?;
    let _ = store.count();
    let mut given = 0;
    for (key, text) in said {
        match block_on(store.get(key)) {
            Ok(Some(stored)) => {
                assert_eq!(content(stored), *text);
                given += 1;
            }
            Ok(None) | Err(StoreError::Damaged) => {}
            Err(StoreError::Failed(error)) => drop(named(error.to_string())),
        }
    }
    for new in 0..3 {
        let (key, text) = (key(&format!("new {new}")), format!("new {new}"));
        if block_on(store.put(&key, &stored_reply(text.clone()))).is_err() {
            continue;
        }
        let found = block_on(store.get(&key)).unwrap().unwrap();
        assert_eq!(content(found), text, "a reply that was stored");
    }
    drop(store);
    // A stored reply is there the next time, and the file opens as it did before.
    let store = SqliteStore::open(path, None).map_err(|error| named(error.to_string()))?;
    drop(store);
    let damaged = PruneFilter {
        damaged: true,
        ..PruneFilter::default()
    };
    let _ = SqliteStore::prune(path, &damaged, false).map_err(|error| named(error.to_string()));
    Ok(given)
}

/// A cache file of pages of `page` bytes, with replies that take a part of a page and replies that take several.
fn whole(folder: &Path, page: usize) -> (PathBuf, HashMap<CacheKey, String>) {
    let path = folder.join(format!("whole-{page}"));
    drop(SqliteStore::open(&path, None).unwrap());
    let size = format!("PRAGMA journal_mode = DELETE; PRAGMA page_size = {page}; VACUUM");
    Connection::open(&path)
        .unwrap()
        .execute_batch(&size)
        .unwrap();
    let store = SqliteStore::open(&path, None).unwrap();
    let mut said = HashMap::new();
    for row in 0..200 {
        let length = if row % 20 == 0 { 3 * page } else { page / 3 };
        let text = format!("reply {row} {}", "x".repeat(length));
        let key = key(&row.to_string());
        block_on(store.put(&key, &stored_reply(text.clone()))).unwrap();
        said.insert(key, text);
    }
    drop(store);
    let found = Connection::open(&path).unwrap();
    let found: i64 = found
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap();
    assert_eq!(found, i64::try_from(page).unwrap());
    (path, said)
}

/// The pages of a file, to be damaged.
struct Pages<'a> {
    bytes: &'a mut Vec<u8>,
    size: usize,
    rng: &'a mut Rng,
}

impl Pages<'_> {
    fn count(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn any(&mut self) -> usize {
        let count = self.count();
        self.rng.usize(0..count)
    }

    /// A page with pointers to other pages, of the table or the index.
    fn interior(&mut self) -> Option<usize> {
        let is_interior = |page: &usize| matches!(self.bytes[page * self.size], 2 | 5);
        let all: Vec<usize> = (1..self.count()).filter(is_interior).collect();
        self.rng.choice(all)
    }

    fn number(&mut self, at: usize, page: usize) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 4) {
            bytes.copy_from_slice(&u32::try_from(page + 1).unwrap().to_be_bytes());
        }
    }

    /// Makes pointers of an interior page lead to interior pages, itself among them.
    fn circle(&mut self, all: bool) {
        let Some(page) = self.interior() else { return };
        let start = page * self.size;
        let cells = usize::from(u16::from_be_bytes([
            self.bytes[start + 3],
            self.bytes[start + 4],
        ]));
        for cell in 0..=cells {
            if !all && !self.rng.bool() {
                continue;
            }
            let to = self.interior().unwrap_or(page);
            // The last pointer is in the header of the page.
            let at = match self.bytes.get(start + 12 + 2 * cell..start + 14 + 2 * cell) {
                Some(at) if cell < cells => usize::from(u16::from_be_bytes([at[0], at[1]])),
                _ => 8,
            };
            self.number(start + at, to);
        }
    }

    fn damage(&mut self) {
        let size = self.size;
        let page = self.any();
        let other = self.any();
        match self.rng.u8(0..12) {
            0 => self.circle(false),
            1 => self.circle(true),
            // The root of the table, or of the index, is a copy of another page.
            2 => self
                .bytes
                .copy_within(page * size..(page + 1) * size, size * self.rng.usize(1..3)),
            3 => self
                .bytes
                .copy_within(page * size..(page + 1) * size, other * size),
            4 => {
                let fill = self.rng.choice([0, 0xff, b't']).unwrap();
                self.bytes[page * size..(page + 1) * size].fill(fill);
            }
            5 => {
                for _ in 0..self.rng.usize(1..64) {
                    let at = page * size + self.rng.usize(0..size);
                    self.bytes[at] = self.rng.u8(..);
                }
            }
            // The next page of a long reply, or of the list of free pages.
            6 => {
                let next = self.rng.choice([page, other]).unwrap();
                self.number(page * size, next);
            }
            // The head of the file: sizes, the free list, formats.
            7 => {
                let at = self.rng.usize(16..100);
                self.bytes[at] = self.rng.u8(..);
            }
            8 => {
                let length = self.rng.usize(size..self.bytes.len());
                self.bytes.truncate(length / size * size + length % 2);
                self.bytes
                    .resize(self.bytes.len().next_multiple_of(size), 0);
            }
            // The first cells of a page: lengths and numbers of rows.
            9 => {
                let start = page * size;
                let at = usize::from(u16::from_be_bytes([
                    self.bytes[start + 8],
                    self.bytes[start + 9],
                ]));
                for byte in self.bytes.iter_mut().skip(start + at).take(6) {
                    *byte = 0xff;
                }
            }
            // The header of a page: its kind, its number of cells.
            10 => {
                let at = page * size + self.rng.usize(0..8);
                self.bytes[at] = self.rng.choice([0, 2, 5, 10, 13, 0xff]).unwrap();
            }
            // The schema.
            _ => {
                let at = self.rng.usize(100..size);
                self.bytes[at] = self.rng.u8(..);
            }
        }
    }
}

#[test]
fn operations_on_damaged_files_end_and_change_no_stored_reply() {
    let folder = tempfile::tempdir().unwrap();
    let (mut used, mut refused, mut given) = (0, 0, 0);
    for page in [512, 4096] {
        let (whole, said) = whole(folder.path(), page);
        let whole = fs::read(whole).unwrap();
        for number in 0..FILES {
            let mut rng = Rng::with_seed(SEED ^ (number << 16) ^ page as u64);
            let mut bytes = whole.clone();
            for _ in 0..rng.u8(1..4) {
                let mut pages = Pages {
                    bytes: &mut bytes,
                    size: page,
                    rng: &mut rng,
                };
                pages.damage();
            }
            let path = folder.path().join(format!("{page}-{number}.sqlite"));
            fs::write(&path, bytes).unwrap();
            let what = format!("file {number} of pages of {page} bytes");
            let said = said.clone();
            match timely(&what, move || use_all(&path, &said)) {
                Ok(found) => {
                    used += 1;
                    given += found;
                }
                Err(_) => refused += 1,
            }
        }
    }
    println!("{used} used, {refused} refused, {given} replies given");
    assert!(used > FILES, "{used} used, {refused} refused");
    assert!(given as u64 > 100 * FILES, "{given} replies given");
}

/// Every pointer of every interior page leads back to the root: a scan would visit more pages than there are grains of sand.
#[test]
fn a_tree_that_is_its_own_branch_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    for root in [1, 2] {
        let (path, said) = whole(folder.path(), 512);
        let mut bytes = fs::read(&path).unwrap();
        let kind = bytes[root * 512];
        assert!(matches!(kind, 2 | 5), "the root is an interior page");
        for page in 1..bytes.len() / 512 {
            let start = page * 512;
            if bytes[start] != kind {
                continue;
            }
            let cells = usize::from(u16::from_be_bytes([bytes[start + 3], bytes[start + 4]]));
            for cell in 0..cells / 2 {
                let at = start + 12 + 2 * cell;
                let at = start + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
                bytes[at..at + 4].copy_from_slice(&u32::try_from(root + 1).unwrap().to_be_bytes());
            }
        }
        fs::write(&path, bytes).unwrap();
        let file = path.clone();
        let texts = said.clone();
        let given = timely("a tree with circles", move || {
            use_all(&file, &texts).unwrap()
        });
        assert!(given > 0, "{given}");
        let check = Connection::open(&path).unwrap();
        let check: String = check
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok");
        let _ = fs::remove_file(&path);
    }
}

#[test]
fn a_repair_that_loses_replies_leaves_a_copy_of_the_file_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cache/damaged.sqlite");
    let path = folder.path().join("cache.sqlite");
    for copy in ["cache.sqlite.damaged", "cache.sqlite.damaged-2"] {
        fs::copy(&fixture, &path).unwrap();
        let file = path.clone();
        let contents = timely("reading", move || SqliteStore::contents(&file).unwrap());
        // Every page but the first three is one page further back than the table says.
        assert_eq!((contents.replies, contents.damaged), (0, 89));
        let file = path.clone();
        let damaged = PruneFilter {
            damaged: true,
            ..PruneFilter::default()
        };
        let pruned = timely("pruning", move || {
            SqliteStore::prune(&file, &damaged, false).unwrap()
        });
        // The rows are in their pages, wherever the table says they are.
        let after = SqliteStore::contents(&path).unwrap();
        assert_eq!((after.replies, after.damaged), (89, 0));
        assert_eq!(pruned.rows, 0);
        // The copy is a database of the same damaged pages.
        let copied = SqliteStore::contents(&folder.path().join(copy)).unwrap();
        assert_eq!(
            (copied.replies, copied.damaged),
            (contents.replies, contents.damaged)
        );
    }
}
