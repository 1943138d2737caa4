//! `pack`: makes one file of everything that a run rests on.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use llm_client::{Cache, CacheMode, CacheSettings, HttpClient, ModelFactory, ModelSettings};
use probity::{
    CassetteParts, CassetteRecord, CassetteSetup, FailedCalls, Layout, Manifest, MissingReply,
    Models, Phase, Recorder, Session, ToolServer, TreeFile, tree_files, write_cassette,
};
use schema::{ProgramCommand, numbers::grouped, text::counted};
use schemars::JsonSchema;
use serde::Serialize;
use store::{copy_plain, run_status::latest_run};
use tempfile::TempDir;

use super::{
    Context,
    cache::size,
    imported::Imported,
    models::{ModelRoles, build},
    needs::Needs,
    output::CommandOutput,
    plan::NOWHERE,
    replay::play,
    safety,
};
use crate::{
    config::{Config, Endpoints, ModelEntry, vars},
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// How many calls or files an error names.
const NAMED: usize = 5;

/// Make one file of everything that a run rests on: `replay` makes its results from it
///
/// The file has the benchmark, or the test cases of a safety evaluation, the settings without secrets and addresses, and every reply that
/// the results rest on. Nothing is called: the run is made a second time from the response cache, and the file is written only if that gives
/// the same results, byte for byte.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask pack\n  cargo xtask pack run-20260901-101500-123456 --out honesty.cassette"
)]
pub struct PackArgs {
    /// The run's id [default: the newest run that simulated or judged rows]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// The file to write [default: RUN.cassette]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `pack`.
#[derive(Serialize, JsonSchema)]
pub struct PackOutput<'a> {
    /// The file.
    file: String,
    /// Its size.
    bytes: u64,
    /// What it holds.
    cassette: &'a CassetteRecord,
}

impl CommandOutput for PackOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["pack"];
}

/// Packs a run.
///
/// # Errors
/// When there is no such run, it did not end, or its results cannot be made again from the cache.
pub fn run(context: &Context, args: &PackArgs) -> Result<Exit, Failure> {
    let manifest = ended_run(context, args.run.as_deref())?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.cassette", manifest.run_id)));
    let record = match manifest.safety {
        Some(_) => safety::pack(context, &manifest, &out)?,
        None => Packing::new(context, manifest)?.pack(&out)?,
    };
    let bytes = std::fs::metadata(&out).map_or(0, |about| about.len());
    if args.json {
        let output = PackOutput {
            file: out.display().to_string(),
            bytes,
            cassette: &record,
        };
        context.print_json("pack", Exit::Complete, &output);
    } else {
        context.terminal.print(&format!(
            "packed  {}, {}: {}, {}\nreplay  {}\n",
            out.display(),
            size(bytes),
            counted(record.replies, "reply", "replies"),
            counted(
                record.tree.len() as u64,
                "file of results",
                "files of results"
            ),
            ProgramCommand::new("replay")
                .on(out.display())
                .text(&context.program),
        ));
    }
    Ok(Exit::Complete)
}

/// The manifest of the run `run`, or of the newest one.
fn ended_run(context: &Context, run: Option<&str>) -> Result<Manifest, Failure> {
    let layout = &context.layout;
    let id = match run {
        Some(id) => id.to_owned(),
        None => latest_run(layout, None)
            .ok_or_else(|| Failure::usage("no run is recorded here; run a benchmark first"))?,
    };
    let manifest = Manifest::read(&layout.run(&id)).ok_or_else(|| {
        Failure::usage(format!(
            "{id}: no such run; its record would be {}",
            layout.run(&id).join(Manifest::FILE).display()
        ))
    })?;
    match manifest.outcome.as_deref() {
        Some("complete" | "failed_rows") => Ok(manifest),
        _ => Err(Failure::usage(format!(
            "{id}: the run did not reach its end; run the same command again, and pack that run"
        ))),
    }
}

/// A run that is packed.
struct Packing<'a> {
    context: &'a Context,
    manifest: Manifest,
    config: Config,
    /// The phases that are made again: results rest on metrics and scenarios as they are.
    phases: Vec<Phase>,
}

impl<'a> Packing<'a> {
    fn new(context: &'a Context, manifest: Manifest) -> Result<Self, Failure> {
        let phases: Vec<Phase> = Phase::ALL
            .into_iter()
            .filter(|phase| manifest.phases.iter().any(|name| name == phase.as_str()))
            .filter(|phase| !matches!(phase, Phase::GenMetrics | Phase::GenScenarios))
            .collect();
        if !manifest.has_rows() {
            return Err(Failure::usage(format!(
                "{}: the run simulated and judged nothing; name a run that did",
                manifest.run_id
            )));
        }
        let vars = vars::load(context.project.root())?;
        let config = Config::of_record(&manifest.config, vars)?;
        Ok(Self {
            context,
            manifest,
            config,
            phases,
        })
    }

