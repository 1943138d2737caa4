//! Cassettes of safety evaluations.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use journal::{RunId, RunIdError};
use probity::{
    Cassette, CassetteParts, CassetteRecord, CassetteSetup, Manifest, Recorder, SafetyRecording,
    SafetyRecordingFile, Session, TreeFile, read_safety_file,
    safety::{SafetyPrompts, SafetyTarget, write_results},
};
use schema::{
    ChatModel, ModelId,
    safety::{TestCaseGroup, results::Form},
};
use tempfile::TempDir;

use super::{
    super::{
        Context,
        pack::{cached_session, failed_calls, not_made_again, unkeyed, write},
        plan::NOWHERE,
    },
    evaluation::{Evaluation, EvaluationSettings},
    models::{NamedModels, SafetyRoles},
};
use crate::{
    config::{BuiltModels, Config, ModelEntry, vars},
    exit::Failure,
};

/// Packs the safety evaluation of `manifest` into `out`.
///
/// # Errors
/// When its result files are not there, or cannot be made again from the cache.
pub fn pack(context: &Context, manifest: &Manifest, out: &Path) -> Result<CassetteRecord, Failure> {
    let failed = |error: std::io::Error| Failure::nothing_ran(error.to_string());
    let (recording, tree) = recording(manifest)?;
    let path = context
        .layout
        .run(&manifest.run_id)
        .join(Manifest::TEST_CASES);
    let cases = files::read_text(&path).map_err(|error| {
        Failure::usage(format!(
            "{}: {error}: the run cannot be packed without its test cases\nhelp: run the same command again, and pack that run",
            path.display()
        ))
    })?;
    let recorder = Recorder::new(failed_calls(context, &manifest.run_id)?).map_err(failed)?;
    let folder = TempDir::new().map_err(failed)?;
    Context::runtime()?.block_on(async {
        let groups = groups(&path, &cases)?;
        let session = cached_session(&context.layout)?.with_run_id(run_id(&recording)?);
        let session = Arc::new(session);
        let cached = cached_models(context, manifest, &recording, &session)?;
        let models = cached.each(|model| recorder.model(model));
        make(&recording, groups, &session, models, folder.path()).await
    })?;
    let read = |path: &Path| files::read(path).ok();
    let differing: Vec<&str> = tree
        .iter()
        .filter(|file| read(&file.path) != read(&folder.path().join(&file.name)))
        .map(|file| file.name.as_str())
        .collect();
    if !differing.is_empty() {
        return Err(not_made_again(
            &manifest.run_id,
            &differing,
            tree.len(),
            &recorder.missing(),
        ));
    }
    let record = CassetteRecord {
        format_version: CassetteRecord::FORMAT_VERSION.to_owned(),
        probity_version: manifest.probity_version.clone(),
        run_id: manifest.run_id.clone(),
        start: manifest.start.clone(),
        phases: manifest.phases.clone(),
        benchmarks: Vec::new(),
        targets: manifest
            .targets
            .iter()
            .map(|target| target.id.to_string())
            .collect(),
        prompt_versions: Default::default(),
        programs: Default::default(),
        replies: 0,
        parts: Default::default(),
        tree: Default::default(),
        safety: Some(recording),
    };
    let parts = CassetteParts {
        setup: CassetteSetup::TestCases(cases),
        files: Default::default(),
        inputs: &[],
        tree: &tree,
        recorder: &recorder,
    };
    write(out, record, &parts)
}

