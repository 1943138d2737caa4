//! Likely mistakes in the files of a benchmark that do not prevent a run.

use std::{collections::BTreeMap, path::Path};

use probity::Layout;
use schema::numbers::grouped;
use store::{read_benchmark, read_scenarios};
use validate::{Finding, Options, Severity, check_inputs};

use super::{Context, validate::place};

/// The most lines that are printed for one benchmark.
const SHOWN: usize = 10;

/// A line for each likely mistake in `benchmark.yaml`, `scenarios.json` and the prompts of the benchmark `name`. Without `problems`,
/// errors for which a run refuses to start, and which it reports itself, are left out.
pub fn lines(context: &Context, layout: &Layout, name: &str, problems: bool) -> Vec<String> {
    let Ok(dir) = layout.benchmark(name) else {
        return Vec::new();
    };
    let problems = problems || (read_benchmark(&dir).is_ok() && read_scenarios(&dir).is_ok());
    let is_shown = |finding: &&Finding| problems || finding.severity == Severity::Note;
    let report = check_inputs(dir.root(), &Options::default());
    // The same mistake in several rows is reported once.
    let mut seen: BTreeMap<(&Path, &str, &str), usize> = BTreeMap::new();
    let mut lines_and_counts: Vec<(String, usize)> = Vec::new();
    for file in &report.files {
        for finding in file.findings.iter().filter(is_shown) {
            let key = match finding.key.starts_with('[') {
                true => finding.key.split_once(']').map_or("", |(_, key)| key),
                false => finding.key.as_str(),
            };
            let kind = (file.path.as_path(), key, finding.reason.as_str());
            match seen.get(&kind).and_then(|at| lines_and_counts.get_mut(*at)) {
                Some((_, times)) => *times += 1,
                None => {
                    seen.insert(kind, lines_and_counts.len());
                    let place = place(&file.path, finding);
                    let parts: Vec<&str> = [
                        place.as_str(),
                        finding.key.as_str(),
                        finding.reason.as_str(),
                    ]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect();
                    lines_and_counts.push((parts.join(": "), 1));
                }
            }
        }
    }
    let more = lines_and_counts.len().saturating_sub(SHOWN);
    let mut lines: Vec<String> = lines_and_counts
        .into_iter()
        .take(SHOWN)
        .map(|(line, times)| match times {
            1 => line,
            times => format!("{line} (in {} rows)", grouped(times as u64)),
        })
        .collect();
    if more > 0 {
        lines.push(format!(
            "{name}: and {} more; `{} validate {}` prints them all",
            grouped(more as u64),
            context.program.start(),
            dir.root().display()
        ));
    }
    lines
}

/// Prints the mistakes as warnings.
pub fn warn(context: &Context, names: &[String], problems: bool) {
    for name in names {
        for line in lines(context, &context.layout, name, problems) {
            context.terminal.warning(&line);
        }
    }
}
