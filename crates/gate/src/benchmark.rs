//! The gate of a benchmark.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use aggregator::statistics::{ScenarioIndex, TargetRows};
use schema::{
    Baseline, BaselineTarget, Benchmark, CostSum, ModelId, Notice, PhaseCost,
    gate::{BetterRate, GateAnswer, GateRate, GateReport, GateRule, GateRules, GateScope},
    notice,
    statistics::{RateStatistics, TargetStatistics},
};
use store::{
    BenchmarkDir, Layout, RunError, WrongValue, baseline_differences, baseline_of, baseline_rows,
    choose_scored_targets,
    findings::{FindingSources, benchmark_findings},
    imported_targets, people_statistics, plays,
    provenance::{Provenance, target_bases},
    read_benchmark, read_costs, read_scenario_index, read_scenarios, read_shard, scored_targets,
    set_people, unlike_measurement, wrong_baseline,
};

use crate::{
    GateNames, GateSubject, read_gate_rules,
    rows::{
        Check, ComparedRows, OTHER_BENCHMARK, OpenResult, Selection, UNLIKE, answers, compares,
        is_about, no_rule, open_baseline, refuse,
    },
};

/// The options of a gate: its rules and targets.
#[derive(Clone, Debug, Default)]
pub struct GateOptions {
    /// The file of the rules, `gate.yaml`.
    pub rules: PathBuf,
    /// The baseline. `None`: the file named in the rules, otherwise `baseline.json` in the folder of the benchmark, or `KIND-baseline.json`
    /// in the current folder for safety results. It is read only if a rule compares with it.
    pub baseline: Option<PathBuf>,
    /// The targets; empty: all that have scores.
    pub targets: Vec<ModelId>,
}

/// Checks the rules against the scores in the tree. Rates are counted from `scores.json` again, so `statistics.json` may be missing or
/// outdated; no model is called, and nothing is written.
///
/// # Errors
/// When the rules cannot be used, there are no scores, or the baseline cannot be compared: another benchmark, that is, another uid,
/// version, number of turns or definition of a metric, or another judge; or when its counts are not those of the scores that it names.
pub fn gate(layout: &Layout, name: &str, options: &GateOptions) -> Result<GateReport, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let targets = choose_scored_targets(&dir, &options.targets)?;
    let scored = scored_targets(&dir)?;
    let names = GateNames {
        subject: GateSubject::Benchmark(Some(&benchmark)),
        targets: Some(&scored),
    };
    let rules = read_gate_rules(&options.rules, names)?;
    let baseline = match rules.need_baseline() {
        true => Some(open(&dir, &benchmark, &rules, options)?),
        false => None,
    };
    if let Some((path, baseline)) = &baseline {
        check_counts(&dir, &benchmark, path, baseline, &rules)?;
        check_measured_alike(layout, &dir, path, baseline, &rules, &targets)?;
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
    let (mut open, mut statistics) = (Vec::new(), Vec::new());
    for id in &targets {
        if let Some((results, of_target)) = tree.target(id)? {
            open.extend(results);
            statistics.push(of_target);
        }
    }
    let results = answers(&rules, open);
    if results.is_empty() {
        return Err(no_rule(options, &targets));
    }
    // What limits the rates of targets without a rule limits no answer.
    statistics.retain(|of| results.iter().any(|result| result.target == of.target));
    let targets: Vec<ModelId> = statistics.iter().map(|of| of.target.clone()).collect();
    let basis = target_bases(&dir, &targets);
    let sources = FindingSources {
        targets: &statistics,
        bases: &basis,
        reference_turns: None,
    };
    Ok(GateReport {
        benchmark: dir.name().to_owned(),
        better: BetterRate::Higher,
        answer: GateAnswer::of(results.iter().map(|result| result.answer)),
        baseline: baseline.map(|(path, _)| path.display().to_string()),
        findings: benchmark_findings(layout, &dir, sources),
        basis,
        results,
    })
}

