//! Reports, to people and to the journal, which scenarios exist and which ones the run will generate.

use std::collections::BTreeMap;

use schema::{Phase, Scenario, notice, text::counted};

use store::plays;

use super::Generation;
use crate::needed_scenarios::NeededScenarios;

impl Generation<'_> {
    /// Notes for people: which scenarios are kept, which are generated, and where the existing ones differ from the settings.
    pub(super) fn note_kept(
        &self,
        by_metric: &BTreeMap<String, Vec<Scenario>>,
        orphans: &[Scenario],
        wanted: &NeededScenarios,
        generate: bool,
    ) {
        let rows: usize = by_metric.values().map(Vec::len).sum();
        if rows > 0 {
            self.run.note(notice![
                format!(
                    "kept the {} of {} in scenarios.json; ",
                    counted(rows as u64, "scenario", "scenarios"),
                    counted(by_metric.len() as u64, "metric", "metrics"),
                ),
                self.run.dir.command("gen-scenarios").flag("force"),
                " replaces them"
            ]);
            let expected = &self.run.pipeline.options.expected;
            // The rows of the other metrics are not complete yet.
            let mut settled = by_metric.clone();
            settled.retain(|metric, _| !generate || !wanted.has(metric));
            for line in expected.differences(&settled) {
                self.run.note(line);
            }
            if let Some(words) = wanted.in_words().filter(|_| generate) {
                self.run.note(format!(
                    "scenarios are generated {words}, and added to scenarios.json"
                ));
            }
        }
        if !orphans.is_empty() {
            self.run.note(format!(
                "left out {} of metrics that benchmark.yaml no longer has; scenarios.json keeps them",
                counted(orphans.len() as u64, "scenario", "scenarios")
            ));
        }
    }

    /// Journals how many items each metric has, where this is known before scenarios are generated. Returns the metrics whose count is
    /// not known yet.
    pub(super) fn log_planned_rows(
        &self,
        by_metric: &BTreeMap<String, Vec<Scenario>>,
        wanted: &NeededScenarios,
        generate: bool,
    ) -> Vec<String> {
        let mut later = Vec::new();
        for metric in &self.run.loaded.benchmark.metrics {
            let all = by_metric.get(&metric.id).map_or(&[][..], Vec::as_slice);
            let rows = all.len() as u64;
            let planned = match generate && wanted.has(&metric.id) {
                true => self.run.pipeline.options.expected.rows_per_metric(),
                false => Some(rows),
            };
            match planned {
                Some(planned) => {
                    let planned = planned.max(rows);
                    let part = self.run.part();
                    // Nothing is generated in a part of a run.
                    let played = match part {
                        None => planned,
                        Some(_) => all.iter().filter(|row| plays(part, row)).count() as u64,
                    };
                    self.log_rows(&metric.id, (played, planned));
                }
                None => later.push(metric.id.clone()),
            }
        }
        later
    }

    /// Journals how many items a metric has, where its scenarios are simulated: those that are simulated, and all.
    pub(super) fn log_rows(&self, metric: &str, (played, all): (u64, u64)) {
        let log = self.run.log();
        // Where a run stops when rules are decided, the number is known at its end.
        let is_known = self.run.pipeline.options.stop_when_decided.is_none();
        if is_known && self.run.pipeline.runs(Phase::Simulate) && !log.suts().is_empty() {
            let samples = u64::from(self.run.pipeline.options.samples);
            let items = |rows: u64| rows.saturating_mul(samples);
            let items = (items(played), items(all));
            log.log.items(metric, items, BTreeMap::new());
        }
    }
}
