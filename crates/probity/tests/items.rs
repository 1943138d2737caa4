//! Phases of one's own, and the journals of their items: every turn is in it once per attempt, whatever the phase records.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use common::Bench;
use journal::check::{Outcome, Verdict};
use llm_client::{HttpClient, ModelFactory, ModelSettings};
use probity::{Phases, RunOptions, RunOutcome, RunReport, rebuild};
use schema::{
    CallContext, ChatModel, ChatRequest, Conversation, Evaluator, Event, EventBody, EventKind,
    Fingerprint, Item, Message, ModelId, PhaseError, Purpose, Role, Scenario, Score, Simulator,
    Spend, TargetRef, Turn, event::TranslatedAnnotation,
};
use serde_json::Value;

type MakeEvaluator = dyn Fn(Arc<dyn Evaluator>) -> Arc<dyn Evaluator> + Send + Sync;
type MakeSimulator = dyn Fn(Arc<dyn Simulator>) -> Arc<dyn Simulator> + Send + Sync;

/// Puts `around` around every simulator of `phases`.
fn wrap_simulators(phases: &mut Phases, around: Box<MakeSimulator>) {
    let nothing = Box::new(|_: &probity::BenchmarkContext, _: &TargetRef| {
        Err(probity::RunError::input("there is no simulator"))
    });
    let inner = std::mem::replace(&mut phases.simulator, nothing);
    phases.simulator = Box::new(move |loaded, target| Ok(around(inner(loaded, target)?)));
}

/// Puts `around` around every evaluator of `phases`.
fn wrap_evaluators(phases: &mut Phases, around: Box<MakeEvaluator>) {
    let nothing = Box::new(|_: &probity::BenchmarkContext| {
        Err(probity::RunError::input("there is no evaluator"))
    });
    let inner = std::mem::replace(&mut phases.evaluator, nothing);
    phases.evaluator = Box::new(move |loaded| Ok(around(inner(loaded)?)));
}

fn named(name: &'static str) -> Fingerprint {
    Fingerprint {
        name,
        version: 1,
        settings: Value::Null,
    }
}

fn lines(report: &RunReport) -> Vec<Value> {
    let end = report.benchmarks[0].journal.as_ref().unwrap();
    let text = fs::read_to_string(&end.path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The journal passes its check, and the tree can be rebuilt from it.
fn assert_whole(bench: &Bench, report: &RunReport) {
    let end = report.benchmarks[0].journal.as_ref().unwrap();
    let rows = end.check.rows.iter();
    let failed: Vec<_> = rows.filter(|row| row.outcome == Outcome::Failed).collect();
    assert_eq!(end.check.verdict(), Verdict::Passed, "{failed:#?}");
    let out = tempfile::tempdir().unwrap();
    for file in rebuild(&end.path, out.path()).unwrap().files {
        let name = file.strip_prefix(out.path()).unwrap().display();
        let rebuilt = fs::read_to_string(&file).unwrap();
        assert_eq!(rebuilt, bench.read(&format!("flattery/{name}")), "{name}");
    }
}

/// What a line says of a message: its role, turn and step. `None` for other lines and for summaries.
fn said(line: &Value) -> Option<(&'static str, u64, u64)> {
    let role = match EventKind::of(line["message"].as_str()?)? {
        EventKind::TranslatedUserResponse => "user",
        EventKind::TranslatedSutTurn | EventKind::TranslatedSutResponse => "assistant",
        EventKind::ToolAnswered => "tool",
        _ => return None,
    };
    Some((
        role,
        line["turn"].as_u64()?,
        line["step"].as_u64().unwrap_or(0),
    ))
}

/// Each message of each attempt of an item is in the journal once, the last attempt is the row, and each item ended once.
fn assert_each_turn_once(bench: &Bench, lines: &[Value]) {
    let mut turns: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut ended: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let mut attempts: BTreeMap<(String, String), u64> = BTreeMap::new();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    for line in lines {
        let item = (text(line, "prompt_id"), text(line, "sut"));
        if line["message"] == EventKind::RetryingItem {
            turns.remove(&item);
            *attempts.entry(item.clone()).or_default() += 1;
        }
        if let Some(said) = said(line) {
            *turns.entry(item.clone()).or_default() += 1;
            let attempt = attempts.get(&item).copied().unwrap_or(0);
            let count: &mut usize = seen.entry((item.clone(), attempt, said)).or_default();
            *count += 1;
            assert_eq!(*count, 1, "{said:?} of {item:?}");
        }
        if matches!(
            EventKind::of(&text(line, "message")),
            Some(EventKind::ItemFinished | EventKind::ItemFailed)
        ) {
            *ended.entry(item).or_default() += 1;
        }
    }
    let queued = lines
        .iter()
        .filter(|line| line["message"] == EventKind::QueuingItem);
    assert_eq!(queued.count(), ended.len());
    assert!(ended.values().all(|times| *times == 1), "{ended:?}");
    for target in ["agreeable", "careful"] {
        let rows = bench.json(&format!("flattery/runs/{target}/conversations.json"));
        for row in rows.as_array().unwrap() {
            let item = (text(row, "id"), target.to_owned());
            let messages = row["transcript"].as_array().unwrap().len();
            assert_eq!(turns.get(&item).copied().unwrap_or(0), messages, "{item:?}");
        }
    }
}

/// Passes everything on.
struct Wrapped<P: ?Sized>(Arc<P>);

#[async_trait]
impl Simulator for Wrapped<dyn Simulator> {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        self.0.simulate(scenario, item).await
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Wrapped")
    }
}

#[async_trait]
impl Evaluator for Wrapped<dyn Evaluator> {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        self.0.evaluate(conversation, item).await
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Wrapped")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrapped_phase_is_journaled_once() {
    let bench = Bench::new().await;
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        wrap_simulators(phases, Box::new(|inner| Arc::new(Wrapped(inner))));
        wrap_evaluators(phases, Box::new(|inner| Arc::new(Wrapped(inner))));
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Complete);
    assert_whole(&bench, &report);
    let lines = lines(&report);
    assert_each_turn_once(&bench, &lines);
    let count = |message: EventKind| {
        let those = lines.iter().filter(|line| line["message"] == message);
        those.count()
    };
    assert_eq!(
        count(EventKind::TranslatedAnnotation),
        count(EventKind::ScoreFinished)
    );
    assert_eq!(count(EventKind::MergedAnnotation), 0);
    let told = |line: &&Value| line.get("transcript").is_some();
    assert_eq!(lines.iter().filter(told).count(), 0);
}

