//! The settings, one file for each section: its keys are the fields of a struct, whose comments are the descriptions in the
//! schema. Defaults are in `Default`, ranges in the types ([`super::values`]), and checks beyond one value in the section's file.

mod budget;
mod cache;
mod demographics;
mod generation;
mod journal;
mod judging;
mod limits;
mod mcp;
mod model;
mod models;
mod prices;
mod prompts;
mod retries;
mod run;
mod safety;
mod simulator;
mod tree;

use std::path::PathBuf;

use indexmap::IndexMap;
use schema::{Extra, JudgeRecords, ModelRecord, SettingsRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use smart_default::SmartDefault;

pub use budget::Budget;
pub use cache::CacheSection;
pub use demographics::{Axis, Demographics};
pub use generation::Generation;
pub use journal::JournalSection;
pub use judging::{Judging, SimulatorJudging};
pub use limits::Limits;
pub use mcp::{McpEntry, McpServerTable};
pub use model::{HeaderName, ModelEntry, ModelTable, Route};
pub use models::ModelEntries;
pub use prices::PriceEntry;
pub use prompts::Prompts;
pub use retries::Retries;
pub use run::{Concurrency, Run};
pub use safety::{IterationLayers, Safety, Variations};
pub use simulator::SimulatorSection;
pub use tree::TreeSection;

use super::{
    read::Problems,
    text::Text,
    values::{OneOrMore, Whole},
    vars::Vars,
};
use model::{Model, Part, check_ids, check_panel};

/// The settings of a run: `config.yaml`, or `probity.toml` in TOML. Every text may contain `${NAME}`, which is replaced by an
/// environment variable. Unknown keys of models, targets, limits and `judging` are errors; others are ignored with a warning, or refused if
/// they are similar to a known one.
#[derive(Clone, Deserialize, Serialize, JsonSchema, SmartDefault)]
#[serde(default)]
#[schemars(rename = "Config", deny_unknown_fields)]
pub struct Settings {
    /// The file that was read; `None`: only defaults, environment and flags.
    #[serde(skip)]
    #[schemars(skip)]
    pub file: Option<PathBuf>,
    /// Among how many parts of a run the limits and the budget are divided; 1: they are the run's own.
    #[serde(skip)]
    #[schemars(skip)]
    #[default(1)]
    pub divided_by: u32,
    /// How the command runs.
    #[serde(skip_serializing)]
    pub run: Run,
    /// Simulates the user.
    #[serde(skip_serializing)]
    user_model: Option<Model>,
    /// Invents the answers of simulated tools. Default: `user_model`.
    #[serde(skip_serializing)]
    tool_model: Option<Model>,
    /// Writes metrics and scenarios. Default: `user_model`.
    #[serde(skip_serializing)]
    generator_model: Option<Model>,
    /// Judges: one model, or a panel of several.
    #[serde(skip_serializing)]
    evaluator_model: Option<Judges>,
    /// Judges that are programs, in the place of `evaluator_model`: `{id, python: judge.py}`, or a list, in which `shipped` is the judge of
    /// `evaluator_model`.
    #[serde(skip_serializing)]
    evaluator: Option<Judges>,
    /// Further models that programs may call, by name: `{small: {source: openai, model: gpt-4.1-mini}}`.
    #[serde(skip_serializing, rename = "models")]
    named_models: IndexMap<String, Model>,
    /// Servers of the Model Context Protocol, by name. Targets can call their tools.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    mcp_servers: IndexMap<String, McpServerTable>,
    /// The systems under test.
    #[serde(skip_serializing)]
    #[schemars(with = "Vec<Model>")]
    targets: Targets,
    /// How much is generated and simulated.
    #[serde(skip_serializing)]
    pub generation: Generation,
    /// `{axis: [values]}`: every combination is a variant of each scenario.
    pub demographics: Demographics,
    /// The simulated user types carelessly.
    pub perfunctory: bool,
    /// Scenarios have instructions for single turns.
    #[default(true)]
    pub landmarks: bool,
    /// Custom templates: `{name: file}`, beside the configuration file.
    pub prompts: Prompts,
    /// The standards that grades compare with: a file, or a folder of files named after benchmarks.
    pub standards: Option<Text>,
    /// Runs end with a page of the results: `report.html` beside them.
    #[default(true)]
    #[serde(skip_serializing_if = "is_true")]
    pub report: bool,
    /// Prices that override the shipped ones.
    pub prices: Vec<PriceEntry>,
    /// The most that a run may spend.
    pub budget: Budget,
    /// The response cache.
    pub cache: CacheSection,
    /// Additional questions to judges.
    #[serde(skip_serializing_if = "Judging::is_default")]
    pub judging: Judging,
    /// The run's journal.
    pub journal: JournalSection,
    /// Limits of every endpoint that has none of its own.
    pub limits: Limits,
    /// Retries of calls with a transient failure.
    pub retries: Retries,
    /// The seed of all randomness.
    #[default(Whole(0))]
    pub seed: Whole<u64, 0>,
    /// The simulated user.
    pub simulator: SimulatorSection,
    /// Safety evaluations.
    #[serde(skip_serializing)]
    pub safety: Safety,
    /// How the files of a benchmark are written.
    #[serde(skip_serializing_if = "TreeSection::is_default")]
    pub tree: TreeSection,
    /// The models above, resolved.
    #[serde(skip)]
    pub models: ModelEntries,
}

impl Settings {
    /// Resolves the models, and runs the checks beyond single values.
    pub(super) fn resolve(&mut self, vars: &Vars, problems: &mut Problems) {
        let mut role = |model: &mut Option<Model>| {
            let model = model.take();
            model.and_then(|model| model.resolve(Part::Role, vars, problems))
        };
        self.models.user = role(&mut self.user_model);
        self.models.tool = role(&mut self.tool_model);
        self.models.generator = role(&mut self.generator_model);
        let written = self.evaluator_model.take();
        let shipped: Vec<ModelEntry> = written
            .map_or_else(Vec::new, |judges| judges.0)
            .into_iter()
            .filter_map(|judge| judge.resolve(Part::Role, vars, problems))
            .collect();
        match self.evaluator.take() {
            None => self.models.judges.clone_from(&shipped),
            Some(own) => {
                for judge in own.0 {
                    match &judge {
                        Model::Text(text) if text.raw == SHIPPED => {
                            self.models.judges.extend(shipped.iter().cloned());
                        }
                        _ => {
                            let judge = judge.resolve(Part::Role, vars, problems);
                            self.models.judges.extend(judge);
                        }
                    }
                }
            }
        }
        self.models.shipped_judges = shipped;
        check_panel(&self.models.judges, problems);
        self.resolve_named(vars, problems);
        for target in std::mem::take(&mut self.targets).0 {
            let target = target.resolve(Part::Target, vars, problems);
            self.models.targets.extend(target);
        }
        check_ids(&self.models.targets, problems);
        // They stay where they are read: records have them as they are written.
        for (name, server) in self.mcp_servers.clone() {
            let server = server.resolve(&name, &self.models.targets, problems);
            self.models.servers.extend(server);
        }
        self.safety.resolve(vars, problems);
        let safety = self.safety.attacker.iter().chain(&self.safety.judges);
        let callable = self.models.callable_entries();
        let models: Vec<&ModelEntry> = self.models.all().chain(safety).chain(callable).collect();
        prices::check(&self.prices, &models, vars, problems);
    }

    /// Resolves the models that only programs may call.
    fn resolve_named(&mut self, vars: &Vars, problems: &mut Problems) {
        for (name, model) in std::mem::take(&mut self.named_models) {
            let reserved = ["judge", "user", "generator", "tools"];
            if reserved.contains(&name.as_str()) || name.starts_with("judge:") {
                let reason = format!("models.{name}: the name is that of a role; choose another");
                problems.errors.push(reason.into());
            }
            let entry = model.resolve(Part::Role, vars, problems);
            self.models.named.extend(entry.map(|entry| (name, entry)));
        }
    }

    /// Everything that determines what a run does, for its records. Of a key or header, only its `${NAME}` is shown.
    #[must_use]
    pub fn to_record(&self) -> SettingsRecord {
        let record = |entry: &Option<ModelEntry>| entry.as_ref().map(ModelEntry::to_record);
        let models = &self.models;
        let mut other = match json!(self) {
            Value::Object(other) => other,
            _ => Extra::new(),
        };
        let mut called = models.judges.iter().chain(&models.targets);
        if called.any(|entry| entry.table.is_program()) {
            let callable = models.callable().into_iter();
            let records: Extra = callable
                .map(|(name, entry)| (name, json!(entry.to_record())))
                .collect();
            if !records.is_empty() {
                other.insert("models".to_owned(), records.into());
            }
        }
        SettingsRecord {
            file: self.file.as_ref().map(|file| file.display().to_string()),
            run: json!(self.run),
            user_model: record(&models.user),
            tool_model: record(&models.tool),
            generator_model: record(&models.generator),
            evaluator_model: JudgeRecords::new(records(&models.judges)),
            targets: records(&models.targets),
            generation: self.generation.to_record(),
            other,
            safety: Some(self.safety.to_record()),
        }
    }
}

/// What stands for the judge of `evaluator_model` in `evaluator`.
const SHIPPED: &str = "shipped";

/// The records of models.
fn records(entries: &[ModelEntry]) -> Vec<ModelRecord> {
    entries.iter().map(ModelEntry::to_record).collect()
}

/// Whether the value is the default; the manifest then omits it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

/// One judge, or the judges of a panel.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(try_from = "OneOrMore<Model>")]
#[schemars(with = "OneOrMore<Model>", inline)]
struct Judges(Vec<Model>);

impl TryFrom<OneOrMore<Model>> for Judges {
    type Error = &'static str;

    fn try_from(models: OneOrMore<Model>) -> Result<Self, &'static str> {
        match models.0.is_empty() {
            true => Err("no judge; name one or more, or leave the key out"),
            false => Ok(Self(models.0)),
        }
    }
}

/// The systems under test.
#[derive(Clone, Default, Deserialize)]
#[serde(try_from = "Vec<Model>")]
struct Targets(Vec<Model>);

impl TryFrom<Vec<Model>> for Targets {
    type Error = &'static str;

    fn try_from(models: Vec<Model>) -> Result<Self, &'static str> {
        match models.is_empty() {
            true => Err("no targets; add a system under test, or leave the key out"),
            false => Ok(Self(models)),
        }
    }
}
