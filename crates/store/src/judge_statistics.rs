//! The part `judge` of `statistics.json`.

use std::path::Path;

use aggregator::statistics::{TargetRows, judge_against_people};
use schema::{statistics::Statistics, text::counted};

use crate::{BenchmarkDir, RunError, read_labels, read_scenario_index};

/// Adds how far the judge agrees with the `labels.json` of each target that has one. Returns warnings: labels that cannot be used,
/// which costs only this part, labels of an earlier run, and labels that were evidently not drawn at random.
///
/// # Errors
/// As [`read_scenario_index`].
pub fn add_judge_statistics(
    dir: &BenchmarkDir,
    targets: &[TargetRows],
    statistics: &mut Statistics,
) -> Result<Vec<String>, RunError> {
    let mut warnings = Vec::new();
    let mut index = None;
    for (rows, of_target) in targets.iter().zip(&mut statistics.targets) {
        let labels = match read_labels(dir, rows.target()) {
            Ok(Some(labels)) => labels,
            Ok(None) => continue,
            Err(error) => {
                warnings.push(format!(
                    "the labels of {} are not used: {error}",
                    rows.target()
                ));
                continue;
            }
        };
        let path = dir.target(rows.target())?.labels();
        if labels.of_earlier_run > 0 {
            warnings.push(earlier(&path, labels.of_earlier_run));
        }
        let index = match &index {
            Some(index) => index,
            None => index.insert(read_scenario_index(dir)?),
        };
        let Some(mut people) = judge_against_people(rows, index, &labels.rows) else {
            continue;
        };
        people.of_earlier_run = labels.of_earlier_run;
        let of_file = people.notes.iter();
        warnings.extend(of_file.map(|note| format!("{}: {note}", path.display())));
        of_target.judge.get_or_insert_default().people = Some(people);
    }
    Ok(warnings)
}

/// What to do with labels of transcripts that are no longer there.
fn earlier(path: &Path, labels: u64) -> String {
    format!(
        "{}: {} left out: of conversations that an earlier run simulated. Label their rows again, or remove them",
        path.display(),
        counted(labels, "label is", "labels are")
    )
}
