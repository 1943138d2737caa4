//! Which rows a run with fewer samples takes out of the tree.

use std::fs;

use schema::Summary;

use super::BenchmarkRun;

impl BenchmarkRun<'_> {
    /// Says before the first conversation that rows of earlier samples will leave the tree. What the tree holds is taken from
    /// `results.json`; where there is none, nothing is said.
    pub(super) fn note_dropped_samples(&self) {
        let samples = u64::from(self.pipeline.options.samples);
        let summaries: Vec<Summary> = fs::read(self.dir.results())
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let held = |summary: &Summary| {
            let rows = summary.by_scenario.values().map(|rate| rate.n_total);
            rows.max().unwrap_or(0)
        };
        let dropped: Vec<(&str, u64)> = self
            .pipeline
            .targets()
            .filter_map(|target| {
                let summary = summaries.iter().find(|row| row.target_model == target.id)?;
                Some((target.id.as_str(), held(summary))).filter(|(_, held)| *held > samples)
            })
            .collect();
        let Some(most) = dropped.iter().map(|(_, held)| *held).max() else {
            return;
        };
        let names: Vec<&str> = dropped.iter().map(|(name, _)| *name).collect();
        self.note(&format!(
            "the tree has {most} samples of a scenario for {}, and this run has {samples}: the other rows are removed. Their replies \
             stay in the cache, and a run with --num-samples {most} restores the rows without new calls",
            names.join(", ")
        ));
    }
}
