//! Phases that take no notice of the item, or panic.

use super::*;

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
        let scenario = Scenario::clone(scenario);
        Ok(Conversation {
            usage: Some(spend.to_phase_cost()),
            ..Conversation::new(scenario, self.target.clone(), item.sample(), transcript)
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
