//! The settings of a safety run.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MaxTurns, SettingError, Threshold};
use crate::nearest::{hint, squeezed};

/// Which cases of a layer are rewritten for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GoOn {
    /// Cases that failed.
    #[default]
    Failed,
    /// Cases that passed.
    Passed,
    /// Both. Errors never continue, because there is nothing to vary.
    All,
}

impl GoOn {
    /// All values, as in the command and in files.
    pub const NAMES: [&str; 3] = ["failed", "passed", "all"];

    /// The name in the command and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::All => "all",
        }
    }

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

/// The settings of a single-turn run. They are written to the file unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleTurnSettings {
    /// The lowest score with which a response passes.
    pub threshold: Threshold,
    /// Rewritten prompts for each case that continues to the next layer: 1 to 1000.
    pub variations: u32,
    /// Layers after layer 0: 0 to 100. 0 runs the seed prompts only.
    pub maximum_iteration_layers: u32,
    /// Which cases continue.
    #[serde(default)]
    pub go_on: GoOn,
    /// The most prompts over all layers, including seeds; prompts beyond it are not created. `None`: no limit.
    #[serde(default)]
    pub max_cases: Option<u64>,
    /// The names of the variation strategies, in the order they take turns.
    #[serde(default)]
    pub strategies: Vec<String>,
}

impl SingleTurnSettings {
    /// Checks the rules that the types do not express. `known` are the names of the variation strategies.
    ///
    /// # Errors
    /// When a number is out of range, a strategy is unknown or duplicated, or a strategy is needed and there is none.
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

/// The settings of a multi-turn run. They are written to the file unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MultiTurnSettings {
    /// The lowest score with which a message passes; a conversation passes if all of its assistant messages do.
    pub threshold: Threshold,
    /// The most messages in a conversation.
    pub max_turns: MaxTurns,
    /// The names of the strategies; each case is simulated once with each.
    pub test_types: Vec<String>,
    /// Whether a conversation ends once its verdict cannot change: a message below the threshold has failed it. Its lowest score
    /// may then be higher than without the early end.
    #[serde(default)]
    pub early_stop: bool,
    /// The most conversations. `None`: no limit.
    #[serde(default)]
    pub max_cases: Option<u64>,
}

impl MultiTurnSettings {
    /// Checks the rules that the types do not express. `known` are the names of the multi-turn strategies.
    ///
    /// # Errors
    /// When there is no test type, one is unknown or duplicated, or `max_cases` is 0.
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

/// Checks that every name is known and unique.
///
/// # Errors
/// The first invalid name, with a similar known one.
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
