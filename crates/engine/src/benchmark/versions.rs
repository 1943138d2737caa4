//! Which versions of the shipped prompts and rules a run measures a benchmark with.

use schema::{Metric, Phase, PromptVersions, VerdictType, notice};
use store::{BenchmarkDir, RunError, provenance::begun_with};

use super::{RunOptions, run::BenchmarkRun};

/// Which versions of the shipped prompts and rules benchmarks are measured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptChoice {
    /// Those that the benchmark began with. A new benchmark begins with the newest.
    #[default]
    Kept,
    /// The newest, which the benchmark then keeps.
    Latest,
}

/// The versions for the benchmark in `dir`.
pub(crate) fn of(dir: &BenchmarkDir, options: &RunOptions) -> Result<PromptVersions, RunError> {
    if options.prompts == PromptChoice::Latest {
        return Ok(PromptVersions::LATEST);
    }
    let found = options.found_versions.get(dir.name()).copied();
    let begun = match found {
        Some(found) => Some(found),
        None => begun_with(dir)?,
    };
    Ok(begun.unwrap_or(PromptVersions::LATEST))
}

impl BenchmarkRun<'_> {
    /// Records the versions before the first call, so that a run that is killed is resumed with the same prompts.
    pub(super) fn record_versions(&self) -> Result<(), RunError> {
        let versions = self.loaded.versions;
        self.note_unseen();
        if self.provenance().prompts == Some(versions) {
            return Ok(());
        }
        let before = begun_with(&self.dir).ok().flatten();
        self.record_provenance(|all| all.prompts = Some(versions))?;
        let changes = before.map_or_else(Vec::new, |before| before.changes(versions));
        if !changes.is_empty() {
            self.note(format!(
                "moved on to other versions: {}. Calls that they change are made again, and the benchmark keeps them from now on",
                changes.join(", ")
            ));
        }
        Ok(())
    }

    /// Notes what metrics have that judges with prompts of version 1 are not shown.
    fn note_unseen(&self) {
        if self.loaded.versions.judge > 1 || !self.pipeline.runs(Phase::Evaluate) {
            return;
        }
        let has_anchors = |metric: &&Metric| matches!(&metric.verdict, Some(VerdictType::Scale { anchors, .. }) if !anchors.is_empty());
        let metrics = &self.loaded.benchmark.metrics;
        let near_misses = metrics
            .iter()
            .filter(|metric| !metric.counterexamples.is_empty());
        let ids = |metrics: Vec<&Metric>| {
            let ids: Vec<&str> = metrics.iter().map(|metric| metric.id.as_str()).collect();
            ids.join(", ")
        };
        for (key, metrics) in [
            ("counterexamples", near_misses.collect::<Vec<_>>()),
            ("anchors", metrics.iter().filter(has_anchors).collect()),
        ] {
            if !metrics.is_empty() {
                let ids = ids(metrics);
                self.note(notice![
                    format!(
                        "judges are not shown the {key} of {ids}: this benchmark keeps version 1 of their prompts. "
                    ),
                    self.dir.command("run").with("prompts", "latest"),
                    " moves it on"
                ]);
            }
        }
    }
}
