//! What a run could show for each metric and for all together, before it costs anything.

mod assumptions;
mod memo;
mod sequences;
mod sizes;

use std::path::PathBuf;

use aggregator::statistics::{
    Plan, PlannedMetric,
    power::{GateChances, GateQuestion, gate_chances, scenarios_for_pass, scenarios_needed},
};
use engine::{PlanSettings, needed_scenarios};
use gate::{GateNames, GateSubject, is_about, read_gate_rules};
use schema::{
    Benchmark,
    gate::{GateRules, GateScope},
    statistics::{
        GatePlan, MetricPlan, PairSequencePlan, PlanAssumptions, SequencePlan, Statistics,
    },
};
use store::{
    Layout, RunError, proven_statistics, read_benchmark, read_scenario_index, read_scenarios,
};

use self::{
    assumptions::{PlannedRows, assumptions},
    memo::Memo,
    sequences::{pair_until_decided, until_decided},
    sizes::{Size, Sizes},
};

/// No page compares more targets than these with each other.
const MOST_COMPARED: u64 = 12;
/// The pooled rows of all metrics.
const ALL: &str = "all";

/// The questions that a plan answers about the rows of a run.
#[derive(Clone, Debug, Default)]
pub struct PlanQuestions {
    /// How many base scenarios does it take to show this difference between two targets? From 0 to 1.
    pub want_difference: Option<f64>,
    /// What would these rules, a `gate.yaml`, say of the rows?
    pub gate: Option<PathBuf>,
}

/// What a run of each benchmark could show for one target and for two, metric by metric and for all metrics together, and what the rules of a
/// gate would say.
///
/// Scenarios that are not generated yet are counted as the settings plan them; planned metrics have one entry that applies to each.
/// A metric that gets no scenarios has no entry. Measurements of an earlier run of the benchmark, from its scores, replace
/// assumptions; without scores they are those of its `statistics.json`. Differences are corrected over all pairs of the targets of `settings`, and over the metrics.
///
/// # Errors
/// When a benchmark or the rules cannot be read.
pub fn plan_metrics(
    layout: &Layout,
    benchmarks: &[String],
    settings: &PlanSettings,
    questions: &PlanQuestions,
) -> Result<Vec<MetricPlan>, RunError> {
    let mut plans = Vec::new();
    for name in benchmarks {
        let dir = layout.benchmark(name)?;
        let benchmark = read_benchmark(&dir)?;
        let scenarios = read_scenarios(&dir)?;
        let index = read_scenario_index(&dir)?;
        let wanted = needed_scenarios(layout, name, false)?;
        let sizes = Sizes::of(&benchmark, &scenarios, &index, &wanted, settings);
        let known = Some(&benchmark).filter(|benchmark| !benchmark.metrics.is_empty());
        let names = GateNames {
            subject: GateSubject::Benchmark(known),
            targets: None,
        };
        let rules = questions
            .gate
            .as_ref()
            .map(|path| read_gate_rules(path, names))
            .transpose()?;
        let planner = Planner {
            name,
            settings,
            benchmark: &benchmark,
            sizes,
            earlier: proven_statistics(&dir, &benchmark).map(|proven| proven.statistics),
            want_difference: questions.want_difference,
            rules: rules.as_ref(),
            shown: Memo::default(),
            gates: Memo::default(),
        };
        plans.extend(planner.plans());
    }
    Ok(plans)
}

/// The chances of a rule, the fewest scenarios with which it passes, and what a run would do that stops when it is decided.
type GateAnswers = (GateChances, Option<u64>, Option<SequencePlan>);

struct Planner<'p> {
    name: &'p str,
    settings: &'p PlanSettings,
    benchmark: &'p Benchmark,
    sizes: Sizes<'p>,
    earlier: Option<Statistics>,
    want_difference: Option<f64>,
    rules: Option<&'p GateRules>,
    shown: Memo<PlannedMetric, Option<(Plan, Option<u64>)>>,
    gates: Memo<GateQuestion, Option<GateAnswers>>,
}

