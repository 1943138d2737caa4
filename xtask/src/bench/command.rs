//! `run` as users start it, in a process of its own: simulate, judge, aggregate, check the journal, write the report.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::Instant,
};

use serde_json::Value;
use tokio::process::Command;

use super::{Measure, process::Used};

/// Names the file that a measured command writes its figures to.
pub(super) const FIGURES: &str = "XTASK_BENCH_FIGURES";

/// The measurement of this process, if it is a measured command.
pub(crate) struct Measuring {
    path: PathBuf,
    before: Used,
    start: Instant,
}

impl Measuring {
    /// Begins the measurement, if `bench` started this process for it.
    pub(crate) fn begin() -> Option<Self> {
        let path = env::var_os(FIGURES)?.into();
        Some(Self {
            path,
            before: Used::now(),
            start: Instant::now(),
        })
    }

    /// Writes the figures of the process, which ends with `exit`.
    pub(crate) fn end(self, exit: ExitCode) -> ExitCode {
        // The replies are in the output of the command.
        let measure = Measure::since(self.before, self.start, 0);
        let text = serde_json::to_vec(&measure).unwrap_or_default();
        match fs::write(&self.path, text) {
            Ok(()) => exit,
            Err(error) => {
                eprintln!("error: {}: {error}", self.path.display());
                ExitCode::FAILURE
            }
        }
    }
}

/// Writes the configuration of a run of `samples` conversations for each scenario, with the models of the server at `base_url`.
pub(super) fn configure(
    folder: &Path,
    base_url: &str,
    in_flight: usize,
    samples: u32,
) -> Result<(), Box<dyn Error>> {
    let model = |name: &str| {
        format!("{{source: vllm, id: {name}, model: {name}, base_url: \"{base_url}\"}}")
    };
    let config = format!(
        "user_model: {}\nevaluator_model: {}\ntargets:\n  - {}\ngeneration: {{turns: {}, num_samples: {samples}}}\n\
         run:\n  concurrency: {{simulate: {in_flight}, evaluate: {in_flight}}}\n",
        model("scripted-user"),
        model("scripted-judge"),
        model("scripted-careful"),
        super::ours::TURNS,
    );
    fs::write(folder.join("config.yaml"), config)?;
    Ok(())
}

/// Runs `phase` of the benchmark in `folder`, which was [configured](configure); `run` is all of them.
pub(super) async fn run(folder: &Path, phase: &str) -> Result<Measure, Box<dyn Error>> {
    let figures = folder.join("figures.json");
    let output = Command::new(env::current_exe()?)
        .args([phase, "bench", "--quiet", "--json"])
        .current_dir(folder)
        .env(FIGURES, &figures)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("`{phase}` failed").into());
    }
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    let replies = |kind: &str| printed["replies"][kind].as_u64().unwrap_or_default();
    let measure: Measure = serde_json::from_slice(&files::read(&figures)?)?;
    Ok(Measure {
        calls: usize::try_from(replies("asked") + replies("cached"))?,
        ..measure
    })
}
