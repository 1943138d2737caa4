//! A conversation that is judged on two metrics.

use super::*;

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
            let mut score = Score::judged(conversation, metric, is_even, &*reply.content);
            score.usage = Some(reply.spend().to_phase_cost());
            let verdict = EventBody::TranslatedAnnotation(TranslatedAnnotation {
                annotator: self.judge.id().shared(),
                annotation: score.annotation(),
            });
            item.record(Event::new(verdict));
            scores.push(score);
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
