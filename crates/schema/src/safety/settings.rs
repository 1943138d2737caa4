//! What a safety run does.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MaxTurns, SettingError, Threshold};
use crate::nearest::{hint, squeezed};

/// Which cases of a layer are rewritten for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GoOn {
    /// Those that failed.
    #[default]
    Failed,
    /// Those that passed.
    Passed,
    /// Both. Errors never continue: there is nothing to vary from.
    All,
}

impl GoOn {
    /// All values, as the command and files spell them.
    pub const NAMES: [&str; 3] = ["failed", "passed", "all"];

    /// Whether a scored case continues.
    #[must_use]
    pub fn takes(self, passed: bool) -> bool {
        match self {
            Self::Failed => !passed,
            Self::Passed => passed,
            Self::All => true,
        }
    }
}

impl FromStr for GoOn {
    type Err = SettingError;
    fn from_str(text: &str) -> Result<Self, SettingError> {
        match text {
            "failed" => Ok(Self::Failed),
            "passed" => Ok(Self::Passed),
            "all" => Ok(Self::All),
            _ => Err(
                SettingError::new("go-on", format!("{text:?}"), "failed, passed or all")
                    .with_hint(hint(text, &Self::NAMES, "known are")),
            ),
        }
    }
}

/// A single-turn run. Goes into the file as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleTurnSettings {
    /// The score from which a response passes.
    pub threshold: Threshold,
    /// Rewritten prompts for each case that continues to the next layer: 1 to 1000.
    pub variations: u32,
    /// Layers after layer 0: 0 to 100. 0 runs the seed prompts only.
    pub maximum_iteration_layers: u32,
    /// Which cases continue.
    #[serde(default)]
    pub go_on: GoOn,
    /// How many prompts are run at most over all layers, seeds included; what would be above is not made. `None`: as many as
    /// there are.
    #[serde(default)]
    pub max_cases: Option<u64>,
    /// The names of the variation strategies, in the order they take turns.
    #[serde(default)]
    pub strategies: Vec<String>,
}

impl SingleTurnSettings {
    /// Checks what the types do not. `known` are the names of the variation strategies.
    ///
    /// # Errors
    /// When a number is out of range, a strategy is not known or is duplicated, or none is there though one is needed.
    pub fn check(&self, known: &[&str]) -> Result<(), SettingError> {
        let between = |setting, value: u32, from: u32, to: u32| {
            let allowed = || format!("a whole number from {from} to {to}");
            match (from..=to).contains(&value) {
                true => Ok(()),
                false => Err(SettingError::new(setting, value, allowed())),
            }
        };
        between("variations", self.variations, 1, 1000)?;
        between(
            "maximum-iteration-layers",
            self.maximum_iteration_layers,
            0,
            100,
        )?;
        if self.max_cases == Some(0) {
            return Err(SettingError::new("max-cases", 0, "1 or more"));
        }
        if self.maximum_iteration_layers > 0 && self.strategies.is_empty() {
            let allowed = "at least one strategy where there are layers";
            return Err(SettingError::new("strategies", "empty", allowed));
        }
        check_names("strategies", &self.strategies, known)
    }
}

/// A multi-turn run. Goes into the file as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultiTurnSettings {
    /// The score from which a message passes; a conversation passes when all of its assistant messages do.
    pub threshold: Threshold,
    /// Messages in a conversation at most.
    pub max_turns: MaxTurns,
    /// The names of the strategies; each case is simulated once with each.
    pub test_types: Vec<String>,
    /// Whether a conversation ends once its verdict cannot change: a message below the threshold has failed it. Its lowest score
    /// may then be higher than it would have become.
    #[serde(default)]
    pub early_stop: bool,
    /// How many conversations are simulated at most. `None`: as many as there are.
    #[serde(default)]
    pub max_cases: Option<u64>,
}

impl MultiTurnSettings {
    /// Checks what the types do not. `known` are the names of the multi-turn strategies.
    ///
    /// # Errors
    /// When no test type is there, one is not known or is duplicated, or `max_cases` is 0.
    pub fn check(&self, known: &[&str]) -> Result<(), SettingError> {
        if self.max_cases == Some(0) {
            return Err(SettingError::new("max-cases", 0, "1 or more"));
        }
        if self.test_types.is_empty() {
            let allowed = format!("one or more of {}", known.join(", "));
            return Err(SettingError::new("test-types", "empty", allowed));
        }
        check_names("test-types", &self.test_types, known)
    }
}

/// Checks that every name is a known one and is unique.
///
/// # Errors
/// The first that is not, with the known name that may have been meant.
pub fn check_names(setting: &str, names: &[String], known: &[&str]) -> Result<(), SettingError> {
    for (index, name) in names.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let allowed = "a known name";
            return Err(
                SettingError::new(setting, format!("{name:?}"), allowed).with_hint(hint(
                    name,
                    known,
                    "known are",
                )),
            );
        }
        let same = |other: &String| squeezed(other) == squeezed(name);
        if names.iter().take(index).any(same) {
            let allowed = "given once";
            return Err(SettingError::new(
                setting,
                format!("{name:?} twice"),
                allowed,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single() -> SingleTurnSettings {
        SingleTurnSettings {
            threshold: Threshold::new(0.5).unwrap(),
            variations: 2,
            maximum_iteration_layers: 1,
            go_on: GoOn::Failed,
            max_cases: None,
            strategies: vec!["paraphrase".to_owned()],
        }
    }

    const KNOWN: &[&str] = &["paraphrase", "emotional_pressure"];

    #[test]
    fn ranges_are_checked() {
        single().check(KNOWN).unwrap();
        type Change = fn(&mut SingleTurnSettings);
        let cases: [(&str, Change); 5] = [
            ("variations is 0", |s| s.variations = 0),
            ("layers is 101", |s| s.maximum_iteration_layers = 101),
            ("max-cases is 0", |s| s.max_cases = Some(0)),
            ("strategies is empty", |s| s.strategies.clear()),
            ("twice", |s| s.strategies.push("paraphrase".to_owned())),
        ];
        for (expected, change) in cases {
            let mut settings = single();
            change(&mut settings);
            let error = settings.check(KNOWN).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let mut settings = single();
        settings.strategies = vec!["emotional-presure".to_owned()];
        let error = settings.check(KNOWN).unwrap_err().to_string();
        assert!(
            error.contains("did you mean `emotional_pressure`?"),
            "{error}"
        );
        let error = "fialed".parse::<GoOn>().unwrap_err().to_string();
        assert!(error.contains("did you mean `failed`?"), "{error}");
    }

    #[test]
    fn which_cases_go_on() {
        assert!(GoOn::Failed.takes(false) && !GoOn::Failed.takes(true));
        assert!(GoOn::Passed.takes(true) && !GoOn::Passed.takes(false));
        assert!(GoOn::All.takes(true) && GoOn::All.takes(false));
    }

    #[test]
    fn settings_go_into_files_and_back() {
        let text = serde_json::to_string(&single()).unwrap();
        let back: SingleTurnSettings = serde_json::from_str(&text).unwrap();
        assert_eq!(back, single());
        let bad = text.replace("0.5", "1.5");
        serde_json::from_str::<SingleTurnSettings>(&bad).unwrap_err();
    }
}
