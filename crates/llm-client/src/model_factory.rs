//! One run's models, each with all its layers.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use schema::{ChatModel, Journal, NoJournal};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    BatchSettings, Batched, Budget, Budgeted, Cache, Cached, CallRoute, CircuitBreaker, Health,
    HostModels, HttpClient, Journaled, LimitSettings, LimitShare, Limited, Limiter, Meter,
    ModelSettings, OpenAi, Prefilled, Price, Retried, RetryPolicy, SettingsError, Stop,
    UnpricedModel, batch::Encoder, cache::EndpointHash, circuit::OPENS_AFTER,
    denied::DeniedTargets, http::Route, limiter::PaceMemory, routed::Routed, wire::Wired,
};

/// Creates the models of one run. It holds what they share, and adds the layers to each:
/// `Journaled < Prefilled < Cached < Budgeted < Batched < Retried < Limited < OpenAi`, outermost first.
///
/// By default there is no cache, no budget and no journal, and every endpoint has the default limits and
/// retries.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use llm_client::{HttpClient, ModelSettings, ModelFactory};
/// use schema::{CallContext, ChatRequest, Message, ModelId, Purpose, Role};
///
/// let server = scripted_llm::ScriptedServer::start().await?;
/// let factory = ModelFactory::new(HttpClient::default());
/// let id = ModelId::new("careful")?;
/// let model = factory.model(ModelSettings::new(id, "scripted-careful", server.base_url()))?;
///
/// let context = CallContext::new(Purpose::TargetTurn, "row-1");
/// let reply = model.chat(&ChatRequest::new(vec![Message::new(Role::User, "Hello.")], context)).await?;
/// assert!(!reply.content.is_empty());
/// assert_eq!(factory.meter().total().replies, 1);
/// # Ok(())
/// # }
/// ```
pub struct ModelFactory {
    http: HttpClient,
    cache: Option<Cache>,
    budget: Option<Budget>,
    stop: Stop,
    journal: Arc<dyn Journal>,
    batches: Option<BatchSettings>,
    meter: Meter,
    retries: RetryPolicy,
    limits: LimitSettings,
    /// Endpoints with limits of their own.
    limits_of: Vec<(String, LimitSettings)>,
    share: LimitShare,
    limiters: Mutex<Vec<(Endpoint, Arc<Limiter>)>>,
    opens_after: Duration,
    /// By the model's name on the wire: when one model is down, others of the same endpoint may work.
    breakers: Mutex<Vec<(Endpoint, String, Arc<CircuitBreaker>)>>,
    /// By address, whether anything there has answered.
    answered: Mutex<HashMap<String, Arc<AtomicBool>>>,
    denied: DeniedTargets,
    health: Health,
    host_models: HostModels,
    route: Option<Arc<dyn CallRoute>>,
}

/// The models that share one limiter and, by model, one circuit breaker: providers count calls by key.
#[derive(Clone)]
struct Endpoint {
    address: String,
    key: Option<SecretString>,
}

impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        let key = |endpoint: &Self| {
            endpoint
                .key
                .as_ref()
                .map(|key| key.expose_secret().to_owned())
        };
        self.address == other.address && key(self) == key(other)
    }
}

impl Endpoint {
    fn of(settings: &ModelSettings) -> Self {
        let header = settings
            .extra_headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            .map(|(_, value)| value.clone());
        Self {
            address: settings.address(),
            key: header.or_else(|| settings.api_key.clone()),
        }
    }

    fn hash(&self) -> EndpointHash {
        let key = self.key.as_ref().map(|key| key.expose_secret());
        EndpointHash::new(&self.address, key)
    }
}

impl ModelFactory {
    /// A factory whose models share the connections of `http`.
    #[must_use]
    pub fn new(http: HttpClient) -> Self {
        Self {
            http,
            cache: None,
            budget: None,
            stop: Stop::new(),
            journal: Arc::new(NoJournal),
            batches: None,
            meter: Meter::new(),
            retries: RetryPolicy::default(),
            limits: LimitSettings::default(),
            limits_of: Vec::new(),
            share: LimitShare::default(),
            limiters: Mutex::default(),
            opens_after: OPENS_AFTER,
            breakers: Mutex::default(),
            answered: Mutex::default(),
            denied: DeniedTargets::default(),
            health: Health::new(),
            host_models: HostModels::default(),
            route: None,
        }
    }