impl Planner<'_> {
    fn plans(&self) -> Vec<MetricPlan> {
        if self.benchmark.metrics.is_empty() {
            return self.plans_of_none();
        }
        let ids = self.benchmark.metrics.iter().map(|metric| &*metric.id);
        let sized: Vec<(&str, Size)> = ids
            .map(|id| (id, self.sizes.size(&[id])))
            .filter(|(_, size)| size.rows > 0)
            .collect();
        let metrics = sized.len() as u64;
        let ids: Vec<&str> = sized.iter().map(|(id, _)| *id).collect();
        let all = self.sizes.size(&ids);
        let pooled = self
            .plan(Some(ALL), &PlannedRows::Scope(&GateScope::All), all, 1)
            .map(|plan| MetricPlan {
                gates: self.gates_of_all(all),
                ..plan
            });
        let by_metric = sized.iter().filter_map(|(id, size)| {
            let rows = PlannedRows::Metric(id);
            let plan = self.plan(Some(id), &rows, *size, metrics)?;
            let is_of_metric = |scope: &GateScope| match scope {
                GateScope::EachMetric => true,
                GateScope::Metric(of) => of == id,
                _ => false,
            };
            let scope = GateScope::Metric((*id).to_owned());
            Some(MetricPlan {
                gates: self.gates(is_of_metric, &scope, *size, &plan.assumed),
                ..plan
            })
        });
        pooled.into_iter().chain(by_metric).collect()
    }

    /// The plans of a benchmark without metrics: of all that are generated, and of each.
    fn plans_of_none(&self) -> Vec<MetricPlan> {
        let metrics = self.settings.metrics.high;
        let all = Size::planned(self.settings, metrics);
        let each = Size::planned(self.settings, 1);
        let mut plans = Vec::new();
        for (name, size, family, of) in [
            (Some(ALL), all, 1, GateScope::All),
            (None, each, metrics, GateScope::EachMetric),
        ] {
            let plan = self.plan(name, &PlannedRows::Unknown, size, family);
            plans.extend(plan.map(|plan| MetricPlan {
                gates: self.gates(|scope| *scope == of, &of, size, &plan.assumed),
                ..plan
            }));
        }
        plans
    }

    /// The comparisons of a page that are corrected together, for so many scopes: those of one pair where there are fewer than two targets,
    /// or more than a page compares.
    fn comparisons(&self, scopes: u64) -> u64 {
        let targets = self.settings.targets.len() as u64;
        let pairs = match targets {
            2..=MOST_COMPARED => targets * (targets - 1) / 2,
            _ => 1,
        };
        pairs.saturating_mul(scopes)
    }

    fn plan(
        &self,
        metric: Option<&str>,
        rows: &PlannedRows<'_>,
        size: Size,
        scopes: u64,
    ) -> Option<MetricPlan> {
        let assumed = assumptions(self.earlier.as_ref(), rows);
        let planned = PlannedMetric {
            scenarios: size.scenarios,
            rows_each: rows_each(size),
            icc: assumed.icc,
            rate: assumed.rate,
            correlation: assumed.correlation,
            comparisons: self.comparisons(scopes),
        };
        let (plan, needed) = self.shown.answer(planned, |planned| {
            let needed = |difference| scenarios_needed(&planned.power_question(), difference);
            Some((planned.plan()?, self.want_difference.and_then(needed)))
        })?;
        Some(MetricPlan {
            benchmark: self.name.to_owned(),
            metric: metric.map(str::to_owned),
            comparisons: planned.comparisons,
            scenarios: size.scenarios,
            rows: size.rows,
            design_effect: plan.design_effect,
            effective_rows: plan.effective_rows,
            expected_lower: plan.expected_lower,
            expected_upper: plan.expected_upper,
            upper_if_none_fails: plan.upper_if_none_fails,
            smallest_p: plan.smallest_p,
            can_differ: plan.can_differ,
            smallest_difference: plan.smallest_difference,
            scenarios_needed: needed,
            until_decided: self.pair_until_decided(metric, &planned, plan.smallest_difference),
            gates: Vec::new(),
            assumed,
        })
    }

    /// What a run of two targets or more would do that stops when it is known whether they differ: over all rows.
    fn pair_until_decided(
        &self,
        metric: Option<&str>,
        planned: &PlannedMetric,
        smallest_difference: Option<f64>,
    ) -> Option<PairSequencePlan> {
        if metric != Some(ALL) || self.settings.targets.len() < 2 {
            return None;
        }
        let difference = self.want_difference.or(smallest_difference)?;
        pair_until_decided(planned, difference, planned.comparisons)
    }

    /// The rules that look at more than one metric.
    fn gates_of_all(&self, all: Size) -> Vec<GatePlan> {
        let mut gates = Vec::new();
        for scope in self.scopes_of_several() {
            let size = match &scope {
                GateScope::All => all,
                scope => self.sizes.size(&self.metrics(scope)),
            };
            let assumed = assumptions(self.earlier.as_ref(), &PlannedRows::Scope(&scope));
            gates.extend(self.gates(|of| *of == scope, &scope, size, &assumed));
        }
        gates.sort_by_key(|gate| gate.rule);
        gates
    }

    /// The scopes of rules that look at the rows of several metrics, each once.
    fn scopes_of_several(&self) -> Vec<GateScope> {
        let mut scopes = Vec::new();
        for rule in self.rules.iter().flat_map(|rules| &rules.rules) {
            let is_one = matches!(
                rule.scope,
                GateScope::EachMetric | GateScope::Metric(_) | GateScope::Safety(..)
            );
            if !is_one && !scopes.contains(&rule.scope) {
                scopes.push(rule.scope.clone());
            }
        }
        scopes
    }

    /// The metrics of a scope of several.
    fn metrics(&self, scope: &GateScope) -> Vec<&str> {
        let hazards = self.benchmark.scored_hazards();
        let metrics = self.benchmark.metrics.iter();
        metrics
            .filter(|metric| scope.has(&metric.id, metric.metric_type, &hazards))
            .map(|metric| &*metric.id)
            .collect()
    }

    /// What the rules whose scope `is_of_rows` would say of rows of this size; `scope` is what the rows are called.
    fn gates(
        &self,
        is_of_rows: impl Fn(&GateScope) -> bool,
        scope: &GateScope,
        size: Size,
        assumed: &PlanAssumptions,
    ) -> Vec<GatePlan> {
        let targets = &self.settings.targets;
        let rules = self.rules.iter().flat_map(|rules| &rules.rules);
        let rules = (1..).zip(rules).filter(|(_, rule)| {
            is_of_rows(&rule.scope) && targets.iter().any(|target| is_about(rule, &target.id))
        });
        rules
            .filter_map(|(number, rule)| {
                let planned = PlannedMetric {
                    rows_each: rows_each(size),
                    ..PlannedMetric::default()
                };
                let question = GateQuestion {
                    scenarios: size.scenarios,
                    rows: planned.whole_rows_each(),
                    icc: assumed.icc,
                    rate: assumed.rate,
                    require: rule.require,
                };
                let (chances, needed, until_decided) = self.gates.answer(question, |question| {
                    let chances = gate_chances(question)?;
                    Some((
                        chances,
                        scenarios_for_pass(question),
                        until_decided(question),
                    ))
                })?;
                Some(GatePlan {
                    rule: number,
                    scope: scope.to_string(),
                    requires: rule.require.to_string(),
                    scenarios: size.scenarios,
                    rate: assumed.rate,
                    pass: chances.pass,
                    fail: chances.fail,
                    inconclusive: chances.inconclusive,
                    scenarios_for_pass: needed,
                    until_decided,
                })
            })
            .collect()
    }
}

/// Mean rows of each base scenario.
#[expect(clippy::cast_precision_loss, reason = "no plan has 2^53 rows")]
fn rows_each(size: Size) -> f64 {
    size.rows as f64 / size.scenarios as f64
}
