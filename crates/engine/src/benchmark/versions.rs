//! Which versions of the shipped prompts and rules a run measures a benchmark with.

use schema::PromptVersions;
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
        if self.provenance().prompts == Some(versions) {
            return Ok(());
        }
        let before = begun_with(&self.dir).ok().flatten();
        self.record_provenance(|all| all.prompts = Some(versions))?;
        let changes = before.map_or_else(Vec::new, |before| before.changes(versions));
        if !changes.is_empty() {
            self.note(&format!(
                "moved on to other versions: {}. What they change is asked again, and the benchmark keeps them from now on",
                changes.join(", ")
            ));
        }
        Ok(())
    }
}
