//! The end of a run's messages: what failed, what is missing, and what to do about it.

use std::collections::BTreeMap;

use journal::check::{self, Verdict};
use llm_client::Tally;
use probity::{BenchmarkReport, KeptReason, KeptRows, Phase, RunOutcome, RunReport};
use report::{FailureGroup, FailureGroups, failures_summary};
use schema::{notice, numbers::grouped, text::counted};

use super::{
    Context, command_hints::CommandHints, findings, missing_rows, plan, replaced_files, replies,
    session, unscored, unused_tools,
};
use crate::config::Config;

/// More messages of one kind are folded to a number. `--verbose` shows all.
const MOST: usize = 3;

/// Reports on standard error what failed, what is missing, and what to do about it.
pub fn report_problems(
    context: &Context,
    report: &RunReport,
    config: &Config,
    phases: &[Phase],
    spent: &Tally,
    hints: &CommandHints,
) {
    let each = || report.benchmarks.iter();
    let verbose = config.settings.run.verbose;
    let warn = |lines: Vec<String>| {
        for line in folded(lines, verbose) {
            context.terminal.warning(&line);
        }
    };
    let note = |lines: Vec<String>| {
        for line in folded(lines, verbose) {
            context.terminal.note(&line);
        }
    };
    warn(kept(report, phases, hints));
    report_journals(context, report);
    let left_out =
        |one: &BenchmarkReport| plan::left_out(context, &one.name, &one.without_scenarios);
    warn(each().filter_map(left_out).collect());
    let odd = each().flat_map(|one| &one.odd_scores);
    warn(odd.map(|line| line.text(&context.program)).collect());
    warn(each().flat_map(replaced_files::replaced).collect());
    let outdated = each().filter(|one| one.results_outdated);
    warn(
        outdated
            .map(|one| outdated_results(context, &one.name))
            .collect(),
    );
    warn(
        each()
            .flat_map(|one| unused_tools::tools(context, one))
            .collect(),
    );
    warn(each().flat_map(replies::unopened).collect());
    note(each().flat_map(replies::with_reasoning).collect());
    if phases.contains(&Phase::Aggregate) || phases.contains(&Phase::Evaluate) {
        note(
            each()
                .flat_map(|one| unscored::rows(context, one, hints))
                .collect(),
        );
    }
    if phases.contains(&Phase::Aggregate) {
        let missing =
            |one| missing_rows::missing_rows(context, one, config, hints, report.interrupted);
        warn(each().flat_map(missing).collect());
    }
    for benchmark in each() {
        let before = findings::before_run(context, config, &benchmark.name, phases);
        let new = findings::not_shown(&before, &benchmark.findings);
        context.warn_with(new, |command| hints.of_finding(config, command));
    }
    // The most important messages come last, where they are seen.
    report_failures(context, report, spent, context.terminal.width());
    if report.outcome() != RunOutcome::Complete {
        session::report_refreshed(context, config);
    }
}

/// The messages, or the first ones and the number of the others.
fn folded(mut lines: Vec<String>, verbose: bool) -> Vec<String> {
    if verbose || lines.len() <= MOST {
        return lines;
    }
    let more = lines.split_off(MOST - 1).len();
    lines.push(format!(
        "{} more messages of this kind; `--verbose` shows them",
        grouped(more as u64)
    ));
    lines
}

fn outdated_results(context: &Context, name: &str) -> String {
    format!(
        "{name}: results.json does not match the scores; update it with `{} aggregate {name}`",
        context.program.start()
    )
}

/// Which rows of an earlier run are in the tree instead of rows of this run.
fn kept(report: &RunReport, phases: &[Phase], hints: &CommandHints) -> Vec<String> {
    let mut lines = Vec::new();
    for benchmark in &report.benchmarks {
        let mut targets: BTreeMap<&str, Vec<&KeptRows>> = BTreeMap::new();
        for rows in &benchmark.kept {
            targets.entry(rows.target.as_str()).or_default().push(rows);
        }
        for (target, rows) in targets {
            let names: Vec<&str> = rows.iter().map(|rows| kept_file(rows.phase)).collect();
            let files = names.join(" and ");
            let name = &benchmark.name;
            let text = match rows.last().map(|rows| rows.reason) {
                Some(KeptReason::Unfinished {
                    finished,
                    planned,
                    earlier,
                    is_uneven,
                }) => format!(
                    "{name}: {target}: the run ended after {finished} of {}{}; kept the {files} of an earlier run, of {}\n\
                     help: {} finishes this run and then replaces them",
                    counted(planned, "row", "rows"),
                    match is_uneven {
                        true => ", more of some scenarios than of others",
                        false => "",
                    },
                    counted(earlier, "row", "rows"),
                    match phases.contains(&Phase::Simulate) {
                        true => hints.run(name, target, None),
                        false => hints.evaluate(name, target, false),
                    }
                ),
                _ => format!(
                    "{name}: {target}: all rows failed; kept the {files} of an earlier run. The rates shown are of that run, with its \
                     model, metrics and scenarios\nhelp: fix the cause and run the same command again; cached replies are not called \
                     for again"
                ),
            };
            lines.push(text);
        }
    }
    lines
}

