//! What a journal reports.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use journal::CallTotals;
use serde::{Deserialize, Serialize};
use store::DiskPositions;

use crate::export::{
    replies::ReportedReplies, reported_item::ReportedItem, reported_target::ReportedTarget,
};

/// What a journal reports, as far as it was read. The index beside the journal holds it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::export) struct RecordContent {
    pub(super) run: ReportedTarget,
    /// The items that had not ended at the last event that was read, with their replies up to there, by
    /// their keys.
    pub(super) unended: HashMap<u64, Vec<ReportedItem>>,
    /// The positions of the items that ended, by their keys.
    pub(in crate::export) ended: DiskPositions,
    pub(super) targets: BTreeMap<String, TargetRecord>,
    pub(super) plans: Vec<Plan>,
    pub(super) totals: CallTotals,
    pub(super) cut_off: Option<String>,
}

/// The data that a journal reports about a target.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TargetRecord {
    /// Only from this journal, whatever other journals report.
    pub(super) target: ReportedTarget,
    pub(super) replies: ReportedReplies,
}

/// The targets that a run planned to simulate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) targets: Vec<String>,
    pub(super) run: ReportedTarget,
}
impl RecordContent {
    /// Sets the path of the journal, which its index does not have.
    pub(in crate::export) fn set_path(&mut self, path: &Path) {
        let targets = self.targets.values_mut().map(|record| &mut record.target);
        let planned = self.plans.iter_mut().map(|plan| &mut plan.run);
        let all = targets.chain(planned).chain([&mut self.run]);
        all.for_each(|reported| reported.set_path(path));
    }
}
