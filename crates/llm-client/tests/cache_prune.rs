//! Looking into a cache file and removing rows from it.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use endpoint::{Endpoint, completion, factory, request};
use llm_client::{Cache, CacheSettings, PruneFilter, SqliteStore};
use rusqlite::Connection;
use schema::Origin;
use tempfile::TempDir;

/// A cache of twenty replies of the model `one`, then twenty of `two`.
struct Project {
    folder: TempDir,
    endpoint: Endpoint,
    /// Between the two.
    between: SystemTime,
}

impl Project {
    async fn new() -> Self {
        let text = "x".repeat(1500);
        let endpoint =
            Endpoint::start(move |n, _| (200, completion(&format!("reply {n} {text}"), 1, 1)))
                .await;
        let mut project = Self {
            folder: tempfile::tempdir().unwrap(),
            endpoint,
            between: SystemTime::now(),
        };
        let cache = project.open();
        project.ask(&cache, "one").await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        project.between = SystemTime::now();
        tokio::time::sleep(Duration::from_millis(2)).await;
        project.ask(&cache, "two").await;
        project
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("replies.sqlite")
    }

    fn open(&self) -> Cache {
        Cache::open(self.path(), CacheSettings::default()).unwrap()
    }

    /// Asks for the rows of a model. How many replies come from the cache.
    async fn ask(&self, cache: &Cache, model: &str) -> usize {
        let mut settings = self.endpoint.settings();
        settings.model = model.to_owned();
        let factory = factory().with_cache(cache.clone());
        let model = factory.model(settings).unwrap();
        let mut cached = 0;
        for row in 0..20 {
            let reply = model.chat(&request(&row.to_string())).await.unwrap();
            cached += usize::from(reply.origin == Origin::Cached);
        }
        cached
    }

    fn prune(&self, filter: &PruneFilter) -> u64 {
        let dry = SqliteStore::prune(&self.path(), filter, true).unwrap();
        let pruned = SqliteStore::prune(&self.path(), filter, false).unwrap();
        assert_eq!((dry.rows, dry.bytes), (pruned.rows, pruned.bytes));
        assert_eq!(pruned.unshrunk, None);
        pruned.rows
    }

    fn sql(&self, text: &str) {
        let other = Connection::open(self.path()).unwrap();
        other.execute_batch(text).unwrap();
    }
}

fn of_model(model: &str) -> PruneFilter {
    PruneFilter {
        model: Some(model.to_owned()),
        ..PruneFilter::default()
    }
}

const DAMAGED: PruneFilter = PruneFilter {
    before: None,
    model: None,
    damaged: true,
};

#[tokio::test]
async fn rows_are_removed_by_age_and_model_and_the_rest_stays() {
    let project = Project::new().await;
    let old = PruneFilter {
        before: Some(project.between),
        ..PruneFilter::default()
    };
    let old_of_two = PruneFilter {
        before: Some(project.between),
        ..of_model("two")
    };
    for none in [
        PruneFilter::default(),
        old_of_two,
        DAMAGED,
        of_model("three"),
    ] {
        assert_eq!(project.prune(&none), 0, "{none:?}");
    }
    assert_eq!(project.prune(&old), 20);
    let cache = project.open();
    assert_eq!(project.ask(&cache, "two").await, 20);
    assert_eq!(project.ask(&cache, "one").await, 0);
    drop(cache);
    assert_eq!(project.prune(&of_model("two")), 20);
    assert_eq!(project.ask(&project.open(), "one").await, 20);
}

#[tokio::test]
async fn the_file_shrinks_and_its_rows_can_still_be_walked() {
    let project = Project::new().await;
    let before = fs::metadata(project.path()).unwrap().len();
    assert_eq!(project.prune(&of_model("one")), 20);
    let after = fs::metadata(project.path()).unwrap().len();
    assert!(after * 10 < before * 7, "{before} {after}");
    // The rows that are left have large numbers, and the file is small.
    project.sql("UPDATE replies SET rowid = rowid + 1000000");
    let contents = SqliteStore::contents(&project.path()).unwrap();
    assert_eq!((contents.replies, contents.damaged), (20, 0));
    assert_eq!(contents.file_bytes, after);
    let group = &contents.groups[0];
    assert_eq!(group.model.as_deref(), Some("two"));
    assert_eq!(group.endpoint.as_deref(), Some("test"));
    assert!(group.oldest > project.between && group.newest >= group.oldest);
    assert!(group.bytes > 20 * 3000, "{}", group.bytes);
}

#[tokio::test]
async fn damaged_rows_are_counted_and_removed() {
    let project = Project::new().await;
    project.sql(
        "UPDATE replies SET response = replace(response, 'reply', 'Reply') WHERE rowid IN (3, 33)",
    );
    let contents = SqliteStore::contents(&project.path()).unwrap();
    assert_eq!((contents.replies, contents.damaged), (38, 2));
    assert_eq!(project.prune(&of_model("one")), 19);
    assert_eq!(project.prune(&DAMAGED), 2);
    assert_eq!(project.ask(&project.open(), "two").await, 19);
}

#[tokio::test]
async fn rows_in_a_page_that_cannot_be_read_are_removed_by_a_repair() {
    let project = Project::new().await;
    let path = project.path();
    let mut bytes = fs::read(&path).unwrap();
    let whole = bytes.clone();
    let page = |number: usize| number * 4096..(number + 1) * 4096;
    // The first page is the file's head, the second and third are the roots of table and index.
    let mut found = 0;
    for number in 3..whole.len() / 4096 {
        bytes.copy_from_slice(&whole);
        bytes[page(number)].fill(0xff);
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", path.display()));
        }
        fs::write(&path, &bytes).unwrap();
        let Ok(contents) = SqliteStore::contents(&path) else {
            continue;
        };
        if contents.damaged == 0 {
            continue;
        }
        found += 1;
        assert!(contents.replies >= 30, "page {number}: {contents:?}");
        let pruned = SqliteStore::prune(&path, &DAMAGED, false).unwrap();
        assert!(pruned.rows > 0, "page {number}");
        let left = SqliteStore::contents(&path).unwrap();
        assert_eq!(
            (left.replies, left.damaged),
            (contents.replies, 0),
            "page {number}"
        );
        let check = Connection::open(&path).unwrap();
        let check: String = check
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok", "page {number}");
        if found == 4 {
            break;
        }
    }
    assert!(found > 0);
}

#[tokio::test]
async fn a_run_at_work_goes_on_and_calls_again_for_what_was_removed() {
    let project = Project::new().await;
    let cache = project.open();
    assert_eq!(project.ask(&cache, "one").await, 20);
    assert_eq!(project.prune(&of_model("one")), 20);
    assert_eq!(project.ask(&cache, "one").await, 0);
    assert_eq!(project.ask(&cache, "two").await, 20);
    assert_eq!(cache.count().unwrap(), 40);
    assert_eq!(cache.trouble(), None);
}
