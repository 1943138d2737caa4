//! One benchmark of a run. Phases run in sequence where they depend on each other, and side by side where they do not.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use futures::future::join_all;
use journal::RunId;
use schema::{
    Conversation, Finding, ModelId, Notice, Phase, ProgramFlag, PromptVersions, Shard, ShardFile,
    Summary, TargetRef,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    Pipeline,
    feed::{RowEnd, Sample, SampleFeed, ScenarioList, scenario_list},
    generate::Generation,
    results::Results,
    run_log::BenchmarkLog,
    sequence::{RunSequence, SequenceFeed, StopWhenDecided},
    summarise::SummaryWriter,
    target::{TargetRun, spawn_scoped},
    write::write_target,
};
use crate::{
    feed::Feed,
    phases::BenchmarkContext,
    progress::Progress,
    report::{BenchmarkReport, Failures},
};
use store::{
    BenchmarkDir, LoadedStandards, RunError, TreeLock,
    findings::{FindingSources, benchmark_findings, conversation_findings},
    finish_merged,
    provenance::{Provenance, target_bases},
    read_conversations, read_scenarios, suggest_segments,
};

/// One running benchmark: the state that all of its phases share. Their results are in the [`Results`] that they return.
pub(crate) struct BenchmarkRun<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(crate) dir: BenchmarkDir,
    pub(crate) loaded: BenchmarkContext,
    /// What grades compare with, where there are standards.
    pub(super) standards: Option<LoadedStandards>,
    /// The parts that the tree has; `None` if it is whole.
    pub(super) shard: Option<ShardFile>,
    /// Whether it is the only benchmark of the run.
    pub(super) alone: bool,
    pub(super) failures: Arc<Failures>,
    /// The record of the benchmark's files. Each target writes it when it ends.
    provenance: Mutex<Provenance>,
    /// When the first phase with items began.
    started: Instant,
    _lock: TreeLock,
}

/// The result of a benchmark, and the fingerprints of the phases that produced it.
pub(super) struct BenchmarkEnd {
    pub(super) report: BenchmarkReport,
    pub(super) fingerprints: BTreeMap<String, Value>,
    pub(super) metrics: usize,
    pub(super) versions: PromptVersions,
}

/// Conversations of one metric that are on disk.
#[derive(Clone, Copy, Default)]
struct KeptRows {
    all: u64,
    /// The conversations that have no kept verdict.
    judged: u64,
}

impl<'p> BenchmarkRun<'p> {
    pub(super) fn new(
        pipeline: &'p Pipeline,
        dir: BenchmarkDir,
        loaded: BenchmarkContext,
        lock: TreeLock,
    ) -> Self {
        Self {
            provenance: Mutex::new(Provenance::read(&dir)),
            pipeline,
            dir,
            loaded,
            standards: None,
            shard: None,
            alone: true,
            failures: Arc::default(),
            started: Instant::now(),
            _lock: lock,
        }
    }

    /// The result of a benchmark that cannot be run at all.
    pub(super) fn refused(self, error: RunError) -> BenchmarkEnd {
        let mut results = Results::default();
        self.dir.name().clone_into(&mut results.report.name);
        results.report.error = Some(error);
        BenchmarkEnd {
            report: results.report,
            fingerprints: results.fingerprints,
            metrics: self.loaded.benchmark.metrics.len(),
            versions: self.loaded.versions,
        }
    }

