//! The phases that Probity ships, built from models and settings.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator::{JudgeChecks, JudgeEvaluator, RealismJudge, UserJudge, UserSample};
use prompt::{Prompt, PromptError};
use scenario_gen::{
    LlmMetricGenerator, LlmScenarioGenerator, ProgramGenerator, ScenarioPrompts, ScenarioSettings,
};
use schema::{
    ChatModel, Evaluator, MetricGenerator, ModelId, PhaseError, ScenarioGenerator, Simulator,
    TargetRef,
};
use simulator::{
    ChatSimulator, SimulatorSettings,
    tools::{ProgramTools, SimulatedTools, ToolAnswerer, Toolbox},
};

use engine::{BenchmarkContext, Phases};
use store::{PROMPT_NAMES, RunError};

/// The models of a run.
#[derive(Clone)]
pub struct Models {
    /// The model that writes metrics and scenarios.
    pub generator: Arc<dyn ChatModel>,
    /// The model that simulates the user.
    pub user: Arc<dyn ChatModel>,
    /// The model that answers calls of simulated tools. Usually the user model.
    pub tools: Arc<dyn ChatModel>,
    /// The judges: one, or a panel.
    pub judges: Vec<Arc<dyn ChatModel>>,
    /// The systems under test, with their descriptions in the rows.
    pub targets: Vec<(TargetRef, Arc<dyn ChatModel>)>,
    /// Servers whose tools the targets can call.
    pub servers: Vec<ToolServer>,
}

/// A server that brings tools, such as one of the Model Context Protocol.
#[derive(Clone)]
pub struct ToolServer {
    /// What answers the calls. Its [`phase_program`](ChatModel::phase_program) has the tools.
    pub model: Arc<dyn ChatModel>,
    /// The targets that can call them; empty: all.
    pub targets: Vec<ModelId>,
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models")
            .field("generator", self.generator.id())
            .field("user", self.user.id())
            .field("tools", self.tools.id())
            .field(
                "judges",
                &self
                    .judges
                    .iter()
                    .map(|judge| judge.id())
                    .collect::<Vec<_>>(),
            )
            .field(
                "targets",
                &self
                    .targets
                    .iter()
                    .map(|(target, _)| target)
                    .collect::<Vec<_>>(),
            )
            .finish()
    }
}

/// The settings of the shipped phases.
#[derive(Clone, Debug)]
pub struct PhaseSettings {
    /// How many metrics are requested.
    pub metrics: RangeInclusive<u32>,
    /// The settings for scenarios.
    pub scenarios: ScenarioSettings,
    /// The settings for conversations. `user_context` and the tools come from each benchmark.
    pub simulator: SimulatorSettings,
    /// How often a judge, a generator or the model behind simulated tools is called for a usable reply.
    pub tries: u32,
    /// The user's own prompt templates, by name: see [`PROMPT_NAMES`]. A file with that name and the extension `.j2` in
    /// the `prompts` folder of a benchmark takes precedence.
    pub prompts: BTreeMap<String, PathBuf>,
    /// Additional questions to judges.
    pub checks: JudgeChecks,
    /// Whether the first judge reads each conversation for messages of the simulated user that do not fit its role.
    pub judge_users: bool,
    /// The judge of the simulated user reads only this sample, and what it finds takes no verdict.
    pub user_sample: Option<UserSample>,
    /// Whether the judges rate how realistic each conversation is.
    pub judge_realism: bool,
}

impl Default for PhaseSettings {
    fn default() -> Self {
        Self {
            metrics: 4..=6,
            scenarios: ScenarioSettings::default(),
            simulator: SimulatorSettings::default(),
            tries: 3,
            prompts: BTreeMap::new(),
            checks: JudgeChecks::default(),
            judge_users: false,
            user_sample: None,
            judge_realism: false,
        }
    }
}

/// The shipped phases with these models.
///
/// # Errors
/// When `settings.prompts` has a name that no prompt has.
pub fn standard_phases(models: Models, settings: PhaseSettings) -> Result<Phases, RunError> {
    if let Some(name) = settings
        .prompts
        .keys()
        .find(|name| !PROMPT_NAMES.contains(&name.as_str()))
    {
        return Err(RunError::input(format!(
            "unknown prompt {name:?}; known prompts: {}",
            PROMPT_NAMES.join(", ")
        )));
    }
    let targets = models
        .targets
        .iter()
        .map(|(target, _)| target.clone())
        .collect();
    let standard = Arc::new(Standard { models, settings });
    let (metrics, scenarios, simulator, evaluator) = (
        Arc::clone(&standard),
        Arc::clone(&standard),
        Arc::clone(&standard),
        standard,
    );
    Ok(Phases {
        targets,
        metric_generator: Box::new(move |loaded| metrics.metric_generator(loaded)),
        scenario_generator: Box::new(move |loaded| scenarios.scenario_generator(loaded)),
        simulator: Box::new(move |loaded, target| simulator.simulator(loaded, target)),
        evaluator: Box::new(move |loaded| evaluator.evaluator(loaded)),
        aggregator: None,
    })
}

