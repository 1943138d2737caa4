//! Journals as they are written: by many threads, on a full disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail so")]

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::Arc,
    thread,
};

use jiff::Timestamp;
use journal::{CutOff, Entry, Form, JournalReader, JournalWriter, RunId};
use schema::{Event, EventBody, EventKind, Journal, event::UsingTestItems};

fn event(thread: u64, n: u64) -> Event {
    Event::new(EventBody::UsingTestItems(UsingTestItems {
        using: n,
        total: thread,
        test: "t".to_owned(),
        ..UsingTestItems::default()
    }))
}

fn read(path: &Path) -> (Vec<Entry>, Option<CutOff>) {
    let mut reader = JournalReader::open(path).unwrap();
    let entries = reader.by_ref().map(|entry| entry.unwrap());
    (entries.collect(), reader.cut_off().cloned())
}

fn number(entry: &Entry, key: &str) -> u64 {
    entry
        .fields
        .get(key)
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(u64::MAX)
}

const FORMS: [Form; 2] = [Form::Plain, Form::Compressed];

#[test]
fn many_threads_record_and_nothing_is_lost_or_torn() {
    FORMS.into_iter().for_each(many_threads_record);
}

fn many_threads_record(form: Form) {
    const THREADS: u64 = 16;
    const EVENTS: u64 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let run_id = RunId::now();
    let before = Timestamp::now();
    let journal = Arc::new(JournalWriter::create_as(dir.path(), &run_id, form).unwrap());
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let journal = Arc::clone(&journal);
            thread::spawn(move || (0..EVENTS).for_each(|n| journal.record(event(thread, n))))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let report = journal.close().unwrap();
    assert_eq!(report.written, THREADS * EVENTS + 2);
    assert_eq!(report.bytes, fs::metadata(&report.path).unwrap().len());
    assert_eq!(
        report.path,
        dir.path().join(run_id.journal_file_name_as(form))
    );

    let (entries, cut_off) = read(&report.path);
    assert_eq!(cut_off, None);
    assert_eq!(entries.first().unwrap().message, EventKind::StartingJournal);
    assert_eq!(entries.last().unwrap().message, EventKind::ClosingJournal);
    // The events of one thread are in their order, and time never goes backward.
    let mut next: HashMap<u64, u64> = HashMap::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.message == EventKind::UsingTestItems)
    {
        let expected = next.entry(number(entry, "total")).or_default();
        assert_eq!(number(entry, "using"), *expected);
        *expected += 1;
    }
    assert!(next.len() == THREADS as usize && next.values().all(|n| *n == EVENTS));
    let times: Vec<Timestamp> = entries.iter().map(|entry| entry.time().unwrap()).collect();
    assert!(times.is_sorted());
    assert!(times[0].as_microsecond() >= before.as_microsecond());
    assert!(*times.last().unwrap() <= Timestamp::now());
}

#[test]
fn flush_and_drop_leave_all_events_in_the_file() {
    FORMS.into_iter().for_each(flush_and_drop);
}

fn flush_and_drop(form: Form) {
    let dir = tempfile::tempdir().unwrap();
    let journal = JournalWriter::create_as(dir.path(), &RunId::now(), form).unwrap();
    let path = journal.path().to_owned();
    for round in 1..=3 {
        journal.record(event(0, round));
        if round == 2 {
            journal.sync().unwrap()
        } else {
            journal.flush().unwrap()
        }
        assert_eq!(read(&path).0.len() as u64, round + 1);
    }
    journal.record(event(0, 4));
    drop(journal);
    let (entries, _) = read(&path);
    assert_eq!(entries.len(), 6);
    assert_eq!(entries[5].message, EventKind::ClosingJournal);
}

#[test]
fn a_journal_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let run_id = RunId::now();
    JournalWriter::create(dir.path(), &run_id)
        .unwrap()
        .close()
        .unwrap();
    let error = JournalWriter::create(dir.path(), &run_id)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(run_id.as_str()) && error.contains("exists"),
        "{error}"
    );
    let nowhere = dir.path().join("nowhere");
    let error = JournalWriter::create(&nowhere, &run_id)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot create the journal"), "{error}");
}

#[test]
fn events_after_closing_count_as_lost() {
    let dir = tempfile::tempdir().unwrap();
    let journal = JournalWriter::create(dir.path(), &RunId::now()).unwrap();
    assert_eq!(journal.close().unwrap().written, 2);
    assert_eq!(journal.close().unwrap().written, 2);
    assert!(
        journal
            .flush()
            .unwrap_err()
            .to_string()
            .ends_with("is closed")
    );
    journal.record(event(0, 0));
    assert_eq!(journal.close().unwrap_err().lost(), 1);
    assert_eq!(read(journal.path()).0.len(), 2);
}

/// A disk with room for `room` bytes.
struct SmallDisk {
    file: File,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let fits = bytes.len().min(self.room);
        let (now, _) = bytes.split_at(fits);
        self.file.write_all(now)?;
        self.room -= fits;
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[test]
fn a_disk_that_fills_up_costs_the_later_events_only_and_is_reported() {
    FORMS.into_iter().for_each(disk_fills_up);
}

fn disk_fills_up(form: Form) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let disk = SmallDisk {
        file: File::create(&path).unwrap(),
        room: 100_000,
    };
    let journal = JournalWriter::over_as(disk, &path, form).unwrap();
    // Many times what the channel holds, so a writer that stopped reading would block here for ever.
    for n in 0..100_000 {
        journal.record(event(0, n));
    }
    let error = journal.close().unwrap_err();
    let (entries, cut_off) = read(&path);
    assert!(cut_off.is_some());
    // Of lines that were packed and not settled it is not known whether they can be read.
    assert!(error.written() <= entries.len() as u64 && entries.len() > 100);
    assert!(form == Form::Compressed || error.written() == entries.len() as u64);
    assert_eq!(error.lost(), 100_002 - error.written());
    assert!(
        entries
            .iter()
            .skip(1)
            .enumerate()
            .all(|(n, entry)| number(entry, "using") == n as u64)
    );
    let text = error.to_string();
    let reason = io::Error::from(io::ErrorKind::StorageFull).to_string();
    assert!(
        text.contains("journal.jsonl is not complete") && text.contains(&reason),
        "{text}"
    );
    assert_eq!(journal.check().unwrap_err().to_string(), text);
    assert_eq!(journal.close().unwrap_err().to_string(), text);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_and_no_panic() {
    for form in FORMS {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let journal = JournalWriter::over_as(full, "/dev/full", form).unwrap();
        journal.record(event(0, 0));
        let error = journal.flush().unwrap_err();
        assert_eq!((error.written(), error.lost()), (0, 2));
        journal.record(event(0, 1));
        assert_eq!(journal.close().unwrap_err().lost(), 4);
    }
}

#[test]
fn a_compressed_journal_ends_with_a_whole_frame_at_every_sync() {
    let dir = tempfile::tempdir().unwrap();
    let journal = JournalWriter::create_as(dir.path(), &RunId::now(), Form::Compressed).unwrap();
    for round in 0..3 {
        for n in 0..500 {
            journal.record(event(round, n));
        }
        journal.sync().unwrap();
        let bytes = fs::read(journal.path()).unwrap();
        // Another decoder, which refuses what is not whole.
        let text = zstd::decode_all(bytes.as_slice()).unwrap();
        let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(lines, 1 + (round + 1) * 500);
        assert!(bytes.len() < text.len() / 4);
    }
}
