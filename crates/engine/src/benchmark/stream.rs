//! Conversations and scores of all targets, side by side.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use schema::{Conversation, Phase, TargetRef};
use tokio::sync::{Semaphore, mpsc};

use super::{
    BenchmarkRun,
    feed::Feed,
    rows::aside,
    target::{TargetRun, Totals},
};
use crate::progress::Progress;
use store::{RunError, Spool, Verdicts, read_conversations, read_scenarios};

/// Conversations of one metric that are on disk.
#[derive(Clone, Copy, Default)]
struct KeptRows {
    all: u64,
    /// Those without a verdict that stays.
    judged: u64,
}

impl BenchmarkRun<'_> {
    /// Everything the rows of `target` share. `simulate` and `evaluate` say which phases run.
    pub(super) fn target_run(
        &self,
        target: &TargetRef,
        simulate: bool,
        evaluate: bool,
    ) -> Result<Arc<TargetRun>, RunError> {
        let phases = &self.pipeline.phases;
        let spool = |wanted: bool, name: &str| {
            let path = self.dir.spool().join(format!("{}.{name}", target.id));
            wanted.then(|| Spool::create(&path)).transpose()
        };
        let simulator = simulate
            .then(|| (phases.simulator)(&self.loaded, target))
            .transpose()?;
        let evaluator = evaluate
            .then(|| (phases.evaluator)(&self.loaded))
            .transpose()?;
        // Conversations that are simulated now have no verdict yet.
        let keeps = evaluate && !simulate && !self.pipeline.options.force;
        let verdicts = match keeps {
            true => Verdicts::read(
                &self.dir.target(&target.id)?,
                &target.id,
                &self.loaded.benchmark.metrics,
            ),
            false => Verdicts::default(),
        };
        if let Some(simulator) = &simulator {
            let phase = format!("simulator:{}", target.id);
            self.fingerprint(&phase, &simulator.fingerprint());
        }
        if let Some(evaluator) = &evaluator {
            self.fingerprint("evaluator", &evaluator.fingerprint());
        }
        Ok(Arc::new(TargetRun {
            benchmark: self.dir.name().to_owned(),
            target: target.clone(),
            metrics: self.loaded.benchmark.metrics.clone(),
            simulator,
            evaluator,
            verdicts,
            conversations: spool(simulate, "conversations")?,
            scores: spool(evaluate, "scores")?,
            judging: Arc::new(Semaphore::new(self.pipeline.options.concurrency.evaluate)),
            observer: Arc::clone(self.pipeline.session.observer()),
            failures: Arc::clone(&self.failures),
            stop: self.pipeline.session.stop().clone(),
            journal: Arc::clone(self.pipeline.session.journal()),
            totals: std::sync::Mutex::new(Totals::default()),
            broken: std::sync::OnceLock::new(),
        }))
    }

    /// Plays every scenario of the feed against one target, and judges each conversation when it ends.
    pub(super) async fn stream_target(
        &self,
        run: Arc<TargetRun>,
        feed: Feed,
    ) -> Result<(), RunError> {
        let options = &self.pipeline.options;
        self.started(&run, Phase::Simulate);
        if run.evaluator.is_some() {
            self.started(&run, Phase::Evaluate);
        }
        let rows = Arc::clone(&run);
        let at_once = options.concurrency.simulate;
        aside(rows.play_rows(feed.clone(), options.samples, at_once)).await;
        self.write_target(run, &feed.rows()).await
    }

    /// Tells how many items of each metric are judged where their conversations are on disk: the most that one target has. Rows
    /// whose verdicts stay are no items of this run, and count in the total alone. A file that cannot be read is reported when it
    /// is judged.
    pub(super) async fn log_kept_items(&self, runs: &[Arc<TargetRun>]) -> Result<(), RunError> {
        let mut most: BTreeMap<String, KeptRows> = BTreeMap::new();
        let scenarios = read_scenarios(&self.dir.scenarios()).unwrap_or_default();
        for run in runs {
            let path = self.dir.target(run.id())?.conversations();
            let (run, benchmark) = (Arc::clone(run), self.loaded.benchmark.clone());
            let scenarios = scenarios.clone();
            let counting = tokio::task::spawn_blocking(move || {
                let mut rows: BTreeMap<String, KeptRows> = BTreeMap::new();
                let _ = read_conversations(&path, &run.target, &benchmark, &scenarios, |row| {
                    let judged = !run.verdicts.has(&row);
                    let rows = rows.entry(row.scenario.metric_id).or_default();
                    rows.all += 1;
                    rows.judged += u64::from(judged);
                    ControlFlow::Continue(())
                });
                rows
            });
            for (metric, rows) in counting.await.unwrap_or_default() {
                let most = most.entry(metric).or_default();
                most.all = rows.all.max(most.all);
                most.judged = rows.judged.max(most.judged);
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        for metric in self.metrics_told() {
            let rows = most.get(&metric.id).copied().unwrap_or_default();
            self.log_items(&metric.id, rows.judged, rows.all);
        }
        Ok(())
    }

    /// Judges the conversations of one target that are on disk.
    pub(super) async fn judge_target(&self, run: Arc<TargetRun>) -> Result<(), RunError> {
        self.started(&run, Phase::Evaluate);
        let path = self.dir.target(run.id())?.conversations();
        let scenarios = read_scenarios(&self.dir.scenarios())?;
        let (target, benchmark) = (run.target.clone(), self.loaded.benchmark.clone());
        let (sender, receiver) = mpsc::channel::<Conversation>(16);
        let counted = {
            let (run, path) = (Arc::clone(&run), path.clone());
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
        aside(Arc::clone(&run).judge_rows(receiver)).await;
        // Nobody shares the rows' state any more when the count has ended, however it did.
        let _ = counted.await;
        // A file that turns out to be broken further on leaves the scores that are there as they are. What was judged is in
        // the cache.
        reader
            .await
            .map_err(|error| RunError::input(error.to_string()))??;
        self.write_target(run, &[]).await
    }

    fn started(&self, run: &TargetRun, phase: Phase) {
        self.tell(&Progress::Started {
            phase,
            benchmark: self.dir.name(),
            target: Some(run.id()),
            rows: None,
        });
    }
}
