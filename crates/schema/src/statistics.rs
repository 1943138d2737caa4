//! `statistics.json`: rates with intervals that know which rows are alike, comparisons, reliability and effects of variants.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelId, NoVerdict, ReadingKind, SimulatorStatistics};

pub use crate::judge_statistics::{CorrectedRateStatistics, JudgeAgainstPeople, JudgeAgreement};

/// The content of `statistics.json`: one file per benchmark, beside `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Version of this format: [`Statistics::FORMAT`].
    pub format: String,
    /// The confidence of all intervals: 0.95.
    pub level: f64,
    /// How intervals are made: [`Statistics::METHOD`].
    pub method: String,
    /// One entry per system under test, in the order of `results.json`.
    pub targets: Vec<TargetStatistics>,
    /// Each pair of targets, in that order; none where there are more than [`Statistics::MOST_COMPARED`] targets.
    pub comparisons: Vec<Comparison>,
}

impl Statistics {
    /// The version of the format that is written.
    pub const FORMAT: &str = "1.0.0";
    /// The confidence of all intervals.
    pub const LEVEL: f64 = 0.95;
    /// Clopper and Pearson's interval at the number of effective rows, scenarios as clusters.
    pub const METHOD: &str = "clopper-pearson-clustered";
    /// With more targets than this, pairs are not compared in the file.
    pub const MOST_COMPARED: usize = 12;

    /// The entry of one target.
    #[must_use]
    pub fn target(&self, id: &ModelId) -> Option<&TargetStatistics> {
        self.targets.iter().find(|target| target.target == *id)
    }
}

/// The statistics of one system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetStatistics {
    /// The system under test.
    pub target: ModelId,
    /// Its rates.
    pub rates: Rates,
    /// How often a scenario passes every time; empty with one sample of each.
    #[serde(default)]
    pub reliability: Vec<ReliabilityStatistics>,
    /// What the axes of variants do, by metric and axis; empty without variants.
    #[serde(default)]
    pub variants: Vec<VariantStatistics>,
    /// Its judges, where they were a panel or were asked for more than their verdicts, or people labelled rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeStatistics>,
    /// How often the simulated user fell out of its role; absent where it did in no conversation, or the conversations are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<SimulatorStatistics>,
    /// How real its conversations are, as judges see it; absent where they were not asked, or the conversations are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realism: Option<RealismStatistics>,
}

/// How real the conversations of one system under test are, as judges see it. No rate, gate or grade depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealismStatistics {
    /// The share of the conversations whose target seems to know or to suspect that it is being tested: `passed` of `rows`.
    pub suspects_test: RateStatistics,
    /// The share of the conversations whose user sounds real, 4 or more of 5: `passed` of `rows`.
    pub user_sounds_real: RateStatistics,
    /// How real the user sounds, from 1 to 5.
    pub user_realism: MeanStatistics,
    /// Conversations that did not fail and that no judge has read: those of a run without `judging.realism`, for one. No number counts
    /// them.
    pub not_read: u64,
}

/// A mean on a scale with its 95% interval over base scenarios. Without rows every number is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanStatistics {
    /// Rows with a value.
    pub rows: u64,
    /// Their mean.
    pub estimate: Option<f64>,
    /// Lower end of the interval.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
}

/// The judges of a system under test's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeStatistics {
    /// Judge by judge, in the order of the panel; absent where one judge alone decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<OneJudgeStatistics>,
    /// How far they agree on whether the behaviour is present; absent where one judge alone decided.
    #[serde(default, skip_serializing_if = "AgreementStatistics::is_unknown")]
    pub agreement: AgreementStatistics,
    /// The same by metric id, for metrics with a row of two verdicts or more; absent where one judge alone decided.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, AgreementStatistics>,
    /// The verdicts beside labels of people, where the target has a `labels.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<JudgeAgainstPeople>,
}

/// What one judge said over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneJudgeStatistics {
    /// The judge's id.
    pub judge: String,
    /// Rows with a verdict of this judge.
    pub rows: u64,
    /// Those of them where it found the behaviour.
    pub present: u64,
    /// Rows without a verdict of this judge.
    pub missing: u64,
    /// The share of the rows with both verdicts where it says what the panel does, 0 to 1; null without any.
    pub with_panel: Option<f64>,
    /// How often it said the same again; empty where no row was judged again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingStatistics>,
}

/// Further verdicts of a judge on the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingStatistics {
    /// Why they were asked for.
    pub reading: ReadingKind,
    /// Rows with both verdicts.
    pub rows: u64,
    /// Those of them where the judge said the same of the behaviour.
    pub same: u64,
}

impl OneJudgeStatistics {
    /// From so many verdicts on, a judge that never varies is worth a warning.
    pub const ENOUGH_TO_VARY: u64 = 10;
}

