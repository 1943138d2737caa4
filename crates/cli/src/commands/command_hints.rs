//! Commands for a user to type that do what is said of them: with the flags of this command that decide it.

use std::borrow::Cow;

use super::Context;
use crate::flags::Overrides;

/// Settings of this command that the next one has to repeat.
#[derive(Clone, Debug, Default)]
pub struct CommandHints {
    /// What each command begins with.
    command: String,
    /// Flags that every command has.
    everywhere: String,
    /// How many conversations are simulated.
    samples: Option<u32>,
    /// How long they are.
    turns: String,
    /// What else decides how they are simulated.
    seed: String,
}

impl CommandHints {
    pub fn new(context: &Context, overrides: &Overrides) -> Self {
        let mut everywhere = String::new();
        let global = &context.global;
        if let Some(file) = &global.config {
            everywhere.push_str(&format!(
                " --config {}",
                quoted(&file.display().to_string())
            ));
        }
        if global.scripted {
            everywhere.push_str(" --scripted");
        }
        let given = |flag: &str, value: Option<u64>| match value {
            Some(value) => format!(" {flag} {value}"),
            None => String::new(),
        };
        Self {
            command: context.layout.command(),
            everywhere,
            samples: overrides.num_samples,
            turns: given("--turns", overrides.turns.map(u64::from)),
            seed: given("--seed", overrides.seed),
        }
    }

    /// What each command begins with.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// `run`, of one target; with `samples` in place of those of the configuration.
    pub fn run(&self, benchmark: &str, target: &str, samples: Option<u32>) -> String {
        let samples = samples.or(self.samples);
        let samples = samples.map(|samples| format!(" --num-samples {samples}"));
        format!(
            "`{} run {} --target {}{}{}{}{}`",
            self.command,
            quoted(benchmark),
            quoted(target),
            samples.unwrap_or_default(),
            self.turns,
            self.seed,
            self.everywhere
        )
    }

    /// `run`, of all targets of the configuration, simulated with these settings.
    pub fn run_alike(&self, benchmark: &str, turns: u32, samples: u32) -> String {
        format!(
            "`{} run {} --turns {turns} --num-samples {samples}{}{}`",
            self.command,
            quoted(benchmark),
            self.seed,
            self.everywhere
        )
    }

    /// `evaluate`, of all targets of the configuration.
    pub fn evaluate_all(&self, benchmark: &str) -> String {
        format!(
            "`{} evaluate {}{}`",
            self.command,
            quoted(benchmark),
            self.everywhere
        )
    }

    /// `evaluate`, of one target; `more` is behind it.
    pub fn evaluate(&self, benchmark: &str, target: &str, more: &str) -> String {
        format!(
            "`{} evaluate {} --target {}{more}{}`",
            self.command,
            quoted(benchmark),
            quoted(target),
            self.everywhere
        )
    }
}

/// `word`, quoted where a shell would not read it as one word. A NUL byte cannot be quoted; no argument or file name has one.
fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_give_commands_that_a_shell_reads() {
        let command = CommandHints::default().run("my benchmark", "it's", None);
        let words = shlex::split(command.trim_matches('`')).unwrap();
        assert_eq!(words, ["run", "my benchmark", "--target", "it's"]);
        assert_eq!(quoted("my/config.yaml"), "my/config.yaml");
    }
}
