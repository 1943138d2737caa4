//! Puts the journals of a run together.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schema::{
    CallProgress, FailureReason, ModelProgress, Notice, Phase, PhaseStatus, ProgramCommand,
    RunState, RunStatus, RunningConversation, Spend, notice,
};

use super::{
    fold::{JournalFold, RECENT, ReasonFold},
    items::{OpenItem, TargetFold},
};
use crate::{Layout, Manifest};

/// Reasons that are listed.
const REASONS: usize = 20;
/// Running conversations that are listed.
const CONVERSATIONS: usize = 8;
/// Minutes whose replies are listed.
const MINUTES: i64 = 30;
/// Rows of a target that have to end before its cost is extrapolated.
const FEWEST: u64 = 3;

/// Why a run in the order of the files has no rates.
const NO_RATES: &str = "rows are simulated in the order of the files, metric by metric, so a rate so far would be one of the first metrics and not of all";
const UNKNOWN_ORDER: &str = "the order in which rows are simulated is not recorded, so a rate so far may be one of the first metrics and not of all";

/// The state of the run of `manifest`, whose journals are `folds`, at `now`.
pub(super) fn run_status(
    manifest: &Manifest,
    state: RunState,
    folds: &[&JournalFold],
    now: Timestamp,
) -> RunStatus {
    let now = seconds(now);
    let last = folds.iter().filter_map(|fold| fold.last).reduce(f64::max);
    let time = |text: &str| text.parse::<Timestamp>().ok().map(seconds);
    let start = time(&manifest.start).unwrap_or(now);
    let end = match state {
        RunState::Ended => manifest.end.as_deref().and_then(time).unwrap_or(now),
        RunState::Died => last.unwrap_or(start),
        RunState::Running | RunState::Unknown => now,
    };
    let figures = RunFigures {
        manifest,
        folds,
        is_open: matches!(state, RunState::Running | RunState::Unknown),
        start,
        end,
    };
    let models = figures.models();
    let spent = figures.spent();
    let parts = manifest.divided_by.unwrap_or(1).max(1);
    RunStatus {
        run_id: manifest.run_id.clone(),
        state,
        outcome: manifest.outcome.clone(),
        benchmarks: manifest.benchmarks.clone(),
        shard: manifest.shard,
        start: manifest.start.clone(),
        end: manifest.end.clone(),
        seconds: (end - start).max(0.0),
        since_last_event: last.map(|last| (now - last).max(0.0)),
        rows: models.iter().map(|model| model.rows).sum(),
        ended: figures.targets().map(|(_, target)| target.ended()).sum(),
        phases: figures.phases(&models),
        calls: figures.calls(),
        failures: figures.failures(),
        limits: folds
            .iter()
            .flat_map(|fold| fold.limits.statuses(end))
            .collect(),
        expected_dollars: figures.expected(&models, &spent),
        spent: spent.to_phase_cost(),
        budget_dollars: manifest
            .config
            .other
            .get("budget")
            .and_then(|budget| budget.get("max_cost")?.as_f64())
            .map(|dollars| dollars / f64::from(parts)),
        budget_tokens: manifest
            .config
            .other
            .get("budget")
            .and_then(|budget| budget.get("max_tokens")?.as_u64())
            .map(|tokens| tokens / u64::from(parts)),
        budget_reached: folds.iter().any(|fold| fold.budget_reached),
        seconds_left: figures.left(&models),
        running: models.iter().map(|model| model.running).sum(),
        conversations: figures.conversations(),
        models,
        row_order: manifest.row_order.clone(),
        no_rates: match manifest.row_order.is_some() {
            true => NO_RATES.to_owned(),
            false => UNKNOWN_ORDER.to_owned(),
        },
        journals: Vec::new(),
        help: None,
    }
}

/// What to do about a run that died, was interrupted or has failed rows.
pub(super) fn help(layout: &Layout, manifest: &Manifest, status: &RunStatus) -> Option<Notice> {
    let does = match (status.state, status.outcome.as_deref()) {
        (RunState::Died, _) => " goes on where it ended: replies in the cache are not paid again",
        (RunState::Ended, Some("interrupted")) => " runs the rows that are left",
        (RunState::Ended, _) if !status.failures.is_empty() => " runs the failed rows again",
        _ => return None,
    };
    if manifest.safety.is_some() {
        return None;
    }
    let verb = layout.command(verb(manifest));
    let command = manifest.benchmarks.iter().fold(verb, ProgramCommand::on);
    Some(notice![command, does])
}

/// The command that the run was started with: the phase, if it is a single one.
fn verb(manifest: &Manifest) -> &'static str {
    let of = |name: &String| Phase::ALL.into_iter().find(|phase| phase.as_str() == name);
    match manifest.phases.as_slice() {
        [only] => of(only).map_or("run", Phase::command),
        _ => "run",
    }
}

fn seconds(time: Timestamp) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds are exact until 2255"
    )]
    {
        time.as_microsecond() as f64 / 1e6
    }
}

/// What a status is computed from.
struct RunFigures<'f> {
    manifest: &'f Manifest,
    folds: &'f [&'f JournalFold],
    /// Whether items that have not ended are in progress.
    is_open: bool,
    start: f64,
    end: f64,
}

