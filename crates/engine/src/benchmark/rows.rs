//! The rows of one target, as many at the same time as the run allows.

use std::{path::Path, sync::Arc};

use schema::{Conversation, Phase};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
};

use super::{feed::Feed, target::TargetRun};
use crate::{progress::Outcome, progress::Progress};
use store::{Place, count_conversations};

/// Runs `work` in a task of its own. What it waits for then wakes a worker of the runtime, which may be awake already, and never
/// the thread that waits for the whole run. The task ends with the future that waits for it.
pub(super) async fn aside(work: impl Future<Output = ()> + Send + 'static) {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    if let Some(Err(error)) = tasks.join_next().await
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

impl TargetRun {
    /// Plays every scenario of the feed `samples` times, `at_once` conversations side by side, and judges each when it ends.
    pub(super) async fn play_rows(self: Arc<Self>, mut feed: Feed, samples: u32, at_once: usize) {
        let playing = Arc::new(Semaphore::new(at_once));
        let mut rows = JoinSet::new();
        let mut told = false;
        let mut n = 0;
        while let Some(row) = feed.row(n).await {
            n += 1;
            if let (false, Some(total)) = (told, feed.total()) {
                told = true;
                self.tell_rows(total as u64 * u64::from(samples));
            }
            for sample in 0..samples {
                let Ok(permit) = Arc::clone(&playing).acquire_owned().await else {
                    break;
                };
                if self.stop.is_stopped() {
                    self.ended(Phase::Simulate, Outcome::Skipped);
                    continue;
                }
                while let Some(ended) = rows.try_join_next() {
                    self.joined(ended);
                }
                rows.spawn(Arc::clone(&self).play_and_judge(row.clone(), sample, permit));
            }
        }
        if !told {
            self.tell_rows(n as u64 * u64::from(samples));
        }
        while let Some(ended) = rows.join_next().await {
            self.joined(ended);
        }
    }

    /// Judges conversations that are in the tree, in their order there.
    pub(super) async fn judge_rows(
        self: Arc<Self>,
        mut conversations: mpsc::Receiver<Conversation>,
    ) {
        let mut rows = JoinSet::new();
        let mut n = 0;
        while let Some(conversation) = conversations.recv().await {
            let place = Place {
                metric: 0,
                scenario: n,
                sample: 0,
                part: 0,
            };
            n += 1;
            let metric = &conversation.scenario.metric_id;
            if !self.metrics.iter().any(|known| known.id == *metric) {
                continue; // A row of a metric that benchmark.yaml no longer has.
            }
            let Ok(permit) = Arc::clone(&self.judging).acquire_owned().await else {
                break;
            };
            if self.stop.is_stopped() {
                self.ended(Phase::Evaluate, Outcome::Skipped);
                continue;
            }
            while let Some(ended) = rows.try_join_next() {
                self.joined(ended);
            }
            let run = Arc::clone(&self);
            rows.spawn(async move { run.judge_kept(&conversation, place, permit).await });
        }
        while let Some(ended) = rows.join_next().await {
            self.joined(ended);
        }
    }

    /// Reports how many conversations of the tree there are to judge, where they can be counted.
    pub(super) fn count_rows(&self, conversations: &Path) {
        let is_judged = |id: &str| self.metrics.iter().any(|known| known.id == id);
        if let Some(rows) = count_conversations(conversations, is_judged) {
            self.tell_rows(rows);
        }
    }

    /// Takes note of a row's task that panicked: a fault of a phase's code, which costs that row only.
    fn joined(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            let phase = if self.simulator.is_some() {
                Phase::Simulate
            } else {
                Phase::Evaluate
            };
            let reason = format!("internal error: {error}");
            self.failures.add(phase, Some(self.id()), "", &reason);
            self.ended(phase, Outcome::Failed);
        }
    }

    fn tell_rows(&self, rows: u64) {
        for (phase, runs) in [
            (Phase::Simulate, self.simulator.is_some()),
            (Phase::Evaluate, self.evaluator.is_some()),
        ] {
            if runs {
                self.observer.on(&Progress::Rows {
                    phase,
                    benchmark: &self.benchmark,
                    target: Some(self.id()),
                    rows,
                });
            }
        }
    }
}
