//! `statistics.json`: rates with intervals that account for similar rows, comparisons, reliability and effects of variants.

mod difference;
mod judges;
mod people;
mod plan;
mod rates;
mod realism;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{IncompleteReplies, ModelId, SimulatorStatistics};

pub use difference::{Comparison, DifferenceFamily, DifferenceStatistics};
pub use judges::{AgreementStatistics, JudgeStatistics, OneJudgeStatistics, ReadingStatistics};
pub use people::{
    CorrectedDifference, CorrectedRateStatistics, JudgeAgainstPeople, JudgeAgreement,
};
pub use plan::{GatePlan, MetricPlan, PairSequencePlan, PlanAssumptions, SequencePlan};
pub use rates::{
    MissingReasons, MissingRows, OrdinaryInterval, RateBounds, RateStatistics, Rates,
    SequentialRate,
};
pub use realism::{MeanStatistics, RealismStatistics};

/// The content of `statistics.json`: one file per benchmark, beside `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// Version of this format: [`Statistics::FORMAT`], or [`Statistics::SEQUENTIAL_FORMAT`].
    pub format: String,
    /// The confidence of all intervals: 0.95.
    pub level: f64,
    /// The method of the intervals: [`Statistics::METHOD`], or [`Sequence::METHOD`](crate::sequence::Sequence::METHOD).
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
    /// Whether the file is of the present version, with everything that it holds.
    #[must_use]
    pub fn is_present(&self) -> bool {
        [Self::FORMAT, Self::SEQUENTIAL_FORMAT].contains(&self.format.as_str())
    }

    /// Whether scenarios were simulated until rules or differences were decided, so that rates are those so far.
    #[must_use]
    pub fn is_so_far(&self) -> bool {
        let mut rates = self.targets.iter().map(|target| &target.rates.all);
        rates.any(|rate| rate.at_every_look().is_some())
    }

    /// The version of the format that Probity writes.
    pub const FORMAT: &str = "2.1.0";
    /// The version where scenarios were simulated until rules were decided: readers of [`FORMAT`](Self::FORMAT) take its rates as they are, with the
    /// intervals that hold at every look.
    pub const SEQUENTIAL_FORMAT: &str = "2.3.0";
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

    /// SHA-256 of the `scores.json` of each target, where it is known.
    #[must_use]
    pub fn scores_sha256(&self) -> BTreeMap<ModelId, String> {
        let targets = self.targets.iter();
        let known = targets.filter_map(|of| Some((of.target.clone(), of.scores_sha256.clone()?)));
        known.collect()
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
    /// SHA-256 of the `scores.json` that everything here is computed from; absent in files before 2.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores_sha256: Option<String>,
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
    /// Its conversations with an empty or cut-off reply; absent if there are none, or the conversations are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<IncompleteReplies>,
    /// Rows that record another `metric_type` than their metric has in benchmark.yaml; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_type: u64,
}

impl TargetStatistics {
    /// The statistics of a target without rows.
    #[must_use]
    pub fn new(target: ModelId) -> Self {
        Self {
            target,
            scores_sha256: None,
            rates: Rates::default(),
            reliability: Vec::new(),
            variants: Vec::new(),
            judge: None,
            simulator: None,
            realism: None,
            replies: None,
            other_type: 0,
        }
    }
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

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}
