//! What a run used and cost, and the model names that the endpoints reported.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::{CallContext, ChatReply, ModelError, ModelId, Origin, Spend};

/// Sums over the calls of a run. Clones share it.
///
/// [`Journaled`](crate::Journaled), which sees every call, cached or not, updates it.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    sums: Arc<Mutex<Sums>>,
}

/// The key of a sum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeterKey {
    /// The phase, as [`Purpose::phase`](schema::Purpose::phase) names it.
    pub phase: &'static str,
    /// The system under test that the calls were made for; `None` for calls without one, as in generation.
    pub sut: Option<Arc<str>>,
}

impl MeterKey {
    fn of(context: &CallContext) -> Self {
        let item = context.item.as_ref();
        Self {
            phase: context.purpose.phase(),
            sut: item.map(|item| Arc::clone(&item.key().sut)),
        }
    }
}

/// The sums of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Calls with a reply.
    pub replies: u64,
    /// Replies that came from the cache.
    pub cached_replies: u64,
    /// Calls that failed for good.
    pub failures: u64,
    /// Usage and cost of all calls, cached replies as if they were new: the same in a resumed run as in a fresh one.
    pub spend: Spend,
    /// Usage and cost of the new calls.
    pub paid: Spend,
}

impl Tally {
    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.cached_replies += other.cached_replies;
        self.failures += other.failures;
        self.spend.add(&other.spend);
        self.paid.add(&other.paid);
    }
}

/// A run has few phases, targets and models, and every call looks up its own: a linear search is faster than hashing.
#[derive(Debug, Default)]
struct Sums {
    tallies: Vec<(MeterKey, Tally)>,
    names: Vec<(ModelId, BTreeSet<String>)>,
    unpriced: HashSet<ModelId>,
    without_usage: HashSet<ModelId>,
    assumed_free: Vec<(MeterKey, BTreeSet<ModelId>)>,
}

impl Meter {
    /// A meter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a reply of `model`.
    pub fn reply(&self, model: &ModelId, context: &CallContext, reply: &ChatReply) {
        let spend = reply.spend();
        let mut sums = self.sums();
        let tally = sums.tally(context);
        tally.replies += 1;
        tally.spend.add(&spend);
        match reply.origin {
            Origin::Cached => tally.cached_replies += 1,
            Origin::Fetched => tally.paid.add(&spend),
        }
        if let Some(name) = &reply.model {
            sums.name(model, name);
        }
        if reply.cost.is_none() && reply.usage.is_none() {
            sums.without_usage.insert(model.clone());
        }
        let is_new = reply.cost.is_none() && sums.unpriced.insert(model.clone());
        drop(sums);
        if is_new {
            log_unpriced(model, reply);
        }
    }

    /// Counts a call to a model that failed for good.
    pub fn failure(&self, context: &CallContext, error: &ModelError) {
        let mut sums = self.sums();
        let tally = sums.tally(context);
        tally.failures += 1;
        tally.spend.add(error.spend());
        tally.paid.add(error.spend());
    }

    /// All sums, by phase and system under test.
    #[must_use]
    pub fn tallies(&self) -> BTreeMap<MeterKey, Tally> {
        let sums = self.sums();
        sums.tallies
            .iter()
            .map(|(key, tally)| (key.clone(), *tally))
            .collect()
    }