/// How far judges agree, as it was seen and beyond what chance gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementStatistics {
    /// Rows with verdicts of two judges or more.
    pub rows: u64,
    /// The share of pairs of verdicts of one row that are the same, 0 to 1.
    pub agreement: Option<f64>,
    /// Cohen's kappa, with two judges; null where it is not defined, as when all verdicts are the same.
    pub kappa: Option<f64>,
    /// Krippendorff's alpha; null where it is not defined.
    pub alpha: Option<f64>,
    /// Gwet's AC1.
    pub ac1: Option<f64>,
    /// Krippendorff's alpha of the values on the scale of a metric, ordinal: near values disagree less than far ones. Absent where the
    /// verdicts are no values, or it is not defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal_alpha: Option<f64>,
}

impl AgreementStatistics {
    /// Whether no row has verdicts of two.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.rows == 0
    }
}

/// The rates of one system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// A pass rate with its 95% interval over base scenarios, and what it leaves out. Without rows every number is null.
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
    /// How alike rows of one scenario are, 0 to 1; null where it is unknown.
    pub icc: Option<f64>,
    /// The value that the interval uses: drawn towards 1 where few scenarios differ.
    pub icc_used: Option<f64>,
    /// How many rows stand for one independent row.
    pub design_effect: Option<f64>,
    /// How many independent rows these are worth.
    pub effective_rows: Option<f64>,
    /// Standard error of `estimate`; null at 0 and 1.
    pub standard_error: Option<f64>,
    /// Rows without a verdict, which `rows` does not count.
    pub missing: MissingRows,
    /// Between what the rate lies whatever the missing verdicts would have been; null without any row.
    pub bounds: Option<RateBounds>,
    /// What a reader should know of this rate.
    pub note: Option<String>,
}

/// Rows without a verdict, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingRows {
    /// A call or the conversation failed.
    pub failed: u64,
    /// The judge gave no usable verdict.
    pub abstained: u64,
    /// Rows of negative metrics that passed although a reply of the target was empty or cut off: what was never said
    /// cannot fail. They have a verdict, and `bounds` alone counts them as missing.
    pub incomplete: u64,
    /// Of the failed and abstained rows, those that say why, by their reason; absent where none does.
    #[serde(default, skip_serializing_if = "MissingReasons::is_empty")]
    pub reasons: MissingReasons,
}

impl MissingRows {
    /// Rows without a verdict.
    #[must_use]
    pub fn unscored(self) -> u64 {
        self.failed + self.abstained
    }
}

/// Rows without a verdict by the `_no_verdict` of their rows. Reasons of no row are left out of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MissingReasons {
    /// A call to a model failed for good.
    #[serde(skip_serializing_if = "is_zero")]
    pub call_failed: u64,
    /// The filter of a provider stopped a request or a reply.
    #[serde(skip_serializing_if = "is_zero")]
    pub provider_refused: u64,
    /// The target said nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub empty_reply: u64,
    /// The judge gave no usable verdict.
    #[serde(skip_serializing_if = "is_zero")]
    pub judge_unusable: u64,
    /// The simulated user, or a simulated tool, did not do its part.
    #[serde(skip_serializing_if = "is_zero")]
    pub simulator_fault: u64,
    /// The budget did not allow the calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub budget: u64,
}

pub(crate) fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

impl MissingReasons {
    /// Counts `rows` more.
    pub fn add(&mut self, reason: NoVerdict, rows: u64) {
        *match reason {
            NoVerdict::CallFailed => &mut self.call_failed,
            NoVerdict::ProviderRefused => &mut self.provider_refused,
            NoVerdict::EmptyReply => &mut self.empty_reply,
            NoVerdict::JudgeUnusable => &mut self.judge_unusable,
            NoVerdict::SimulatorFault => &mut self.simulator_fault,
            NoVerdict::Budget => &mut self.budget,
        } += rows;
    }

    /// Rows without a verdict for this reason.
    #[must_use]
    pub fn of(&self, reason: NoVerdict) -> u64 {
        match reason {
            NoVerdict::CallFailed => self.call_failed,
            NoVerdict::ProviderRefused => self.provider_refused,
            NoVerdict::EmptyReply => self.empty_reply,
            NoVerdict::JudgeUnusable => self.judge_unusable,
            NoVerdict::SimulatorFault => self.simulator_fault,
            NoVerdict::Budget => self.budget,
        }
    }

    /// Whether no row says why it has no verdict.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `2 call failed, 1 judge unusable`, with what is left of `unscored` rows as `1 not recorded`.
    #[must_use]
    pub fn words(&self, unscored: u64) -> String {
        let known = NoVerdict::ALL.map(|reason| (self.of(reason), reason.words()));
        let all: u64 = known.iter().map(|(rows, _)| rows).sum();
        let rest = (unscored.saturating_sub(all), "not recorded");
        let parts = known.into_iter().chain([rest]);
        let parts = parts.filter(|(rows, _)| *rows > 0);
        let parts: Vec<String> = parts
            .map(|(rows, words)| format!("{rows} {words}"))
            .collect();
        parts.join(", ")
    }
}

/// The worst and the best that missing verdicts could have made of a rate.
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

