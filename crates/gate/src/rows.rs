//! Checks rules against counted rows of a benchmark or of safety results.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{
        AlikeBy, GateComparison, GateDifference, ScenarioIndex, TargetRows, gate_comparisons,
        gate_difference,
    },
};
use schema::{
    Baseline, ModelId, Notice, PhaseCost,
    gate::{
        DifferenceBounds, GateQuantity, GateRate, GateRequirement, GateResult, GateRule, GateRules,
    },
    statistics::RateStatistics,
};
use store::{RunError, read_baseline};

use crate::GateOptions;

/// The group of rows of safety results that were not run: which cases they are is unknown, so they are not compared.
pub(crate) const NOT_RUN: &str = "";

/// Rows, and the same rows in the baseline.
pub(crate) struct ComparedRows {
    rows: TargetRows,
    before: Option<TargetRows>,
}

/// The rows that a rule applies to.
pub(crate) enum Selection<'a> {
    /// All of them.
    All,
    /// The rows of a metric, or of a group of safety results.
    One(&'a str),
    /// The rows of several metrics or groups.
    Several(&'a [&'a str]),
}

/// A rule for one selection of rows.
pub(crate) struct Check<'a> {
    /// Its number, from 1.
    pub(crate) number: usize,
    pub(crate) rule: &'a GateRule,
    /// The rows, in words.
    pub(crate) scope: String,
    pub(crate) selection: Selection<'a>,
    /// Their rate.
    pub(crate) rate: RateStatistics,
    /// The number of rows that were not run.
    pub(crate) not_run: u64,
    pub(crate) cost: Option<PhaseCost>,
}

impl ComparedRows {
    pub(crate) fn new(rows: TargetRows, before: Option<TargetRows>) -> Self {
        Self { rows, before }
    }

    /// A rule for the rows, before the differences of all its targets and metrics are corrected.
    pub(crate) fn check(
        &self,
        check: Check<'_>,
        index: &ScenarioIndex,
        to_rate: fn(RateStatistics) -> GateRate,
    ) -> OpenResult {
        let quantity = check.rule.require.quantity;
        let before = self
            .before
            .as_ref()
            .filter(|_| quantity == GateQuantity::Difference);
        let is_in = |metric: &str| metric != NOT_RUN && check.selection.has(metric);
        OpenResult {
            target: self.rows.target().clone(),
            rule: check.number,
            name: check.rule.name.clone(),
            scope: check.scope,
            require: check.rule.require,
            rate: check.rate,
            to_rate,
            not_run: check.not_run,
            alike: index.alike(),
            has_baseline: before.is_some(),
            difference: before.and_then(|before| gate_difference(&self.rows, before, index, is_in)),
            cost: check.cost.filter(|_| quantity == GateQuantity::Cost),
        }
    }
}

/// A rule for one selection of rows, without its answer.
pub(crate) struct OpenResult {
    target: ModelId,
    rule: usize,
    name: Option<String>,
    scope: String,
    require: GateRequirement,
    rate: RateStatistics,
    to_rate: fn(RateStatistics) -> GateRate,
    not_run: u64,
    alike: AlikeBy,
    /// Whether the rule compares, and the baseline has the target.
    has_baseline: bool,
    difference: Option<GateDifference>,
    cost: Option<PhaseCost>,
}

impl OpenResult {
    fn answered(self, max_missing: f64, compared: Option<GateComparison>) -> GateResult {
        let evidence = GateEvidence {
            rate: &self.rate,
            alike: self.alike,
            not_run: self.not_run,
            baseline: match self.has_baseline {
                false => BaselineEvidence::NoTarget,
                true => BaselineEvidence::Compared(compared.as_ref()),
            },
            cost: self.cost,
        };
        let decision = gate_answer(self.require, max_missing, &evidence);
        let ends = compared.as_ref().map(|found| match decision.left_out {
            0 => (found.lower, found.upper),
            _ => (found.measured.lower, found.measured.upper),
        });
        GateResult {
            target: self.target,
            rule: self.rule,
            name: self.name,
            scope: self.scope,
            requires: self.require,
            answer: decision.answer,
            reason: decision.reason,
            left_out: decision.left_out,
            difference: compared.map(|found| found.measured),
            difference_bounds: ends.map(|(lower, upper)| DifferenceBounds { lower, upper }),
            not_run: self.not_run,
            rate: (self.to_rate)(self.rate),
            cost: self.cost,
        }
    }
}

