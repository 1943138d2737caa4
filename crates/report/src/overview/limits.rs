//! What forbids the conclusion of the answer: the only thing that a page puts into a box.

use schema::{
    Finding, FindingKind, FindingSeverity, ProgramCommand, ProgramName, notice,
    numbers::{point_interval, points},
    statistics::{Statistics, TargetStatistics},
    text::counted,
};

use super::ranking::{corrected_difference, is_ahead, ranked};
use crate::text::clean;

/// One kind of limit, with the models that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// What it is, in a few words with a full stop.
    pub(crate) title: String,
    /// The facts.
    pub(crate) text: String,
}

/// Findings that are a limit, by the title of the limit.
const KINDS: [(&str, &[FindingKind]); 8] = [
    ("This is a trial.", &[FindingKind::Trial]),
    ("This is a part of a run.", &[FindingKind::Shard]),
    (
        "The run stopped when rules, differences or widths were decided.",
        &[FindingKind::StoppedWhenDecided],
    ),
    (
        "Models were measured differently.",
        &[
            FindingKind::DifferentScenarios,
            FindingKind::DifferentTurns,
            FindingKind::DifferentUser,
            FindingKind::DifferentSimulation,
        ],
    ),
    (
        "Models were judged differently.",
        &[FindingKind::DifferentJudge, FindingKind::DifferentMetrics],
    ),
    (
        "The verdicts may not be the judge's.",
        &[
            FindingKind::EditedScores,
            FindingKind::OutdatedScores,
            FindingKind::RowTypes,
        ],
    ),
    (
        "A judge does not tell rows apart.",
        &[FindingKind::UnvaryingJudge],
    ),
    (
        "Labels cannot be used as they are.",
        &[FindingKind::EarlierLabels],
    ),
];

/// Whether [`limits`] has the finding.
pub(crate) fn is_limit(finding: &Finding) -> bool {
    let is_kind = || KINDS.iter().any(|(_, kinds)| kinds.contains(&finding.kind));
    finding.kind == FindingKind::ScriptedModels
        || finding.severity == FindingSeverity::Warning && is_kind()
}

/// The limits, the gravest first. `unfinished` are the targets whose rows are not all there; `program` is
/// named in commands; `line` returns a finding with its advice.
pub(crate) fn limits(
    statistics: &Statistics,
    findings: &[Finding],
    unfinished: &[String],
    program: &ProgramName,
    line: &dyn Fn(&Finding) -> String,
) -> Vec<Limit> {
    let mut found = Vec::new();
    found.extend(scripted(findings, line));
    found.extend(unfinished_run(unfinished));
    for (title, kinds) in KINDS {
        found.extend(of_kinds(findings, title, kinds, line));
    }
    found.extend(missing_decides(statistics));
    found.extend(people_leave_open(statistics, program, findings));
    found
}

fn limit(title: &str, text: String) -> Limit {
    Limit {
        title: title.to_owned(),
        text,
    }
}

/// Findings of some kinds as one limit.
fn of_kinds(
    findings: &[Finding],
    title: &str,
    kinds: &[FindingKind],
    line: &dyn Fn(&Finding) -> String,
) -> Option<Limit> {
    let of = findings.iter().filter(|finding| {
        finding.severity == FindingSeverity::Warning && kinds.contains(&finding.kind)
    });
    let lines: Vec<String> = of.map(line).collect();
    (!lines.is_empty()).then(|| limit(title, lines.join(" ")))
}

/// Scripted models in any role.
fn scripted(findings: &[Finding], line: &dyn Fn(&Finding) -> String) -> Option<Limit> {
    let of = findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::ScriptedModels);
    let lines: Vec<String> = of.map(line).collect();
    (!lines.is_empty()).then(|| limit("Nothing was measured.", lines.join(" ")))
}

/// Targets whose rows are not all there.
fn unfinished_run(unfinished: &[String]) -> Option<Limit> {
    let targets = unfinished.join(", ");
    (!unfinished.is_empty()).then(|| {
        limit(
            "The run is not complete.",
            format!("Rows of {targets} are missing, and rates can still change."),
        )
    })
}

/// A lead that the rows without a verdict could turn round: of any model that is shown to be behind, or has no verdict at all.
fn missing_decides(statistics: &Statistics) -> Option<Limit> {
    let all = ranked(statistics);
    let (best, others) = all.split_first()?;
    let lowest = best.rates.all.bounds?.lowest;
    let is_behind = |other: &TargetStatistics| is_ahead(statistics, &best.target, &other.target);
    if !others.iter().any(|other| is_behind(other)) {
        return None;
    }
    let missing =
        |of: &TargetStatistics| of.rates.all.missing.unscored() + of.rates.all.missing.incomplete;
    let could: Vec<&TargetStatistics> = others
        .iter()
        .copied()
        .filter(
            |other| match (other.rates.all.estimate, other.rates.all.bounds) {
                (None, _) => missing(other) > 0,
                (Some(_), bounds) => {
                    is_behind(other) && bounds.is_some_and(|bounds| bounds.highest >= lowest)
                }
            },
        )
        .collect();
    let (last, before) = could.split_last()?;
    let names: Vec<String> = std::iter::once(best)
        .chain(before)
        .map(|target| clean(target.target.as_str()))
        .collect();
    let rows = missing(best) + could.iter().map(|other| missing(other)).sum::<u64>();
    Some(limit(
        "Missing verdicts leave first place open.",
        format!(
            "{} of {} and {} without a verdict, or that passed with an empty or cut-off reply, could change the order.",
            counted(rows, "row", "rows"),
            names.join(", "),
            clean(last.target.as_str())
        ),
    ))
}

/// A lead that people's labels do not show.
fn people_leave_open(
    statistics: &Statistics,
    program: &ProgramName,
    findings: &[Finding],
) -> Option<Limit> {
    let all = ranked(statistics);
    let [best, second, ..] = all.as_slice() else {
        return None;
    };
    let corrected = corrected_difference(statistics, &best.target, &second.target)?;
    if !is_ahead(statistics, &best.target, &second.target) || corrected.lower > 0.0 {
        return None;
    }
    let of_both = [best, second].map(|target| {
        let people = target.judge.as_ref()?.people.as_ref()?;
        let scope = people.scopes.iter().find(|scope| scope.scope == "all")?;
        let passed = scope.both_passed + scope.judge_passed;
        Some(format!(
            "{} of {} of {} that the judge passes",
            scope.judge_passed,
            counted(passed, "row", "rows"),
            clean(target.target.as_str())
        ))
    });
    let disagree: Vec<String> = of_both.into_iter().flatten().collect();
    let benchmark = findings.first().map(|finding| finding.benchmark.as_str());
    let label = benchmark.map_or_else(String::new, |benchmark| {
        let label = ProgramCommand::new("label").on(benchmark);
        notice![" More labels narrow it: ", label, "."].text(program)
    });
    Some(limit(
        "People's labels leave first place open.",
        format!(
            "They fail {}: corrected, the lead is {} ({}).{label}",
            disagree.join(", and "),
            points(corrected.difference),
            point_interval((corrected.lower, corrected.upper)),
        ),
    ))
}
