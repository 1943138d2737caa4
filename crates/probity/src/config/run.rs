//! Converts a configuration to the settings of the shipped phases and the options of a run.

use engine::{Concurrency, Expected, RunOptions};
use indexmap::IndexMap;
use scenario_gen::ScenarioSettings;
use schema::Phase;
use simulator::SimulatorSettings;
use store::RowForm;

use super::{Config, error::ConfigError, sections::Axis};
use crate::PhaseSettings;

impl Config {
    /// The settings of the shipped phases.
    ///
    /// # Errors
    /// When a variable is missing, or a prompt's path is not a file.
    pub fn phase_settings(&self) -> Result<PhaseSettings, ConfigError> {
        let settings = &self.settings;
        let defaults = PhaseSettings::default();
        Ok(PhaseSettings {
            metrics: settings.generation.metrics.0.clone(),
            scenarios: ScenarioSettings {
                scenarios_per_metric: *settings.generation.scenarios_per_metric,
                turns: *settings.generation.turns,
                demographics: self.demographics()?,
                landmarks: settings.landmarks,
                concurrency: settings.run.at_once().gen_scenarios,
                tries: defaults.tries,
            },
            simulator: SimulatorSettings {
                turns: *settings.generation.turns,
                landmarks: settings.landmarks,
                perfunctory: settings.perfunctory,
                seed: *settings.seed,
                tries: settings.simulator.tries(),
                attempts: *settings.retries.conversation,
                max_tool_steps: *settings.generation.max_tool_steps,
                ..SimulatorSettings::default()
            },
            tries: defaults.tries,
            prompts: self.prompt_files()?,
            checks: settings.judging.checks(*settings.seed),
            judge_users: !settings.judging.simulator.is_off(),
            user_sample: settings.judging.simulator.sample(*settings.seed),
            judge_realism: settings.judging.realism,
        })
    }

    /// The options of a run of `phases`.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn run_options(&self, phases: &[Phase]) -> Result<RunOptions, ConfigError> {
        let settings = &self.settings;
        let at_once = settings.run.at_once();
        Ok(RunOptions {
            phases: phases.iter().copied().collect(),
            force: settings.run.force,
            fresh_targets: settings.run.fresh_targets,
            keep_going: settings.run.keep_going,
            samples: *settings.generation.num_samples,
            concurrency: Concurrency {
                simulate: at_once.simulate,
                evaluate: at_once.evaluate,
            },
            expected: Expected {
                scenarios_per_metric: Some(*settings.generation.scenarios_per_metric),
                turns: Some(*settings.generation.turns),
                demographics: Some(self.demographics()?),
            },
            divided_by: settings.divided_by,
            rows: RowForm::segments_if(settings.tree.segments),
            config: settings.to_record(),
            standards: self.standards()?,
            ..RunOptions::default()
        })
    }

    /// The demographic axes.
    ///
    /// # Errors
    /// When a variable is missing.
    pub fn demographics(&self) -> Result<IndexMap<String, Vec<String>>, ConfigError> {
        let axis = |(name, axis): (&String, &Axis)| {
            let values = axis.0.iter().map(|value| value.resolve(&self.vars));
            Ok((name.clone(), values.collect::<Result<_, _>>()?))
        };
        self.settings.demographics.iter().map(axis).collect()
    }
}
