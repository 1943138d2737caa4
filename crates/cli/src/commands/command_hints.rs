//! Commands for hints, with the flags of the current command that matter.

use probity::config::keys;
use schema::{ProgramCommand, ProgramFlag, ProgramName};

use super::Context;
use crate::{config::Config, flags::Overrides};

/// Settings of the current command that the suggested one has to repeat.
#[derive(Clone, Debug, Default)]
pub struct CommandHints {
    program: ProgramName,
    /// Flags of every command.
    everywhere: Vec<ProgramFlag>,
    /// The flag for the number of samples.
    samples: Option<ProgramFlag>,
    /// The flag for the length of conversations.
    turns: Option<ProgramFlag>,
    /// The flag for the seed.
    seed: Option<ProgramFlag>,
}

impl CommandHints {
    pub fn new(context: &Context, overrides: &Overrides) -> Self {
        let global = &context.global;
        let file = global.config.as_ref();
        let config = file.map(|file| ProgramFlag::new("config").value(file.display()));
        let scripted = global.scripted.then(|| ProgramFlag::new("scripted"));
        Self {
            program: context.program.clone(),
            everywhere: config.into_iter().chain(scripted).collect(),
            samples: overrides.hint(keys::NUM_SAMPLES),
            turns: overrides.hint(keys::TURNS),
            seed: overrides.hint(keys::SEED),
        }
    }

    /// The start of each command.
    pub fn command(&self) -> String {
        self.program.start()
    }

    /// `run` for one target, with `samples` instead of the configured number.
    pub fn run(&self, benchmark: &str, target: &str, samples: Option<u32>) -> String {
        let samples = samples.map(|samples| ProgramFlag::new("num-samples").value(samples));
        let run = ProgramCommand::new("run").on(benchmark);
        self.typed(
            run.with("target", target)
                .flags(samples.or_else(|| self.samples.clone()))
                .flags(self.turns.clone())
                .flags(self.seed.clone()),
        )
    }

    /// `evaluate` for one target; with `force` it judges every row again.
    pub fn evaluate(&self, benchmark: &str, target: &str, force: bool) -> String {
        let force = force.then(|| ProgramFlag::new("force"));
        let evaluate = ProgramCommand::new("evaluate").on(benchmark);
        self.typed(evaluate.with("target", target).flags(force))
    }

    /// The command of advice, with the flags of the current one that matter and the settings of the configuration.
    pub fn of_finding(&self, config: &Config, command: ProgramCommand) -> ProgramCommand {
        let generation = &config.settings.generation;
        match command.verb() {
            "run" => command
                .with("turns", *generation.turns)
                .with("num-samples", *generation.num_samples)
                .flags(self.seed.clone())
                .flags(self.everywhere.clone()),
            "evaluate" => command.flags(self.everywhere.clone()),
            _ => command,
        }
    }

    /// The command with the flags of every command, in backticks.
    fn typed(&self, command: ProgramCommand) -> String {
        let command = command.flags(self.everywhere.clone());
        format!("`{}`", command.text(&self.program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_give_commands_that_a_shell_reads() {
        let command = CommandHints::default().run("my benchmark", "it's", None);
        let words = shlex::split(command.trim_matches('`')).unwrap();
        assert_eq!(
            words,
            ["probity", "run", "my benchmark", "--target", "it's"]
        );
    }
}