/// Checks before a run what is known by then: the rules, the names in them if the benchmark has metrics, and the baseline.
///
/// # Errors
/// As [`gate()`], except for scores, targets, turns and judge.
pub fn check_gate(layout: &Layout, name: &str, options: &GateOptions) -> Result<(), RunError> {
    let dir = layout.benchmark(name)?;
    // A benchmark that cannot be read is reported by the run itself.
    let benchmark = read_benchmark(&dir).ok();
    let known = benchmark.as_ref().filter(|all| !all.metrics.is_empty());
    let names = GateNames {
        subject: GateSubject::Benchmark(known),
        targets: None,
    };
    let rules = read_gate_rules(&options.rules, names)?;
    if let Some(benchmark) = known.filter(|_| rules.need_baseline()) {
        open(&dir, benchmark, &rules, options)?;
    }
    Ok(())
}

/// The baseline and its file.
fn open(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    rules: &GateRules,
    options: &GateOptions,
) -> Result<(PathBuf, Baseline), RunError> {
    let advice = rewrite(dir);
    let (path, baseline) = open_baseline(rules, options, dir.baseline(), &advice)?;
    let differ = baseline_differences(&baseline, &baseline_of(dir, benchmark));
    refuse(&path, OTHER_BENCHMARK, &differ, &advice)?;
    Ok((path, baseline))
}

fn rewrite(dir: &BenchmarkDir) -> Notice {
    notice![
        dir.command("baseline"),
        " writes one from the scores in the tree"
    ]
}

/// A baseline whose scores are in the tree has to have their counts.
fn check_counts(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    path: &Path,
    baseline: &Baseline,
    rules: &GateRules,
) -> Result<(), RunError> {
    let wrong = wrong_baseline(dir, benchmark, baseline, |id| compares(rules, id));
    let in_words: Vec<String> = wrong
        .iter()
        .take(MOST_WRONG)
        .map(WrongValue::in_words)
        .collect();
    refuse(path, EDITED, &in_words, &rewrite(dir))
}

/// Conversations of another length, or verdicts of another judge, cannot be compared.
fn check_measured_alike(
    layout: &Layout,
    dir: &BenchmarkDir,
    path: &Path,
    baseline: &Baseline,
    rules: &GateRules,
    targets: &[ModelId],
) -> Result<(), RunError> {
    let provenance = Provenance::read_all(layout, dir, targets);
    let mut differ = Vec::new();
    for id in targets.iter().filter(|id| compares(rules, id)) {
        let Some(there) = baseline.targets.get(id) else {
            continue;
        };
        let known = provenance.target(id);
        let here = BaselineTarget {
            turns: known.turns(),
            judge: known.judge(),
            ..BaselineTarget::default()
        };
        differ.extend(unlike_measurement(id, there, &here));
    }
    refuse(path, UNLIKE, &differ, &rewrite(dir))
}

/// The error for a baseline that was edited.
const EDITED: &str = "its counts are not those of the scores that it was written from";
/// The most numbers that the error names.
const MOST_WRONG: usize = 3;

/// The state that the targets of a gate share.
struct GatedTree<'a> {
    dir: &'a BenchmarkDir,
    benchmark: &'a Benchmark,
    rules: &'a GateRules,
    baseline: Option<&'a Baseline>,
    index: Arc<ScenarioIndex>,
    /// Targets with imported conversations. For them, scenarios without rows do not count as missing.
    imported: Vec<ModelId>,
}

