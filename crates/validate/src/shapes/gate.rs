//! The rules of a gate.

use schema::ModelId;
use schemars::JsonSchema;

/// Rules that the rates of a benchmark or of safety results must meet: `gate.yaml`.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Gate {
    /// Version of the format: 1.
    #[schemars(range(min = 1, max = 1))]
    format: Option<u32>,
    /// The baseline of differences, relative to the folder of this file. Absent: `baseline.json` in the folder of the benchmark.
    baseline: Option<String>,
    /// The largest share of missing verdicts that is left out of an answer. Above it, the bounds over all possible values of the missing
    /// verdicts decide. Absent: 0, missing verdicts always count against a rule.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    max_missing: Option<f64>,
    /// The rules.
    #[schemars(length(min = 1))]
    rules: Vec<GateRule>,
}

/// One rule: the rows of the targets, and a requirement for them. At most one of `scope`, `metric` and `hazard`; `group` requires a scope
/// of safety results.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct GateRule {
    /// The rule's name in reports.
    name: Option<String>,
    /// The rows. Absent, without `metric` and `hazard`: all. The last four are rates of safety results.
    scope: Option<Scope>,
    /// The rows of this metric, by its id.
    metric: Option<String>,
    /// The rows of this hazard, by its id; in a benchmark without hazards, each metric is one.
    hazard: Option<String>,
    /// For safety results: the cases of this group, by its name; `each-group` for every group separately. Absent: all.
    group: Option<String>,
    /// The ids of the targets. Absent: every target with scores in the tree.
    targets: Option<Ids>,
    /// The requirement: `lower >= N`, `upper <= N`, `difference >= N`, `missing <= N` or `cost <= DOLLARS`. Rates of safety results count
    /// failures: they accept `upper <= N` and `difference <= N`.
    #[schemars(extend("examples" = ["lower >= 0.8", "difference >= -0.1", "missing <= 0.05", "cost <= 5"]))]
    require: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum Scope {
    All,
    Positive,
    Negative,
    EachMetric,
    Seed,
    Broken,
    #[serde(rename = "controls_refused")]
    ControlsRefused,
    Attempts,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum Ids {
    List(#[schemars(length(min = 1))] Vec<ModelId>),
    One(ModelId),
}
