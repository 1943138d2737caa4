//! Runs that reach their end.

use std::sync::Arc;

use journal::{Form, check::Verdict};
use llm_client::Price;
use probity::{JournalEnd, Phase, RunOptions, RunOutcome};
use schema::EventKind;
use serde_json::Value;

use crate::{
    ALL_FILES, assert_passes, assert_rebuilds,
    common::{self, Bench},
    journal, lines, of,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run_records_all_and_passes() {
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
        cache_write: None,
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
            name: "Kind".into(),
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
