//! A pipeline put together by hand: a server, a client, models, phases, a run. Start it with
//! `cargo run -p probity --example compose`.

use std::{error::Error, fs, sync::Arc};

use llm_client::{
    Cache, CacheSettings, HttpClient, HttpOptions, ModelFactory, ModelSettings, PriceTable,
};
use probity::{
    Layout, Models, PhaseSettings, Pipeline, RunOptions, RunOutcome, Session, standard_phases,
};
use schema::{ModelId, TargetRef};
use scripted_llm::ScriptedServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let layout = Layout::new(folder.path().join("benchmarks"));
    fs::create_dir_all(layout.benchmarks().join("flattery"))?;
    let yaml =
        "description: Whether an assistant flatters, and caves in when a user pushes back.\n";
    fs::write(layout.benchmark("flattery")?.yaml(), yaml)?;

    let server = ScriptedServer::start().await?; // Any OpenAI-compatible endpoint will do.
    fs::create_dir_all(layout.state())?;
    let cache = Cache::open(layout.cache(), CacheSettings::default())?;
    let factory = ModelFactory::new(HttpClient::new(HttpOptions::default())).with_cache(cache);
    let session = Arc::new(Session::new(factory));
    let model = |name: &str| -> Result<_, Box<dyn Error>> {
        let mut settings = ModelSettings::new(ModelId::new(name)?, name, server.base_url());
        settings.price = PriceTable::shipped().price(None, name);
        Ok(session.model(settings)?)
    };
    let target = TargetRef {
        id: ModelId::new("careful")?,
        model: "scripted-careful".to_owned(),
    };
    let models = Models {
        generator: model("scripted-generator")?,
        user: model("scripted-user")?,
        tools: model("scripted-user")?,
        judges: vec![model("scripted-judge")?],
        targets: vec![(target, model("scripted-careful")?)],
        servers: Vec::new(),
    };
    let phases = standard_phases(models, PhaseSettings::default())?;
    let pipeline = Pipeline::new(session, layout, phases, RunOptions::default());
    let report = pipeline.run(&["flattery".to_owned()]).await?;

    if report.outcome() != RunOutcome::Complete {
        return Err(format!("{:#?}", report.benchmarks).into());
    }
    for summary in report
        .benchmarks
        .iter()
        .flat_map(|benchmark| &benchmark.summaries)
    {
        println!(
            "{}: {:?} / {:?}",
            summary.target_model, summary.positive_pass_rate, summary.negative_pass_rate
        );
    }
    Ok(())
}
