//! Compares a judge with people who labelled some of its rows.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    MetricType,
    statistics::{AgreementStatistics, JudgeAgainstPeople, JudgeAgreement},
};

use super::{
    LabelledScenario, Ratings, ScenarioIndex, TargetRows, clusters::Cluster, corrected_rate,
    judges::agreement, label_draws::label_notes, target_rows::Unit,
};
use crate::interval::clustered::clustered_rate;

/// A row that people labelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledRow {
    /// The scenario's id.
    pub scenario: String,
    /// The metric's id.
    pub metric: String,
    /// Whether the judge passed the row; `None` without a verdict.
    pub judge: Option<bool>,
    /// The labels of people.
    pub labels: Vec<PersonLabel>,
}

/// One person's label of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonLabel {
    /// The person.
    pub labeller: String,
    /// Whether the row passes; `None` if it is unclear.
    pub passed: Option<bool>,
}

impl LabelledRow {
    /// The label of the majority; `None` if people are tied or all found it unclear.
    #[must_use]
    pub fn majority(&self) -> Option<bool> {
        majority(&self.labels)
    }
}

/// The label of the majority of people who labelled a row; `None` if they are tied or all found it unclear.
#[must_use]
pub fn majority(labels: &[PersonLabel]) -> Option<bool> {
    let passed = labels.iter().filter_map(|label| label.passed);
    let balance: i64 = passed.map(|passed| if passed { 1 } else { -1 }).sum();
    (balance != 0).then_some(balance > 0)
}

/// A row with a verdict of the judge and of people.
#[derive(Clone, Copy)]
pub(super) struct Decided<'a> {
    pub(super) base: &'a str,
    pub(super) metric: &'a str,
    pub(super) judge: bool,
    pub(super) person: bool,
}

/// The agreement between the judge that gave `rows` their verdicts and people who labelled some of them, and the rates that people would
/// give. `None` without a labelled row.
#[must_use]
pub fn judge_against_people(
    rows: &TargetRows,
    index: &ScenarioIndex,
    labelled: &[LabelledRow],
) -> Option<JudgeAgainstPeople> {
    if labelled.is_empty() {
        return None;
    }
    let units = rows.units(index);
    let decided: Vec<Decided<'_>> = labelled
        .iter()
        .filter_map(|row| {
            Some(Decided {
                base: index.base(&row.scenario),
                metric: &row.metric,
                judge: row.judge?,
                person: row.majority()?,
            })
        })
        .collect();
    let people: BTreeSet<&str> = labelled
        .iter()
        .flat_map(|row| &row.labels)
        .map(|label| label.labeller.as_str())
        .collect();
    let count = |keep: &dyn Fn(&LabelledRow) -> bool| {
        labelled
            .iter()
            .filter(|row| keep(row))
            .fold(0, |n, _| n + 1)
    };
    Some(JudgeAgainstPeople {
        labelled: count(&|_| true),
        labellers: people.iter().fold(0, |n, _| n + 1),
        undecided: count(&|row| row.majority().is_none()),
        without_verdict: count(&|row| row.majority().is_some() && row.judge.is_none()),
        of_earlier_run: 0,
        between_people: (people.len() > 1).then(|| between_people(&people, labelled)),
        scopes: scopes(&units, &decided),
        notes: label_notes(&units, &decided),
    })
}

fn between_people(people: &BTreeSet<&str>, labelled: &[LabelledRow]) -> AgreementStatistics {
    let mut ratings = Ratings::default();
    for row in labelled {
        let of_person = |person: &&str| {
            let label = row.labels.iter().find(|label| label.labeller == **person)?;
            label.passed.map(u32::from)
        };
        ratings.push(people.iter().map(of_person).collect());
    }
    agreement(&ratings, people.len())
}

/// The scopes with a labelled row: `all`, the types, the metrics.
fn scopes(units: &[Unit<'_>], decided: &[Decided<'_>]) -> Vec<JudgeAgreement> {
    let types: BTreeMap<&str, MetricType> = units
        .iter()
        .map(|unit| (unit.metric, unit.metric_type))
        .collect();
    let of_type = |wanted: MetricType| {
        let types = &types;
        move |metric: &str| types.get(metric) == Some(&wanted)
    };
    let mut found = vec![
        scope("all", units, decided, |_| true),
        scope("positive", units, decided, of_type(MetricType::Positive)),
        scope("negative", units, decided, of_type(MetricType::Negative)),
    ];
    for metric in types.keys() {
        found.push(scope(metric, units, decided, |of| of == *metric));
    }
    found.into_iter().flatten().collect()
}

fn scope(
    name: &str,
    units: &[Unit<'_>],
    decided: &[Decided<'_>],
    is_in: impl Fn(&str) -> bool,
) -> Option<JudgeAgreement> {
    let rows: Vec<&Decided<'_>> = decided.iter().filter(|row| is_in(row.metric)).collect();
    if rows.is_empty() {
        return None;
    }
    let count = |judge: bool, person: bool| {
        let same = rows
            .iter()
            .filter(|row| (row.judge, row.person) == (judge, person));
        same.fold(0, |n, _| n + 1)
    };
    let mut ratings = Ratings::default();
    for row in &rows {
        ratings.push(vec![
            Some(u32::from(row.judge)),
            Some(u32::from(row.person)),
        ]);
    }
    let agreement = agreement(&ratings, 2);
    let agreed = clustered_rate(&clusters(
        rows.iter()
            .map(|row| (row.base, u64::from(row.judge == row.person), 1)),
    ));
    let in_scope = units.iter().filter(|unit| is_in(unit.metric));
    let scenarios = labelled_scenarios(in_scope, rows.iter().copied());
    Some(JudgeAgreement {
        scope: name.to_owned(),
        rows: agreement.rows,
        scenarios: agreed.map_or(0, |rate| rate.scenarios),
        both_passed: count(true, true),
        judge_passed: count(true, false),
        people_passed: count(false, true),
        both_failed: count(false, false),
        agreement: agreement.agreement,
        lower: agreed.map(|rate| rate.lower),
        upper: agreed.map(|rate| rate.upper),
        kappa: agreement.kappa,
        ac1: agreement.ac1,
        corrected: corrected_rate(&scenarios).unwrap_or_default(),
    })
}

/// The rows of each base scenario and their labels, in the order of the ids.
fn labelled_scenarios<'a>(
    units: impl Iterator<Item = &'a Unit<'a>>,
    labelled: impl Iterator<Item = &'a Decided<'a>>,
) -> Vec<LabelledScenario> {
    let mut bases = BTreeMap::<&str, LabelledScenario>::new();
    for unit in units {
        let scenario = bases.entry(unit.base).or_default();
        scenario.judge_passed.rows += unit.counts.passed();
        scenario.judge_failed.rows += unit.counts.scored() - unit.counts.passed();
    }
    for row in labelled {
        let scenario = bases.entry(row.base).or_default();
        scenario.stratum(row.judge).add_label(row.person);
    }
    bases.into_values().collect()
}

/// The clusters of `(base scenario, passed, rows)`, in the order of the ids.
fn clusters<'a>(counts: impl Iterator<Item = (&'a str, u64, u64)>) -> Vec<Cluster> {
    let mut bases = BTreeMap::<&str, (u64, u64)>::new();
    for (base, passed, rows) in counts {
        let sum = bases.entry(base).or_default();
        sum.0 += passed;
        sum.1 += rows;
    }
    bases
        .values()
        .map(|(passed, rows)| Cluster::of_verdicts(*passed, *rows))
        .collect()
}