/// The answers, in the order of `open`. The differences of each rule, over its targets and metrics, are corrected together.
pub(crate) fn answers(rules: &GateRules, open: Vec<OpenResult>) -> Vec<GateResult> {
    let mut families: BTreeMap<usize, Vec<&GateDifference>> = BTreeMap::new();
    for result in &open {
        let family = families.entry(result.rule).or_default();
        family.extend(&result.difference);
    }
    let alike = open.first().map(|result| result.alike).unwrap_or_default();
    let mut compared: BTreeMap<usize, _> = families
        .into_iter()
        .map(|(rule, family)| (rule, gate_comparisons(&family, alike).into_iter()))
        .collect();
    let results = open.into_iter();
    results
        .map(|result| {
            let compared = match result.difference {
                Some(_) => compared.get_mut(&result.rule).and_then(Iterator::next),
                None => None,
            };
            result.answered(rules.max_missing, compared)
        })
        .collect()
}

impl Selection<'_> {
    pub(crate) fn has(&self, metric: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(id) => *id == metric,
            Self::Several(ids) => ids.contains(&metric),
        }
    }
}

/// Whether a rule applies to a target.
#[must_use]
pub fn is_about(rule: &GateRule, target: &ModelId) -> bool {
    rule.targets.is_empty() || rule.targets.contains(target)
}

/// Whether a rule compares the rows of a target with the baseline.
pub(crate) fn compares(rules: &GateRules, target: &ModelId) -> bool {
    let mut rules = rules.rules.iter();
    rules.any(|rule| rule.require.quantity == GateQuantity::Difference && is_about(rule, target))
}

/// Reads the baseline: the file in the options, otherwise the one in the rules, otherwise
/// `default`.
pub(crate) fn open_baseline(
    rules: &GateRules,
    options: &GateOptions,
    default: PathBuf,
    advice: &Notice,
) -> Result<(PathBuf, Baseline), RunError> {
    let beside_rules = |named: &String| match options.rules.parent() {
        Some(folder) => folder.join(named),
        None => PathBuf::from(named),
    };
    let path = options
        .baseline
        .clone()
        .or_else(|| rules.baseline.as_ref().map(beside_rules))
        .unwrap_or(default);
    if !path.exists() {
        let error = RunError::in_file(&path, None, "no such file, and a rule compares with it");
        return Err(error.with_help(advice.clone()));
    }
    let baseline = read_baseline(&path)?;
    Ok((path, baseline))
}

/// Refuses a baseline if there are differences.
pub(crate) fn refuse(
    path: &Path,
    what: &str,
    differ: &[String],
    advice: &Notice,
) -> Result<(), RunError> {
    if differ.is_empty() {
        return Ok(());
    }
    let reason = format!("{what}: {}", differ.join("; "));
    Err(RunError::in_file(path, None, reason).with_help(advice.clone()))
}

/// The error for a baseline of another benchmark.
pub(crate) const OTHER_BENCHMARK: &str = "not a baseline of this benchmark";
/// The error for a baseline that was measured differently.
pub(crate) const UNLIKE: &str = "not measured alike";

/// The error if no rule applies to any target.
pub(crate) fn no_rule(options: &GateOptions, targets: &[ModelId]) -> RunError {
    let ids: Vec<&str> = targets.iter().map(ModelId::as_str).collect();
    RunError::in_file(
        &options.rules,
        None,
        format!("no rule is about {}", ids.join(", ")),
    )
}