    fn pack(&self, out: &Path) -> Result<CassetteRecord, Failure> {
        let failed = |error: std::io::Error| Failure::nothing_ran(error.to_string());
        let folder = TempDir::new().map_err(failed)?;
        let copy = self.context.layout.trial_in(folder.path());
        let tree = self.tree()?;
        let inputs: Vec<TreeFile> = tree
            .iter()
            .filter(|file| !self.is_made(file))
            .cloned()
            .collect();
        for file in &inputs {
            copy_plain(&file.path, &copy.benchmarks().join(&file.name))?;
        }
        let failures = failed_calls(self.context, &self.manifest.run_id)?;
        let recorder = Recorder::new(failures).map_err(failed)?;
        let record = self.record();
        let made = self.context.with_layout(copy.clone());
        Context::runtime()?.block_on(async {
            let (session, models, imported) = self.models(&made, &recorder)?;
            play(&made, &self.config, &record, session, models, imported).await
        })?;
        self.check_made(&tree, &copy, &recorder.missing())?;
        let (settings, files) = self.config.to_cassette()?;
        let parts = CassetteParts {
            setup: CassetteSetup::Settings(format!("{settings:#}\n")),
            files,
            inputs: &inputs,
            tree: &tree,
            recorder: &recorder,
        };
        write(out, record, &parts)
    }

    fn record(&self) -> CassetteRecord {
        let manifest = &self.manifest;
        let versions = |name: &String| {
            let versions = manifest.result(name, "prompt_versions");
            Some((name.clone(), serde_json::from_value(versions.clone()).ok()?))
        };
        CassetteRecord {
            format_version: CassetteRecord::FORMAT_VERSION.to_owned(),
            probity_version: manifest.probity_version.clone(),
            run_id: manifest.run_id.clone(),
            start: manifest.start.clone(),
            phases: self
                .phases
                .iter()
                .map(|phase| phase.as_str().to_owned())
                .collect(),
            benchmarks: manifest.benchmarks.clone(),
            targets: manifest
                .targets
                .iter()
                .map(|target| target.id.to_string())
                .collect(),
            prompt_versions: manifest.benchmarks.iter().filter_map(versions).collect(),
            programs: Default::default(),
            replies: 0,
            parts: Default::default(),
            tree: Default::default(),
            safety: None,
        }
    }

    /// The files of the run's benchmarks.
    fn tree(&self) -> Result<Vec<TreeFile>, Failure> {
        let mut all = Vec::new();
        for name in &self.manifest.benchmarks {
            let dir = self.context.layout.benchmark(name)?;
            let files = tree_files(&dir).map_err(|error| {
                Failure::nothing_ran(format!("{}: {error}", dir.root().display()))
            })?;
            all.extend(files);
        }
        Ok(all)
    }

    /// Whether the run makes this file, so that it does not begin with it.
    fn is_made(&self, file: &TreeFile) -> bool {
        let runs = |phase| self.phases.contains(&phase);
        let parts: Vec<&str> = file.name.split('/').collect();
        match parts.as_slice() {
            [_, "results.json" | "statistics.json" | "grades.json"] => runs(Phase::Aggregate),
            [_, "runs", target, name] => {
                let is_played = self
                    .manifest
                    .targets
                    .iter()
                    .any(|one| one.id.as_str() == *target);
                let is_made = match *name {
                    "conversations.json" | "cost.json" => runs(Phase::Simulate),
                    "scores.json" => runs(Phase::Evaluate),
                    _ => false,
                };
                is_played && is_made
            }
            _ => false,
        }
    }

