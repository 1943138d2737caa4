//! The side of the run: sends an item's unit to the runner when the first of its calls is made, and answers its calls with those that come
//! back.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use llm_client::{Amount, Budget, Cache, CacheKey, CallEnd, CallRoute, RoutedCall, Stop};
use schema::{Attached, ChatReply, Event, EventBody, Item, ModelError, ModelErrorKind};

use super::{Runner, RunnerError, Unit, UnitEnd};

/// How often a unit is sent whose calls do not come back. The replies of one are among the known ones of the next, so more than one is
/// needed only where phases decide by chance.
const MOST_SENT: u32 = 3;

/// Sends units to a runner.
#[derive(Debug)]
pub(crate) struct UnitRoute {
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) cache: Option<Cache>,
    pub(crate) budget: Option<Budget>,
    pub(crate) stop: Stop,
    /// What units cost so far: what is reserved for the next.
    pub(crate) costs: Mutex<UnitCosts>,
}

/// The cost of the units that have ended.
#[derive(Debug, Default)]
pub(crate) struct UnitCosts {
    units: u32,
    sum: Amount,
}

impl UnitCosts {
    /// What a unit costs on average, and at least `call`.
    fn expected(&self, call: Amount) -> Amount {
        let units = self.units.max(1);
        Amount {
            dollars: call.dollars.max(self.sum.dollars / f64::from(units)),
            tokens: call.tokens.max(self.sum.tokens / u64::from(units)),
        }
    }
}

/// What is kept of an item that may run elsewhere. It is attached to the item.
pub(crate) struct UnitState {
    unit: Unit,
    runner: Arc<dyn Runner>,
    calls: Mutex<UnitCallsSoFar>,
    /// Held while the unit is elsewhere: judges of a panel are called at the same time.
    sending: tokio::sync::Mutex<u32>,
}

#[derive(Default)]
struct UnitCallsSoFar {
    /// The replies that were found in the cache or came back.
    known: Vec<CacheKey>,
    /// The calls that came back and were not asked for yet.
    came: HashMap<CacheKey, VecDeque<CallEnd>>,
    was_sent: bool,
}

impl UnitState {
    pub(crate) fn new(unit: Unit, runner: Arc<dyn Runner>) -> Self {
        Self {
            unit,
            runner,
            calls: Mutex::default(),
            sending: tokio::sync::Mutex::default(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, UnitCallsSoFar> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `call`, if it came back.
    fn take(&self, call: &RoutedCall<'_>) -> Option<Result<ChatReply, ModelError>> {
        let key = call.key();
        let end = {
            let mut calls = self.calls();
            let end = calls.came.get_mut(&key)?.pop_front()?;
            if end.reply().is_some() {
                calls.known.push(key);
            }
            end
        };
        end.into_result(call)
    }

    fn add(&self, end: UnitEnd, item: &Item) {
        for event in end.events {
            if let Some(Ok(body)) = EventBody::read(&event.message, event.fields.as_bytes()) {
                item.record(Event::new(body));
            }
        }
        let mut calls = self.calls();
        for end in end.calls {
            if let Some(key) = end.key() {
                calls.came.entry(key).or_default().push_back(end);
            }
        }
    }
}

impl Attached for UnitState {
    fn reply_found(&self, key: &[u8; 32]) {
        self.calls().known.push(CacheKey::from_bytes(*key));
    }
}

impl Drop for UnitState {
    fn drop(&mut self) {
        if self.calls().was_sent {
            self.runner.ended(&self.unit);
        }
    }
}

#[async_trait]
impl CallRoute for UnitRoute {
    async fn call(&self, call: RoutedCall<'_>) -> Result<ChatReply, ModelError> {
        let Some(state) = call.item().attached::<UnitState>() else {
            return call.here().await;
        };
        if let Some(result) = state.take(&call) {
            return result;
        }
        let mut sent = state.sending.lock().await;
        loop {
            // Another call of the item may have brought it.
            if let Some(result) = state.take(&call) {
                return result;
            }
            if self.stop.is_stopped() {
                return Err(stopping());
            }
            if *sent >= MOST_SENT {
                return Err(other_calls());
            }
            let is_stopped = self.send(&state, &call).await?;
            // One that was stopped, there and not here, has not had its turn.
            *sent += u32::from(!is_stopped);
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }
}

impl UnitRoute {
    /// Sends the unit, and takes what comes back. Returns whether it was stopped before its end.
    async fn send(&self, state: &UnitState, call: &RoutedCall<'_>) -> Result<bool, ModelError> {
        let reserved = match &self.budget {
            Some(budget) => {
                let expected = self.costs().expected(call.estimate());
                Some(call.reserve(budget, expected).await?)
            }
            None => None,
        };
        let known = self.known(state).await;
        state.calls().was_sent = true;
        let end = self.runner.run(&state.unit, known).await.map_err(refused);
        let spent = end
            .as_ref()
            .map_or_else(|_| Amount::default(), |end| spent(call, end));
        if let Some(reserved) = reserved {
            reserved.settle(spent);
        }
        let end = end?;
        {
            let mut costs = self.costs();
            costs.units = costs.units.saturating_add(1);
            costs.sum.dollars += spent.dollars;
            costs.sum.tokens = costs.sum.tokens.saturating_add(spent.tokens);
        }
        let is_stopped = end.is_stopped;
        state.add(end, call.item());
        Ok(is_stopped)
    }

    /// The replies that the run has for the unit.
    async fn known(&self, state: &UnitState) -> Vec<CallEnd> {
        let keys = state.calls().known.clone();
        let mut known = Vec::new();
        for key in keys {
            if let Some(cache) = &self.cache
                && let Some(reply) = cache.reply(&key).await
            {
                known.push(CallEnd::replied(key, reply));
            }
        }
        known
    }

    fn costs(&self) -> MutexGuard<'_, UnitCosts> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a budget counts for the calls of `end`.
fn spent(call: &RoutedCall<'_>, end: &UnitEnd) -> Amount {
    end.calls.iter().fold(Amount::default(), |sum, end| {
        let counted = call.counted(&end.spend());
        Amount {
            dollars: sum.dollars + counted.dollars,
            tokens: sum.tokens.saturating_add(counted.tokens),
        }
    })
}

fn refused(error: RunnerError) -> ModelError {
    match error {
        RunnerError::Stopped => stopping(),
        RunnerError::Failed(reason) => {
            ModelError::new(ModelErrorKind::Permanent, reason).with_attempts(0)
        }
    }
}

fn stopping() -> ModelError {
    let text = "not asked, because the run is stopping";
    ModelError::new(ModelErrorKind::Cancelled, text).with_attempts(0)
}

fn other_calls() -> ModelError {
    let text = "where the row ran, other calls were made than this run makes: compare the versions, the prompts and the addresses of \
                models there and here";
    ModelError::new(ModelErrorKind::Permanent, text).with_attempts(0)
}
