//! Every run leaves a journal that passes its check, and from which the run's files can be rebuilt.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod common;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use common::Bench;
use journal::{
    Form,
    check::{Outcome, Verdict},
};
use llm_client::{BudgetLimits, Price};
use probity::{
    JournalEnd, Journals, Observer, Phase, Progress, ReportRequest, RunOptions, RunOutcome,
    RunReport, read_report, rebuild,
};
use schema::EventKind;
use scripted_llm::{Fault, FaultKind, Role, ScriptedServer};
use serde_json::Value;

fn journal(report: &RunReport) -> &JournalEnd {
    report.benchmarks[0].journal.as_ref().unwrap()
}

fn lines(end: &JournalEnd) -> Vec<Value> {
    let text = fs::read_to_string(&end.path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of(lines: &[Value], message: EventKind) -> Vec<&Value> {
    let of = |line: &&Value| line["message"] == message;
    lines.iter().filter(of).collect()
}

fn assert_passes(end: &JournalEnd) {
    let failed: Vec<_> = end
        .check
        .rows
        .iter()
        .filter(|row| row.outcome == Outcome::Failed)
        .collect();
    assert_eq!(
        end.check.verdict(),
        Verdict::Passed,
        "{}: {failed:#?}",
        end.verdict()
    );
    assert_eq!(end.trouble, None);
}

/// Rebuilds the journal, and compares every file with that of the tree. Returns their names.
fn assert_rebuilds(bench: &Bench, end: &JournalEnd) -> Vec<String> {
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(&end.path, out.path()).unwrap();
    assert_eq!(rebuilt.benchmark, "flattery");
    assert_eq!(rebuilt.notes, Vec::<String>::new());
    let name = |path: &Path| {
        let name = path.strip_prefix(out.path()).unwrap();
        name.to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = rebuilt.files.iter().map(|path| name(path)).collect();
    names.sort();
    for name in &names {
        let have = fs::read_to_string(out.path().join(name)).unwrap();
        let wanted = bench.read(&format!("flattery/{name}"));
        if have != wanted {
            let at = have.lines().zip(wanted.lines()).position(|(a, b)| a != b);
            let at = at.unwrap_or_default();
            let around = |text: &str| {
                text.lines()
                    .skip(at.saturating_sub(3))
                    .take(8)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            panic!(
                "{name}, line {}:\n{}\n--- wanted\n{}",
                at + 1,
                around(&have),
                around(&wanted)
            );
        }
    }
    names
}

const ALL_FILES: [&str; 8] = [
    "cost.json",
    "results.json",
    "runs/agreeable/conversations.json",
    "runs/agreeable/cost.json",
    "runs/agreeable/scores.json",
    "runs/careful/conversations.json",
    "runs/careful/cost.json",
    "runs/careful/scores.json",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run_tells_all_and_passes() {
    let bench = Bench::new().await;
    let report = bench.run(RunOptions::default()).await;
    let end = journal(&report);
    assert_passes(end);
    assert_eq!(assert_rebuilds(&bench, end), ALL_FILES);

    let lines = lines(end);
    for (message, count) in [
        (EventKind::StartingJournal, 1),
        (EventKind::StartingRun, 1),
        (EventKind::RunningPipeline, 1),
        (EventKind::FinishedPipeline, 1),
        (EventKind::FinishedRun, 1),
        (EventKind::BenchmarkScored, 2),
        (EventKind::CacheInfo, 1),
        (EventKind::ClosingJournal, 1),
        (EventKind::ExceptionStoppingRun, 0),
        (EventKind::ResumingRun, 0),
    ] {
        assert_eq!(of(&lines, message).len(), count, "{message}");
    }
    let start = of(&lines, EventKind::StartingRun)[0];
    let tests = start["tests"].as_array().unwrap();
    assert_eq!(start["suts"], serde_json::json!(["agreeable", "careful"]));
    for message in [
        EventKind::HazardInfo,
        EventKind::TestInfo,
        EventKind::UsingTestItems,
    ] {
        assert_eq!(of(&lines, message).len(), tests.len(), "{message}");
    }
    for message in [EventKind::TestScored, EventKind::HazardScored] {
        assert_eq!(of(&lines, message).len(), 2 * tests.len(), "{message}");
    }
    let rows = bench.json("flattery/scenarios.json");
    let items = rows.as_array().unwrap().len() * 2;
    for message in [
        EventKind::QueuingItem,
        EventKind::ConversationFinished,
        EventKind::ScoreFinished,
        EventKind::ItemFinished,
    ] {
        assert_eq!(of(&lines, message).len(), items, "{message}");
    }
    let finished = of(&lines, EventKind::FinishedPipeline)[0];
    assert_eq!(finished["total_finished"], items);
    let cache = of(&lines, EventKind::CacheInfo)[0];
    assert_eq!(cache["start_count"], 0);
    assert_eq!(cache["end_count"], bench.server.stats().answered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_the_cache_passes_too() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let lines = lines(journal(&report));
    assert!(of(&lines, EventKind::FetchedSutTurn).is_empty());
    assert!(of(&lines, EventKind::FetchedSutResponse).is_empty());
    assert!(
        of(&lines, EventKind::ResumingRun).is_empty(),
        "nothing was missing"
    );
    assert!(!of(&lines, EventKind::UsingCachedAnnotatorResponse).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn dollars_sum_up_to_the_last_decimal() {
    let mut bench = Bench::new().await;
    bench.price = Some(Price {
        input: 0.137,
        output: 1.013,
        cached_input: None,
    });
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let cost = bench.json("flattery/runs/careful/cost.json");
    assert!(cost["simulate"]["cost"].as_f64().unwrap() > 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_journal_is_as_good() {
    let mut bench = Bench::new().await;
    bench.form = Form::Compressed;
    let report = bench.run(RunOptions::default()).await;
    let end = journal(&report);
    assert!(end.path.to_string_lossy().ends_with(".jsonl.zst"));
    assert_passes(end);
    assert_eq!(assert_rebuilds(&bench, end), ALL_FILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_samples_are_items_of_their_own() {
    let bench = Bench::new().await;
    let options = RunOptions {
        samples: 3,
        ..RunOptions::default()
    };
    let report = bench.run(options).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let lines = lines(journal(&report));
    let second = |line: &&&Value| line["prompt_id"].as_str().unwrap().ends_with("__s2");
    let queued = of(&lines, EventKind::QueuingItem);
    assert_eq!(queued.iter().filter(second).count() * 3, queued.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_percent_of_faults_of_each_kind_leave_a_journal_that_passes() {
    for kind in [
        "400",
        "401",
        "429; retry-after=0.01",
        "500",
        "503",
        "html",
        "error-body",
        "truncated-json",
        "no-choices",
        "null-content",
        "empty-content",
        "no-usage",
        "reset",
        "slow:5",
        "prose",
        "fenced",
        "think",
        "wrong-type",
        "missing-key",
    ] {
        let mut builder = ScriptedServer::builder();
        for task in ["user_turn", "target_turn", "judge"] {
            let fault = format!("{kind}; share=0.1; task={task}").parse::<Fault>();
            builder = builder.fault(fault.unwrap_or_else(|error| panic!("{kind}: {error}")));
        }
        let bench = Bench::on(builder.start().await.unwrap());
        let report = bench.run(RunOptions::default()).await;
        let end = journal(&report);
        assert_eq!(
            end.check.verdict(),
            Verdict::Passed,
            "{kind}: {}",
            end.verdict()
        );
        assert_eq!(assert_rebuilds(&bench, end), ALL_FILES, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_down_fails_its_items_and_no_rule() {
    let mut bench = Bench::new().await;
    bench
        .base_urls
        .insert("careful", "http://127.0.0.1:1/v1".to_owned());
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let of_first = lines(journal(&report));
    assert!(!of(&of_first, EventKind::SutException).is_empty());
    for line in of(&of_first, EventKind::TestScored) {
        let none = line["sut"] == "careful";
        assert_eq!(line["items_finished"] == 0, none, "{line}");
    }

    bench.base_urls.clear();
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let lines = lines(journal(&report));
    assert_eq!(
        of(&lines, EventKind::ResumingRun)[0]["outcome"],
        "failed_rows"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_without_a_verdict_abstains_in_the_journal() {
    let prose = Fault::new(FaultKind::Prose).role(Role::Judge);
    let server = ScriptedServer::builder()
        .fault(prose)
        .start()
        .await
        .unwrap();
    let bench = Bench::on(server);
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    let lines = lines(journal(&report));
    let queued = of(&lines, EventKind::QueuingItem).len();
    assert_eq!(of(&lines, EventKind::JudgeAbstained).len(), queued);
    assert_eq!(of(&lines, EventKind::ItemFailed).len(), queued);
    assert!(of(&lines, EventKind::MeasuredItemQuality).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn judging_alone_passes_and_takes_the_replies_from_the_tree() {
    let bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    let options = RunOptions {
        phases: [Phase::Evaluate].into(),
        ..RunOptions::default()
    };
    let report = bench.run(options).await;
    assert_passes(journal(&report));
    assert_eq!(
        assert_rebuilds(&bench, journal(&report)),
        [
            "cost.json",
            "runs/agreeable/cost.json",
            "runs/agreeable/scores.json",
            "runs/careful/cost.json",
            "runs/careful/scores.json"
        ]
    );
    let lines = lines(journal(&report));
    let kept = of(&lines, EventKind::UsingCachedSutTurn);
    assert!(!kept.is_empty());
    assert!(
        kept.iter()
            .all(|line| line["source"] == "conversations.json")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_phases_one_by_one_leave_journals_without_a_failed_rule() {
    let bench = Bench::new().await;
    for phase in Phase::ALL {
        let options = RunOptions {
            phases: [phase].into(),
            ..RunOptions::default()
        };
        let report = bench.run(options).await;
        let end = journal(&report);
        assert_ne!(
            end.check.verdict(),
            Verdict::Failed,
            "{phase:?}: {}",
            end.verdict()
        );
        assert_rebuilds(&bench, end);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_of_an_earlier_run_stays_in_the_results() {
    let mut bench = Bench::new().await;
    bench.run(RunOptions::default()).await;
    bench.targets.truncate(1);
    let report = bench.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    let files = assert_rebuilds(&bench, journal(&report));
    assert!(files.iter().all(|name| !name.contains("careful")));
    let lines = lines(journal(&report));
    assert_eq!(of(&lines, EventKind::KeptResults)[0]["sut"], "careful");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_says_so_and_the_next_one_goes_on() {
    let bench = Bench::new().await;
    bench.server.hold_after(40);
    let pipeline = bench.pipeline(RunOptions::default());
    let run = tokio::spawn(async move { pipeline.run(&["flattery".to_owned()]).await });
    bench.server.wait_held(1).await;
    bench.stop.stop();
    bench.server.release();
    let report = run.await.unwrap().unwrap();
    let end = journal(&report);
    let of_first = lines(end);
    assert_eq!(of(&of_first, EventKind::ExceptionStoppingRun).len(), 1);
    assert_ne!(end.check.verdict(), Verdict::Failed, "{}", end.verdict());
    assert_rebuilds(&bench, end);

    let again = Bench {
        stop: llm_client::Stop::new(),
        ..bench
    };
    let report = again.run(RunOptions::default()).await;
    assert_passes(journal(&report));
    assert_eq!(assert_rebuilds(&again, journal(&report)), ALL_FILES);
    let lines = lines(journal(&report));
    assert_eq!(
        of(&lines, EventKind::ResumingRun)[0]["outcome"],
        "interrupted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_is_told_once_a_target() {
    let mut bench = Bench::new().await;
    bench.budget = BudgetLimits {
        tokens: Some(12_000),
        dollars: None,
    };
    let report = bench.run(RunOptions::default()).await;
    assert_ne!(report.outcome(), RunOutcome::Complete);
    let end = journal(&report);
    assert_ne!(end.check.verdict(), Verdict::Failed, "{}", end.verdict());
    assert_rebuilds(&bench, end);
    let lines = lines(end);
    assert!((1..=2).contains(&of(&lines, EventKind::BudgetReached).len()));
    assert!(!of(&lines, EventKind::CallNotMade).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_benchmark_has_a_journal_of_its_own() {
    let bench = Bench::new().await;
    bench.write(
        "other/benchmark.yaml",
        &common::YAML.replace("flattery", "other"),
    );
    let names = ["flattery".to_owned(), "other".to_owned()];
    let report = bench
        .pipeline(RunOptions::default())
        .run(&names)
        .await
        .unwrap();
    let ends: Vec<&JournalEnd> = report
        .benchmarks
        .iter()
        .map(|benchmark| benchmark.journal.as_ref().unwrap())
        .collect();
    assert_ne!(ends[0].path, ends[1].path);
    assert_eq!(ends[0].path.parent(), ends[1].path.parent());
    assert!(ends[0].path.to_string_lossy().contains(&report.run_id));
    for (end, name) in ends.iter().zip(names) {
        assert_passes(end);
        let lines = lines(end);
        let start = of(&lines, EventKind::StartingRun)[0];
        assert_eq!(start["benchmarks"], serde_json::json!([name]));
        let file = end.path.file_name().unwrap().to_string_lossy();
        assert!(file.contains(start["run_id"].as_str().unwrap()));
    }
}

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

/// Passes every sample that has a reply, without a judge and without an event in the journal.
struct Kind(Vec<schema::Metric>);

#[async_trait::async_trait]
impl schema::Evaluator for Kind {
    async fn evaluate(
        &self,
        conversation: &schema::Conversation,
        _item: &schema::Item,
    ) -> Result<Vec<schema::Score>, schema::PhaseError> {
        let id = &conversation.scenario.metric_id;
        let metric = self.0.iter().find(|metric| metric.id == *id).unwrap();
        let present = metric.metric_type.passed(true);
        let mut score = schema::Score::judged(conversation, metric, present, "It will do.");
        score.extra.insert("mood".to_owned(), "kind".into());
        Ok(vec![score])
    }

    fn fingerprint(&self) -> schema::Fingerprint {
        schema::Fingerprint {
            name: "Kind",
            version: 1,
            settings: Value::Null,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluator_of_ones_own_need_not_know_of_the_journal() {
    let bench = Bench::new().await;
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        phases.evaluator = Box::new(|loaded| Ok(Arc::new(Kind(loaded.benchmark.metrics.clone()))));
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    assert_eq!(assert_rebuilds(&bench, journal(&report)), ALL_FILES);
    assert_passes(journal(&report));
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
