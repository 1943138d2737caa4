//! The gate of a benchmark: rules held against the rows of its tree.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aggregator::{
    BaselineEvidence, GateEvidence, gate_answer,
    statistics::{ScenarioIndex, TargetRows, compare, compare_in},
};
use schema::{
    Baseline, Benchmark, CostSum, Metric, MetricType, ModelId, PhaseCost,
    gate::{GateAnswer, GateQuantity, GateReport, GateResult, GateRule, GateRules, GateScope},
    statistics::{Comparison, DifferenceStatistics, RateStatistics, Rates},
};
use store::{
    BenchmarkDir, GateNames, Layout, RunError, baseline_differences, baseline_of, baseline_rows,
    count_replies, imported_targets, provenance::Provenance, read_baseline, read_benchmark,
    read_costs, read_gate_rules, read_scenario_index, read_scenarios, read_target_rows,
    scored_targets,
};

use crate::baseline::gated_targets;

/// Which rules a gate holds against which targets.
#[derive(Clone, Debug, Default)]
pub struct GateOptions {
    /// The file of the rules, `gate.yaml`.
    pub rules: PathBuf,
    /// The baseline. `None`: the one that the rules name, else `baseline.json` in the folder of the benchmark. It is read only where a rule
    /// compares with it.
    pub baseline: Option<PathBuf>,
    /// The targets: none for all that have scores.
    pub targets: Vec<ModelId>,
}

/// Holds the rules against the scores in the tree. Rates are counted from `scores.json` again, so that `statistics.json` may be missing or
/// old; no model is called, and nothing is written.
///
/// # Errors
/// When the rules cannot be used, there are no scores, or the baseline is of another benchmark: with another uid, version, number of turns
/// or definition of a metric.
pub fn gate(layout: &Layout, name: &str, options: &GateOptions) -> Result<GateReport, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let targets = gated_targets(&dir, &options.targets)?;
    let scored = scored_targets(&dir)?;
    let names = GateNames {
        benchmark: Some(&benchmark),
        targets: Some(&scored),
    };
    let rules = read_gate_rules(&options.rules, names)?;
    let baseline = match rules.need_baseline() {
        true => Some(open_baseline(layout, &dir, &benchmark, &rules, options)?),
        false => None,
    };
    if let Some((path, baseline)) = &baseline {
        check_turns(layout, &dir, path, baseline, &rules, &targets)?;
    }
    let tree = GatedTree {
        index: read_scenario_index(&dir)?,
        imported: imported_targets(layout, name)?
            .into_iter()
            .map(|target| target.id)
            .collect(),
        baseline: baseline.as_ref().map(|(_, baseline)| baseline),
        dir: &dir,
        benchmark: &benchmark,
        rules: &rules,
    };
    let mut results = Vec::new();
    for id in &targets {
        results.extend(tree.target(id)?);
    }
    if results.is_empty() {
        let ids: Vec<&str> = targets.iter().map(ModelId::as_str).collect();
        return Err(RunError::in_file(
            &options.rules,
            None,
            format!("no rule is about {}", ids.join(", ")),
        ));
    }
    Ok(GateReport {
        benchmark: dir.name().to_owned(),
        answer: GateAnswer::of(results.iter().map(|result| result.answer)),
        baseline: baseline.map(|(path, _)| path.display().to_string()),
        results,
    })
}

/// Checks before a run what can be known before it: the rules, the names in them where the benchmark has metrics, and the baseline.
///
/// # Errors
/// As [`gate()`], but for scores, targets and turns.
pub fn check_gate(layout: &Layout, name: &str, options: &GateOptions) -> Result<(), RunError> {
    let dir = layout.benchmark(name)?;
    // One that cannot be read is reported by the run itself.
    let benchmark = read_benchmark(&dir).ok();
    let known = benchmark.as_ref().filter(|all| !all.metrics.is_empty());
    let names = GateNames {
        benchmark: known,
        targets: None,
    };
    let rules = read_gate_rules(&options.rules, names)?;
    if let Some(benchmark) = known.filter(|_| rules.need_baseline()) {
        open_baseline(layout, &dir, benchmark, &rules, options)?;
    }
    Ok(())
}

/// The baseline and its file.
fn open_baseline(
    layout: &Layout,
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    rules: &GateRules,
    options: &GateOptions,
) -> Result<(PathBuf, Baseline), RunError> {
    let beside_rules = |named: &String| match options.rules.parent() {
        Some(folder) => folder.join(named),
        None => PathBuf::from(named),
    };
    let path = options.baseline.clone();
    let path = path.or_else(|| rules.baseline.as_ref().map(beside_rules));
    let path = path.unwrap_or_else(|| dir.baseline());
    let advice = rewrite(layout, dir);
    if !path.exists() {
        let error = RunError::in_file(&path, None, "no such file, and a rule compares with it");
        return Err(error.with_help(advice));
    }
    let baseline = read_baseline(&path)?;
    let differ = baseline_differences(&baseline, &baseline_of(dir, benchmark));
    refuse(&path, &differ, advice)?;
    Ok((path, baseline))
}

