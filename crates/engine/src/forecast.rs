//! Looks up, before a run begins, which replies it will find in the response cache and why the others are new.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::Arc,
};

use schema::{
    Benchmark, Conversation, Evaluator, Item, JudgeVerdict, ModelId, NoJournal, Phase, ProgramFlag,
    Scenario, Simulator, TargetRef,
    setting_keys::{METRICS, SCENARIOS},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    benchmark::{RunOptions, versions},
    phases::{BenchmarkContext, Phases},
};
use store::{
    BenchmarkDir, Layout, RunError, fill_from_metrics, plays,
    provenance::{
        FileProvenance, Provenance, Settings, change_in_words, changes, evaluator_settings,
        hash_of_scenarios, simulator_settings, target_settings,
    },
    read_benchmark, read_conversations, read_scenarios, read_shard,
};

/// The most rows that are looked up for each target. A lookup takes about as long as a run that finds everything in the cache, so it
/// must stay small beside the run.
pub(crate) const MAX_ROWS: u64 = 500;

/// What a phase finds in the cache for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Forecast {
    /// The benchmark's folder name.
    pub benchmark: String,
    /// `Simulate` or `Evaluate`.
    pub phase: Phase,
    /// The target.
    pub target: ModelId,
    /// Rows whose replies are all in the cache.
    pub cached: u64,
    /// Rows that calls are made for.
    pub new: u64,
    /// Whether there are more rows than were looked up: those of a benchmark are spread evenly over its scenarios, where it plays them.
    pub more: bool,
    /// Why calls are made. Empty if none are.
    pub reasons: Vec<String>,
}

/// Looks up what a run of the benchmark `name` would find in the cache. The models of `phases` answer from the cache and fail where it
/// has no reply: nothing is called, and nothing is written. Scenarios that are not generated yet are not included.
///
/// # Errors
/// When the benchmark cannot be read, or a phase cannot be created.
pub async fn forecast(
    layout: &Layout,
    name: &str,
    phases: &Phases,
    options: &RunOptions,
) -> Result<Vec<Forecast>, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let mut scenarios = read_scenarios(&dir)?.to_vec();
    let part = read_shard(&dir)?.and_then(|file| file.shard());
    scenarios.retain(|row| benchmark.metric(&row.metric_id).is_some() && plays(part, row));
    scenarios
        .iter_mut()
        .for_each(|row| fill_from_metrics(row, &benchmark));
    let loaded = BenchmarkContext {
        name: name.to_owned(),
        prompts: dir.prompts(),
        benchmark,
        versions: versions::of(&dir, options)?,
    };
    let mut found = Vec::new();
    for target in &phases.targets {
        let ids = &options.targets;
        if !ids.is_empty() && !ids.contains(&target.id) {
            continue;
        }
        let known = Provenance::read_all(layout, &dir, std::slice::from_ref(&target.id));
        let simulates = options.phases.contains(&Phase::Simulate);
        let evaluates = options.phases.contains(&Phase::Evaluate);
        let simulator = simulates.then(|| (phases.simulator)(&loaded, target));
        let evaluator = evaluates.then(|| (phases.evaluator)(&loaded));
        let look = Look {
            dir: &dir,
            benchmark: &loaded.benchmark,
            scenarios: &scenarios,
            target,
            options,
            simulator: simulator.transpose()?,
            evaluator: evaluator.transpose()?,
            known: known.target(&target.id),
        };
        found.extend(look.look().await?);
    }
    Ok(found)
}

/// How many scenarios are looked up, each with all its samples.
fn most_scenarios(samples: u32) -> usize {
    (MAX_ROWS / u64::from(samples.max(1))).max(1) as usize
}

struct Look<'l> {
    dir: &'l BenchmarkDir,
    benchmark: &'l Benchmark,
    scenarios: &'l [Scenario],
    target: &'l TargetRef,
    options: &'l RunOptions,
    simulator: Option<Arc<dyn Simulator>>,
    evaluator: Option<Arc<dyn Evaluator>>,
    known: store::provenance::TargetProvenance,
}

#[derive(Default)]
struct Count {
    cached: u64,
    new: u64,
    more: bool,
    /// Metrics of the new rows.
    metrics: BTreeSet<String>,
}

impl Count {
    fn add(&mut self, is_cached: bool, metric: &str) {
        match is_cached {
            true => self.cached += 1,
            false => {
                self.new += 1;
                self.metrics.insert(metric.to_owned());
            }
        }
    }
}