/// Makes the result files of a safety evaluation in `folder`.
///
/// # Errors
/// When the cassette cannot be read, or a file cannot be written.
pub fn replay(
    cassette: &Cassette,
    recording: &SafetyRecording,
    folder: &Path,
) -> Result<(), Failure> {
    let player = cassette.player()?;
    let groups = cassette.test_cases()?;
    let leaves = recording
        .files
        .iter()
        .find(|file| Path::new(&file.name).file_name() != Some(file.name.as_ref()));
    if let Some(file) = leaves {
        return Err(Failure::usage(format!(
            "cassette.json: {:?} is not the name of a file",
            file.name
        )));
    }
    fs::create_dir_all(folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    let session = Arc::new(Session::default().with_run_id(run_id(recording)?));
    let models = played_models(recording, |id| player.model(id))?;
    Context::runtime()?.block_on(make(recording, groups, &session, models, folder))
}

/// The models of an evaluation by role, targets in the order of their files.
struct CastModels {
    attacker: Arc<dyn ChatModel>,
    judges: Vec<Arc<dyn ChatModel>>,
    targets: Vec<Arc<dyn ChatModel>>,
}

impl CastModels {
    fn each(self, change: impl Fn(Arc<dyn ChatModel>) -> Arc<dyn ChatModel>) -> Self {
        Self {
            attacker: change(self.attacker),
            judges: self.judges.into_iter().map(&change).collect(),
            targets: self.targets.into_iter().map(&change).collect(),
        }
    }
}

/// How the run of `manifest` was made, and its result files.
fn recording(manifest: &Manifest) -> Result<(SafetyRecording, Vec<TreeFile>), Failure> {
    let id = &manifest.run_id;
    let (mut first, mut files, mut tree) = (None, Vec::new(), Vec::new());
    for target in &manifest.targets {
        let of = |key: &str| manifest.result(target.id.as_str(), key).as_str();
        let written = of("file").map(|file| PathBuf::from(of("folder").unwrap_or(".")).join(file));
        let path = written.ok_or_else(|| {
            Failure::usage(format!(
                "{id}: the run wrote no result file of {}",
                target.id
            ))
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let read = read_safety_file(&path)?;
        let details = read.results.details();
        if details.is_some_and(|details| details.sequence.is_some()) {
            return Err(Failure::usage(format!(
                "{}: an evaluation that stopped when its rules were decided cannot be packed: the file does not have the rules",
                path.display()
            )));
        }
        let of_file = details.and_then(|details| details.run.clone());
        let run = of_file.filter(|run| run.run_id == *id).ok_or_else(|| {
            Failure::usage(format!(
                "{}: it has the results of another run than {id}, which cannot be packed without them",
                path.display()
            ))
        })?;
        files.push(SafetyRecordingFile {
            target: target.clone(),
            name: name.clone().into_owned(),
            bare: matches!(read.form, Form::Bare),
        });
        tree.push(TreeFile {
            name: name.into_owned(),
            path,
        });
        first.get_or_insert(run);
    }
    let run = first.ok_or_else(|| Failure::usage(format!("{id}: the run had no target")))?;
    let prompts = manifest.safety.as_ref().and_then(|one| one.judge_prompts);
    let recording = SafetyRecording {
        run,
        judge_prompts: prompts.unwrap_or(SafetyPrompts::FIRST),
        files,
    };
    Ok((recording, tree))
}

fn groups(path: &Path, text: &str) -> Result<Vec<TestCaseGroup>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The models of the run, answered from the response cache alone.
fn cached_models(
    context: &Context,
    manifest: &Manifest,
    recording: &SafetyRecording,
    session: &Arc<Session>,
) -> Result<CastModels, Failure> {
    let vars = vars::load(context.project.root())?;
    let config = Config::of_record(&manifest.config, vars)?;
    let targets: Vec<String> = recording
        .files
        .iter()
        .map(|file| file.target.id.to_string())
        .collect();
    let named = NamedModels {
        attacker: recording.run.attacker.as_deref(),
        judges: &recording.run.judges,
        targets: &targets,
    };
    let roles = SafetyRoles::of(&config, &named)?;
    let endpoints = config.endpoints(Some(NOWHERE.to_owned()))?;
    let resolved = roles
        .called()
        .into_iter()
        .map(|entry| Ok((entry, unkeyed(&endpoints, entry)?)))
        .collect::<Result<_, Failure>>()?;
    let offered = endpoints.offered(&config.settings.models, &roles.called());
    let built = BuiltModels::new(resolved, offered, session)?;
    let each = |entries: &[ModelEntry]| entries.iter().map(|entry| built.model(entry)).collect();
    Ok(CastModels {
        attacker: built.model(&roles.attacker),
        judges: each(&roles.judges),
        targets: each(&roles.targets),
    })
}

/// The models of the run, which answer from a cassette.
fn played_models(
    recording: &SafetyRecording,
    model: impl Fn(&ModelId) -> Arc<dyn ChatModel>,
) -> Result<CastModels, Failure> {
    let named = |id: &String| {
        let id = ModelId::new(id.as_str());
        id.map(|id| model(&id))
            .map_err(|error| unusable(recording, &error))
    };
    let run = &recording.run;
    let attacker = run.attacker.clone().unwrap_or_default();
    Ok(CastModels {
        attacker: named(&attacker)?,
        judges: run.judges.iter().map(named).collect::<Result<_, _>>()?,
        targets: recording
            .files
            .iter()
            .map(|file| model(&file.target.id))
            .collect(),
    })
}

fn run_id(recording: &SafetyRecording) -> Result<RunId, Failure> {
    let id = recording.run.run_id.parse();
    id.map_err(|error: RunIdError| unusable(recording, &error))
}

fn unusable(recording: &SafetyRecording, why: &dyn Display) -> Failure {
    Failure::usage(format!("{}: {why}", recording.run.run_id))
}

/// Runs the recorded evaluation with `models`, and writes its result files into `folder`.
async fn make(
    recording: &SafetyRecording,
    groups: Vec<TestCaseGroup>,
    session: &Arc<Session>,
    models: CastModels,
    folder: &Path,
) -> Result<(), Failure> {
    let run = &recording.run;
    let text = run.started.as_deref().unwrap_or_default();
    let started: Timestamp = text
        .parse()
        .map_err(|error: jiff::Error| unusable(recording, &error))?;
    let made = evaluation(recording, groups, models)?.run(session)?;
    let report = made.keep_going(true).started(started).run().await?;
    for (target, file) in report.targets.into_iter().zip(&recording.files) {
        write_results(&folder.join(&file.name), target.results, file.bare)?;
    }
    Ok(())
}

fn evaluation(
    recording: &SafetyRecording,
    groups: Vec<TestCaseGroup>,
    models: CastModels,
) -> Result<Evaluation, Failure> {
    let run = &recording.run;
    let settings = match (&run.single_turn, &run.multi_turn) {
        (Some(settings), _) => EvaluationSettings::SingleTurn(settings.clone()),
        (None, Some(settings)) => EvaluationSettings::MultiTurn(settings.clone()),
        (None, None) => return Err(unusable(recording, &"it has no settings")),
    };
    let prompt: Option<Arc<str>> = run.system_prompt.as_deref().map(Arc::from);
    let targets = recording.files.iter().zip(models.targets);
    Ok(Evaluation {
        settings,
        groups,
        gate: run.gate,
        judge_prompts: recording.judge_prompts,
        attacker: models.attacker,
        judges: models.judges,
        targets: targets
            .map(|(file, model)| SafetyTarget {
                system_prompt: prompt.clone(),
                ..SafetyTarget::new(file.target.clone(), model)
            })
            .collect(),
    })
}