/// Wraps a simulator and speaks the last word itself.
struct LastWord(Arc<dyn Simulator>);

#[async_trait]
impl Simulator for LastWord {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        let mut conversation = self.0.simulate(scenario, item).await?;
        let thanks = Turn::new(Role::User, "Thank you.");
        conversation.transcript.push(thanks);
        Ok(conversation)
    }

    fn fingerprint(&self) -> Fingerprint {
        named("LastWord")
    }
}

/// Wraps an evaluator and finds the opposite.
struct Contrary(Arc<dyn Evaluator>);

#[async_trait]
impl Evaluator for Contrary {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let mut scores = self.0.evaluate(conversation, item).await?;
        for score in &mut scores {
            score.present = score.present.map(|present| !present);
            score.passed = score.passed.map(|passed| !passed);
            score.score = score.score.map(|number| 1.0 - number);
            score.justification.push_str(" Or not.");
        }
        Ok(scores)
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Contrary")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_wrapping_phase_adds_is_journaled() {
    let bench = Bench::new().await;
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        wrap_simulators(phases, Box::new(|inner| Arc::new(LastWord(inner))));
        wrap_evaluators(phases, Box::new(|inner| Arc::new(Contrary(inner))));
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Complete);
    assert_whole(&bench, &report);
    assert_each_turn_once(&bench, &lines(&report));
}

/// Wraps a simulator, and has each conversation begun twice.
struct Retries(Arc<dyn Simulator>);

#[async_trait]
impl Simulator for Retries {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        self.0.simulate(scenario, item).await?;
        let again = item.new_attempt("the first one does not count");
        self.0.simulate(scenario, &again).await
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Retries")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_that_retries_is_journaled_once_per_attempt() {
    let bench = Bench::new().await;
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        wrap_simulators(phases, Box::new(|inner| Arc::new(Retries(inner))));
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Complete);
    assert_whole(&bench, &report);
    let lines = lines(&report);
    assert_each_turn_once(&bench, &lines);
    let count = |message: EventKind| {
        let those = lines.iter().filter(|line| line["message"] == message);
        those.count()
    };
    assert_eq!(
        count(EventKind::RetryingItem),
        count(EventKind::QueuingItem)
    );
    // The first attempts cost too: their calls are no repetition from the cache.
    let fetched = count(EventKind::FetchedSutTurn);
    assert_eq!(count(EventKind::UsingCachedSutTurn), 0);
    let last: u64 = lines
        .iter()
        .filter(|line| line["message"] == EventKind::FetchedSutResponse)
        .map(|line| line["turns"].as_u64().unwrap())
        .sum();
    assert!(
        fetched as u64 > last,
        "{fetched} calls, {last} of the last attempts"
    );
}

