//! The checks before the first call that costs something.

use std::{collections::HashSet, fs};

use super::{Pipeline, run::BenchmarkRun, versions};
use crate::{needed_scenarios::needed, phases::BenchmarkContext, progress::Progress};
use schema::{Phase, Scenario, ShardFile, notice};
use store::{
    LoadedStandards, RunError, TargetDir, TreeLock, check_belongs, check_playable, check_writable,
    load_standards, read_benchmark, read_scenarios, read_shard, remove_unfinished,
};

impl Pipeline {
    /// Checks every target, benchmark, file, prompt and folder, and takes the locks.
    pub(super) fn preflight(&self, names: &[String]) -> Result<Vec<BenchmarkRun<'_>>, RunError> {
        if names.is_empty() {
            return Err(RunError::input("no benchmark given"));
        }
        self.check_options()?;
        self.check_targets()?;
        let mut seen = HashSet::new();
        let mut runs = Vec::new();
        for name in names.iter().filter(|name| seen.insert(name.as_str())) {
            runs.push(self.check_benchmark(name)?);
        }
        check_writable(&self.layout.run(&self.session.run_id().to_string()))?;
        let alone = runs.len() == 1;
        runs.iter_mut().for_each(|run| run.alone = alone);
        Ok(runs)
    }

    fn check_options(&self) -> Result<(), RunError> {
        self.options.concurrency.check()?;
        if self.options.samples == 0 {
            return Err(RunError::input(
                "the number of samples is 0; it must be at least 1",
            ));
        }
        Ok(())
    }

    fn check_targets(&self) -> Result<(), RunError> {
        let mut seen = HashSet::new();
        for target in &self.phases.targets {
            target
                .id
                .check_folder_name()
                .map_err(|error| RunError::input(error.to_string()))?;
            // Two ids that differ only in case would share a folder on some file systems.
            if !seen.insert(target.id.as_str().to_lowercase()) {
                return Err(RunError::input(format!(
                    "duplicate target id {:?} (case aside). Each target needs its own id",
                    target.id.as_str()
                )));
            }
        }
        for id in &self.options.targets {
            if !self.phases.targets.iter().any(|target| target.id == *id) {
                return Err(RunError::input(format!("unknown target {:?}", id.as_str())));
            }
        }
        let needed = self.runs(Phase::Simulate) || self.runs(Phase::Evaluate);
        if needed && self.targets().next().is_none() {
            return Err(RunError::input("no target to run"));
        }
        Ok(())
    }

    fn check_benchmark(&self, name: &str) -> Result<BenchmarkRun<'_>, RunError> {
        let dir = self.layout.benchmark(name)?;
        let yaml = dir.yaml();
        // A folder that is not a benchmark gets no lock file.
        fs::metadata(&yaml).map_err(|error| RunError::read(&yaml, error))?;
        // Another run may write the files that are read here, so the lock comes first.
        let lock = TreeLock::take(&dir)?;
        let benchmark = read_benchmark(&dir)?;
        let scenarios = read_scenarios(&dir)?;
        let replaced = self.replaces() && self.runs(Phase::GenScenarios);
        if !replaced {
            check_belongs(&dir, &scenarios, &benchmark)?;
            if self.runs(Phase::Simulate) {
                check_playable(&dir.scenarios(), &scenarios, &benchmark)?;
            }
        }
        let loaded = BenchmarkContext {
            name: name.to_owned(),
            prompts: dir.prompts(),
            benchmark,
            versions: versions::of(&dir, &self.options)?,
        };
        self.check_phases(&loaded)?;
        self.check_input(&loaded, &dir, scenarios.is_empty())?;
        let standards = self.standards(&dir, &loaded)?;
        let shard = read_shard(&dir)?;
        self.check_shard(&dir, shard.as_ref(), &loaded, &scenarios)?;
        remove_unfinished(&dir);
        check_writable(dir.root())?;
        for target in self.targets() {
            let needed = self.runs(Phase::Simulate) || dir.target(&target.id)?.root().exists();
            if needed && (self.runs(Phase::Simulate) || self.runs(Phase::Evaluate)) {
                check_writable(dir.target(&target.id)?.root())?;
            }
        }
        let mut run = BenchmarkRun::new(self, dir, loaded, lock);
        run.standards = standards;
        run.shard = shard;
        Ok(run)
    }

    /// A part of a run needs scenarios that all parts have, and only prefixes of the whole order may be looked at.
    fn check_shard(
        &self,
        dir: &store::BenchmarkDir,
        shard: Option<&ShardFile>,
        loaded: &BenchmarkContext,
        scenarios: &[Scenario],
    ) -> Result<(), RunError> {
        let Some(shard) = shard else {
            return Ok(());
        };
        let name = dir.name();
        if self.options.stop_when_decided.is_some() {
            return Err(RunError::input(format!(
                "{name}: a run that stops when it is decided looks at scenarios in one order from its first one on, and this tree has a part \
                 of them"
            )));
        }
        let add = self.options.add_scenarios;
        let generates = self.runs(Phase::GenMetrics) && loaded.benchmark.metrics.is_empty()
            || self.runs(Phase::GenScenarios)
                && (self.replaces()
                    || !needed(dir, &loaded.benchmark, scenarios, add)
                        .metrics
                        .is_empty());
        if generates && shard.shard().is_some() {
            return Err(RunError::input(format!(
                "{name}: all shards need the same metrics and scenarios, and some would be generated here. Generate them in the whole \
                 benchmark, before it is split"
            )));
        }
        Ok(())
    }

    /// The standards that grades compare with. Only a phase that grades needs them.
    fn standards(
        &self,
        dir: &store::BenchmarkDir,
        loaded: &BenchmarkContext,
    ) -> Result<Option<LoadedStandards>, RunError> {
        if !self.runs(Phase::Evaluate) && !self.runs(Phase::Aggregate) {
            return Ok(None);
        }
        let standards = load_standards(dir, &loaded.benchmark, self.options.standards.as_deref())?;
        let hazards = loaded.benchmark.scored_hazards();
        let note = standards.as_ref().and_then(|loaded| loaded.note(&hazards));
        if let Some(text) = note {
            self.session.observer().on(&Progress::Note {
                benchmark: dir.name(),
                text: &text.into(),
            });
        }
        Ok(standards)
    }

    /// Creates each phase that will run once, so that a prompt that does not compile is found now.
    ///
    /// A benchmark whose metrics are not written yet gets a placeholder metric for this check.
    fn check_phases(&self, loaded: &BenchmarkContext) -> Result<(), RunError> {
        let mut loaded = loaded.clone();
        if loaded.benchmark.metrics.is_empty() {
            loaded.benchmark.metrics.push(placeholder());
        }
        let loaded = &loaded;
        if self.runs(Phase::GenMetrics) {
            (self.phases.metric_generator)(loaded)?;
        }
        if self.runs(Phase::GenScenarios) {
            (self.phases.scenario_generator)(loaded)?;
        }
        if self.runs(Phase::Simulate) {
            for target in self.targets() {
                (self.phases.simulator)(loaded, target)?;
            }
        }
        if self.runs(Phase::Evaluate) {
            (self.phases.evaluator)(loaded)?;
        }
        Ok(())
    }

    /// Checks the input of a phase that runs alone: the output of the phase before it.
    fn check_input(
        &self,
        loaded: &BenchmarkContext,
        dir: &store::BenchmarkDir,
        no_scenarios: bool,
    ) -> Result<(), RunError> {
        let missing = |what: &str, path: std::path::PathBuf, phase: Phase| {
            Err(
                RunError::input(format!("{}: no {what}", path.display())).with_help(notice![
                    dir.command(phase.command()),
                    " makes them, or ",
                    dir.command("run"),
                    " all that is missing"
                ]),
            )
        };
        if self.replaces() && self.runs(Phase::GenMetrics) && !loaded.benchmark.hazards.is_empty() {
            return Err(RunError::input(format!(
                "{}: `hazards` groups the existing metrics, which would be replaced",
                dir.yaml().display()
            ))
            .with_help(
                "remove `hazards` first, and add it again with the ids of the new metrics",
            ));
        }
        let later = [Phase::GenScenarios, Phase::Simulate, Phase::Evaluate];
        if loaded.benchmark.metrics.is_empty()
            && !self.runs(Phase::GenMetrics)
            && later.iter().any(|phase| self.runs(*phase))
        {
            return missing("metrics", dir.yaml(), Phase::GenMetrics);
        }
        if no_scenarios && self.runs(Phase::Simulate) && !self.runs(Phase::GenScenarios) {
            return missing("scenarios", dir.scenarios(), Phase::GenScenarios);
        }
        if self.runs(Phase::Evaluate) && !self.runs(Phase::Simulate) {
            let conversations = self
                .targets()
                .map(|target| Ok(dir.target(&target.id)?.conversations()));
            let paths: Vec<_> = conversations.collect::<Result<_, RunError>>()?;
            if let (Some(first), false) = (paths.first(), paths.iter().any(|path| path.exists())) {
                return missing("conversations", first.clone(), Phase::Simulate);
            }
        }
        if self.runs(Phase::Aggregate) && !self.runs(Phase::Evaluate) && !has_scores(dir) {
            return missing("scores", dir.runs(), Phase::Evaluate);
        }
        Ok(())
    }
}

fn placeholder() -> schema::Metric {
    schema::Metric::new("m01", "x", schema::MetricType::Positive, "x")
}

fn has_scores(dir: &store::BenchmarkDir) -> bool {
    let entries = fs::read_dir(dir.runs()).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| TargetDir::at(entry.path()).scores().exists())
}
