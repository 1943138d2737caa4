//! `replay`: makes the results of a run from its cassette.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use probity::{
    Cassette, CassetteError, CassetteRecord, Models, OutFolder, Phase, Pipeline, Player,
    RunOptions, Session, ToolServer,
};
use schema::{ModelId, TargetRef, numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;
use store::{Layout, RowForm};

use super::{Context, imported::Imported, output::CommandOutput, safety};
use crate::{
    config::{Config, ModelEntry},
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// Make the results of a run from its cassette, without a network, and compare them with the run's
///
/// Every phase is made again from the recorded replies. The results are those of the run if each file has the same bytes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask replay honesty.cassette\n  cargo xtask replay honesty.cassette --out honesty\n\nIt ends with 1 \
    if a file differs from the run's."
)]
pub struct ReplayArgs {
    /// The cassette that `pack` wrote
    #[arg(value_name = "FILE")]
    cassette: PathBuf,
    /// The folder for the results, which does not exist yet [default: the name of the cassette]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `replay`.
#[derive(Serialize, JsonSchema)]
pub struct ReplayOutput<'a> {
    /// The folder with the results.
    folder: String,
    /// What the cassette holds.
    cassette: &'a CassetteRecord,
    /// The files that differ from the run's.
    differences: Vec<FileDifference>,
}

/// A file that differs.
#[derive(Serialize, JsonSchema)]
struct FileDifference {
    /// Its path below the folder of benchmarks; of a safety evaluation, its name.
    file: String,
    /// `differs` or `missing`.
    what: &'static str,
}

impl CommandOutput for ReplayOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["replay"];
}

impl From<CassetteError> for Failure {
    fn from(error: CassetteError) -> Self {
        Self::usage(error.to_string())
    }
}

/// Replays a cassette.
///
/// # Errors
/// When the cassette cannot be read, a part of it was changed, or the folder exists.
pub fn run(context: &Context, args: &ReplayArgs) -> Result<Exit, Failure> {
    let cassette = Cassette::open(&args.cassette)?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(args.cassette.file_stem().unwrap_or("replay".as_ref())));
    if folder.exists() {
        return Err(Failure::usage(format!(
            "{}: it exists; name a new folder with --out DIR",
            folder.display()
        )));
    }
    let record = cassette.record();
    let results_in = |folder: &Path| match record.safety {
        Some(_) => folder.to_owned(),
        None => folder.join("benchmarks"),
    };
    let out = OutFolder::begin(&folder, "replaying", false)?;
    let made = results_in(out.root());
    match &record.safety {
        Some(recorded) => safety::replay(&cassette, recorded, &made)?,
        None => replay(context, &cassette, &made)?,
    }
    let differences = cassette.differences(&made);
    out.keep()?;
    let exit = match differences.is_empty() {
        true => Exit::Complete,
        false => Exit::FailedRows,
    };
    show(
        context,
        args,
        (&folder, &results_in(&folder)),
        record,
        differences,
        exit,
    );
    Ok(exit)
}

/// Makes the tree of a run in the folder `benchmarks`.
fn replay(context: &Context, cassette: &Cassette, benchmarks: &Path) -> Result<(), Failure> {
    let layout = Layout::new(benchmarks);
    let config = Config::of_cassette(&cassette.settings())?;
    cassette.copy_inputs(layout.benchmarks())?;
    let made = context.with_layout(layout.clone());
    let player = cassette.player()?;
    let record = cassette.record();
    let phases = phases_of(record);
    let imported = Imported::of(&layout, &selection(record), &phases)?;
    let models = played_models(&config, &player, record, &imported)?;
    let session = Arc::new(Session::default());
    Context::runtime()?.block_on(play(&made, &config, record, session, models, imported))?;
    Ok(())
}

