//! The configuration, read and checked.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use schema::IdError;

use super::{
    error::{ConfigError, ConfigProblem},
    layers::Merged,
    models::{ModelEntry, Route, check_ids},
    place::Origin,
    read::{Reader, Text},
    safety::SafetySettings,
    sections,
    table::Table,
    tuning::Limits,
    vars::Vars,
};

/// Everything that decides what a run does.
#[derive(Clone)]
pub struct Settings {
    /// The file that was read; `None`: only defaults, environment and flags.
    pub file: Option<PathBuf>,
    /// Every reply that is there already is asked for again.
    pub force: bool,
    /// Nothing is called and nothing written.
    pub dry_run: bool,
    /// More is told.
    pub verbose: bool,
    /// Rows in work at the same time.
    pub concurrency: Concurrency,
    /// Which models play which part.
    pub models: Models,
    /// How much is generated.
    pub generation: Generation,
    /// The demographic axes in the user's order, and their values.
    pub demographics: Vec<(String, Vec<Text>)>,
    /// Whether the simulated user types carelessly.
    pub perfunctory: bool,
    /// Whether scenarios have instructions for single turns.
    pub landmarks: bool,
    /// Prompt templates that replace shipped ones: name and file.
    pub prompts: Vec<(String, Text)>,
    /// What grades compare with: a file, or a folder of files named after benchmarks.
    pub standards: Option<Text>,
    /// Prices that win over the shipped table.
    pub prices: Vec<PriceEntry>,
    /// The most dollars that the run may spend.
    pub max_cost: Option<f64>,
    /// Tokens that the run may use.
    pub max_tokens: Option<u64>,
    /// How old a cached reply may be; `None`: any age.
    pub cache_expiry: Option<Duration>,
    /// Whether journals are compressed with zstd.
    pub journal_compress: bool,
    /// Limits for every endpoint.
    pub limits: Limits,
    /// What becomes of calls that fail in passing.
    pub retries: Retries,
    /// What all randomness of the run comes from.
    pub seed: u64,
    /// How safety evaluations are run.
    pub safety: SafetySettings,
}

/// What becomes of calls that fail in passing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// How often a call is tried, the first time included.
    pub max_attempts: u32,
    /// How long a model may answer nothing well before its calls fail at once.
    pub circuit_breaker: Duration,
}

/// Rows in work at the same time, by phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Of gen-scenarios.
    pub gen_scenarios: usize,
    /// Of simulate.
    pub simulate: usize,
    /// Of evaluate.
    pub evaluate: usize,
}

/// How much is generated and played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// How many metrics are asked for.
    pub metrics: RangeInclusive<u32>,
    /// Scenarios for each metric.
    pub scenarios_per_metric: u32,
    /// The most exchanges in a conversation.
    pub turns: u32,
    /// Conversations for each scenario and target.
    pub num_samples: u32,
    /// Rounds of tool calls that a target has in one turn, 1 to 100.
    pub max_tool_steps: u32,
}

/// Which models play which part. A part that is not configured is only missed by the phases that need it.
#[derive(Clone, Default)]
pub struct Models {
    /// Plays the user.
    pub user: Option<ModelEntry>,
    /// Answers calls of simulated tools.
    pub tool: Option<ModelEntry>,
    /// Writes metrics and scenarios.
    pub generator: Option<ModelEntry>,
    /// Judges.
    pub evaluator: Option<ModelEntry>,
    /// The systems under test.
    pub targets: Vec<ModelEntry>,
}

impl Models {
    /// The models of the demonstration, which need no key and no network.
    pub fn scripted() -> Result<Self, IdError> {
        let part = |path, model| ModelEntry::scripted(path, model).map(Some);
        Ok(Self {
            user: part("user_model", "scripted-user")?,
            tool: None,
            generator: part("generator_model", "scripted-generator")?,
            evaluator: part("evaluator_model", "scripted-judge")?,
            targets: vec![
                ModelEntry::scripted("targets[0]", "scripted-agreeable")?,
                ModelEntry::scripted("targets[1]", "scripted-careful")?,
            ],
        })
    }

    /// All models there are.
    pub fn all(&self) -> impl Iterator<Item = &ModelEntry> {
        [&self.generator, &self.user, &self.tool, &self.evaluator]
            .into_iter()
            .flatten()
            .chain(&self.targets)
    }

    /// Whether something real is measured: a target or the judge is no scripted model.
    pub fn measures_real(&self) -> bool {
        let mut measured = self.targets.iter().chain(&self.evaluator);
        measured.any(|model| model.route != Route::Scripted)
    }

    /// Whether any of them is a real model.
    pub fn any_real(&self) -> bool {
        self.all().any(|model| model.route != Route::Scripted)
    }

    /// Whether any of them is scripted.
    pub fn any_scripted(&self) -> bool {
        self.all().any(|model| model.route == Route::Scripted)
    }
}

/// The price of a model in dollars per million tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceEntry {
    /// The name on the wire.
    pub model: String,
    /// Only where this source serves it.
    pub source: Option<String>,
    /// For input.
    pub input: f64,
    /// For output.
    pub output: f64,
    /// For input that the endpoint had cached.
    pub cached_input: Option<f64>,
}

/// Reads the merged layers. With `scripted`, the models are the scripted ones whatever the layers say.
///
/// # Errors
/// All that is wrong, at once.
pub fn read(
    merged: Merged,
    scripted: bool,
    vars: &Vars,
) -> Result<(Settings, Vec<ConfigProblem>), ConfigError> {
    let mut reader = Reader::new(vars);
    let mut root = Table::root(merged.root, &merged.origin);
    let mut settings = sections::root(&mut root, &mut reader);
    root.finish(&mut reader);
    settings.file = merged.file;
    if let Err(error) = check_ids(&settings.models.targets) {
        let in_file = |mut problem: ConfigProblem| {
            problem.origin = Some(Origin::new(&merged.origin));
            problem
        };
        reader
            .errors
            .extend(error.into_problems().into_iter().map(in_file));
    }
    ConfigError::check(reader.errors)?;
    let none = settings.models.all().next().is_none();
    if scripted || (settings.file.is_none() && none) {
        settings.models =
            Models::scripted().map_err(|error| ConfigError::new(error.to_string()))?;
        settings.safety.attacker = None;
        settings.safety.judges.clear();
    }
    let models = &mut settings.models;
    for part in [&mut models.generator, &mut models.tool] {
        if part.is_none() {
            part.clone_from(&models.user);
        }
    }
    Ok((settings, reader.warnings))
}
