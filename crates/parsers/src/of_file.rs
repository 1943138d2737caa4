//! Parsers of files that are read piece by piece.

use std::{
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use interop::import::Format;
use located::json::JsonRows;
use sha2::{Digest, Sha256};
use store::{INDEX_VERSION, Segment, SegmentIndex, open_rows};

/// All that reads a journal.
pub(crate) fn journal(path: &Path) {
    drop(journal::check::check(path));
    let mut stats = journal::StatsBuilder::default();
    if let Ok(mut reader) = journal::JournalReader::open(path) {
        while let Some(line) = reader.next_line() {
            line.iter().for_each(|line| stats.push(line));
        }
    }
    drop(stats.finish());
    if let Ok(reader) = journal::JournalReader::open(path) {
        let mut replay = journal::Replay::new(reader);
        while replay.next_event().is_some() {}
        replay.each_open_item().for_each(drop);
    }
}

/// The file at `path`, first as an index of segments, then as a segment that its index describes as it is. `folder` is made and removed.
pub(crate) fn segments(path: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    drop(SegmentIndex::read(path));
    let segment = |rows| Segment {
        file: "00001.jsonl.zst".to_owned(),
        rows,
        first_row: 1,
        bytes: bytes.len() as u64,
        sha256: schema::text::hex(&Sha256::digest(bytes)),
    };
    fs::create_dir_all(folder)?;
    fs::write(folder.join("00001.jsonl.zst"), bytes)?;
    for rows in [1, 2] {
        let index = SegmentIndex {
            version: INDEX_VERSION,
            segments: vec![segment(rows)],
        };
        let path = folder.join("index.json");
        fs::write(&path, serde_json::to_vec(&index)?)?;
        read_rows(&path);
    }
    fs::remove_dir_all(folder)
}

fn read_rows(index: &Path) {
    let Ok(rows) = open_rows(index) else { return };
    let mut rows = JsonRows::new(rows);
    while let Ok(Some(_)) = rows.next_row() {}
}

/// What `replay` reads of a cassette.
pub(crate) fn cassette(path: &Path, inputs: &PathBuf) {
    let Ok(cassette) = probity::Cassette::open(path) else {
        return;
    };
    drop(cassette.copy_inputs(inputs));
    drop(cassette.player());
    drop(cassette.differences(inputs));
    let _ = fs::remove_dir_all(inputs);
}

/// Conversations of one format.
pub(crate) fn conversations(format: Format, path: &Path) {
    drop(interop::import::source(format, path));
    drop(interop::import::read(format, path, &mut |found| {
        drop(found);
        ControlFlow::Continue(())
    }));
}
