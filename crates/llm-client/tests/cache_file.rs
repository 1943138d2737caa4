//! What can happen to the cache's file.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use endpoint::{Endpoint, completion, factory, request};
use llm_client::{Cache, CacheKey, CacheSettings, KeyMaker};
use schema::{ModelErrorKind, Origin};

/// The text of the error with which `path` is refused.
fn refused(path: &Path) -> String {
    let error = Cache::open(path, CacheSettings::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    text
}

#[test]
fn a_file_that_is_no_cache_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let notes = "These are my notes. ".repeat(100);
    fs::write(&path, &notes).unwrap();
    assert!(refused(&path).contains("move it away, or name another file"));
    assert_eq!(fs::read_to_string(&path).unwrap(), notes);

    let path = folder.path().join("other.sqlite");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(refused(&path).contains("another program"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_cut_in_half_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    drop(Cache::open(&path, CacheSettings::default()).unwrap());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&path).contains("damaged"));
}

#[test]
fn a_newer_file_is_refused_and_an_older_one_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    drop(Cache::open(&path, CacheSettings::default()).unwrap());
    let set = |version: i64| {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        if version == 0 {
            other
                .execute_batch("DROP TABLE replies; CREATE TABLE replies (old)")
                .unwrap();
        }
    };
    set(99);
    let text = refused(&path);
    assert!(
        text.contains("newer version of Probity (format 99"),
        "{text}"
    );
    set(0);
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    assert_eq!(cache.count().unwrap(), 0);
}

/// As earlier versions made it, with smaller pages.
#[tokio::test]
async fn a_file_of_an_earlier_version_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let endpoint = Endpoint::numbered().await;
    let key = KeyMaker::new(&endpoint.settings()).key(&request("a"));
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "page_size", 4096).unwrap();
    other
        .execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA application_id = 0x50726243; PRAGMA user_version = 2;
            CREATE TABLE replies (key BLOB NOT NULL UNIQUE, created INTEGER NOT NULL, run_time_us INTEGER NOT NULL,
                failed TEXT, response TEXT NOT NULL) STRICT;",
        )
        .unwrap();
    let row = (key.as_bytes(), 1, 2000, completion("earlier", 1, 1));
    let insert = "INSERT INTO replies VALUES (?1, ?2, ?3, NULL, ?4)";
    other.execute(insert, row).unwrap();
    drop(other);
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let factory = factory().with_cache(cache.clone());
    let model = factory.model(endpoint.settings()).unwrap();
    for (row, content) in [("a", "earlier"), ("b", "reply 0"), ("b", "reply 0")] {
        assert_eq!(model.chat(&request(row)).await.unwrap().content, content);
    }
    assert_eq!((cache.count().unwrap(), endpoint.calls()), (2, 1));
    let other = rusqlite::Connection::open(&path).unwrap();
    let page = other.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0));
    assert_eq!(page.unwrap(), 4096);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refused(&file.join("replies.sqlite")).contains("folder"));
    // A folder where the file should be.
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    assert!(refused(&taken).contains("check that its folder"));
}

#[cfg(unix)]
#[test]
fn what_may_not_be_written_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    drop(Cache::open(&path, CacheSettings::default()).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write everywhere.
    let may_write = fs::OpenOptions::new().write(true).open(&path).is_ok();
    if !may_write {
        refused(&path);
        refused(&folder.path().join("new.sqlite"));
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_full_disk_costs_no_reply_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint =
        Endpoint::start(|n, _| (200, completion(&"long text ".repeat(1000), 1, n as u64))).await;
    let settings = CacheSettings {
        max_bytes: Some(64 << 10),
        ..CacheSettings::default()
    };
    let path = folder.path().join("replies.sqlite");
    let cache = Cache::open(&path, settings).unwrap();
    let model = factory()
        .with_cache(cache.clone())
        .model(endpoint.settings())
        .unwrap();
    let waiting = tokio::spawn({
        let cache = cache.clone();
        async move { (cache.until_trouble().await, cache.stats().not_stored) }
    });
    for row in 0..20 {
        model.chat(&request(&row.to_string())).await.unwrap();
    }
    let stats = cache.stats();
    assert_eq!(stats.stored + stats.not_stored, 20);
    assert!(stats.stored > 0 && stats.not_stored > 0, "{stats:?}");
    let trouble = cache.trouble().unwrap();
    assert!(trouble.contains("disk is full"), "{trouble}");
    // Who waits for it knows before another reply is lost.
    assert_eq!(waiting.await.unwrap(), (trouble.clone(), 1));
    assert!(trouble.contains(&path.display().to_string()), "{trouble}");
    assert_eq!(cache.count().unwrap(), stats.stored);

    // A later run asks for what is missing, and only that.
    drop((model, cache));
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let model = factory()
        .with_cache(cache)
        .model(endpoint.settings())
        .unwrap();
    for row in 0..20 {
        model.chat(&request(&row.to_string())).await.unwrap();
    }
    let asked = u64::try_from(endpoint.calls()).unwrap();
    assert_eq!(asked, 20 + stats.not_stored);
}

#[tokio::test]
async fn a_file_that_is_damaged_while_in_use_fails_the_call_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::numbered().await;
    let path = folder.path().join("replies.sqlite");
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let model = factory()
        .with_cache(cache)
        .model(endpoint.settings())
        .unwrap();
    model.chat(&request("a")).await.unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE replies")
        .unwrap();
    let error = model.chat(&request("b")).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert!(error.to_string().contains("replies.sqlite"), "{error}");
    assert_eq!(
        endpoint.calls(),
        1,
        "no call is made whose reply cannot be kept"
    );
}

