//! The journal events when the last item has ended: counts, scores and costs.

use std::{collections::BTreeMap, time::Duration};

use schema::{
    EventBody, Grade, ModelId, Phase,
    event::{BenchmarkScored, CostSummed, FinishedPipeline, HazardScored, KeptResults, TestScored},
};
use serde_json::{Map, Value, json};

use super::{
    BenchmarkRun,
    run_log::{Tallies, TestTally},
};
use store::{CostFile, read_costs};

impl BenchmarkRun<'_> {
    /// The result of the run.
    pub(super) fn log_end(&self, tallies: &Tallies, time: Duration) {
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
        if self.pipeline.runs(Phase::Evaluate) {
            for (sut, tests) in tallies {
                self.log_scores(sut, tests);
            }
        }
        self.log_costs();
        self.log_kept_results();
    }

    fn log_scores(&self, sut: &ModelId, tests: &BTreeMap<String, TestTally>) {
        let of = |test: &str| tests.get(test).copied().unwrap_or_default();
        for metric in self.metrics_told() {
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
        let graded = self.graded(sut, tests);
        let (uid, mut all) = (self.uid(), TestTally::default());
        let hazards = self.loaded.benchmark.scored_hazards();
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
            "locale": self.loaded.benchmark.locale,
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

    /// Every entry of the tree's cost files, and whether it is the sum of this run's calls or was there before.
    fn log_costs(&self) {
        self.log_cost_file(None, &read_costs(&self.dir.cost()));
        for sut in self.suts() {
            if let Ok(dir) = self.dir.target(&sut) {
                self.log_cost_file(Some(&sut), &read_costs(&dir.cost()));
            }
        }
    }

    fn log_cost_file(&self, sut: Option<&ModelId>, costs: &CostFile) {
        for (phase, entry) in costs {
            let written = self.written_cost(phase, sut);
            self.record(EventBody::CostSummed(CostSummed {
                sut: sut.map(ModelId::shared),
                phase: phase.clone(),
                of_this_run: written.is_some(),
                cost: entry.cost,
                earlier: written.flatten(),
            }));
        }
    }

    /// The rows of `results.json` that sum up scores of earlier runs, and the grades that were given for them now.
    fn log_kept_results(&self) {
        let grades = self.grades();
        let scores = grades.as_ref().map_or(&[][..], |grades| &grades.scores);
        for summary in self.kept_summaries() {
            let graded = scores
                .iter()
                .find(|score| score.sut == summary.target_model);
            self.record(EventBody::KeptResults(KeptResults {
                sut: summary.target_model.shared(),
                standards: graded.map(|_| json!(self.standards_file())),
                graded: graded.cloned().map(Box::new),
                summary: Box::new(summary),
            }));
        }
    }
}
