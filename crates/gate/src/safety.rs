//! The gate of safety results.

use std::path::PathBuf;

use aggregator::statistics::ScenarioIndex;
use schema::{
    Baseline, Hazard, MetricType, ModelId, Notice, PhaseCost,
    gate::{
        BetterRate, GateAnswer, GateRate, GateReport, GateRule, GateRules, GateScope, GroupScope,
        SafetyScope,
    },
    notice,
    statistics::{RateStatistics, Rates},
};
use store::{
    Layout, RunError, add_safety_target, check_sequenced_rules, safety_baseline,
    safety_baseline_rows, safety_differences, safety_rate_sequence,
    safety_results::{
        OpenedResults, SafetySource, choose, findings, open, safety_baseline_file, targets,
    },
    safety_rows, unlike_measurement,
};

use crate::{
    GateNames, GateOptions, GateSubject, read_gate_rules,
    rows::{
        Check, ComparedRows, NOT_RUN, OTHER_BENCHMARK, OpenResult, Selection, UNLIKE, answers,
        compares, is_about, no_rule, open_baseline, refuse,
    },
};

/// Checks the rules against results of safety evaluations, of one kind and one target each. Rates are counted from the conversations
/// and errors; no model is called, and nothing is written.
///
/// # Errors
/// When the rules cannot be used, a file has no rates, or the baseline is of other cases, settings or judges.
pub fn gate_safety(
    layout: &Layout,
    sources: &[SafetySource<'_>],
    options: &GateOptions,
) -> Result<GateReport, RunError> {
    let (uid, opened) = open(sources)?;
    let known = targets(&opened);
    let opened = choose(opened, &options.targets)?;
    let mut groups: Vec<String> = Vec::new();
    for group in opened.iter().flat_map(|one| &one.run.groups) {
        if !groups.contains(group) {
            groups.push(group.clone());
        }
    }
    let names = GateNames {
        subject: GateSubject::Safety(&groups),
        targets: Some(&known),
    };
    let rules = read_gate_rules(&options.rules, names)?;
    let baseline = match rules.need_baseline() {
        true => Some(open_safety_baseline(layout, uid, &opened, &rules, options)?),
        false => None,
    };
    let mut open = Vec::new();
    for one in &opened {
        if one.details.sequence.is_some() {
            check_sequenced_rules(&rules, one.run)?;
        }
        let gated = GatedResults {
            one,
            rules: &rules,
            baseline: baseline.as_ref().map(|(_, baseline)| baseline),
        };
        open.extend(gated.results());
    }
    let results = answers(&rules, open);
    if results.is_empty() {
        return Err(no_rule(options, &targets(&opened)));
    }
    Ok(GateReport {
        benchmark: uid.to_owned(),
        better: BetterRate::Lower,
        answer: GateAnswer::of(results.iter().map(|result| result.answer)),
        baseline: baseline.map(|(path, _)| path.display().to_string()),
        basis: opened.iter().filter_map(|one| one.basis(layout)).collect(),
        findings: findings(layout, uid, &opened),
        results,
    })
}

/// Checks before a safety run what is known by then: the rules, the names in them, and that the baseline can be read. `uid` comes from
/// [`store::safety_uid`].
///
/// # Errors
/// As [`gate_safety`], except for results and settings.
pub fn check_safety_gate(
    layout: &Layout,
    uid: &str,
    groups: &[String],
    targets: &[ModelId],
    options: &GateOptions,
) -> Result<(), RunError> {
    let names = GateNames {
        subject: GateSubject::Safety(groups),
        targets: Some(targets),
    };
    let rules = read_gate_rules(&options.rules, names)?;
    if rules.need_baseline() {
        let advice = rewrite(layout);
        let (path, baseline) = open_baseline(&rules, options, safety_baseline_file(uid), &advice)?;
        let differ = safety_differences(&baseline, &safety_baseline(uid));
        refuse(&path, OTHER_BENCHMARK, &differ, &advice)?;
    }
    Ok(())
}

fn rewrite(layout: &Layout) -> Notice {
    let baseline = layout.command("baseline").with("safety", "FILE...");
    notice![baseline, " writes one from result files"]
}

/// The baseline and its file. Refused if these results cannot be compared with it.
fn open_safety_baseline(
    layout: &Layout,
    uid: &str,
    opened: &[OpenedResults<'_>],
    rules: &GateRules,
    options: &GateOptions,
) -> Result<(PathBuf, Baseline), RunError> {
    let advice = rewrite(layout);
    let (path, baseline) = open_baseline(rules, options, safety_baseline_file(uid), &advice)?;
    let mut here = safety_baseline(uid);
    for one in opened.iter().filter(|one| compares(rules, one.target())) {
        add_safety_target(&mut here, one.details, one.run, &one.config(layout));
    }
    let differ = safety_differences(&baseline, &here);
    refuse(&path, OTHER_BENCHMARK, &differ, &advice)?;
    let differ = here.targets.iter().flat_map(|(id, here)| {
        let there = baseline.targets.get(id);
        there.map_or_else(Vec::new, |there| unlike_measurement(id, there, here))
    });
    refuse(&path, UNLIKE, &differ.collect::<Vec<_>>(), &advice)?;
    Ok((path, baseline))
}

/// The data that the rules of one target are checked against.
struct GatedResults<'a> {
    one: &'a OpenedResults<'a>,
    rules: &'a GateRules,
    baseline: Option<&'a Baseline>,
}

/// The rows of one rate.
struct GatedRate {
    rows: ComparedRows,
    index: ScenarioIndex,
    rates: Rates,
    not_run: u64,
}

impl GatedResults<'_> {
    fn results(&self) -> Vec<OpenResult> {
        let rates = SafetyScope::ALL.map(|scope| (scope, self.rate(scope)));
        let mut results = Vec::new();
        for (number, rule) in (1..).zip(&self.rules.rules) {
            let GateScope::Safety(scope, group) = &rule.scope else {
                continue;
            };
            if !is_about(rule, self.one.target()) {
                continue;
            }
            let rate = rates.iter().find(|(name, _)| name == scope);
            let Some((_, rate)) = rate else {
                continue;
            };
            let groups: Vec<&String> = rate
                .rates
                .metrics
                .keys()
                .filter(|group| *group != NOT_RUN)
                .collect();
            let scopes: Vec<GroupScope> = match group {
                GroupScope::Each if !groups.is_empty() => groups
                    .into_iter()
                    .map(|group| GroupScope::One(group.clone()))
                    .collect(),
                GroupScope::Each => vec![GroupScope::All],
                group => vec![group.clone()],
            };
            let of_scopes = scopes.into_iter();
            results.extend(of_scopes.map(|group| self.result(number, rule, *scope, rate, &group)));
        }
        results
    }

    fn rate(&self, scope: SafetyScope) -> GatedRate {
        let target = self.one.target();
        let mut rows = safety_rows(self.one.details, target, scope);
        let not_run = self.one.not_run(scope);
        for number in 0..not_run {
            let case = format!("not run {number}");
            rows.push_failed((&case, NOT_RUN, MetricType::Negative), 1);
        }
        // Any of the rows that were not run may belong to the group.
        let with_not_run = |group: &String| Hazard {
            id: group.clone(),
            metrics: vec![group.clone(), NOT_RUN.to_owned()],
            ..Hazard::default()
        };
        let groups: Vec<Hazard> = self.one.run.groups.iter().map(with_not_run).collect();
        let cases = ScenarioIndex::of_cases();
        let index = match safety_rate_sequence(self.one.details, scope) {
            Some(sequence) => cases.in_sequence(sequence),
            None => cases,
        };
        let rates = rows.statistics(&index, &groups).rates;
        let before = self
            .baseline
            .and_then(|all| safety_baseline_rows(all, target, scope));
        GatedRate {
            rows: ComparedRows::new(rows, before),
            index,
            rates,
            not_run,
        }
    }

    fn result(
        &self,
        number: usize,
        rule: &GateRule,
        scope: SafetyScope,
        rate: &GatedRate,
        group: &GroupScope,
    ) -> OpenResult {
        let (selection, of_rows) = match group {
            GroupScope::One(name) => (Selection::One(name), rate.rates.hazards.get(name)),
            GroupScope::All | GroupScope::Each => (Selection::All, Some(&rate.rates.all)),
        };
        let check = Check {
            number,
            rule,
            scope: GateScope::Safety(scope, group.clone()).to_string(),
            selection,
            rate: of_rows.cloned().unwrap_or_default(),
            not_run: rate.not_run,
            cost: self.cost(),
        };
        let to_rate = |rate: RateStatistics| GateRate::Failed(rate.into());
        rate.rows.check(check, &rate.index, to_rate)
    }

    /// The cost of the file's rows; `None` if no row has one.
    fn cost(&self) -> Option<PhaseCost> {
        let details = self.one.details;
        let conversations = details.conversations.iter().map(|row| row.usage.is_some());
        let mut says = conversations.chain(details.errors.iter().map(|row| row.usage.is_some()));
        says.any(|says| says).then(|| details.cost())
    }
}
