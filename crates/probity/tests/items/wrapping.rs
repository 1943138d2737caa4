//! Phases that wrap the shipped ones.

use super::*;

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
    let reported = |line: &&Value| line.get("transcript").is_some();
    assert_eq!(lines.iter().filter(reported).count(), 0);
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
            if let Some(present) = score.present {
                *score = score.clone().with_present(!present);
            }
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
