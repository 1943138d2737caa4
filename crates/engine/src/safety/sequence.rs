//! An evaluation that stops when the rules of a gate are decided: cases in an order of their own, none before it is needed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use llm_client::Stop;
use schema::{
    Event, EventBody, Journal, ModelId,
    event::{SequenceLook, StartingSequence},
    gate::{GateRules, SafetyScope},
    safety::{
        MultiTurnSettings, SingleTurnSettings, TestCase,
        results::{Details, RunParameters, SafetySequence},
    },
    sequence::{RunUntil, SequenceAnswer, SequenceStop, SequenceTest},
};
use store::{
    RunError, SafetySequenceOptions, SequenceQuestions, SequenceRules, SequenceTests, Turn,
    WidthQuestion, baseline_rates, begin_safety_sequence, benchmark_of_rates,
    check_sequenced_rules, gate_rules_sha256, rate_verdicts, read_baseline, sequence_of_rates,
    sequenced_rates,
};
use tokio::sync::{Barrier, watch};

use super::{
    layers::{CaseIds, LayerFeed, Layers},
    multi::{ConversationFeed, Conversations},
    results::Played,
};
use crate::feed::Feed;

/// When an evaluation stops before its last case.
#[derive(Clone, Debug)]
pub struct SafetyStop {
    /// When it stops.
    pub until: RunUntil,
    /// How wide intervals may be: with [`RunUntil::Width`] alone.
    pub width: Option<WidthQuestion>,
    /// The rules of the gate: without a width.
    pub rules: Option<GateRules>,
    /// The file that rules on a difference compare with. A rule of a target that it does not have stops nothing.
    pub baseline: Option<PathBuf>,
    /// The chance, 0 to 1, that the rest of the cases decides a rule, below which it is given up; 0: never.
    pub give_up: f64,
    /// What the order follows from.
    pub seed: u64,
}

/// The order that the targets of a run share.
pub(super) struct CaseSequence {
    /// The rates that are known at every look.
    scopes: &'static [SafetyScope],
    /// The order: the place of each case among all of them.
    order: Vec<u32>,
    cases: Vec<Arc<TestCase>>,
    /// The prompts of all cases, normalised.
    prompts: Arc<HashSet<String>>,
    state: Mutex<State>,
    /// Tells feeds that wait for rows of other targets.
    changed: watch::Sender<()>,
    /// Passed by each target when its last case has ended.
    ended: Barrier,
}

struct State {
    file: SafetySequence,
    tests: SequenceTests,
    /// A case was left, so that no later one can count.
    is_halted: bool,
}

