//! The part `judge` of `statistics.json`.

use aggregator::statistics::{TargetRows, judge_against_people};
use schema::statistics::Statistics;

use crate::{BenchmarkDir, RunError, read_labels, read_scenario_index};

/// Adds how far the judge agrees with the `labels.json` of each target that has one. Returns warnings: labels that cannot be used,
/// which costs only this part, and labels that were evidently not drawn at random.
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
        let labelled = match read_labels(dir, rows.target()) {
            Ok(Some(labelled)) => labelled,
            Ok(None) => continue,
            Err(error) => {
                warnings.push(format!(
                    "the labels of {} are not used: {error}",
                    rows.target()
                ));
                continue;
            }
        };
        let index = match &index {
            Some(index) => index,
            None => index.insert(read_scenario_index(dir)?),
        };
        let Some(people) = judge_against_people(rows, index, &labelled) else {
            continue;
        };
        let labels = dir.target(rows.target())?.labels();
        let of_file = people.notes.iter();
        warnings.extend(of_file.map(|note| format!("{}: {note}", labels.display())));
        of_target.judge.get_or_insert_default().people = Some(people);
    }
    Ok(warnings)
}
