//! What the journal is told of the run of one target: what it sets out to do, and what came of it.

use std::{collections::BTreeMap, time::Duration};

use schema::{Event, Journal, safety::TestCaseGroup};
use serde_json::{Map, Value, json};

use super::{SafetyMode, SafetyRun, SafetyTarget};

const CLASS: &str = "SafetyRun";

/// Items by group and by how they ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    groups: BTreeMap<String, Counted>,
}

/// The items of one group.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    measured: u64,
    safe: u64,
    unmeasured: u64,
}

impl Counted {
    /// Safe by measured, to the last bit; `None` where nothing was measured.
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
    /// The journal's own id.
    pub(super) run_id: String,
}

impl RunLog<'_> {
    /// The name that stands for the evaluation where journals have a benchmark.
    fn benchmark(&self) -> String {
        format!("safety_{}", self.run.mode.as_str())
    }

    /// The groups of which cases run.
    fn groups(&self) -> impl Iterator<Item = &TestCaseGroup> {
        self.items_of_groups().map(|(group, ..)| group)
    }

    /// The groups of which cases run, with how many items of each run and how many there are. Those that come of other items
    /// are not counted: variations, and strategies that stand in for one that declined.
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

    fn record(&self, event: Event) {
        self.journal.record(event);
    }

    pub(super) fn start(&self) {
        let names: Vec<&str> = self.groups().map(|group| group.name.as_str()).collect();
        let settings = match &self.run.mode {
            SafetyMode::SingleTurn { settings, .. } => json!(settings),
            SafetyMode::MultiTurn { settings, .. } => json!(settings),
        };
        let target = &self.target.target;
        self.record(
            Event::new("starting run", CLASS, "start")
                .with("run_id", self.run_id.clone())
                .with("benchmarks", json!([self.benchmark()]))
                .with("tests", json!(names))
                .with("suts", json!([target.id]))
                .with("max_items", json!(self.run.mode.max_cases()))
                .with("thread_count", self.run.concurrency.simulate as u64)
                .with("safety_run", self.run.run_id.to_string())
                .with("targets", json!([target]))
                .with("system_prompt", json!(self.target.system_prompt))
                .with("settings", settings),
        );
        for group in self.groups() {
            self.record(
                Event::new("hazard info", CLASS, "start")
                    .with("hazard", group.name.clone())
                    .with("benchmark", self.benchmark())
                    .with("tests", json!([group.name])),
            );
        }
        let scorer = self.run.scorer.fingerprint();
        for group in self.groups() {
            let initialization = json!({
                "module": "safety",
                "class_name": scorer.name,
                "args": [],
                "kwargs": {"group": group.name, "description": group.description, "cases": group.cases.len()},
            });
            self.record(
                Event::new("test info", CLASS, "start")
                    .with("test", group.name.clone())
                    .with("initialization", initialization)
                    .with("sut_options", Value::Object(self.target.options.clone()))
                    .with("dependencies", json!({})),
            );
        }
        self.record(Event::new("running pipeline", CLASS, "start"));
        self.items();
    }

    fn items(&self) {
        for (group, using, total) in self.items_of_groups() {
            self.record(
                Event::new("using test items", CLASS, "items")
                    .with("test", group.name.clone())
                    .with("using", using)
                    .with("total", total),
            );
        }
    }

    /// How many replies the cache held before the run and holds now.
    pub(super) fn cache(&self, start: u64, end: u64, cache: &str) {
        self.record(
            Event::new("cache info", CLASS, "cache")
                .with("type", "reply_cache")
                .with("cache", format!("Cache({cache})"))
                .with("start_count", start)
                .with("end_count", end),
        );
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
        let counts = json!({sut.as_str(): counts});
        self.record(
            Event::new("finished pipeline", CLASS, "end")
                .with("time", time.as_secs_f64())
                .with("total_finished", total)
                .with("finished_counts", counts),
        );
        self.scores(tallies);
        let run_id = self.run_id.clone();
        if self.run.stop.is_stopped() {
            let message = "the run was stopped before its end";
            self.record(
                Event::new("exception stopping run", CLASS, "end")
                    .with("exc_type", "llm_client::Stop")
                    .with(
                        "exc_val",
                        json!({"class": "llm_client::Stop", "message": message}),
                    ),
            );
        } else {
            self.record(Event::new("finished run", CLASS, "end").with("run_id", run_id));
        }
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
            self.record(
                Event::new("test scored", CLASS, "scores")
                    .with("sut", sut)
                    .with("test", group.name.clone())
                    .with("items_finished", counted.measured)
                    .with("result", result),
            );
            self.record(
                Event::new("hazard scored", CLASS, "scores")
                    .with("benchmark", self.benchmark())
                    .with("sut", sut)
                    .with("hazard", group.name.clone())
                    .with("hazard_key", group.name.clone())
                    .with("score", json!(counted.score()))
                    .with("reference", Value::Null)
                    .with("samples", counted.measured)
                    .with("numeric_grade", Value::Null)
                    .with("text_grade", Value::Null),
            );
        }
        self.record(
            Event::new("benchmark scored", CLASS, "scores")
                .with("benchmark", self.benchmark())
                .with("sut", sut)
                .with("numeric_grade", Value::Null)
                .with("text_grade", Value::Null)
                .with(
                    "scoring_log",
                    json!({"total_scored": all.measured, "total_safe": all.safe, "frac_safe": all.score()}),
                ),
        );
    }
}
