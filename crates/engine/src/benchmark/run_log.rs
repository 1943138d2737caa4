//! The journal events of a benchmark's run: its plan, and how it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use journal::RunId;
use schema::{
    BenchmarkScore, EventBody, Extra, Grade, ModelId, Phase,
    event::{CostSummed, KeptResults, StartingRun},
};
use serde_json::{Value, json};

use super::{results::Results, run::BenchmarkRun};
use crate::{
    run_log::{RunLog, ScoredHazard, TestSetup},
    tally::TestTally,
};
use store::{CostFile, TestCounts, grade_counts, read_costs};

/// The journal events of one benchmark's run that do not belong to one item.
pub(super) struct BenchmarkLog<'r> {
    pub(super) run: &'r BenchmarkRun<'r>,
    pub(super) log: RunLog<'r>,
}

impl<'r> BenchmarkLog<'r> {
    pub(super) fn new(run: &'r BenchmarkRun<'r>) -> Self {
        let log = RunLog {
            journal: run.pipeline.session.journal().as_ref(),
            uid: run.loaded.benchmark.uid_or(run.dir.name()),
            class: None,
        };
        Self { run, log }
    }

    /// The systems under test whose items this run queues.
    pub(super) fn suts(&self) -> Vec<ModelId> {
        let pipeline = self.run.pipeline;
        let simulate = pipeline.runs(Phase::Simulate);
        let has_rows = |id: &ModelId| {
            let dir = self.run.dir.target(id);
            dir.is_ok_and(|dir| dir.conversations().exists())
        };
        pipeline
            .targets()
            .map(|target| target.id.clone())
            .filter(|id| simulate || (pipeline.runs(Phase::Evaluate) && has_rows(id)))
            .collect()
    }

    fn record(&self, body: EventBody) {
        self.log.record("end", body);
    }

    /// Records what the run plans to do. Called when the metrics are known, because the event lists them.
    pub(super) fn start(&self, run_id: &RunId) {
        let pipeline = self.run.pipeline;
        let options = &pipeline.options;
        let suts = self.suts();
        let tests: Vec<String> = match suts.is_empty() {
            true => Vec::new(),
            false => self
                .run
                .loaded
                .benchmark
                .metrics
                .iter()
                .map(|m| m.id.clone())
                .collect(),
        };
        let targets = pipeline
            .targets()
            .filter(|target| suts.contains(&target.id))
            .cloned()
            .collect();
        let phases = options.phases.iter().map(|phase| phase.as_str().into());
        let records = pipeline.layout.run(&pipeline.session.run_id().to_string());
        self.log.resuming(&records, |manifest| {
            let mut names = manifest.benchmarks.iter();
            names.any(|name| name == self.run.dir.name())
        });
        self.record(EventBody::StartingRun(Box::new(StartingRun {
            run_id: Some(run_id.to_string()),
            benchmarks: vec![self.log.uid.clone()],
            tests,
            suts: suts.iter().map(ModelId::shared).collect(),
            thread_count: Some(options.concurrency.simulate as u64),
            folder: Some(self.run.dir.name().to_owned()),
            phases: Some(phases.collect()),
            samples: Some(options.samples),
            prompt_versions: Some(self.run.loaded.versions),
            targets: Some(targets),
            shard: self.run.part(),
            ..StartingRun::default()
        })));
        if !suts.is_empty() {
            self.tests();
        }
        self.log.running();
    }

    fn tests(&self) {
        for hazard in self.run.loaded.benchmark.scored_hazards() {
            self.log.hazard(&hazard.id, &hazard.metrics);
        }
        let evaluator = self.run.pipeline.runs(Phase::Evaluate).then(|| {
            let evaluator = (self.run.pipeline.phases.evaluator)(&self.run.loaded).ok()?;
            Some(evaluator.fingerprint())
        });
        let name = evaluator.flatten().map(|fingerprint| fingerprint.name);
        let options = &self.run.pipeline.options;
        let mut sut_options = sut_options(&self.run.pipeline.sut_options, &self.suts());
        sut_options.insert("turns".to_owned(), json!(options.expected.turns));
        sut_options.insert("samples".to_owned(), json!(options.samples));
        let sut_options = Value::Object(sut_options);
        let setup = TestSetup {
            module: "evaluator",
            class_name: name.as_deref(),
            sut_options: &sut_options,
        };
        for metric in &self.run.loaded.benchmark.metrics {
            let kwargs = json!({"metric": metric});
            self.log.test(&metric.id, &setup, &kwargs);
        }
    }