fn rewrite(layout: &Layout, dir: &BenchmarkDir) -> String {
    format!(
        "`{} baseline {}` writes one from the scores in the tree",
        layout.command(),
        dir.name()
    )
}

/// Refuses a baseline with these differences, where there are any.
fn refuse(path: &Path, differ: &[String], advice: String) -> Result<(), RunError> {
    if differ.is_empty() {
        return Ok(());
    }
    let reason = format!("not a baseline of this benchmark: {}", differ.join("; "));
    Err(RunError::in_file(path, None, reason).with_help(advice))
}

/// Conversations of another length are not comparable. What is not known does not differ.
fn check_turns(
    layout: &Layout,
    dir: &BenchmarkDir,
    path: &Path,
    baseline: &Baseline,
    rules: &GateRules,
    targets: &[ModelId],
) -> Result<(), RunError> {
    let provenance = Provenance::read_all(layout, dir, targets);
    let mut differ = Vec::new();
    for id in targets {
        let is_compared = |rule: &&GateRule| {
            rule.require.quantity == GateQuantity::Difference && is_about(rule, id)
        };
        let there = baseline.targets.get(id).and_then(|target| target.turns);
        let here = provenance.target(id).turns();
        if let (Some(there), Some(here)) = (there, here)
            && there != here
            && rules.rules.iter().any(|rule| is_compared(&rule))
        {
            differ.push(format!("turns of {id} are {there} there and {here} here"));
        }
    }
    refuse(path, &differ, rewrite(layout, dir))
}

fn is_about(rule: &GateRule, target: &ModelId) -> bool {
    rule.targets.is_empty() || rule.targets.contains(target)
}

/// What the targets of a gate have in common.
struct GatedTree<'a> {
    dir: &'a BenchmarkDir,
    benchmark: &'a Benchmark,
    rules: &'a GateRules,
    baseline: Option<&'a Baseline>,
    index: ScenarioIndex,
    /// Targets whose conversations came from elsewhere: what they have is all there is.
    imported: Vec<ModelId>,
}

impl GatedTree<'_> {
    fn target(&self, id: &ModelId) -> Result<Vec<GateResult>, RunError> {
        if !self.rules.rules.iter().any(|rule| is_about(rule, id)) {
            return Ok(Vec::new());
        }
        let gated = self.open(id)?;
        let mut results = Vec::new();
        for (number, rule) in (1..).zip(&self.rules.rules) {
            if !is_about(rule, id) {
                continue;
            }
            match &rule.scope {
                GateScope::EachMetric => {
                    let each = self.benchmark.metrics.iter();
                    let each = each.map(|metric| GateScope::Metric(metric.id.clone()));
                    results.extend(each.map(|scope| gated.result(number, rule, &scope)));
                }
                scope => results.push(gated.result(number, rule, scope)),
            }
        }
        Ok(results)
    }

    fn open(&self, id: &ModelId) -> Result<GatedTarget<'_>, RunError> {
        let files = self.dir.target(id)?;
        // Scores alone are enough: conversations that are missing or unreadable are no error here.
        let replies = count_replies(&files.conversations(), self.benchmark).ok();
        let mut rows = read_target_rows(self.dir, self.benchmark, id, replies.as_ref())?;
        let not_run = match self.imported.contains(id) {
            true => Vec::new(),
            false => self.add_not_run(&mut rows)?,
        };
        let rates = rows
            .statistics(&self.index, &self.benchmark.scored_hazards())
            .rates;
        let before = self.baseline.and_then(|all| baseline_rows(all, id));
        let compared = before
            .as_ref()
            .map(|before| compare(&rows, before, &self.index));
        let lost = before.as_ref().map(|before| rows.lost_since(before));
        let costs = read_costs(&files.cost());
        let mut sum = CostSum::default();
        costs.values().for_each(|entry| sum.add(&entry.cost));
        Ok(GatedTarget {
            tree: self,
            rows,
            rates,
            not_run,
            lost: lost.unwrap_or_default(),
            before,
            compared: compared.unwrap_or_default(),
            cost: (!costs.is_empty()).then(|| sum.total()),
        })
    }

    /// Counts the scenarios that the target has no row of as rows without a verdict, as many as other scenarios have. Returns the metric of
    /// each and how many rows it is.
    fn add_not_run(&self, rows: &mut TargetRows) -> Result<Vec<(String, u64)>, RunError> {
        let samples = rows.most_samples().max(1);
        let mut not_run = Vec::new();
        for scenario in read_scenarios(&self.dir.scenarios())? {
            let Some(metric) = self.benchmark.metric(&scenario.metric_id) else {
                continue;
            };
            if !rows.has(&scenario.id, &metric.id) {
                rows.push_failed((&scenario.id, &metric.id, metric.metric_type), samples);
                not_run.push((metric.id.clone(), samples));
            }
        }
        Ok(not_run)
    }
}