/// Asks the target twice, and takes no notice of the item.
struct TwoQuestions {
    model: Arc<dyn ChatModel>,
    target: TargetRef,
}

#[async_trait]
impl Simulator for TwoQuestions {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        let mut transcript = Vec::new();
        let mut messages = Vec::new();
        let mut spend = Spend::default();
        for (turn, question) in [(1, &*scenario.user_goal), (2, "Are you sure?")] {
            let context = CallContext {
                turn,
                ..CallContext::new(Purpose::TargetTurn, scenario.id.as_str())
            };
            messages.push(Message::new(Role::User, question));
            let request = ChatRequest::new(messages.clone(), context);
            let asked = self.model.chat(&request).await;
            let reply = asked.map_err(|error| PhaseError::from_model(&self.target.id, error))?;
            spend.add(&reply.spend());
            messages.push(Message::new(Role::Assistant, &*reply.content));
            transcript.push(Turn::new(Role::User, question));
            transcript.push(Turn::new(Role::Assistant, reply.content));
        }
        Ok(Conversation {
            conv_id: Conversation::make_id(&scenario.id, &self.target.id, item.sample()),
            scenario: Scenario::clone(scenario),
            target: self.target.clone(),
            sample: item.sample(),
            transcript,
            error: None,
            no_verdict: None,
            simulator_faults: Vec::new(),
            realism: None,
            usage: Some(spend.to_phase_cost()),
        })
    }

    fn fingerprint(&self) -> Fingerprint {
        named("TwoQuestions")
    }
}

/// Judges by length, and takes no notice of the item.
struct Short(Vec<schema::Metric>);

#[async_trait]
impl Evaluator for Short {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        _item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let id = &conversation.scenario.metric_id;
        let metric = self.0.iter().find(|metric| metric.id == *id).unwrap();
        let length: usize = conversation
            .transcript
            .iter()
            .map(|turn| turn.content.len())
            .sum();
        let reason = format!("{length} bytes");
        Ok(vec![Score::judged(
            conversation,
            metric,
            length < 500,
            reason,
        )])
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Short")
    }
}

fn target_models(bench: &Bench) -> Vec<(ModelId, Arc<dyn ChatModel>)> {
    let factory = ModelFactory::new(HttpClient::default());
    let model = |(id, name): &(&'static str, &'static str)| {
        let id = ModelId::new(*id).unwrap();
        let settings = ModelSettings::new(id.clone(), *name, bench.server.base_url());
        (id, factory.model(settings).unwrap())
    };
    bench.targets.iter().map(model).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn phases_that_ignore_the_item_are_journaled_whole() {
    let bench = Bench::new().await;
    let models = target_models(&bench);
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        phases.simulator = Box::new(move |_, target| {
            let of = models.iter().find(|(id, _)| *id == target.id);
            Ok(Arc::new(TwoQuestions {
                model: Arc::clone(&of.unwrap().1),
                target: target.clone(),
            }))
        });
        phases.evaluator = Box::new(|loaded| Ok(Arc::new(Short(loaded.benchmark.metrics.clone()))));
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    assert_whole(&bench, &report);
    let lines = lines(&report);
    assert_each_turn_once(&bench, &lines);
    let verdicts = lines
        .iter()
        .filter(|line| line["message"] == EventKind::MergedAnnotation);
    let scores = lines
        .iter()
        .filter(|line| line["message"] == EventKind::ScoreFinished);
    assert_eq!(verdicts.count(), scores.count());
}

/// Panics after the first conversation of each target.
struct Panics {
    inner: Arc<dyn Simulator>,
    seen: Mutex<usize>,
}

#[async_trait]
impl Simulator for Panics {
    async fn simulate(
        &self,
        scenario: &Arc<Scenario>,
        item: &Item,
    ) -> Result<Conversation, PhaseError> {
        let conversation = self.inner.simulate(scenario, item).await;
        let first = {
            let mut seen = self.seen.lock().unwrap();
            *seen += 1;
            *seen == 1
        };
        assert!(first, "a fault of this phase");
        conversation
    }

    fn fingerprint(&self) -> Fingerprint {
        named("Panics")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_a_phase_that_panics_end_as_failed() {
    let bench = Bench::new().await;
    let pipeline = bench.pipeline_with(RunOptions::default(), |phases| {
        let around: Box<MakeSimulator> = Box::new(|inner| {
            Arc::new(Panics {
                inner,
                seen: Mutex::default(),
            })
        });
        wrap_simulators(phases, around);
    });
    let report = pipeline.run(&["flattery".to_owned()]).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::FailedRows);
    assert_whole(&bench, &report);
    let lines = lines(&report);
    assert_each_turn_once(&bench, &lines);
    let failed: Vec<&Value> = lines
        .iter()
        .filter(|line| line["message"] == EventKind::ItemFailed)
        .collect();
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|line| line["reason"] == "internal_error"));
    let queued = lines
        .iter()
        .filter(|line| line["message"] == EventKind::QueuingItem);
    assert_eq!(failed.len(), queued.count() - bench.targets.len());
}

