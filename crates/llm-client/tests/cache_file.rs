//! What can happen to the cache's file.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

mod endpoint;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use endpoint::{Endpoint, completion, provider, request};
use llm_client::{Cache, CacheSettings, KeyMaker};
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
    assert!(refused(&path).contains("delete it, or name another file"));
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
    let provider = provider().with_cache(cache.clone());
    let model = provider.model(endpoint.settings()).unwrap();
    for (row, content) in [("a", "earlier"), ("b", "reply 0"), ("b", "reply 0")] {
        assert_eq!(model.chat(&request(row)).await.unwrap().content, content);
        cache.flush();
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
async fn a_full_disk_costs_no_reply_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint =
        Endpoint::start(|n, _| (200, completion(&"long text ".repeat(1000), 1, n as u64))).await;
    let settings = CacheSettings {
        max_bytes: Some(64 << 10),
        ..CacheSettings::default()
    };
    let path = folder.path().join("replies.sqlite");
    let cache = Cache::open(&path, settings).unwrap();
    let model = provider()
        .with_cache(cache.clone())
        .model(endpoint.settings())
        .unwrap();
    for row in 0..20 {
        model.chat(&request(&row.to_string())).await.unwrap();
    }
    cache.flush();
    let stats = cache.stats();
    assert_eq!(stats.stored + stats.not_stored, 20);
    assert!(stats.stored > 0 && stats.not_stored > 0, "{stats:?}");
    let trouble = cache.trouble().unwrap();
    assert!(trouble.contains("disk is full"), "{trouble}");
    assert!(trouble.contains(&path.display().to_string()), "{trouble}");
    assert_eq!(cache.count().unwrap(), stats.stored);

    // A later run asks for what is missing, and only that.
    drop((model, cache));
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let model = provider()
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
    let model = provider()
        .with_cache(cache)
        .model(endpoint.settings())
        .unwrap();
    model.chat(&request("a")).await.unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE replies")
        .unwrap();
    // Within half a second what others do to the file is noticed.
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let error = model.chat(&request("b")).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Permanent);
    assert!(error.to_string().contains("replies.sqlite"), "{error}");
    assert_eq!(
        endpoint.calls(),
        1,
        "nothing is paid for that cannot be kept"
    );
}

/// The files beside `path` that hold replies on their way into it.
fn tails(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut tails: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().contains(".sqlite-tail"))
        .collect();
    tails.sort();
    tails
}

#[tokio::test]
async fn what_a_killed_process_left_is_taken_over_once_and_a_torn_line_costs_itself_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let endpoint = Endpoint::numbered().await;
    let ask = |cache: &Cache| {
        provider()
            .with_cache(cache.clone())
            .model(endpoint.settings())
            .unwrap()
    };
    // Two lines, as they stand in a tail before they are in the database, and a later one over the first.
    let lines: Vec<String> = {
        let other = folder.path().join("other.sqlite");
        let cache = Cache::open(&other, CacheSettings::default()).unwrap();
        for row in ["a", "b"] {
            ask(&cache).chat(&request(row)).await.unwrap();
        }
        let texts = tails(&other).into_iter().map(fs::read_to_string);
        let text: String = texts.map(Result::unwrap).collect();
        text.split_inclusive('\n').map(str::to_owned).collect()
    };
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(tails(&path).is_empty(), "closed in order");
    let left = folder.path().join("replies.sqlite-tail1-0");
    let torn = &lines[0][..lines[0].len() / 2];
    // The last line was torn while it was written over an older one of the same length.
    let mixed = format!("{torn}{}", lines[1][torn.len()..].replace('b', "c"));
    fs::write(&left, format!("{}{mixed}{}", lines[0], lines[1])).unwrap();
    let newer = folder.path().join("replies.sqlite-tail2-0");
    fs::write(&newer, "of a later version").unwrap();
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    assert_eq!(cache.count().unwrap(), 1);
    let reply = ask(&cache).chat(&request("a")).await.unwrap();
    assert_eq!((reply.origin, endpoint.calls()), (Origin::Cached, 2));
    let own = tails(&path);
    assert_eq!(own.len(), 3, "two of this process, and the newer one");

    // The tails of a process that lives are its own.
    ask(&cache).chat(&request("b")).await.unwrap();
    let second = Cache::open(&path, CacheSettings::default()).unwrap();
    assert_eq!(tails(&path).len(), 5);
    assert!(own.iter().all(|tail| tail.exists()));
    drop((cache, second));
    assert_eq!(tails(&path), [newer]);
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    assert_eq!(cache.count().unwrap(), 2);
}