    /// Answers repeated requests from `cache`.
    #[must_use]
    pub fn with_cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Enforces `budget`.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Stops making calls once `stop` is thrown.
    #[must_use]
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Journals every call to `journal`.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// Sends requests in batches as `batches` say, where a model's endpoint takes them.
    #[must_use]
    pub fn with_batches(mut self, batches: BatchSettings) -> Self {
        self.batches = Some(batches);
        self
    }

    /// Counts every call in `meter`.
    #[must_use]
    pub fn with_meter(mut self, meter: Meter) -> Self {
        self.meter = meter;
        self
    }

    /// Retries failed calls according to `retries`.
    #[must_use]
    pub fn with_retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    /// The limits of every endpoint without limits of its own. An endpoint on this machine begins with the most attempts in flight.
    #[must_use]
    pub fn with_limits(mut self, limits: LimitSettings) -> Self {
        self.limits = limits;
        self
    }

    /// The limits of one endpoint, named as [`ModelSettings::endpoint`] names it. The last call for an endpoint counts.
    #[must_use]
    pub fn with_endpoint_limits(
        mut self,
        endpoint: impl Into<String>,
        limits: LimitSettings,
    ) -> Self {
        self.limits_of.push((endpoint.into(), limits));
        self
    }

    /// This process has a `share` of the limits: see [`LimitSettings`].
    #[must_use]
    pub fn with_share(mut self, share: LimitShare) -> Self {
        self.share = share;
        self
    }

    /// Fails the calls to a model at once when it has answered nothing for `opens_after`: see [`CircuitBreaker`]. 3 minutes by
    /// default.
    #[must_use]
    pub fn with_circuit_breaker(mut self, opens_after: Duration) -> Self {
        self.opens_after = opens_after;
        self
    }

    /// Reports the state of the models in `health`.
    #[must_use]
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Lets `route` decide how calls of items are made that the cache does not answer.
    #[must_use]
    pub fn with_route(mut self, route: Arc<dyn CallRoute>) -> Self {
        self.route = Some(route);
        self
    }

    /// The model of `settings` with all its layers. Sends nothing.
    ///
    /// Models of the same endpoint and key share its limits; models with the same name there also share a circuit breaker.
    ///
    /// # Errors
    /// When `settings` do not allow any call, or there is a budget in dollars and no price.
    pub fn model(&self, mut settings: ModelSettings) -> Result<Arc<dyn ChatModel>, SetupError> {
        if let Some(wire) = &settings.wire {
            let started = wire
                .start(&self.host_models)
                .map_err(|reason| SetupError(Problem::Start(reason)))?;
            settings.wire = started.or_else(|| settings.wire.clone());
        }
        let program = settings.wire.as_ref().and_then(|wire| wire.phase_program());
        if program.is_some() {
            // What such a program does not say that it spent, it did not spend.
            settings.price.get_or_insert(Price::FREE);
        }
        let settings = Arc::new(settings);
        let (endpoint, encoder): (Arc<dyn ChatModel>, Encoder) = match &settings.wire {
            Some(wire) => {
                let id = settings.id.clone();
                let wired = Wired {
                    id,
                    wire: Arc::clone(wire),
                };
                (Arc::new(wired), Encoder::Wire(Arc::clone(wire)))
            }
            None => {
                let model = OpenAi::new(Arc::clone(&settings), &self.http)?;
                let model = Arc::new(model.with_journal(Arc::clone(&self.journal)));
                (Arc::clone(&model) as _, Encoder::OpenAi(model))
            }
        };
        let breaker = self.breaker(&settings);
        let limited = Limited::new(
            endpoint,
            self.limiter(&settings),
            settings.max_tokens,
            self.stop.clone(),
        )
        .with_breaker(Arc::clone(&breaker));
        let retried = Retried::new(
            limited,
            self.retries.clone(),
            Arc::clone(&self.journal),
            self.stop.clone(),
        )
        .with_breaker(Arc::clone(&breaker))
        .with_denied(self.denied.clone());
        let called: Arc<dyn ChatModel> = match (&self.batches, encoder.api()) {
            (Some(batches), Some(api)) => Arc::new(Batched::new(
                retried,
                (api, encoder),
                (Arc::clone(&settings), batches),
                &self.http,
                (Arc::clone(&self.journal), self.stop.clone(), breaker),
            )?),
            _ => Arc::new(retried),
        };
        Ok(match &self.budget {
            Some(budget) => {
                self.cached(Budgeted::new(called, budget.clone(), &settings)?, &settings)
            }
            None => self.cached(called, &settings),
        })
    }

