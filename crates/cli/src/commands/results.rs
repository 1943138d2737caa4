//! The end of a run's output: the results, their cost, and the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use llm_client::Tally;
use probity::{BenchmarkReport, Phase, RunReport};
use report::{
    BenchmarkResults, Brief, FileEntry, Spending, briefs_text, corrected_differences_sheet,
    files_list, grades_sheet, judges_sheet, metrics_sheets, people_sheets, realism_sheet,
    results_table, sheets_text, spending_texts,
};
use schema::{CostSum, Finding, MetricType, ModelId, PhaseCost, Summary, text::counted};
use store::{plain_path, read_benchmark, read_costs};

use super::{Context, command_hints::CommandHints, findings, verdicts};
use crate::config::Config;

/// What a run ends with.
pub struct RunResults<'a> {
    context: &'a Context,
    report: &'a RunReport,
    config: &'a Config,
    phases: &'a [Phase],
    hints: &'a CommandHints,
    /// The benchmarks with rates.
    rated: Vec<&'a BenchmarkReport>,
}

impl<'a> RunResults<'a> {
    /// The results of the run `report` of `phases`.
    pub fn new(
        context: &'a Context,
        report: &'a RunReport,
        config: &'a Config,
        phases: &'a [Phase],
        hints: &'a CommandHints,
    ) -> Self {
        let rated = report.benchmarks.iter();
        Self {
            context,
            report,
            config,
            phases,
            hints,
            rated: rated
                .filter(|benchmark| is_rated(benchmark, phases))
                .collect(),
        }
    }

    /// Prints the results in a screen: the sentence, the rates, what limits them, cost and paths. With `run.verbose`, all of it, the tables
    /// by metric, and every file.
    pub fn show(&self, spent: &Tally) {
        let (context, report) = (self.context, self.report);
        let verbose = self.config.settings.run.verbose;
        let width = context.terminal.page();
        let spending = spending(context, report, spent);
        let mut end: Vec<(&str, String)> = Vec::new();
        if self.rated.iter().any(|benchmark| is_earlier(benchmark)) {
            let text = "no row of this run was finished: the results are those of an earlier one";
            end.push(("run", text.to_owned()));
        }
        let before = end.len();
        for text in spending_texts(&spending, &cost_parts(context, report)) {
            end.push((if end.len() == before { "cost" } else { "" }, text));
        }
        if !verbose {
            end.extend(self.paths());
        }
        let mut text = self.briefs(&end, verbose, width);
        if verbose {
            text.push_str(&self.tables(width));
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&files(context, report));
        }
        context.terminal.print(&text);
    }

    fn briefs(&self, end: &[(&str, String)], is_whole: bool, width: usize) -> String {
        let line = |finding: &Finding| {
            findings::line(self.context, finding, |command| {
                self.hints.of_finding(self.config, command)
            })
        };
        let unfinished: Vec<Vec<String>> = self.rated.iter().map(|one| unfinished(one)).collect();
        let calls_models = !matches!(self.phases, [Phase::Aggregate]);
        let benchmarks = self.rated.iter().zip(&unfinished);
        let briefs: Vec<Brief<'_>> = benchmarks
            .filter_map(|(benchmark, unfinished)| {
                Some(Brief {
                    name: &benchmark.name,
                    run_id: (calls_models && !is_earlier(benchmark))
                        .then_some(self.report.run_id.as_str()),
                    statistics: benchmark.statistics.as_ref()?,
                    metrics: metrics(self.context, &benchmark.name),
                    findings: &benchmark.findings,
                    line: &line,
                    unfinished,
                    program: &self.context.program,
                })
            })
            .collect();
        briefs_text(&briefs, end, is_whole, width)
    }

    /// The tables of rates by type and by metric, of judges, people, realism and grades.
    fn tables(&self, width: usize) -> String {
        let mut text = String::new();
        for benchmark in &self.rated {
            let Some(statistics) = &benchmark.statistics else {
                continue;
            };
            let name = benchmark.name.as_str();
            let results = BenchmarkResults {
                name,
                statistics,
                costs: &target_costs(self.context, benchmark),
                verdicts: &verdicts::of_benchmark(self.context, benchmark),
            };
            text.push('\n');
            text.push_str(&results_table(&[results], width));
            let mut sheets = metrics_sheets(name, statistics);
            sheets.push(judges_sheet(&format!("judges of {name}"), statistics, true));
            sheets.extend(people_sheets(statistics, true));
            let corrected = &statistics.corrected_differences;
            sheets.push(corrected_differences_sheet(corrected, None));
            let title = format!("realism of {name}, as judges see it");
            sheets.push(realism_sheet(&title, statistics));
            let grades = benchmark.grades.as_ref();
            sheets
                .extend(grades.and_then(|grades| grades_sheet(&format!("{name}: grades"), grades)));
            for sheet in sheets.iter().filter(|sheet| !sheet.is_blank()) {
                text.push('\n');
                text.push_str(&sheets_text([sheet], width));
            }
        }
        text
    }

    /// The report, or the results without one, with the number of the other files; and the record of the run.
    fn paths(&self) -> Vec<(&'static str, String)> {
        let all: BTreeSet<&Path> = self
            .report
            .benchmarks
            .iter()
            .flat_map(|one| &one.files)
            .map(|path| &**path)
            .collect();
        let [report, results] =
            [REPORT, RESULTS].map(|wanted| all.iter().find(|path| what(path) == wanted));
        let first = match (report, results) {
            (Some(path), _) => Some((REPORT, path)),
            (None, Some(path)) => Some((RESULTS, path)),
            (None, None) => all.iter().next().map(|path| ("files", path)),
        };
        let mut paths: Vec<(&str, String)> = Vec::new();
        if let Some((label, path)) = first {
            let more = match all.len().saturating_sub(1) {
                0 => String::new(),
                more => format!(", {}", counted(more as u64, "more file", "more files")),
            };
            paths.push((label, format!("{}{more}", path.display())));
        }
        let record = self.context.layout.run(&self.report.run_id);
        paths.push(("record", record.display().to_string()));
        paths
    }
}

