//! What an example or a first experiment needs around a pipeline: a small benchmark, and the models of a scripted server.
//!
//! Nothing here is needed for real work. `examples/compose.rs` shows the same steps written out.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use llm_client::{HttpClient, Provider};
//! use pipeline::{PhaseSettings, Phases, Pipeline, RunOptions, RunOutcome, demo};
//!
//! let server = scripted_llm::ScriptedServer::start().await?;
//! let folder = tempfile::tempdir()?;
//! let layout = demo::layout(folder.path())?;
//! let models = demo::models(&Provider::new(HttpClient::default()), server.base_url())?;
//!
//! let phases = Phases::standard(models, PhaseSettings::default(), None)?;
//! // Here a phase can be replaced by one's own.
//! let pipeline = Pipeline::new(layout, phases, RunOptions::default());
//! let report = pipeline.run(&[demo::BENCHMARK.to_owned()]).await?;
//! assert_eq!(report.outcome(), RunOutcome::Complete);
//! # Ok(())
//! # }
//! ```

use std::{error::Error, fs, path::Path};

use llm_client::{ModelSettings, PriceTable, Provider};
use schema::{ModelId, TargetRef};

use crate::{Layout, Models, PipelineError};

/// The name of the benchmark that [`layout`] makes.
pub const BENCHMARK: &str = "flattery";

const YAML: &str =
    "description: Whether an assistant flatters, and caves in when a user pushes back.\n";

/// A layout in `folder` with one benchmark, [`BENCHMARK`], that has a description and no metrics yet. A `benchmark.yaml`
/// that is there already is replaced.
///
/// # Errors
/// When the files cannot be written.
pub fn layout(folder: &Path) -> Result<Layout, PipelineError> {
    let layout = Layout::new(folder.join("benchmarks"));
    let benchmark = layout.benchmark(BENCHMARK)?;
    fs::create_dir_all(benchmark.root())
        .and_then(|()| fs::write(benchmark.yaml(), YAML))
        .map_err(|error| PipelineError::write(&benchmark.yaml(), error))?;
    Ok(layout)
}

/// The models of a scripted server at `base_url`, with the targets `agreeable` and `careful`. They have the layers of
/// `provider`.
///
/// # Errors
/// When `base_url` is no URL, or the provider refuses a model.
pub fn models(provider: &Provider, base_url: impl Into<String>) -> Result<Models, PipelineError> {
    let base_url = base_url.into();
    let model = |id: &str, name: &str| {
        let id = ModelId::new(id).map_err(unusable)?;
        let mut settings = ModelSettings::new(id, name, base_url.as_str());
        settings.price = PriceTable::shipped().price(None, name);
        provider.model(settings).map_err(unusable)
    };
    let target = |id: &str, name: &str| {
        let model = model(id, name)?;
        let target = TargetRef {
            id: model.id().clone(),
            model: name.to_owned(),
        };
        Ok::<_, PipelineError>((target, model))
    };
    Ok(Models {
        generator: model("generator", "scripted-generator")?,
        user: model("user", "scripted-user")?,
        judge: model("judge", "scripted-judge")?,
        targets: vec![
            target("agreeable", "scripted-agreeable")?,
            target("careful", "scripted-careful")?,
        ],
    })
}

fn unusable(error: impl Error + Send + Sync + 'static) -> PipelineError {
    PipelineError::input(error.to_string()).with_source(error)
}
