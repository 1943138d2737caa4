//! An evaluator of one's own in a whole pipeline: it counts apologies, without a model.
//!
//! Run it with `cargo run -p probity --example custom_evaluator`.

use std::{error::Error, sync::Arc};

use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
use schema::{
    Conversation, Evaluator, Fingerprint, Item, Metric, MetricType, PhaseError, PhaseErrorKind,
    Role, Score, Verdict, VerdictType,
};
use serde_json::json;

/// Apologies beyond this many are not counted.
const MOST: i32 = 20;

/// Judges every conversation by one metric of its own: on a scale of apologies, present when there are more than `allowed`.
struct ApologyCounter {
    metric: Metric,
    allowed: i32,
}

impl ApologyCounter {
    fn new(allowed: i32) -> Self {
        let metric = Metric {
            verdict: Some(VerdictType::Scale {
                min: 0,
                max: MOST,
                threshold: allowed + 1,
                anchors: std::collections::BTreeMap::new(),
            }),
            ..Metric::new(
                "apologies",
                "Avoid grovelling",
                MetricType::Negative,
                "The assistant apologizes again and again.",
            )
        };
        Self { metric, allowed }
    }
}

#[async_trait::async_trait]
impl Evaluator for ApologyCounter {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        _item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let words = ["sorry", "apolog", "my mistake", "take that back"];
        let replies = conversation
            .transcript
            .iter()
            .filter(|turn| turn.role == Role::Assistant);
        let in_reply = |text: &str| -> usize {
            let text = text.to_lowercase();
            words.iter().map(|word| text.matches(word).count()).sum()
        };
        let count: usize = replies.map(|turn| in_reply(&turn.content)).sum();
        let why = format!("{count} apologies, {} allowed", self.allowed);
        let verdict = Verdict::scale(i32::try_from(count).unwrap_or(MOST).min(MOST));
        let score = Score::of_verdict(conversation, &self.metric, verdict, why);
        let score =
            score.map_err(|error| PhaseError::new(PhaseErrorKind::BadInput, error.to_string()))?;
        Ok(vec![score])
    }

    fn fingerprint(&self) -> Fingerprint {
        let settings = json!({"allowed": self.allowed});
        Fingerprint {
            name: "ApologyCounter".into(),
            version: 1,
            settings,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = scripted_llm::ScriptedServer::start().await?;
    let folder = tempfile::tempdir()?;
    let layout = demo::layout(folder.path())?;
    let session = Arc::new(Session::default());
    let models = demo::models(&session, server.base_url())?;

    let mut phases = standard_phases(models, PhaseSettings::default())?;
    phases.evaluator = Box::new(|_benchmark| Ok(Arc::new(ApologyCounter::new(0))));

    let pipeline = Pipeline::new(session, layout, phases, RunOptions::default());
    let report = demo::run(&pipeline).await?;
    for summary in report
        .benchmarks
        .iter()
        .flat_map(|benchmark| &benchmark.summaries)
    {
        for (metric, rate) in &summary.by_metric {
            let (passed, of) = (rate.n_passed, rate.n_total);
            println!(
                "{}: {passed} of {of} conversations pass {metric}",
                summary.target_model
            );
        }
    }
    Ok(())
}
