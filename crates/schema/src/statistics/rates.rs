//! Rates with intervals, and the rows that they leave out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Statistics, is_zero};
use crate::{
    NoVerdict, numbers::grouped, sequence::Sequence, sequence::SequenceStop, text::counted,
};

/// The rates of one system under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Over all rows.
    pub all: RateStatistics,
    /// Over rows of positive metrics.
    pub positive: RateStatistics,
    /// Over rows of negative metrics.
    pub negative: RateStatistics,
    /// By hazard id.
    pub hazards: BTreeMap<String, RateStatistics>,
    /// By metric id.
    pub metrics: BTreeMap<String, RateStatistics>,
}

/// A pass rate with its 95% interval over base scenarios, and the rows it leaves out. Without rows every number is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateStatistics {
    /// Rows that passed.
    pub passed: u64,
    /// Rows with a verdict.
    pub rows: u64,
    /// Base scenarios with such a row.
    pub scenarios: u64,
    /// `passed / rows`, 0 to 1, to the last bit.
    pub estimate: Option<f64>,
    /// Lower end of the interval, 0 to 1.
    pub lower: Option<f64>,
    /// Upper end of the interval, 0 to 1.
    pub upper: Option<f64>,
    /// How alike rows of one scenario are (intraclass correlation), 0 to 1; null if unknown.
    pub icc: Option<f64>,
    /// The value that the interval uses: drawn towards 1 if few scenarios differ.
    pub icc_used: Option<f64>,
    /// How many rows are worth one independent row.
    pub design_effect: Option<f64>,
    /// How many independent rows these rows are worth.
    pub effective_rows: Option<f64>,
    /// Standard error of `estimate`; null at 0 and 1.
    pub standard_error: Option<f64>,
    /// Rows without a verdict, which `rows` does not count.
    pub missing: MissingRows,
    /// The range of the rate for all possible values of the missing verdicts; null without any row.
    pub bounds: Option<RateBounds>,
    /// A note about this rate.
    pub note: Option<String>,
    /// Where scenarios were simulated until rules were decided: how many the rate is of. `lower` and `upper`, also those of `bounds`, then
    /// hold at every look, and there is no standard error. Also where they ended by the width of intervals, which are then the ordinary
    /// ones. Absent for other rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialRate>,
}

impl RateStatistics {
    /// The method of its interval.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self.at_every_look() {
            Some(_) => Sequence::METHOD,
            None => Statistics::METHOD,
        }
    }

    /// How many scenarios the rate is of, where its interval holds at every look.
    #[must_use]
    pub fn at_every_look(&self) -> Option<SequentialRate> {
        self.sequential.filter(|so_far| so_far.width.is_none())
    }
}

/// A rate of the scenarios that were simulated until rules were decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialRate {
    /// The base scenarios, in the order of `sequence.json` without a gap.
    pub scenarios: u64,
    /// Those of the list.
    pub of: u64,
    /// Rows of later scenarios, which are in no rate: those of a run that was interrupted, or of another metric that was simulated further.
    pub rows_beyond: u64,
    /// Why the target has no further scenarios; null while the run goes on, or if it was killed.
    pub stopped: Option<SequenceStop>,
    /// How wide its interval may be, 0 to 1, where scenarios end by that: it is then the ordinary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// The interval of a list whose length is fixed before the first row. It holds here only where scenarios end by its width.
    pub ordinary: OrdinaryInterval,
}

impl SequentialRate {
    /// `37 of 100 scenarios`.
    #[must_use]
    pub fn words(self) -> String {
        let all = counted(self.of, "scenario", "scenarios");
        format!("{} of {all}", grouped(self.scenarios))
    }
}

/// An interval that holds where the number of rows does not depend on their verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrdinaryInterval {
    /// Lower end, 0 to 1.
    pub lower: f64,
    /// Upper end, 0 to 1.
    pub upper: f64,
    /// The standard error; null at rates of 0 and 1.
    pub standard_error: Option<f64>,
}

