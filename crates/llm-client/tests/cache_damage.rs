//! A cache whose file is damaged: no damaged reply is used, and no whole one is lost.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use endpoint::{Endpoint, completion, factory, request};
use llm_client::{Cache, CacheSettings, KeyMaker};
use rusqlite::Connection;
use schema::Origin;
use tempfile::TempDir;

/// A folder with a cache file, and the endpoint whose replies are in it.
struct Project {
    folder: TempDir,
    endpoint: Endpoint,
    /// What was answered to each row.
    said: HashMap<String, String>,
}

impl Project {
    /// A cache of `rows` replies of about `length` bytes. Every reply that is ever given is another one.
    async fn new(rows: usize, length: usize) -> Self {
        let text = "x".repeat(length);
        let endpoint =
            Endpoint::start(move |n, _| (200, completion(&format!("reply {n} {text}"), 100, 10)))
                .await;
        let mut project = Self {
            folder: tempfile::tempdir().unwrap(),
            endpoint,
            said: HashMap::new(),
        };
        let cache = project.open();
        for row in 0..rows {
            let row = row.to_string();
            let (said, origin) = project.ask(&cache, &row).await;
            assert_eq!(origin, Origin::Fetched);
            project.said.insert(row, said);
        }
        project
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("replies.sqlite")
    }

    fn open(&self) -> Cache {
        Cache::open(self.path(), CacheSettings::default()).unwrap()
    }

    async fn ask(&self, cache: &Cache, row: &str) -> (String, Origin) {
        let factory = factory().with_cache(cache.clone());
        let model = factory.model(self.endpoint.settings()).unwrap();
        let reply = model.chat(&request(row)).await.unwrap();
        (reply.content, reply.origin)
    }

    /// Asks for every row. What comes from the cache is what was said before; how many came from there.
    async fn ask_all(&self, cache: &Cache) -> usize {
        let mut cached = 0;
        for (row, said) in &self.said {
            let (content, origin) = self.ask(cache, row).await;
            if origin == Origin::Cached {
                assert_eq!(content, *said, "row {row}");
                cached += 1;
            }
        }
        cached
    }

    fn key(&self, row: &str) -> Vec<u8> {
        let key = KeyMaker::new(&self.endpoint.settings()).key(&request(row));
        key.as_bytes().to_vec()
    }

    fn sql(&self, text: &str) {
        Connection::open(self.path())
            .unwrap()
            .execute_batch(text)
            .unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    for end in ["", "-wal", "-shm"] {
        let name = |path: &Path| format!("{}{end}", path.display());
        let _ = fs::remove_file(name(to));
    }
    fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn a_row_that_was_changed_in_any_column_is_asked_for_again_and_replaced() {
    let changes = [
        // Still a whole completion: nothing but the checksum tells.
        "response = replace(response, 'reply 0', 'reply 1')",
        "response = replace(response, '100', '900')",
        "response = substr(response, 1, 20)",
        "created = created ^ 4",
        "created = created | (1 << 62)",
        "run_time_us = run_time_us + 1",
        "failed = '{}'",
        "failed = ''",
        "checksum = checksum + 1",
        "checksum = 0",
        "body = replace(body, 'reply 0', 'reply 1')",
        "body = NULL",
        "model = 'another'",
        "endpoint = NULL",
    ];
    for change in changes {
        let change = change.replace("created ^ 4", "(created | 4) - (created & 4)");
        let project = Project::new(2, 10).await;
        project.sql(&format!("UPDATE replies SET {change} WHERE rowid = 1"));
        let cache = project.open();
        let (content, origin) = project.ask(&cache, "0").await;
        assert_eq!(origin, Origin::Fetched, "{change}");
        assert!(content.starts_with("reply 2 "), "{change}: {content}");
        assert_eq!(project.ask(&cache, "1").await.1, Origin::Cached, "{change}");
        assert_eq!(cache.stats().damaged, 1, "{change}");
        drop(cache);
        let cache = project.open();
        assert_eq!(project.ask(&cache, "0").await, (content, Origin::Cached));
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.damaged), (1, 0), "{change}");
        assert_eq!(cache.count().unwrap(), 2, "{change}");
    }
}

#[tokio::test]
async fn a_row_under_the_key_of_another_is_not_used() {
    let project = Project::new(2, 10).await;
    let other = Connection::open(project.path()).unwrap();
    let move_to = "UPDATE replies SET key = ?2 WHERE key = ?1";
    let away = vec![0u8; 32];
    for (from, to) in [
        (project.key("0"), away.clone()),
        (project.key("1"), project.key("0")),
        (away, project.key("1")),
    ] {
        assert_eq!(other.execute(move_to, (from, to)).unwrap(), 1);
    }
    drop(other);
    let cache = project.open();
    for row in ["0", "1"] {
        assert_eq!(project.ask(&cache, row).await.1, Origin::Fetched, "{row}");
    }
    assert_eq!(cache.stats().damaged, 2);
}