/// Whether a run of `phases` shows rates of the benchmark.
fn is_rated(benchmark: &BenchmarkReport, phases: &[Phase]) -> bool {
    let judged = phases.contains(&Phase::Aggregate) || phases.contains(&Phase::Evaluate);
    judged && benchmark.statistics.is_some()
}

/// Whether no row of the run was finished, so that the results in the tree are those of an earlier one.
fn is_earlier(benchmark: &BenchmarkReport) -> bool {
    let rows = benchmark.counts.iter();
    let simulated: Vec<_> = rows
        .filter(|((phase, _), _)| *phase == Phase::Simulate)
        .map(|(_, counts)| counts)
        .collect();
    let has_failed = simulated.iter().any(|counts| counts.failed > 0);
    let has_verdicts = benchmark.statistics.as_ref().is_some_and(|statistics| {
        let mut targets = statistics.targets.iter();
        targets.any(|target| target.rates.all.rows > 0)
    });
    has_failed && has_verdicts && simulated.iter().all(|counts| counts.done == 0)
}

/// The targets with rows that the run did not get to.
fn unfinished(benchmark: &BenchmarkReport) -> Vec<String> {
    let counts = benchmark.counts.iter();
    let mut targets: Vec<String> = counts
        .filter(|(_, counts)| counts.skipped > 0)
        .filter_map(|((_, target), _)| Some(target.as_ref()?.to_string()))
        .collect();
    targets.sort();
    targets.dedup();
    targets
}

/// The numbers of positive and of negative metrics.
fn metrics(context: &Context, name: &str) -> [u64; 2] {
    let dir = context.layout.benchmark(name).ok();
    let benchmark = dir.and_then(|dir| read_benchmark(&dir).ok());
    let metrics = benchmark
        .map(|benchmark| benchmark.metrics)
        .unwrap_or_default();
    [MetricType::Positive, MetricType::Negative].map(|wanted| {
        let of = metrics.iter().filter(|metric| metric.metric_type == wanted);
        of.count() as u64
    })
}

/// The cost of everything in the trees, by what it was spent on.
fn cost_parts(context: &Context, report: &RunReport) -> [(&'static str, PhaseCost); 3] {
    let phases: [(&str, &[Phase]); 3] = [
        ("generation", &[Phase::GenMetrics, Phase::GenScenarios]),
        ("conversations", &[Phase::Simulate]),
        ("judging", &[Phase::Evaluate]),
    ];
    phases.map(|(part, phases)| {
        let mut sum = CostSum::default();
        for benchmark in &report.benchmarks {
            for (phase, cost) in tree_costs(context, &benchmark.name) {
                if phases.iter().any(|one| one.as_str() == phase) {
                    sum.add(&cost);
                }
            }
        }
        (part, sum.total())
    })
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
    for (_, cost) in tree_costs(context, benchmark) {
        sum.add(&cost);
    }
    sum.total()
}

/// The cost of each phase, of the benchmark itself and of each target.
fn tree_costs(context: &Context, benchmark: &str) -> Vec<(String, PhaseCost)> {
    let Ok(dir) = context.layout.benchmark(benchmark) else {
        return Vec::new();
    };
    let targets = std::fs::read_dir(dir.runs())
        .into_iter()
        .flatten()
        .flatten();
    let names = targets.filter_map(|target| target.file_name().into_string().ok());
    let targets = names.filter_map(|name| ModelId::new(name).ok());
    let mut costs = Vec::new();
    for target in std::iter::once(None).chain(targets.map(Some)) {
        let read = read_costs(&dir, target.as_ref());
        costs.extend(
            read.iter()
                .map(|(phase, entry)| (phase.clone(), entry.cost)),
        );
    }
    costs
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

/// The rates of a benchmark: from `results.json`, or from a run that judged but did not write it.
fn summed_up(benchmark: &BenchmarkReport) -> &[Summary] {
    match benchmark.summaries.as_slice() {
        [] => &benchmark.rates,
        summaries => summaries,
    }
}

/// The files of a run, and its record.
fn files(context: &Context, report: &RunReport) -> String {
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
    entries.push(FileEntry {
        what: "record",
        path: &records,
    });
    files_list(&entries)
}

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
    // The index of segments stands for their file.
    let path = plain_path(path);
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