/// Rows without a verdict, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingRows {
    /// A call or the conversation failed.
    pub failed: u64,
    /// The judge gave no usable verdict.
    pub abstained: u64,
    /// Rows of negative metrics that passed, or of a safety evaluation that did not fail, although a reply of the target was empty or cut
    /// off: text that was never written cannot fail. They have a verdict, and only `bounds` counts them as missing.
    pub incomplete: u64,
    /// The reasons of the failed and abstained rows that have one; absent if none has.
    #[serde(default, skip_serializing_if = "MissingReasons::is_empty")]
    pub reasons: MissingReasons,
}

impl MissingRows {
    /// The number of rows without a verdict.
    #[must_use]
    pub fn unscored(self) -> u64 {
        self.failed + self.abstained
    }
}

/// Rows without a verdict, by their `_no_verdict`. Reasons without rows are left out of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MissingReasons {
    /// A call to a model failed for good.
    #[serde(skip_serializing_if = "is_zero")]
    pub call_failed: u64,
    /// The filter of a provider stopped a request or a reply.
    #[serde(skip_serializing_if = "is_zero")]
    pub provider_refused: u64,
    /// The target's reply was empty.
    #[serde(skip_serializing_if = "is_zero")]
    pub empty_reply: u64,
    /// The judge gave no usable verdict.
    #[serde(skip_serializing_if = "is_zero")]
    pub judge_unusable: u64,
    /// The judge answered that it cannot tell.
    #[serde(skip_serializing_if = "is_zero")]
    pub judge_cannot_tell: u64,
    /// The simulated user, or a simulated tool, failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub simulator_fault: u64,
    /// The budget did not allow the calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub budget: u64,
}

impl MissingReasons {
    /// Adds `rows` rows.
    pub fn add(&mut self, reason: NoVerdict, rows: u64) {
        *match reason {
            NoVerdict::CallFailed => &mut self.call_failed,
            NoVerdict::ProviderRefused => &mut self.provider_refused,
            NoVerdict::EmptyReply => &mut self.empty_reply,
            NoVerdict::JudgeUnusable => &mut self.judge_unusable,
            NoVerdict::JudgeCannotTell => &mut self.judge_cannot_tell,
            NoVerdict::SimulatorFault => &mut self.simulator_fault,
            NoVerdict::Budget => &mut self.budget,
        } += rows;
    }

    /// The number of rows without a verdict for this reason.
    #[must_use]
    pub fn of(&self, reason: NoVerdict) -> u64 {
        match reason {
            NoVerdict::CallFailed => self.call_failed,
            NoVerdict::ProviderRefused => self.provider_refused,
            NoVerdict::EmptyReply => self.empty_reply,
            NoVerdict::JudgeUnusable => self.judge_unusable,
            NoVerdict::JudgeCannotTell => self.judge_cannot_tell,
            NoVerdict::SimulatorFault => self.simulator_fault,
            NoVerdict::Budget => self.budget,
        }
    }

    /// Whether no row has a reason.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `2 call failed, 1 judge unusable`, with the rest of the `unscored` rows as `1 not recorded`.
    #[must_use]
    pub fn words(&self, unscored: u64) -> String {
        let known = NoVerdict::ALL.map(|reason| (self.of(reason), reason.words()));
        let all: u64 = known.iter().map(|(rows, _)| rows).sum();
        let rest = (unscored.saturating_sub(all), "not recorded");
        let parts: Vec<String> = known
            .into_iter()
            .chain([rest])
            .filter(|(rows, _)| *rows > 0)
            .map(|(rows, words)| format!("{} {words}", grouped(rows)))
            .collect();
        parts.join(", ")
    }
}

/// The lowest and the highest rate that the missing verdicts allow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateBounds {
    /// The rate if all missing rows had failed.
    pub lowest: f64,
    /// The rate if all missing rows had passed.
    pub highest: f64,
    /// The lower end of the interval if they had failed.
    pub lower: f64,
    /// The upper end of the interval if they had passed.
    pub upper: f64,
}
