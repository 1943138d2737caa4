//! What a coordinator looks after while its run goes on: that there are workers, that nothing is lost, and that a stop ends.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    ClusterError, WorkerState,
    coordinator::{REPLIES_KEPT, SentUnit, Shared},
    places::{self, WORKER_GONE},
};
use async_nats::jetstream::Context;

/// How often it looks.
const EVERY: Duration = Duration::from_secs(2);
/// How often it looks when the run is stopping.
const EVERY_STOPPING: Duration = Duration::from_millis(300);
/// A unit that waits for a worker for so long is reported. Workers report themselves within seconds.
const NO_WORKER_AFTER: Duration = Duration::from_secs(15);
/// How often a target without a worker is reported.
const NO_WORKER_EVERY: Duration = Duration::from_secs(60);
/// A unit that no worker has for so long is sent again: the stream keeps it if it is there.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// After the streams were created again, workers that go on reporting themselves get so long to send the ends again that were lost.
const ENDS_SENT_WITHIN: Duration = Duration::from_secs(60);

/// The workers that have reported themselves.
pub(crate) async fn workers(js: &Context) -> Result<Vec<WorkerState>, ClusterError> {
    let entries = places::entries(&places::workers(js).await?).await?;
    Ok(entries.into_iter().map(|(_, worker)| worker).collect())
}

/// Looks after a run.
pub(crate) struct Upkeep {
    shared: Arc<Shared>,
    /// When each target without a worker was reported.
    reported: BTreeMap<String, Instant>,
    is_stopping: Option<Instant>,
    /// When units were sent again.
    sent_again: Instant,
    /// When the streams were created again.
    created_again: Option<Instant>,
}

impl Upkeep {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            reported: BTreeMap::new(),
            is_stopping: None,
            sent_again: Instant::now(),
            created_again: None,
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            let every = match self.is_stopping {
                Some(_) => EVERY_STOPPING,
                None => EVERY,
            };
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = self.shared.stop.stopped(), if self.is_stopping.is_none() => {}
            }
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "the server does not answer");
            }
        }
    }

    async fn look(&mut self) -> Result<(), ClusterError> {
        if self.shared.stop.is_stopped() && self.is_stopping.is_none() {
            self.shared.announce(true).await?;
            self.is_stopping = Some(Instant::now());
        }
        if self.shared.create_again().await? {
            (self.shared.notes)(
                "the NATS server has lost the streams of this run; they were created again",
            );
            self.created_again = Some(Instant::now());
        }
        let workers = workers(&self.shared.js).await?;
        if let Some(since) = self.is_stopping {
            self.end_stop(since, &workers);
            return Ok(());
        }
        self.shared.share(&workers).await?;
        self.shared.forget_settled(REPLIES_KEPT).await;
        self.send_lost(&workers).await;
        self.report_targets(&workers);
        Ok(())
    }

    /// Ends a stop when no worker has a unit of the run any more.
    fn end_stop(&self, since: Instant, workers: &[WorkerState]) {
        let key = &self.shared.key;
        let has_units = |worker: &WorkerState| {
            let units = worker.in_flight.get(key);
            units.is_some_and(|units| !units.is_empty())
        };
        // A worker that took a unit just now has not reported it yet.
        if since.elapsed() > Duration::from_secs(3) && !workers.iter().any(has_units) {
            self.shared.drop_waiting();
        }
    }

    /// Sends the units again that no worker has: the server may have lost them.
    async fn send_lost(&mut self, workers: &[WorkerState]) {
        let is_new = match self.created_again {
            Some(created) => {
                if !self.are_ends_sent(created, workers).await {
                    return;
                }
                self.created_again = None;
                true
            }
            None => false,
        };
        if !is_new && self.sent_again.elapsed() < LOST_AFTER {
            return;
        }
        self.sent_again = Instant::now();
        let of_run = |worker: &WorkerState| worker.in_flight.get(&self.shared.key).cloned();
        let played: HashSet<String> = workers.iter().filter_map(of_run).flatten().collect();
        let is_lost = |unit: &SentUnit| {
            !played.contains(&unit.key) && (is_new || unit.since.elapsed() > LOST_AFTER)
        };
        let sent = self.shared.sent().into_iter();
        let lost: Vec<String> = sent.filter(is_lost).map(|unit| unit.key).collect();
        self.shared.send_again(&lost).await;
    }

    /// Whether, after the streams were created again, workers have reported what they have, and have sent the ends again that the server lost.
    async fn are_ends_sent(&self, created: Instant, workers: &[WorkerState]) -> bool {
        if created.elapsed() < WORKER_GONE {
            return false;
        }
        let streams = self.shared.streams().await;
        let has_sent = |worker: &WorkerState| {
            let seen = worker.streams.get(&self.shared.key);
            seen.is_none_or(|seen| *seen == streams)
        };
        let all_sent = workers.iter().all(has_sent) || created.elapsed() > ENDS_SENT_WITHIN;
        all_sent && self.shared.has_taken_ends().await
    }

    /// Reports targets whose units wait although no worker can play them.
    fn report_targets(&mut self, workers: &[WorkerState]) {
        let sent = self.shared.sent().into_iter();
        let waiting = sent.filter(|unit| unit.since.elapsed() > NO_WORKER_AFTER);
        let targets: BTreeSet<String> = waiting.map(|unit| unit.target).collect();
        let key = &self.shared.key;
        for target in targets {
            let can = |worker: &WorkerState| {
                let targets = worker.can.get(key);
                targets.is_some_and(|targets| targets.contains(&target))
            };
            let is_new = self
                .reported
                .get(&target)
                .is_none_or(|at| at.elapsed() > NO_WORKER_EVERY);
            if workers.iter().any(can) || !is_new {
                continue;
            }
            (self.shared.notes)(&no_worker(key, &target, workers));
            self.reported.insert(target, Instant::now());
        }
    }
}

/// The text for a target that no worker can play, with the reason that each has.
fn no_worker(run: &str, target: &str, workers: &[WorkerState]) -> String {
    let reason = |worker: &WorkerState| {
        let reason = worker.cannot.get(run)?.get(target)?;
        Some(format!("\n  {}: {reason}", worker.name))
    };
    let reasons: String = workers.iter().filter_map(reason).collect();
    let which = match workers.len() {
        0 => "no worker has reported itself".to_owned(),
        n => format!("none of the {n} workers can play it"),
    };
    format!("{target}: its rows wait, since {which}{reasons}")
}
