//! What a run could show before it costs anything: `plan --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// What a run would do that stops when it is known whether two targets differ; null where the plan has one target, of single metrics, and
    /// where no difference can be shown.
    pub until_decided: Option<PairSequencePlan>,
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
    /// What a run would do that stops when the rule is decided; null for rules that no run is stopped by.
    pub until_decided: Option<SequencePlan>,
}

/// What a run would do that stops when a rule is decided: how simulated runs ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequencePlan {
    /// The share of runs in which it passes, 0 to 1.
    pub pass: f64,
    /// In which it fails.
    pub fail: f64,
    /// In which it is given up, or not decided by all scenarios.
    pub inconclusive: f64,
    /// Base scenarios that are enough in half of the runs.
    pub scenarios_half: u64,
    /// In 80%.
    pub scenarios_80: u64,
    /// In 95%.
    pub scenarios_95: u64,
}

/// What a run would do that stops when it is known whether two targets differ: how simulated runs ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairSequencePlan {
    /// The difference that is taken to be true, 0 to 1: that of `--want-difference`, or else `smallest_difference`.
    pub difference: f64,
    /// The share of runs in which it is shown, 0 to 1. In the others the pair is given up, or not decided by all scenarios.
    pub shown: f64,
    /// Base scenarios that are enough in half of the runs.
    pub scenarios_half: u64,
    /// In 80%.
    pub scenarios_80: u64,
    /// In 95%.
    pub scenarios_95: u64,
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
