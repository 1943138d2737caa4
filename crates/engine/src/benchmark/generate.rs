//! The generating phases: metrics into `benchmark.yaml`, scenarios into `scenarios.json`.
//!
//! Existing files belong to the user. Only what is missing is generated, unless the phase is forced.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    io::Write,
    path::Path,
    sync::Arc,
};

use futures::StreamExt;
use llm_client::Tally;
use schema::{
    Benchmark, CostSum, Metric, Phase, PhaseErrorKind, Scenario,
    text::{counted, is_blank},
};

use super::{
    feed::{FeedRow, FeedWriter},
    results::Results,
    run::BenchmarkRun,
    run_log::RunLog,
};
use crate::{
    progress::Outcome,
    progress::Progress,
    wanted::{WantedMetric, WantedScenarios, is_users_own, wanted, write_gaps},
};
use store::{
    RunError, check_belongs, fill_from_metrics,
    provenance::{GeneratedMetrics, GeneratedScenarios, KeptCopy, ReplaceReason, hash_of_file},
    read_benchmark, read_costs, read_scenarios, write_atomically, write_cost, write_json,
};

/// The generating phases of a benchmark.
pub(super) struct Generation<'r> {
    run: &'r BenchmarkRun<'r>,
    results: &'r mut Results,
}

impl<'r> Generation<'r> {
    pub(super) fn new(run: &'r BenchmarkRun<'r>, results: &'r mut Results) -> Self {
        Self { run, results }
    }

    /// The metrics of the benchmark: generated and written into `benchmark.yaml` where it has none. `None` where that failed.
    pub(super) async fn metrics(&mut self, force: bool) -> Result<Option<Vec<Metric>>, RunError> {
        let metrics = &self.run.loaded.benchmark.metrics;
        let have = metrics.len();
        if have > 0 && !force {
            self.run.note(&format!(
                "kept the {} of benchmark.yaml; `{} gen-metrics {} --force` replaces them",
                counted(have as u64, "metric", "metrics"),
                self.run.dir.command(),
                self.run.dir.name()
            ));
            return Ok(Some(metrics.clone()));
        }
        self.run.observe(&Progress::Started {
            phase: Phase::GenMetrics,
            benchmark: self.run.dir.name(),
            target: None,
            rows: Some(1),
        });
        if is_blank(&self.run.loaded.benchmark.description) {
            return Err(RunError::input(format!(
                "{}: no description to write metrics from",
                self.run.dir.yaml().display()
            )));
        }
        let generator = (self.run.pipeline.phases.metric_generator)(&self.run.loaded)?;
        self.results
            .fingerprint("metric_generator", &generator.fingerprint());
        let before = self.run.pipeline.spent(Phase::GenMetrics);
        let generated = generator.metrics(&self.run.loaded.benchmark.brief()).await;
        // The cost first: a run that is killed in between makes both again from the cache.
        self.write_generation_cost(Phase::GenMetrics, &before, false)?;
        let (metrics, outcome) = match generated {
            Ok(metrics) => {
                self.write_metrics(&metrics)?;
                (Some(metrics), Outcome::Done)
            }
            Err(error) => (None, self.generation_failed(Phase::GenMetrics, &error)),
        };
        self.row(Phase::GenMetrics, outcome);
        self.finished(Phase::GenMetrics);
        Ok(metrics)
    }

    /// Writes the metrics, keeps a copy of the file where others than generated ones are replaced, and records them.
    fn write_metrics(&mut self, metrics: &[Metric]) -> Result<(), RunError> {
        let path = self.run.dir.yaml();
        let had = &self.run.loaded.benchmark.metrics;
        let reason = match self.run.provenance().metrics {
            _ if had.is_empty() => None,
            Some(generated) if generated.are(had) => None,
            Some(generated) => Some(ReplaceReason::Edited {
                run_id: generated.run_id,
            }),
            None => Some(ReplaceReason::Unknown),
        };
        let copy = match reason {
            Some(reason) => KeptCopy::because(&path, reason)?,
            None => None,
        };

        let text = fs::read_to_string(&path).map_err(|error| RunError::read(&path, error))?;
        let text = store::yaml_edit::with_metrics(&text, metrics).map_err(|error| {
            RunError::input(format!("{}: {error}", path.display())).with_source(error)
        })?;
        write_atomically(&path, |writer| writer.write_all(text.as_bytes()))?;
        self.replaced(copy, Phase::GenMetrics, &path);
        let run_id = self.run.pipeline.session.run_id().to_string();
        // As they are read: YAML may lay out a text in another way.
        let written = read_benchmark(&self.run.dir)?.metrics;
        let generated = GeneratedMetrics::new(run_id, &written);
        self.run
            .record_provenance(|all| all.metrics = Some(generated))
    }

