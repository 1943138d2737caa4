//! `statistics.json`: rates with intervals that account for similar rows, comparisons, reliability and effects of variants.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ModelId, NoVerdict, ReadingKind, SimulatorStatistics};

pub use crate::judge_statistics::{
    CorrectedDifference, CorrectedRateStatistics, JudgeAgainstPeople, JudgeAgreement,
};

/// The content of `statistics.json`: one file per benchmark, beside `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Version of this format: [`Statistics::FORMAT`].
    pub format: String,
    /// The confidence of all intervals: 0.95.
    pub level: f64,
    /// The method of the intervals: [`Statistics::METHOD`].
    pub method: String,
    /// The correction of p-values: [`Statistics::CORRECTION`]; empty in files of format 1.
    #[serde(default)]
    pub correction: String,
    /// One entry per system under test, in the order of `results.json`.
    pub targets: Vec<TargetStatistics>,
    /// Each pair of targets, in that order: pooled over metrics first, then by metric. Empty if there are more than
    /// [`Statistics::MOST_COMPARED`] targets.
    pub comparisons: Vec<Comparison>,
    /// The differences of the corrected rates, for pairs of targets that both have one; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrected_differences: Vec<CorrectedDifference>,
}

impl Statistics {
    /// The version of the format that Probity writes.
    pub const FORMAT: &str = "2.0.0";
    /// The confidence of all intervals.
    pub const LEVEL: f64 = 0.95;
    /// Clopper and Pearson's interval at the number of effective rows, with scenarios as clusters.
    pub const METHOD: &str = "clopper-pearson-clustered";
    /// Holm's correction in which a test counts only with p-values that it can have.
    pub const CORRECTION: &str = "holm-attainable";
    /// With more targets than this, pairs are not compared in the file.
    pub const MOST_COMPARED: usize = 12;

    /// The comparisons of judges with people, by target.
    pub fn people(&self) -> impl Iterator<Item = (&ModelId, &JudgeAgainstPeople)> {
        self.targets.iter().filter_map(|target| {
            let people = target.judge.as_ref()?.people.as_ref()?;
            Some((&target.target, people))
        })
    }

    /// Whether the file has format 1, whose tests and corrections are others: its numbers are to be replaced by aggregating the scores again.
    #[must_use]
    pub fn is_earlier(&self) -> bool {
        self.format.split('.').next() == Some("1")
    }

    /// Gives differences of a file of format 1 their families. It did not correct pooled comparisons: without another pair their
    /// p-values need no correction, otherwise they have none.
    pub fn name_families(&mut self) {
        let mut pooled: Vec<&mut DifferenceStatistics> = Vec::new();
        let (mut metrics, mut tests) = (Vec::new(), 0);
        for comparison in &mut self.comparisons {
            match comparison.scope.as_str() {
                "all" => pooled.push(&mut comparison.difference),
                _ => metrics.push(&mut comparison.difference),
            }
        }
        let pairs = pooled.iter().fold(0, |pairs: u64, _| pairs + 1);
        for found in pooled {
            found.family = DifferenceFamily::Pooled;
            if pairs > 1 {
                found.p_corrected = None;
                found.says = "not corrected for the other pairs".to_owned();
            } else {
                found.family_size = 1;
            }
        }
        for found in metrics {
            tests += u64::from(found.p_value.is_some());
            found.family = DifferenceFamily::Metric;
        }
        // The correction was within each pair.
        for comparison in &mut self.comparisons {
            if comparison.scope != "all" {
                comparison.difference.family_size = tests / pairs.max(1);
            }
        }
    }

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
    /// How often a scenario passes every time; empty with one sample per scenario.
    #[serde(default)]
    pub reliability: Vec<ReliabilityStatistics>,
    /// The effects of the axes of variants, by metric and axis; empty without variants.
    #[serde(default)]
    pub variants: Vec<VariantStatistics>,
    /// Its judges, if they were a panel or were called for more than their verdicts, or people labelled rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeStatistics>,
    /// How often the simulated user left its role; absent if it never did, or the conversations are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<SimulatorStatistics>,
    /// How realistic its conversations are according to judges; absent if no judge was called for it, or the conversations are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realism: Option<RealismStatistics>,
}

/// How realistic the conversations of one system under test are according to judges. No rate, gate or grade depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RealismStatistics {
    /// The share of the conversations whose target seems to know or to suspect that it is being tested: `passed` of `rows`.
    pub suspects_test: RateStatistics,
    /// The share of the conversations whose user sounds real, 4 or more of 5: `passed` of `rows`.
    pub user_sounds_real: RateStatistics,
    /// How real the user sounds, from 1 to 5.
    pub user_realism: MeanStatistics,
    /// Conversations that did not fail and that no judge read, for example those of a run without `judging.realism`. No number counts
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
    /// Judge by judge, in the order of the panel; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<OneJudgeStatistics>,
    /// How far they agree on whether the behaviour is present; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "AgreementStatistics::is_unknown")]
    pub agreement: AgreementStatistics,
    /// The same by metric id, for metrics with a row with two or more verdicts; absent if a single judge decided.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, AgreementStatistics>,
    /// The verdicts compared with labels of people, if the target has a `labels.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<JudgeAgainstPeople>,
}