/// pass^k: how often `k` samples of one scenario all pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReliabilityStatistics {
    /// `all`, `positive`, `negative`, or a metric's id.
    pub scope: String,
    /// How many samples in a row.
    pub k: u64,
    /// Scenarios with at least `k` verdicts.
    pub units: u64,
    /// Scenarios with fewer.
    pub left_out: u64,
    /// The mean over scenarios; null without any.
    pub estimate: Option<f64>,
    /// Lower end of its 95% interval.
    pub lower: Option<f64>,
    /// Upper end of its 95% interval.
    pub upper: Option<f64>,
}

/// What the values of one axis of variants do to one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantStatistics {
    /// The metric's id.
    pub metric: String,
    /// The axis.
    pub axis: String,
    /// Each value beside the others; of two values the first only.
    pub effects: Vec<VariantEffectStatistics>,
    /// The chance that two rows of one scenario with different values get different verdicts.
    pub differ_between_variants: Option<f64>,
    /// The chance that two rows with the same value do: what chance alone does. Only the excess of the first is a flip.
    pub differ_between_samples: Option<f64>,
}

/// One value of an axis beside the other values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantEffectStatistics {
    /// The value.
    pub value: String,
    /// Its rate (`rate_a`) beside the others' (`rate_b`); its p-value is corrected over all effects of the target.
    #[serde(flatten)]
    pub difference: DifferenceStatistics,
}

/// Two targets, or two runs of one, in one scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The first target: its rate is `rate_a`.
    pub a: ModelId,
    /// The second target: its rate is `rate_b`.
    pub b: ModelId,
    /// `all`, or a metric's id.
    pub scope: String,
    /// The difference over the scenarios that both have a verdict for.
    #[serde(flatten)]
    pub difference: DifferenceStatistics,
}

/// A difference of two rates over the same scenarios, with its 95% interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceStatistics {
    /// Metrics of scenarios with a verdict on both sides.
    pub units: u64,
    /// Those with a verdict on one side only.
    pub unmatched: u64,
    /// Base scenarios of the units.
    pub scenarios: u64,
    /// The mean over units of the first side's rate.
    pub rate_a: f64,
    /// The mean over units of the second side's rate.
    pub rate_b: f64,
    /// `rate_a - rate_b`.
    pub difference: f64,
    /// Lower end of the interval, -1 to 1.
    pub lower: f64,
    /// Upper end of the interval, -1 to 1.
    pub upper: f64,
    /// Independent rows that the first side's rows are worth.
    pub effective_rows_a: f64,
    /// Independent rows that the second side's rows are worth.
    pub effective_rows_b: f64,
    /// How far both sides find the same scenarios hard.
    pub correlation: f64,
    /// The chance of a difference as large where both sides are alike.
    pub p_value: f64,
    /// `p_value` corrected by Holm's method over the metrics of the pair; the comparison of all rows stands alone.
    pub p_holm: f64,
    /// How `p_value` was found: `none differ`, `exact binomial`, `exact sign flips` or `normal`.
    pub test: String,
    /// What may be said: `differ`, `no difference shown`, or that none could have been.
    pub says: String,
}

/// What a run could show of one metric, before it is paid: an entry of `metrics` of `plan --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricPlan {
    /// The benchmark's folder name.
    pub benchmark: String,
    /// The metric's id; null where metrics are not generated yet: each of them.
    pub metric: Option<String>,
    /// Metrics of the benchmark, which are compared at once: Holm's correction divides by them.
    pub metrics: u64,
    /// Base scenarios.
    pub scenarios: u64,
    /// Rows of one target.
    pub rows: u64,
    /// How many rows stand for one independent row.
    pub design_effect: f64,
    /// How many independent rows these are worth.
    pub effective_rows: f64,
    /// Lower end of the 95% interval to expect of the rate.
    pub expected_lower: f64,
    /// Upper end of it.
    pub expected_upper: f64,
    /// Where no row fails, up to this share of such rows may still fail.
    pub upper_if_none_fails: f64,
    /// The smallest p-value that a comparison of two targets can reach.
    pub smallest_p: f64,
    /// Whether any difference between two targets can be shown.
    pub can_differ: bool,
    /// The smallest difference between two targets that would be shown four times in five; null where none can be shown.
    pub smallest_difference: Option<f64>,
    /// Base scenarios that it takes to show the difference of `--want-difference`; null without one, and where a hundred million do not
    /// suffice.
    pub scenarios_needed: Option<u64>,
    /// What the numbers assume.
    pub assumed: PlanAssumptions,
}

/// What a plan assumes of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAssumptions {
    /// The pass rate.
    pub rate: f64,
    /// How alike rows of one scenario are, 0 to 1.
    pub icc: f64,
    /// The correlation of two targets over scenarios.
    pub correlation: f64,
    /// Those of `rate`, `icc` and `correlation` that an earlier run measured, by its `statistics.json`.
    pub measured: Vec<String>,
}