impl Look<'_> {
    async fn look(&self) -> Result<Vec<Forecast>, RunError> {
        let (mut simulated, mut judged) = (Count::default(), Count::default());
        // Verdicts on new conversations are also new, which needs no further reason.
        let mut unsimulated = 0;
        if let Some(simulator) = &self.simulator {
            let samples = self.options.samples;
            let step = self
                .scenarios
                .len()
                .div_ceil(most_scenarios(samples))
                .max(1);
            (simulated.more, judged.more) = (step > 1, step > 1);
            let rows = self.scenarios.iter().step_by(step);
            for (row, sample) in rows.flat_map(|row| (0..samples).map(move |sample| (row, sample)))
            {
                let item = Item::new(row, &self.target.id, sample, Arc::new(NoJournal));
                let scenario = Arc::new(row.clone());
                let simulation = simulator.simulate(&scenario, &item).await;
                let conversation = simulation.ok().filter(|row| row.error.is_none());
                simulated.add(conversation.is_some(), &row.metric_id);
                match conversation {
                    Some(conversation) => self.judge(&conversation, &mut judged).await,
                    None => unsimulated += 1,
                }
            }
        } else {
            let (rows, more) = self.conversations()?;
            judged.more = more;
            for conversation in rows {
                self.judge(&conversation, &mut judged).await;
            }
        }
        let mut found = Vec::new();
        if self.simulator.is_some() {
            let reasons = self.why_simulated(&simulated);
            found.push(self.row(Phase::Simulate, &simulated, reasons));
        }
        if self.evaluator.is_some() {
            let mut reasons = self.why_judged(&judged);
            judged.new += unsimulated;
            if unsimulated > 0 {
                reasons.insert(0, "their conversations are new".to_owned());
            }
            found.push(self.row(Phase::Evaluate, &judged, reasons));
        }
        found.retain(|row| row.cached + row.new > 0);
        Ok(found)
    }

    fn row(&self, phase: Phase, count: &Count, reasons: Vec<String>) -> Forecast {
        Forecast {
            benchmark: self.dir.name().to_owned(),
            phase,
            target: self.target.id.clone(),
            cached: count.cached,
            new: count.new,
            more: count.more,
            reasons: match count.new {
                0 => Vec::new(),
                _ => reasons,
            },
        }
    }

    async fn judge(&self, conversation: &Conversation, count: &mut Count) {
        let Some(evaluator) = &self.evaluator else {
            return;
        };
        let item = Item::of(conversation, Arc::new(NoJournal));
        let scores = evaluator
            .evaluate(conversation, &item)
            .await
            .unwrap_or_default();
        let failed = |score: &schema::Score| {
            let mut judges = score.judges.iter();
            let failed = |judge: &JudgeVerdict| {
                let mut readings = judge.readings.iter();
                judge.error.is_some() || readings.any(|reading| reading.error.is_some())
            };
            score.error().is_some() || judges.any(failed)
        };
        let is_cached = !scores.is_empty() && !scores.iter().any(failed);
        count.add(is_cached, &conversation.scenario.metric_id);
    }

    /// The existing conversations that a run would judge.
    fn conversations(&self) -> Result<(Vec<Conversation>, bool), RunError> {
        let path = self.dir.target(&self.target.id)?.conversations();
        let (mut rows, mut more) = (Vec::new(), false);
        if !path.exists() {
            return Ok((rows, more));
        }
        let take = |row: Conversation| {
            if row.error.is_some() || self.benchmark.metric(&row.scenario.metric_id).is_none() {
                return ControlFlow::Continue(());
            }
            if rows.len() as u64 == MAX_ROWS {
                more = true;
                return ControlFlow::Break(());
            }
            rows.push(row);
            ControlFlow::Continue(())
        };
        read_conversations(&path, self.target, self.benchmark, self.scenarios, take)?;
        Ok((rows, more))
    }

    fn why_simulated(&self, count: &Count) -> Vec<String> {
        let Some(simulator) = &self.simulator else {
            return Vec::new();
        };
        let mut by_metric: BTreeMap<&str, Vec<&Scenario>> = BTreeMap::new();
        for row in self.scenarios {
            by_metric.entry(&row.metric_id).or_default().push(row);
        }
        let hash =
            |(metric, rows): (&str, Vec<&Scenario>)| (metric.to_owned(), hash_of_scenarios(rows));
        let hashes = by_metric.into_iter().map(hash).collect();
        let config = &self.options.config;
        let samples = Some(self.options.samples.into());
        let fingerprint = json!(simulator.fingerprint());
        let now = simulator_settings(&fingerprint, config, samples, &hashes);
        let own = target_settings(config, self.target.id.as_str());
        let known = self.known.conversations.as_ref();
        let own = known.map_or_else(Vec::new, |known| in_words(&known.target, &own, count));
        self.why(known, &now, count, own)
    }

    fn why_judged(&self, count: &Count) -> Vec<String> {
        let Some(evaluator) = &self.evaluator else {
            return Vec::new();
        };
        let fingerprint = json!(evaluator.fingerprint());
        let now = evaluator_settings(&fingerprint, &self.options.config);
        match count.new {
            0 => Vec::new(),
            _ => self.why(self.known.scores.as_ref(), &now, count, Vec::new()),
        }
    }

    fn why(
        &self,
        known: Option<&FileProvenance>,
        now: &Settings,
        count: &Count,
        mut reasons: Vec<String>,
    ) -> Vec<String> {
        if self.options.force {
            return vec![format!(
                "{} calls for every reply again",
                ProgramFlag::new("force")
            )];
        }
        let Some(known) = known else {
            return vec!["no earlier run has them".to_owned()];
        };
        reasons.extend(in_words(&known.settings, now, count));
        if reasons.is_empty() {
            let options = self.options;
            let reason = match (options.fresh_targets, options.force_rows) {
                (true, _) => {
                    let flag = ProgramFlag::new("fresh-targets");
                    format!("{flag} calls the targets again")
                }
                (false, true) => {
                    let flag = ProgramFlag::new("force-row");
                    format!("{flag} calls for them again")
                }
                (false, false) => {
                    "they failed or were not finished, or their replies are no longer in the cache"
                        .to_owned()
                }
            };
            reasons.push(reason);
        }
        reasons
    }
}

/// Describes what changed in the settings, for the metrics that have new rows.
fn in_words(before: &Settings, now: &Settings, count: &Count) -> Vec<String> {
    let concerns = |key: &String| match key.split_once('.') {
        Some((METRICS | SCENARIOS, metric)) => count.metrics.contains(metric),
        _ => true,
    };
    let changed = changes(before, now).into_iter().filter(concerns);
    changed
        .map(|key| change_in_words(&key, before, now))
        .collect()
}
