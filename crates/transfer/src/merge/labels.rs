//! Labels of people, from all shards.

use schema::{HumanLabel, ModelId};
use serde_json::json;
use store::{BenchmarkDir, RunError, list_labels, write_labels};

use super::{
    alike::{first_difference, values},
    input::Part,
};

/// Joins the labels of `target`, those of the first shard first. The same label in two shards is one.
pub(super) fn merge_labels(
    to: &BenchmarkDir,
    parts: &[Part<'_>],
    target: &ModelId,
) -> Result<(), RunError> {
    let mut all: Vec<(usize, HumanLabel)> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for label in list_labels(&part.dir, target)? {
            let Some((before, known)) = all.iter().find(|(_, known)| known.is_of(&label)) else {
                all.push((number, label));
                continue;
            };
            let found = first_difference(&json!(known), &json!(label), "");
            if let Some((key, one, two)) = found {
                let words = |number: usize| parts.get(number).map_or_else(String::new, Part::words);
                return Err(RunError::input(format!(
                    "{} and {} have different labels: labels.json of {target}, row {} and metric {}, by {}: {}",
                    words(*before),
                    part.words(),
                    label.conv_id,
                    label.metric_id,
                    label.labeller,
                    values(&key, &one, &two)
                )));
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    let labels: Vec<HumanLabel> = all.into_iter().map(|(_, label)| label).collect();
    write_labels(&to.target(target)?.labels(), &labels)
}
