//! Commands for hints, with the flags of the current command that matter.

use std::borrow::Cow;

use super::Context;
use crate::flags::Overrides;

/// Settings of the current command that the suggested one has to repeat.
#[derive(Clone, Debug, Default)]
pub struct CommandHints {
    /// The start of each command.
    command: String,
    /// Flags of every command.
    everywhere: String,
    /// The number of samples.
    samples: Option<u32>,
    /// The flag for the length of conversations.
    turns: String,
    /// The flag for the seed.
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

    /// The start of each command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// `run` for one target, with `samples` instead of the configured number.
    pub fn run(&self, benchmark: &str, target: &str, samples: Option<u32>) -> String {
        let samples = samples
            .or(self.samples)
            .map(|samples| format!(" --num-samples {samples}"));
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

    /// `run` for all configured targets, with these settings.
    pub fn run_alike(&self, benchmark: &str, turns: u32, samples: u32) -> String {
        format!(
            "`{} run {} --turns {turns} --num-samples {samples}{}{}`",
            self.command,
            quoted(benchmark),
            self.seed,
            self.everywhere
        )
    }

    /// `evaluate` for all configured targets.
    pub fn evaluate_all(&self, benchmark: &str) -> String {
        format!(
            "`{} evaluate {}{}`",
            self.command,
            quoted(benchmark),
            self.everywhere
        )
    }

    /// `evaluate` for one target; `more` is appended.
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

/// `word`, quoted if a shell would not read it as one word. A NUL byte cannot be quoted, but no argument or file name
/// contains one.
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
