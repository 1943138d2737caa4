//! What all runs of one process share.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use journal::RunId;
use llm_client::{
    Cache, HostModels, HttpClient, Meter, ModelFactory, ModelSettings, SetupError, Stop,
};
use schema::{ChatModel, Journal};

use crate::{
    journals::JournalSet,
    progress::{NoObserver, Observer},
    unit::{Runner, UnitRoute},
};

/// The state that one run shares: the policy of its models (cache, budget, limits, retries), the stop signal, the meter, the journals,
/// the observer and the id.
///
/// It builds the models, and recipes take the whole session, so nothing is passed in two places. It holds no settings of phases, and
/// phases never see it.
///
/// ```
/// use std::sync::Arc;
/// use engine::{JournalSet, Session};
/// use llm_client::{HttpClient, ModelSettings, ModelFactory};
/// use schema::ModelId;
///
/// let folder = tempfile::tempdir()?;
/// let session = Session::new(ModelFactory::new(HttpClient::default()))
///     .with_journals(Arc::new(JournalSet::new(folder.path())));
/// let settings = ModelSettings::new(ModelId::new("judge")?, "gpt-x", "http://localhost:8000/v1");
/// let judge = session.model(settings)?; // its calls go to the journals, and stop with the session
/// assert_eq!(judge.id().as_str(), "judge");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    factory: ModelFactory,
    journals: Option<Arc<JournalSet>>,
    observer: Arc<dyn Observer>,
    run_id: RunId,
    runner: Option<Arc<dyn Runner>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("run_id", &self.run_id)
            .field("journals", &self.journals)
            .finish_non_exhaustive()
    }
}

/// A session without cache, budget and journal, with the default limits and retries.
impl Default for Session {
    fn default() -> Self {
        Self::new(ModelFactory::new(HttpClient::default()))
    }
}

impl Session {
    /// A session whose models `factory` builds. The factory's stop signal, meter, cache and journal become the session's.
    #[must_use]
    pub fn new(factory: ModelFactory) -> Self {
        Self {
            factory,
            journals: None,
            observer: Arc::new(NoObserver),
            run_id: RunId::now(),
            runner: None,
        }
    }

    /// Writes journal files, which recipes open, close and check.
    #[must_use]
    pub fn with_journals(mut self, journals: Arc<JournalSet>) -> Self {
        self.factory = self.factory.with_journal(Arc::clone(&journals) as _);
        self.journals = Some(journals);
        self
    }

    /// Records every event in `journal`. After [`with_journals`](Self::with_journals) it is a layer around those; otherwise it is one
    /// journal for everything, which the caller closes.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.factory = self.factory.with_journal(journal);
        self
    }

    /// Reports progress to `observer`.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Sets the id of the run, which names the folder of its records. The default is the time of [`new`](Self::new).
    #[must_use]
    pub fn with_run_id(mut self, run_id: RunId) -> Self {
        self.run_id = run_id;
        self
    }

    /// Runs the rows of benchmarks on `runner`: those of a run that simulates. Calls that belong to no row are made here, and so are those
    /// of conversations that are only judged.
    #[must_use]
    pub fn with_runner(mut self, runner: Arc<dyn Runner>) -> Self {
        let route = UnitRoute {
            runner: Arc::clone(&runner),
            cache: self.factory.cache().cloned(),
            budget: self.factory.budget().cloned(),
            stop: self.factory.stop().clone(),
            costs: Mutex::default(),
        };
        self.factory = self.factory.with_route(Arc::new(route));
        self.runner = Some(runner);
        self
    }

    /// What runs the rows, if they run elsewhere.
    #[must_use]
    pub fn runner(&self) -> Option<&Arc<dyn Runner>> {
        self.runner.as_ref()
    }

    /// Builds a model with all layers of the policy. Nothing is sent yet.
    ///
    /// # Errors
    /// When no call could be made with the settings, or there is a budget in dollars and the model has no price.
    pub fn model(&self, settings: ModelSettings) -> Result<Arc<dyn ChatModel>, SetupError> {
        self.factory.model(settings)
    }

    /// The models that programs of the run may call. Offer them before the models of programs are built.
    #[must_use]
    pub fn host_models(&self) -> &HostModels {
        self.factory.host_models()
    }

    /// The id of the run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The signal that ends the run in an orderly way.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        self.factory.stop()
    }

    /// What the calls have used and cost so far.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        self.factory.meter()
    }

    /// The replies of earlier runs.
    #[must_use]
    pub fn cache(&self) -> Option<&Cache> {
        self.factory.cache()
    }

    /// The journal files.
    #[must_use]
    pub fn journals(&self) -> Option<&Arc<JournalSet>> {
        self.journals.as_ref()
    }

    /// The journal that receives the events.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        self.factory.journal()
    }

    /// The observer of progress.
    #[must_use]
    pub fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    /// Why replies or events can no longer be written, if so: a full disk, for example.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let cache = self.cache().and_then(Cache::trouble);
        cache.or_else(|| self.journals.as_ref()?.trouble())
    }

    /// Waits until replies or events can no longer be written.
    pub async fn until_trouble(&self) {
        let reply = async {
            match self.cache() {
                Some(cache) => drop(cache.until_trouble().await),
                None => std::future::pending().await,
            }
        };
        let event = async {
            while self.trouble().is_none() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        // A reply that was not stored is paid again: the next call would be another one.
        tokio::select! {
            () = reply => {}
            () = event => {}
        }
    }

    /// The number of replies in the cache; 0 without a cache, or if it cannot be read.
    pub(crate) async fn cached_replies(&self) -> u64 {
        let Some(cache) = self.cache().cloned() else {
            return 0;
        };
        let count = tokio::task::spawn_blocking(move || cache.count()).await;
        count.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Waits until the recorded events are on the disk.
    pub(crate) async fn sync_journals(&self) {
        if let Some(journals) = &self.journals {
            journals.sync().await;
        }
    }
}
