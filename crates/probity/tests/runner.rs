//! A run whose rows run elsewhere: the same tree and journal, and no reply that is paid twice.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use async_trait::async_trait;
use common::Bench;
use engine::unit::{
    KeepsNothing, RunnerError, Unit, UnitEnd, UnitReplies, play_unit, playing_session,
};
use llm_client::{
    BudgetLimits, CallEnd, HttpClient, HttpOptions, ModelFactory, Price, RetryPolicy, Stop,
};
use probity::{Phases, RunOptions, RunOutcome, Runner, standard_phases};
use schema::EventKind;
use scripted_llm::{Fault, ScriptedServer, Task};
use serde_json::Value;

/// Plays units with models of its own, as a process elsewhere does: all that passes between the two is text.
struct Elsewhere {
    phases: Phases,
    /// Stops the models there.
    stop: Stop,
    /// Stops the run when so many units have ended.
    ends_run: Option<(u64, Stop)>,
    units: AtomicU64,
    ended: Mutex<Vec<String>>,
    refuses: bool,
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Elsewhere {
    fn of(bench: &Bench) -> Self {
        let quick = RetryPolicy {
            base_delay: std::time::Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let stop = Stop::new();
        let factory = ModelFactory::new(HttpClient::new(HttpOptions::default()))
            .with_stop(stop.clone())
            .with_retries(quick);
        let models = bench.models(&playing_session(factory));
        Self {
            phases: standard_phases(models, bench.settings.clone()).unwrap(),
            stop,
            ends_run: None,
            units: AtomicU64::new(0),
            ended: Mutex::default(),
            refuses: false,
        }
    }
}

#[async_trait]
impl Runner for Elsewhere {
    async fn run(&self, unit: &Unit, known: Vec<CallEnd>) -> Result<UnitEnd, RunnerError> {
        let units = self.units.fetch_add(1, Relaxed) + 1;
        if self.refuses {
            return Err(RunnerError::Failed("no machine plays it".to_owned()));
        }
        if let Some((most, stop)) = &self.ends_run
            && units >= *most
        {
            self.stop.stop();
            stop.stop();
        }
        let replies = UnitReplies {
            known: read_again(&known),
            keeper: Arc::new(KeepsNothing),
        };
        let end = play_unit(&self.phases, unit, replies).await;
        Ok(read_again(
            &end.map_err(|error| RunnerError::Failed(error.to_string()))?,
        ))
    }

    fn ended(&self, unit: &Unit) {
        self.ended.lock().unwrap().push(unit.name());
    }
}

fn read_again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// The lines of the newest journal by message, without what differs between two runs.
fn events(bench: &Bench) -> BTreeMap<String, u64> {
    let runs = bench.layout().run("");
    let mut folders: Vec<_> = fs::read_dir(runs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    let mut events = BTreeMap::new();
    for file in fs::read_dir(folders.last().unwrap()).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        for line in fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let key = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let message = key("message");
            // How fast the endpoint is called is known where it is called.
            if message.contains("pace") || message == EventKind::FinishedRun {
                continue;
            }
            // Which rows meet the failures of the server is chance.
            let event = match message.contains("call") {
                true => message,
                false => format!(
                    "{message} {} {} {}",
                    key("test"),
                    key("prompt_id"),
                    key("sut")
                ),
            };
            *events.entry(event).or_default() += 1;
        }
    }
    events
}

async fn flaky() -> ScriptedServer {
    let fault = Fault::status(503).unwrap().task(Task::Judge).first(3);
    let server = ScriptedServer::builder().record_bodies(true).fault(fault);
    server.start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_run_elsewhere_give_the_same_tree_and_the_same_journal() {
    let here = Bench::on(flaky().await);
    here.run(RunOptions::default()).await;
    let mut there = Bench::on(flaky().await);
    let elsewhere = Arc::new(Elsewhere::of(&there));
    there.runner = Some(Arc::clone(&elsewhere) as _);
    let report = there.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    assert_eq!(there.server.stats().requests, here.server.stats().requests);
    let trees = (here.tree(), there.tree());
    assert_eq!(
        trees.0.keys().collect::<Vec<_>>(),
        trees.1.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &trees.0 {
        assert!(trees.1[name] == *bytes, "{name} differs");
    }
    assert_eq!(events(&there), events(&here));
    let rows = here
        .json("flattery/scenarios.json")
        .as_array()
        .unwrap()
        .len()
        * 2;
    assert_eq!(elsewhere.units.load(Relaxed), rows as u64);
    assert_eq!(elsewhere.ended.lock().unwrap().len(), rows);

    // All replies are in the cache of the run.
    let asked = there.server.stats().requests;
    there.run(RunOptions::default()).await;
    assert_eq!(there.server.stats().requests, asked);
    assert_eq!(elsewhere.units.load(Relaxed), rows as u64);
    assert!(there.tree() == trees.1, "the tree is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_goes_on_without_a_call_that_was_made() {
    let here = Bench::new().await;
    here.run(RunOptions::default()).await;
    let mut there = Bench::new().await;
    let mut elsewhere = Elsewhere::of(&there);
    elsewhere.ends_run = Some((5, there.stop.clone()));
    there.runner = Some(Arc::new(elsewhere));
    let report = there.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Interrupted);
    let asked = there.server.stats().requests;
    assert!(asked < here.server.stats().requests, "{asked}");
    there.stop = Stop::new();
    there.runner = Some(Arc::new(Elsewhere::of(&there)));
    let report = there.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    assert_eq!(there.server.stats().requests, here.server.stats().requests);
    for (name, bytes) in here.tree() {
        assert!(there.tree()[&name] == bytes, "{name} differs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_did_not_run_is_a_row_with_an_error() {
    let mut there = Bench::new().await;
    let mut elsewhere = Elsewhere::of(&there);
    elsewhere.refuses = true;
    there.runner = Some(Arc::new(elsewhere));
    let report = there.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::FailedRows);
    let rows = there.json("flattery/runs/careful/conversations.json");
    let error = rows[0]["error"].as_str().unwrap();
    assert!(error.contains("no machine plays it"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_counts_what_is_spent_elsewhere() {
    let price = Price {
        input: 1.0,
        output: 1.0,
        cached_input: None,
        cache_write: None,
    };
    let mut there = Bench::new().await;
    there.price = Some(price);
    let generating = RunOptions {
        phases: [probity::Phase::GenMetrics, probity::Phase::GenScenarios].into(),
        ..RunOptions::default()
    };
    there.run(generating).await;
    there.budget = BudgetLimits {
        dollars: None,
        tokens: Some(4_000),
    };
    let elsewhere = Arc::new(Elsewhere::of(&there));
    there.runner = Some(Arc::clone(&elsewhere) as _);
    let report = there.run(RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::FailedRows, "{report:#?}");
    let rows = there
        .json("flattery/scenarios.json")
        .as_array()
        .unwrap()
        .len()
        * 2;
    let units = elsewhere.units.load(Relaxed);
    assert!(0 < units && units < rows as u64, "{units} of {rows}");
}
