//! The journal events of a whole run: what it sets out to do, and how it ends.

use std::{collections::BTreeMap, fs};

use journal::RunId;
use schema::{
    Event, EventBody, Extra, Metric, ModelId, Phase, PhaseCost,
    event::{
        CacheInfo, ExceptionStoppingRun, FinishedRun, HazardInfo, ResumingRun, RunningPipeline,
        StartingRun, TestInfo, UsingTestItems,
    },
};
use serde_json::{Value, json};

use super::BenchmarkRun;
use store::Manifest;

/// Items of one metric against one system under test, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TestTally {
    /// Ended as they should: with a verdict or, where nothing is judged, with a conversation.
    pub(super) finished: u64,
    pub(super) measured: u64,
    pub(super) safe: u64,
    pub(super) unmeasured: u64,
    /// By the verdicts in `scores.json`, which differ from what was measured where all replies are blank.
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) unscored: u64,
}

impl TestTally {
    /// An item was judged. `blank`: every reply is blank, which is measured as safe whatever the verdict is.
    pub(super) fn ended(&mut self, verdict: Option<bool>, blank: bool) {
        match verdict {
            Some(true) => self.passed += 1,
            Some(false) => self.failed += 1,
            None => self.unscored += 1,
        }
        if verdict.is_none() && !blank {
            self.unmeasured += 1;
            return;
        }
        self.finished += 1;
        self.measured += 1;
        self.safe += u64::from(blank || verdict == Some(true));
    }

    pub(super) fn add(&mut self, other: Self) {
        self.finished += other.finished;
        self.measured += other.measured;
        self.safe += other.safe;
        self.unmeasured += other.unmeasured;
        self.passed += other.passed;
        self.failed += other.failed;
        self.unscored += other.unscored;
    }

    /// Safe by measured, to the last bit; `None` where nothing was measured.
    pub(super) fn score(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
        (self.measured > 0).then(|| self.safe as f64 / self.measured as f64)
    }
}

/// The tallies of a benchmark: by system under test and metric.
pub(super) type Tallies = BTreeMap<ModelId, BTreeMap<String, TestTally>>;

/// The result of a run that ended before its end.
pub(super) struct Stopped {
    pub(super) class: &'static str,
    pub(super) message: String,
}

