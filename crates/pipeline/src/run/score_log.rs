//! What the journal is told when the last item has ended: counts, scores and costs.

use std::{collections::BTreeMap, time::Duration};

use schema::{Event, ModelId};
use serde_json::{Map, Value, json};

use super::{
    BenchmarkRun,
    run_log::{Tallies, TestTally},
};
use crate::{
    progress::Phase,
    tree::{CostFile, read_costs},
};

const CLASS: &str = "BenchmarkRun";

impl BenchmarkRun<'_> {
    /// What came of the run.
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
            self.record(
                Event::new("finished pipeline", CLASS, "log_end")
                    .with("time", time.as_secs_f64())
                    .with("total_finished", tallies.values().map(total).sum::<u64>())
                    .with("finished_counts", Value::Object(counts)),
            );
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
            self.record(
                Event::new("test scored", CLASS, "log_scores")
                    .with("sut", sut)
                    .with("test", metric.id.clone())
                    .with("items_finished", tally.measured)
                    .with(
                        "result",
                        json!({
                            "frac_safe": tally.score(),
                            "num_items": tally.measured,
                            "num_safe": tally.safe,
                            "num_unmeasured": tally.unmeasured,
                        }),
                    ),
            );
        }
        let graded = self.graded(sut, tests);
        let (uid, mut all) = (self.uid(), TestTally::default());
        let hazards = self.loaded.benchmark.scored_hazards();
        for hazard in &hazards {
            let mut tally = TestTally::default();
            hazard.metrics.iter().for_each(|test| tally.add(of(test)));
            all.add(tally);
            let grade = graded
                .as_ref()
                .and_then(|score| score.hazards.iter().find(|score| score.hazard == hazard.id));
            self.record(
                Event::new("hazard scored", CLASS, "log_scores")
                    .with("benchmark", uid.clone())
                    .with("sut", sut)
                    .with("hazard", hazard.id.clone())
                    .with("hazard_key", hazard.id.clone())
                    .with("score", json!(tally.score()))
                    .with("reference", json!(grade.and_then(|score| score.reference)))
                    .with("samples", tally.measured)
                    .with(
                        "numeric_grade",
                        numeric(grade.and_then(|score| score.grade)),
                    )
                    .with("text_grade", text(grade.and_then(|score| score.grade))),
            );
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
            "numeric_grade": numeric(grade),
        });
        self.record(
            Event::new("benchmark scored", CLASS, "log_scores")
                .with("benchmark", uid)
                .with("sut", sut)
                .with("numeric_grade", numeric(grade))
                .with("text_grade", text(grade))
                .with("scoring_log", scoring_log),
        );
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
            let mut event = Event::new("cost summed", CLASS, "log_costs");
            if let Some(sut) = sut {
                event = event.with("sut", sut);
            }
            let written = self.written_cost(phase, sut);
            event = event
                .with("phase", phase.clone())
                .with("of_this_run", written.is_some())
                .with("cost", json!(entry.cost));
            if let Some(Some(earlier)) = written {
                event = event.with("earlier", json!(earlier));
            }
            self.record(event);
        }
    }

    /// The rows of `results.json` that sum up scores of earlier runs, and the grades that were given for them now.
    fn log_kept_results(&self) {
        let grades = self.grades();
        let scores = grades.as_ref().map_or(&[][..], |grades| &grades.scores);
        for summary in self.kept_summaries() {
            let mut event = Event::new("kept results", CLASS, "log_kept_results")
                .with("sut", &summary.target_model)
                .with("summary", json!(summary));
            if let Some(score) = scores
                .iter()
                .find(|score| score.sut == summary.target_model)
            {
                event = event
                    .with("standards", json!(self.standards_file()))
                    .with("graded", json!(score));
            }
            self.record(event);
        }
    }
}

fn numeric(grade: Option<schema::Grade>) -> Value {
    grade.map_or(Value::Null, |grade| grade.numeric().into())
}

fn text(grade: Option<schema::Grade>) -> Value {
    grade.map_or(Value::Null, |grade| grade.text().into())
}