#[tokio::test]
async fn no_flipped_bit_of_the_file_changes_a_reply() {
    let project = Project::new(150, 400).await;
    let path = project.path();
    let whole = project.folder.path().join("whole");
    fs::copy(&path, &whole).unwrap();
    let length = fs::read(&whole).unwrap().len();
    let (mut lost, mut refused) = (0, 0);
    for step in 0..60 {
        // Spread over the file, and over the eight bits of a byte.
        let at = (step * 7919 * 13 + step) % length;
        copy(&whole, &path);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1 << (step % 8);
        fs::write(&path, bytes).unwrap();
        // Of the first page, which says whose the file is and what is in it, not every bit may be wrong.
        let Ok(cache) = Cache::open(&path, CacheSettings::default()) else {
            assert!(at < 4 << 10, "byte {at}");
            refused += 1;
            continue;
        };
        lost += project.said.len() - project.ask_all(&cache).await;
    }
    assert!(refused <= 1, "{refused}");
    assert!(lost > 0, "some bits were those of replies");
}

#[tokio::test]
async fn of_pages_that_sqlite_cannot_read_only_their_rows_are_asked_for_again() {
    let project = Project::new(150, 400).await;
    let path = project.path();
    let whole = project.folder.path().join("whole");
    fs::copy(&path, &whole).unwrap();
    const PAGE: usize = 4 << 10;
    let pages = fs::read(&whole).unwrap().len() / PAGE;
    assert!(pages >= 6, "{pages}");
    // The first page is the file's head, the second the table's root, the third the index.
    for (page, others) in [(2, 150), (3, 100), (pages - 1, 100)] {
        copy(&whole, &path);
        let mut bytes = fs::read(&path).unwrap();
        bytes[page * PAGE..][..PAGE].fill(0xff);
        fs::write(&path, bytes).unwrap();
        let cache = project.open();
        let cached = project.ask_all(&cache).await;
        assert!(cached >= others, "page {page}: {cached}");
        assert_eq!(cache.trouble(), None, "page {page}");
        // The file is whole again, and holds all.
        drop(cache);
        let check = Connection::open(&path).unwrap();
        let check: String = check
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok", "page {page}");
        let cache = project.open();
        assert_eq!(cache.count().unwrap(), 150, "page {page}");
        let calls = project.endpoint.calls();
        for row in project.said.keys() {
            assert_eq!(project.ask(&cache, row).await.1, Origin::Cached);
        }
        assert_eq!(project.endpoint.calls(), calls, "page {page}");
    }
}

/// The file as a version of format 3 left it, with the checksums of its columns.
const FORMAT_3: &str = "
    ALTER TABLE replies DROP COLUMN body;
    ALTER TABLE replies DROP COLUMN model;
    ALTER TABLE replies DROP COLUMN endpoint;
    PRAGMA user_version = 3;
";

/// The file as a version of format 2 left it, which had no checksums.
const FORMAT_2: &str = "
    ALTER TABLE replies DROP COLUMN checksum;
    PRAGMA user_version = 2;
";

#[tokio::test]
async fn a_file_without_checksums_is_read_and_given_them() {
    let project = Project::new(700, 10).await;
    project.sql(FORMAT_3);
    project.sql(FORMAT_2);
    let cache = project.open();
    assert_eq!(project.ask_all(&cache).await, 700);
    drop(cache);
    project
        .sql("UPDATE replies SET response = replace(response, 'reply', 'Reply') WHERE rowid = 699");
    let cache = project.open();
    assert_eq!(project.ask_all(&cache).await, 699);
    assert_eq!(cache.stats().damaged, 1);
    assert_eq!(cache.count().unwrap(), 700);
}

#[tokio::test]
async fn a_damaged_file_without_checksums_keeps_what_can_be_read() {
    let project = Project::new(150, 400).await;
    project.sql(FORMAT_3);
    project.sql(FORMAT_2);
    let path = project.path();
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes.len() / (4 << 10) - 1;
    bytes[page * (4 << 10)..].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let cache = project.open();
    let cached = project.ask_all(&cache).await;
    assert!((100..150).contains(&cached), "{cached}");
    assert_eq!(cache.count().unwrap(), 150);
}

#[tokio::test]
async fn a_flipped_format_number_empties_nothing() {
    let project = Project::new(5, 10).await;
    for number in [0, 1, 2] {
        project.sql(&format!("PRAGMA user_version = {number}"));
        let cache = project.open();
        assert_eq!(project.ask_all(&cache).await, 5, "{number}");
        assert_eq!(cache.count().unwrap(), 5);
    }
}
