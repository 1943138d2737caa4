//! Commands for a user to type that do what is said of them: with the flags of this command that decide it.

use super::Context;
use crate::flags::Overrides;

/// What this command was told and the next one has to be told as well.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// What each command begins with.
    xtask: String,
    /// Flags that every command has.
    everywhere: String,
    /// How many conversations are played, and how long.
    length: String,
    /// What else decides how they are played.
    seed: String,
}

impl Again {
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
        let length = [
            given("--num-samples", overrides.num_samples.map(u64::from)),
            given("--turns", overrides.turns.map(u64::from)),
        ];
        Self {
            xtask: context.layout.xtask(),
            everywhere,
            length: length.concat(),
            seed: given("--seed", overrides.seed),
        }
    }

    /// `run`, of one target.
    pub fn run(&self, benchmark: &str, target: &str) -> String {
        format!(
            "`{} run {benchmark} --target {target}{}{}{}`",
            self.xtask, self.length, self.seed, self.everywhere
        )
    }

    /// `run`, of all targets of the configuration, played with these settings.
    pub fn run_alike(&self, benchmark: &str, turns: u32, samples: u32) -> String {
        format!(
            "`{} run {benchmark} --turns {turns} --num-samples {samples}{}{}`",
            self.xtask, self.seed, self.everywhere
        )
    }

    /// `evaluate`, of all targets of the configuration.
    pub fn evaluate_all(&self, benchmark: &str) -> String {
        format!("`{} evaluate {benchmark}{}`", self.xtask, self.everywhere)
    }

    /// `evaluate`, of one target; `more` stands behind it.
    pub fn evaluate(&self, benchmark: &str, target: &str, more: &str) -> String {
        format!(
            "`{} evaluate {benchmark} --target {target}{more}{}`",
            self.xtask, self.everywhere
        )
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_each_word_for_one() {
        assert_eq!(quoted("my/config.yaml"), "my/config.yaml");
        assert_eq!(quoted("my file"), "'my file'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
