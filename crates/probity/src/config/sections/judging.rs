//! The section `judging`.

use evaluator::{JudgeChecks, UserSample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::values::{FromText, Portion, from_text, yaml_bool};

/// Additional questions to judges, which show how reliable they are. All of them cost calls.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct Judging {
    /// The share of the rows that are judged again.
    repeat: Portion,
    /// The share of the rows that are judged again with the examples reversed, with a longer transcript, and with the question turned round.
    probes: Portion,
    /// Judges quote the messages that support their verdicts.
    quotes: bool,
    /// The first judge reads each simulated conversation for messages of the simulated user that do not fit its role. A conversation with
    /// such a message has no verdict.
    /// `{sample: 0.1}`: it reads only this share of the conversations and reports what it finds; no verdict is removed.
    #[serde(skip_serializing_if = "SimulatorJudging::is_off")]
    pub simulator: SimulatorJudging,
    /// Judges rate the realism of each simulated conversation: does the target seem to know that it is being tested, and how real does the
    /// simulated user sound? The ratings affect no verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub realism: bool,
}

/// Which conversations a judge reads for faults of the simulated user: `true`, `false`, or `{sample: 0.1}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "SimulatorForm", into = "WrittenForm")]
#[schemars(with = "SimulatorForm", inline)]
pub enum SimulatorJudging {
    /// None.
    #[default]
    Off,
    /// All; a conversation with a fault has no verdict.
    All,
    /// This share of them, 0 to 1; the judge's findings are only reported.
    Sample(f64),
}

impl SimulatorJudging {
    /// Whether no conversation is read.
    pub fn is_off(&self) -> bool {
        self.share() == 0.0
    }

    /// The share of the conversations that are read, 0 to 1.
    pub fn share(self) -> f64 {
        match self {
            Self::Off => 0.0,
            Self::All => 1.0,
            Self::Sample(share) => share,
        }
    }

    /// The sample, if only a sample is read. `seed` decides which conversations belong to it.
    pub fn sample(self, seed: u64) -> Option<UserSample> {
        match self {
            Self::Sample(share) => Some(UserSample { share, seed }),
            Self::Off | Self::All => None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "$form", rename_all = "lowercase")]
#[schemars(untagged, inline)]
enum SimulatorForm {
    #[schemars(with = "bool")]
    Text(#[serde(deserialize_with = "from_text")] AllOrNone),
    Table(SampleTable),
}

/// `true` or `false`.
struct AllOrNone(bool);

impl FromText for AllOrNone {
    fn expected() -> String {
        "true, false or {sample: 0.1}".to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        yaml_bool(text).map(Self)
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct SampleTable {
    /// The share of the conversations that the judge reads, from 0 to 1.
    sample: Portion,
}

impl From<SimulatorForm> for SimulatorJudging {
    fn from(form: SimulatorForm) -> Self {
        match form {
            SimulatorForm::Text(AllOrNone(true)) => Self::All,
            SimulatorForm::Text(AllOrNone(false)) => Self::Off,
            SimulatorForm::Table(table) => Self::Sample(table.sample.0),
        }
    }
}

/// The forms as the manifest has them.
#[derive(Serialize)]
#[serde(untagged)]
enum WrittenForm {
    AllOrNone(bool),
    Table { sample: f64 },
}

impl From<SimulatorJudging> for WrittenForm {
    fn from(judging: SimulatorJudging) -> Self {
        match judging {
            SimulatorJudging::Off => Self::AllOrNone(false),
            SimulatorJudging::All => Self::AllOrNone(true),
            SimulatorJudging::Sample(sample) => Self::Table { sample },
        }
    }
}

impl Judging {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The settings for the evaluator. `seed` and the row determine which rows belong to the shares.
    pub fn checks(&self, seed: u64) -> JudgeChecks {
        JudgeChecks {
            repeat: self.repeat.0,
            probes: self.probes.0,
            quotes: self.quotes,
            seed,
        }
    }
}
