//! The journal events of a run as a whole that benchmarks and safety evaluations share: what is planned, and how it ends.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use journal::RunId;
use schema::{
    Event, EventBody, Grade, Journal, ModelId,
    event::{
        BenchmarkScored, CacheInfo, ExceptionStoppingRun, FinishedPipeline, FinishedRun,
        HazardInfo, HazardScored, ResumingRun, RunningPipeline, TestInfo, TestScored,
        UsingTestItems,
    },
};
use serde_json::{Map, Value, json};
use store::{Manifest, RunError};

use crate::tally::{Tallies, TestTally};

/// How many records of earlier runs are read: the previous run is nearly always the newest.
const MOST_RECORDS: usize = 20;

/// The events of one run of a benchmark, or of one target of a safety evaluation, that do not belong to one item.
pub(crate) struct RunLog<'a> {
    pub(crate) journal: &'a dyn Journal,
    /// The benchmark, as the journal names it.
    pub(crate) uid: String,
    /// The type that the events name as their writer; `None`: the one that usually writes them.
    pub(crate) class: Option<&'static str>,
}

/// A hazard, its tests, and what its score is compared with.
pub(crate) struct ScoredHazard {
    pub(crate) id: String,
    pub(crate) tests: Vec<String>,
    pub(crate) reference: Option<f64>,
    pub(crate) grade: Option<Grade>,
}

/// How the tests of a benchmark are initialised, as [`TestInfo`] has it.
pub(crate) struct TestSetup<'a> {
    pub(crate) module: &'static str,
    /// The name of the phase that judges.
    pub(crate) class_name: Option<&'a str>,
    pub(crate) sut_options: &'a Value,
}

