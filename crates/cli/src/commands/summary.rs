//! The end of a run's output: the results, the failures and their reasons, and the files.

use std::{collections::BTreeMap, path::Path};

use journal::check::{self, Verdict};
use llm_client::Tally;
use probity::{BenchmarkReport, KeptReason, KeptRows, Phase, RunOutcome, RunReport};
use report::{
    BenchmarkResults, FailureGroup, FailureGroups, FileEntry, Spending,
    corrected_differences_sheet, failures_summary, files_list, grades_sheet, judges_sheet,
    metrics_sheets, people_sheets, realism_sheet, results_table, sheets_text, spending_lines,
};
use schema::{CostSum, ModelId, PhaseCost, Summary, notice, numbers::grouped, text::counted};
use store::read_costs;

use super::{
    Context, command_hints::CommandHints, findings, missing_rows, plan, replaced_files, replies,
    session, unscored, unused_tools, verdicts,
};
use crate::config::Config;

/// Prints the report.
pub fn show(
    context: &Context,
    report: &RunReport,
    config: &Config,
    phases: &[Phase],
    spent: &Tally,
) {
    let verbose = config.settings.run.verbose;
    let width = context.terminal.page();
    let mut text = String::new();
    if phases.contains(&Phase::Aggregate) || phases.contains(&Phase::Evaluate) {
        let costs: Vec<BTreeMap<ModelId, PhaseCost>> = report
            .benchmarks
            .iter()
            .map(|benchmark| target_costs(context, benchmark))
            .collect();
        let verdicts: Vec<_> = report
            .benchmarks
            .iter()
            .map(|benchmark| verdicts::of_benchmark(context, benchmark))
            .collect();
        let results: Vec<BenchmarkResults<'_>> = report
            .benchmarks
            .iter()
            .zip(costs.iter().zip(&verdicts))
            .filter_map(|(benchmark, (costs, verdicts))| {
                Some(BenchmarkResults {
                    name: &benchmark.name,
                    statistics: benchmark.statistics.as_ref()?,
                    costs,
                    verdicts,
                })
            })
            .collect();
        if !results.is_empty() {
            text.push_str(&results_table(&results, width));
            text.push('\n');
        }
        let mut sheets = Vec::new();
        for BenchmarkResults {
            name, statistics, ..
        } in &results
        {
            sheets.extend(metrics_sheets(name, statistics));
            let title = format!("judges of {name}");
            sheets.push(judges_sheet(&title, statistics, verbose));
            sheets.extend(people_sheets(statistics, verbose));
            sheets.push(corrected_differences_sheet(
                &statistics.corrected_differences,
                None,
            ));
            let title = format!("realism of {name}, as judges see it");
            sheets.push(realism_sheet(&title, statistics));
        }
        for benchmark in &report.benchmarks {
            let title = format!("{}: grades", benchmark.name);
            let grades = benchmark.grades.as_ref();
            sheets.extend(grades.and_then(|grades| grades_sheet(&title, grades)));
        }
        for sheet in sheets.iter().filter(|sheet| !sheet.is_blank()) {
            text.push_str(&sheets_text([sheet], width));
            text.push('\n');
        }
    }
    let mut spending = spending_lines(&spending(context, report, spent), width);
    for benchmark in &report.benchmarks {
        let shown = findings::before_run(context, config, &benchmark.name, phases);
        let new = findings::not_shown(&shown, &benchmark.findings);
        spending.push_str(&findings::notes(context, new, width));
    }
    if !spending.is_empty() {
        text.push_str(&spending);
        text.push('\n');
    }
    text.push_str(&files(context, report, verbose));
    context.terminal.print(&text);
}

/// The rates of a benchmark: from `results.json`, or from a run that judged but did not write it.
fn summed_up(benchmark: &BenchmarkReport) -> &[Summary] {
    match benchmark.summaries.as_slice() {
        [] => &benchmark.rates,
        summaries => summaries,
    }
}

