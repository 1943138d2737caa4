//! Rows that run on workers elsewhere: the flags, and what a run does with them. Without the feature `cluster` there are none.

#[cfg(feature = "cluster")]
mod over_nats;
pub mod server;

use std::sync::Arc;

use clap::Args;
use llm_client::ModelSettings;
use probity::Session;

use super::{Context, models::ModelRoles};
use crate::{
    config::{Config, ConfigError, Endpoints, ModelEntry},
    exit::Failure,
};

/// Flags of commands that work with a NATS server.
#[derive(Clone, Debug, Default, Args)]
pub struct NatsArgs {
    /// The NATS server with JetStream, over which the rows run on workers (`worker`): nats://HOST:4222, or tls://HOST:4222
    #[cfg(feature = "cluster")]
    #[arg(long = "nats", value_name = "URL")]
    nats_url: Option<String>,
    /// The credentials file for the NATS server; a token is read from the variable NATS_TOKEN
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-creds", value_name = "FILE", requires = "nats_url")]
    credentials: Option<std::path::PathBuf>,
    /// Certificates, in PEM, that the NATS server's is checked with besides those of the system
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-ca", value_name = "FILE", requires = "nats_url")]
    authorities: Option<std::path::PathBuf>,
}

/// Flags of `run`.
#[derive(Clone, Debug, Default, Args)]
pub struct ElsewhereArgs {
    #[command(flatten)]
    nats: NatsArgs,
    /// Seconds that a worker may be silent before its row goes to another one [default: 60]
    #[cfg(feature = "cluster")]
    #[arg(long = "nats-lease", value_name = "SECONDS", requires = "nats_url", value_parser = clap::value_parser!(u64).range(4..))]
    lease: Option<u64>,
}

/// What a run that goes elsewhere has.
pub struct RunElsewhere<'r> {
    /// The run's configuration.
    pub config: &'r Config,
    /// Its models.
    pub parts: &'r ModelRoles<'r>,
    /// Its benchmarks.
    pub names: &'r [String],
}

/// The work elsewhere, until the run has ended.
#[derive(Default)]
pub struct WorkElsewhere {
    #[cfg(feature = "cluster")]
    coordinator: Option<cluster::Coordinator>,
}

impl WorkElsewhere {
    /// Ends the work. Nothing stays on the server of a run that `is_complete`.
    pub async fn close(&self, is_complete: bool) {
        #[cfg(feature = "cluster")]
        if let Some(coordinator) = &self.coordinator {
            coordinator.close(is_complete).await;
        }
        #[cfg(not(feature = "cluster"))]
        let _ = is_complete;
    }
}

impl ElsewhereArgs {
    /// Whether rows run elsewhere.
    pub fn is_used(&self) -> bool {
        #[cfg(feature = "cluster")]
        return self.nats.nats_url.is_some();
        #[cfg(not(feature = "cluster"))]
        false
    }

    /// The settings of all models that `parts` call. Where rows run elsewhere, a model that only they call needs no key here.
    ///
    /// # Errors
    /// Lists every missing key and variable once.
    pub fn resolve<'e>(
        &self,
        endpoints: &Endpoints<'_>,
        parts: &ModelRoles<'e>,
    ) -> Result<Vec<(&'e ModelEntry, ModelSettings)>, ConfigError> {
        let called = parts.called();
        if !self.is_used() {
            return endpoints.resolve_all(called);
        }
        let is_called_here = |entry: &ModelEntry| {
            let generator = parts.generator;
            generator.is_some_and(|generator| generator.path == entry.path)
        };
        let resolve = |entry: &'e ModelEntry| {
            let settings = match endpoints.resolve(entry) {
                Err(_) if !is_called_here(entry) => endpoints.without_key(entry),
                resolved => resolved,
            };
            settings.map(|settings| (entry, settings))
        };
        called.into_iter().map(resolve).collect()
    }

    /// Lets the rows of a run go elsewhere, if the flags say so.
    ///
    /// # Errors
    /// When the server cannot be used.
    pub async fn begin(
        &self,
        context: &Context,
        run: RunElsewhere<'_>,
        session: Session,
    ) -> Result<(Arc<Session>, WorkElsewhere), Failure> {
        #[cfg(feature = "cluster")]
        if self.is_used() {
            return over_nats::begin(self, context, run, session).await;
        }
        let _ = (context, run.config, run.parts, run.names);
        Ok((Arc::new(session), WorkElsewhere::default()))
    }
}
