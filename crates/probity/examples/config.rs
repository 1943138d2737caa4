//! A run from the text of a configuration file, without the command. Start it with `cargo run -p probity --example config`.
//!
//! Where keys are in variables of the environment, [`Vars`] are `std::env::vars().collect()`.

use std::{error::Error, path::Path, sync::Arc};

use llm_client::HttpClient;
use probity::{
    Phase, Pipeline, Session,
    config::{BuiltModels, Layers, Vars, keys},
    demo, standard_phases,
};
use scripted_llm::ScriptedServer;

const TEXT: &str = "\
user_model: scripted/scripted-user
generator_model: scripted/scripted-generator
evaluator_model: scripted/scripted-judge
targets:
  - id: careful
    model: scripted/scripted-careful
generation:
  scenarios_per_metric: 1
  turns: ${TURNS}
run:
  concurrency: 4
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut layers = Layers::default();
    layers.add_text(Path::new("config.yaml"), TEXT)?;
    layers.set(keys::NUM_SAMPLES, "--num-samples", 2);
    let config = layers.read(Vars::from_iter([("TURNS", "3")]))?;
    for warning in &config.warnings {
        eprintln!("{warning}");
    }

    // `None` where no model has the source `scripted`.
    let server = ScriptedServer::start().await?;
    let (settings, entries) = (&config.settings, &config.settings.models);
    let endpoints = config.endpoints(Some(server.base_url()))?;
    let resolved = endpoints.resolve_all(entries.all())?;
    let http = HttpClient::new(settings.http_options());
    let session = Arc::new(Session::new(settings.model_factory(http, &resolved)));
    let models = BuiltModels::new(resolved, Vec::new(), &session)?.by_part(entries)?;
    let phases = standard_phases(models, config.phase_settings()?)?;

    let folder = tempfile::tempdir()?;
    let options = config.run_options(&Phase::ALL)?;
    let pipeline = Pipeline::new(session, demo::layout(folder.path())?, phases, options);
    print!("{}", demo::rates(&demo::run(&pipeline).await?));
    Ok(())
}
