//! The scripted server in a separate process.

use std::{error::Error, process::Stdio, time::Duration};

use scripted_llm::ScriptedServer;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
};

/// A running server process. Dropping this value ends it.
pub(crate) struct Server {
    child: Child,
    pub(crate) base_url: String,
}

impl Server {
    pub(crate) async fn start(latency_ms: u64) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "serve", &latency_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        Ok(Self {
            child,
            base_url: line.trim().to_owned(),
        })
    }

    /// The number of accepted connections with a chat request.
    pub(super) async fn connections(&self) -> Result<u64, Box<dyn Error>> {
        Ok(self.stats().await?.chat_connections)
    }

    /// The number of replies so far.
    pub(crate) async fn answered(&self) -> Result<u64, Box<dyn Error>> {
        Ok(self.stats().await?.answered)
    }

    async fn stats(&self) -> Result<scripted_llm::Stats, Box<dyn Error>> {
        let root = self.base_url.trim_end_matches("/v1");
        let stats = super::client()?.get(format!("{root}/stats")).send().await?;
        Ok(serde_json::from_slice(&stats.bytes().await?)?)
    }

    pub(crate) async fn stop(mut self) {
        let _ = self.child.kill().await;
    }
}

/// Serves until standard input ends, which happens when the parent process ends.
pub(super) async fn serve(latency_ms: u64) -> Result<(), Box<dyn Error>> {
    let server = ScriptedServer::builder()
        .record_bodies(false)
        .latency(Duration::from_millis(latency_ms))
        .start()
        .await?;
    println!("{}", server.base_url());
    let mut input = Vec::new();
    tokio::io::stdin().read_to_end(&mut input).await?;
    server.shutdown().await;
    Ok(())
}