/// A line of a file in which versions up to format 3 kept the newest replies of a process.
fn tail_line(round: u64, key: &CacheKey, created: i64, oldest: i64, content: &str) -> String {
    let text = format!(
        r#"{{"round":{round},"key":"{key:?}","created":{created},"oldest":{oldest},"run_time_us":12,"response":{}}}"#,
        completion(content, 1, 1)
    );
    format!("{:08x}{text}\n", crc32fast::hash(text.as_bytes()))
}

/// An endpoint, and a cache in a folder where an earlier version left files.
struct Left {
    folder: tempfile::TempDir,
    endpoint: Endpoint,
}

impl Left {
    async fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            endpoint: Endpoint::numbered().await,
        }
    }

    fn key(&self, row: &str) -> CacheKey {
        KeyMaker::new(&self.endpoint.settings()).key(&request(row))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn open(&self) -> Cache {
        let path = self.folder.path().join("replies.sqlite");
        Cache::open(path, CacheSettings::default()).unwrap()
    }

    async fn ask(&self, cache: &Cache, row: &str) -> String {
        let factory = factory().with_cache(cache.clone());
        let model = factory.model(self.endpoint.settings()).unwrap();
        model.chat(&request(row)).await.unwrap().content
    }
}

#[tokio::test]
async fn replies_that_an_earlier_version_left_beside_the_file_are_taken_in_once() {
    let left = Left::new().await;
    let line = |round, row: &str| tail_line(round, &left.key(row), 5, i64::MIN, row);
    let torn = |row: &str| line(1, row)[..100].to_owned();
    // In the first, the last line was torn over an older one; in the second, an older round follows the newest.
    let tails = [
        left.write(
            "replies.sqlite-tail1-0",
            &format!(
                "{}{}{}{}",
                line(1, "a"),
                line(1, "b"),
                torn("c"),
                line(0, "d")
            ),
        ),
        left.write(
            "replies.sqlite-tail1-12",
            &format!("{}{}", line(7, "e"), line(6, "f")),
        ),
        left.write("replies.sqlite-tail1-3", ""),
    ];
    let others = [
        left.write("replies.sqlite-tail2-0", &line(0, "g")),
        left.write("replies.sqlite-tail1-x", &line(0, "g")),
        left.write("other.sqlite-tail1-0", &line(0, "g")),
    ];
    // Its process is alive.
    let held = left.write("replies.sqlite-tail1-4", &line(0, "h"));
    let lock = fs::File::open(&held).unwrap();
    lock.lock().unwrap();

    let cache = left.open();
    assert_eq!(cache.count().unwrap(), 3);
    for row in ["a", "b", "e"] {
        assert_eq!(left.ask(&cache, row).await, row);
    }
    assert_eq!(left.endpoint.calls(), 0);
    assert!(tails.iter().all(|tail| !tail.exists()));
    assert!(others.iter().chain([&held]).all(|other| other.exists()));
    for (nth, row) in ["c", "d", "f", "g", "h"].into_iter().enumerate() {
        assert_eq!(left.ask(&cache, row).await, format!("reply {nth}"));
    }
    drop(cache);
    drop(lock);
    // The reply that is there came later.
    let cache = left.open();
    assert!(!held.exists());
    assert_eq!(cache.count().unwrap(), 8);
    assert_eq!(left.ask(&cache, "h").await, "reply 4");
}

