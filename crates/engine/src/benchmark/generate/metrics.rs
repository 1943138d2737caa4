//! `gen-metrics`: metrics into `benchmark.yaml`.

use std::io::Write;

use schema::{
    Metric, Phase, notice,
    text::{counted, is_blank},
};
use store::{
    RunError,
    provenance::{GeneratedMetrics, KeptCopy, ReplaceReason},
    read_benchmark, write_atomically,
};

use super::Generation;
use crate::progress::{Outcome, Progress};

impl Generation<'_> {
    /// Returns the metrics of the benchmark. Where it has none, they are generated and written into `benchmark.yaml`. `None`:
    /// generation failed.
    pub(in crate::benchmark) async fn metrics(
        &mut self,
        force: bool,
    ) -> Result<Option<Vec<Metric>>, RunError> {
        let metrics = &self.run.loaded.benchmark.metrics;
        let have = metrics.len();
        if have > 0 && !force {
            let kept = counted(have as u64, "metric", "metrics");
            self.run.note(notice![
                format!("kept the {kept} of benchmark.yaml; "),
                self.run.dir.command("gen-metrics").flag("force"),
                " replaces them"
            ]);
            return Ok(Some(metrics.clone()));
        }
        self.run.observe(&Progress::Started {
            phase: Phase::GenMetrics,
            benchmark: self.run.dir.name(),
            target: None,
            rows: Some(1),
        });
        if is_blank(&self.run.loaded.benchmark.description) {
            return Err(RunError::input(format!(
                "{}: no description to write metrics from",
                self.run.dir.yaml().display()
            )));
        }
        let generator = (self.run.pipeline.phases.metric_generator)(&self.run.loaded)?;
        self.results
            .fingerprint("metric_generator", &generator.fingerprint());
        let before = self.run.pipeline.spent(Phase::GenMetrics);
        let generated = generator.metrics(&self.run.loaded.benchmark.brief()).await;
        // The cost first: a run that is killed between the two writes does both again from the cache.
        self.write_generation_cost(Phase::GenMetrics, &before, false)?;
        let (metrics, outcome) = match generated {
            Ok(metrics) => {
                self.write_metrics(&metrics)?;
                (Some(metrics), Outcome::Done)
            }
            Err(error) => (None, self.generation_failed(Phase::GenMetrics, &error)),
        };
        self.row(Phase::GenMetrics, outcome);
        self.finished(Phase::GenMetrics);
        Ok(metrics)
    }

    /// Writes the metrics and records them. Keeps a copy of the file when it replaces metrics that were not generated.
    fn write_metrics(&mut self, metrics: &[Metric]) -> Result<(), RunError> {
        let path = self.run.dir.yaml();
        let had = &self.run.loaded.benchmark.metrics;
        let reason = match self.run.provenance().metrics {
            _ if had.is_empty() => None,
            Some(generated) if generated.are(had) => None,
            Some(generated) => Some(ReplaceReason::Edited {
                run_id: generated.run_id,
            }),
            None => Some(ReplaceReason::Unknown),
        };
        let copy = match reason {
            Some(reason) => KeptCopy::because(&self.run.dir, &path, reason)?,
            None => None,
        };

        let text = files::read_text(&path).map_err(|error| RunError::read(&path, error))?;
        let text = store::yaml_edit::with_metrics(&text, metrics).map_err(|error| {
            RunError::input(format!("{}: {error}", path.display())).with_source(error)
        })?;
        write_atomically(&path, |writer| writer.write_all(text.as_bytes()))?;
        self.replaced(copy, Phase::GenMetrics, &path);
        let run_id = self.run.pipeline.session.run_id().to_string();
        // Hash the metrics as they are read back: YAML may lay out a text in another way.
        let written = read_benchmark(&self.run.dir)?.metrics;
        let generated = GeneratedMetrics::new(run_id, &written);
        self.run
            .record_provenance(|all| all.metrics = Some(generated))
    }
}