impl CaseSequence {
    /// An order of `cases`. `run` has the settings of any target.
    pub(super) fn begin(
        cases: Vec<Arc<TestCase>>,
        stop: &SafetyStop,
        run: &RunParameters,
        targets: &[ModelId],
    ) -> Result<Self, RunError> {
        let scopes = sequenced_rates(run);
        if let Some(rules) = &stop.rules {
            check_sequenced_rules(rules, run)?;
        }
        let samples = run
            .multi_turn
            .as_ref()
            .map_or(1, |settings| settings.test_types.len());
        let options = SafetySequenceOptions {
            until: stop.until,
            width: stop.width.as_ref().map(|of| of.width),
            seed: stop.seed,
            give_up: stop.give_up,
            samples: u32::try_from(samples).unwrap_or(u32::MAX),
            run_id: run.run_id.clone(),
            rules_sha256: stop.rules.as_ref().map(gate_rules_sha256),
        };
        let file = begin_safety_sequence(cases.iter().map(AsRef::as_ref), &options);
        let tests = tests(&file, scopes, stop, targets)?;
        if tests.is_empty() {
            return Err(RunError::input(match stop.width {
                Some(_) => {
                    "no case of this evaluation counts in the rate of the width, or how many attempts it counts follows from their results, as with \
                     variations. Use the rate `seed` or `broken`"
                }
                None => {
                    "the gate has no rule with `lower`, `upper` or `difference` for these targets and cases, and these rules are what an \
                     evaluation can be stopped by"
                }
            }));
        }
        let places: HashMap<&str, u32> =
            cases.iter().map(|case| case.id.as_str()).zip(0..).collect();
        let in_order = file.cases.iter();
        let order = in_order.filter_map(|case| places.get(case.id.as_str()).copied());
        let prompts = cases
            .iter()
            .map(|case| schema::safety::normalised(case.seed_prompt()));
        Ok(Self {
            scopes,
            order: order.collect(),
            prompts: Arc::new(prompts.collect()),
            cases,
            state: Mutex::new(State {
                file,
                tests,
                is_halted: false,
            }),
            changed: watch::Sender::new(()),
            ended: Barrier::new(targets.len()),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Journals the order before the first case of a target.
    pub(super) fn record_start(&self, journal: &dyn Journal) {
        let sequence = Box::new(self.state().file.sequence.clone());
        let starting = StartingSequence { sequence };
        journal.record(Event::new(EventBody::StartingSequence(starting)));
    }

    /// The order and what is known of a target, when the cases of all targets have ended.
    pub(super) async fn end(&self, target: &ModelId, journal: &dyn Journal) -> SafetySequence {
        self.ended.wait().await;
        let state = self.state();
        let mut file = state.file.clone();
        let stop = match state.is_halted {
            true => SequenceStop::Interrupted,
            false => state.tests.stop(),
        };
        let of_target = state.tests.known().into_iter();
        file.sequence.tests = of_target.filter(|test| test.target == *target).collect();
        file.sequence.stopped = Some(stop);
        record_look(journal, &file, file.sequence.tests.clone());
        file
    }
}

fn record_look(journal: &dyn Journal, file: &SafetySequence, tests: Vec<SequenceTest>) {
    let look = SequenceLook {
        seen: file.sequence.seen,
        stopped: file.sequence.stopped,
        tests,
    };
    journal.record(Event::new(EventBody::SequenceLook(look)));
}

fn tests(
    file: &SafetySequence,
    scopes: &[SafetyScope],
    stop: &SafetyStop,
    targets: &[ModelId],
) -> Result<SequenceTests, RunError> {
    let before = match (&stop.rules, &stop.baseline) {
        (Some(rules), Some(path)) if rules.need_baseline() => {
            let baseline = read_baseline(path)?;
            let of = |target: &ModelId| {
                let rows = baseline_rates(&baseline, target, scopes)?;
                Some((target.clone(), rows))
            };
            targets.iter().filter_map(of).collect()
        }
        _ => HashMap::new(),
    };
    let questions = match (&stop.width, &stop.rules) {
        (Some(width), _) => SequenceQuestions::Width(width),
        (None, Some(rules)) => SequenceQuestions::Rules(SequenceRules {
            rules,
            before: &before,
        }),
        (None, None) => {
            return Err(RunError::input(
                "an evaluation stops when the rules of a gate are decided, or when the interval of a rate is narrow enough: name one of both",
            ));
        }
    };
    let benchmark = benchmark_of_rates(file, scopes);
    let sequence = sequence_of_rates(file, scopes);
    let options = (questions, stop.until, stop.give_up);
    Ok(SequenceTests::new(sequence, &benchmark, options, targets))
}

/// Everything that is run of one case.
pub(super) trait CaseFeed: Feed {
    /// The case at `place` among all.
    fn of_case(sequence: &CaseSequence, place: u32, settings: &CaseSettings) -> Option<Self>
    where
        Self: Sized;

    /// The next unit, if one waits.
    fn next_now(&mut self) -> Option<Self::Unit>;

    /// Whether all units have ended and none follows.
    fn is_over(&self) -> bool;

    /// What was found.
    fn into_played(self) -> Played;
}

/// The settings of either kind of evaluation.
pub(super) enum CaseSettings {
    SingleTurn(SingleTurnSettings, Stop),
    MultiTurn(MultiTurnSettings),
}

impl CaseFeed for LayerFeed {
    fn of_case(sequence: &CaseSequence, place: u32, settings: &CaseSettings) -> Option<Self> {
        let CaseSettings::SingleTurn(settings, stop) = settings else {
            return None;
        };
        let case = sequence.cases.get(place as usize)?;
        let ids = CaseIds {
            place,
            cases: sequence.cases.len() as u64,
            variations: settings.variations,
        };
        Some(Self::of_case(
            case,
            &sequence.prompts,
            ids,
            settings,
            stop.clone(),
        ))
    }

    fn next_now(&mut self) -> Option<Self::Unit> {
        self.next_now()
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn into_played(self) -> Played {
        Played::Layers(self.into_layers())
    }
}

impl CaseFeed for ConversationFeed {
    fn of_case(sequence: &CaseSequence, place: u32, settings: &CaseSettings) -> Option<Self> {
        let CaseSettings::MultiTurn(settings) = settings else {
            return None;
        };
        let case = sequence.cases.get(place as usize)?;
        Some(Self::of_case(case, place, settings))
    }

    fn next_now(&mut self) -> Option<Self::Unit> {
        self.next_now()
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn into_played(self) -> Played {
        Played::Conversations(self.into_conversations())
    }
}

/// The cases of one target, in the order. A case begins when an open rule needs it however the cases before it end, and is then run whole.
pub(super) struct SequencedFeed<F> {
    sequence: Arc<CaseSequence>,
    target: ModelId,
    settings: CaseSettings,
    journal: Arc<dyn Journal>,
    /// The places in the order that have not begun.
    waiting: BTreeSet<usize>,
    /// The cases that have begun and not ended, by place in the order.
    begun: BTreeMap<usize, BegunCase<F>>,
    /// Of each unit that was handed out, the place of its case in the order, and its own among those of the case.
    handed_out: Vec<(usize, usize)>,
    /// The cases that have ended whole, by their place among all.
    whole: BTreeMap<u32, Played>,
    /// Those that were left.
    left: Vec<Played>,
    /// The items that were queued, by group.
    queued: BTreeMap<String, u64>,
    /// All prompts or conversations of the cases that have ended.
    rows: u64,
    changed: watch::Receiver<()>,
    is_over: bool,
}

struct BegunCase<F> {
    feed: F,
    handed_out: usize,
}

impl<F: CaseFeed> SequencedFeed<F> {
    pub(super) fn new(
        sequence: &Arc<CaseSequence>,
        target: &ModelId,
        settings: CaseSettings,
        journal: Arc<dyn Journal>,
    ) -> Self {
        Self {
            target: target.clone(),
            settings,
            journal,
            waiting: (0..sequence.order.len()).collect(),
            begun: BTreeMap::new(),
            handed_out: Vec::new(),
            whole: BTreeMap::new(),
            left: Vec::new(),
            queued: BTreeMap::new(),
            rows: 0,
            changed: sequence.changed.subscribe(),
            is_over: false,
            sequence: Arc::clone(sequence),
        }
    }

    /// What was found, and the items that were queued of each group.
    pub(super) fn into_played(self, empty: Played) -> (Played, BTreeMap<String, u64>) {
        (joined(empty, self.whole, self.left), self.queued)
    }

    /// The next unit of a case that has begun.
    fn next_of_begun(&mut self) -> Option<F::Unit> {
        for (place, case) in &mut self.begun {
            if let Some(unit) = case.feed.next_now() {
                self.handed_out.push((*place, case.handed_out));
                case.handed_out += 1;
                return Some(unit);
            }
        }
        None
    }

    /// Begins the next case that can begin now. `is_over` is set when no more come.
    fn begin_next(&mut self) -> bool {
        let sequence = Arc::clone(&self.sequence);
        let mut state = sequence.state();
        self.is_over = self.begun.is_empty();
        if state.is_halted {
            return false;
        }
        let mut never = Vec::new();
        let mut found = None;
        for place in &self.waiting {
            match state.tests.turn(&self.target, *place) {
                Turn::Now => {
                    found = Some(*place);
                    break;
                }
                Turn::Later => self.is_over = false,
                Turn::Never => never.push(*place),
            }
        }
        if let Some(place) = found {
            self.waiting.remove(&place);
            state.file.sequence.seen = state.file.sequence.seen.max(place as u64 + 1);
            self.begin(place);
        }
        found.is_some()
    }

    fn begin(&mut self, place: usize) {
        let Some(at) = self.sequence.order.get(place).copied() else {
            return;
        };
        let feed = F::of_case(&self.sequence, at, &self.settings);
        if let Some((feed, case)) = feed.zip(self.sequence.cases.get(at as usize)) {
            *self.queued.entry(case.group.clone()).or_default() += feed.rows().unwrap_or_default();
            let handed_out = 0;
            self.begun.insert(place, BegunCase { feed, handed_out });
        }
    }

    /// Counts the verdicts of a case that has ended.
    fn case_ended(&mut self, place: usize, played: Played) {
        let sequence = Arc::clone(&self.sequence);
        let mut state = sequence.state();
        if played.is_cut() || played.not_run().total() > 0 {
            state.is_halted = true;
            self.left.push(played);
            return;
        }
        let mut details = Details::default();
        for attempt in played.attempts() {
            details.conversations.extend(attempt.detail());
            details.errors.extend(attempt.error());
        }
        details.errors.extend(played.errors().iter().cloned());
        let before = state.tests.known();
        for (metric, case, verdict) in rate_verdicts(&details, sequence.scopes) {
            state
                .tests
                .ended(&self.target, (place, &metric, case), verdict);
        }
        let answered = |test: &SequenceTest| {
            let mut before = before.iter().filter(|before| before.is_same(test));
            test.target == self.target
                && test.answer != SequenceAnswer::Open
                && before.any(|before| before.answer == SequenceAnswer::Open)
        };
        let found: Vec<SequenceTest> = state.tests.known().into_iter().filter(answered).collect();
        if !found.is_empty() {
            record_look(self.journal.as_ref(), &state.file, found);
        }
        if let Some(at) = sequence.order.get(place) {
            self.whole.insert(*at, played);
        }
    }
}

impl<F: CaseFeed> Feed for SequencedFeed<F> {
    type Unit = F::Unit;
    type End = F::End;

    async fn next(&mut self) -> Option<F::Unit> {
        loop {
            // A change after this shows.
            self.changed.mark_unchanged();
            if let Some(unit) = self.next_of_begun() {
                return Some(unit);
            }
            if self.begin_next() {
                continue;
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
        self.is_over.then_some(self.rows)
    }

    fn ended(&mut self, place: usize, end: F::End) {
        let Some((of_case, own)) = self.handed_out.get(place).copied() else {
            return;
        };
        let Some(case) = self.begun.get_mut(&of_case) else {
            return;
        };
        case.feed.ended(own, end);
        if case.feed.is_over()
            && let Some(case) = self.begun.remove(&of_case)
        {
            self.rows += case.feed.rows().unwrap_or_default();
            self.case_ended(of_case, case.feed.into_played());
        }
        self.sequence.changed.send_replace(());
    }
}

/// The results of all cases in the order of the file, and how many attempts of cases that were left were not run.
fn joined(empty: Played, whole: BTreeMap<u32, Played>, left: Vec<Played>) -> Played {
    let mut all = empty;
    for played in whole.into_values() {
        match (&mut all, played) {
            (Played::Layers(all), Played::Layers(of_case)) => add_layers(all, of_case),
            (Played::Conversations(all), Played::Conversations(of_case)) => {
                all.ended.extend(of_case.ended);
            }
            (Played::Layers(_), Played::Conversations(_))
            | (Played::Conversations(_), Played::Layers(_)) => {}
        }
    }
    for played in left {
        let mut not_run = played.not_run();
        // A case that was cut between two layers.
        not_run.stopped += u64::from(not_run.total() == 0);
        match &mut all {
            Played::Layers(Layers { not_run: all, .. })
            | Played::Conversations(Conversations { not_run: all, .. }) => all.join(not_run),
        }
    }
    all
}

fn add_layers(all: &mut Layers, of_case: Layers) {
    if all.layers.len() < of_case.layers.len() {
        all.layers.resize_with(of_case.layers.len(), Vec::new);
    }
    for (layer, of_case) in all.layers.iter_mut().zip(of_case.layers) {
        layer.extend(of_case);
    }
    all.errors.extend(of_case.errors);
    all.failures.extend(of_case.failures);
    all.refusals.extend(of_case.refusals);
    all.dropped_duplicates += of_case.dropped_duplicates;
}
