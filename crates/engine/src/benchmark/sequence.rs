//! A run that stops when the rules of a gate are decided: base scenarios in an order of their own, none before it is needed.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{
    Event, EventBody, Journal, MetricType, ModelId, Scenario,
    event::{SequenceLook, StartingSequence},
    gate::GateRules,
    sequence::{RunUntil, Sequence, SequenceAnswer, SequenceStop, SequenceTest},
    text::hex,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::{
    BaselineUnits, BenchmarkDir, RunError, SequenceOptions, SequenceQuestions, SequenceRules,
    SequenceTests, SequencedVerdict, Turn, WidthQuestion, base_of, baseline_rows, begin_sequence,
    gate_rules_sha256, read_baseline, scenario_sequence, scored_targets, write_sequence,
};
use tokio::sync::watch;

use super::{
    feed::{FeedRow, RowEnd, Sample},
    run::BenchmarkRun,
};
use crate::feed::Feed;

/// When a run stops before its last scenario.
#[derive(Clone, Debug)]
pub struct StopWhenDecided {
    /// When it stops.
    pub until: RunUntil,
    /// How wide intervals may be: with [`RunUntil::Width`] alone.
    pub width: Option<WidthQuestion>,
    /// How many base scenarios there will be in all, where more are to be added: bets then last as long.
    pub list_of: Option<u64>,
    /// The rules of the gate; without one, and without a width, the run ends when it is known of each pair of targets whether they differ.
    pub rules: Option<GateRules>,
    /// The file that rules on a difference compare with; `None`: that of the benchmark. A rule of a target that it does not have stops nothing.
    pub baseline: Option<PathBuf>,
    /// The chance, 0 to 1, that the rest of the scenarios decides a rule or shows a difference, below which it is given up; 0: never.
    pub give_up: f64,
    /// What the order follows from.
    pub seed: u64,
    /// Whether the seed was chosen for the order: a tree whose order follows from another one is then refused.
    pub is_seed_chosen: bool,
    /// Begins a new order where the tree has one.
    pub restart: bool,
}

impl StopWhenDecided {
    /// The rows of the targets in the baseline; none where no rule compares with it.
    fn before(
        &self,
        dir: &BenchmarkDir,
        targets: &[ModelId],
        scenarios: &[Scenario],
    ) -> Result<HashMap<ModelId, BaselineUnits>, RunError> {
        if !self.rules.as_ref().is_some_and(GateRules::need_baseline) {
            return Ok(HashMap::new());
        }
        let path = self.baseline.clone().unwrap_or_else(|| dir.baseline());
        let baseline = read_baseline(&path)?;
        let of = |target: &ModelId| {
            let rows = baseline_rows(&baseline, target)?;
            Some((target.clone(), BaselineUnits::of(&rows, scenarios)))
        };
        Ok(targets.iter().filter_map(of).collect())
    }
}

/// The sequence that the targets of a run share.
pub(super) struct RunSequence {
    dir: BenchmarkDir,
    journal: Arc<dyn Journal>,
    /// The place of each base scenario in the order.
    places: HashMap<String, usize>,
    state: Mutex<State>,
    /// Tells feeds that wait for rows of other targets.
    changed: watch::Sender<()>,
}

struct State {
    file: Sequence,
    tests: SequenceTests,
    /// A row was left, so that no later one can count.
    is_halted: bool,
    /// Why the file could not be written.
    unwritten: Option<RunError>,
    /// The samples that were handed out, by target and metric.
    queued: BTreeMap<ModelId, BTreeMap<String, u64>>,
}