    /// The sum over all keys.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for (_, tally) in &self.sums().tallies {
            total.add(tally);
        }
        total
    }

    /// The model names that the endpoints reported, by the user's own names.
    #[must_use]
    pub fn model_names(&self) -> BTreeMap<ModelId, BTreeSet<String>> {
        let sums = self.sums();
        sums.names
            .iter()
            .map(|(id, names)| (id.clone(), names.clone()))
            .collect()
    }

    /// Notes that a call of `context` to `model` is assumed to be free.
    pub(crate) fn assume_free(&self, model: &ModelId, context: &CallContext) {
        let mut sums = self.sums();
        let key = MeterKey::of(context);
        let new = || (key.clone(), BTreeSet::new());
        let models = &mut entry(&mut sums.assumed_free, |(known, _)| *known == key, new).1;
        if !models.contains(model) {
            models.insert(model.clone());
        }
    }

    /// The models whose calls are assumed to be free, because they run on this machine and have no price, by what the calls were for.
    #[must_use]
    pub fn assumed_free(&self) -> BTreeMap<MeterKey, BTreeSet<ModelId>> {
        self.sums().assumed_free.iter().cloned().collect()
    }

    /// The models with at least one reply without a known cost.
    #[must_use]
    pub fn unpriced(&self) -> BTreeSet<ModelId> {
        self.sums().unpriced.iter().cloned().collect()
    }

    /// The models in [`unpriced`](Self::unpriced) whose endpoint reported no token counts, so that a price does not help.
    #[must_use]
    pub fn without_usage(&self) -> BTreeSet<ModelId> {
        self.sums().without_usage.iter().cloned().collect()
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sums {
    fn tally(&mut self, context: &CallContext) -> &mut Tally {
        let phase = context.purpose.phase();
        let sut = context.item.as_ref().map(|item| &item.key().sut);
        let known = |(key, _): &(MeterKey, Tally)| key.phase == phase && key.sut.as_ref() == sut;
        let new = || {
            let sut = sut.cloned();
            (MeterKey { phase, sut }, Tally::default())
        };
        &mut entry(&mut self.tallies, known, new).1
    }

    fn name(&mut self, model: &ModelId, name: &str) {
        let new = || (model.clone(), BTreeSet::new());
        let names = &mut entry(&mut self.names, |(known, _)| known == model, new).1;
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }
}

/// The entry of `list` for which `known` is true; adds a `new` one if there is none.
fn entry<T>(list: &mut Vec<T>, known: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(known).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}

/// For diagnostics. The meter's owner reports [`Meter::unpriced`] at the end.
fn log_unpriced(model: &ModelId, reply: &ChatReply) {
    if reply.usage.is_some() {
        tracing::info!(%model, "no price is known for this model: its cost is null");
    } else {
        tracing::info!(%model, "the endpoint returns no token counts for this model: its cost is null");
    }
}

#[cfg(test)]
mod tests {
    use schema::{Item, ModelErrorKind, NoJournal, Purpose, Scenario, Usage};

    use super::*;

    fn context(purpose: Purpose, sut: Option<&str>) -> CallContext {
        let mut context = CallContext::new(purpose, "row");
        context.item = sut.map(|sut| {
            let sut = ModelId::new(sut).unwrap();
            Item::new(&Scenario::default(), &sut, 0, Arc::new(NoJournal))
        });
        context
    }

    fn reply(cost: Option<f64>, origin: Origin) -> ChatReply {
        ChatReply {
            usage: Some(Usage {
                input_tokens: 10,
                output_tokens: 5,
                ..Usage::default()
            }),
            cost,
            origin,
            model: Some("gpt-x-2026".to_owned()),
            ..ChatReply::text("hi")
        }
    }

    #[test]
    fn sums_stand_by_phase_and_target_and_cached_replies_are_not_paid_again() {
        let meter = Meter::new();
        let judge = ModelId::new("judge").unwrap();
        let of_a = context(Purpose::Judge, Some("a"));
        meter.reply(&judge, &of_a, &reply(Some(0.5), Origin::Fetched));
        meter.reply(&judge, &of_a, &reply(Some(0.5), Origin::Cached));
        let of_b = context(Purpose::Judge, Some("b"));
        meter.reply(&judge, &of_b, &reply(Some(0.5), Origin::Fetched));
        meter.reply(
            &judge,
            &context(Purpose::GenMetrics, None),
            &reply(Some(1.0), Origin::Fetched),
        );

        let tallies = meter.tallies();
        let key = MeterKey {
            phase: "evaluate",
            sut: Some("a".into()),
        };
        let tally = tallies[&key];
        assert_eq!((tally.replies, tally.cached_replies), (2, 1));
        assert_eq!(tally.spend.total_cost(), Some(1.0));
        assert_eq!(tally.paid.total_cost(), Some(0.5));
        assert_eq!(tallies.len(), 3);
        assert_eq!(meter.total().spend.total_cost(), Some(2.5));
        assert!(meter.model_names()[&judge].contains("gpt-x-2026"));
        assert!(meter.unpriced().is_empty());
    }

    #[test]
    fn failed_attempts_and_failed_calls_count() {
        let meter = Meter::new();
        let model = ModelId::new("m").unwrap();
        let context = context(Purpose::TargetTurn, Some("m"));
        let mut answered = reply(Some(0.5), Origin::Fetched);
        answered.failed_attempts = Spend::of_call(answered.usage, Some(0.25));
        meter.reply(&model, &context, &answered);
        let error = ModelError::new(ModelErrorKind::Malformed, "no")
            .with_spend(Spend::of_call(answered.usage, Some(1.0)));
        meter.failure(&context, &error);
        let total = meter.total();
        assert_eq!(total.paid.total_cost(), Some(1.75));
        assert_eq!((total.failures, total.paid.calls), (1, 3));
    }

    #[test]
    fn an_unpriced_model_is_named_and_its_cost_is_null() {
        let meter = Meter::new();
        let model = ModelId::new("m").unwrap();
        let context = context(Purpose::TargetTurn, Some("m"));
        meter.reply(&model, &context, &reply(None, Origin::Fetched));
        meter.reply(&model, &context, &reply(None, Origin::Fetched));
        assert_eq!(meter.total().spend.total_cost(), None);
        assert_eq!(meter.unpriced().len(), 1);
    }
}