impl GatedTree<'_> {
    /// The results of the rules about a target, and its statistics; `None` if no rule is about it.
    fn target(
        &self,
        id: &ModelId,
    ) -> Result<Option<(Vec<OpenResult>, TargetStatistics)>, RunError> {
        if !self.rules.rules.iter().any(|rule| is_about(rule, id)) {
            return Ok(None);
        }
        let gated = self.open(id)?;
        let mut results = Vec::new();
        for (number, rule) in (1..).zip(&self.rules.rules) {
            if !is_about(rule, id) {
                continue;
            }
            match &rule.scope {
                GateScope::EachMetric => {
                    let each = self
                        .benchmark
                        .metrics
                        .iter()
                        .map(|metric| GateScope::Metric(metric.id.clone()));
                    results.extend(each.map(|scope| gated.result(number, rule, &scope)));
                }
                scope => results.push(gated.result(number, rule, scope)),
            }
        }
        Ok(Some((results, gated.statistics)))
    }

    fn open(&self, id: &ModelId) -> Result<GatedTarget<'_>, RunError> {
        let mut rows = self.dir.facts(self.benchmark, id)?.rows.clone();
        let not_run = match self.imported.contains(id) {
            true => Vec::new(),
            // Scenarios that were left because the rules are decided are not missing.
            false if self.index.sequence().is_some() => Vec::new(),
            false => self.add_not_run(&mut rows)?,
        };
        let mut statistics = rows.statistics(&self.index, &self.benchmark.scored_hazards());
        set_people(
            &mut statistics.judge,
            people_statistics(self.dir, &rows, &self.index)?,
        );
        let before = self.baseline.and_then(|all| baseline_rows(all, id));
        let costs = read_costs(self.dir, Some(id));
        let mut sum = CostSum::default();
        costs.values().for_each(|entry| sum.add(&entry.cost));
        Ok(GatedTarget {
            tree: self,
            rows: ComparedRows::new(rows, before),
            statistics,
            not_run,
            cost: (!costs.is_empty()).then(|| sum.total()),
        })
    }

    /// Counts the scenarios without any row of the target as rows without a verdict, as many as other scenarios have. Returns each metric
    /// and its number of such rows.
    fn add_not_run(&self, rows: &mut TargetRows) -> Result<Vec<(String, u64)>, RunError> {
        let samples = rows.most_samples().max(1);
        let part = read_shard(self.dir)?.and_then(|file| file.shard());
        let mut not_run = Vec::new();
        let scenarios = read_scenarios(self.dir)?;
        // Those of other parts are not missing in the tree of a shard.
        for scenario in scenarios.iter().filter(|row| plays(part, row)) {
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

/// The data that the rules of one target are checked against.
struct GatedTarget<'a> {
    tree: &'a GatedTree<'a>,
    rows: ComparedRows,
    statistics: TargetStatistics,
    not_run: Vec<(String, u64)>,
    cost: Option<PhaseCost>,
}

impl GatedTarget<'_> {
    fn result(&self, number: usize, rule: &GateRule, scope: &GateScope) -> OpenResult {
        let metrics = self.metrics(scope);
        let selection = match scope {
            GateScope::Metric(id) => Selection::One(id),
            GateScope::Positive | GateScope::Negative | GateScope::Hazard(_) => {
                Selection::Several(&metrics)
            }
            GateScope::All | GateScope::EachMetric | GateScope::Safety(..) => Selection::All,
        };
        let not_run = self
            .not_run
            .iter()
            .filter(|(metric, _)| selection.has(metric))
            .map(|(_, rows)| rows)
            .sum();
        let check = Check {
            number,
            rule,
            scope: scope.to_string(),
            selection,
            rate: self.rate(scope),
            not_run,
            cost: self.cost,
        };
        self.rows.check(check, &self.tree.index, GateRate::Passed)
    }

    fn rate(&self, scope: &GateScope) -> RateStatistics {
        let rates = &self.statistics.rates;
        let rate = match scope {
            GateScope::All | GateScope::EachMetric | GateScope::Safety(..) => Some(&rates.all),
            GateScope::Positive => Some(&rates.positive),
            GateScope::Negative => Some(&rates.negative),
            GateScope::Hazard(id) => rates.hazards.get(id),
            GateScope::Metric(id) => rates.metrics.get(id),
        };
        rate.cloned().unwrap_or_default()
    }

    /// The metrics of a scope with several metrics.
    fn metrics(&self, scope: &GateScope) -> Vec<&str> {
        let benchmark = self.tree.benchmark;
        let hazards = benchmark.scored_hazards();
        let metrics = benchmark.metrics.iter();
        metrics
            .filter(|metric| scope.has(&metric.id, metric.metric_type, &hazards))
            .map(|metric| metric.id.as_str())
            .collect()
    }
}
