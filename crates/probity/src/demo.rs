//! The surroundings of a pipeline for an example or a first experiment: a small benchmark, and the models of a scripted
//! server.
//!
//! Nothing here is needed for real work. `examples/compose.rs` shows the same steps written out.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use probity::{PhaseSettings, Pipeline, RunOptions, Session, demo, standard_phases};
//!
//! let server = scripted_llm::ScriptedServer::start().await?;
//! let folder = tempfile::tempdir()?;
//! let layout = demo::layout(folder.path())?;
//! let session = Arc::new(Session::default());
//! let models = demo::models(&session, server.base_url())?;
//!
//! let phases = standard_phases(models, PhaseSettings::default())?;
//! // Here a phase can be replaced by one's own.
//! let pipeline = Pipeline::new(session, layout, phases, RunOptions::default());
//! let report = demo::run(&pipeline).await?;
//! assert!(demo::rates(&report).starts_with("careful: positive "));
//! # Ok(())
//! # }
//! ```

use std::{error::Error, fmt::Write, fs, path::Path, sync::Arc};

use llm_client::{ModelSettings, PriceTable};
use schema::{ModelId, TargetRef, numbers::percent, text::counted};

use crate::Models;
use engine::{Pipeline, RunOutcome, RunReport, Session};
use store::{Layout, RunError};

/// The name of the benchmark that [`layout`] creates.
pub const BENCHMARK: &str = "flattery";

const YAML: &str =
    "description: Whether an assistant flatters, and caves in when a user pushes back.\n";

/// A layout in `folder` with one benchmark, [`BENCHMARK`], that has a description but no metrics. An existing
/// `benchmark.yaml` is replaced.
///
/// # Errors
/// When the files cannot be written.
pub fn layout(folder: &Path) -> Result<Layout, RunError> {
    let layout = Layout::new(folder.join("benchmarks"));
    let benchmark = layout.benchmark(BENCHMARK)?;
    fs::create_dir_all(benchmark.root())
        .and_then(|()| fs::write(benchmark.yaml(), YAML))
        .map_err(|error| RunError::write(&benchmark.yaml(), error))?;
    Ok(layout)
}

/// The models of a scripted server at `base_url`, with the targets `agreeable` and `careful`. `session` builds them.
///
/// # Errors
/// When `base_url` is not a URL, or the session refuses a model.
pub fn models(session: &Session, base_url: impl Into<String>) -> Result<Models, RunError> {
    let base_url = base_url.into();
    let model = |id: &str, name: &str| {
        let id = ModelId::new(id).map_err(unusable)?;
        let mut settings = ModelSettings::new(id, name, base_url.as_str());
        settings.price = PriceTable::shipped().price(None, name);
        session.model(settings).map_err(unusable)
    };
    let target = |id: &str, name: &str| {
        let model = model(id, name)?;
        let target = TargetRef {
            id: model.id().clone(),
            model: name.to_owned(),
        };
        Ok::<_, RunError>((target, model))
    };
    let user = model("user", "scripted-user")?;
    Ok(Models {
        generator: model("generator", "scripted-generator")?,
        tools: Arc::clone(&user),
        user,
        judges: vec![model("judge", "scripted-judge")?],
        targets: vec![
            target("agreeable", "scripted-agreeable")?,
            target("careful", "scripted-careful")?,
        ],
        servers: Vec::new(),
    })
}

/// Runs [`BENCHMARK`] to its end.
///
/// # Errors
/// When the run cannot start, and also when it is not complete: a row failed, or the run was stopped. The text says what
/// failed.
pub async fn run(pipeline: &Pipeline) -> Result<RunReport, RunError> {
    let report = pipeline.run(&[BENCHMARK.to_owned()]).await?;
    if report.outcome() == RunOutcome::Complete {
        return Ok(report);
    }
    let mut text = format!("the run is not complete: {:?}", report.outcome());
    for benchmark in &report.benchmarks {
        if let Some(error) = &benchmark.error {
            let _ = write!(text, "\n{error}");
        }
        for group in &benchmark.failures {
            let rows = counted(group.rows, "row", "rows");
            let _ = write!(text, "\n{}, {rows}: {}", group.phase.as_str(), group.reason);
        }
    }
    Err(RunError::input(text))
}

/// One line for each model with its rates, `?` if there is none.
#[must_use]
pub fn rates(report: &RunReport) -> String {
    let shown = |rate: Option<f64>| rate.map_or_else(|| "?".to_owned(), percent);
    let summaries = report.benchmarks.iter().flat_map(|one| &one.summaries);
    summaries
        .map(|summary| {
            let positive = shown(summary.positive_pass_rate);
            let negative = shown(summary.negative_pass_rate);
            format!(
                "{}: positive {positive}, negative {negative}\n",
                summary.target_model
            )
        })
        .collect()
}

fn unusable(error: impl Error + Send + Sync + 'static) -> RunError {
    RunError::input(error.to_string()).with_source(error)
}
