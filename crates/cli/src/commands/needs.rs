//! Which models the selected benchmarks need: with fixed messages of the user, or checks in place of judges, some are never called.

use probity::{Layout, Phase, needed_scenarios};
use store::{read_benchmark, read_scenarios};

use crate::{benchmarks::choose, flags::BenchmarkSelection};

/// The models that phases need besides the targets.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Metrics or scenarios are generated.
    pub generator: bool,
    /// A model writes messages of the user.
    pub user: bool,
    /// Judges decide a metric.
    pub judges: bool,
}

impl Needs {
    /// All that `phases` may need, where it is not known on which benchmarks they run.
    #[must_use]
    pub fn all(phases: &[Phase]) -> Self {
        let runs = |phase| phases.contains(&phase);
        Self {
            generator: runs(Phase::GenMetrics) || runs(Phase::GenScenarios),
            user: runs(Phase::Simulate),
            judges: runs(Phase::Evaluate),
        }
    }

    /// What `phases` need on the benchmarks of `selection`. A benchmark that cannot be read needs everything; its mistake is reported
    /// where it is run.
    #[must_use]
    pub fn of(layout: &Layout, selection: &BenchmarkSelection, phases: &[Phase]) -> Self {
        let all = Self::all(phases);
        let Ok(chosen) = choose(layout, selection, false) else {
            return all;
        };
        let mut needs = Self {
            generator: false,
            user: false,
            judges: false,
        };
        for name in &chosen.names {
            let Some(own) = Self::of_benchmark(layout, name, phases) else {
                return all;
            };
            needs.generator |= own.generator;
            needs.user |= own.user;
            needs.judges |= own.judges;
        }
        Self {
            generator: all.generator && needs.generator,
            user: all.user && needs.user,
            judges: all.judges && needs.judges,
        }
    }

    fn of_benchmark(layout: &Layout, name: &str, phases: &[Phase]) -> Option<Self> {
        let dir = layout.benchmark(name).ok()?;
        let benchmark = read_benchmark(&dir).ok()?;
        let scenarios = read_scenarios(&dir).ok()?;
        // A phase by itself replaces existing rows, with --force.
        let alone = !phases.contains(&Phase::Simulate);
        let missing = needed_scenarios(layout, name, false).ok()?;
        let generator = alone || scenarios.is_empty() || !missing.metrics.is_empty();
        let mut played = scenarios.iter();
        Some(Self {
            generator,
            user: generator || played.any(schema::Scenario::is_simulated),
            judges: benchmark.needs_judges(),
        })
    }
}
