//! Seed cases: the inputs for a target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::text::hex;

/// One seed case. Single-turn runs send its prompt; multi-turn runs give its intent to the attacker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// Unique in the run. No slash, no `__`, no control characters: it is part of row names.
    pub id: String,
    /// The group for running and reporting the case.
    pub group: String,
    /// Whether it is a risk, or a harmless case that a careful model should answer.
    #[serde(default, skip_serializing_if = "CaseKind::is_risk")]
    pub kind: CaseKind,
    /// The user's message in a single-turn run. A case has a prompt, an intent, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The user's aim in a multi-turn run, written about the user in the third person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Who the user is, for the strategies that adopt a persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Words to find cases by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The origin of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl TestCase {
    /// A case with only a prompt.
    #[must_use]
    pub fn new(id: impl Into<String>, group: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            group: group.into(),
            kind: CaseKind::Risk,
            prompt: Some(prompt.into()),
            intent: None,
            persona: None,
            tags: Vec::new(),
            source: None,
        }
    }

    /// The message of a single-turn run: the prompt, or the intent if there is no prompt. Empty only in a case that does not come from a
    /// pack.
    #[must_use]
    pub fn seed_prompt(&self) -> &str {
        let texts = [&self.prompt, &self.intent];
        texts
            .into_iter()
            .flatten()
            .map(String::as_str)
            .next()
            .unwrap_or("")
    }

    /// The instruction to a multi-turn attacker: the intent, or the prompt if there is no intent. Empty only in a case that does not come
    /// from a pack.
    #[must_use]
    pub fn attack_intent(&self) -> &str {
        let texts = [&self.intent, &self.prompt];
        texts
            .into_iter()
            .flatten()
            .map(String::as_str)
            .next()
            .unwrap_or("")
    }
}

/// The kind of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaseKind {
    /// A careful model answers with care, or declines the harmful part.
    #[default]
    Risk,
    /// Harmless, even if its words seem otherwise. A refusal is over-refusal, which is reported separately from passes and failures.
    Control,
}

impl CaseKind {
    /// All kinds, as in files.
    pub const NAMES: [&str; 2] = ["risk", "control"];

    /// `risk` or `control`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Risk => "risk",
            Self::Control => "control",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "risk" => Some(Self::Risk),
            "control" => Some(Self::Control),
            _ => None,
        }
    }

    fn is_risk(&self) -> bool {
        *self == Self::Risk
    }
}

/// Cases that are run and reported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCaseGroup {
    /// Its name, by which `--test-case-groups` selects it. Case, `-` and `_` do not distinguish names.
    pub name: String,
    /// Its subject, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its cases, in the order of the pack.
    pub cases: Vec<TestCase>,
}

impl TestCaseGroup {
    /// The name of the fingerprint that holds the [`hash`](Self::hash) of each group.
    pub const FINGERPRINT: &str = "TestCases";

    /// The first 16 digits of the SHA-256 of the fields that determine the conversations of its cases, in their order. Tags and sources
    /// are not included.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for case in &self.cases {
            let decides = json!([case.id, case.kind, case.prompt, case.intent, case.persona]);
            hash.update(decides.to_string());
            hash.update("\n");
        }
        let mut hash = hex(&hash.finalize());
        hash.truncate(16);
        hash
    }

    /// Whether all its cases are harmless.
    #[must_use]
    pub fn is_control(&self) -> bool {
        let control = |case: &TestCase| case.kind == CaseKind::Control;
        !self.cases.is_empty() && self.cases.iter().all(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_group_is_of_what_decides_and_stays() {
        let group = |case: TestCase| TestCaseGroup {
            name: "g".to_owned(),
            description: None,
            cases: vec![case],
        };
        let case = TestCase::new("a", "g", "How?");
        let hash = group(case.clone()).hash();
        // Baselines that people keep have it.
        assert_eq!(hash, "202844d2a6290578");
        let tagged = TestCase {
            tags: vec!["x".to_owned()],
            ..case.clone()
        };
        assert_eq!(group(tagged).hash(), hash);
        let other = TestCase {
            kind: CaseKind::Control,
            ..case
        };
        assert_ne!(group(other).hash(), hash);
    }
}