    /// Runs the phases and returns the results, errors included. `run_id` is the id of the journal.
    pub(super) async fn run(mut self, run_id: &RunId) -> BenchmarkEnd {
        let cached = self.pipeline.session.cached_replies().await;
        let mut results = Results::default();
        let error = self.phases(run_id, &mut results).await.err();
        self.end_journal(run_id, &results, error.as_ref(), cached)
            .await;
        let _ = fs::remove_dir_all(self.dir.spool());
        let Results {
            mut report,
            fingerprints,
            replies,
            ..
        } = results;
        self.dir.name().clone_into(&mut report.name);
        let replies = replies.into_iter();
        (report.replies, report.reasoning) = replies.map(|(id, tally)| tally.of(&id)).unzip();
        let targets: Vec<ModelId> = report.replies.iter().map(|all| all.sut.clone()).collect();
        report.basis = target_bases(&self.dir, &targets);
        report.findings = self.findings(&report);
        report.error = error;
        report.failures = Arc::try_unwrap(self.failures)
            .map(Failures::into_groups)
            .unwrap_or_default();
        BenchmarkEnd {
            report,
            fingerprints,
            metrics: self.loaded.benchmark.metrics.len(),
            versions: self.loaded.versions,
        }
    }

    /// What limits the conclusions from the results.
    fn findings(&self, report: &BenchmarkReport) -> Vec<Finding> {
        let Some(statistics) = &report.statistics else {
            return conversation_findings(&self.dir, &report.replies, &report.basis);
        };
        let sources = FindingSources {
            targets: &statistics.targets,
            bases: &report.basis,
            reference_turns: self.standards.as_ref().map(|all| &all.turns),
        };
        benchmark_findings(&self.pipeline.layout, &self.dir, sources)
    }

    /// Records the result of the run in the journal.
    async fn end_journal(
        &self,
        run_id: &RunId,
        results: &Results,
        error: Option<&RunError>,
        cached: u64,
    ) {
        let session = &self.pipeline.session;
        let own = self.log();
        own.end(results, self.started.elapsed());
        let log = own.log;
        log.finish(run_id, error, session.stop().is_stopped());
        if let Some(cache) = session.cache() {
            let now = session.cached_replies().await;
            log.cache(cached, now, &cache.name());
        }
    }

    /// The part that the run plays; `None`: everything.
    pub(super) fn part(&self) -> Option<Shard> {
        self.shard.as_ref().and_then(ShardFile::shard)
    }

