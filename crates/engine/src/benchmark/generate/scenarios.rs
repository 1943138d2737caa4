//! `gen-scenarios`: scenarios into `scenarios.json`, and to the targets that wait for them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use futures::StreamExt;
use schema::{Benchmark, Metric, Phase, Scenario, notice, text::counted};
use store::{
    RunError, check_belongs, fill_from_metrics,
    provenance::{GeneratedScenarios, KeptCopy, ReplaceReason},
    read_scenarios, write_scenarios,
};

use super::Generation;
use crate::{
    benchmark::feed::{FeedRow, ScenarioWriter},
    needed_scenarios::{NeededMetric, NeededScenarios, is_users_own, needed, write_gaps},
    progress::{Outcome, Progress},
};

impl Generation<'_> {
    /// Feeds the existing scenarios, generates the missing ones, and writes `scenarios.json` if any were added. A file that the user
    /// wrote is not changed: see [`NeededScenarios`].
    pub(in crate::benchmark) async fn scenarios(
        &mut self,
        writer: ScenarioWriter,
        generate: bool,
        force: bool,
    ) -> Result<(), RunError> {
        let path = self.run.dir.scenarios();
        let benchmark = &self.run.loaded.benchmark;
        let mut kept = if force {
            Vec::new()
        } else {
            read_scenarios(&self.run.dir)?.to_vec()
        };
        check_belongs(&self.run.dir, &kept, benchmark)?;
        kept.iter_mut()
            .for_each(|row| fill_from_metrics(row, benchmark));
        let wanted = self.needed(&kept, force);
        let is_users_own = !force && is_users_own(&self.run.dir, &kept);
        let (mut by_metric, orphans) = sort_by_metric(kept, benchmark);
        self.note_kept(&by_metric, &orphans, &wanted, generate);
        let later = self.log_planned_rows(&by_metric, &wanted, generate);
        for (position, metric) in (0..).zip(&benchmark.metrics) {
            if generate && wanted.has(&metric.id) {
                continue;
            }
            for (index, scenario) in (0..).zip(by_metric.remove(&metric.id).unwrap_or_default()) {
                writer.push(FeedRow {
                    scenario: scenario.into(),
                    metric: position,
                    index,
                });
            }
        }
        if !generate {
            let missing = wanted.left_out.len()
                + wanted
                    .metrics
                    .iter()
                    .filter(|metric| metric.have == 0)
                    .count();
            if missing > 0 {
                let metrics = counted(benchmark.metrics.len() as u64, "metric", "metrics");
                self.run.note(notice![
                    format!("{missing} of {metrics} have no scenarios; "),
                    self.run.dir.command("gen-scenarios"),
                    " writes them"
                ]);
            }
            return Ok(());
        }
        self.results.report.without_scenarios = wanted.left_out;
        if wanted.metrics.is_empty() {
            return write_gaps(&self.run.dir, &[]);
        }
        let metrics = wanted.metrics.into_iter().map(|wanted| wanted.metric);
        let wanted = Benchmark {
            metrics: metrics.collect(),
            ..benchmark.clone()
        };
        let generated = self.generate_scenarios(&writer, &wanted, by_metric).await;
        let rows = writer.rows();
        for id in later {
            let of_it = |row: &&FeedRow| row.scenario.metric_id == id;
            let all = rows.iter().filter(of_it).count() as u64;
            self.log_rows(&id, (all, all));
        }
        let (added, failed) = generated?;
        if !added.is_empty() || force {
            let copy = match force {
                true => self.copy_of_scenarios()?,
                false => None,
            };
            self.write_scenarios(writer.rows(), orphans)?;
            self.replaced(copy, Phase::GenScenarios, &path);
        }
        // Adding rows to the user's own file does not turn it into a generated file.
        if !added.is_empty() && !is_users_own {
            self.record_scenarios(&added, force)?;
        }
        let gaps = match failed {
            true => self.incomplete(&wanted.metrics, &writer.rows()),
            false => Vec::new(),
        };
        write_gaps(&self.run.dir, &gaps)?;
        self.finished(Phase::GenScenarios);
        Ok(())
    }

    /// The scenarios to generate in addition to the kept rows.
    fn needed(&self, kept: &[Scenario], force: bool) -> NeededScenarios {
        let benchmark = &self.run.loaded.benchmark;
        let add = self.run.pipeline.options.add_scenarios;
        match force {
            true => NeededScenarios {
                metrics: benchmark.metrics.iter().map(NeededMetric::new).collect(),
                left_out: Vec::new(),
            },
            false => needed(&self.run.dir, benchmark, kept, add),
        }
    }

    /// Feeds the scenarios of the metrics of `wanted` as they arrive. Returns the new ones, and whether any failed.
    async fn generate_scenarios(
        &mut self,
        writer: &ScenarioWriter,
        wanted: &Benchmark,
        mut kept: BTreeMap<String, Vec<Scenario>>,
    ) -> Result<(Vec<Arc<Scenario>>, bool), RunError> {
        let phase = Phase::GenScenarios;
        self.run.observe(&Progress::Started {
            phase,
            benchmark: self.run.dir.name(),
            target: None,
            rows: None,
        });
        let generator = (self.run.pipeline.phases.scenario_generator)(&self.run.loaded)?;
        self.results
            .fingerprint("scenario_generator", &generator.fingerprint());
        let before = self.run.pipeline.spent(phase);
        let positions: HashMap<&str, u32> = self
            .run
            .loaded
            .benchmark
            .metrics
            .iter()
            .map(|metric| metric.id.as_str())
            .zip(0..)
            .collect();
        let some_kept = !writer.rows().is_empty() || !kept.is_empty();
        let mut seen: HashSet<String> = writer
            .rows()
            .iter()
            .map(|row| row.scenario.id.clone())
            .collect();
        let mut next_index: HashMap<u32, u32> = HashMap::new();
        let mut feed = |scenario: Arc<Scenario>, position: u32| {
            let index = next_index.entry(position).or_default();
            writer.push(FeedRow {
                scenario,
                metric: position,
                index: *index,
            });
            *index += 1;
        };
        let mut failed = false;
        let mut added: Vec<Arc<Scenario>> = Vec::new();
        let mut stream = generator.scenarios(wanted);
        while let Some(next) = stream.next().await {
            let scenario = match next {
                Ok(scenario) => scenario,
                Err(error) => {
                    failed = true;
                    let outcome = self.generation_failed(phase, &error);
                    self.row(phase, outcome);
                    continue;
                }
            };
            let Some(position) = positions.get(scenario.metric_id.as_str()) else {
                failed = true;
                self.failed_row(
                    phase,
                    &scenario.id,
                    "the generator gave a scenario for a metric that is not there",
                );
                continue;
            };
            if !seen.insert(scenario.id.clone()) {
                failed = true;
                self.failed_row(
                    phase,
                    &scenario.id,
                    "the generator gave an id that is there already",
                );
                continue;
            }
            // A row that the user already has is kept unchanged; the generator only supplies its position.
            let mine = kept.get_mut(&scenario.metric_id).and_then(|rows| {
                rows.iter()
                    .position(|row| row.id == scenario.id)
                    .map(|at| rows.remove(at))
            });
            let scenario = match mine {
                Some(mine) => Arc::new(mine),
                None => {
                    let scenario = Arc::new(scenario);
                    added.push(Arc::clone(&scenario));
                    scenario
                }
            };
            feed(scenario, *position);
            self.row(phase, Outcome::Done);
        }
        for (metric, rows) in kept {
            if let Some(position) = positions.get(metric.as_str()) {
                rows.into_iter().for_each(|row| feed(row.into(), *position));
            }
        }
        self.write_generation_cost(phase, &before, some_kept)?;
        Ok((added, failed))
    }

    fn write_scenarios(
        &self,
        mut rows: Vec<FeedRow>,
        orphans: Vec<Scenario>,
    ) -> Result<(), RunError> {
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_key(|row| (row.metric, row.index));
        let all: Vec<&Scenario> = rows
            .iter()
            .map(|row| row.scenario.as_ref())
            .chain(&orphans)
            .collect();
        write_scenarios(&self.run.dir, &all)
    }

    /// Keeps a copy of a `scenarios.json` that has changed since it was generated.
    fn copy_of_scenarios(&self) -> Result<Option<KeptCopy>, RunError> {
        let path = self.run.dir.scenarios();
        let has_rows = read_scenarios(&self.run.dir).map_or(true, |rows| !rows.is_empty());
        let generated = self.run.provenance().scenarios;
        let reason = match generated {
            _ if !has_rows => return Ok(None),
            Some(generated) if self.run.dir.digest(&path).as_ref() == Some(&generated.sha256) => {
                return Ok(None);
            }
            Some(generated) => ReplaceReason::Edited {
                run_id: generated.run_id,
            },
            None => ReplaceReason::Unknown,
        };
        KeptCopy::because(&self.run.dir, &path, reason)
    }

    /// Records which rows were generated, and the file that holds them.
    fn record_scenarios(&self, added: &[Arc<Scenario>], force: bool) -> Result<(), RunError> {
        let run_id = self.run.pipeline.session.run_id().to_string();
        let added = added.iter().map(AsRef::as_ref);
        let Some(mut now) = GeneratedScenarios::new(run_id, &self.run.dir, added) else {
            return Ok(());
        };
        self.run.record_provenance(|all| {
            let earlier = all.scenarios.take().filter(|_| !force);
            for (id, hash) in earlier.map(|earlier| earlier.rows).unwrap_or_default() {
                now.rows.entry(id).or_insert(hash);
            }
            all.scenarios = Some(now);
        })
    }

    /// The metrics of `wanted` that have fewer rows than the settings ask for; all of them where the settings give no number.
    fn incomplete(&self, wanted: &[Metric], rows: &[FeedRow]) -> Vec<Metric> {
        let expected = self.run.pipeline.options.expected.rows_per_metric();
        let is_whole = |metric: &&Metric| {
            let have = rows
                .iter()
                .filter(|row| row.scenario.metric_id == metric.id);
            expected.is_some_and(|expected| have.count() as u64 >= expected)
        };
        wanted
            .iter()
            .filter(|metric| !is_whole(metric))
            .cloned()
            .collect()
    }
}

/// Groups rows by metric, in the order of the file. Also returns the rows whose metric does not exist.
fn sort_by_metric(
    rows: Vec<Scenario>,
    benchmark: &Benchmark,
) -> (BTreeMap<String, Vec<Scenario>>, Vec<Scenario>) {
    let mut by_metric: BTreeMap<String, Vec<Scenario>> = BTreeMap::new();
    let mut orphans = Vec::new();
    for row in rows {
        if benchmark.metric(&row.metric_id).is_some() {
            by_metric
                .entry(row.metric_id.clone())
                .or_default()
                .push(row);
        } else {
            orphans.push(row);
        }
    }
    (by_metric, orphans)
}
