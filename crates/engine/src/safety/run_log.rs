//! The journal events of the run of one target: its plan, and the result.

use std::{collections::BTreeMap, time::Duration};

use schema::{
    Event, EventBody, Journal, ReplySpan,
    event::{
        BenchmarkScored, CacheInfo, ExceptionStoppingRun, FinishedPipeline, FinishedRun,
        HazardInfo, HazardScored, RunningPipeline, StartingRun, TestInfo, TestScored,
        UsingTestItems,
    },
    safety::TestCaseGroup,
};
use serde_json::{Map, Value, json};

use super::{SafetyMode, SafetyRun, SafetyTarget};

const CLASS: &str = "SafetyRun";

/// Items, by group and by how they ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    groups: BTreeMap<String, Counted>,
    /// When the replies of the target came, in the attempts that were scored.
    pub(super) came: Option<ReplySpan>,
}

/// The items of one group.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    measured: u64,
    safe: u64,
    unmeasured: u64,
}

impl Tallies {
    /// Counts replies of the target by when they came.
    pub(super) fn came(&mut self, replies: &ReplySpan) {
        match &mut self.came {
            Some(span) => span.add(replies),
            none => *none = Some(*replies),
        }
    }
}

impl Counted {
    /// Safe items divided by measured items, to the last bit; `None` where nothing was measured.
    fn score(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 cases")]
        (self.measured > 0).then(|| self.safe as f64 / self.measured as f64)
    }
}

impl Tallies {
    pub(super) fn measured(&mut self, group: &str, safe: bool) {
        let counted = self.of(group);
        counted.measured += 1;
        counted.safe += u64::from(safe);
    }

    pub(super) fn unmeasured(&mut self, group: &str) {
        self.of(group).unmeasured += 1;
    }

    fn of(&mut self, group: &str) -> &mut Counted {
        self.groups.entry(group.to_owned()).or_default()
    }

    fn get(&self, group: &str) -> Counted {
        self.groups.get(group).copied().unwrap_or_default()
    }
}

/// The journal of one target's run.
pub(super) struct RunLog<'a> {
    pub(super) run: &'a SafetyRun,
    pub(super) target: &'a SafetyTarget,
    pub(super) journal: &'a dyn Journal,
    /// The id of the journal.
    pub(super) run_id: String,
}

