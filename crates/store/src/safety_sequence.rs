//! The order of a safety evaluation that stops when its rules are decided. Cases are its base scenarios, and a rate of a group is a metric.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aggregator::{
    sequential::sequence_order,
    statistics::{RowVerdict, ScenarioSequence, SequencedBase},
};
use schema::{
    Baseline, Benchmark, Metric, MetricType, ModelId, ProgramFlag,
    gate::{GateQuantity, GateRules, GateScope, SafetyScope},
    safety::{
        CaseKind, TestCase,
        results::{Details, RunParameters, SafetySequence, SequencedCase},
    },
    sequence::{RunUntil, Sequence, SequenceList, SequenceStart, SequencedScenario},
    text::hex,
};
use sha2::{Digest, Sha256};

use crate::{BaselineUnits, RunError, SequencedVerdict, safety_baseline_rows, safety_rates};

/// How an evaluation orders its cases.
#[derive(Clone, Debug)]
pub struct SafetySequenceOptions {
    /// When it stops.
    pub until: RunUntil,
    /// How wide intervals may be, 0 to 1, where it stops by their width.
    pub width: Option<f64>,
    /// What the order follows from.
    pub seed: u64,
    /// The chance, 0 to 1, below which an open rule is given up; 0: never.
    pub give_up: f64,
    /// The conversations of each case, before any variation.
    pub samples: u32,
    /// The run.
    pub run_id: String,
    /// SHA-256 of the rules of the gate.
    pub rules_sha256: Option<String>,
}

/// The order of `cases`, of which nothing is known so far.
#[must_use]
pub fn begin_safety_sequence<'a>(
    cases: impl IntoIterator<Item = &'a TestCase>,
    options: &SafetySequenceOptions,
) -> SafetySequence {
    let cases: HashMap<&str, &TestCase> = cases
        .into_iter()
        .map(|case| (case.id.as_str(), case))
        .collect();
    let order: Vec<&TestCase> = sequence_order(options.seed, cases.keys().copied())
        .iter()
        .filter_map(|id| cases.get(*id).copied())
        .collect();
    let sequenced = |case: &&TestCase| SequencedScenario {
        id: case.id.clone(),
        // A case always serialises.
        sha256: hex(&Sha256::digest(
            serde_json::to_vec(case).unwrap_or_default(),
        )),
    };
    SafetySequence {
        sequence: Sequence {
            format: Sequence::FORMAT.to_owned(),
            method: Sequence::METHOD.to_owned(),
            until: options.until,
            width: options.width,
            seed: options.seed,
            samples: options.samples,
            level: Sequence::LEVEL,
            give_up: options.give_up,
            looked_before: false,
            starts: vec![SequenceStart {
                run_id: options.run_id.clone(),
                seen_before: 0,
            }],
            lists: vec![SequenceList {
                from: 0,
                scenarios: order.len() as u64,
            }],
            pairs: 1,
            order: order.iter().map(sequenced).collect(),
            seen: 0,
            judge_sha256: None,
            stopped: None,
            rules_sha256: options.rules_sha256.clone(),
            rules_changed: Vec::new(),
            tests: Vec::new(),
        },
        cases: order
            .into_iter()
            .map(|case| SequencedCase {
                id: case.id.clone(),
                group: case.group.clone(),
                control: case.kind == CaseKind::Control,
            })
            .collect(),
    }
}

/// The rates whose rows are known before a case is run. With layers, how many attempts a case takes follows from their results.
#[must_use]
pub fn sequenced_rates(run: &RunParameters) -> &'static [SafetyScope] {
    let layers = run
        .single_turn
        .as_ref()
        .is_some_and(|settings| settings.maximum_iteration_layers > 0);
    match layers {
        true => &[SafetyScope::Seed, SafetyScope::Broken],
        false => &SafetyScope::ALL,
    }
}

/// Refuses rules on rates that an evaluation with such settings does not know at every look: with variations, how many attempts a case takes
/// follows from their results.
///
/// # Errors
/// When there is one.
pub fn check_sequenced_rules(rules: &GateRules, run: &RunParameters) -> Result<(), RunError> {
    let known = sequenced_rates(run);
    let mut each = rules.rules.iter();
    let unknown = each.find_map(|rule| match (&rule.scope, rule.require.quantity) {
        (_, GateQuantity::Missing | GateQuantity::Cost) => None,
        (GateScope::Safety(rate, _), _) if !known.contains(rate) => Some(rate.name()),
        _ => None,
    });
    let Some(rate) = unknown else {
        return Ok(());
    };
    Err(RunError::input(format!(
        "a rule on `{rate}` cannot be decided while an evaluation with variations goes on: how many attempts a case takes follows from \
         their results. Use `seed` or `broken`, or no variations: {}",
        ProgramFlag::new("maximum-iteration-layers").value("0")
    )))
}

