//! The run as a whole: its settings and its metrics.

use std::collections::HashMap;

use schema::{
    Metric, ModelId, TargetRef,
    event::{StartingRun, TestInfo},
};
use serde::Deserialize;

use super::{RebuildError, bad};

/// The run of a journal.
pub(super) struct Head {
    /// The folder of its benchmark.
    pub(super) folder: String,
    /// Whether results were summarised.
    pub(super) summed_up: bool,
    targets: HashMap<ModelId, TargetRef>,
    metrics: HashMap<String, Metric>,
}

impl Head {
    /// Reads `starting run`.
    pub(super) fn new(start: StartingRun) -> Result<Self, RebuildError> {
        let foreign = || {
            bad(
                "the journal was not written by Probity: `starting run` lacks the benchmark's folder, its phases and \
                 its targets, so there are no rows to rebuild",
            )
        };
        let folder = start.folder.ok_or_else(foreign)?;
        let phases = start.phases.ok_or_else(foreign)?;
        let targets = start.targets.ok_or_else(foreign)?;
        Ok(Self {
            folder,
            summed_up: phases.iter().any(|phase| phase == "aggregate"),
            targets: targets
                .into_iter()
                .map(|target| (target.id.clone(), target))
                .collect(),
            metrics: HashMap::new(),
        })
    }

    /// Reads `test info`.
    pub(super) fn add_test(&mut self, test: &TestInfo) -> Result<(), RebuildError> {
        #[derive(Deserialize)]
        struct Initialization {
            kwargs: Arguments,
        }
        #[derive(Deserialize)]
        struct Arguments {
            metric: Metric,
        }
        let test = Initialization::deserialize(&test.initialization)
            .map_err(|_| bad("`initialization.kwargs.metric` is no metric"))?;
        let metric = test.kwargs.metric;
        self.metrics.insert(metric.id.clone(), metric);
        Ok(())
    }

    pub(super) fn target(&self, id: &ModelId) -> Result<&TargetRef, RebuildError> {
        self.targets
            .get(id)
            .ok_or_else(|| bad(format!("the run has no target {id}")))
    }

    pub(super) fn metric(&self, id: &str) -> Result<&Metric, RebuildError> {
        self.metrics
            .get(id)
            .ok_or_else(|| bad(format!("there is no `test info` of {id}")))
    }
}