impl<'f> RunFigures<'f> {
    fn targets(&self) -> impl Iterator<Item = (&'f String, &'f TargetFold)> {
        self.folds.iter().flat_map(|fold| &fold.targets)
    }

    /// Open items, with the fold that they belong to.
    fn open(
        &self,
    ) -> impl Iterator<Item = (&'f JournalFold, &'f (String, String, String), &'f OpenItem)> {
        let folds = self.folds.iter().filter(|_| self.is_open);
        folds.flat_map(|fold| fold.open.iter().map(move |(key, item)| (*fold, key, item)))
    }

    fn judges(&self) -> bool {
        self.folds.iter().any(|fold| fold.runs(Phase::Evaluate))
    }

    fn simulates(&self) -> bool {
        self.folds.iter().any(|fold| fold.runs(Phase::Simulate))
    }

    fn models(&self) -> Vec<ModelProgress> {
        let mut names: Vec<String> = self
            .manifest
            .targets
            .iter()
            .map(|one| one.id.to_string())
            .collect();
        for name in self
            .folds
            .iter()
            .flat_map(|fold| fold.suts.iter().chain(fold.targets.keys()))
        {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let judges = self.judges();
        let all = names.into_iter().map(|name| self.model(name, judges));
        all.filter(|model| model.rows > 0 || self.is_open).collect()
    }

    fn model(&self, model: String, judges: bool) -> ModelProgress {
        let mut sum = ModelProgress {
            model,
            ..ModelProgress::default()
        };
        let (mut spent, mut judged, mut left_at) = (Spend::default(), 0, Some(0.0_f64));
        for fold in self.folds {
            // `evaluate` alone leaves out targets without conversations.
            if !fold.suts.contains(&sum.model) && !fold.targets.contains_key(&sum.model) {
                continue;
            }
            let none = TargetFold::default();
            let target = fold.targets.get(&sum.model).unwrap_or(&none);
            let running = match self.is_open {
                true => fold.running(&sum.model).count() as u64,
                false => 0,
            };
            let rows = fold.rows(&sum.model);
            let left = rows.saturating_sub(target.ended() + target.skipped);
            let time = target.pace.left(self.end, running, left);
            left_at = left_at.zip(time).map(|(all, one)| all.max(one));
            spent.add(&target.spent);
            judged += target.finished + target.no_verdict;
            sum.rows += rows;
            sum.simulated += target.simulated;
            sum.no_verdict += target.no_verdict;
            sum.failed += target.failed();
            sum.skipped += target.skipped;
            sum.running += running;
            sum.pending += left.saturating_sub(running);
        }
        sum.judged = judges.then_some(judged);
        sum.spent = spent.to_phase_cost();
        sum.seconds_left = left_at.filter(|_| self.is_open && sum.rows > 0);
        sum
    }

    fn phases(&self, models: &[ModelProgress]) -> Vec<PhaseStatus> {
        let mut generated: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (phase, (done, failed)) in self.folds.iter().flat_map(|fold| &fold.generated) {
            let sum = generated.entry(phase).or_default();
            *sum = (sum.0 + done, sum.1 + failed);
        }
        let mut phases: Vec<PhaseStatus> = generated
            .into_iter()
            .map(|(phase, (done, failed))| PhaseStatus {
                phase: phase.to_owned(),
                done,
                failed,
                ..PhaseStatus::default()
            })
            .collect();
        let rows: u64 = models.iter().map(|model| model.rows).sum();
        if rows == 0 {
            return phases;
        }
        if self.manifest.safety.is_some() {
            phases.push(self.items(
                self.manifest.phases.first().cloned().unwrap_or_default(),
                models,
            ));
            return phases;
        }
        if self.simulates() {
            phases.push(self.simulate(models));
        }
        if self.judges() {
            phases.push(self.evaluate(models));
        }
        phases
    }

    /// Items that are simulated and judged as one.
    fn items(&self, phase: String, models: &[ModelProgress]) -> PhaseStatus {
        let sum = |count: fn(&ModelProgress) -> u64| models.iter().map(count).sum::<u64>();
        PhaseStatus {
            phase,
            rows: Some(sum(|model| model.rows)),
            done: self
                .targets()
                .map(|(_, target)| target.finished + target.no_verdict)
                .sum(),
            failed: sum(|model| model.failed),
            running: sum(|model| model.running),
            pending: sum(|model| model.pending),
            skipped: sum(|model| model.skipped),
            no_verdict: sum(|model| model.no_verdict),
        }
    }

    fn simulate(&self, models: &[ModelProgress]) -> PhaseStatus {
        let running = self
            .open()
            .filter(|(_, _, item)| !item.is_simulated)
            .count() as u64;
        let done = models.iter().map(|model| model.simulated).sum();
        PhaseStatus {
            done,
            failed: self.targets().map(|(_, target)| target.not_simulated).sum(),
            running,
            no_verdict: 0,
            ..self.items(Phase::Simulate.as_str().to_owned(), models)
        }
    }

    fn evaluate(&self, models: &[ModelProgress]) -> PhaseStatus {
        let simulates = self.simulates();
        let running = self
            .open()
            .filter(|(_, _, item)| item.is_simulated || !simulates)
            .count() as u64;
        let all = self.items(Phase::Evaluate.as_str().to_owned(), models);
        let not_simulated: u64 = self.targets().map(|(_, target)| target.not_simulated).sum();
        let failed = self.targets().map(|(_, target)| target.not_judged).sum();
        let rows = all.rows.unwrap_or_default().saturating_sub(not_simulated);
        PhaseStatus {
            rows: Some(rows),
            failed,
            running,
            pending: rows.saturating_sub(all.done + failed + running + all.skipped),
            ..all
        }
    }

    fn calls(&self) -> CallProgress {
        let mut sum = CallProgress::default();
        #[expect(clippy::cast_possible_truncation, reason = "minutes since 1970")]
        let [began, last] = [self.start, self.end].map(|at| (at / 60.0).floor() as i64);
        let first = began.max(last - MINUTES + 1);
        sum.minutes = vec![0; usize::try_from(last - first + 1).unwrap_or(1)];
        let mut recent = 0;
        for calls in self.folds.iter().map(|fold| &fold.calls) {
            sum.replies += calls.replies;
            sum.cached += calls.cached;
            sum.failed += calls.failed;
            sum.retries += calls.retries;
            recent += calls
                .recent
                .iter()
                .filter(|at| self.end - **at <= RECENT)
                .count();
            for (minute, count) in &calls.minutes {
                let place = usize::try_from(minute - first).ok();
                if let Some(sum) = place.and_then(|place| sum.minutes.get_mut(place)) {
                    *sum += count;
                }
            }
        }
        let minutes = ((self.end - self.start).clamp(1.0, RECENT)) / 60.0;
        #[expect(clippy::cast_precision_loss, reason = "calls are far fewer than 2^53")]
        {
            sum.per_minute = recent as f64 / minutes;
        }
        sum
    }

    fn spent(&self) -> Spend {
        let mut sum = Spend::default();
        self.folds.iter().for_each(|fold| sum.add(&fold.spent));
        sum
    }

    /// The dollars at the end, if the rows left cost as much as those that have ended.
    fn expected(&self, models: &[ModelProgress], spent: &Spend) -> Option<f64> {
        let so_far = spent.total_cost()?;
        let begun: f64 = self.open().map(|(_, _, item)| item.cost).sum();
        let mut more = -begun;
        for model in models {
            let left = model.running + model.pending;
            let of_model = || self.targets().filter(|(name, _)| **name == model.model);
            let asked: u64 = of_model().map(|(_, target)| target.asked).sum();
            let cost: f64 = of_model().map(|(_, target)| target.asked_cost).sum();
            match (left, asked >= FEWEST) {
                (0, _) => {}
                (_, false) => return None,
                #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
                (left, true) => more += cost / asked as f64 * left as f64,
            }
        }
        (self.is_open && !models.is_empty()).then(|| so_far + more.max(0.0))
    }

    /// The targets run side by side: the slowest ends last.
    fn left(&self, models: &[ModelProgress]) -> Option<f64> {
        let each = models.iter().map(|model| model.seconds_left);
        let longest = each.reduce(|all, one| all.zip(one).map(|(all, one)| all.max(one)));
        longest.flatten().filter(|_| self.is_open)
    }

    fn failures(&self) -> Vec<FailureReason> {
        let mut all: BTreeMap<&String, ReasonFold> = BTreeMap::new();
        for (reason, fold) in self.folds.iter().flat_map(|fold| &fold.failures) {
            let sum = all.entry(reason).or_insert_with(|| ReasonFold {
                example: fold.example.clone(),
                ..ReasonFold::default()
            });
            sum.rows += fold.rows;
            for (model, rows) in &fold.models {
                *sum.models.entry(model.clone()).or_default() += rows;
            }
        }
        let mut listed: Vec<FailureReason> = all
            .into_iter()
            .map(|(reason, fold)| FailureReason {
                reason: reason.clone(),
                rows: fold.rows,
                models: fold.models,
                example: fold.example,
            })
            .collect();
        listed.sort_by_key(|one| std::cmp::Reverse(one.rows));
        listed.truncate(REASONS);
        listed
    }

    fn conversations(&self) -> Vec<RunningConversation> {
        let mut open: Vec<_> = self.open().collect();
        open.sort_by(|a, b| a.2.last.total_cmp(&b.2.last).then_with(|| a.1.cmp(b.1)));
        open.truncate(CONVERSATIONS);
        let simulates = self.simulates();
        let shown = open
            .into_iter()
            .map(|(fold, (test, prompt, sut), item)| RunningConversation {
                model: sut.clone(),
                metric: test.clone(),
                prompt_id: prompt.clone(),
                title: item.title.clone(),
                turn: item.turn.max(1),
                turns: fold.turns,
                judging: item.is_simulated || !simulates,
                since: (self.end - item.last).max(0.0),
                messages: item.messages.clone(),
            });
        shown.collect()
    }
}
