//! The connection to the server.

use std::{error::Error, path::PathBuf};

use async_nats::{ConnectOptions, jetstream};

/// How the server is reached. TLS is used where the address begins with `tls://`.
#[derive(Clone, Default)]
pub struct NatsOptions {
    /// The address: `nats://host:4222`, or several separated by commas.
    pub url: String,
    /// A credentials file, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
    /// A token.
    pub token: Option<String>,
    /// The certificates that the server's is checked with, besides those of the system.
    pub authorities: Option<PathBuf>,
}

impl std::fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsOptions")
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

/// Why the server cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct ClusterError {
    what: String,
    source: Box<dyn Error + Send + Sync>,
}

impl ClusterError {
    /// `what` was not possible.
    pub(crate) fn of<E: Into<Box<dyn Error + Send + Sync>>>(
        what: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self {
            what,
            source: source.into(),
        }
    }
}

impl NatsOptions {
    /// Connects. The connection is made again when it breaks, for as long as the process lives.
    pub(crate) async fn connect(&self, name: &str) -> Result<jetstream::Context, ClusterError> {
        let mut options = ConnectOptions::new().name(name);
        if let Some(path) = &self.credentials {
            let read = options.credentials_file(path).await;
            options = read.map_err(ClusterError::of(path.display().to_string()))?;
        }
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some(path) = &self.authorities {
            options = options.add_root_certificates(path.clone());
        }
        let addresses: Vec<&str> = self.url.split(',').map(str::trim).collect();
        let connected = options.connect(addresses.as_slice()).await;
        let client = connected.map_err(ClusterError::of(
            "the NATS server cannot be reached (--nats)",
        ))?;
        Ok(jetstream::new(client))
    }
}
