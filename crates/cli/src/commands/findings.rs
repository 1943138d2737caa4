//! Shows what limits the conclusions from results.

use std::collections::BTreeMap;

use probity::Phase;
use report::finding_lines;
use schema::{Finding, FindingKind, FindingSeverity, ModelId, Notice, ProgramCommand, notice};
use store::{
    findings::{role_findings, tree_findings},
    provenance::ScriptedAuthors,
    read_benchmark, read_scenario_index, scored_targets,
};

use super::Context;
use crate::config::{Config, Settings};

/// The most warnings of one kind. More are folded to a number.
const MOST: usize = 3;

/// The findings on the models of the configuration, for a run of these benchmarks, or of any. They are about none of them.
fn configured(context: &Context, settings: &Settings, names: &[String]) -> Vec<Finding> {
    let found = role_findings("", &settings.models.roles());
    let is_judged = |name: &String| {
        let dir = context.layout.benchmark(name).ok();
        let benchmark = dir.and_then(|dir| read_benchmark(&dir).ok());
        benchmark.is_none_or(|benchmark| benchmark.needs_judges())
    };
    let judged = names.is_empty() || names.iter().any(is_judged);
    let shown = |finding: &Finding| judged || finding.kind != FindingKind::OwnJudge;
    found.into_iter().filter(shown).collect()
}

/// What a run of `phases` on a benchmark shows before its first call. Without a phase that calls models it shows nothing.
pub fn before_run(
    context: &Context,
    config: &Config,
    benchmark: &str,
    phases: &[Phase],
) -> Vec<Finding> {
    match phases {
        [Phase::Aggregate] => Vec::new(),
        _ => {
            let mut findings = configured(context, &config.settings, &[benchmark.to_owned()]);
            findings.extend(context.scripted_authors(config, benchmark, phases));
            findings
        }
    }
}

/// What a plan of `phases` shows.
pub struct PlanFindings {
    /// What the configured models already say of the results to come.
    pub configured: Vec<Finding>,
    /// What limits the results that are in the trees, beyond that.
    pub present: Vec<Finding>,
}

impl PlanFindings {
    /// The findings of the benchmarks `names`. Results that cannot be read have none.
    pub fn new(context: &Context, config: &Config, names: &[String], phases: &[Phase]) -> Self {
        let mut all = configured(context, &config.settings, names);
        for name in names {
            all.extend(context.scripted_authors(config, name, phases));
        }
        let of_trees: Vec<Finding> = names
            .iter()
            .filter_map(|name| in_tree(context, name))
            .flatten()
            .collect();
        Self {
            present: not_shown(&all, &of_trees).cloned().collect(),
            configured: all,
        }
    }
}

/// What limits the results that are in the tree of a benchmark.
fn in_tree(context: &Context, name: &str) -> Option<Vec<Finding>> {
    let dir = context.layout.benchmark(name).ok()?;
    let targets = scored_targets(&dir).ok()?;
    if targets.is_empty() {
        return None;
    }
    let benchmark = read_benchmark(&dir).ok()?;
    let index = read_scenario_index(&dir).ok();
    Some(tree_findings(
        &context.layout,
        &dir,
        &benchmark,
        &targets,
        index.as_deref(),
    ))
}

/// The findings of a run whose beginning did not show them, where it showed `shown`: those of another kind, with other advice, or about a
/// target that `shown` does not name.
pub fn not_shown<'f>(
    shown: &[Finding],
    findings: &'f [Finding],
) -> impl Iterator<Item = &'f Finding> + use<'f> {
    let shown = shown.to_vec();
    findings
        .iter()
        .filter(move |finding| !covers(&shown, finding))
}

/// Whether the findings `shown` say of all targets of `finding` what it says. A finding without targets is about all.
fn covers(shown: &[Finding], finding: &Finding) -> bool {
    let alike: Vec<&Finding> = shown
        .iter()
        .filter(|one| one.kind == finding.kind && one.advice == finding.advice)
        .collect();
    let is_shown = |target: &ModelId| alike.iter().any(|one| one.is_about(target.as_str()));
    match finding.targets.is_empty() {
        true => alike.iter().any(|one| one.targets.is_empty()),
        false => finding.targets.iter().all(is_shown),
    }
}

/// The texts of the warnings, for programs.
pub fn warnings(findings: &[Finding]) -> Vec<&str> {
    let warnings = findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Warning);
    warnings.map(|finding| finding.text.as_str()).collect()
}

/// The notes as text for standard output, below the results.
pub fn notes<'f>(
    context: &Context,
    findings: impl IntoIterator<Item = &'f Finding>,
    width: usize,
) -> String {
    let findings = findings.into_iter();
    let notes = findings.filter(|finding| finding.severity == FindingSeverity::Note);
    finding_lines(notes, &context.program, width)
}

/// The fact and its advice in a line; `change` completes the commands of advice.
pub fn line(
    context: &Context,
    finding: &Finding,
    change: impl Fn(ProgramCommand) -> ProgramCommand,
) -> String {
    let line = match &finding.advice {
        Some(advice) => notice![
            finding.text.as_str(),
            "; ",
            advice.notice(&finding.benchmark),
            "."
        ],
        None => notice![finding.text.as_str(), "."],
    };
    line.map_commands(change).text(&context.program)
}

