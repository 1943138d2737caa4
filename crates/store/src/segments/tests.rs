//! Segments of three rows: written, read, replaced, damaged.

use std::{collections::BTreeMap, fs, io::Write, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{RowPosition, Spool, each_row};

struct Rows {
    _folder: TempDir,
    /// The plain file.
    plain: PathBuf,
}

fn rows_of(count: u32, word: &str) -> Vec<Value> {
    let row = |n: u32| json!({"id": format!("s{n}"), "text": word, "none": {}, "list": [n, 1.5]});
    (0..count).map(row).collect()
}

fn text_of(rows: &[Value]) -> String {
    format!("{}\n", serde_json::to_string_pretty(rows).unwrap())
}

impl Rows {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            plain: folder.path().join("conversations.json"),
            _folder: folder,
        }
    }

    /// Writes segments of three rows, and returns the digest of the plain text.
    fn segments(&self, rows: &[Value]) -> String {
        let mut writer = SegmentWriter::with_rows(&self.plain, 3).unwrap();
        for part in text_of(rows).as_bytes().chunks(7) {
            writer.write_all(part).unwrap();
        }
        writer.finish().unwrap()
    }

    fn path(&self) -> PathBuf {
        rows_at(self.plain.clone())
    }

    fn folder(&self) -> PathBuf {
        self.plain.with_extension("")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn text(&self) -> io::Result<String> {
        let mut text = String::new();
        open_rows(&self.path())?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// The files in the folder of segments.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.folder()).unwrap().map(Result::unwrap);
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        };
        entries.map(file).collect()
    }

    fn names(&self) -> Vec<String> {
        self.files().into_keys().collect()
    }

    fn index(&self) -> SegmentIndex {
        SegmentIndex::read(&self.file(INDEX)).unwrap()
    }

    #[track_caller]
    fn fault(&self) -> SegmentFault {
        let error = self.text().unwrap_err();
        SegmentFault::of(&error)
            .expect("a fault of a segment")
            .clone()
    }
}

#[test]
fn segments_read_as_the_plain_file() {
    for count in [0, 1, 2, 3, 4, 9, 10] {
        let rows = Rows::new();
        let written = rows_of(count, "a\nb \u{e4}");
        let digest = rows.segments(&written);
        assert_eq!(rows.path(), rows.file(INDEX));
        assert_eq!(rows.text().unwrap(), text_of(&written));
        let spool = Spool::create(&rows.plain.with_file_name("spool")).unwrap();
        for (row, n) in written.iter().zip(0..) {
            let scenario = n;
            spool
                .push(
                    RowPosition {
                        scenario,
                        ..RowPosition::default()
                    },
                    row,
                )
                .unwrap();
        }
        let plain = spool
            .compose(&rows.plain.with_file_name("plain.json"))
            .unwrap();
        assert_eq!(digest, plain.sha256, "{count} rows");
        let index = rows.index();
        assert_eq!(index.rows(), u64::from(count));
        assert_eq!(index.segments.len(), (count as usize).div_ceil(3));
    }
}

#[test]
fn the_same_rows_give_the_same_files_whatever_was_there() {
    let fresh = Rows::new();
    fresh.segments(&rows_of(7, "new"));
    for earlier in [0, 2, 7, 20] {
        let rows = Rows::new();
        rows.segments(&rows_of(earlier, "old"));
        rows.segments(&rows_of(7, "new"));
        assert_eq!(rows.files(), fresh.files(), "{earlier} rows before");
    }
}