    /// The journal events of the run.
    pub(super) fn log(&self) -> BenchmarkLog<'_> {
        BenchmarkLog::new(self)
    }

    async fn phases(&mut self, run_id: &RunId, results: &mut Results) -> Result<(), RunError> {
        let pipeline = self.pipeline;
        if pipeline.runs(Phase::Simulate) || pipeline.runs(Phase::Evaluate) {
            self.record_versions()?;
        }
        let force = pipeline.replaces();
        if pipeline.runs(Phase::GenMetrics) {
            let metrics = Generation::new(self, results).metrics(force).await;
            if let Ok(Some(metrics)) = &metrics {
                self.loaded.benchmark.metrics.clone_from(metrics);
            }
            // The metrics that are measured are known only now.
            self.log().start(run_id);
            if metrics?.is_none() {
                return Ok(());
            }
            results.wrote(self.dir.yaml());
        } else {
            self.log().start(run_id);
        }
        pipeline.session.sync_journals().await;
        self.started = Instant::now();
        let simulate = pipeline.runs(Phase::Simulate);
        if simulate {
            self.note_fewer_samples();
        }
        if pipeline.runs(Phase::GenScenarios) || simulate {
            self.generate_and_simulate(force, results).await?;
        }
        if pipeline.runs(Phase::Evaluate) && !simulate {
            self.judge_all(results).await?;
        }
        pipeline.session.sync_journals().await;
        if simulate && self.shard.as_ref().is_some_and(|file| file.merged) {
            finish_merged(&self.dir)?;
        }
        let mut summaries = SummaryWriter { run: self, results };
        if pipeline.runs(Phase::Aggregate) {
            summaries.write(run_id)?;
        } else if pipeline.runs(Phase::Evaluate) {
            summaries.compare();
        }
        Ok(())
    }

    /// Sends scenarios to all targets while they are generated.
    async fn generate_and_simulate(
        &self,
        force: bool,
        results: &mut Results,
    ) -> Result<(), RunError> {
        let generate = self.pipeline.runs(Phase::GenScenarios);
        let evaluate = self.pipeline.runs(Phase::Evaluate);
        let (writer, scenarios) = scenario_list();
        let generating = async {
            let mut results = Results::default();
            let mut generation = Generation::new(self, &mut results);
            let ended = generation.scenarios(writer, generate, force).await;
            results.ended(ended)
        };
        if let Some(stop) = &self.pipeline.options.stop_when_decided {
            results.join(generating.await);
            results.wrote(self.dir.scenarios());
            if results.report.error.is_none() {
                self.simulate_in_sequence(stop, scenarios, results).await?;
            }
            return results.report.error.take().map_or(Ok(()), Err);
        }
        let mut streams = Vec::new();
        if self.pipeline.runs(Phase::Simulate) {
            self.suggest_segments();
            for target in self.pipeline.targets() {
                let run = TargetRun::new(self, target, true, evaluate)?;
                let feed = SampleFeed::new(
                    scenarios.clone(),
                    self.pipeline.options.samples,
                    run.most_turns(),
                )
                .of_shard(self.part());
                streams.push(self.simulate_target(run, feed, scenarios.clone()));
            }
        }
        drop(scenarios);
        let (generated, streamed) = futures::join!(generating, join_all(streams));
        results.join(generated);
        results.wrote(self.dir.scenarios());
        streamed.into_iter().for_each(|part| results.join(part));
        results.report.error.take().map_or(Ok(()), Err)
    }

    /// Simulates scenarios in the order of the benchmark until the rules of a gate, or the differences of targets, are decided. All scenarios
    /// are there: the order is fixed before the first row.
    async fn simulate_in_sequence(
        &self,
        stop: &StopWhenDecided,
        scenarios: ScenarioList,
        results: &mut Results,
    ) -> Result<(), RunError> {
        let (rows, samples) = (scenarios.rows(), self.pipeline.options.samples);
        let targets: Vec<&TargetRef> = self.pipeline.targets().collect();
        let ids: Vec<ModelId> = targets.iter().map(|target| target.id.clone()).collect();
        let sequence = RunSequence::begin(self, stop, &rows, &ids)?;
        let left: Vec<&str> = ids
            .iter()
            .filter(|id| !sequence.has_tests(id))
            .map(ModelId::as_str)
            .collect();
        if !left.is_empty() {
            self.note(format!(
                "{}: not simulated, since no rule of the gate on a rate is about it",
                left.join(", ")
            ));
        }
        let mut streams = Vec::new();
        for target in targets {
            let run = TargetRun::new(self, target, true, true)?;
            let feed = SequenceFeed::new(Arc::clone(&sequence), &target.id, &rows, samples);
            streams.push(self.simulate_target(run, feed, scenarios.clone()));
        }
        let streamed = join_all(streams).await;
        streamed.into_iter().for_each(|part| results.join(part));
        self.log_queued_items(&sequence, &ids);
        let ended = sequence.end();
        results.wrote(self.dir.sequence());
        ended
    }

    /// Journals how many items of each metric the targets had, which is known only now: the most that one has, and the numbers of those that
    /// have fewer.
    fn log_queued_items(&self, sequence: &RunSequence, targets: &[ModelId]) {
        let queued = sequence.queued();
        let log = self.log().log;
        for metric in &self.loaded.benchmark.metrics {
            let of = |id: &ModelId| {
                let metrics = queued.get(id)?;
                metrics.get(&metric.id).copied()
            };
            let rows = |id: &ModelId| of(id).unwrap_or(0);
            let most = targets.iter().map(rows).max().unwrap_or(0);
            let fewer = targets.iter().filter(|id| rows(id) < most);
            let by_sut = fewer.map(|id| (id.shared(), rows(id))).collect();
            log.items(&metric.id, (most, most), by_sut);
        }
    }

    /// Simulates the samples of `feed` with one target, and judges each conversation when it ends. `scenarios` are all that there are.
    async fn simulate_target<F>(
        &self,
        run: Arc<TargetRun>,
        feed: F,
        scenarios: ScenarioList,
    ) -> Results
    where
        F: Feed<Unit = Sample, End = RowEnd> + 'static,
    {
        let options = &self.pipeline.options;
        run.state.report_start(Phase::Simulate);
        if run.evaluator.is_some() {
            run.state.report_start(Phase::Evaluate);
        }
        let rows = Arc::clone(&run);
        let at_once = options.concurrency.simulate;
        spawn_scoped(rows.simulate_rows(feed, at_once)).await;
        let mut results = run.results();
        let ended = write_target(self, run, &scenarios.rows(), &mut results).await;
        results.ended(ended)
    }

    /// Judges the conversations on disk. Targets without conversations are skipped.
    async fn judge_all(&self, results: &mut Results) -> Result<(), RunError> {
        let mut runs = Vec::new();
        for target in self.pipeline.targets() {
            if self.dir.target(&target.id)?.conversations().exists() {
                runs.push(TargetRun::new(self, target, false, true)?);
            } else {
                self.note(format!(
                    "target {} has no conversations; simulate makes them",
                    target.id
                ));
            }
        }
        self.log_kept_items(&runs).await?;
        let streams = runs.into_iter().map(|run| self.judge_target(run));
        let judged = join_all(streams).await;
        judged.into_iter().for_each(|part| results.join(part));
        results.report.error.take().map_or(Ok(()), Err)
    }

    /// Judges the conversations of one target on disk.
    async fn judge_target(&self, run: Arc<TargetRun>) -> Results {
        run.state.report_start(Phase::Evaluate);
        let mut results = run.results();
        // If the file turns out to be broken further on, the existing scores stay unchanged. The replies of the judges are in the
        // cache.
        let ended = match self.judge_rows(&run).await {
            Ok(()) => write_target(self, run, &[], &mut results).await,
            Err(error) => Err(error),
        };
        results.ended(ended)
    }

    async fn judge_rows(&self, run: &Arc<TargetRun>) -> Result<(), RunError> {
        let path = self.dir.target(run.id())?.conversations();
        let scenarios = read_scenarios(&self.dir)?;
        let (target, benchmark) = (run.state.target.clone(), self.loaded.benchmark.clone());
        let (sender, receiver) = mpsc::channel::<Conversation>(16);
        let counted = {
            let (run, path) = (Arc::clone(run), path.clone());
            tokio::task::spawn_blocking(move || run.count_rows(&path))
        };
        let reader =
            tokio::task::spawn_blocking(move || {
                read_conversations(&path, &target, &benchmark, &scenarios, |conversation| {
                    match sender.blocking_send(conversation) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    }
                })
            });
        spawn_scoped(Arc::clone(run).judge_rows(receiver)).await;
        // Once the count has ended, in whatever way, nothing else shares the rows' state.
        let _ = counted.await;
        reader
            .await
            .map_err(|error| RunError::input(error.to_string()))?
    }

    /// Journals how many items of each metric are judged when their conversations are on disk: the most that one target has, and the
    /// numbers of targets that have fewer. Rows whose verdicts stay are not items of this run and count only in the total. A file that
    /// cannot be read is reported when it is judged.
    async fn log_kept_items(&self, runs: &[Arc<TargetRun>]) -> Result<(), RunError> {
        let mut of_targets = Vec::new();
        let scenarios = read_scenarios(&self.dir).unwrap_or_default();
        for run in runs {
            let path = self.dir.target(run.id())?.conversations();
            let (run, benchmark) = (Arc::clone(run), self.loaded.benchmark.clone());
            let (sut, scenarios) = (run.id().shared(), scenarios.clone());
            let counting = tokio::task::spawn_blocking(move || {
                let mut rows: BTreeMap<String, KeptRows> = BTreeMap::new();
                let _ =
                    read_conversations(&path, &run.state.target, &benchmark, &scenarios, |row| {
                        let judged = !run.verdicts.has(&row);
                        let rows = rows.entry(row.scenario.metric_id).or_default();
                        rows.all += 1;
                        rows.judged += u64::from(judged);
                        ControlFlow::Continue(())
                    });
                rows
            });
            of_targets.push((sut, counting.await.unwrap_or_default()));
        }
        if runs.is_empty() {
            return Ok(());
        }
        for metric in &self.loaded.benchmark.metrics {
            let of = |rows: &BTreeMap<String, KeptRows>| {
                rows.get(&metric.id).copied().unwrap_or_default()
            };
            let rows: Vec<KeptRows> = of_targets.iter().map(|(_, rows)| of(rows)).collect();
            let most = |count: fn(&KeptRows) -> u64| rows.iter().map(count).max().unwrap_or(0);
            let (using, total) = (most(|rows| rows.judged), most(|rows| rows.all));
            let suts = of_targets.iter().zip(&rows);
            let fewer = suts.filter(|(_, rows)| rows.judged < using);
            let by_sut = fewer.map(|((sut, _), rows)| (Arc::clone(sut), rows.judged));
            let log = self.log().log;
            log.items(&metric.id, (using, total), by_sut.collect());
        }
        Ok(())
    }

    /// Notes before the first conversation that there will be many rows in plain files. Scenarios that are still to be generated do not count.
    fn suggest_segments(&self) {
        let options = &self.pipeline.options;
        let scenarios = read_scenarios(&self.dir).unwrap_or_default();
        let of_metrics = scenarios
            .iter()
            .filter(|row| self.loaded.benchmark.metric(&row.metric_id).is_some());
        let rows = of_metrics.count() as u64 * u64::from(options.samples);
        if let Some(note) = suggest_segments(rows, options.rows) {
            self.note(note);
        }
    }

    /// Notes before the first conversation that rows of earlier samples will be removed from the tree. The samples in the tree are
    /// read from `results.json`; without that file there is no note.
    fn note_fewer_samples(&self) {
        let samples = u64::from(self.pipeline.options.samples);
        let summaries: Vec<Summary> = files::read(self.dir.results())
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let held = |summary: &Summary| {
            let rows = summary.by_scenario.values().map(|rate| rate.n_total);
            rows.max().unwrap_or(0)
        };
        let fewer: Vec<(&str, u64)> = self
            .pipeline
            .targets()
            .filter_map(|target| {
                let summary = summaries.iter().find(|row| row.target_model == target.id)?;
                Some((target.id.as_str(), held(summary))).filter(|(_, held)| *held > samples)
            })
            .collect();
        let Some(most) = fewer.iter().map(|(_, held)| *held).max() else {
            return;
        };
        let names: Vec<&str> = fewer.iter().map(|(name, _)| *name).collect();
        self.note(format!(
            "the tree has {most} samples of a scenario for {}, and this run has {samples}: the other rows are removed. Their replies \
             stay in the cache, and a run with {} restores the rows without new calls",
            names.join(", "),
            ProgramFlag::new("num-samples").value(most)
        ));
    }

    /// What the record of the benchmark's files says.
    pub(super) fn provenance(&self) -> Provenance {
        let provenance = self.provenance.lock();
        provenance.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the record of the benchmark's files, and writes it.
    pub(super) fn record_provenance(
        &self,
        change: impl FnOnce(&mut Provenance),
    ) -> Result<(), RunError> {
        let mut provenance = self
            .provenance
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(&mut provenance);
        provenance.write(&self.dir)
    }

    pub(super) fn observe(&self, progress: &Progress<'_>) {
        progress.trace();
        self.pipeline.session.observer().on(progress);
    }

    pub(super) fn note(&self, text: impl Into<Notice>) {
        self.observe(&Progress::Note {
            benchmark: self.dir.name(),
            text: &text.into(),
        });
    }
}