/// Judges each conversation on its own metric and on a second one, by a call to a judge each.
struct TwoMetrics {
    judge: Arc<dyn ChatModel>,
    metrics: Vec<schema::Metric>,
}

impl TwoMetrics {
    /// The metric of the scenario, and the one after it.
    fn judged(&self, own: &str) -> [&schema::Metric; 2] {
        let at = self.metrics.iter().position(|metric| metric.id == own);
        let at = at.unwrap();
        [
            &self.metrics[at],
            &self.metrics[(at + 1) % self.metrics.len()],
        ]
    }
}

#[async_trait]
impl Evaluator for TwoMetrics {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let mut scores = Vec::new();
        for metric in self.judged(&conversation.scenario.metric_id) {
            let item = item.for_test(&metric.id);
            let question = format!("Is this {}? {}", metric.name, conversation.conv_id);
            let messages = vec![Message::new(Role::User, question)];
            let request = ChatRequest::new(messages, item.call(Purpose::Judge, 0));
            let asked = self.judge.chat(&request).await;
            let reply = asked.map_err(|error| PhaseError::from_model("judge", error))?;
            let is_even = reply.content.len() % 2 == 0;
            let score = Score::judged(conversation, metric, is_even, &*reply.content);
            let verdict = EventBody::TranslatedAnnotation(TranslatedAnnotation {
                annotator: self.judge.id().shared(),
                annotation: score.annotation(),
            });
            item.record(Event::new(verdict));
            scores.push(Score {
                usage: Some(reply.spend().to_phase_cost()),
                ..score
            });
        }
        Ok(scores)
    }

    fn fingerprint(&self) -> Fingerprint {
        named("TwoMetrics")
    }
}

