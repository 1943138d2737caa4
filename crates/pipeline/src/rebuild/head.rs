//! What holds for a whole run: what was asked for, and the metrics.

use std::{borrow::Cow, collections::HashMap};

use journal::Line;
use schema::{Metric, ModelId, TargetRef};
use serde::Deserialize;

use super::{Fault, bad};

/// The run that a journal tells of.
pub(super) struct Head {
    /// The folder of its benchmark.
    pub(super) folder: String,
    /// Whether results were summed up.
    pub(super) summed_up: bool,
    targets: HashMap<ModelId, TargetRef>,
    metrics: HashMap<String, Metric>,
}

impl Head {
    /// From `starting run`.
    pub(super) fn read(line: &Line<'_>) -> Result<Self, Fault> {
        let foreign = || {
            bad(
                "the journal was not written by Probity: `starting run` does not tell the benchmark's folder, its phases and \
                 its targets, so there are no rows to rebuild",
            )
        };
        let folder = line.text("folder").ok_or_else(foreign)?.into_owned();
        let phases: Vec<Cow<'_, str>> = line.get("phases").ok_or_else(foreign)?;
        let targets: Vec<TargetRef> = line.get("targets").ok_or_else(foreign)?;
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

    /// From `test info`.
    pub(super) fn add_test(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        #[derive(Deserialize)]
        struct Initialization {
            kwargs: Arguments,
        }
        #[derive(Deserialize)]
        struct Arguments {
            metric: Metric,
        }
        let test: Initialization = line
            .get("initialization")
            .ok_or_else(|| bad("`initialization.kwargs.metric` is no metric"))?;
        let metric = test.kwargs.metric;
        self.metrics.insert(metric.id.clone(), metric);
        Ok(())
    }

    pub(super) fn target(&self, id: &ModelId) -> Result<&TargetRef, Fault> {
        self.targets
            .get(id)
            .ok_or_else(|| bad(format!("the run has no target {id}")))
    }

    pub(super) fn metric(&self, id: &str) -> Result<&Metric, Fault> {
        self.metrics
            .get(id)
            .ok_or_else(|| bad(format!("there is no `test info` of {id}")))
    }
}
