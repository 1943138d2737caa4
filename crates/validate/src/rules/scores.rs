//! The rules of `scores.json`.

use aggregator::{
    ConversationKey, ScoreFault, ScoreFaultKind, ScoreFaultSeverity, ScoreRow, ScoreRules as Rules,
};
use schema::{ModelId, Score};
use serde_json::Value;

use super::{BenchmarkFacts, benchmark::meant};
use crate::checker::Found;

/// Checks the rows one after the other, by the rules that `aggregate` has.
pub(crate) struct ScoreRules<'f> {
    facts: &'f BenchmarkFacts,
    /// The target of the folder.
    target: Option<&'f ModelId>,
    rules: Rules<'f>,
}

impl<'f> ScoreRules<'f> {
    pub(crate) fn new(facts: &'f BenchmarkFacts) -> Self {
        let target = facts.target.as_ref();
        Self {
            facts,
            target,
            rules: Rules::new(facts.benchmark.as_ref(), target),
        }
    }

    pub(crate) fn row(&mut self, row: &Value, line: u64) -> Vec<Found> {
        let mut found = Vec::new();
        // A row that cannot be read is reported by its schema, or as one that fits no score.
        if let Ok(scored) = ScoreRow::of_value(row, self.facts.metrics()) {
            let conversation = self.conversation(&scored);
            let known = self.facts.conversations.as_ref();
            let has = |id: &str| known.is_none_or(|known| known.contains(id));
            let faults = self
                .rules
                .check(&scored, line, conversation.as_deref(), has);
            found.extend(faults.into_iter().map(|fault| self.found(fault)));
        }
        found.extend(self.fits(row));
        found
    }

    /// The id of the row's conversation; `None` if it is not known of which target the row is.
    fn conversation(&self, row: &ScoreRow<'_>) -> Option<String> {
        if !row.conv_id.is_empty() {
            return Some(row.conv_id.to_string());
        }
        let of_row = || ModelId::new(row.stated.target_model.as_deref()?).ok();
        let target = self.target.cloned().or_else(of_row)?;
        let sample = row.stated.sample;
        Some(ConversationKey::id_of(None, &row.id, &target, sample))
    }

    fn found(&self, fault: ScoreFault) -> Found {
        let mut reason = fault.reason;
        if let (ScoreFaultKind::Metric(id), Some(benchmark)) = (&fault.kind, &self.facts.benchmark)
        {
            let metrics = benchmark.metrics.iter();
            let ids: Vec<&str> = metrics.map(|metric| metric.id.as_str()).collect();
            reason.push_str(&meant(id, &ids));
        }
        match fault.kind.severity() {
            ScoreFaultSeverity::Note => Found::note(fault.pointer, reason),
            ScoreFaultSeverity::Problem | ScoreFaultSeverity::Contradiction => {
                Found::problem(fault.pointer, reason)
            }
        }
    }

    /// The errors by the type that the schema does not detect. A row without its metric's type gets the type from the benchmark, if
    /// known.
    fn fits(&self, row: &Value) -> Option<Found> {
        let row = row.as_object()?;
        if self.facts.benchmark.is_none() && !row.contains_key("metric_type") {
            return None;
        }
        let unnamed = ModelId::new("target").ok()?;
        let target = self.target.unwrap_or(&unnamed);
        let error = Score::joined(row.clone(), self.facts.metrics(), target).err()?;
        Some(Found::problem("", error.to_string()))
    }
}