/// The run of `bench` with [`TwoMetrics`].
async fn run_two_metrics(bench: &Bench, options: RunOptions) -> RunReport {
    let pipeline = bench.pipeline_and_judge(options, |phases, judge| {
        phases.evaluator = Box::new(move |loaded| {
            Ok(Arc::new(TwoMetrics {
                judge: Arc::clone(&judge),
                metrics: loaded.benchmark.metrics.clone(),
            }))
        });
    });
    pipeline.run(&["flattery".to_owned()]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_judged_on_two_metrics_is_two_items() {
    let bench = Bench::new().await;
    let report = run_two_metrics(&bench, RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    assert_whole(&bench, &report);
    assert_two_items_each(&bench, &report);
    assert_exports_name_the_metric_of_each_call(&bench);
    // Judged again from the tree, where the conversations are those of the run before.
    let options = RunOptions {
        phases: [schema::Phase::Evaluate, schema::Phase::Aggregate].into(),
        ..RunOptions::default()
    };
    let report = run_two_metrics(&bench, options).await;
    assert_eq!(report.outcome(), RunOutcome::Complete, "{report:#?}");
    let end = report.benchmarks[0].journal.as_ref().unwrap();
    assert_eq!(end.check.verdict(), Verdict::Passed, "{:#?}", end.check);
    assert_two_items_each(&bench, &report);
    assert_exports_name_the_metric_of_each_call(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_failed_is_one_item() {
    let mut bench = Bench::new().await;
    let nowhere = "http://127.0.0.1:1/v1".to_owned();
    bench.base_urls = [("careful", nowhere)].into();
    let report = run_two_metrics(&bench, RunOptions::default()).await;
    assert_eq!(report.outcome(), RunOutcome::FailedRows, "{report:#?}");
    assert_whole(&bench, &report);
    let queued =
        |line: &Value, sut: &str| line["message"] == EventKind::QueuingItem && line["sut"] == sut;
    let lines = lines(&report);
    let count = |sut: &str| lines.iter().filter(|line| queued(line, sut)).count();
    assert_eq!(count("agreeable"), 2 * count("careful"));
}

/// An exported conversation has the judge's call for each of its two metrics once, and a score the call for its own metric.
fn assert_exports_name_the_metric_of_each_call(bench: &Bench) {
    let out = tempfile::tempdir().unwrap();
    let export = |exporter: Box<dyn interop::Exporter>| {
        let names = ["flattery".to_owned()];
        let options = probity::ExportOptions::default();
        probity::export(&bench.layout(), &names, &options, exporter).unwrap()
    };
    export(Box::new(interop::jsonl::Jsonl::new(out.path())));
    let text = fs::read_to_string(out.path().join("conversations.jsonl")).unwrap();
    // By conversation and metric: the id of the judge's reply.
    let mut judged = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let calls = row["calls"].as_array().unwrap();
        let calls: Vec<&Value> = calls.iter().filter(|call| call["by"] == "judge").collect();
        assert_eq!(calls.len(), 2, "{row}");
        assert_eq!(calls[0]["metric_id"], row["metric_id"]);
        assert_ne!(calls[1]["metric_id"], row["metric_id"]);
        for call in calls {
            let key = (row["conv_id"].to_string(), call["metric_id"].to_string());
            judged.insert(key, call["request_id"].clone());
        }
    }
    let options = interop::eee::EeeOptions::default();
    let exported = export(Box::new(interop::eee::Eee::new(out.path(), options))).exported;
    let is_rows = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let mut rows = 0;
    for path in exported.files.iter().filter(is_rows) {
        for line in fs::read_to_string(path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let about = &row["metadata"];
            let key = (about["conv_id"].to_string(), about["metric_id"].to_string());
            let expected = Value::Array(vec![judged[&key].clone()]).to_string();
            assert_eq!(about["judge_request_ids"], expected, "{key:?}");
            rows += 1;
        }
    }
    assert_eq!(rows, judged.len());
}

/// Each conversation is in the journal under both of its metrics: queued, with all of its turns, a judge's call, a score, a
/// measurement and an end. `scores.json` has both rows.
fn assert_two_items_each(bench: &Bench, report: &RunReport) {
    let mut items: BTreeMap<(String, String, String), BTreeMap<String, usize>> = BTreeMap::new();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    for line in lines(report) {
        if line.get("prompt_id").is_some() {
            let key = (
                text(&line, "sut"),
                text(&line, "prompt_id"),
                text(&line, "test"),
            );
            let counts = items.entry(key).or_default();
            *counts.entry(text(&line, "message")).or_default() += 1;
            if let Some((role, ..)) = said(&line) {
                *counts.entry(role.to_owned()).or_default() += 1;
            }
        }
    }
    for target in ["agreeable", "careful"] {
        let rows = bench.json(&format!("flattery/runs/{target}/conversations.json"));
        let scores = bench.json(&format!("flattery/runs/{target}/scores.json"));
        let rows = rows.as_array().unwrap();
        assert_eq!(scores.as_array().unwrap().len(), 2 * rows.len());
        for row in rows {
            let prompt = text(row, "id");
            let of_row = |(sut, id, _): &&(String, String, String)| sut == target && *id == prompt;
            let tests: Vec<_> = items.keys().filter(of_row).collect();
            assert_eq!(tests.len(), 2, "{prompt}");
            for key in tests {
                let count = |name: &str| items[key].get(name).copied().unwrap_or(0);
                let messages = row["transcript"].as_array().unwrap().len();
                assert_eq!(count("user") + count("assistant"), messages, "{key:?}");
                for once in [
                    EventKind::QueuingItem,
                    EventKind::ScoreFinished,
                    EventKind::MeasuredItemQuality,
                    EventKind::ItemFinished,
                ] {
                    assert_eq!(count(once.message()), 1, "{} of {key:?}", once.message());
                }
                let judged = [
                    EventKind::FetchedAnnotatorResponse,
                    EventKind::UsingCachedAnnotatorResponse,
                ];
                let judged = judged.iter().map(|kind| count(kind.message()));
                assert_eq!(judged.sum::<usize>(), 1, "{key:?}");
            }
        }
    }
}