struct Standard {
    models: Models,
    settings: PhaseSettings,
}

impl Standard {
    fn metric_generator(
        &self,
        loaded: &BenchmarkContext,
    ) -> Result<Arc<dyn MetricGenerator>, RunError> {
        if let Some(program) = self.program_generator()? {
            return Ok(Arc::new(program));
        }
        let generator = LlmMetricGenerator::new(Arc::clone(&self.models.generator))
            .and_then(|generator| generator.with_count(self.settings.metrics.clone()))
            .map_err(unusable)?
            .with_tries(self.settings.tries);
        let prompt = self.prompt(loaded, "gen_metrics")?;
        let generator = match prompt {
            Some(prompt) => generator.with_prompt(prompt).map_err(unusable)?,
            None => generator,
        };
        Ok(Arc::new(generator))
    }

    fn scenario_generator(
        &self,
        loaded: &BenchmarkContext,
    ) -> Result<Arc<dyn ScenarioGenerator>, RunError> {
        if let Some(program) = self.program_generator()? {
            return Ok(Arc::new(program));
        }
        let mut prompts = ScenarioPrompts::shipped().map_err(broken)?;
        self.replace(loaded, "gen_scenarios", &mut prompts.scenarios)?;
        self.replace(loaded, "gen_variant", &mut prompts.variant)?;
        let model = Arc::clone(&self.models.generator);
        let generator = LlmScenarioGenerator::new(model, self.settings.scenarios.clone())
            .and_then(|generator| generator.with_prompts(prompts))
            .map_err(unusable)?;
        Ok(Arc::new(generator))
    }

    /// The generator of both, where it is a program.
    fn program_generator(&self) -> Result<Option<ProgramGenerator>, RunError> {
        let model = &self.models.generator;
        if model.phase_program().is_none() {
            return Ok(None);
        }
        let (scenarios, metrics) = (&self.settings.scenarios, self.settings.metrics.clone());
        ProgramGenerator::new(Arc::clone(model), scenarios.clone(), metrics)
            .map(|generator| Some(generator.with_tries(self.settings.tries)))
            .map_err(unusable)
    }

    fn simulator(
        &self,
        loaded: &BenchmarkContext,
        target: &TargetRef,
    ) -> Result<Arc<dyn Simulator>, RunError> {
        let mut prompts = simulator::Prompts::shipped().map_err(broken)?;
        self.replace(loaded, "user_system", &mut prompts.user_system)?;
        self.replace(loaded, "user_opening", &mut prompts.user_opening)?;
        self.replace(loaded, "user_turn", &mut prompts.user_turn)?;
        self.replace(loaded, "target_system", &mut prompts.target_system)?;
        let settings = SimulatorSettings {
            user_context: loaded.benchmark.scenario.user_context.clone(),
            fault_rules: loaded.versions.fault_rules,
            ..self.settings.simulator.clone()
        };
        let model = self
            .models
            .targets
            .iter()
            .find(|(known, _)| known.id == target.id);
        let (_, model) =
            model.ok_or_else(|| RunError::input(format!("unknown target {}", target.id)))?;
        let user = Arc::clone(&self.models.user);
        let simulator = ChatSimulator::new(user, Arc::clone(model), target.clone(), settings)
            .and_then(|simulator| simulator.with_prompts(prompts))
            .map_err(unusable)?
            .with_tools(self.tools(loaded, &target.id)?);
        self.judged(Arc::new(simulator))
    }

    /// The simulator, followed by the judges of its conversations.
    fn judged(&self, mut simulator: Arc<dyn Simulator>) -> Result<Arc<dyn Simulator>, RunError> {
        let settings = &self.settings;
        // They read a prompt, which a program does not.
        let judges: Vec<Arc<dyn ChatModel>> = self
            .models
            .judges
            .iter()
            .filter(|judge| judge.phase_program().is_none())
            .cloned()
            .collect();
        if settings.judge_users {
            let judge = judges.first().ok_or_else(|| {
                RunError::input(
                    "no judge reads the simulated user's messages; add an evaluator model",
                )
            })?;
            let landmarks = settings.simulator.landmarks;
            let judged = UserJudge::new(simulator, Arc::clone(judge), landmarks);
            simulator = Arc::new(
                judged
                    .map_err(unusable)?
                    .with_tries(settings.tries)
                    .with_sample(settings.user_sample),
            );
        }
        if settings.judge_realism {
            if judges.is_empty() {
                return Err(RunError::input(
                    "no judge reads conversations for how real they are; add an evaluator model",
                ));
            }
            let judged = RealismJudge::new(simulator, judges);
            simulator = Arc::new(judged.map_err(unusable)?);
        }
        Ok(simulator)
    }

