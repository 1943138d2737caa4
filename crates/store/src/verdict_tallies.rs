//! The verdicts in the scores of a target, counted by metric.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path};

use schema::{Verdict, VerdictTally};
use serde::Deserialize;

use super::each_row;
use crate::RunError;

#[derive(Deserialize)]
struct Row {
    metric_id: String,
    #[serde(rename = "_verdict", default)]
    verdict: Option<Verdict>,
}

/// Counts the values and labels of a `scores.json` by the id of the metric, row by row. Yes/no metrics have none.
///
/// # Errors
/// When the file cannot be read or is not a list of scores.
pub fn read_verdict_tallies(path: &Path) -> Result<BTreeMap<String, VerdictTally>, RunError> {
    let mut tallies: BTreeMap<String, VerdictTally> = BTreeMap::new();
    each_row(path, |row: Row| {
        if let Some(verdict) = row.verdict {
            tallies.entry(row.metric_id).or_default().add(&verdict);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(tallies)
}