    /// Reports that the file at `path` was replaced, and of which a copy was kept.
    fn replaced(&mut self, copy: Option<KeptCopy>, phase: Phase, path: &Path) {
        let hash = hash_of_file(path).unwrap_or_default();
        let replaced = copy.and_then(|copy| copy.replaced_by(&hash, phase, None));
        self.results.report.replaced.extend(replaced);
    }

    /// Feeds the existing scenarios, generates what is missing, and writes `scenarios.json` when something was added. A file
    /// that the user wrote is not changed: see [`WantedScenarios`].
    pub(super) async fn scenarios(
        &mut self,
        writer: FeedWriter,
        generate: bool,
        force: bool,
    ) -> Result<(), RunError> {
        let path = self.run.dir.scenarios();
        let benchmark = &self.run.loaded.benchmark;
        let mut kept = if force {
            Vec::new()
        } else {
            read_scenarios(&path)?
        };
        check_belongs(&self.run.dir, &kept, benchmark)?;
        kept.iter_mut()
            .for_each(|row| fill_from_metrics(row, benchmark));
        let wanted = self.wanted(&kept, force);
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
                self.run.note(&format!(
                    "{missing} of {} have no scenarios; `{} gen-scenarios {}` writes them",
                    counted(benchmark.metrics.len() as u64, "metric", "metrics"),
                    self.run.dir.command(),
                    self.run.dir.name()
                ));
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
            self.log_rows(&id, rows.iter().filter(of_it).count() as u64);
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
        // Rows that are added to a file of the user's own do not make it a generated one.
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

    /// What is generated, beside the rows that are kept.
    fn wanted(&self, kept: &[Scenario], force: bool) -> WantedScenarios {
        let benchmark = &self.run.loaded.benchmark;
        let add = self.run.pipeline.options.add_scenarios;
        match force {
            true => WantedScenarios {
                metrics: benchmark.metrics.iter().map(WantedMetric::new).collect(),
                left_out: Vec::new(),
            },
            false => wanted(&self.run.dir, benchmark, kept, add),
        }
    }

    /// Journals how many items each metric has, as far as that is known before scenarios are generated. Returns the metrics of which it
    /// is not.
    fn log_planned_rows(
        &self,
        by_metric: &BTreeMap<String, Vec<Scenario>>,
        wanted: &WantedScenarios,
        generate: bool,
    ) -> Vec<String> {
        let mut later = Vec::new();
        for metric in &self.run.loaded.benchmark.metrics {
            let rows = by_metric.get(&metric.id).map_or(0, Vec::len) as u64;
            let planned = match generate && wanted.has(&metric.id) {
                true => self.run.pipeline.options.expected.rows_per_metric(),
                false => Some(rows),
            };
            match planned {
                Some(planned) => self.log_rows(&metric.id, planned.max(rows)),
                None => later.push(metric.id.clone()),
            }
        }
        later
    }

    /// Journals how many items a metric with so many scenarios has, where they are simulated.
    fn log_rows(&self, metric: &str, rows: u64) {
        let log = RunLog { run: self.run };
        if self.run.pipeline.runs(Phase::Simulate) && !log.suts().is_empty() {
            let samples = u64::from(self.run.pipeline.options.samples);
            let items = rows.saturating_mul(samples);
            log.items(metric, items, items);
        }
    }

    /// Feeds the scenarios of the metrics of `wanted` as they come. Returns those that were not there before, and whether some failed.
    async fn generate_scenarios(
        &mut self,
        writer: &FeedWriter,
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
            // A row that the user has already is kept as it is; only its place is learnt here.
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
        write_json(&self.run.dir.scenarios(), &all)
    }

    /// Keeps a copy of a `scenarios.json` that is not as it was generated.
    fn copy_of_scenarios(&self) -> Result<Option<KeptCopy>, RunError> {
        let path = self.run.dir.scenarios();
        let has_rows = read_scenarios(&path).map_or(true, |rows| !rows.is_empty());
        let generated = self.run.provenance().scenarios;
        let reason = match generated {
            _ if !has_rows => return Ok(None),
            Some(generated) if hash_of_file(&path).as_ref() == Some(&generated.sha256) => {
                return Ok(None);
            }
            Some(generated) => ReplaceReason::Edited {
                run_id: generated.run_id,
            },
            None => ReplaceReason::Unknown,
        };
        KeptCopy::because(&path, reason)
    }

    /// Records which rows were generated, and the file that they are in.
    fn record_scenarios(&self, added: &[Arc<Scenario>], force: bool) -> Result<(), RunError> {
        let run_id = self.run.pipeline.session.run_id().to_string();
        let added = added.iter().map(AsRef::as_ref);
        let path = self.run.dir.scenarios();
        let Some(mut now) = GeneratedScenarios::new(run_id, &path, added) else {
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

    /// The metrics of `wanted` that have fewer rows than the settings ask for; all of them where that is not known.
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

    /// Writes the entry of a generating phase into `cost.json`.
    ///
    /// A phase that made everything again costs what all its replies cost when they were requested. One that only filled gaps
    /// adds the cost of this run's requests.
    fn write_generation_cost(
        &mut self,
        phase: Phase,
        before: &Tally,
        some_kept: bool,
    ) -> Result<(), RunError> {
        let now = self.run.pipeline.spent(phase);
        let mut sum = CostSum::default();
        let mut earlier = None;
        if some_kept {
            if let Some(entry) = read_costs(&self.run.dir.cost()).get(phase.as_str()) {
                sum.add(&entry.cost);
                earlier = Some(entry.cost);
            }
            // Only what is paid now is added, also where nothing was there.
            earlier.get_or_insert_with(|| CostSum::default().total());
            sum.add(&now.paid.minus(&before.paid).to_phase_cost());
        } else {
            sum.add(&now.spend.minus(&before.spend).to_phase_cost());
        }
        let cost = sum.total();
        write_cost(&self.run.dir.cost(), phase, cost)?;
        self.results.cost_written(phase, None, earlier);
        self.results.report.costs.insert((phase, None), cost);
        Ok(())
    }

    /// Records a failed generation. What was not made because the run is stopping or its budget is spent is no
    /// failure.
    fn generation_failed(&self, phase: Phase, error: &schema::PhaseError) -> Outcome {
        match error.kind() {
            PhaseErrorKind::Cancelled => Outcome::Skipped,
            PhaseErrorKind::OverBudget => {
                self.run.failures.over_budget(phase, None, "");
                Outcome::Skipped
            }
            _ => {
                // The error names its row itself.
                self.run.failures.add(phase, None, "", &error.to_string());
                Outcome::Failed
            }
        }
    }

    fn failed_row(&mut self, phase: Phase, row: &str, reason: &str) {
        self.run.failures.add(phase, None, row, reason);
        self.row(phase, Outcome::Failed);
    }

    /// A row ended.
    fn row(&mut self, phase: Phase, outcome: Outcome) {
        self.results.row(phase, outcome);
        self.run.observe(&Progress::Row {
            phase,
            benchmark: self.run.dir.name(),
            target: None,
            outcome,
        });
    }

    fn finished(&self, phase: Phase) {
        self.run.observe(&Progress::Finished {
            phase,
            benchmark: self.run.dir.name(),
            target: None,
        });
    }

    fn note_kept(
        &self,
        by_metric: &BTreeMap<String, Vec<Scenario>>,
        orphans: &[Scenario],
        wanted: &WantedScenarios,
        generate: bool,
    ) {
        let rows: usize = by_metric.values().map(Vec::len).sum();
        if rows > 0 {
            self.run.note(&format!(
                "kept the {} of {} in scenarios.json; `{} gen-scenarios {} --force` replaces them",
                counted(rows as u64, "scenario", "scenarios"),
                counted(by_metric.len() as u64, "metric", "metrics"),
                self.run.dir.command(),
                self.run.dir.name()
            ));
            let expected = &self.run.pipeline.options.expected;
            // Rows of the other metrics are not all there yet.
            let mut settled = by_metric.clone();
            settled.retain(|metric, _| !generate || !wanted.has(metric));
            for line in expected.differences(&settled) {
                self.run.note(&line);
            }
            if let Some(words) = wanted.in_words().filter(|_| generate) {
                self.run.note(&format!(
                    "scenarios are generated {words}, and added to scenarios.json"
                ));
            }
        }
        if !orphans.is_empty() {
            self.run.note(&format!(
                "left out {} of metrics that benchmark.yaml no longer has; scenarios.json keeps them",
                counted(orphans.len() as u64, "scenario", "scenarios")
            ));
        }
    }
}

/// Rows by metric, in the order of the file, and those whose metric is not there.
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
