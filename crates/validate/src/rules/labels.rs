//! The rules of `labels.json`: those of its reader.

use schema::HumanLabel;
use serde::Deserialize;
use serde_json::Value;
use store::LabelRules;

use super::BenchmarkFacts;
use crate::checker::Found;

/// Looks at the labels one after the other.
pub(crate) struct LabelFileRules<'f> {
    rules: LabelRules<'f>,
}

impl<'f> LabelFileRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            rules: LabelRules::new(facts.scored.as_ref()),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        match HumanLabel::deserialize(row) {
            Ok(label) => {
                let fault = self.rules.check(&label, line);
                let found = |fault: store::LabelFault| {
                    let reason = format!("{}. {}", fault.reason, fault.help);
                    Found::problem(format!("/{}", fault.key), reason)
                };
                fault.map(found).into_iter().collect()
            }
            Err(error) => vec![Found::problem("", error.to_string())],
        }
    }
}