impl RunLog<'_> {
    /// The evaluation's name, where journals have a benchmark.
    fn benchmark(&self) -> String {
        format!("safety_{}", self.run.mode.as_str())
    }

    /// The groups whose cases run.
    fn groups(&self) -> impl Iterator<Item = &TestCaseGroup> {
        self.items_of_groups().map(|(group, ..)| group)
    }

    /// The groups whose cases run, with the number of items that run and that exist. Items derived from other items are not
    /// counted: variations, and strategies that replace one that declined.
    fn items_of_groups(&self) -> impl Iterator<Item = (&TestCaseGroup, u64, u64)> {
        let mode = &self.run.mode;
        let mut room = mode.max_cases().unwrap_or(u64::MAX);
        let counted = self.run.groups.iter().map(move |group| {
            let total = group.cases.len() as u64 * mode.items_of_a_case();
            let using = total.min(room);
            room -= using;
            (group, using, total)
        });
        counted.filter(|(_, using, _)| *using > 0)
    }

    fn record(&self, method: &'static str, body: EventBody) {
        self.journal.record(Event::new(body).by(CLASS, method));
    }

    pub(super) fn start(&self) {
        let settings = match &self.run.mode {
            SafetyMode::SingleTurn { settings, .. } => json!(settings),
            SafetyMode::MultiTurn { settings, .. } => json!(settings),
        };
        let target = &self.target.target;
        let starting = StartingRun {
            run_id: Some(self.run_id.clone()),
            benchmarks: vec![self.benchmark()],
            tests: self.groups().map(|group| group.name.clone()).collect(),
            suts: vec![target.id.shared()],
            max_items: self.run.mode.max_cases(),
            thread_count: Some(self.run.concurrency.simulate as u64),
            safety_run: Some(self.run.session.run_id().to_string()),
            targets: Some(vec![target.clone()]),
            system_prompt: Some(json!(self.target.system_prompt)),
            settings: Some(settings),
            ..StartingRun::default()
        };
        self.record("start", EventBody::StartingRun(Box::new(starting)));
        for group in self.groups() {
            let info = HazardInfo {
                hazard: group.name.clone(),
                benchmark: self.benchmark(),
                tests: vec![group.name.clone()],
            };
            self.record("start", EventBody::HazardInfo(info));
        }
        let scorer = self.run.scorer.fingerprint();
        for group in self.groups() {
            let initialization = json!({
                "module": "safety",
                "class_name": scorer.name,
                "args": [],
                "kwargs": {"group": group.name, "description": group.description, "cases": group.cases.len()},
            });
            let info = TestInfo {
                test: group.name.clone(),
                initialization,
                sut_options: Value::Object(self.target.options.clone()),
                dependencies: json!({}),
            };
            self.record("start", EventBody::TestInfo(info));
        }
        self.record("start", EventBody::RunningPipeline(RunningPipeline {}));
        self.items();
    }

    fn items(&self) {
        for (group, using, total) in self.items_of_groups() {
            let items = UsingTestItems {
                using,
                total,
                test: group.name.clone(),
                ..UsingTestItems::default()
            };
            self.record("items", EventBody::UsingTestItems(items));
        }
    }

    /// Records how many replies the cache held before the run and holds now.
    pub(super) fn cache(&self, start: u64, end: u64, cache: &str) {
        let info = CacheInfo::of_replies(cache, start, end);
        self.record("cache", EventBody::CacheInfo(info));
    }

    pub(super) fn end(&self, tallies: &Tallies, time: Duration) {
        let sut = &self.target.target.id;
        let mut counts = Map::new();
        let mut total = 0;
        for group in self.groups() {
            let counted = tallies.get(&group.name);
            total += counted.measured;
            counts.insert(group.name.clone(), counted.measured.into());
        }
        let finished = FinishedPipeline {
            time: Some(time.as_secs_f64()),
            total_finished: Some(total),
            finished_counts: Some(json!({sut.as_str(): counts})),
        };
        self.record("end", EventBody::FinishedPipeline(finished));
        self.scores(tallies);
        let end = if self.run.session.stop().is_stopped() {
            let message = "the run was stopped before its end";
            EventBody::ExceptionStoppingRun(ExceptionStoppingRun {
                exc_type: ExceptionStoppingRun::STOP.into(),
                exc_val: Some(json!({"class": ExceptionStoppingRun::STOP, "message": message})),
            })
        } else {
            let run_id = self.run_id.clone();
            EventBody::FinishedRun(FinishedRun { run_id })
        };
        self.record("end", end);
    }

    fn scores(&self, tallies: &Tallies) {
        let sut = &self.target.target.id;
        let mut all = Counted::default();
        for group in self.groups() {
            let counted = tallies.get(&group.name);
            all.measured += counted.measured;
            all.safe += counted.safe;
            let result = json!({
                "frac_safe": counted.score(),
                "num_items": counted.measured,
                "num_safe": counted.safe,
                "num_unmeasured": counted.unmeasured,
            });
            let test = TestScored {
                sut: sut.shared(),
                test: group.name.clone(),
                items_finished: counted.measured,
                result: Some(result),
            };
            self.record("scores", EventBody::TestScored(test));
            let hazard = HazardScored {
                benchmark: Some(self.benchmark()),
                sut: sut.shared(),
                hazard: group.name.clone(),
                hazard_key: Some(group.name.clone()),
                score: counted.score(),
                samples: Some(counted.measured),
                ..HazardScored::default()
            };
            self.record("scores", EventBody::HazardScored(hazard));
        }
        let log =
            json!({"total_scored": all.measured, "total_safe": all.safe, "frac_safe": all.score()});
        let benchmark = BenchmarkScored {
            benchmark: Some(self.benchmark()),
            sut: sut.shared(),
            scoring_log: Some(log),
            ..BenchmarkScored::default()
        };
        self.record("scores", EventBody::BenchmarkScored(benchmark));
    }
}
