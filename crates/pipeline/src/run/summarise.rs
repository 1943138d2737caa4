//! `results.json` from all the scores of the tree.

use std::fs::{self, File};

use aggregator::{RateAggregator, aggregate_reader, aggregate_scores, sort_summaries};
use schema::{Aggregator, ModelId, Summary};

use super::BenchmarkRun;
use crate::{
    error::PipelineError,
    progress::{Phase, Progress},
    tree::write_json,
};

impl BenchmarkRun<'_> {
    /// Sums up the scores of every target that the tree holds, those of earlier runs included, and writes `results.json`.
    /// Rows are read one at a time.
    pub(super) fn summarise(&self) -> Result<(), PipelineError> {
        self.tell(&Progress::Started {
            phase: Phase::Aggregate,
            benchmark: self.dir.name(),
            target: None,
            rows: None,
        });
        let mut summaries = Vec::new();
        for id in self.scored_targets()? {
            summaries.push(self.summary(id)?);
        }
        if !summaries.is_empty() {
            sort_summaries(&mut summaries);
            write_json(&self.dir.results(), &summaries)?;
            self.wrote(self.dir.results());
            self.summaries(summaries);
        }
        self.tell(&Progress::Finished {
            phase: Phase::Aggregate,
            benchmark: self.dir.name(),
            target: None,
        });
        Ok(())
    }

    /// The summary of one target. The shipped aggregator has a reader of its own, which takes only what it needs of a row.
    fn summary(&self, id: ModelId) -> Result<Summary, PipelineError> {
        let path = self.dir.target(&id)?.scores();
        let file = File::open(&path).map_err(|error| PipelineError::read(&path, error))?;
        let summary = match &self.pipeline.phases.aggregator {
            None => {
                self.fingerprint("aggregator", &RateAggregator::new(id.clone()).fingerprint());
                aggregate_reader(id, file)
            }
            Some(make) => {
                let aggregator = make(&id);
                self.fingerprint("aggregator", &aggregator.fingerprint());
                aggregate_scores(aggregator, file)
            }
        };
        summary.map_err(|error| {
            PipelineError::input(format!("{}: {error}", path.display())).with_source(error)
        })
    }

    /// The ids of the folders under `runs/` that hold scores, sorted.
    fn scored_targets(&self) -> Result<Vec<ModelId>, PipelineError> {
        let runs = self.dir.runs();
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(PipelineError::read(&runs, error)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| PipelineError::read(&runs, error))?;
            let id = entry
                .file_name()
                .into_string()
                .ok()
                .and_then(|name| ModelId::new(name).ok());
            if let Some(id) = id
                && self.dir.target(&id)?.scores().exists()
            {
                ids.push(id);
            }
        }
        ids.sort();
        Ok(ids)
    }
}