    /// The models of the run, answered from the response cache alone and recorded.
    fn models(
        &self,
        made: &Context,
        recorder: &Recorder,
    ) -> Result<(Arc<Session>, Models, Imported), Failure> {
        let selection = BenchmarkSelection {
            names: self.manifest.benchmarks.clone(),
            ..BenchmarkSelection::default()
        };
        let imported = Imported::of(&made.layout, &selection, &self.phases)?;
        let needs = Needs::of(&made.layout, &selection, &self.phases);
        let only: Vec<String> = self
            .manifest
            .targets
            .iter()
            .map(|target| target.id.to_string())
            .collect();
        let settings = &self.config.settings;
        let parts = ModelRoles::needed(settings, &self.phases, &only, needs, imported.clone())?;
        let endpoints = self.config.endpoints(Some(NOWHERE.to_owned()))?;
        let resolved: Vec<(&ModelEntry, ModelSettings)> = parts
            .called()
            .into_iter()
            .map(|entry| Ok((entry, unkeyed(&endpoints, entry)?)))
            .collect::<Result<_, Failure>>()?;
        let offered = endpoints.offered(&settings.models, &parts.called());
        let session = cached_session(&made.layout)?;
        let session = Arc::new(session);
        let models = build(&parts, resolved, offered, &session)?;
        let recorded = Models {
            generator: recorder.model(models.generator),
            user: recorder.model(models.user),
            tools: recorder.model(models.tools),
            judges: models
                .judges
                .into_iter()
                .map(|judge| recorder.model(judge))
                .collect(),
            targets: models
                .targets
                .into_iter()
                .map(|(target, model)| (target, recorder.model(model)))
                .collect(),
            servers: models
                .servers
                .into_iter()
                .map(|server| ToolServer {
                    model: recorder.model(server.model),
                    ..server
                })
                .collect(),
        };
        Ok((session, recorded, imported))
    }

    /// Checks that the run was made again as it was.
    fn check_made(
        &self,
        tree: &[TreeFile],
        copy: &Layout,
        missing: &[MissingReply],
    ) -> Result<(), Failure> {
        let differs = |file: &&TreeFile| {
            let made = TreeFile {
                name: file.name.clone(),
                path: copy.benchmarks().join(&file.name),
            };
            file.digest().ok() != made.digest().ok()
        };
        let differing: Vec<&TreeFile> = tree.iter().filter(differs).collect();
        if differing.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = differing.iter().map(|file| file.name.as_str()).collect();
        Err(not_made_again(
            &self.manifest.run_id,
            &names,
            tree.len(),
            missing,
        ))
    }
}

/// Writes the cassette `out`.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    out: &Path,
    record: CassetteRecord,
    parts: &CassetteParts<'_>,
) -> Result<CassetteRecord, Failure> {
    let failed = |error: String| Failure::nothing_ran(error);
    let out = std::path::absolute(out).map_err(|error| failed(error.to_string()))?;
    write_cassette(&out, record, parts).map_err(|error| failed(error.to_string()))
}

/// The failed calls of the journals of the run `id`.
///
/// # Errors
/// When a journal cannot be read.
pub fn failed_calls(context: &Context, id: &str) -> Result<FailedCalls, Failure> {
    let mut failed = FailedCalls::default();
    let folder = context.layout.run(id);
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if journal::index_name(&name).is_some() {
            failed
                .read(&entry.path())
                .map_err(|error| Failure::nothing_ran(error.to_string()))?;
        }
    }
    Ok(failed)
}

/// A session whose models answer from the response cache alone.
///
/// # Errors
/// When the cache cannot be opened.
pub fn cached_session(layout: &Layout) -> Result<Session, Failure> {
    let only_cached = CacheSettings {
        mode: CacheMode::Only,
        ..CacheSettings::default()
    };
    let cache = Cache::open(layout.cache(), only_cached)
        .map_err(|error| Failure::nothing_ran(error.to_string()))?;
    let factory = ModelFactory::new(HttpClient::default()).with_cache(cache);
    Ok(Session::new(factory))
}

/// Why the run `id` cannot be packed: `differing` of its files of results were not made again as they are.
pub fn not_made_again(
    id: &str,
    differing: &[&str],
    files: usize,
    missing: &[MissingReply],
) -> Failure {
    let mut text = match missing.len() as u64 {
        0 => format!(
            "{id}: the run cannot be packed: made again from its replies, {} of {} differ: a later run or an edit changed them",
            counted(differing.len() as u64, "file", "files"),
            grouped(files as u64)
        ),
        n => format!(
            "{id}: the run cannot be packed: the response cache has no reply to {}",
            counted(n, "of its calls", "of its calls")
        ),
    };
    for call in missing.iter().take(NAMED) {
        text.push_str(&format!(
            "\n  {} of {}, row {}",
            call.purpose, call.model, call.row
        ));
    }
    if missing.is_empty() {
        for name in differing.iter().take(NAMED) {
            text.push_str(&format!("\n  {name}"));
        }
    }
    text.push_str("\nhelp: run the same command again, and pack that run");
    Failure::usage(text)
}

/// The settings of a model that is not called, which need no key. A program is started for its hello.
///
/// # Errors
/// When the model cannot be used.
pub fn unkeyed(endpoints: &Endpoints<'_>, entry: &ModelEntry) -> Result<ModelSettings, Failure> {
    Ok(match entry.table.is_program() || entry.table.is_mcp {
        true => endpoints.resolve(entry)?,
        false => endpoints.without_key(entry)?,
    })
}