impl RunSequence {
    /// Takes up the order of the benchmark, or begins one. `rows`: all scenarios.
    pub(super) fn begin(
        run: &BenchmarkRun<'_>,
        stop: &StopWhenDecided,
        rows: &[FeedRow],
        targets: &[ModelId],
    ) -> Result<Arc<Self>, RunError> {
        let (pipeline, dir) = (run.pipeline, &run.dir);
        let judge = (pipeline.phases.evaluator)(&run.loaded)?;
        let judge = json!(judge.fingerprint()).to_string();
        let scored = scored_targets(dir)?;
        let all: HashSet<&ModelId> = scored.iter().chain(targets).collect();
        let options = SequenceOptions {
            until: stop.until,
            width: stop.width.as_ref().map(|of| of.width),
            list_of: stop.list_of,
            rules_sha256: stop.rules.as_ref().map(gate_rules_sha256),
            seed: stop.seed,
            is_seed_chosen: stop.is_seed_chosen,
            give_up: stop.give_up,
            restart: stop.restart,
            samples: pipeline.options.samples,
            targets: all.len() as u64,
            judge_sha256: hex(&Sha256::digest(judge)),
            run_id: pipeline.session.run_id().to_string(),
            has_rows: !scored.is_empty(),
        };
        let benchmark = &run.loaded.benchmark;
        let scenarios: Vec<Scenario> = rows.iter().map(|row| (*row.scenario).clone()).collect();
        let file = begin_sequence(dir, benchmark, scenarios.iter(), &options)?;
        let sequence = scenario_sequence(&file, benchmark, &scenarios);
        let before = stop.before(dir, targets, &scenarios)?;
        let questions = match (&stop.width, &stop.rules) {
            (Some(question), _) => SequenceQuestions::Width(question),
            (None, None) => SequenceQuestions::Pairs,
            (None, Some(rules)) => SequenceQuestions::Rules(SequenceRules {
                rules,
                before: &before,
            }),
        };
        let tests = SequenceTests::new(
            sequence,
            benchmark,
            (questions, stop.until, stop.give_up),
            targets,
        );
        if tests.is_empty() {
            return Err(RunError::input(match stop.rules {
                Some(_) => {
                    "the gate has no rule with `lower`, `upper` or `difference` for these targets, and these rules are what a run can be stopped by"
                }
                None => {
                    "there is one target, so there is no difference that could be decided. Name a second one, or a gate with rules on `lower` or `upper`"
                }
            }));
        }
        let journal = Arc::clone(pipeline.session.journal());
        journal.record(Event::new(EventBody::StartingSequence(StartingSequence {
            sequence: Box::new(file.clone()),
        })));
        let places = file.order.iter().map(|scenario| scenario.id.clone());
        Ok(Arc::new(Self {
            dir: dir.clone(),
            journal,
            places: places.zip(0..).collect(),
            state: Mutex::new(State {
                file,
                tests,
                is_halted: false,
                unwritten: None,
                queued: BTreeMap::new(),
            }),
            changed: watch::Sender::new(()),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, file: &Sequence, tests: Vec<SequenceTest>) {
        self.journal
            .record(Event::new(EventBody::SequenceLook(SequenceLook {
                seen: file.seen,
                stopped: file.stopped,
                tests,
            })));
    }

    /// Writes and journals that a question was answered.
    fn answered(&self, state: &mut State) {
        let known = |test: &SequenceTest, before: &[SequenceTest]| {
            let mut before = before.iter().filter(|before| before.is_same(test));
            before.any(|before| (before.answer, &before.require) == (test.answer, &test.require))
        };
        let before = state.file.tests.clone();
        state.write(&self.dir);
        let is_new =
            |test: &&SequenceTest| test.answer != SequenceAnswer::Open && !known(test, &before);
        let found: Vec<SequenceTest> = state.file.tests.iter().filter(is_new).cloned().collect();
        // An earlier run may have had the answer already.
        if !found.is_empty() {
            self.record(&state.file, found);
        }
    }

    fn place(&self, scenario: &Scenario) -> usize {
        let place = self.places.get(base_of(scenario));
        place.copied().unwrap_or(usize::MAX)
    }

    /// Whether a test is about a target.
    pub(super) fn has_tests(&self, target: &ModelId) -> bool {
        self.state().tests.metrics(target).next().is_some()
    }

    /// The samples of each metric that were handed out to each target.
    pub(super) fn queued(&self) -> BTreeMap<ModelId, BTreeMap<String, u64>> {
        self.state().queued.clone()
    }

    /// Writes what is known when the last row has ended.
    pub(super) fn end(&self) -> Result<(), RunError> {
        let mut state = self.state();
        if let Some(error) = state.unwritten.take() {
            return Err(error);
        }
        let stop = match state.is_halted {
            true => SequenceStop::Interrupted,
            false => state.tests.stop(),
        };
        state.file.stopped = Some(stop);
        state.file.tests = state.tests.known();
        self.record(&state.file, state.file.tests.clone());
        write_sequence(&self.dir, &state.file)
    }
}

impl State {
    fn write(&mut self, dir: &BenchmarkDir) {
        self.file.tests = self.tests.known();
        if let Err(error) = write_sequence(dir, &self.file) {
            self.is_halted = true;
            self.unwritten.get_or_insert(error);
        }
    }
}

/// The samples of a base scenario that were not handed out yet.
#[derive(Debug)]
struct WaitingBase {
    place: usize,
    samples: VecDeque<Sample>,
    is_begun: bool,
}

/// The row of a sample that was handed out.
struct HandedOut {
    /// The place of its base scenario.
    place: usize,
    metric: String,
    scenario: String,
}

/// The samples of one target, in the order of the sequence. A base scenario is handed out when an open test needs it however the rows before
/// it end, and then whole: every call counts.
pub(super) struct SequenceFeed {
    sequence: Arc<RunSequence>,
    target: ModelId,
    waiting: Vec<WaitingBase>,
    /// The row of each sample that was handed out.
    handed_out: Vec<HandedOut>,
    changed: watch::Receiver<()>,
    is_over: bool,
}

impl SequenceFeed {
    pub(super) fn new(
        sequence: Arc<RunSequence>,
        target: &ModelId,
        rows: &[FeedRow],
        samples: u32,
    ) -> Self {
        let mut bases: BTreeMap<usize, Vec<&FeedRow>> = BTreeMap::new();
        {
            let state = sequence.state();
            let metrics: HashSet<&str> = state.tests.metrics(target).collect();
            for row in rows {
                if metrics.contains(row.scenario.metric_id.as_str()) {
                    let place = sequence.place(&row.scenario);
                    bases.entry(place).or_default().push(row);
                }
            }
        }
        let waiting = bases.into_iter().map(|(place, mut rows)| {
            rows.sort_by_key(|row| (row.metric, row.index));
            let all = rows.into_iter().flat_map(|row| {
                (0..samples).map(|sample| Sample {
                    row: row.clone(),
                    sample,
                })
            });
            WaitingBase {
                place,
                samples: all.collect(),
                is_begun: false,
            }
        });
        Self {
            waiting: waiting.collect(),
            target: target.clone(),
            handed_out: Vec::new(),
            changed: sequence.changed.subscribe(),
            sequence,
            is_over: false,
        }
    }

    /// The next sample, if one can be handed out now. `is_over` is set when no more come.
    fn next_now(&mut self) -> Option<Sample> {
        let sequence = Arc::clone(&self.sequence);
        let mut state = sequence.state();
        let mut is_over = true;
        if !state.is_halted {
            for base in &mut self.waiting {
                let turn = match base.is_begun {
                    true => Turn::Now,
                    false => state.tests.turn(&self.target, base.place),
                };
                match turn {
                    Turn::Never => {}
                    Turn::Later => is_over = false,
                    Turn::Now => {
                        let Some(sample) = base.samples.pop_front() else {
                            continue;
                        };
                        base.is_begun = true;
                        let metric = sample.row.scenario.metric_id.clone();
                        let of_target = state.queued.entry(self.target.clone()).or_default();
                        *of_target.entry(metric.clone()).or_default() += 1;
                        let is_first = state.file.seen == 0;
                        let seen = base.place as u64 + 1;
                        state.file.seen = state.file.seen.max(seen);
                        if is_first {
                            // From the first row on, another order is another start.
                            state.write(&sequence.dir);
                        }
                        self.handed_out.push(HandedOut {
                            place: base.place,
                            metric,
                            scenario: sample.row.scenario.id.clone(),
                        });
                        return Some(sample);
                    }
                }
            }
        }
        self.is_over = is_over;
        None
    }
}

impl Feed for SequenceFeed {
    type Unit = Sample;
    type End = RowEnd;

    async fn next(&mut self) -> Option<Sample> {
        loop {
            // A change after this shows.
            self.changed.mark_unchanged();
            self.waiting.retain(|base| !base.samples.is_empty());
            if let Some(sample) = self.next_now() {
                return Some(sample);
            }
            if self.is_over {
                return None;
            }
            // The sender lives as long as the sequence.
            let _ = self.changed.changed().await;
        }
    }

    /// How many there will be is known at the end alone.
    fn rows(&self) -> Option<u64> {
        self.is_over.then_some(self.handed_out.len() as u64)
    }

    fn ended(&mut self, place: usize, end: RowEnd) {
        let mut state = self.sequence.state();
        let Some(row) = self.handed_out.get(place) else {
            return;
        };
        match end {
            RowEnd::Left => state.is_halted = true,
            RowEnd::Ended(verdicts) => {
                let of_metric = verdicts.into_iter().find(|of| of.metric == row.metric);
                let verdict = SequencedVerdict {
                    passed: of_metric.as_ref().and_then(|of| of.passed),
                    // Of what was never written nothing can break a negative metric.
                    may_differ: of_metric
                        .is_some_and(|of| of.is_incomplete && of.passed == Some(true))
                        && state.tests.metric_type(&row.metric) == Some(MetricType::Negative),
                };
                let of_row = (row.place, row.metric.as_str(), row.scenario.as_str());
                if state.tests.ended(&self.target, of_row, verdict) {
                    self.sequence.answered(&mut state);
                }
            }
        }
        drop(state);
        self.sequence.changed.send_replace(());
    }
}
