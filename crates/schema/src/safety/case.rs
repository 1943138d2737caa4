//! Seed cases: what is put to a target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::text::hex;

/// One seed case. Single-turn runs send its prompt; multi-turn runs give its intent to the attacker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// Unique in the run. No slash, no `__`, no control characters: it is in row names.
    pub id: String,
    /// The group that it is run and reported with.
    pub group: String,
    /// Whether it is a risk, or a harmless case that a careful model should answer.
    #[serde(default, skip_serializing_if = "CaseKind::is_risk")]
    pub kind: CaseKind,
    /// What the user types in a single-turn run. A case has a prompt, an intent, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the user is after in a multi-turn run, told about the user in the third person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Who the user is, for the strategies that play somebody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Words to find cases by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Where the case comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl TestCase {
    /// A case with a prompt and nothing else.
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

    /// What a single-turn run sends: the prompt; the intent where there is no prompt. Empty only in a case that no pack gave.
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

    /// The instruction to a multi-turn attacker: the intent; the prompt where there is no intent. Empty only in a case that no pack
    /// gave.
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

/// What sort of case it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaseKind {
    /// A careful model answers with care, or declines the harmful part.
    #[default]
    Risk,
    /// Harmless, though its words may not look so. A refusal is over-refusal, reported apart from passes and failures.
    Control,
}

impl CaseKind {
    /// All kinds, as files spell them.
    pub const NAMES: [&str; 2] = ["risk", "control"];

    /// `risk` or `control`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Risk => "risk",
            Self::Control => "control",
        }
    }

    /// The kind of this name.
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
    /// Its name: `--test-case-groups` picks it by this. Case, `-` and `_` do not distinguish names.
    pub name: String,
    /// What it is about, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its cases, in the order of the pack.
    pub cases: Vec<TestCase>,
}

impl TestCaseGroup {
    /// The name of the fingerprint that holds the [`hash`](Self::hash) of each group.
    pub const FINGERPRINT: &str = "TestCases";

    /// The first 16 digits of the SHA-256 of what decides the conversations of its cases, in their order. Tags and sources are not in it.
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

    /// Whether all its cases are harmless ones.
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