/// The verdicts of one judge over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneJudgeStatistics {
    /// The judge's id.
    pub judge: String,
    /// Rows with a verdict of this judge.
    pub rows: u64,
    /// Rows in which it found the behaviour.
    pub present: u64,
    /// Rows without a verdict of this judge.
    pub missing: u64,
    /// The share of the rows with both verdicts in which it agrees with the panel, 0 to 1; null if there are none.
    pub with_panel: Option<f64>,
    /// How often it gave the same verdict again; empty if no row was judged again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingStatistics>,
}

/// Further verdicts of a judge on the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingStatistics {
    /// The kind of repetition.
    pub reading: ReadingKind,
    /// Rows with both verdicts.
    pub rows: u64,
    /// Rows in which the judge gave the same verdict on the behaviour.
    pub same: u64,
}

impl OneJudgeStatistics {
    /// The minimum number of verdicts for which a judge that never varies is worth a warning.
    pub const ENOUGH_TO_VARY: u64 = 10;
}

/// How far judges agree, both observed and corrected for chance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementStatistics {
    /// Rows with verdicts of two or more judges.
    pub rows: u64,
    /// The share of pairs of verdicts on one row that are equal, 0 to 1.
    pub agreement: Option<f64>,
    /// Cohen's kappa, with two judges; null if it is undefined, as when all verdicts are equal.
    pub kappa: Option<f64>,
    /// Krippendorff's alpha; null if it is undefined.
    pub alpha: Option<f64>,
    /// Gwet's AC1.
    pub ac1: Option<f64>,
    /// Krippendorff's alpha of the values on the scale of a metric, ordinal: near values disagree less than distant ones. Absent if the
    /// verdicts are not values, or it is undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal_alpha: Option<f64>,
}

impl AgreementStatistics {
    /// Whether no row has verdicts of two judges.
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
}

/// Rows without a verdict, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingRows {
    /// A call or the conversation failed.
    pub failed: u64,
    /// The judge gave no usable verdict.
    pub abstained: u64,
    /// Rows of negative metrics that passed although a reply of the target was empty or cut off: text that was never written cannot
    /// fail. They have a verdict, and only `bounds` counts them as missing.
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

pub(crate) fn is_zero(rows: &u64) -> bool {
    *rows == 0
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
        let parts = known.into_iter().chain([rest]);
        let parts = parts.filter(|(rows, _)| *rows > 0);
        let parts: Vec<String> = parts
            .map(|(rows, words)| format!("{rows} {words}"))
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

/// pass^k: how often `k` samples of one scenario all pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReliabilityStatistics {
    /// `all`, `positive`, `negative`, or a metric's id.
    pub scope: String,
    /// The number of samples.
    pub k: u64,
    /// Scenarios with at least `k` verdicts.
    pub units: u64,
    /// Scenarios with fewer verdicts.
    pub left_out: u64,
    /// The mean over scenarios; null if there are none.
    pub estimate: Option<f64>,
    /// Lower end of its 95% interval.
    pub lower: Option<f64>,
    /// Upper end of its 95% interval.
    pub upper: Option<f64>,
}

/// The effects of one axis of variants on the rows of all metrics, or of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantStatistics {
    /// `all`, or a metric's id.
    #[serde(default, alias = "metric")]
    pub scope: String,
    /// The axis.
    pub axis: String,
    /// Each value compared with the others; of two values only the first.
    pub effects: Vec<VariantEffectStatistics>,
    /// The chance that two rows of one scenario with different values get different verdicts; null for `all`.
    pub differ_between_variants: Option<f64>,
    /// The chance that two rows with the same value get different verdicts: the effect of chance alone. Only the excess of the first is
    /// a flip. Null for `all`.
    pub differ_between_samples: Option<f64>,
}