    /// The result of the run.
    pub(super) fn end(&self, results: &Results, time: Duration) {
        let tallies = &results.tallies;
        if !tallies.is_empty() {
            self.log.finished_pipeline(tallies, time);
        }
        if self.run.pipeline.runs(Phase::Evaluate) {
            for (sut, tests) in tallies {
                self.scores(results, sut, tests);
            }
        }
        self.costs(results);
        self.kept_results(results);
    }

    fn scores(&self, results: &Results, sut: &ModelId, tests: &BTreeMap<String, TestTally>) {
        for metric in &self.run.loaded.benchmark.metrics {
            let tally = tests.get(&metric.id).copied().unwrap_or_default();
            self.log.test_scored(sut, &metric.id, tally);
        }
        let graded = self.graded(results, sut, tests);
        let mut all = TestTally::default();
        let hazards = self.run.loaded.benchmark.scored_hazards();
        for hazard in &hazards {
            let score = graded
                .as_ref()
                .and_then(|score| score.hazards.iter().find(|score| score.hazard == hazard.id));
            let hazard = ScoredHazard {
                id: hazard.id.clone(),
                tests: hazard.metrics.clone(),
                reference: score.and_then(|score| score.reference),
                grade: score.and_then(|score| score.grade),
            };
            all.add(self.log.hazard_scored(sut, &hazard, tests));
        }
        let grade = graded.as_ref().and_then(|score| score.grade);
        let scoring_log = json!({
            "locale": self.run.loaded.benchmark.locale,
            "num_hazards": hazards.len(),
            "total_scored": all.measured,
            "total_safe": all.safe,
            "standards": self.standards_file(),
            "frac_safe": all.score(),
            "reference_safe": graded.as_ref().and_then(|score| score.reference),
            "numeric_grade": grade.map(Grade::numeric),
        });
        self.log.benchmark_scored(sut, grade, scoring_log);
    }

    /// The scores and grades of a target from the measurements of this run; `None` where nothing is graded.
    fn graded(
        &self,
        results: &Results,
        sut: &ModelId,
        tests: &BTreeMap<String, TestTally>,
    ) -> Option<BenchmarkScore> {
        let standards = self.run.standards.as_ref()?;
        let counts = tests.iter().map(|(test, tally)| {
            let counts = TestCounts {
                passed: tally.passed,
                failed: tally.failed,
                unscored: tally.unscored,
            };
            (test.as_str(), counts)
        });
        let benchmark = &self.run.loaded.benchmark;
        let counted = grade_counts(benchmark, sut, counts, &standards.standards);
        // `grades.json` was computed with the scenarios too, and gives no grade that they do not support. It is used if it
        // covers the same rows.
        let mut written = results
            .report
            .grades
            .iter()
            .flat_map(|grades| &grades.scores);
        let same_rows = |score: &&BenchmarkScore| {
            let rows = |score: &BenchmarkScore| (score.passed, score.unscored);
            score.sut == *sut && rows(score) == rows(&counted)
        };
        Some(written.find(same_rows).cloned().unwrap_or(counted))
    }

    /// The file of the standards, as records name it.
    fn standards_file(&self) -> Option<String> {
        Some(self.run.standards.as_ref()?.file.clone())
    }

    /// Records every entry of the tree's cost files, and whether it is the sum of this run's calls or was there before.
    fn costs(&self, results: &Results) {
        self.cost_file(results, None, &read_costs(&self.run.dir, None));
        for sut in self.suts() {
            let costs = read_costs(&self.run.dir, Some(&sut));
            self.cost_file(results, Some(&sut), &costs);
        }
    }

    fn cost_file(&self, results: &Results, sut: Option<&ModelId>, costs: &CostFile) {
        for (phase, entry) in costs {
            let written = results.written_cost(phase, sut);
            self.record(EventBody::CostSummed(CostSummed {
                sut: sut.map(ModelId::shared),
                phase: phase.clone(),
                of_this_run: written.is_some(),
                cost: entry.cost,
                earlier: written.flatten(),
            }));
        }
    }

    /// Records the rows of `results.json` that summarise scores of earlier runs, and the grades given for them now.
    fn kept_results(&self, results: &Results) {
        let grades = results.report.grades.as_ref();
        let scores = grades.map_or(&[][..], |grades| &grades.scores);
        let kept = results.report.summaries.iter();
        for summary in kept.filter(|summary| !results.has_judged(&summary.target_model)) {
            let graded = scores
                .iter()
                .find(|score| score.sut == summary.target_model);
            self.record(EventBody::KeptResults(KeptResults {
                sut: summary.target_model.shared(),
                standards: graded.map(|_| json!(self.standards_file())),
                graded: graded.cloned().map(Box::new),
                summary: Box::new(summary.clone()),
            }));
        }
    }
}

/// The settings that the SUTs are called with: the shared ones, and under `by_sut` those that differ.
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