fn kept_file(phase: Phase) -> &'static str {
    match phase {
        Phase::Evaluate => "scores",
        _ => "conversations",
    }
}

/// Reports the path of each benchmark's journal, and the result of its check.
fn report_journals(context: &Context, report: &RunReport) {
    for benchmark in &report.benchmarks {
        let Some(journal) = &benchmark.journal else {
            continue;
        };
        let line = format!("{}: {}", journal.path.display(), journal.verdict());
        match journal.check.verdict() {
            Verdict::Passed if journal.trouble.is_none() => {
                // A run without calls has nothing to check.
                let checked = |row: &check::Row| row.outcome == check::Outcome::Passed;
                if journal.check.rows.iter().any(checked) {
                    context.terminal.note(&line);
                }
            }
            _ => context.terminal.warning(&line),
        }
    }
}

/// Each run has the whole budget, and replies of earlier ones cost nothing.
const BUDGET_SPENT: &str = "rows are missing because the budget of the run is spent; raise it (--max-cost, or the section `budget`) and \
    run again to continue. Finished calls are kept";

fn report_failures(context: &Context, report: &RunReport, spent: &Tally, width: usize) {
    let mut groups = FailureGroups::default();
    for benchmark in &report.benchmarks {
        if let Some(error) = &benchmark.error {
            context
                .terminal
                .error(&notice![&*benchmark.name, ": ", error.notice()].text(&context.program));
        }
        for group in &benchmark.failures {
            groups.push_group(FailureGroup {
                phase: group.phase.command().to_owned(),
                model: group.target.clone(),
                reason: group.reason.clone(),
                rows: group.rows,
                examples: group.examples.clone(),
                skipped: group.skipped,
            });
        }
    }
    if !groups.is_empty() {
        context.terminal.alert(&failures_summary(&groups, width));
    }
    if let Some(why) = &report.judge_gave_up {
        context.terminal.error(&format!("{why}\n{JUDGE_ADVICE}"));
        return;
    }
    match report.outcome() {
        RunOutcome::Complete => {}
        RunOutcome::FailedRows | RunOutcome::NothingRan if groups.skipped() > 0 => {
            context.terminal.line(BUDGET_SPENT);
        }
        RunOutcome::FailedRows => context.terminal.line(&what_next(context, report)),
        // Replies arrived, but no row was finished.
        RunOutcome::NothingRan if spent.replies > 0 => context.terminal.line(
            "no row was finished; the replies received are kept, and the same command continues from there",
        ),
        RunOutcome::NothingRan => context
            .terminal
            .line("nothing could be run: fix the cause above and run the same command again"),
        RunOutcome::Interrupted => context
            .terminal
            .line("stopped; run the same command to continue"),
    }
}

/// What to do about a judge without usable verdicts. Its replies are in the cache, so that another judge, setting or prompt is needed.
const JUDGE_ADVICE: &str = "help: name another judge in `evaluator_model`, raise its `max_tokens`, or change its prompt, and run the same command \
     again: finished conversations come from the cache. `--keep-going` judges the other rows all the same";

/// Advice about failed rows. An unusable verdict is in the cache, and the same command gets it again.
fn what_next(context: &Context, report: &RunReport) -> String {
    let mut benchmarks = report.benchmarks.iter();
    let abstained = benchmarks.find(|benchmark| {
        let mut counts = benchmark.counts.values();
        counts.any(|counts| counts.all_abstained())
    });
    match abstained {
        Some(benchmark) => format!(
            "a target has no measurement: its judge gave no usable verdict. Change the judge, its max_tokens or its prompt, or call it \
             again with `{} evaluate {} --force`",
            context.program.start(),
            benchmark.name
        ),
        None => "some rows are missing; run the same command to retry them".to_owned(),
    }
}
