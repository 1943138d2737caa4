//! What the overview of a report shows beside the rows.

use report::html::ReportSummary;
use store::{Layout, RunError};

use super::ReportRequest;

/// The summary of what `request` is of.
pub(super) fn summary(
    _layout: &Layout,
    _request: &ReportRequest,
) -> Result<ReportSummary, RunError> {
    Ok(ReportSummary::default())
}
