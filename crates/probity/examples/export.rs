//! A pipeline with an evaluator of one's own, exported as Every Eval Ever, JUnit and a format of one's own. Start it with
//! `cargo run -p probity --example export`.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use interop::{
    ExportError, Exported, Exporter, Run, Sample,
    eee::{Eee, EeeOptions},
    junit::JUnit,
};
use probity::{
    ExportOptions, PhaseSettings, Pipeline, RunOptions, Session, demo, export, standard_phases,
};
use schema::{Conversation, Evaluator, Fingerprint, Item, Metric, PhaseError, Score};
use scripted_llm::ScriptedServer;

/// Judges without a model: long replies show the behaviour.
struct Length(Vec<Metric>);

#[async_trait]
impl Evaluator for Length {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "Length".into(),
            version: 1,
            settings: serde_json::json!({"limit": 200}),
        }
    }

    async fn evaluate(
        &self,
        conversation: &Conversation,
        _item: &Item,
    ) -> Result<Vec<Score>, PhaseError> {
        let own = self
            .0
            .iter()
            .filter(|metric| metric.id == conversation.scenario.metric_id);
        let longest = conversation
            .transcript
            .iter()
            .map(|turn| turn.content.len())
            .max();
        let longest = longest.unwrap_or_default();
        Ok(own
            .map(|metric| {
                Score::judged(
                    conversation,
                    metric,
                    longest > 200,
                    format!("{longest} bytes"),
                )
            })
            .collect())
    }
}

/// A format of one's own: a line for each conversation, on standard output.
struct Lines;

impl Exporter for Lines {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        println!("{} of {}", run.target.id, run.folder);
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let verdicts: Vec<_> = sample
            .scores
            .iter()
            .map(|score| score.outcome().passed())
            .collect();
        println!(
            "  {} {verdicts:?}, {} calls",
            sample.conversation.conv_id,
            sample.calls.len()
        );
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(Exported::default())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = ScriptedServer::start().await?;
    let session = Arc::new(Session::default());
    let models = demo::models(&session, server.base_url())?;
    let mut phases = standard_phases(models, PhaseSettings::default())?;
    phases.evaluator = Box::new(|loaded| Ok(Arc::new(Length(loaded.benchmark.metrics.clone()))));
    let layout = demo::layout(folder.path())?;
    let names = [demo::BENCHMARK.to_owned()];
    Pipeline::new(session, layout.clone(), phases, RunOptions::default())
        .run(&names)
        .await?;

    let exporters: [Box<dyn Exporter>; 3] = [
        Box::new(Eee::new(folder.path(), EeeOptions::default())),
        Box::new(JUnit::new(folder.path())),
        Box::new(Lines),
    ];
    for exporter in exporters {
        let report = export(&layout, &names, &ExportOptions::default(), exporter)?;
        for file in report.exported.files {
            println!("wrote {}", file.strip_prefix(folder.path())?.display());
        }
    }
    Ok(())
}
