//! The data of a report's overview besides the rows: from the files of benchmarks and of safety evaluations, and from journals.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
};

use gate::{GateOptions, gate, gate_safety};
use indexmap::IndexMap;
use report::html::{FixedTurns, ImportFacts, PartSummary, ReportSummary, SafetyFileSummary};
use schema::{
    Benchmark, CostSum, Finding, Grades, ModelId, Notice, PhaseCost, TargetBasis, notice,
    safety::results::Details, statistics::Statistics,
};
use store::{
    BenchmarkDir, CostFile, ImportRecord, Layout, RunError, list_ids, prove_safety_rates,
    proven_statistics,
    provenance::target_bases,
    read_benchmark, read_costs, read_grades, read_scenarios,
    safety_results::{OpenedResults, SafetySource, findings, read_safety_file, safety_basis},
    safety_uid, wrong_grades,
};
use transfer::{benchmark_calls, calls_of_runs};

use super::{ReportGate, ReportRequest, calls::figures, not_stated};
use crate::verdicts::target_verdicts;

/// The summary of `request`. A file that is missing or cannot be read is left out: the code that reads the rows reports what that
/// means for them.
///
/// # Errors
/// When a benchmark does not exist, or a safety file cannot be read.
pub(super) fn summary(layout: &Layout, request: &ReportRequest) -> Result<ReportSummary, RunError> {
    let mut summary = ReportSummary {
        program: request.program.clone(),
        baseline: request.baseline.clone(),
        ..ReportSummary::default()
    };
    for name in &request.names {
        let (part, problems) = benchmark(layout, name, request)?;
        let notices = problems.into_iter().chain(earlier_format(layout, &part));
        let texts = notices.map(|problem| problem.text(&request.program));
        summary.problems.extend(texts);
        summary.parts.push(part);
    }
    for path in &request.safety {
        safety(layout, path, request, &mut summary)?;
    }
    for part in &mut summary.parts {
        if !part.safety.is_empty() {
            part.findings = safety_limits(layout, part);
        }
        let files = part.safety.iter();
        let mut runs: Vec<String> = files
            .filter_map(|file| Some(file.results.details()?.run.as_ref()?.run_id.clone()))
            .collect();
        let mut seen = HashSet::new();
        runs.retain(|run| seen.insert(run.clone()));
        if !runs.is_empty() {
            part.calls = calls_of_runs(&request.journals, layout, &runs)?.map(figures);
        }
    }
    check_baseline(&summary)?;
    match &request.gate {
        ReportGate::None => {}
        ReportGate::Rules(rules) => add_gates(layout, request, rules, &mut summary)?,
        ReportGate::Answers(answers) => {
            for part in &mut summary.parts {
                let answer = answers.iter().find(|gate| gate.benchmark == part.folder);
                part.gate = answer.cloned();
            }
        }
    }
    Ok(summary)
}

/// Adds the answers of the rules to each part.
fn add_gates(
    layout: &Layout,
    request: &ReportRequest,
    rules: &Path,
    summary: &mut ReportSummary,
) -> Result<(), RunError> {
    let options = GateOptions {
        rules: rules.to_owned(),
        baseline: None,
        targets: request.targets.clone(),
    };
    for part in &mut summary.parts {
        let files = part.safety.iter();
        let sources: Vec<SafetySource<'_>> = files
            .map(|file| SafetySource {
                path: Path::new(&file.file),
                results: &file.results,
            })
            .collect();
        let answers = match sources.is_empty() {
            true => gate(layout, &part.folder, &options)?,
            false => gate_safety(layout, &sources, &options)?,
        };
        part.gate = Some(answers);
    }
    Ok(())
}

/// Refuses a baseline that no benchmark has, because its name must be wrong.
fn check_baseline(summary: &ReportSummary) -> Result<(), RunError> {
    let Some(baseline) = &summary.baseline else {
        return Ok(());
    };
    let parts = summary.parts.iter();
    let targets: Vec<ModelId> = parts.flat_map(|part| part.costs.keys().cloned()).collect();
    match targets.contains(baseline) {
        true => Ok(()),
        false => Err(RunError::input(format!(
            "no results of the baseline {baseline}; there are results of {}",
            list_ids(&targets)
        ))),
    }
}

