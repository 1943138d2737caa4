//! Plays one unit.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_nats::jetstream::{self, AckKind, Context};
use engine::{
    BenchmarkContext,
    unit::{Unit, UnitReplies, play_unit},
};
use llm_client::{CallEnd, Stop};

use super::{
    Bench,
    away::Away,
    keeper::{KeptUnit, UnitKeeper},
    others::Others,
    report::Reporter,
    sent::{SentEnd, SentEnds},
};
use crate::{
    ClusterError, WorkerState,
    coordinator::AGAIN_AFTER,
    message::{BenchmarkMessage, EndMessage, UnitMessage},
    parcel,
    places::Places,
    replies,
};

/// A unit is begun at most so often: more workers have died with it, or it never ends.
const MOST_DELIVERIES: i64 = 5;
/// A server that was away may have forgotten what it did last, for so long.
const FORGETFUL: Duration = Duration::from_secs(60);
/// After it was away, workers report themselves before they begin a unit.
const REPORTED_AFTER: Duration = Duration::from_secs(3);
/// How often a unit that another worker plays is looked at.
const LOOKED_EVERY: Duration = Duration::from_secs(1);

/// What follows a unit.
enum AfterUnit {
    /// Its end is sent.
    Send(EndMessage),
    /// Another worker takes it.
    GiveBack,
    /// Nothing is left to do.
    Done,
    /// The worker that has it now goes on.
    Leave,
}

/// What plays one unit.
pub(super) struct Played {
    pub(super) js: Context,
    pub(super) run: String,
    pub(super) places: Places,
    pub(super) lease: Duration,
    pub(super) bench: Bench,
    pub(super) folder: PathBuf,
    pub(super) reporter: Reporter,
    /// Ends the worker.
    pub(super) stop: Stop,
    pub(super) sent: SentEnds,
    pub(super) away: Away,
}

impl Played {
    pub(super) async fn play(&self, message: jetstream::Message) {
        let name = message.subject.rsplit('.').next();
        let unit = name.unwrap_or_default().to_owned();
        let Some(in_flight) = self.listed(&unit, |state| &mut state.in_flight) else {
            // It came again because the server had not heard of this worker for longer than the lease. Its first play goes on, and extends it.
            return;
        };
        let after = tokio::select! {
            after = self.end_of(&message, &unit) => after,
            () = self.extend(&message) => AfterUnit::GiveBack,
        };
        match after {
            AfterUnit::Send(end) => self.send(&message, &unit, end).await,
            AfterUnit::GiveBack => drop(message.ack_with(AckKind::Nak(None)).await),
            AfterUnit::Done => drop(message.ack().await),
            AfterUnit::Leave => {}
        }
        drop(in_flight);
        if self.bench.run.stop.is_stopped() {
            // The coordinator waits for those who still have units.
            let _ = self.reporter.report().await;
        }
    }

    /// Says that the unit goes on, for as long as it is polled.
    async fn extend(&self, message: &jetstream::Message) {
        loop {
            tokio::time::sleep(self.lease / 4).await;
            if let Err(error) = message.ack_with(AckKind::Progress).await {
                tracing::debug!(%error, "a unit cannot be extended");
            }
        }
    }

    async fn end_of(&self, message: &jetstream::Message, unit: &str) -> AfterUnit {
        let delivered = message.info().map_or(1, |info| info.delivered);
        if delivered > MOST_DELIVERIES {
            let reason = format!(
                "{MOST_DELIVERIES} workers have begun this row, and none of them came to its end: they died, or were silent for more than \
                 {} seconds",
                self.lease.as_secs()
            );
            return AfterUnit::Send(EndMessage { end: Err(reason) });
        }
        match self.play_message(message, unit, delivered).await {
            Ok(after) => after,
            Err(error) => {
                tracing::warn!(%error, "a unit cannot be played");
                tokio::time::sleep(AGAIN_AFTER).await;
                AfterUnit::GiveBack
            }
        }
    }

    async fn play_message(
        &self,
        message: &jetstream::Message,
        unit: &str,
        delivered: i64,
    ) -> Result<AfterUnit, ClusterError> {
        let sent: UnitMessage = parcel::unpack(&self.places.objects, &message.payload).await?;
        let may_be_done = delivered > 1 || sent.is_again;
        let Some(kept) = self.begun(message, unit, may_be_done).await? else {
            return Ok(AfterUnit::Done);
        };
        let row = Unit {
            benchmark: self.benchmark(&sent.benchmark).await?,
            target: sent.target,
            scenario: Arc::new(sent.scenario),
            sample: sent.sample,
            is_judged: sent.is_judged,
        };
        let keeper = Arc::new(UnitKeeper::new(KeptUnit {
            places: self.places.clone(),
            name: unit.to_owned(),
            subject: message.subject.to_string(),
            others: self.others(),
            stop: self.stop.clone(),
        }));
        let replies = UnitReplies {
            known: sent.known.into_iter().chain(kept.iter().cloned()).collect(),
            keeper: Arc::clone(&keeper) as _,
        };
        let played = tokio::select! {
            played = play_unit(&self.bench.phases, &row, replies) => played,
            () = keeper.taken() => return Ok(AfterUnit::Leave),
        };
        let mut end = match played {
            Ok(end) if end.is_stopped && self.stop.is_stopped() => return Ok(AfterUnit::GiveBack),
            Ok(end) => end,
            Err(error) => {
                let end = Err(error.to_string());
                return Ok(AfterUnit::Send(EndMessage { end }));
            }
        };
        // Those that an earlier worker was called for: the run has not had them yet.
        end.calls.splice(0..0, kept);
        Ok(AfterUnit::Send(EndMessage { end: Ok(end) }))
    }