#[tokio::test]
async fn of_a_tail_that_was_used_again_only_the_newest_round_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (used, fresh) = (
        folder.path().join("used.sqlite"),
        folder.path().join("fresh.sqlite"),
    );
    let endpoint = Endpoint::numbered().await;
    let ask = |cache: &Cache| {
        provider()
            .with_cache(cache.clone())
            .model(endpoint.settings())
            .unwrap()
    };
    let cache = Cache::open(&used, CacheSettings::default()).unwrap();
    let model = ask(&cache);
    for (row, flush) in [("a", false), ("b", true), ("c", true), ("d", false)] {
        model.chat(&request(row)).await.unwrap();
        if flush {
            cache.flush();
        }
    }
    // "d" stands over "a", in the tail that "b" was in.
    let of_d = tails(&used).into_iter().find(|tail| {
        let text = fs::read_to_string(tail).unwrap();
        text.lines().next().unwrap().contains("\"round\":1,")
    });
    fs::copy(of_d.unwrap(), folder.path().join("fresh.sqlite-tail1-7")).unwrap();
    let cache = Cache::open(&fresh, CacheSettings::default()).unwrap();
    assert_eq!(cache.count().unwrap(), 1);
    let reply = ask(&cache).chat(&request("d")).await.unwrap();
    assert_eq!((reply.origin, endpoint.calls()), (Origin::Cached, 4));
}

#[tokio::test]
async fn what_the_database_does_not_take_stays_for_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let endpoint = Endpoint::numbered().await;
    let open = || Cache::open(&path, CacheSettings::default()).unwrap();
    let ask = async |cache: &Cache, row: &str| {
        let provider = provider().with_cache(cache.clone());
        let model = provider.model(endpoint.settings()).unwrap();
        model.chat(&request(row)).await.unwrap().origin
    };
    let sql = |text: &str| {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch(text).unwrap();
    };
    let cache = open();
    assert_eq!(ask(&cache, "a").await, Origin::Fetched);
    sql("ALTER TABLE replies RENAME TO away");
    cache.flush();
    assert!(cache.trouble().is_some());
    sql("ALTER TABLE away RENAME TO replies");
    // What comes later gets through, and takes nothing with it.
    for row in ["b", "c", "d"] {
        assert_eq!(ask(&cache, row).await, Origin::Fetched);
        cache.flush();
    }
    drop(cache);
    assert_eq!(tails(&path).len(), 1);
    let cache = open();
    assert_eq!(ask(&cache, "a").await, Origin::Cached);
    assert_eq!(cache.count().unwrap(), 4);
    drop(cache);
    assert!(tails(&path).is_empty());
}

#[tokio::test]
async fn what_is_taken_over_replaces_nothing_that_came_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let endpoint = Endpoint::numbered().await;
    let open = || Cache::open(&path, CacheSettings::default()).unwrap();
    let ask = async |cache: &Cache| {
        let provider = provider().with_cache(cache.clone());
        let model = provider.model(endpoint.settings()).unwrap();
        model.chat(&request("a")).await.unwrap().content
    };
    let spoil = || {
        let other = rusqlite::Connection::open(&path).unwrap();
        let rows = other.execute("UPDATE replies SET response = '{}'", []);
        assert_eq!(rows.unwrap(), 1);
    };
    let cache = open();
    assert_eq!(ask(&cache).await, "reply 0");
    cache.flush();
    spoil();
    // This reply replaces whatever is there. Its line is left behind, as by a process that was killed.
    assert_eq!(ask(&cache).await, "reply 1");
    let with_line = |tail: &PathBuf| fs::read_to_string(tail).unwrap().contains("reply 1");
    let left = tails(&path).into_iter().find(with_line).unwrap();
    let copy = folder.path().join("copy");
    fs::copy(left, &copy).unwrap();
    cache.flush();
    spoil();
    assert_eq!(ask(&cache).await, "reply 2");
    drop(cache);
    fs::rename(copy, folder.path().join("replies.sqlite-tail1-9")).unwrap();
    assert_eq!(ask(&open()).await, "reply 2");
    assert_eq!(endpoint.calls(), 3);
}

#[tokio::test]
async fn many_replies_at_once_all_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replies.sqlite");
    let text = "long text ".repeat(400);
    let endpoint = Endpoint::start(move |_, _| (200, completion(&text, 1, 1))).await;
    let cache = Cache::open(&path, CacheSettings::default()).unwrap();
    let model = provider()
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
    let model = provider()
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
        let model = provider()
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
