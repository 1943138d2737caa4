//! Derives the standards of a benchmark from the scores of reference systems.

mod events;
mod origin;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use aggregator::standards_note;
use journal::RunId;
use schema::{
    Benchmark, BenchmarkScore, Extra, Finding, Hazard, ModelId, ProgramFlag, Standards,
    StandardsFile, notice, text::counted,
};

use store::{
    BenchmarkDir, Layout, RunError, TreeLock, check_replaceable,
    findings::{FindingSources, benchmark_findings},
    provenance::{Provenance, target_bases},
    read_benchmark, read_scenario_index, scored_targets, standards_help, write_json,
};

/// The options of a calibration.
#[derive(Clone, Debug, Default)]
pub struct CalibrateOptions {
    /// The reference systems, whose scores are in the tree.
    pub references: Vec<ModelId>,
    /// The file to write; `None`: `standards.json` of the benchmark.
    pub out: Option<PathBuf>,
    /// Replaces an existing file.
    pub force: bool,
    /// The command line, for readers of the file.
    pub command: String,
}

/// The result of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The standards file.
    pub path: PathBuf,
    /// Its content.
    pub file: StandardsFile,
    /// The scores of the reference systems.
    pub scores: Vec<BenchmarkScore>,
    /// The journal of the calibration.
    pub journal: PathBuf,
    /// Warnings about the standards.
    pub warnings: Vec<String>,
    /// What limits the conclusions from the references' results, the worst first.
    pub findings: Vec<Finding>,
}

/// Derives the standards of the benchmark `name` from the scores in the tree: for each hazard the lowest score of the
/// reference systems. No model is called.
///
/// # Errors
/// When a reference has no scores in the tree or none in a hazard, when the file exists and must not be replaced, or when a
/// file cannot be read or written.
pub fn calibrate(
    layout: &Layout,
    name: &str,
    options: &CalibrateOptions,
) -> Result<Calibration, RunError> {
    let dir = layout.benchmark(name)?;
    if !dir.yaml().exists() {
        return Err(
            RunError::input(format!("{}: no such benchmark", dir.root().display())).with_help(
                notice![
                    dir.command("run"),
                    " measures a shipped one, ",
                    dir.command("init"),
                    " creates one"
                ],
            ),
        );
    }
    let benchmark = read_benchmark(&dir)?;
    let uid = benchmark.uid_or(name);
    let path = options.out.clone().unwrap_or_else(|| dir.standards());
    check_place(&path, options.force)?;
    let _lock = TreeLock::take(&dir)?;
    check_references(&dir, &benchmark, &options.references)?;
    let hazards = benchmark.scored_hazards();
    let index = read_scenario_index(&dir)?;
    let (mut statistics, mut scores) = (Vec::new(), Vec::new());
    for sut in &options.references {
        let facts = dir.facts(&benchmark, sut)?;
        facts.faults.warnings()?;
        // All later grades depend on these scores, so they must be correct.
        if let Some(first) = facts.faults.unrecognised.first() {
            return Err(RunError::input(first.clone()));
        }
        scores.push(facts.score(None));
        statistics.push(facts.rows.statistics(&index, &hazards));
    }
    let standards = aggregator::calibrate(&uid, &scores).map_err(|error| {
        let help = standards_help(&error, &dir, None);
        let refused = RunError::input(format!("{name} cannot be calibrated: {error}"));
        match help {
            Some(help) => refused.with_help(help),
            None => refused,
        }
        .with_source(error)
    })?;
    let known = Provenance::read_all(layout, &dir, &options.references);
    let turns = |id: &ModelId| known.target(id).turns();
    let run_id = RunId::now();
    let mut journals = origin::measured_in(layout, &uid, &scores);
    let journal = events::write_journal(
        layout,
        &run_id,
        &events::Calibrated {
            benchmark: &benchmark,
            uid: &uid,
            scores: &scores,
            journals: &journals,
        },
    )?;
    journals.insert(run_id.journal_file_name());
    let file = StandardsFile {
        metadata: origin::metadata(options, &scores, &journals, turns),
        standards,
        extra: Extra::new(),
    };
    write_json(&path, &file)?;
    let sources = FindingSources {
        targets: &statistics,
        bases: &target_bases(&dir, &options.references),
        reference_turns: None,
    };
    Ok(Calibration {
        warnings: warnings(&file.standards, &hazards, &scores),
        findings: benchmark_findings(layout, &dir, sources),
        path,
        file,
        scores,
        journal,
    })
}

/// A standards file determines every grade, so it is only replaced on request.
fn check_place(path: &Path, force: bool) -> Result<(), RunError> {
    if path.is_dir() {
        return Err(RunError::input(format!(
            "{}: this is a folder; name a file to write",
            path.display()
        )));
    }
    check_replaceable(path).map_err(|error| RunError::write(path, error))?;
    if path.exists() && !force {
        return Err(RunError::input(format!(
            "{}: the file exists, and every grade depends on it",
            path.display()
        ))
        .with_help(format!(
            "replace it with `{}`, or write another with `{}`",
            ProgramFlag::new("force"),
            ProgramFlag::new("out").value("FILE")
        )));
    }
    Ok(())
}

fn check_references(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    references: &[ModelId],
) -> Result<(), RunError> {
    if references.is_empty() {
        return Err(RunError::input(format!(
            "no reference system; name at least one with {}",
            ProgramFlag::new("reference").value("ID")
        )));
    }
    if benchmark.metrics.is_empty() {
        return Err(
            RunError::input(format!("{}: no metrics", dir.yaml().display())).with_help(notice![
                dir.command("run"),
                " writes them and measures the targets"
            ]),
        );
    }
    let mut seen = HashSet::new();
    let have = scored_targets(dir)?;
    for id in references {
        if !seen.insert(id) {
            return Err(RunError::input(format!("duplicate reference {id}")));
        }
        if have.contains(id) {
            continue;
        }
        let known: Vec<&str> = have.iter().map(ModelId::as_str).collect();
        let known = match known.as_slice() {
            [] => "No model has scores".to_owned(),
            known => format!("There are scores of {}", known.join(", ")),
        };
        return Err(RunError::input(format!(
            "{}: no scores of {id}. {known}",
            dir.runs().display()
        ))
        .with_help(notice![
            "measure it with ",
            dir.command("run").with("target", id),
            ", then calibrate again"
        ]));
    }
    Ok(())
}

/// With few samples, another run would not reproduce the reference.
fn warnings(standards: &Standards, hazards: &[Hazard], scores: &[BenchmarkScore]) -> Vec<String> {
    const FEW: u64 = 30;
    let samples = |hazard: &schema::HazardScore| hazard.score.map_or(0, |score| score.samples);
    let of_sut = |score: &BenchmarkScore| score.hazards.iter().map(samples).min();
    let fewest = scores.iter().filter_map(of_sut).min().unwrap_or_default();
    let zero: Vec<&str> = standards
        .reference_standards
        .iter()
        .filter(|(_, value)| **value <= 0.0)
        .map(|(id, _)| id.as_str())
        .collect();
    let mut warnings: Vec<String> = standards_note(standards, hazards).into_iter().collect();
    if fewest < FEW {
        warnings.push(format!(
            "a hazard has only {}, so its reference is imprecise; raise num_samples or scenarios_per_metric",
            counted(fewest, "sample", "samples")
        ));
    }
    if !zero.is_empty() {
        warnings.push(format!(
            "a reference failed every sample of {}: no model can be graded worse than good there",
            zero.join(", ")
        ));
    }
    warnings
}