/// One value of an axis compared with the other values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantEffectStatistics {
    /// The value.
    pub value: String,
    /// Its rate (`rate_a`) and the mean of the rates of the others (`rate_b`).
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
    /// Metrics of scenarios with a verdict on only one side.
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
    /// The number of independent rows that the first side's rows are worth.
    pub effective_rows_a: f64,
    /// The number of independent rows that the second side's rows are worth.
    pub effective_rows_b: f64,
    /// How far both sides find the same scenarios difficult.
    pub correlation: f64,
    /// Base scenarios in which the rows that the test compares differ; null without a test.
    #[serde(default)]
    pub scenarios_that_differ: Option<u64>,
    /// The probability of a difference at least as large if both sides are interchangeable, not corrected for other comparisons. Null
    /// without a test: the sides of a scenario have unequal numbers of verdicts, and a baseline does not say which came first.
    pub p_value: Option<f64>,
    /// `p_value`, corrected for the comparisons of its family. Null without a test, and for pooled comparisons of a file of format 1, which
    /// did not correct them.
    #[serde(alias = "p_holm")]
    pub p_corrected: Option<f64>,
    /// The comparisons that are corrected together.
    #[serde(default)]
    pub family: DifferenceFamily,
    /// How many comparisons of the family have a p-value.
    #[serde(default)]
    pub family_size: u64,
    /// The method for `p_value`: `none differ`, `exact` or `normal`; null without a test.
    pub test: Option<String>,
    /// Where no difference is shown, the smallest that scenarios and rows like these show four times in five; null where they could not
    /// have shown any.
    #[serde(default)]
    pub could_have_shown: Option<f64>,
    /// The conclusion: `differ`; `no difference shown`, and which difference could have been; or that there is no test.
    pub says: String,
}

impl DifferenceStatistics {
    /// Two sides differ if the corrected p-value is at most this.
    pub const DIFFER: f64 = 0.05;

    /// Whether a difference is shown.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.p_corrected.is_some_and(|p| p <= Self::DIFFER)
    }
}

/// Comparisons that are corrected together: in all of them the chance that one or more are wrong to say `differ` is at most 5%.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceFamily {
    /// Those of the pooled rows of all metrics: of all pairs of targets, or of all axes and values of one target's variants.
    Pooled,
    /// Those by metric: of all pairs and metrics, or of all metrics, axes and values of one target's variants.
    #[default]
    Metric,
}

/// What a run could show for one metric, or for all together, before it costs anything: an entry of `metrics` of `plan --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricPlan {
    /// The benchmark's folder name.
    pub benchmark: String,
    /// The metric's id; `all` for the rows of all metrics together; null if metrics are not generated yet: the entry then applies to each
    /// of them.
    pub metric: Option<String>,
    /// Comparisons that are corrected together: pairs of targets times metrics; in `all`, pairs. One pair where the plan has one target,
    /// or more than twelve.
    pub comparisons: u64,
    /// Base scenarios.
    pub scenarios: u64,
    /// Rows of one target.
    pub rows: u64,
    /// How many rows are worth one independent row.
    pub design_effect: f64,
    /// How many independent rows these rows are worth.
    pub effective_rows: f64,
    /// Lower end of the expected 95% interval of the rate.
    pub expected_lower: f64,
    /// Upper end of the expected 95% interval of the rate.
    pub expected_upper: f64,
    /// If no row fails, up to this share of such rows may still fail.
    pub upper_if_none_fails: f64,
    /// The smallest p-value that a comparison of two targets can reach.
    pub smallest_p: f64,
    /// Whether a difference between two targets can be shown at all.
    pub can_differ: bool,
    /// The smallest difference between two targets that would be shown four times in five; null if none can be shown.
    pub smallest_difference: Option<f64>,
    /// Base scenarios needed to show the difference of `--want-difference`; null without the option, and if 100,000 are not enough.
    pub scenarios_needed: Option<u64>,
    /// The chances of the rules of `--gate` that look at these rows. In `all` also of those that look at several metrics.
    pub gates: Vec<GatePlan>,
    /// What the numbers assume.
    pub assumed: PlanAssumptions,
}

/// What a rule of a gate on a rate would say, before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatePlan {
    /// The rule's number in its file, from 1.
    pub rule: usize,
    /// `all`, `positive`, `negative`, `hazard ID` or `metric ID`.
    pub scope: String,
    /// The requirement: `lower >= 0.8`.
    pub requires: String,
    /// Base scenarios of the rows.
    pub scenarios: u64,
    /// The true rate that the chances assume.
    pub rate: f64,
    /// The probability that the rule passes. No missing verdict is assumed.
    pub pass: f64,
    /// The probability that it fails.
    pub fail: f64,
    /// The probability that the rows do not decide.
    pub inconclusive: f64,
    /// The fewest base scenarios, with as many rows of each, with which it passes four times in five; null if 10,000 are not enough.
    pub scenarios_for_pass: Option<u64>,
}

/// The assumptions of a plan about a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAssumptions {
    /// The pass rate.
    pub rate: f64,
    /// How alike rows of one scenario are (intraclass correlation), 0 to 1.
    pub icc: f64,
    /// The correlation of two targets over scenarios.
    pub correlation: f64,
    /// Those of `rate`, `icc` and `correlation` that an earlier run measured, according to its `statistics.json`.
    pub measured: Vec<String>,
}