/// What the rules of one target are held against.
struct GatedTarget<'a> {
    tree: &'a GatedTree<'a>,
    rows: TargetRows,
    rates: Rates,
    not_run: Vec<(String, u64)>,
    /// Its rows in the baseline.
    before: Option<TargetRows>,
    /// Its rows compared with those, over all and by metric.
    compared: Vec<Comparison>,
    /// How many units of each metric have a verdict in the baseline alone.
    lost: BTreeMap<String, u64>,
    cost: Option<PhaseCost>,
}

impl GatedTarget<'_> {
    fn result(&self, number: usize, rule: &GateRule, scope: &GateScope) -> GateResult {
        let quantity = rule.require.quantity;
        let rate = self.rate(scope);
        let before = self.before.as_ref();
        let before = before.filter(|_| quantity == GateQuantity::Difference);
        let difference = before.and_then(|before| self.difference(before, scope));
        let cost = self.cost.filter(|_| quantity == GateQuantity::Cost);
        let metrics = self.metrics(scope);
        let not_run = self.not_run.iter();
        let not_run = not_run.filter(|(metric, _)| metrics.contains(&metric.as_str()));
        let not_run = not_run.map(|(_, rows)| rows).sum();
        let lost = self.lost.iter();
        let lost = lost.filter(|(metric, _)| metrics.contains(&metric.as_str()));
        let lost = lost.map(|(_, units)| units).sum();
        let baseline = match before {
            None => BaselineEvidence::NoTarget,
            Some(_) => BaselineEvidence::Compared(difference.as_ref(), lost),
        };
        let evidence = GateEvidence {
            rate: &rate,
            not_run,
            baseline,
            cost,
        };
        let (answer, reason) = gate_answer(rule.require, self.tree.rules.max_missing, &evidence);
        GateResult {
            target: self.rows.target().clone(),
            rule: number,
            name: rule.name.clone(),
            scope: scope.to_string(),
            requires: rule.require,
            answer,
            reason,
            difference,
            not_run,
            rate,
            cost,
        }
    }

    fn rate(&self, scope: &GateScope) -> RateStatistics {
        let rates = &self.rates;
        let rate = match scope {
            GateScope::All | GateScope::EachMetric => Some(&rates.all),
            GateScope::Positive => Some(&rates.positive),
            GateScope::Negative => Some(&rates.negative),
            GateScope::Hazard(id) => rates.hazards.get(id),
            GateScope::Metric(id) => rates.metrics.get(id),
        };
        rate.cloned().unwrap_or_default()
    }

    /// The metrics whose rows are in a scope.
    fn metrics(&self, scope: &GateScope) -> Vec<&str> {
        let benchmark = self.tree.benchmark;
        let of = |is_in: &dyn Fn(&Metric) -> bool| {
            let metrics = benchmark.metrics.iter().filter(|metric| is_in(metric));
            metrics.map(|metric| metric.id.as_str()).collect()
        };
        match scope {
            GateScope::All | GateScope::EachMetric => of(&|_| true),
            GateScope::Positive => of(&|metric| metric.metric_type == MetricType::Positive),
            GateScope::Negative => of(&|metric| metric.metric_type == MetricType::Negative),
            GateScope::Metric(id) => of(&|metric| metric.id == *id),
            GateScope::Hazard(id) => {
                let hazards = benchmark.scored_hazards();
                let hazard = hazards.iter().find(|hazard| hazard.id == *id);
                of(&|metric| hazard.is_some_and(|hazard| hazard.metrics.contains(&metric.id)))
            }
        }
    }

    /// The difference to the baseline. `None` where nothing can be compared.
    fn difference(&self, before: &TargetRows, scope: &GateScope) -> Option<DifferenceStatistics> {
        // That of all rows, then those of metrics, which are corrected over the metrics.
        let mut compared = self.compared.iter();
        let found = match scope {
            GateScope::All | GateScope::EachMetric => compared.next(),
            GateScope::Metric(id) => compared.skip(1).find(|found| found.scope == *id),
            GateScope::Positive | GateScope::Negative | GateScope::Hazard(_) => {
                let metrics = self.metrics(scope);
                let is_in = |metric: &str| metrics.contains(&metric);
                return compare_in(&self.rows, before, &self.tree.index, is_in);
            }
        };
        found.map(|found| found.difference.clone())
    }
}
