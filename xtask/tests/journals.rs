//! The command's runs leave journals that pass their check, and from which the tree can be written anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use common::Ground;
use journal::{JournalReader, check::Verdict};
use pipeline::{Layout, check_journal, rebuild};
use scripted_llm::ScriptedServer;

/// The journals of all runs, oldest first.
fn journals(ground: &Ground) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for run in fs::read_dir(ground.path(".probity/runs")).unwrap() {
        for file in fs::read_dir(run.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("journal-") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

fn messages(path: &Path) -> Vec<String> {
    let reader = JournalReader::open(path).unwrap();
    reader.map(|entry| entry.unwrap().message).collect()
}

fn assert_passes(ground: &Ground, journal: &Path) {
    let layout = Layout::new(ground.path("benchmarks"));
    let report = check_journal(journal, Some(&layout));
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    let rules: Vec<&str> = report.rows.iter().map(|row| &*row.rule).collect();
    assert!(rules.contains(&"ScoreRowsHaveExchanges"), "{rules:?}");
}

/// Rebuilds the journal and compares what came of it with the tree in `tree`. Gives how many files there are.
fn assert_rebuilds(journal: &Path, tree: &Path) -> usize {
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(journal, out.path()).unwrap();
    for path in &rebuilt.files {
        let name = path.strip_prefix(out.path()).unwrap();
        let (have, wanted) = (fs::read(path).unwrap(), fs::read(tree.join(name)).unwrap());
        assert!(have == wanted, "{} differs", name.display());
    }
    rebuilt.files.len()
}

#[test]
fn the_demonstration_can_be_written_anew_from_its_journal() {
    let ground = Ground::new();
    let ran = ground.run(&["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the journal passes all"), "{}", ran.err);
    let journals = journals(&ground);
    let [journal] = journals.as_slice() else {
        panic!("{journals:?}");
    };
    assert_passes(&ground, journal);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden/sycophancy");
    assert_eq!(assert_rebuilds(journal, &golden), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_leaves_a_journal_that_reads_and_the_next_one_is_whole() {
    let server = ScriptedServer::start().await.unwrap();
    let ground = Ground::new();
    ground.served_by(&server, "");
    server.hold_after(60);
    let mut child = ground
        .command(&["run", "flattery", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let written = |journals: &[PathBuf]| {
        let last = journals.last();
        last.is_some_and(|path| {
            messages(path)
                .iter()
                .any(|m| m == "translated sut response")
        })
    };
    // What is written is there within a second; the calls that are held do not end.
    while server.held() == 0 || !written(&journals(&ground)) {
        assert!(Instant::now() < deadline, "nothing was journaled");
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    server.release();

    let killed = journals(&ground).pop().unwrap();
    let report = check_journal(&killed, Some(&Layout::new(ground.path("benchmarks"))));
    assert!(
        matches!(report.verdict(), Verdict::NotCheckable(_)),
        "{report:#?}"
    );
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(&killed, out.path()).unwrap();
    assert!(
        rebuilt
            .notes
            .iter()
            .any(|note| note.contains("had not ended")),
        "{rebuilt:?}"
    );

    let ran = tokio::task::block_in_place(|| ground.run(&["run", "flattery"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let resumed = journals(&ground).pop().unwrap();
    assert_ne!(resumed, killed);
    assert_passes(&ground, &resumed);
    assert_eq!(
        assert_rebuilds(&resumed, &ground.path("benchmarks/flattery")),
        8
    );
    let messages = messages(&resumed);
    for message in [
        "resuming run",
        "using cached sut response",
        "fetched sut response",
    ] {
        assert!(messages.iter().any(|m| m == message), "{message}");
    }
}