/// The models of the run, which answer from the cassette.
fn played_models(
    config: &Config,
    player: &Player,
    record: &CassetteRecord,
    imported: &Imported,
) -> Result<Models, Failure> {
    let models = &config.settings.models;
    // It is in no role, so it is never called.
    let unused = ModelId::new("unused").map_err(|error| Failure::usage(error.to_string()))?;
    let role = |entry: &Option<ModelEntry>| {
        player.model(entry.as_ref().map_or(&unused, |entry| &entry.id))
    };
    let target = |entry: &ModelEntry| {
        let target = TargetRef {
            id: entry.id.clone(),
            model: entry.model.raw.clone(),
        };
        (target, player.model(&entry.id))
    };
    let is_played = |id: &str| record.targets.iter().any(|one| one == id) && !imported.has(id);
    let played = models
        .targets
        .iter()
        .filter(|entry| is_played(entry.id.as_str()));
    Ok(Models {
        generator: role(&models.generator),
        user: role(&models.user),
        tools: role(&models.tool),
        judges: models
            .judges
            .iter()
            .map(|judge| player.model(&judge.id))
            .collect(),
        targets: played.map(target).collect(),
        servers: models
            .servers
            .iter()
            .map(|server| ToolServer {
                model: player.model(&server.entry.id),
                targets: server.targets.clone(),
            })
            .collect(),
    })
}

fn show(
    context: &Context,
    args: &ReplayArgs,
    (folder, results): (&Path, &Path),
    record: &CassetteRecord,
    differences: Vec<(String, &'static str)>,
    exit: Exit,
) {
    if args.json {
        let differences = differences.into_iter();
        let output = ReplayOutput {
            folder: folder.display().to_string(),
            cassette: record,
            differences: differences
                .map(|(file, what)| FileDifference { file, what })
                .collect(),
        };
        context.print_json("replay", exit, &output);
        return;
    }
    let files = counted(record.tree.len() as u64, "file", "files");
    let outcome = match differences.len() as u64 {
        0 => "each as the run wrote it".to_owned(),
        1 => "1 differs from what the run wrote".to_owned(),
        n => format!("{} differ from what the run wrote", grouped(n)),
    };
    let mut text = format!(
        "replayed  {}, from {}\nresults   {}, {files}: {outcome}\n",
        record.run_id,
        counted(record.replies, "reply", "replies"),
        results.display(),
    );
    for (file, what) in &differences {
        text.push_str(&format!("          {file}: {what}\n"));
    }
    let own = env!("CARGO_PKG_VERSION");
    if !differences.is_empty() && record.probity_version != own {
        text.push_str(&format!(
            "help: version {} wrote them, and this is {own}: methods and formats may have changed\n",
            record.probity_version
        ));
    }
    context.terminal.print(&text);
}

fn selection(record: &CassetteRecord) -> BenchmarkSelection {
    BenchmarkSelection {
        names: record.benchmarks.clone(),
        ..BenchmarkSelection::default()
    }
}

fn phases_of(record: &CassetteRecord) -> Vec<Phase> {
    let is_played = |phase: &Phase| record.phases.iter().any(|name| name == phase.as_str());
    Phase::ALL.into_iter().filter(is_played).collect()
}

/// Makes the phases of `record` on the benchmarks of `context` with `models`. Rows that fail are rows that failed in the run.
///
/// # Errors
/// When nothing could be run.
pub async fn play(
    context: &Context,
    config: &Config,
    record: &CassetteRecord,
    session: Arc<Session>,
    models: Models,
    imported: Imported,
) -> Result<(), Failure> {
    let mut phases = context.phases(models, config.phase_settings()?)?;
    phases.targets.extend(imported.chosen(&[]));
    let options = RunOptions {
        found_versions: record.prompt_versions.clone(),
        // A cassette has plain files, whatever the run wrote: other versions of zstd compress differently.
        rows: RowForm::Plain,
        ..config.run_options(&phases_of(record))?
    };
    let pipeline = Pipeline::new(session, context.layout.clone(), phases, options);
    let report = pipeline.run(&record.benchmarks).await?;
    let failed = report.benchmarks.into_iter().find_map(|one| one.error);
    failed.map_or(Ok(()), |error| Err(error.into()))
}
