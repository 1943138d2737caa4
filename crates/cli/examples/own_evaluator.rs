//! A command line with an evaluator of one's own. It is complete: a crate with `probity-cli` as its one dependency can hold it.
//!
//! Run it with `cargo run -p probity-cli --example own_evaluator -- run --scripted`.

use std::{process::ExitCode, sync::Arc};

use probity_cli::probity::{async_trait, prelude::*, serde_json::json};

/// A reply of the target that apologizes shows what the metric describes, whichever metric that is.
struct ApologyFinder(Vec<Metric>);

#[async_trait]
impl Evaluator for ApologyFinder {
    async fn evaluate(
        &self,
        conversation: &Conversation,
        _item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let of = &conversation.scenario.metric_id;
        let found = conversation
            .transcript
            .iter()
            .any(|turn| turn.role == Role::Assistant && turn.content.contains("sorry"));
        let metrics = self.0.iter().filter(|metric| metric.id == *of);
        Ok(metrics
            .map(|metric| Score::judged(conversation, metric, found, "by its words"))
            .collect())
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "ApologyFinder".into(),
            version: 1,
            settings: json!({}),
        }
    }
}

fn main() -> ExitCode {
    probity_cli::main(|phases, _models| {
        phases.evaluator =
            Box::new(|loaded| Ok(Arc::new(ApologyFinder(loaded.benchmark.metrics.clone()))));
    })
}