#[test]
fn rows_that_are_not_finished_change_nothing() {
    let rows = Rows::new();
    let before = rows_of(7, "old");
    rows.segments(&before);
    let mut writer = SegmentWriter::with_rows(&rows.plain, 3).unwrap();
    writer
        .write_all(text_of(&rows_of(8, "new")).as_bytes())
        .unwrap();
    assert_eq!(rows.text().unwrap(), text_of(&before));
    drop(writer);
    assert_eq!(rows.text().unwrap(), text_of(&before));
    let mut writer = SegmentWriter::with_rows(&rows.plain, 3).unwrap();
    let new = text_of(&rows_of(8, "new"));
    writer.write_all(new.as_bytes()).unwrap();
    let error = writer.failed(io::ErrorKind::StorageFull.into());
    assert!(error.to_string().contains("Free some space"), "{error}");
    assert_eq!(rows.text().unwrap(), text_of(&before));
    // The next run removes what a killed one left.
    rows.segments(&before);
    let expected = [
        "00001.jsonl.zst",
        "00002.jsonl.zst",
        "00003.jsonl.zst",
        INDEX,
    ];
    assert_eq!(rows.names(), expected);
}

/// The points at which a process can be killed while it replaces segments.
#[test]
fn a_kill_at_any_point_leaves_the_old_or_the_new_rows() {
    let (old, new) = (rows_of(7, "old"), rows_of(4, "new"));
    let rows = Rows::new();
    rows.segments(&new);
    let finished = rows.files();
    let rows = Rows::new();
    rows.segments(&old);
    // The new segments are there under other names, and the index names the old ones.
    for (number, name) in ["00001", "00002"].iter().enumerate() {
        let content = &finished[&format!("{name}.jsonl.zst")];
        fs::write(rows.file(&index::replacing_name(number + 1)), content).unwrap();
    }
    assert_eq!(rows.text().unwrap(), text_of(&old));
    // The index names the new ones.
    let mut index: SegmentIndex = serde_json::from_slice(&finished[INDEX]).unwrap();
    for (segment, number) in index.segments.iter_mut().zip(1..) {
        segment.file = index::replacing_name(number);
    }
    crate::write_json(&rows.file(INDEX), &index).unwrap();
    assert_eq!(rows.text().unwrap(), text_of(&new));
    // One of them has its name.
    fs::copy(
        rows.file("00001.new.jsonl.zst"),
        rows.file("00001.jsonl.zst"),
    )
    .unwrap();
    assert_eq!(rows.text().unwrap(), text_of(&new));
    // The next run replaces these.
    rows.segments(&old);
    assert_eq!(rows.text().unwrap(), text_of(&old));
    assert!(rows.names().iter().all(|name| !name.contains("new")));
}

#[test]
fn the_plain_file_counts_where_both_forms_are_there() {
    let rows = Rows::new();
    let (old, new) = (rows_of(2, "old"), rows_of(5, "new"));
    // To segments: the plain file is removed last.
    fs::write(&rows.plain, text_of(&old)).unwrap();
    let mut writer = SegmentWriter::with_rows(&rows.plain, 3).unwrap();
    writer.write_all(text_of(&new).as_bytes()).unwrap();
    assert_eq!(rows.text().unwrap(), text_of(&old));
    writer.finish().unwrap();
    assert!(!rows.plain.exists());
    assert_eq!(rows.text().unwrap(), text_of(&new));
    // And back: it is there before the segments go.
    fs::write(&rows.plain, text_of(&old)).unwrap();
    assert_eq!(rows.path(), rows.plain);
    fs::write(rows.file("notes.txt"), "mine").unwrap();
    remove_segments(&rows.plain).unwrap();
    assert_eq!(rows.names(), ["notes.txt"]);
    fs::remove_file(rows.file("notes.txt")).unwrap();
    remove_segments(&rows.plain).unwrap();
    assert!(!rows.folder().exists());
}

type Damage = fn(&Rows);

