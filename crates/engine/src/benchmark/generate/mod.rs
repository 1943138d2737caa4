//! The generating phases: metrics into `benchmark.yaml`, scenarios into `scenarios.json`.
//!
//! Existing files belong to the user. Only missing rows are generated, unless the phase is forced.

mod existing;
mod metrics;
mod scenarios;

use std::path::Path;

use llm_client::Tally;
use schema::{CostSum, Phase, PhaseError, PhaseErrorKind};
use store::{RunError, provenance::KeptCopy, read_costs, write_cost};

use super::{results::Results, run::BenchmarkRun};
use crate::progress::{Outcome, Progress};

/// The generating phases of a benchmark.
pub(super) struct Generation<'r> {
    run: &'r BenchmarkRun<'r>,
    results: &'r mut Results,
}

impl<'r> Generation<'r> {
    pub(super) fn new(run: &'r BenchmarkRun<'r>, results: &'r mut Results) -> Self {
        Self { run, results }
    }

    /// Reports that the file at `path` was replaced and its copy kept.
    fn replaced(&mut self, copy: Option<KeptCopy>, phase: Phase, path: &Path) {
        let hash = self.run.dir.digest(path).unwrap_or_default();
        let replaced = copy.and_then(|copy| copy.replaced_by(&hash, phase, None));
        self.results.report.replaced.extend(replaced);
    }

    /// Writes the entry of a generating phase into `cost.json`.
    ///
    /// A phase that generated everything again costs what all its replies cost when they were requested. A phase that only
    /// filled gaps adds the cost of this run's requests.
    fn write_generation_cost(
        &mut self,
        phase: Phase,
        before: &Tally,
        some_kept: bool,
    ) -> Result<(), RunError> {
        let now = self.run.pipeline.spent(phase);
        let mut sum = CostSum::default();
        let mut earlier = None;
        if some_kept {
            if let Some(entry) = read_costs(&self.run.dir, None).get(phase.as_str()) {
                sum.add(&entry.cost);
                earlier = Some(entry.cost);
            }
            // Only the cost of this run is added, even where there was no entry before.
            earlier.get_or_insert_with(|| CostSum::default().total());
            sum.add(&now.paid.minus(&before.paid).to_phase_cost());
        } else {
            sum.add(&now.spend.minus(&before.spend).to_phase_cost());
        }
        let cost = sum.total();
        write_cost(&self.run.dir, None, phase, cost)?;
        self.results.cost_written(phase, None, earlier);
        self.results.report.costs.insert((phase, None), cost);
        Ok(())
    }

    /// Records a failed generation. A generation that did not happen because the run is stopping or its budget is spent is
    /// not a failure.
    fn generation_failed(&self, phase: Phase, error: &PhaseError) -> Outcome {
        match error.kind() {
            PhaseErrorKind::Cancelled => Outcome::Skipped,
            PhaseErrorKind::OverBudget => {
                self.run.failures.over_budget(phase, None, "");
                Outcome::Skipped
            }
            _ => {
                // The error itself names the row.
                self.run.failures.add(phase, None, "", &error.to_string());
                Outcome::Failed
            }
        }
    }

    fn failed_row(&mut self, phase: Phase, row: &str, reason: &str) {
        self.run.failures.add(phase, None, row, reason);
        self.row(phase, Outcome::Failed);
    }

    /// A row ended.
    fn row(&mut self, phase: Phase, outcome: Outcome) {
        self.results.row(phase, outcome);
        self.run.observe(&Progress::Row {
            phase,
            benchmark: self.run.dir.name(),
            target: None,
            outcome,
        });
    }

    fn finished(&self, phase: Phase) {
        self.run.observe(&Progress::Finished {
            phase,
            benchmark: self.run.dir.name(),
            target: None,
        });
    }
}