    /// Usage and cost of the calls so far.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Where every call is journaled.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// The models that programs of the run may call. Offer them before the models of programs are made.
    #[must_use]
    pub fn host_models(&self) -> &HostModels {
        &self.host_models
    }

    /// The states of the models.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The run's cache, if it has one.
    #[must_use]
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// The run's budget, if it has one.
    #[must_use]
    pub fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// The switch that stops the run.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    fn cached<M: ChatModel + 'static>(
        &self,
        inner: M,
        settings: &ModelSettings,
    ) -> Arc<dyn ChatModel> {
        match &self.route {
            Some(route) => {
                let routed = Routed::new(inner, Arc::clone(route), settings);
                self.stored(routed, settings)
            }
            None => self.stored(inner, settings),
        }
    }

    fn stored<M: ChatModel + 'static>(
        &self,
        inner: M,
        settings: &ModelSettings,
    ) -> Arc<dyn ChatModel> {
        match &self.cache {
            Some(cache) => {
                let cached = Cached::new(inner, cache.clone(), settings);
                self.journaled(Prefilled::new(cached, settings), settings)
            }
            None => self.journaled(Prefilled::new(inner, settings), settings),
        }
    }

    fn journaled<M: ChatModel + 'static>(
        &self,
        inner: M,
        settings: &ModelSettings,
    ) -> Arc<dyn ChatModel> {
        let journaled = Journaled::new(inner, Arc::clone(&self.journal), self.meter.clone());
        Arc::new(journaled.assuming_free(settings.assumed_free))
    }

    fn limiter(&self, settings: &ModelSettings) -> Arc<Limiter> {
        let endpoint = Endpoint::of(settings);
        let mut limiters = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, limiter)) = limiters.iter().find(|(known, _)| *known == endpoint) {
            return Arc::clone(limiter);
        }
        let name = settings.endpoint();
        let own = self.limits_of.iter().rfind(|(url, _)| *url == name);
        let mut limits = own.map_or(&self.limits, |(_, limits)| limits).clone();
        if is_local(settings) {
            limits.initial_concurrency = limits.max_concurrency;
        }
        let memory = self.cache.clone().map(|cache| PaceMemory {
            cache,
            endpoint: endpoint.hash(),
        });
        let journal = Arc::clone(&self.journal);
        let limiter = Limiter::sharing(name, limits, self.share.clone(), journal, memory);
        limiters.push((endpoint, Arc::clone(&limiter)));
        limiter
    }

    fn breaker(&self, settings: &ModelSettings) -> Arc<CircuitBreaker> {
        let endpoint = Endpoint::of(settings);
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = breakers
            .iter()
            .find(|(known, model, _)| *known == endpoint && *model == settings.model);
        if let Some((_, _, breaker)) = known {
            return Arc::clone(breaker);
        }
        let answered = {
            let mut all = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(endpoint.address.clone()).or_default())
        };
        let breaker = CircuitBreaker::sharing(
            settings.model.as_str(),
            settings.endpoint(),
            self.opens_after,
            answered,
            Arc::clone(&self.journal),
        );
        self.health.add(&breaker);
        breakers.push((endpoint, settings.model.clone(), Arc::clone(&breaker)));
        breaker
    }
}

/// Whether the endpoint is on this machine: nobody else uses it, so its limit has not to be found.
pub(crate) fn is_local(settings: &ModelSettings) -> bool {
    let url = reqwest::Url::parse(&settings.base_url);
    url.is_ok_and(|url| Route::to(&url) != Route::Remote)
}

impl fmt::Debug for ModelFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFactory")
            .field("cache", &self.cache)
            .field("budget", &self.budget)
            .field("meter", &self.meter)
            .field("retries", &self.retries)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Why a model cannot be used in a run. Its text names the model and includes advice.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SetupError(Problem);

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Unpriced(#[from] UnpricedModel),
    #[error("{0}")]
    Start(String),
}

impl From<SettingsError> for SetupError {
    fn from(error: SettingsError) -> Self {
        Self(error.into())
    }
}

impl From<UnpricedModel> for SetupError {
    fn from(error: UnpricedModel) -> Self {
        Self(error.into())
    }
}
