//! `sequence.json`: the order of a benchmark whose runs stop when its rules are decided, and what is known of the rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelId;

/// The content of a `sequence.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequence {
    /// The version of the format.
    pub format: String,
    /// How answers are found: `betting-star-1`.
    pub method: String,
    /// When a run stops.
    pub until: RunUntil,
    /// How wide intervals may be, 0 to 1, where it stops by their width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// What the order follows from.
    pub seed: u64,
    /// Conversations of each scenario and target.
    pub samples: u32,
    /// The confidence at which answers and intervals hold, at all looks together: 0.95.
    pub level: f64,
    /// The chance, 0 to 1, that the rest of the list decides a rule, below which it is given up; 0: never.
    pub give_up: f64,
    /// Whether rows were already there when the first run with an order began.
    pub looked_before: bool,
    /// The starts: more than one after a restart.
    pub starts: Vec<SequenceStart>,
    /// How many base scenarios there were, and since when. Scenarios that are added make a longer list.
    pub lists: Vec<SequenceList>,
    /// The pairs of targets that are compared: bets on their differences aim higher the more there are. 1 in files before 1.1.0.
    #[serde(default = "one_pair")]
    pub pairs: u64,
    /// All base scenarios in the order in which they are simulated.
    pub order: Vec<SequencedScenario>,
    /// How many scenarios of the order have rows of a target.
    pub seen: u64,
    /// SHA-256 of how the judge was set up; null before the first run has ended its rows.
    pub judge_sha256: Option<String>,
    /// Why the last run stopped; null while it goes on, or if it was killed.
    pub stopped: Option<SequenceStop>,
    /// SHA-256 of the rules of the gate; null without one, and in files before 1.2.0.
    #[serde(default)]
    pub rules_sha256: Option<String>,
    /// When they changed after scenarios were simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules_changed: Vec<RulesChange>,
    /// What is known of each rule of the gate, for each of its targets and metrics.
    pub tests: Vec<SequenceTest>,
}

impl Sequence {
    /// The version of the format that is written.
    pub const FORMAT: &str = "1.2.0";
    /// The confidence level of answers and intervals.
    pub const LEVEL: f64 = 0.95;
    /// The name of the method: bets by the rule STaR.
    pub const METHOD: &str = "betting-star-1";

    /// The targets with rules or differences that have no further scenarios, and why. A target goes on until the last of its questions is
    /// answered, so what is least known counts; one with an open question is as the whole run.
    #[must_use]
    pub fn stopped_targets(&self) -> BTreeMap<ModelId, SequenceStop> {
        let mut targets = BTreeMap::new();
        for test in &self.tests {
            let stop = test.answer.stop();
            for target in [Some(&test.target), test.other.as_ref()]
                .into_iter()
                .flatten()
            {
                let of_target = targets.entry(target.clone()).or_insert(stop);
                *of_target = (*of_target).zip(stop).map(|(known, stop)| known.max(stop));
            }
        }
        let ended = targets.into_iter();
        ended
            .filter_map(|(target, stop)| Some((target, stop.or(self.stopped)?)))
            .collect()
    }
}

fn one_pair() -> u64 {
    1
}

/// When a run stops before its last scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunUntil {
    /// When every rule is decided, or one has failed: the answer of the gate is then known.
    Decided,
    /// When every rule is decided.
    EachDecided,
    /// When the interval of each rate is narrow enough.
    Width,
}

impl RunUntil {
    /// The spelling on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::EachDecided => "each-decided",
            Self::Width => "width",
        }
    }
}

/// A start of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceStart {
    /// The run that began it.
    pub run_id: String,
    /// The base scenarios that the start before it had seen; 0 for the first.
    pub seen_before: u64,
}

/// Other rules of the gate than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulesChange {
    /// How many scenarios of the order had been seen.
    pub after: u64,
    /// SHA-256 of the rules before.
    pub sha256: String,
}

/// A list of base scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceList {
    /// How many scenarios of the order were known when the list began.
    pub from: u64,
    /// Its base scenarios.
    pub scenarios: u64,
}

/// A base scenario in the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequencedScenario {
    /// The base scenario's id.
    pub id: String,
    /// SHA-256 of its rows in scenarios.json.
    pub sha256: String,
}

/// Why a run stopped; in the order of how much is known, from most to least.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceStop {
    /// The rules are decided, or one has failed.
    Decided,
    /// The interval of each rate is narrow enough.
    Narrow,
    /// A rule is open, and the rest of the list would hardly decide it.
    GivenUp,
    /// All scenarios were simulated.
    UsedUp,
    /// The run was interrupted, or its budget was spent.
    Interrupted,
}

impl SequenceStop {
    /// `stopped when decided`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Decided => "stopped when decided",
            Self::Narrow => "stopped when the interval is narrow enough",
            Self::GivenUp => "stopped: the rest would hardly decide",
            Self::UsedUp => "all simulated",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What is known of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceAnswer {
    /// Not decided so far.
    Open,
    /// The two targets differ.
    Differ,
    /// The rate meets the rule.
    Pass,
    /// The rate breaks it.
    Fail,
    /// Its interval is narrow enough.
    Narrow,
    /// The rest of the list would hardly decide it, so it is left.
    GivenUp,
    /// All scenarios are known, and it is not decided.
    UsedUp,
}

impl SequenceAnswer {
    /// Why scenarios for it end; `None` while it is open.
    fn stop(self) -> Option<SequenceStop> {
        match self {
            Self::Open => None,
            Self::Differ | Self::Pass | Self::Fail => Some(SequenceStop::Decided),
            Self::Narrow => Some(SequenceStop::Narrow),
            Self::GivenUp => Some(SequenceStop::GivenUp),
            Self::UsedUp => Some(SequenceStop::UsedUp),
        }
    }
}

impl SequenceTest {
    /// Whether both are about the same question.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let about = |test: &Self| {
            let Self {
                rule,
                target,
                other,
                scope,
                ..
            } = test.clone();
            (rule, target, other, scope)
        };
        about(self) == about(other)
    }
}

/// A rule of the gate for one target, or for one of its metrics; or the comparison of two targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceTest {
    /// The rule's number in the gate's file, from 1; null for a comparison of two targets and for a width.
    pub rule: Option<usize>,
    /// The target.
    pub target: ModelId,
    /// The target that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ModelId>,
    /// `all`, `positive`, `negative`, `hazard ID` or `metric ID`.
    pub scope: String,
    /// The requirement: `lower >= 0.8`; `differ` of two targets; `width <= 0.1`.
    pub require: String,
    /// What is known.
    pub answer: SequenceAnswer,
    /// The base scenarios that were looked at.
    pub scenarios: u64,
    /// The base scenarios of its list.
    pub of: u64,
    /// Rows with a verdict; of two targets, scenarios and metrics with a verdict of both.
    pub rows: u64,
    /// The rate so far, 0 to 1; of two targets the difference, -1 to 1; null without rows.
    pub estimate: Option<f64>,
    /// Lower end of the interval that holds at every look; of a width, of the ordinary one.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The chance, 0 to 1, that the rest of the list decides it, if scenarios go on as so far.
    pub chance: f64,
}