/// The finding with its benchmark, and its advice as help.
fn with_help(finding: &Finding) -> Notice {
    let benchmark = finding.benchmark.as_str();
    let fact = match benchmark {
        "" => finding.text.clone(),
        benchmark => format!("{benchmark}: {}", finding.text),
    };
    match &finding.advice {
        Some(advice) => notice![fact, "\nhelp: ", advice.notice(benchmark)],
        None => fact.into(),
    }
}

impl Context {
    /// Prints the warnings among `findings` on standard error.
    pub fn warn_of<'f>(&self, findings: impl IntoIterator<Item = &'f Finding>) {
        self.warn_with(findings, |command| command);
    }

    /// Like [`Context::warn_of`]; `change` completes the commands of advice.
    pub fn warn_with<'f>(
        &self,
        findings: impl IntoIterator<Item = &'f Finding>,
        change: impl Fn(ProgramCommand) -> ProgramCommand,
    ) {
        let findings = findings.into_iter();
        let mut kinds: BTreeMap<FindingKind, Vec<&Finding>> = BTreeMap::new();
        for finding in findings.filter(|finding| finding.severity == FindingSeverity::Warning) {
            kinds.entry(finding.kind).or_default().push(finding);
        }
        for alike in kinds.values() {
            let shown = if alike.len() > MOST { MOST - 1 } else { MOST };
            for finding in alike.iter().take(shown) {
                let notice = with_help(finding).map_commands(&change);
                self.terminal.warning(&notice.text(&self.program));
            }
            match alike.len().saturating_sub(shown) {
                0 => {}
                more => self.terminal.warning(&format!(
                    "{more} more warnings like the last one; `--json` has all"
                )),
            }
        }
    }

    /// Reports before a run of these benchmarks, or of any, what the configured models already say about its results.
    pub fn report_configured(&self, config: &Config, names: &[String]) {
        let why = match (self.global.scripted, &config.settings.file) {
            (true, _) => "--scripted",
            (false, Some(_)) => "the config says so",
            (false, None) => "there is no config file",
        };
        let mut findings = configured(self, &config.settings, names);
        for finding in &mut findings {
            // Only models that are all scripted are a note.
            if finding.severity == FindingSeverity::Note {
                finding.text.push_str(&format!(" ({why})"));
            }
        }
        self.report_findings(&findings);
    }

    /// Prints warnings and notes on standard error.
    pub fn report_findings(&self, findings: &[Finding]) {
        let notes = findings.iter();
        for finding in notes.filter(|finding| finding.severity == FindingSeverity::Note) {
            self.terminal.note(&with_help(finding).text(&self.program));
        }
        self.warn_of(findings);
    }

    /// Warns if a run is about to measure real models with metrics and scenarios from scripted ones.
    pub fn warn_of_scripted_scenarios(&self, config: &Config, names: &[String], phases: &[Phase]) {
        for name in names {
            self.warn_of(&self.scripted_authors(config, name, phases));
        }
    }

    fn scripted_authors(&self, config: &Config, name: &str, phases: &[Phase]) -> Option<Finding> {
        let models = &config.settings.models;
        let measures = phases.contains(&Phase::Simulate) || phases.contains(&Phase::Evaluate);
        if !measures || !models.measures_real() {
            return None;
        }
        let real: Vec<ModelId> = models
            .targets
            .iter()
            .map(|entry| entry.id.clone())
            .collect();
        let dir = self.layout.benchmark(name).ok()?;
        ScriptedAuthors::read(&self.layout, &dir).finding(name, &real)
    }
}

#[cfg(test)]
mod tests {
    use schema::FindingAdvice;

    use super::*;

    #[test]
    fn a_finding_is_shown_again_if_it_is_about_a_target_that_was_not_named() {
        let finding = |targets: &[&str]| Finding {
            kind: FindingKind::OwnJudge,
            severity: FindingSeverity::Warning,
            benchmark: "b".to_owned(),
            targets: targets
                .iter()
                .map(|id| ModelId::new(*id).unwrap())
                .collect(),
            text: "judged by itself".to_owned(),
            advice: Some(FindingAdvice::OtherJudge),
        };
        let shown = |before: &[Finding], now: &Finding| {
            not_shown(before, std::slice::from_ref(now)).count() == 1
        };
        let two = finding(&["two"]);
        assert!(!shown(std::slice::from_ref(&two), &two));
        assert!(shown(std::slice::from_ref(&two), &finding(&["one"])));
        assert!(shown(std::slice::from_ref(&two), &finding(&["one", "two"])));
        let both = [finding(&["one"]), two.clone()];
        assert!(!shown(&both, &finding(&["one", "two"])));
        // All targets.
        assert!(!shown(&[finding(&[])], &two) && !shown(&[finding(&[])], &finding(&[])));
        assert!(shown(&[two], &finding(&[])));
    }
}
