//! The time from the start of the process to its first request.

use std::{error::Error, fs, process::Stdio, time::Instant};

use tokio::{io::AsyncReadExt, net::TcpListener, process::Command};

/// Seconds from the start of `run` to the first byte of its first request: the median of seven
/// runs.
pub(super) async fn measure() -> Result<f64, Box<dyn Error>> {
    let mut seconds = Vec::new();
    for _ in 0..7 {
        seconds.push(once().await?);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

async fn once() -> Result<f64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    super::ours::prepare(folder.path(), 10)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let model = format!(
        "{{source: vllm, model: m, base_url: \"http://{}/v1\"}}",
        listener.local_addr()?
    );
    let config = format!(
        "user_model: {model}\nevaluator_model: {model}\ntargets:\n  - {}id: t}}\n",
        model.replace('}', ", ")
    );
    fs::write(folder.path().join("config.yaml"), config)?;
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe()?)
        .args(["run", "bench", "--quiet"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let first = async {
        let (mut stream, _) = listener.accept().await?;
        stream.read_u8().await
    };
    let seconds = tokio::select! {
        read = first => { read?; start.elapsed().as_secs_f64() }
        status = child.wait() => return Err(format!("`run` ended without a request: {}", status?).into()),
    };
    child.kill().await?;
    Ok(seconds)
}
