//! Journals that are read: compared with the tree, for a report, rebuilt.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use journal::check::{Outcome, Verdict};
use probity::{Journals, Observer, Progress, ReportRequest, RunOptions, read_report, rebuild};
use schema::EventKind;

use crate::{assert_passes, common::Bench, journal};

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_was_changed_fails_the_rules_between_journal_and_tree() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    let path = &journal(&report).path;
    let failed = |name: &str, from: &str, to: &str| {
        let before = bench.read(name);
        assert!(before.contains(from), "{name} has no {from}");
        bench.write(name, &before.replacen(from, to, 1));
        let report = probity::check_journal(path, Some(&bench.layout()));
        bench.write(name, &before);
        let rows = report.rows.iter();
        rows.filter(|row| row.outcome == Outcome::Failed)
            .map(|row| row.rule.to_string())
            .collect::<Vec<_>>()
    };
    let scores = "flattery/runs/careful/scores.json";
    assert_eq!(
        failed(scores, "\"present\": false", "\"present\": true"),
        ["ScoreRowsHaveExchanges"]
    );
    assert_eq!(
        failed(scores, "\"id\": \"m01_s001", "\"id\": \"m01_s009"),
        ["ScoreRowsHaveExchanges"]
    );
    let conversations = "flattery/runs/careful/conversations.json";
    assert_eq!(
        failed(
            conversations,
            "\"role\": \"assistant\"",
            "\"role\": \"user\""
        ),
        ["ConversationsHaveExchanges"]
    );
    assert_eq!(
        failed(
            "flattery/runs/careful/cost.json",
            "\"input_tokens\": ",
            "\"input_tokens\": 1"
        ),
        ["CostsAreSumsOfCalls"]
    );
    assert_eq!(
        failed(
            "flattery/cost.json",
            "\"output_tokens\": ",
            "\"output_tokens\": 1"
        ),
        ["CostsAreSumsOfCalls"]
    );
    assert_eq!(
        failed("flattery/results.json", "\"n_passed\": ", "\"n_passed\": 1"),
        ["ResultsCountItems"]
    );
    fs::remove_file(bench.path(scores)).unwrap();
    let report = probity::check_journal(path, Some(&bench.layout()));
    assert_eq!(report.verdict(), Verdict::Failed);
}

/// The journals that a run said it reads, with their lengths.
#[derive(Default)]
struct JournalsRead(Mutex<Vec<(PathBuf, u64)>>);

impl Observer for JournalsRead {
    fn on(&self, progress: &Progress<'_>) {
        if let Progress::ReadingJournal { path, bytes } = progress {
            self.0.lock().unwrap().push((path.to_path_buf(), *bytes));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_says_that_it_reads_its_journal() {
    let read = Arc::new(JournalsRead::default());
    let mut bench = Bench::new().await;
    bench.observer = Arc::clone(&read) as _;
    let report = bench.run(RunOptions::default()).await;
    let path = &journal(&report).path;
    let length = fs::metadata(path).unwrap().len();
    assert_eq!(*read.0.lock().unwrap(), [(path.clone(), length)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_of_a_run_takes_what_the_check_has_read() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    let end = journal(&report);
    assert_passes(end);
    let page = |journals: &Journals| {
        let request = ReportRequest {
            names: vec!["flattery".to_owned()],
            journals: journals.clone(),
            ..ReportRequest::default()
        };
        let (report, _) = read_report(&bench.layout(), &request).unwrap();
        let path = bench.folder.path().join("report.html");
        report.write_file(&path).unwrap();
        fs::read_to_string(path).unwrap()
    };
    let of_file = page(&Journals::default());
    // Other lines after the start of the run, in the same file: nobody reads them, for the check has read the journal for the report too.
    let mut text = fs::read(&end.path).unwrap();
    let start = EventKind::StartingRun.message().as_bytes();
    let start = text.windows(start.len()).position(|part| part == start);
    let mut lines = text[start.unwrap()..].iter_mut();
    let _ = lines.find(|byte| **byte == b'\n');
    lines
        .filter(|byte| **byte != b'\n')
        .for_each(|byte| *byte = b'x');
    let mut file = fs::File::options().write(true).open(&end.path).unwrap();
    file.write_all(&text).unwrap();
    drop(file);
    assert!(page(&bench.journals) == of_file, "{of_file}");
    assert!(page(&Journals::default()) != of_file, "{of_file}");
}

#[test]
fn a_journal_without_rows_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journal/reference");
    let error = rebuild(&reference.join("real-modelbench.jsonl"), folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("not written by Probity"),
        "{error}"
    );
    let error = rebuild(
        &reference.join("real-modelbench-aborted.jsonl"),
        folder.path(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("no `starting run`"), "{error}");
    let error = rebuild(
        &reference.join("real-modelbench-calibration.jsonl"),
        folder.path(),
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("line 2: it is a calibration"),
        "{error}"
    );
    let error = rebuild(Path::new("nowhere.jsonl"), folder.path()).unwrap_err();
    assert!(error.to_string().contains("nowhere.jsonl"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_broken_further_down_leaves_nothing() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    let text = fs::read_to_string(&journal(&report).path).unwrap();
    let at = text.rfind("\"message\":\"item finished\"").unwrap();
    let line = text[..at].rfind('\n').unwrap() + 1;
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.jsonl");
    fs::write(
        &broken,
        format!("{}no event\n{}", &text[..line], &text[line..]),
    )
    .unwrap();

    let out = folder.path().join("new");
    let error = rebuild(&broken, &out).unwrap_err().to_string();
    assert!(error.contains("broken.jsonl, line "), "{error}");
    assert!(!out.exists());
    // A folder that was there stays, as it was.
    fs::create_dir(&out).unwrap();
    rebuild(&broken, &out).unwrap_err();
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}
