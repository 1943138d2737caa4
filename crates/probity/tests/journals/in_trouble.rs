//! Runs with faults, and runs that are stopped.

use journal::check::Verdict;
use llm_client::BudgetLimits;
use probity::{RunOptions, RunOutcome};
use schema::EventKind;
use scripted_llm::{Fault, FaultKind, Role, ScriptedServer};

use crate::{ALL_FILES, assert_passes, assert_rebuilds, common::Bench, journal, lines, of};

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
async fn a_spent_budget_is_reported_once_a_target() {
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
