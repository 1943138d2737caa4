//! The journal events of the run of one target: its plan, and the result.

use std::{collections::BTreeMap, time::Duration};

use journal::RunId;
use schema::{EventBody, Journal, event::StartingRun, safety::TestCaseGroup};
use serde_json::{Value, json};
use store::{Manifest, runs_case};

use super::{SafetyMode, SafetyRun, SafetyTarget};
use crate::{
    run_log::{RunLog, ScoredHazard, TestSetup},
    tally::TestTally,
};

const CLASS: &str = "SafetyRun";

/// The journal of one target's run. A group of test cases is a hazard with one test of the same name.
pub(super) struct SafetyLog<'a> {
    run: &'a SafetyRun,
    target: &'a SafetyTarget,
    /// The id of the journal.
    run_id: &'a RunId,
    pub(super) log: RunLog<'a>,
}

impl<'a> SafetyLog<'a> {
    pub(super) fn new(
        run: &'a SafetyRun,
        target: &'a SafetyTarget,
        journal: &'a dyn Journal,
        run_id: &'a RunId,
    ) -> Self {
        let log = RunLog {
            journal,
            uid: run.mode.phase(),
            class: Some(CLASS),
        };
        Self {
            run,
            target,
            run_id,
            log,
        }
    }

    /// The groups whose cases run.
    fn groups(&self) -> impl Iterator<Item = &TestCaseGroup> {
        self.items_of_groups().map(|(group, ..)| group)
    }

    /// The groups whose cases run, with the number of items that run and that exist. Items derived from other items are not
    /// counted: variations, and strategies that replace one that declined.
    fn items_of_groups(&self) -> impl Iterator<Item = (&TestCaseGroup, u64, u64)> {
        let (mode, shard) = (&self.run.mode, self.run.shard);
        let mut room = mode.max_cases().unwrap_or(u64::MAX);
        let counted = self.run.groups.iter().map(move |group| {
            let items = |cases: usize| cases as u64 * mode.items_of_a_case();
            let own = group.cases.iter().filter(|case| runs_case(shard, &case.id));
            let (total, using) = (items(group.cases.len()), items(own.count()).min(room));
            room -= using;
            (group, using, total)
        });
        counted.filter(|(_, using, _)| *using > 0)
    }

    pub(super) fn start(&self) {
        let settings = match &self.run.mode {
            SafetyMode::SingleTurn { settings, .. } => json!(settings),
            SafetyMode::MultiTurn { settings, .. } => json!(settings),
        };
        let target = &self.target.target;
        if let Some(records) = &self.run.records {
            self.log.resuming(records, |earlier| self.is_same(earlier));
        }
        let starting = StartingRun {
            run_id: Some(self.run_id.to_string()),
            benchmarks: vec![self.log.uid.clone()],
            tests: self.groups().map(|group| group.name.clone()).collect(),
            suts: vec![target.id.shared()],
            max_items: self.run.mode.max_cases(),
            thread_count: Some(self.run.concurrency.simulate as u64),
            safety_run: Some(self.run.session.run_id().to_string()),
            targets: Some(vec![target.clone()]),
            system_prompt: Some(json!(self.target.system_prompt)),
            settings: Some(settings),
            shard: self.run.shard,
            ..StartingRun::default()
        };
        self.log
            .record("start", EventBody::StartingRun(Box::new(starting)));
        for group in self.groups() {
            self.log
                .hazard(&group.name, std::slice::from_ref(&group.name));
        }
        let scorer = self.run.scorer.fingerprint();
        let setup = TestSetup {
            module: "safety",
            class_name: Some(&scorer.name),
            sut_options: &Value::Object(self.target.options.clone()),
        };
        for group in self.groups() {
            let cases = group.cases.len();
            let kwargs =
                json!({"group": group.name, "description": group.description, "cases": cases});
            self.log.test(&group.name, &setup, &kwargs);
        }
        self.log.running();
        if self.run.stop.is_none() {
            for (group, using, total) in self.items_of_groups() {
                self.log.items(&group.name, (using, total), BTreeMap::new());
            }
        }
    }

    /// Records how many items of each group were queued, where that is known only now.
    pub(super) fn items(&self, queued: impl Fn(&str) -> u64) {
        for (group, _, total) in self.items_of_groups() {
            let using = queued(&group.name);
            self.log.items(&group.name, (using, total), BTreeMap::new());
        }
    }

    /// Whether `earlier` is the record of a run of the same cases with the same parts, for this target.
    fn is_same(&self, earlier: &Manifest) -> bool {
        let own = self.run.manifest();
        let parts = |manifest: &Manifest| manifest.safety.as_ref().map(|setup| json!(setup));
        earlier.phases == own.phases
            && parts(earlier) == parts(&own)
            && earlier.shard == own.shard
            && earlier.targets.contains(&self.target.target)
    }

    /// Records the results.
    pub(super) fn end(&self, mut tests: BTreeMap<String, TestTally>, time: Duration) {
        let sut = &self.target.target.id;
        let groups: Vec<&TestCaseGroup> = self.groups().collect();
        for group in &groups {
            tests.entry(group.name.clone()).or_default();
        }
        self.log
            .finished_pipeline(&[(sut.clone(), tests.clone())].into(), time);
        let mut all = TestTally::default();
        for group in &groups {
            let tally = tests.get(&group.name).copied().unwrap_or_default();
            self.log.test_scored(sut, &group.name, tally);
            let hazard = ScoredHazard {
                id: group.name.clone(),
                tests: vec![group.name.clone()],
                reference: None,
                grade: None,
            };
            all.add(self.log.hazard_scored(sut, &hazard, &tests));
        }
        let scoring_log =
            json!({"total_scored": all.measured, "total_safe": all.safe, "frac_safe": all.score()});
        self.log.benchmark_scored(sut, None, scoring_log);
        let is_stopped = self.run.session.stop().is_stopped();
        self.log.finish(self.run_id, None, is_stopped);
    }
}