#[test]
fn faults_name_the_segment() {
    let second = "00002.jsonl.zst";
    let damage: [(&str, Damage); 5] = [
        ("missing, and the index beside it names it", |rows| {
            fs::remove_file(rows.file("00002.jsonl.zst")).unwrap();
        }),
        ("bytes; its index says", |rows| {
            fs::write(rows.file("00002.jsonl.zst"), "short").unwrap();
        }),
        ("its SHA-256 is not that in its index", |rows| {
            let mut content = fs::read(rows.file("00002.jsonl.zst")).unwrap();
            content[9] ^= 1;
            fs::write(rows.file("00002.jsonl.zst"), content).unwrap();
        }),
        ("its SHA-256 is not that in its index", |rows| {
            // All segments have equally many bytes.
            fs::copy(rows.file("00001.jsonl.zst"), rows.file("00002.jsonl.zst")).unwrap();
        }),
        ("has 3 rows; its index says 2", |rows| {
            let mut index = rows.index();
            index.segments[1].rows = 2;
            index.segments[2].first_row = 6;
            crate::write_json(&rows.file(INDEX), &index).unwrap();
        }),
    ];
    for (words, damage) in damage {
        let rows = Rows::new();
        rows.segments(&rows_of(7, "text"));
        damage(&rows);
        let fault = rows.fault();
        assert_eq!(fault.path, rows.file(second));
        assert!(fault.reason.contains(words), "{fault}");
        assert!(fault.help.contains("run the benchmark again"));
        // The rows before it were read, and the reader of rows has the same words.
        let mut read = 0;
        let error = each_row(&rows.path(), |_: Value| {
            read += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        });
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains(words) && text.contains("\nhelp: restore"),
            "{text}"
        );
        assert!(read < 7);
    }
}

#[test]
fn a_run_that_replaces_the_rows_is_no_damage() {
    let rows = Rows::new();
    rows.segments(&rows_of(7, "old"));
    let mut reader = open_rows(&rows.path()).unwrap();
    reader.read_exact(&mut [0; 10]).unwrap();
    rows.segments(&rows_of(9, "new"));
    let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
    let fault = SegmentFault::of(&error).unwrap();
    assert_eq!(fault.reason, "replaced by a run while it was read");
    assert_eq!(fault.help, "repeat the command");
}

#[test]
fn a_row_that_is_no_row_is_named_by_segment_and_line() {
    let rows = Rows::new();
    let mut written = rows_of(5, "text");
    written[4] = json!("no row");
    rows.segments(&written);
    let read = each_row(&rows.path(), |_: BTreeMap<String, Value>| {
        Ok(std::ops::ControlFlow::Continue(()))
    });
    let text = read.unwrap_err().to_string();
    let expected = format!(
        "{}, line 2: row 5: ",
        rows.file("00002.jsonl.zst").display()
    );
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn an_index_that_cannot_be_used_is_named() {
    let rows = Rows::new();
    rows.segments(&rows_of(4, "text"));
    for (index, words) in [
        ("{}", "not an index"),
        (
            r#"{"version": 2, "segments": []}"#,
            "version 2 of the index",
        ),
    ] {
        fs::write(rows.file(INDEX), index).unwrap();
        let fault = rows.fault();
        assert_eq!(fault.path, rows.file(INDEX));
        assert!(fault.reason.contains(words), "{fault}");
    }
}

#[test]
fn only_an_index_of_rows_is_one() {
    for (path, form) in [
        ("runs/a/conversations/index.json", RowForm::Segments),
        ("runs/a/scores/index.json", RowForm::Segments),
        ("runs/a/conversations.json", RowForm::Plain),
        ("prompts/index.json", RowForm::Plain),
        ("index.json", RowForm::Plain),
    ] {
        assert_eq!(RowForm::of(Path::new(path)), form, "{path}");
    }
    let plain = plain_path(Path::new("runs/a/scores/index.json"));
    assert_eq!(plain, Path::new("runs/a/scores.json"));
}

#[test]
fn many_rows_are_remarked_on() {
    assert_eq!(suggest_segments(100_000, RowForm::Plain), None);
    assert_eq!(suggest_segments(1_000_000, RowForm::Segments), None);
    let note = suggest_segments(100_001, RowForm::Plain).unwrap();
    assert!(note.starts_with("100,001 rows"), "{note}");
    assert!(note.contains("`tree.segments: true`"), "{note}");
}
