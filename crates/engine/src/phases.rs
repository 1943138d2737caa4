//! Which implementation runs each phase.

use std::{path::PathBuf, sync::Arc};

use schema::{
    Aggregator, Benchmark, Evaluator, MetricGenerator, ModelId, ScenarioGenerator, Simulator,
    TargetRef,
};

use store::RunError;

/// A benchmark as a run sees it when it makes the phases: phases are made again for each benchmark, once before the first call
/// to check them and again when the metrics are known.
#[derive(Clone, Debug)]
pub struct BenchmarkContext {
    /// The folder's name.
    pub name: String,
    /// The folder of the user's own prompt templates for this benchmark. It need not be there.
    pub prompts: PathBuf,
    /// The content of `benchmark.yaml`.
    pub benchmark: Benchmark,
}

/// Makes the phase `T` for a benchmark.
pub type PhaseFactory<T> = Box<dyn Fn(&BenchmarkContext) -> Result<Arc<T>, RunError> + Send + Sync>;

/// Makes the simulator for a benchmark and a target.
pub type SimulatorFactory = Box<
    dyn Fn(&BenchmarkContext, &TargetRef) -> Result<Arc<dyn Simulator>, RunError> + Send + Sync,
>;

/// Makes an aggregator for a target.
pub type AggregatorFactory = Box<dyn Fn(&ModelId) -> Box<dyn Aggregator> + Send + Sync>;

/// The phases of a pipeline. Each can be replaced by one's own; the rest stays.
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
    /// Description to metrics.
    pub metric_generator: PhaseFactory<dyn MetricGenerator>,
    /// Metrics to scenarios.
    pub scenario_generator: PhaseFactory<dyn ScenarioGenerator>,
    /// Scenario to conversation.
    pub simulator: SimulatorFactory,
    /// Conversation to scores.
    pub evaluator: PhaseFactory<dyn Evaluator>,
    /// Scores to summary. `None`: the shipped aggregator, which reads large files several times as fast as one of your own.
    pub aggregator: Option<AggregatorFactory>,
}

impl std::fmt::Debug for Phases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Phases")
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}