    /// The benchmark's tools, and those of servers.
    fn tools(&self, loaded: &BenchmarkContext, target: &ModelId) -> Result<Toolbox, RunError> {
        let benchmark = &loaded.benchmark;
        let answerer = self.tool_answerer(loaded)?;
        let mut toolbox = Toolbox::new(&benchmark.tools, answerer).map_err(unusable)?;
        for server in &self.models.servers {
            if server.targets.is_empty() || server.targets.contains(target) {
                let model = Arc::clone(&server.model);
                toolbox = toolbox.with_program(model).map_err(unusable)?;
            }
        }
        Ok(toolbox.with_world_state(benchmark.world_state.as_deref()))
    }

    /// What answers the calls of simulated tools: a program, or a model with a prompt.
    fn tool_answerer(&self, loaded: &BenchmarkContext) -> Result<Arc<dyn ToolAnswerer>, RunError> {
        let model = Arc::clone(&self.models.tools);
        if model.phase_program().is_some() {
            return Ok(Arc::new(ProgramTools::new(model)));
        }
        let mut simulated = SimulatedTools::new(model).map_err(unusable)?;
        if let Some(prompt) = self.prompt(loaded, "simulate_tool")? {
            simulated = simulated.with_prompt(prompt).map_err(unusable)?;
        }
        Ok(Arc::new(simulated.with_tries(self.settings.tries)))
    }

    fn evaluator(&self, loaded: &BenchmarkContext) -> Result<Arc<dyn Evaluator>, RunError> {
        let prompts = self.judge_prompts(loaded)?;
        let judges = self.models.judges.clone();
        let evaluator = JudgeEvaluator::panel(judges, loaded.benchmark.metrics.clone())
            .and_then(|evaluator| evaluator.with_prompts(prompts))
            .map_err(unusable)?
            .with_tries(self.settings.tries);
        Ok(Arc::new(evaluator.with_checks(self.settings.checks)))
    }

    /// The benchmark's version of the judge's prompts. Where the user replaces one of a pair, the other one and the form of the reply are of
    /// version 1, which the user's own was written for.
    fn judge_prompts(&self, loaded: &BenchmarkContext) -> Result<evaluator::Prompts, RunError> {
        let mut prompts = evaluator::Prompts::of_version(loaded.versions.judge).map_err(broken)?;
        let first = evaluator::Prompts::of_version(1).map_err(broken)?;
        let system = self.prompt(loaded, "judge_system")?;
        let user = self.prompt(loaded, "judge_user")?;
        if system.is_some() || user.is_some() {
            prompts.judge_system = system.unwrap_or(first.judge_system);
            prompts.judge_user = user.unwrap_or(first.judge_user);
            prompts.judge_form = first.judge_form;
        }
        let system = self.prompt(loaded, "judge_rating_system")?;
        let user = self.prompt(loaded, "judge_rating_user")?;
        if system.is_some() || user.is_some() {
            prompts.judge_rating_system = system.unwrap_or(first.judge_rating_system);
            prompts.judge_rating_user = user.unwrap_or(first.judge_rating_user);
            prompts.judge_rating_form = first.judge_rating_form;
        }
        Ok(prompts)
    }

    fn replace(
        &self,
        loaded: &BenchmarkContext,
        name: &str,
        prompt: &mut Prompt,
    ) -> Result<(), RunError> {
        if let Some(own) = self.prompt(loaded, name)? {
            *prompt = own;
        }
        Ok(())
    }

    /// The user's own prompt with this name: the benchmark's, otherwise the configured one.
    fn prompt(&self, loaded: &BenchmarkContext, name: &str) -> Result<Option<Prompt>, RunError> {
        let of_benchmark = loaded.prompts.join(format!("{name}.j2"));
        if of_benchmark.exists() {
            return read_prompt(&of_benchmark).map(Some);
        }
        self.settings
            .prompts
            .get(name)
            .map(|path| read_prompt(path))
            .transpose()
    }
}

fn read_prompt(path: &Path) -> Result<Prompt, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    Prompt::new(path.display().to_string(), text).map_err(broken)
}

fn broken(error: PromptError) -> RunError {
    RunError::input(error.to_string()).with_source(error)
}

fn unusable(error: PhaseError) -> RunError {
    RunError::input(error.to_string()).with_source(error)
}