/// What limits the results of safety files that the report shows side by side.
fn safety_limits(layout: &Layout, part: &PartSummary) -> Vec<Finding> {
    let opened = part.safety.iter().filter_map(|file| {
        let details = file.results.details()?;
        let run = details.run.as_ref()?;
        Some(OpenedResults { details, run })
    });
    findings(layout, &part.folder, &opened.collect::<Vec<_>>())
}

fn is_wanted(request: &ReportRequest, target: &ModelId) -> bool {
    request.targets.is_empty() || request.targets.contains(target)
}

fn benchmark(
    layout: &Layout,
    name: &str,
    request: &ReportRequest,
) -> Result<(PartSummary, Vec<Notice>), RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let mut part = PartSummary::new(name, &benchmark.name);
    part.add_metrics(&benchmark.metrics);
    for hazard in &benchmark.hazards {
        let name = hazard.shown_name().to_owned();
        part.hazards.insert(hazard.id.clone(), name);
    }
    let (statistics, problem) = statistics(&dir, &benchmark);
    if let Some(statistics) = statistics {
        part.statistics = statistics;
    }
    let wanted = |target: &ModelId| is_wanted(request, target);
    let statistics = &mut part.statistics;
    statistics.targets.retain(|target| wanted(&target.target));
    statistics
        .comparisons
        .retain(|pair| wanted(&pair.a) && wanted(&pair.b));
    statistics
        .corrected_differences
        .retain(|pair| wanted(&pair.a) && wanted(&pair.b));
    let (grades, wrong) = grades(&dir, &benchmark);
    part.grades = grades;
    if let Some(grades) = &mut part.grades {
        grades.scores.retain(|score| wanted(&score.sut));
    }
    let targets: Vec<ModelId> = statistics
        .targets
        .iter()
        .map(|all| all.target.clone())
        .collect();
    part.verdicts = target_verdicts(&dir, &benchmark, &targets);
    part.imported = imported(&dir, &targets);
    part.fixed = read_scenarios(&dir)
        .ok()
        .and_then(|rows| FixedTurns::of(&rows));
    costs(&dir, request, &mut part);
    let with_costs: Vec<ModelId> = part.costs.keys().cloned().collect();
    part.basis = target_bases(&dir, &with_costs);
    part.calls = benchmark_calls(&request.journals, layout, name, part.costs.keys())?.map(figures);
    Ok((part, problem.into_iter().chain(wrong).collect()))
}

/// Where imported conversations came from; `None` if they were not imported, or if their record cannot be read.
fn imported(dir: &BenchmarkDir, targets: &[ModelId]) -> Option<ImportFacts> {
    let record = ImportRecord::read(dir).ok().flatten()?;
    let mut facts = ImportFacts {
        from: record.from,
        files: record.files,
        verdicts: record.verdicts,
        cluster: record.cluster,
        ..ImportFacts::default()
    };
    let mut scorers = BTreeSet::new();
    for target in targets {
        let (count, of_target) = dir.imported_verdicts(target);
        facts.count += count;
        scorers.extend(of_target);
    }
    facts.scorers = scorers.into_iter().collect();
    Some(facts)
}

/// The grades in the tree, with a line if the rows do not give them: the grades that the rows give are then shown.
fn grades(dir: &BenchmarkDir, benchmark: &Benchmark) -> (Option<Grades>, Option<Notice>) {
    let Ok(mut grades) = read_grades(&dir.grades()) else {
        return (None, None);
    };
    let wrong = wrong_grades(dir, benchmark, &grades, None).unwrap_or_default();
    let number = wrong.iter().flat_map(|entry| &entry.wrong).next();
    let line = number.map(|number| {
        notice![
            format!(
                "{}: grades.json was not computed from these scores ({}): the grades here are computed from the scores; ",
                dir.name(),
                number.in_words()
            ),
            dir.command("aggregate"),
            " writes the file again"
        ]
    });
    for entry in wrong {
        if let Some(score) = grades.scores.get_mut(entry.number) {
            *score = entry.now;
        }
    }
    (Some(grades), line)
}

/// The line on a `statistics.json` of an earlier format, whose comparisons are to be computed again.
fn earlier_format(layout: &Layout, part: &PartSummary) -> Option<Notice> {
    let format = &part.statistics.format;
    part.statistics.is_earlier().then(|| {
        notice![
            format!(
                "{}: statistics.json has format {format}, whose comparisons were tested and corrected differently; ",
                part.folder
            ),
            layout.command("aggregate").on(&part.folder),
            " rewrites it"
        ]
    })
}