/// The order as the tests of a run take it: each known rate of each group is a metric, named by [`SafetyScope::of_group`].
#[must_use]
pub fn sequence_of_rates(sequence: &SafetySequence, scopes: &[SafetyScope]) -> ScenarioSequence {
    let metrics = scopes
        .iter()
        .map(|scope| (*scope, move |group: &str| scope.of_group(group)));
    ordered(sequence, metrics.collect())
}

/// The metrics of [`sequence_of_rates`], as a benchmark.
#[must_use]
pub fn benchmark_of_rates(sequence: &SafetySequence, scopes: &[SafetyScope]) -> Benchmark {
    let metrics = sequence_of_rates(sequence, scopes).metrics;
    Benchmark {
        metrics: metrics
            .iter()
            .map(|(id, metric_type)| Metric::new(id, id, *metric_type, id))
            .collect(),
        ..Benchmark::default()
    }
}

/// The order as one rate of a result file takes it, in which groups are metrics; `None` if the evaluation ran all cases, or does not know the
/// rate at every look.
#[must_use]
pub fn safety_rate_sequence(details: &Details, scope: SafetyScope) -> Option<ScenarioSequence> {
    let (sequence, run) = (details.sequence.as_ref()?, details.run.as_ref()?);
    let is_known = sequenced_rates(run).contains(&scope);
    is_known.then(|| ordered(sequence, vec![(scope, str::to_owned)]))
}

fn ordered(
    sequence: &SafetySequence,
    rates: Vec<(SafetyScope, impl Fn(&str) -> String)>,
) -> ScenarioSequence {
    let SafetySequence { sequence, cases } = sequence;
    let (mut metrics, mut single) = (BTreeMap::new(), BTreeSet::new());
    let mut order = Vec::new();
    for case in cases {
        let mut scenarios = BTreeMap::new();
        for (scope, name) in &rates {
            let counts = match scope {
                SafetyScope::Seed | SafetyScope::Broken => !case.control,
                SafetyScope::ControlsRefused => case.control,
                SafetyScope::Attempts => true,
            };
            if counts {
                let metric = name(&case.group);
                metrics.insert(metric.clone(), MetricType::Negative);
                if *scope == SafetyScope::Broken {
                    single.insert(metric.clone());
                }
                scenarios.insert(metric, 1);
            }
        }
        order.push(SequencedBase {
            id: case.id.clone(),
            scenarios,
        });
    }
    ScenarioSequence {
        order,
        metrics,
        samples: u64::from(sequence.samples),
        single,
        lists: sequence
            .lists
            .iter()
            .map(|list| (list.from, list.scenarios))
            .collect(),
        pairs: sequence.pairs,
        width: sequence.width,
        stopped: sequence.stopped,
        stopped_targets: sequence.stopped_targets(),
    }
}

/// The rows of `details` in these rates: the metric, the case and the verdict of each. A verdict is whether it counts.
#[must_use]
pub fn rate_verdicts<'d>(
    details: &'d Details,
    scopes: &[SafetyScope],
) -> Vec<(String, &'d str, SequencedVerdict)> {
    let verdict = |verdict| match verdict {
        RowVerdict::Yes => (Some(true), false),
        RowVerdict::No => (Some(false), false),
        RowVerdict::Incomplete { counts } => (Some(counts), true),
        RowVerdict::Failed | RowVerdict::Abstained => (None, false),
    };
    let mut rows = Vec::new();
    for scope in scopes {
        for row in safety_rates::case_rows(details, *scope) {
            let (passed, may_differ) = verdict(row.verdict);
            let verdict = SequencedVerdict { passed, may_differ };
            rows.push((scope.of_group(row.group), row.case, verdict));
        }
    }
    rows
}

/// The rows of a target in a baseline of safety results, in these rates; `None` if it does not have the target.
#[must_use]
pub fn baseline_rates(
    baseline: &Baseline,
    target: &ModelId,
    scopes: &[SafetyScope],
) -> Option<BaselineUnits> {
    let rates = scopes.iter().map(|scope| {
        let rows = safety_baseline_rows(baseline, target, *scope)?;
        Some((*scope, rows))
    });
    let known: Vec<_> = rates.flatten().collect();
    (!known.is_empty()).then(|| {
        let rates = known.iter().map(|(scope, rows)| (rows, *scope));
        BaselineUnits::of_cases(rates)
    })
}
