//! Which implementation runs each phase.

use std::{path::PathBuf, sync::Arc};

use schema::{
    Aggregator, Benchmark, Evaluator, MetricGenerator, ModelId, PromptVersions, ScenarioGenerator,
    Simulator, TargetRef,
};

use store::RunError;

/// A benchmark as a run sees it when it creates the phases. Phases are created twice for each benchmark: before the first call
/// to check them, and again when the metrics are known.
#[derive(Clone, Debug)]
pub struct BenchmarkContext {
    /// The folder's name.
    pub name: String,
    /// The folder of the user's own prompt templates for this benchmark. It may be missing.
    pub prompts: PathBuf,
    /// The content of `benchmark.yaml`.
    pub benchmark: Benchmark,
    /// The versions of the shipped prompts and rules that the benchmark keeps.
    pub versions: PromptVersions,
}

/// Creates the phase `T` for a benchmark.
pub type PhaseFactory<T> = Box<dyn Fn(&BenchmarkContext) -> Result<Arc<T>, RunError> + Send + Sync>;

/// Creates the simulator for a benchmark and a target.
pub type SimulatorFactory = Box<
    dyn Fn(&BenchmarkContext, &TargetRef) -> Result<Arc<dyn Simulator>, RunError> + Send + Sync,
>;

/// Creates an aggregator for a target.
pub type AggregatorFactory = Box<dyn Fn(&ModelId) -> Box<dyn Aggregator> + Send + Sync>;

/// The phases of a pipeline. Each can be replaced by your own; the others stay.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use engine::Phases;
/// # fn standard() -> Phases { unimplemented!() }
/// # fn mine() -> Arc<dyn schema::Evaluator> { unimplemented!() }
/// let mut phases: Phases = standard();
/// phases.evaluator = Box::new(|_loaded| Ok(mine()));
/// ```
pub struct Phases {
    /// The systems under test. Their ids name folders and are unique.
    pub targets: Vec<TargetRef>,
    /// Generates metrics from the description.
    pub metric_generator: PhaseFactory<dyn MetricGenerator>,
    /// Generates scenarios from the metrics.
    pub scenario_generator: PhaseFactory<dyn ScenarioGenerator>,
    /// Simulates conversations from the scenarios.
    pub simulator: SimulatorFactory,
    /// Scores the conversations.
    pub evaluator: PhaseFactory<dyn Evaluator>,
    /// Aggregates scores into a summary. `None`: the shipped aggregator, which reads large files several times as fast as a
    /// custom one.
    pub aggregator: Option<AggregatorFactory>,
}

impl std::fmt::Debug for Phases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Phases")
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}