/// The statistics of the rows in the tree, with a line if `statistics.json` compares targets otherwise; how it differs in the numbers of
/// a target is reported with the target's rows. A file of format 1 is shown as it is, where its rates are those of the rows. Without
/// scores to compute them from, and where those cannot be read, the file is all there is.
fn statistics(dir: &BenchmarkDir, benchmark: &Benchmark) -> (Option<Statistics>, Option<Notice>) {
    let Some(proven) = proven_statistics(dir, benchmark) else {
        return (None, None);
    };
    let wrong = proven.wrong;
    let of_pair = wrong
        .iter()
        .find(|wrong| !wrong.pointer.starts_with("/targets/"));
    let line = of_pair.map(|wrong| {
        notice![
            format!(
                "{}: statistics.json was not computed from these scores ({}): the comparisons here are computed from the scores; ",
                dir.name(),
                wrong.in_words()
            ),
            dir.command("aggregate"),
            " writes the file again"
        ]
    });
    (Some(proven.statistics), line)
}

/// Adds the cost of the results in the tree.
fn costs(dir: &BenchmarkDir, request: &ReportRequest, part: &mut PartSummary) {
    part.shared_costs = phases(&read_costs(dir, None));
    let targets = store::simulated_targets(dir).unwrap_or_default();
    for target in targets
        .into_iter()
        .filter(|target| is_wanted(request, target))
    {
        let costs = phases(&read_costs(dir, Some(&target)));
        part.costs.insert(target, costs);
    }
}

fn phases(file: &CostFile) -> IndexMap<String, PhaseCost> {
    let entries = file.iter();
    entries
        .map(|(phase, entry)| (phase.clone(), entry.cost))
        .collect()
}

/// Adds a result file of a safety evaluation to the part of its kind.
fn safety(
    layout: &Layout,
    path: &Path,
    request: &ReportRequest,
    summary: &mut ReportSummary,
) -> Result<(), RunError> {
    let mut file = read_safety_file(path)?;
    let wrong = prove_safety_rates(&mut file.results);
    let target = match file
        .results
        .details()
        .and_then(|details| details.run.as_ref())
    {
        Some(run) => run.target.clone(),
        None => request.unnamed.clone().map_or_else(not_stated, Ok)?,
    };
    if !is_wanted(request, &target.id) {
        return Ok(());
    }
    let folder = safety_uid(&file.results);
    let at = summary
        .parts
        .iter()
        .position(|part| part.folder == folder)
        .unwrap_or_else(|| {
            summary.parts.push(PartSummary::new(folder, ""));
            summary.parts.len() - 1
        });
    let Some(part) = summary.parts.get_mut(at) else {
        return Ok(());
    };
    let target = numbered(&target.id, &part.safety)?;
    if let Some(details) = file.results.details() {
        safety_costs(&target, details, part);
        let run = details.run.as_ref();
        let basis = run.and_then(|run| safety_basis(layout, run));
        part.basis.extend(basis.map(|basis| TargetBasis {
            target: target.clone(),
            ..basis
        }));
    }
    let line = wrong.map(|line| format!("{}: {line}", path.display()));
    summary.problems.extend(line);
    part.safety.push(SafetyFileSummary {
        file: path.display().to_string(),
        target,
        results: file.results,
    });
    Ok(())
}

/// The id of a file's target on the page, with a number if another file of the same kind has the same id.
fn numbered(target: &ModelId, files: &[SafetyFileSummary]) -> Result<ModelId, RunError> {
    let is_free = |id: &ModelId| files.iter().all(|file| file.target != *id);
    let mut id = target.clone();
    let mut number = 1;
    while !is_free(&id) {
        number += 1;
        let text = format!("{target} ({number})");
        id = ModelId::new(text).map_err(|error| RunError::input(error.to_string()))?;
    }
    Ok(id)
}

/// Adds the cost of a file's conversations; nothing if the file does not state it.
fn safety_costs(target: &ModelId, details: &Details, part: &mut PartSummary) {
    let used = details
        .conversations
        .iter()
        .map(|row| &row.usage)
        .chain(details.errors.iter().map(|row| &row.usage));
    let mut sum = CostSum::default();
    let mut is_known = false;
    for usage in used.flatten() {
        sum.add(usage);
        is_known = true;
    }
    if is_known {
        let phases = part.costs.entry(target.clone()).or_default();
        phases.insert("conversations".to_owned(), sum.total());
    }
}
