//! What a person sees, word for word.

use std::{collections::BTreeMap, path::Path};

use report::{
    BenchmarkResults, Failure, FailureGroups, FileEntry, PlanRow, Span, failures_summary,
    files_list, plan_table, results_table,
};
use schema::{ModelId, PhaseCost, Rate, Summary};
use unicode_width::UnicodeWidthStr;

fn model(id: &str) -> ModelId {
    serde_json::from_value(id.into()).unwrap()
}