/// Reports on standard error what failed, what is missing, and what to do about it.
pub fn report_problems(
    context: &Context,
    report: &RunReport,
    config: &Config,
    phases: &[Phase],
    spent: &Tally,
    hints: &CommandHints,
) {
    report_kept(context, report, phases, hints);
    report_journals(context, report);
    for benchmark in &report.benchmarks {
        if let Some(line) = plan::left_out(context, &benchmark.name, &benchmark.without_scenarios) {
            context.terminal.warning(&line);
        }
    }
    for line in report
        .benchmarks
        .iter()
        .flat_map(|benchmark| &benchmark.odd_scores)
    {
        context.terminal.warning(&line.text(&context.program));
    }
    for line in report.benchmarks.iter().flat_map(replaced_files::replaced) {
        context.terminal.warning(&line);
    }
    for benchmark in &report.benchmarks {
        if benchmark.results_outdated {
            let name = &benchmark.name;
            context.terminal.warning(&format!(
                "{name}: results.json does not match the scores; update it with `{} aggregate {name}`",
                context.program.start()
            ));
        }
        for line in unused_tools::tools(context, benchmark) {
            context.terminal.warning(&line);
        }
    }
    for benchmark in &report.benchmarks {
        for line in replies::unopened(benchmark) {
            context.terminal.warning(&line);
        }
        for line in replies::with_reasoning(benchmark) {
            context.terminal.note(&line);
        }
    }
    if phases.contains(&Phase::Aggregate) || phases.contains(&Phase::Evaluate) {
        for benchmark in &report.benchmarks {
            for line in unscored::rows(context, benchmark, hints) {
                context.terminal.note(&line);
            }
        }
    }
    if phases.contains(&Phase::Aggregate) {
        for benchmark in &report.benchmarks {
            for line in
                missing_rows::missing_rows(context, benchmark, config, hints, report.interrupted)
            {
                context.terminal.warning(&line);
            }
        }
    }
    for benchmark in &report.benchmarks {
        let shown = findings::before_run(context, config, &benchmark.name, phases);
        let new = findings::not_shown(&shown, &benchmark.findings);
        context.warn_with(new, |command| hints.of_finding(config, command));
    }
    // The most important messages come last, where they are seen.
    report_failures(context, report, spent, context.terminal.width());
    if report.outcome() != RunOutcome::Complete {
        session::report_refreshed(context, config);
    }
}

/// Reports which rows of an earlier run are in the tree instead of rows of this run.
fn report_kept(context: &Context, report: &RunReport, phases: &[Phase], hints: &CommandHints) {
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
            context.terminal.warning(&text);
        }
    }
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

fn spending(context: &Context, report: &RunReport, spent: &Tally) -> Spending {
    let mut tree = CostSum::default();
    for benchmark in &report.benchmarks {
        tree.add(&tree_cost(context, &benchmark.name));
    }
    Spending {
        asked: spent.replies.saturating_sub(spent.cached_replies),
        cached: spent.cached_replies,
        now: spent.paid.to_phase_cost(),
        tree: tree.total(),
    }
}

/// The cost of everything in a benchmark's tree.
pub fn tree_cost(context: &Context, benchmark: &str) -> PhaseCost {
    let mut sum = CostSum::default();
    let Ok(dir) = context.layout.benchmark(benchmark) else {
        return sum.total();
    };
    let targets = std::fs::read_dir(dir.runs())
        .into_iter()
        .flatten()
        .flatten();
    let names = targets.filter_map(|target| target.file_name().into_string().ok());
    let targets = names.filter_map(|name| ModelId::new(name).ok());
    for target in std::iter::once(None).chain(targets.map(Some)) {
        for entry in read_costs(&dir, target.as_ref()).values() {
            sum.add(&entry.cost);
        }
    }
    sum.total()
}