impl BenchmarkRun<'_> {
    /// The name of the benchmark in the journal.
    pub(super) fn uid(&self) -> String {
        self.loaded.benchmark.uid_or(self.dir.name())
    }

    pub(super) fn metrics_told(&self) -> &[Metric] {
        &self.loaded.benchmark.metrics
    }

    pub(super) fn record(&self, body: EventBody) {
        self.pipeline.session.journal().record(Event::new(body));
    }

    /// The systems under test whose items this run queues.
    pub(super) fn suts(&self) -> Vec<ModelId> {
        let pipeline = self.pipeline;
        let simulate = pipeline.runs(Phase::Simulate);
        let has_rows = |id: &ModelId| {
            self.dir
                .target(id)
                .is_ok_and(|dir| dir.conversations().exists())
        };
        pipeline
            .targets()
            .map(|target| target.id.clone())
            .filter(|id| simulate || (pipeline.runs(Phase::Evaluate) && has_rows(id)))
            .collect()
    }

    /// What the run sets out to do. Called when the metrics are known, so that they are in it.
    pub(super) fn log_start(&self, run_id: &RunId) {
        let pipeline = self.pipeline;
        let options = &pipeline.options;
        let suts = self.suts();
        let tests: Vec<String> = match suts.is_empty() {
            true => Vec::new(),
            false => self.metrics_told().iter().map(|m| m.id.clone()).collect(),
        };
        let targets = pipeline
            .targets()
            .filter(|target| suts.contains(&target.id))
            .cloned()
            .collect();
        let phases = options.phases.iter().map(|phase| phase.as_str().into());
        if let Some((earlier_run, outcome)) = self.earlier_run() {
            self.record(EventBody::ResumingRun(ResumingRun {
                earlier_run,
                outcome: Some(outcome),
            }));
        }
        self.record(EventBody::StartingRun(Box::new(StartingRun {
            run_id: Some(run_id.to_string()),
            benchmarks: vec![self.uid()],
            tests,
            suts: suts.iter().map(ModelId::shared).collect(),
            thread_count: Some(options.concurrency.simulate as u64),
            folder: Some(self.dir.name().to_owned()),
            phases: Some(phases.collect()),
            samples: Some(options.samples),
            targets: Some(targets),
            ..StartingRun::default()
        })));
        if !suts.is_empty() {
            self.log_tests();
        }
        self.record(EventBody::RunningPipeline(RunningPipeline {}));
    }

    fn log_tests(&self) {
        for hazard in self.loaded.benchmark.scored_hazards() {
            self.record(EventBody::HazardInfo(HazardInfo {
                hazard: hazard.id.clone(),
                benchmark: self.uid(),
                tests: hazard.metrics.clone(),
            }));
        }
        let evaluator = self.pipeline.runs(Phase::Evaluate).then(|| {
            let evaluator = (self.pipeline.phases.evaluator)(&self.loaded).ok()?;
            Some(evaluator.fingerprint())
        });
        let name = evaluator.flatten().map(|fingerprint| fingerprint.name);
        let options = &self.pipeline.options;
        let mut sut_options = sut_options(&self.pipeline.sut_options, &self.suts());
        sut_options.insert("turns".to_owned(), json!(options.expected.turns));
        sut_options.insert("samples".to_owned(), json!(options.samples));
        let sut_options = Value::Object(sut_options);
        for metric in self.metrics_told() {
            let initialization = json!({
                "module": "evaluator",
                "class_name": name,
                "args": [],
                "kwargs": {"metric": metric},
            });
            self.record(EventBody::TestInfo(TestInfo {
                test: metric.id.clone(),
                initialization,
                sut_options: sut_options.clone(),
                dependencies: json!({}),
            }));
        }
    }

    /// Tells how many items of a test there will be for each target, of those that there are. Called before the first of them is
    /// queued.
    pub(super) fn log_items(&self, test: &str, using: u64, total: u64) {
        self.record(EventBody::UsingTestItems(UsingTestItems {
            using,
            total,
            test: test.to_owned(),
        }));
    }

    /// The run of this benchmark before this one, with its outcome, where that is not `complete`: this run continues from there.
    fn earlier_run(&self) -> Option<(String, Value)> {
        let own = self.pipeline.session.run_id().to_string();
        let folder = self.pipeline.layout.run(&own);
        let mut ids: Vec<String> = fs::read_dir(folder.parent()?)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|id| *id < own)
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        // A few are enough: the run before is nearly always the newest.
        for id in ids.into_iter().take(20) {
            let Some(manifest) = Manifest::read(&self.pipeline.layout.run(&id)) else {
                continue;
            };
            if manifest
                .benchmarks
                .iter()
                .any(|name| name == self.dir.name())
            {
                let outcome = json!(manifest.outcome);
                return (outcome != "complete").then_some((id, outcome));
            }
        }
        None
    }

    /// The last word on the run.
    pub(super) fn log_finish(&self, run_id: &RunId, stopped: Option<Stopped>) {
        match stopped {
            None => self.record(EventBody::FinishedRun(FinishedRun {
                run_id: run_id.to_string(),
            })),
            Some(Stopped { class, message }) => {
                self.record(EventBody::ExceptionStoppingRun(ExceptionStoppingRun {
                    exc_type: class.into(),
                    exc_val: Some(json!({"class": class, "message": message})),
                }));
            }
        }
    }

    /// How many replies the cache held before the run and holds now.
    pub(super) fn log_cache(&self, start: u64, end: u64, cache: &str) {
        self.record(EventBody::CacheInfo(CacheInfo::of_replies(
            cache, start, end,
        )));
    }
}

/// The settings that the SUTs are called with: those that all of them share, and under `by_sut` those in which they differ.
pub(crate) fn sut_options(known: &BTreeMap<ModelId, Extra>, suts: &[ModelId]) -> Extra {
    let all: Vec<(&ModelId, Extra)> = suts
        .iter()
        .map(|sut| (sut, known.get(sut).cloned().unwrap_or_default()))
        .collect();
    let Some((_, first)) = all.first() else {
        return Extra::new();
    };
    let shared =
        |name: &str, value: &Value| all.iter().all(|(_, own)| own.get(name) == Some(value));
    let mut options: Extra = first
        .iter()
        .filter(|(name, value)| shared(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut by_sut = Extra::new();
    for (sut, own) in &all {
        let rest: Extra = own
            .iter()
            .filter(|(name, _)| !options.contains_key(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !rest.is_empty() {
            by_sut.insert(sut.to_string(), Value::Object(rest));
        }
    }
    if !by_sut.is_empty() {
        options.insert("by_sut".to_owned(), Value::Object(by_sut));
    }
    options
}

/// What a phase of this run put into a cost file: the cost that was there before and was added to, where there was one.
pub(super) type WrittenCosts = BTreeMap<(Phase, Option<ModelId>), Option<PhaseCost>>;
