//! Checks rules against counted rows of a benchmark or of safety results.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{
        ScenarioIndex, TargetRows, compare, compare_in, corrected_comparisons, family_statistics,
    },
};
use schema::{
    Baseline, ModelId, PhaseCost,
    gate::{GateQuantity, GateRate, GateResult, GateRule, GateRules},
    statistics::{Comparison, DifferenceFamily, DifferenceStatistics, RateStatistics},
};
use store::{RunError, read_baseline};

use super::GateOptions;

/// Rows, and the same rows in the baseline.
pub(super) struct ComparedRows {
    pub(super) rows: TargetRows,
    /// Its rows in the baseline.
    before: Option<TargetRows>,
    /// The comparisons of its rows with the baseline, over all rows and by metric.
    compared: Vec<Comparison>,
    /// The number of units of each metric that have a verdict only in the baseline.
    lost: BTreeMap<String, u64>,
}

/// The rows that a rule applies to.
pub(super) enum Selection<'a> {
    /// All of them.
    All,
    /// The rows of a metric, or of a group of safety results.
    One(&'a str),
    /// The rows of several metrics or groups.
    Several(&'a [&'a str]),
}

/// A rule for one selection of rows.
pub(super) struct Check<'a> {
    pub(super) rules: &'a GateRules,
    /// Its number, from 1.
    pub(super) number: usize,
    pub(super) rule: &'a GateRule,
    /// The rows, in words.
    pub(super) scope: String,
    pub(super) selection: Selection<'a>,
    /// Their rate.
    pub(super) rate: RateStatistics,
    /// The number of rows that were not run.
    pub(super) not_run: u64,
    pub(super) cost: Option<PhaseCost>,
}

impl ComparedRows {
    pub(super) fn new(rows: TargetRows, before: Option<TargetRows>, index: &ScenarioIndex) -> Self {
        let compared = before
            .as_ref()
            .map(|before| corrected_comparisons(&[compare(&rows, before, index)]));
        let lost = before.as_ref().map(|before| rows.lost_since(before));
        Self {
            compared: compared.unwrap_or_default(),
            lost: lost.unwrap_or_default(),
            before,
            rows,
        }
    }

    /// Checks a rule against the rows. `to_rate`: the form of the rate in the result.
    pub(super) fn result(
        &self,
        check: Check<'_>,
        index: &ScenarioIndex,
        to_rate: impl Fn(RateStatistics) -> GateRate,
    ) -> GateResult {
        let Check { rule, rate, .. } = check;
        let quantity = rule.require.quantity;
        let before = self.before.as_ref();
        let before = before.filter(|_| quantity == GateQuantity::Difference);
        let difference = before.and_then(|before| self.difference(before, index, &check.selection));
        let cost = check.cost.filter(|_| quantity == GateQuantity::Cost);
        let lost = self.lost.iter();
        let lost = lost.filter(|(metric, _)| check.selection.has(metric));
        let lost = lost.map(|(_, units)| units).sum();
        let evidence = GateEvidence {
            rate: &rate,
            alike: index.alike(),
            not_run: check.not_run,
            baseline: match before {
                None => BaselineEvidence::NoTarget,
                Some(_) => BaselineEvidence::Compared(difference.as_ref(), lost),
            },
            cost,
        };
        let decision = gate_answer(rule.require, check.rules.max_missing, &evidence);
        GateResult {
            target: self.rows.target().clone(),
            rule: check.number,
            name: rule.name.clone(),
            scope: check.scope,
            requires: rule.require,
            answer: decision.answer,
            reason: decision.reason,
            left_out: decision.left_out,
            difference,
            not_run: check.not_run,
            rate: to_rate(rate),
            cost,
        }
    }

    /// The difference from the baseline. `None` if nothing can be compared.
    fn difference(
        &self,
        before: &TargetRows,
        index: &ScenarioIndex,
        selection: &Selection<'_>,
    ) -> Option<DifferenceStatistics> {
        // The comparison of all rows comes first, followed by those of metrics, which are corrected
        // over the metrics.
        let mut compared = self.compared.iter();
        let found = match selection {
            Selection::All => compared.next(),
            Selection::One(id) => compared.skip(1).find(|found| found.scope == *id),
            Selection::Several(_) => {
                let found = compare_in(&self.rows, before, index, |metric| selection.has(metric));
                let found: Vec<_> = found.iter().collect();
                let family = DifferenceFamily::Pooled;
                return family_statistics(&found, family, index.alike()).pop();
            }
        };
        found.map(|found| found.difference.clone())
    }
}

impl Selection<'_> {
    pub(super) fn has(&self, metric: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(id) => *id == metric,
            Self::Several(ids) => ids.contains(&metric),
        }
    }
}

pub(crate) fn is_about(rule: &GateRule, target: &ModelId) -> bool {
    rule.targets.is_empty() || rule.targets.contains(target)
}

/// Whether a rule compares the rows of a target with the baseline.
pub(super) fn compares(rules: &GateRules, target: &ModelId) -> bool {
    let mut rules = rules.rules.iter();
    rules.any(|rule| rule.require.quantity == GateQuantity::Difference && is_about(rule, target))
}

/// Reads the baseline: the file in the options, otherwise the one in the rules, otherwise
/// `default`.
pub(super) fn open_baseline(
    rules: &GateRules,
    options: &GateOptions,
    default: PathBuf,
    advice: &str,
) -> Result<(PathBuf, Baseline), RunError> {
    let beside_rules = |named: &String| match options.rules.parent() {
        Some(folder) => folder.join(named),
        None => PathBuf::from(named),
    };
    let path = options.baseline.clone();
    let path = path.or_else(|| rules.baseline.as_ref().map(beside_rules));
    let path = path.unwrap_or(default);
    if !path.exists() {
        let error = RunError::in_file(&path, None, "no such file, and a rule compares with it");
        return Err(error.with_help(advice));
    }
    let baseline = read_baseline(&path)?;
    Ok((path, baseline))
}

/// Refuses a baseline if there are differences.
pub(super) fn refuse(
    path: &Path,
    what: &str,
    differ: &[String],
    advice: &str,
) -> Result<(), RunError> {
    if differ.is_empty() {
        return Ok(());
    }
    let reason = format!("{what}: {}", differ.join("; "));
    Err(RunError::in_file(path, None, reason).with_help(advice))
}

/// The error for a baseline of another benchmark.
pub(super) const OTHER_BENCHMARK: &str = "not a baseline of this benchmark";
/// The error for a baseline that was measured differently.
pub(super) const UNLIKE: &str = "not measured alike";

/// The error if no rule applies to any target.
pub(super) fn no_rule(options: &GateOptions, targets: &[ModelId]) -> RunError {
    let ids: Vec<&str> = targets.iter().map(ModelId::as_str).collect();
    RunError::in_file(
        &options.rules,
        None,
        format!("no rule is about {}", ids.join(", ")),
    )
}