/// The cost of each target's conversations and of judging them. For phases that this run did not do, the cost is read from the tree.
fn target_costs(context: &Context, benchmark: &BenchmarkReport) -> BTreeMap<ModelId, PhaseCost> {
    let mut costs = BTreeMap::new();
    let Ok(dir) = context.layout.benchmark(&benchmark.name) else {
        return costs;
    };
    for id in summed_up(benchmark)
        .iter()
        .map(|summary| &summary.target_model)
    {
        let on_disk = read_costs(&dir, Some(id));
        let mut sum = CostSum::default();
        let mut known = false;
        for phase in [Phase::Simulate, Phase::Evaluate] {
            let now = benchmark.costs.get(&(phase, Some(id.clone()))).copied();
            if let Some(cost) = now.or_else(|| on_disk.get(phase.as_str()).map(|entry| entry.cost))
            {
                sum.add(&cost);
                known = true;
            }
        }
        if known {
            costs.insert(id.clone(), sum.total());
        }
    }
    costs
}

/// The files of a run, and its record. Without `verbose`, more than [`MOST_FILES`] are shortened to the summary files and the number
/// of the others.
fn files(context: &Context, report: &RunReport, verbose: bool) -> String {
    let records = context.layout.run(&report.run_id);
    let mut entries: Vec<FileEntry<'_>> = Vec::new();
    for path in report
        .benchmarks
        .iter()
        .flat_map(|benchmark| &benchmark.files)
    {
        if !entries.iter().any(|entry| entry.path == path) {
            entries.push(FileEntry {
                what: what(path),
                path,
            });
        }
    }
    // In the order of the phases, whichever target ended first.
    entries.sort_by_key(|entry| {
        (
            benchmark_of(context, entry.path),
            rank(entry.what),
            entry.path,
        )
    });
    let and_more;
    if !verbose && entries.len() > MOST_FILES {
        let all = entries.len();
        let reports: Vec<_> = entries
            .extract_if(.., |entry| entry.what == REPORT)
            .collect();
        if entries.iter().any(|entry| entry.what == RESULTS) {
            entries.retain(|entry| entry.what == RESULTS);
        }
        entries.truncate(MOST_FILES);
        entries.extend(reports.into_iter().take(MOST_FILES));
        let more = all - entries.len();
        if let Some(first) = entries.first_mut() {
            and_more = format!("{}, {} more", first.what, grouped(more as u64));
            first.what = &and_more;
        }
    }
    entries.push(FileEntry {
        what: "record of this run",
        path: &records,
    });
    files_list(&entries)
}

/// The most files that are listed one by one. `--verbose` lists all.
const MOST_FILES: usize = 2;

/// The description of `results.json`.
const RESULTS: &str = "results";

/// The description of `report.html`.
const REPORT: &str = "report";

/// The files of a tree and their descriptions, in the order in which they are written.
const FILES: [(&str, &str); 8] = [
    ("benchmark.yaml", "metrics"),
    ("scenarios.json", "scenarios"),
    ("conversations.json", "conversations"),
    ("scores.json", "scores"),
    ("results.json", RESULTS),
    ("statistics.json", "intervals"),
    ("grades.json", "scores and grades"),
    ("report.html", REPORT),
];

fn what(path: &Path) -> &'static str {
    let name = path.file_name().and_then(|name| name.to_str());
    FILES
        .iter()
        .find(|(file, _)| Some(*file) == name)
        .map_or("file", |(_, what)| what)
}

/// The benchmark's folder name.
fn benchmark_of<'p>(context: &Context, path: &'p Path) -> Option<std::path::Component<'p>> {
    path.strip_prefix(context.layout.benchmarks())
        .ok()
        .and_then(|path| path.components().next())
}

fn rank(what: &str) -> usize {
    FILES
        .iter()
        .position(|(_, known)| *known == what)
        .unwrap_or(FILES.len())
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
