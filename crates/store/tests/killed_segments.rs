//! Rows whose writer is killed: what is read is always one whole generation of rows, in whatever form they are.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use std::{
    collections::BTreeSet,
    env,
    io::{BufRead, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use schema::ModelId;
use serde_json::{Value, json};
use store::{BenchmarkDir, Layout, RowForm, RowPosition, Spool, each_row, remove_unfinished};

const CHILD_DIR: &str = "PROBITY_TEST_SEGMENTS_DIR";
/// More than one segment has.
const ROWS: u32 = 10_005;
const KILLS: u64 = 12;

fn benchmark(folder: &Path) -> BenchmarkDir {
    Layout::new(folder).benchmark("b").unwrap()
}

fn target() -> ModelId {
    ModelId::new("a").unwrap()
}

fn write(dir: &BenchmarkDir, generation: u64, form: RowForm) {
    let spool = Spool::create(&dir.root().join("spool")).unwrap();
    for scenario in 0..ROWS {
        let position = RowPosition {
            scenario,
            ..RowPosition::default()
        };
        let row = json!({"id": format!("s{scenario}"), "metric_id": "m", "generation": generation});
        spool.push(position, &row).unwrap();
    }
    let benchmark = schema::Benchmark::default();
    dir.compose_conversations(spool, form, &benchmark, &target())
        .unwrap();
}

/// Not a test of its own: the process that the test starts and kills. It writes one generation after the other: twice as segments, once plain.
#[test]
fn child_that_is_killed() {
    let Some(folder) = env::var_os(CHILD_DIR).map(PathBuf::from) else {
        return;
    };
    let dir = benchmark(&folder);
    let first = generation(&dir).map_or(0, |last| last + 1);
    for generation in first.. {
        write(&dir, generation, RowForm::segments_if(generation % 3 != 2));
        println!("\nwrote {generation}");
    }
}

/// The generation of all rows; `None` where there are none.
fn generation(dir: &BenchmarkDir) -> Option<u64> {
    let path = dir.target(&target()).unwrap().conversations();
    if !path.exists() {
        return None;
    }
    let (mut rows, mut generations) = (0, BTreeSet::new());
    each_row(&path, |row: Value| {
        rows += 1;
        generations.insert(row["generation"].as_u64());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(rows, ROWS);
    assert_eq!(generations.len(), 1, "{generations:?}");
    generations.pop_first().flatten()
}

#[test]
fn a_killed_writer_leaves_whole_rows() {
    let folder = tempfile::tempdir().unwrap();
    let dir = benchmark(folder.path());
    std::fs::create_dir_all(dir.root()).unwrap();
    let mut last = None;
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env(CHILD_DIR, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wrote = lines
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("wrote ")?.parse::<u64>().ok());
        let written = wrote.next().unwrap();
        // Somewhere within the next generation, which takes some tenths of a second.
        thread::sleep(Duration::from_millis(kill * 67 % 800));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = generation(&dir);
        assert!(
            found >= Some(written),
            "{found:?} after {written} was written"
        );
        assert!(found > last, "{found:?} after {last:?}");
        last = found;
    }
    // The next writer leaves nothing of the killed ones.
    remove_unfinished(&dir);
    write(&dir, 0, RowForm::Segments);
    let rows = dir.runs().join("a");
    let files = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let expected = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(files(&rows), expected(&["conversations"]));
    assert_eq!(
        files(&rows.join("conversations")),
        expected(&["00001.jsonl.zst", "00002.jsonl.zst", "index.json"])
    );
}
