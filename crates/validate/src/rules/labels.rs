//! The rules of `labels.json`, which its reader enforces.

use schema::HumanLabel;
use serde::Deserialize;
use serde_json::Value;
use store::{LabelRules, ScoredRows};

use super::BenchmarkFacts;
use crate::checker::Found;

/// Checks the labels one after the other.
pub(crate) struct LabelFileRules<'f> {
    scored: Option<&'f ScoredRows>,
    rules: LabelRules<'f>,
}

impl<'f> LabelFileRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        Self {
            scored: facts.scored.as_ref(),
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
                fault
                    .map(found)
                    .or_else(|| self.earlier(&label))
                    .into_iter()
                    .collect()
            }
            Err(error) => vec![Found::problem("", error.to_string())],
        }
    }

    fn earlier(&self, label: &HumanLabel) -> Option<Found> {
        let is_earlier = self.scored?.is_of_earlier_run(label);
        is_earlier.then(|| {
            let reason =
                "the label is of a conversation that an earlier run simulated, and is left out";
            let help = "label the row again, or remove the label";
            Found::note("/_transcript", reason).with_help(Some(help.into()))
        })
    }
}