#[tokio::test]
async fn what_is_taken_in_replaces_nothing_that_came_later() {
    let left = Left::new().await;
    let line = |created, oldest, content| tail_line(0, &left.key("a"), created, oldest, content);
    let lines = [
        (line(10, i64::MIN, "first"), "first"),
        // A usable reply is there already.
        (line(11, i64::MIN, "second"), "first"),
        // It replaced a damaged one.
        (line(12, i64::MAX, "third"), "third"),
        (line(11, i64::MAX, "late"), "third"),
    ];
    for (line, kept) in lines {
        left.write("replies.sqlite-tail1-0", &line);
        assert_eq!(left.ask(&left.open(), "a").await, kept);
    }
    assert_eq!(left.endpoint.calls(), 0);
}

#[tokio::test]
async fn a_file_of_format_3_is_read_by_its_checksums() {
    let left = Left::new().await;
    let other = rusqlite::Connection::open(left.folder.path().join("replies.sqlite")).unwrap();
    other
        .execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA application_id = 0x50726243; PRAGMA user_version = 3;
            CREATE TABLE replies (key BLOB NOT NULL UNIQUE, created INTEGER NOT NULL, run_time_us INTEGER NOT NULL,
                failed TEXT, response TEXT NOT NULL, checksum INTEGER NOT NULL DEFAULT 0) STRICT;",
        )
        .unwrap();
    for (row, damage) in [("a", 0), ("b", 1), ("c", 0)] {
        let (key, response) = (left.key(row), completion(row, 1, 1));
        let mut sum = crc32fast::Hasher::new();
        for part in [
            key.as_bytes().as_slice(),
            &5i64.to_le_bytes(),
            &12i64.to_le_bytes(),
            &u64::MAX.to_le_bytes(),
            response.as_bytes(),
        ] {
            sum.update(part);
        }
        let values = (
            key.as_bytes(),
            &response,
            i64::from(sum.finalize()) + damage,
        );
        let insert = "INSERT INTO replies VALUES (?1, 5, 12, NULL, ?2, ?3)";
        other.execute(insert, values).unwrap();
    }
    drop(other);
    let cache = left.open();
    for (row, content) in [("a", "a"), ("b", "reply 0"), ("c", "c"), ("b", "reply 0")] {
        assert_eq!(left.ask(&cache, row).await, content);
    }
    assert_eq!((cache.stats().damaged, cache.count().unwrap()), (1, 3));
}

#[tokio::test]
async fn many_replies_at_once_all_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let text = "long text ".repeat(400);
    let endpoint = Endpoint::start(move |_, _| (200, completion(&text, 1, 1))).await;
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let model = factory()
        .with_cache(cache.clone())
        .model(endpoint.settings())
        .unwrap();
    // More than one commit takes, and more than may wait, while another process holds the database.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let calls: Vec<_> = (0..4000)
        .map(|row| {
            let model = model.clone();
            tokio::spawn(async move { model.chat(&request(&row.to_string())).await.unwrap() })
        })
        .collect();
    while endpoint.calls() < 3072 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(cache.count().unwrap(), 4000);
    let stats = cache.stats();
    assert_eq!((stats.stored, stats.not_stored), (4000, 0));
}

const CHILD_URL: &str = "CACHE_TEST_URL";
const CHILD_PATH: &str = "CACHE_TEST_PATH";

/// Run in a process of its own by the next test, and killed there.
#[tokio::test]
#[ignore = "it is started by another test"]
async fn child_that_is_killed() {
    let (url, path) = (std::env::var(CHILD_URL), std::env::var(CHILD_PATH));
    let (Ok(url), Ok(path)) = (url, path) else {
        return;
    };
    let cache = Cache::open(path, CacheSettings::default()).unwrap();
    let model = factory()
        .with_cache(cache)
        .model(endpoint::settings(&url))
        .unwrap();
    for row in 0.. {
        let reply = model.chat(&request(&row.to_string())).await.unwrap();
        println!("got {row} {}", reply.content);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_every_reply_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let endpoint = Endpoint::numbered().await;
    for kill_after in [1, 30, 100] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "child_that_is_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD_URL, &endpoint.base_url)
            .env(CHILD_PATH, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let got: Vec<String> = tokio::task::spawn_blocking(move || {
            let mut got = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                let Some(at) = line.find("got ") else {
                    continue;
                };
                got.push(line[at + 4..].to_owned());
                if got.len() == kill_after {
                    child.kill().unwrap();
                }
            }
            child.wait().unwrap();
            got
        })
        .await
        .unwrap();
        assert!(got.len() >= kill_after);

        let cache = Cache::open(&path, CacheSettings::default()).unwrap();
        let model = factory()
            .with_cache(cache)
            .model(endpoint.settings())
            .unwrap();
        for line in got {
            let (row, text) = line.split_once(' ').unwrap();
            let reply = model.chat(&request(row)).await.unwrap();
            assert_eq!(
                (reply.origin, reply.content.as_str()),
                (Origin::Cached, text)
            );
        }
    }
}