impl RunLog<'_> {
    pub(crate) fn record(&self, method: &'static str, body: EventBody) {
        let event = Event::new(body);
        self.journal.record(match self.class {
            Some(class) => event.by(class, method),
            None => event,
        });
    }

    /// Records that this run continues an earlier one that did not complete, if it does: the newest whose manifest `is_same` takes.
    /// `folder` has the records of this run.
    pub(crate) fn resuming(&self, folder: &Path, is_same: impl Fn(&Manifest) -> bool) {
        if let Some(resuming) = earlier_run(folder, is_same) {
            self.record("start", EventBody::ResumingRun(resuming));
        }
    }

    /// Records the tests of a hazard.
    pub(crate) fn hazard(&self, hazard: &str, tests: &[String]) {
        let info = HazardInfo {
            hazard: hazard.to_owned(),
            benchmark: self.uid.clone(),
            tests: tests.to_vec(),
        };
        self.record("start", EventBody::HazardInfo(info));
    }

    /// Records a test, which `kwargs` describe.
    pub(crate) fn test(&self, test: &str, setup: &TestSetup<'_>, kwargs: &Value) {
        let initialization = json!({
            "module": setup.module,
            "class_name": setup.class_name,
            "args": [],
            "kwargs": kwargs,
        });
        let info = TestInfo {
            test: test.to_owned(),
            initialization,
            sut_options: setup.sut_options.clone(),
            dependencies: json!({}),
        };
        self.record("start", EventBody::TestInfo(info));
    }

    /// Records that items follow.
    pub(crate) fn running(&self) {
        self.record("start", EventBody::RunningPipeline(RunningPipeline {}));
    }

    /// Records how many items of a test the run uses for each target (`using`), and how many exist (`total`); `by_sut` has the
    /// targets for which it uses fewer. Called before the first item is queued.
    pub(crate) fn items(
        &self,
        test: &str,
        (using, total): (u64, u64),
        by_sut: BTreeMap<Arc<str>, u64>,
    ) {
        let items = UsingTestItems {
            using,
            total,
            test: test.to_owned(),
            by_sut,
        };
        self.record("items", EventBody::UsingTestItems(items));
    }

    /// Records how many items ended normally.
    pub(crate) fn finished_pipeline(&self, tallies: &Tallies, time: Duration) {
        let of_tests = |tests: &BTreeMap<String, TestTally>| -> Map<String, Value> {
            let tests = tests.iter();
            tests
                .map(|(test, tally)| (test.clone(), tally.finished.into()))
                .collect()
        };
        let counts: Map<String, Value> = tallies
            .iter()
            .map(|(sut, tests)| (sut.to_string(), Value::Object(of_tests(tests))))
            .collect();
        let all = tallies.values().flat_map(BTreeMap::values);
        let finished = FinishedPipeline {
            time: Some(time.as_secs_f64()),
            total_finished: Some(all.map(|tally| tally.finished).sum()),
            finished_counts: Some(Value::Object(counts)),
        };
        self.record("end", EventBody::FinishedPipeline(finished));
    }

    /// Records the score of a test.
    pub(crate) fn test_scored(&self, sut: &ModelId, test: &str, tally: TestTally) {
        let scored = TestScored {
            sut: sut.shared(),
            test: test.to_owned(),
            items_finished: tally.measured,
            result: Some(json!({
                "frac_safe": tally.score(),
                "num_items": tally.measured,
                "num_safe": tally.safe,
                "num_unmeasured": tally.unmeasured,
            })),
        };
        self.record("scores", EventBody::TestScored(scored));
    }

    /// Records the score of a hazard. Returns its items.
    pub(crate) fn hazard_scored(
        &self,
        sut: &ModelId,
        hazard: &ScoredHazard,
        tests: &BTreeMap<String, TestTally>,
    ) -> TestTally {
        let mut tally = TestTally::default();
        for test in hazard.tests.iter().filter_map(|test| tests.get(test)) {
            tally.add(*test);
        }
        let scored = HazardScored {
            benchmark: Some(self.uid.clone()),
            sut: sut.shared(),
            hazard: hazard.id.clone(),
            hazard_key: Some(hazard.id.clone()),
            score: tally.score(),
            reference: hazard.reference,
            samples: Some(tally.measured),
            numeric_grade: hazard.grade.map(Grade::numeric),
            text_grade: hazard.grade.map(|grade| grade.text().into()),
        };
        self.record("scores", EventBody::HazardScored(scored));
        tally
    }

    /// Records the score of the whole.
    pub(crate) fn benchmark_scored(&self, sut: &ModelId, grade: Option<Grade>, scoring_log: Value) {
        let scored = BenchmarkScored {
            benchmark: Some(self.uid.clone()),
            sut: sut.shared(),
            numeric_grade: grade.map(Grade::numeric),
            text_grade: grade.map(|grade| grade.text().into()),
            scoring_log: Some(scoring_log),
        };
        self.record("scores", EventBody::BenchmarkScored(scored));
    }

    /// Records the last event of the run: whether it finished.
    pub(crate) fn finish(&self, run_id: &RunId, error: Option<&RunError>, is_stopped: bool) {
        let stopped = |class: &str, message: &str| {
            EventBody::ExceptionStoppingRun(ExceptionStoppingRun {
                exc_type: class.to_owned().into(),
                exc_val: Some(json!({"class": class, "message": message})),
            })
        };
        let body = match error {
            Some(error) => stopped(ExceptionStoppingRun::ERROR, &error.to_string()),
            None if is_stopped => stopped(
                ExceptionStoppingRun::STOP,
                "the run was stopped before its end",
            ),
            None => EventBody::FinishedRun(FinishedRun {
                run_id: run_id.to_string(),
            }),
        };
        self.record("end", body);
    }

    /// Records how many replies the cache held before the run and holds now.
    pub(crate) fn cache(&self, start: u64, end: u64, cache: &str) {
        let info = CacheInfo::of_replies(cache, start, end);
        self.record("cache", EventBody::CacheInfo(info));
    }
}

/// The newest run before the one in `folder` whose manifest `is_same` takes, if that run did not complete.
fn earlier_run(folder: &Path, is_same: impl Fn(&Manifest) -> bool) -> Option<ResumingRun> {
    let own = folder.file_name()?.to_str()?;
    let all = folder.parent()?;
    let mut ids: Vec<String> = std::fs::read_dir(all)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|id| id.as_str() < own)
        .collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let newest = ids.into_iter().take(MOST_RECORDS);
    let mut known = newest.filter_map(|id| Some((Manifest::read(&all.join(&id))?, id)));
    let (manifest, earlier_run) = known.find(|(manifest, _)| is_same(manifest))?;
    let outcome = json!(manifest.outcome);
    (outcome != "complete").then_some(ResumingRun {
        earlier_run,
        outcome: Some(outcome),
    })
}
