//! Journals of processes that end badly: killed, or with a limit on the length of their files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use journal::{Entry, Form, JournalReader, JournalWriter, RunId};
use schema::{Event, EventBody, EventKind, Journal, event::UsingTestItems};

const CHILD_DIR: &str = "PROBITY_TEST_JOURNAL_DIR";
const CHILD_FORM: &str = "PROBITY_TEST_JOURNAL_COMPRESSED";
const CHILD_EVENTS: u64 = 5_000;

fn child_journal() -> Option<JournalWriter> {
    let dir = PathBuf::from(env::var_os(CHILD_DIR)?);
    let form = match env::var_os(CHILD_FORM) {
        Some(_) => Form::Compressed,
        None => Form::Plain,
    };
    Some(JournalWriter::create_as(&dir, &RunId::now(), form).unwrap())
}

/// A text that does not shrink much.
fn noise(n: u64) -> String {
    (0..20)
        .map(|k| {
            format!(
                "{:x}",
                (n + 1)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .rotate_left(k * 7)
            )
        })
        .collect()
}

fn event(n: u64) -> Event {
    Event::new(EventBody::UsingTestItems(UsingTestItems {
        using: n,
        total: 0,
        test: noise(n),
        ..UsingTestItems::default()
    }))
}

/// Not a test of its own: the process that the tests start and kill. It prints when it has recorded the event `n`, and goes on.
#[test]
fn child_that_is_killed() {
    let Some(journal) = child_journal() else {
        return;
    };
    println!("\njournal {}", journal.path().display());
    for n in 0.. {
        journal.record(event(n));
        if n >= CHILD_EVENTS {
            if n % 200 == 0 {
                println!("recorded {n} {}", Timestamp::now());
            }
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Not a test of its own: the process whose files may not become long. It records until the journal says that it cannot.
#[test]
fn child_with_a_limit() {
    let Some(journal) = child_journal() else {
        return;
    };
    println!("\njournal {}", journal.path().display());
    for n in 0..1_000_000 {
        journal.record(event(n));
        if journal.check().is_err() {
            break;
        }
    }
    println!("said {}", journal.close().unwrap_err());
}

fn child(test: &str, form: Form, dir: &Path) -> String {
    let program = env::current_exe().unwrap();
    let compressed = if form == Form::Compressed { "1" } else { "" };
    let set = if compressed.is_empty() {
        String::new()
    } else {
        format!("{CHILD_FORM}=1 ")
    };
    format!(
        "{CHILD_DIR}='{}' {set}exec '{}' {test} --exact --nocapture",
        dir.display(),
        program.display()
    )
}

fn entries(path: &Path) -> (Vec<Entry>, JournalReader<journal::JournalSource>) {
    let mut reader = JournalReader::open(path).unwrap();
    let entries = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (entries, reader)
}

/// How many events with the numbers 0, 1, 2, and so on follow the first entry.
fn numbered(entries: &[Entry]) -> u64 {
    let numbers = entries
        .iter()
        .skip(1)
        .map(|entry| entry.fields["using"].as_u64().unwrap());
    assert!(
        numbers
            .clone()
            .enumerate()
            .all(|(n, number)| n as u64 == number)
    );
    numbers.count() as u64
}

#[test]
fn a_kill_costs_less_than_the_last_second() {
    for form in [Form::Plain, Form::Compressed] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", &child("child_that_is_killed", form, dir.path())])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let path = lines
            .find_map(|line| line.strip_prefix("journal ").map(PathBuf::from))
            .unwrap();
        let mut recorded: Vec<(u64, Timestamp)> = Vec::new();
        let mut parse = |line: String| {
            let (n, time) = line
                .strip_prefix("recorded ")
                .unwrap()
                .split_once(' ')
                .unwrap();
            recorded.push((n.parse().unwrap(), time.parse().unwrap()));
        };
        // Long enough that zstd frames are open for a while, and the kill meets a writer at work.
        let start = Timestamp::now();
        while start.duration_until(Timestamp::now()).as_millis() < 2_500 {
            parse(lines.next().unwrap());
        }
        let killed = Timestamp::now();
        child.kill().unwrap();
        child.wait().unwrap();

        let (entries, reader) = entries(&path);
        let there = numbered(&entries);
        let a_second_before = killed - jiff::SignedDuration::from_secs(1);
        let mut newest_first = recorded.iter().rev();
        let (last_old, _) = *newest_first
            .find(|(_, time)| *time <= a_second_before)
            .unwrap();
        assert!(last_old > CHILD_EVENTS);
        assert!(
            there > last_old,
            "{form:?}: {there} events are there, {last_old} is older than a second"
        );
        assert!(
            entries
                .iter()
                .all(|entry| entry.message != EventKind::ClosingJournal)
        );
        // It ends in a frame, unless the kill came just when one was closed.
        if form == Form::Compressed
            && let Some(cut_off) = reader.cut_off()
        {
            assert!(cut_off.frame.is_some());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_may_not_grow_ends_the_journal_in_order() {
    for form in [Form::Plain, Form::Compressed] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "trap '' XFSZ; ulimit -f 1000; {}",
            child("child_with_a_limit", form, dir.path())
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        let find = |start: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(start))
                .unwrap()
        };
        let said = find("said ");
        assert!(
            said.contains("is not complete") && said.contains("File too large"),
            "{said}"
        );
        let (entries, reader) = entries(Path::new(find("journal ")));
        assert!(numbered(&entries) > 1000, "{form:?}: {}", entries.len());
        assert!(reader.cut_off().is_some());
    }
}
