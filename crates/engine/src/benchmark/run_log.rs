//! The journal events of a whole run: its plan, and how it ends.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use journal::RunId;
use schema::{
    BenchmarkScore, Event, EventBody, Extra, Grade, ModelId, Phase,
    event::{
        BenchmarkScored, CacheInfo, CostSummed, ExceptionStoppingRun, FinishedPipeline,
        FinishedRun, HazardInfo, HazardScored, KeptResults, ResumingRun, RunningPipeline,
        StartingRun, TestInfo, TestScored, UsingTestItems,
    },
};
use serde_json::{Map, Value, json};

use super::{
    results::{Results, TestTally},
    run::BenchmarkRun,
};
use store::{CostFile, Manifest, RunError, TestCounts, grade_counts, read_costs};

/// The journal events of one benchmark's run that do not belong to one item.
pub(super) struct RunLog<'r> {
    pub(super) run: &'r BenchmarkRun<'r>,
}

impl RunLog<'_> {
    /// The name of the benchmark in the journal.
    pub(super) fn uid(&self) -> String {
        self.run.loaded.benchmark.uid_or(self.run.dir.name())
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

    pub(super) fn record(&self, body: EventBody) {
        self.run.pipeline.session.journal().record(Event::new(body));
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
            folder: Some(self.run.dir.name().to_owned()),
            phases: Some(phases.collect()),
            samples: Some(options.samples),
            prompt_versions: Some(self.run.loaded.versions),
            targets: Some(targets),
            ..StartingRun::default()
        })));
        if !suts.is_empty() {
            self.tests();
        }
        self.record(EventBody::RunningPipeline(RunningPipeline {}));
    }

    fn tests(&self) {
        for hazard in self.run.loaded.benchmark.scored_hazards() {
            self.record(EventBody::HazardInfo(HazardInfo {
                hazard: hazard.id.clone(),
                benchmark: self.uid(),
                tests: hazard.metrics.clone(),
            }));
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
        for metric in &self.run.loaded.benchmark.metrics {
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

    /// Records how many items of a test the run uses for each target (`using`), and how many exist (`total`). Called before the
    /// first item is queued.
    pub(super) fn items(&self, test: &str, using: u64, total: u64) {
        self.items_by_sut(test, using, total, BTreeMap::new());
    }

    /// The same, where the run uses fewer items for the targets in `by_sut`.
    pub(super) fn items_by_sut(
        &self,
        test: &str,
        using: u64,
        total: u64,
        by_sut: BTreeMap<Arc<str>, u64>,
    ) {
        self.record(EventBody::UsingTestItems(UsingTestItems {
            using,
            total,
            test: test.to_owned(),
            by_sut,
        }));
    }

    /// The previous run of this benchmark and its outcome, if that is not `complete`: this run continues from there.
    fn earlier_run(&self) -> Option<(String, Value)> {
        let own = self.run.pipeline.session.run_id().to_string();
        let folder = self.run.pipeline.layout.run(&own);
        let mut ids: Vec<String> = fs::read_dir(folder.parent()?)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|id| *id < own)
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        // A few are enough: the previous run is nearly always the newest.
        for id in ids.into_iter().take(20) {
            let Some(manifest) = Manifest::read(&self.run.pipeline.layout.run(&id)) else {
                continue;
            };
            if manifest
                .benchmarks
                .iter()
                .any(|name| name == self.run.dir.name())
            {
                let outcome = json!(manifest.outcome);
                return (outcome != "complete").then_some((id, outcome));
            }
        }
        None
    }

    /// The result of the run.
    pub(super) fn end(&self, results: &Results, time: Duration) {
        let tallies = &results.tallies;
        let total = |tests: &BTreeMap<String, TestTally>| {
            tests.values().map(|tally| tally.finished).sum::<u64>()
        };
        if !tallies.is_empty() {
            let counts: Map<String, Value> = tallies
                .iter()
                .map(|(sut, tests)| {
                    let tests: Map<String, Value> = tests
                        .iter()
                        .map(|(test, tally)| (test.clone(), tally.finished.into()))
                        .collect();
                    (sut.to_string(), Value::Object(tests))
                })
                .collect();
            self.record(EventBody::FinishedPipeline(FinishedPipeline {
                time: Some(time.as_secs_f64()),
                total_finished: Some(tallies.values().map(total).sum()),
                finished_counts: Some(Value::Object(counts)),
            }));
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
        let of = |test: &str| tests.get(test).copied().unwrap_or_default();
        for metric in &self.run.loaded.benchmark.metrics {
            let tally = of(&metric.id);
            self.record(EventBody::TestScored(TestScored {
                sut: sut.shared(),
                test: metric.id.clone(),
                items_finished: tally.measured,
                result: Some(json!({
                    "frac_safe": tally.score(),
                    "num_items": tally.measured,
                    "num_safe": tally.safe,
                    "num_unmeasured": tally.unmeasured,
                })),
            }));
        }
        let graded = self.graded(results, sut, tests);
        let (uid, mut all) = (self.uid(), TestTally::default());
        let hazards = self.run.loaded.benchmark.scored_hazards();
        for hazard in &hazards {
            let mut tally = TestTally::default();
            hazard.metrics.iter().for_each(|test| tally.add(of(test)));
            all.add(tally);
            let score = graded
                .as_ref()
                .and_then(|score| score.hazards.iter().find(|score| score.hazard == hazard.id));
            let grade = score.and_then(|score| score.grade);
            self.record(EventBody::HazardScored(HazardScored {
                benchmark: Some(uid.clone()),
                sut: sut.shared(),
                hazard: hazard.id.clone(),
                hazard_key: Some(hazard.id.clone()),
                score: tally.score(),
                reference: score.and_then(|score| score.reference),
                samples: Some(tally.measured),
                numeric_grade: grade.map(Grade::numeric),
                text_grade: grade.map(|grade| grade.text().into()),
            }));
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
        self.record(EventBody::BenchmarkScored(BenchmarkScored {
            benchmark: Some(uid),
            sut: sut.shared(),
            numeric_grade: grade.map(Grade::numeric),
            text_grade: grade.map(|grade| grade.text().into()),
            scoring_log: Some(scoring_log),
        }));
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
        self.cost_file(results, None, &read_costs(&self.run.dir.cost()));
        for sut in self.suts() {
            if let Ok(dir) = self.run.dir.target(&sut) {
                self.cost_file(results, Some(&sut), &read_costs(&dir.cost()));
            }
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

    /// Records the last event of the run: whether it finished.
    pub(super) fn finish(&self, run_id: &RunId, error: Option<&RunError>, is_stopped: bool) {
        let stopped = |class: &str, message: &str| {
            EventBody::ExceptionStoppingRun(ExceptionStoppingRun {
                exc_type: class.to_owned().into(),
                exc_val: Some(json!({"class": class, "message": message})),
            })
        };
        self.record(match error {
            Some(error) => stopped(ExceptionStoppingRun::ERROR, &error.to_string()),
            None if is_stopped => stopped(
                ExceptionStoppingRun::STOP,
                "the run was stopped before its end",
            ),
            None => EventBody::FinishedRun(FinishedRun {
                run_id: run_id.to_string(),
            }),
        });
    }

    /// Records how many replies the cache held before the run and holds now.
    pub(super) fn cache(&self, start: u64, end: u64, cache: &str) {
        self.record(EventBody::CacheInfo(CacheInfo::of_replies(
            cache, start, end,
        )));
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
