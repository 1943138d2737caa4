//! Labels of people in the report.

use aggregator::statistics::{LABEL_SEED, RowToLabel, label_order};
use report::html::{HtmlReport, IndexMetric, Report, Row, RowVerdict};
use store::{Layout, RunError, list_labels, simulated_targets};

use super::ReportRequest;

/// Adds the labels of all targets. A file that cannot be used is left out, and the report says so.
pub(super) fn add(
    layout: &Layout,
    request: &ReportRequest,
    report: &mut HtmlReport,
) -> Result<(), RunError> {
    for name in &request.names {
        let dir = layout.benchmark(name)?;
        for target in simulated_targets(&dir)? {
            match list_labels(&dir, &target) {
                Ok(labels) if labels.is_empty() => {}
                Ok(labels) => report.add_labels(name, &target, labels),
                Err(error) => report.add_problem(format!("labels are not shown: {error}")),
            }
        }
    }
    Ok(())
}

/// Puts the rows into the order in which people label them, which is the same in the other tools.
pub(super) fn order(report: &mut Report) {
    report.order_labels(LABEL_SEED, |rows| {
        let rows: Vec<RowToLabel<'_>> = rows.iter().map(to_label).collect();
        label_order(&rows, LABEL_SEED)
    });
}

fn to_label<'a>((row, metric): &(&'a Row, &'a IndexMetric)) -> RowToLabel<'a> {
    RowToLabel {
        conv_id: &row.conv_id,
        metric_id: &metric.id,
        base: &row.base,
        passed: match row.verdict {
            RowVerdict::Pass => Some(true),
            RowVerdict::Fail => Some(false),
            RowVerdict::None | RowVerdict::Pending => None,
        },
    }
}