    /// The replies that are kept of a unit, when no other worker plays it any more; `None` if its row was written. Also of a unit that is delivered
    /// for the first time, as the server says: one that was killed may have forgotten that it was before.
    async fn begun(
        &self,
        message: &jetstream::Message,
        unit: &str,
        may_be_done: bool,
    ) -> Result<Option<Vec<CallEnd>>, ClusterError> {
        let away = self.away.ended(&self.js);
        tokio::time::sleep(away.map_or(Duration::ZERO, |away| REPORTED_AFTER.saturating_sub(away)))
            .await;
        let may_be_played = may_be_done || away.is_some_and(|away| away < FORGETFUL);
        let (mut known, mut since) = (0, Instant::now());
        let waiting = self.listed(unit, |state| &mut state.waiting);
        loop {
            let kept = replies::kept(&self.places, unit).await?;
            let was_begun = may_be_played || !kept.is_empty();
            if was_begun && !self.places.has_unit(message.subject.as_str()).await? {
                // Its replies may be gone.
                return Ok(None);
            }
            if kept.len() > known {
                (known, since) = (kept.len(), Instant::now());
            }
            if !was_begun {
                return Ok(Some(kept));
            }
            // Of several that wait for each other, one begins.
            let others = self.others().with(unit).await?;
            let is_silent = since.elapsed() > self.lease && others.is_first;
            if !others.any || is_silent {
                // One that was away finds out before it goes on with the unit.
                drop(waiting);
                self.reporter.report().await?;
                return Ok(Some(kept));
            }
            tokio::time::sleep(LOOKED_EVERY).await;
        }
    }

    fn others(&self) -> Others {
        Others {
            js: self.js.clone(),
            run: self.run.clone(),
            reporter: self.reporter.clone(),
        }
    }

    /// Lists `unit` in a part of what this worker reports, until the value is dropped; `None` if it is listed already.
    fn listed(
        &self,
        unit: &str,
        part: fn(&mut WorkerState) -> &mut BTreeMap<String, BTreeSet<String>>,
    ) -> Option<Listed> {
        let mut state = self.reporter.state();
        let units = part(&mut state).entry(self.run.clone()).or_default();
        let is_new = units.insert(unit.to_owned());
        drop(state);
        is_new.then(|| Listed {
            reporter: self.reporter.clone(),
            part,
            run: self.run.clone(),
            unit: unit.to_owned(),
        })
    }

    async fn benchmark(&self, name: &str) -> Result<Arc<BenchmarkContext>, ClusterError> {
        let mut known = self.bench.run.benchmarks.lock().await;
        if let Some(known) = known.get(name) {
            return Ok(Arc::clone(known));
        }
        let text = parcel::get(&self.places.objects, name).await?;
        let sent: BenchmarkMessage =
            serde_json::from_slice(&text).map_err(ClusterError::of("a benchmark"))?;
        let prompts = self.folder.join(name);
        std::fs::create_dir_all(&prompts).map_err(ClusterError::of("the worker's folder"))?;
        for (file, text) in &sent.prompts {
            let Some(file) = std::path::Path::new(file).file_name() else {
                continue;
            };
            std::fs::write(prompts.join(file), text)
                .map_err(ClusterError::of("the worker's folder"))?;
        }
        let context = Arc::new(BenchmarkContext {
            name: sent.name,
            prompts,
            benchmark: sent.benchmark,
            versions: sent.versions,
        });
        known.insert(name.to_owned(), Arc::clone(&context));
        Ok(context)
    }

    /// Sends the end of a unit, for as long as the server does not take it: first the end, then the acknowledgement, so that a worker that
    /// dies in between costs nothing but a second look at the unit.
    async fn send(&self, message: &jetstream::Message, unit: &str, end: EndMessage) {
        let end = SentEnd {
            run: self.run.clone(),
            unit: unit.to_owned(),
            end: Arc::new(end),
        };
        while !end.publish(&self.js).await {
            if self.stop.is_stopped() {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        // Before anybody can see that the unit is in flight no longer.
        self.sent.keep(end);
        let _ = message.ack().await;
    }
}

/// A unit in a list of what a worker reports.
struct Listed {
    reporter: Reporter,
    part: fn(&mut WorkerState) -> &mut BTreeMap<String, BTreeSet<String>>,
    run: String,
    unit: String,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut state = self.reporter.state();
        if let Some(units) = (self.part)(&mut state).get_mut(&self.run) {
            units.remove(&self.unit);
        }
    }
}
