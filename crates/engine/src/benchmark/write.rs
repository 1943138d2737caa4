//! The files of one target, written when its last row has ended, and the record of how they came about.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use schema::{Fingerprint, ModelId, Phase, PhaseCost, Scenario};
use serde_json::json;

use super::{
    BenchmarkRun,
    feed::FeedRow,
    keep::{Keep, UnfinishedRows},
    target::TargetRun,
};
use crate::{
    progress::Progress,
    report::{Counts, KeptRows},
};
use store::{
    RunError, Spool, TargetDir,
    provenance::{
        FileProvenance, KeptCopy, Provenance, Settings, evaluator_settings, hash_of_file,
        hash_of_scenarios, simulator_settings, target_settings,
    },
    read_costs, write_cost,
};

/// A file of a target, and what this run has for it.
struct NewFile {
    phase: Phase,
    /// Absent where the phase did not run.
    spool: Option<Spool>,
    path: PathBuf,
    counts: Counts,
    cost: PhaseCost,
    /// How the rows were made.
    settings: Settings,
}

impl BenchmarkRun<'_> {
    /// Writes the files of one target and takes its numbers into the report. `rows` are the scenarios that were simulated.
    pub(super) async fn write_target(
        &self,
        run: Arc<TargetRun>,
        rows: &[FeedRow],
    ) -> Result<(), RunError> {
        let id = run.id().clone();
        let Ok(mut run) = Arc::try_unwrap(run) else {
            return Err(RunError::input(
                "internal error: a row is still running after the last one ended",
            ));
        };
        let dir = self.dir.target(&id)?;
        let broken = run.broken.take();
        let (counts, kept_verdicts) = {
            let mut totals = run.totals();
            self.tested(&id, std::mem::take(&mut totals.tests));
            ((totals.simulate, totals.evaluate), totals.kept_verdicts)
        };
        self.note_kept_verdicts(&id, kept_verdicts);
        let unfinished = self.keep_of_unfinished(&run, &dir, counts)?;
        let is_unfinished = unfinished.is_some();
        if !is_unfinished {
            // Else the conversations of the tree are those of an earlier run.
            self.replied(&id, run.totals().replies);
        }
        let keep = unfinished.unwrap_or_else(|| Keep::of(&dir, counts));
        for file in self.new_files(&mut run, &dir, rows, counts) {
            let phase = file.phase;
            let Some(spool) = file.spool else { continue };
            let (counts, mut cost) = (file.counts, file.cost);
            // A run that got nowhere leaves the existing files as they are.
            let rows = counts.done + counts.failed + counts.abstained;
            let nothing = rows == 0;
            if !nothing && phase == Phase::Evaluate && rows == kept_verdicts {
                // All verdicts are those of the file.
                let there = read_costs(&dir.cost());
                cost = there.get(phase.as_str()).map_or(cost, |entry| entry.cost);
            } else if (!nothing || is_unfinished) && broken.is_none() && keep.holds(phase, &dir) {
                let there = read_costs(&dir.cost());
                cost = there.get(phase.as_str()).map_or(cost, |entry| entry.cost);
                self.kept(KeptRows {
                    phase,
                    target: id.clone(),
                    reason: keep.reason(),
                });
            } else if !nothing && broken.is_none() {
                self.compose(&id, &dir, spool, phase, &file.path, file.settings)
                    .await?;
                write_cost(&dir.cost(), phase, cost)?;
                self.cost_written(phase, Some(&id), None);
                self.wrote(file.path);
            }
            self.count(phase, Some(&id), counts, cost);
            self.tell(&Progress::Finished {
                phase,
                benchmark: self.dir.name(),
                target: Some(&id),
            });
        }
        broken.map_or(Ok(()), Err)
    }

    /// Which files stay because this run was stopped, or its budget was spent, before it had their rows.
    fn keep_of_unfinished(
        &self,
        run: &TargetRun,
        dir: &TargetDir,
        (simulated, judged): (Counts, Counts),
    ) -> Result<Option<Keep>, RunError> {
        let is_unfinished =
            self.pipeline.session.stop().is_stopped() || simulated.skipped + judged.skipped > 0;
        if !is_unfinished {
            return Ok(None);
        }
        let of_run = match run.simulator {
            Some(_) => simulated,
            None => judged,
        };
        let rows = UnfinishedRows {
            conversations: run.conversations.as_ref(),
            scores: run.scores.as_ref(),
            planned: of_run.all(),
        };
        Keep::of_unfinished(dir, &rows)
    }

    /// Says which verdicts of another program stay, and how they are replaced.
    fn note_kept_verdicts(&self, target: &ModelId, kept: u64) {
        if kept > 0 {
            self.note(&format!(
                "{target}: kept {kept} verdicts of another program; `evaluate {} --force` judges these rows",
                self.dir.name()
            ));
        }
    }

    fn new_files(
        &self,
        run: &mut TargetRun,
        dir: &TargetDir,
        rows: &[FeedRow],
        counts: (Counts, Counts),
    ) -> [NewFile; 2] {
        let simulator = run.simulator.as_ref().map(|phase| phase.fingerprint());
        let evaluator = run.evaluator.as_ref().map(|phase| phase.fingerprint());
        [
            NewFile {
                phase: Phase::Simulate,
                spool: run.conversations.take(),
                path: dir.conversations(),
                counts: counts.0,
                cost: run.cost(Phase::Simulate),
                settings: self.simulator_settings(simulator.as_ref(), &scenario_hashes(rows)),
            },
            NewFile {
                phase: Phase::Evaluate,
                spool: run.scores.take(),
                path: dir.scores(),
                counts: counts.1,
                cost: run.cost(Phase::Evaluate),
                settings: self.evaluator_settings(evaluator.as_ref()),
            },
        ]
    }

    fn simulator_settings(
        &self,
        simulator: Option<&Fingerprint>,
        scenarios: &BTreeMap<String, String>,
    ) -> Settings {
        let options = &self.pipeline.options;
        simulator.map_or_else(Settings::new, |fingerprint| {
            let samples = Some(options.samples.into());
            simulator_settings(&json!(fingerprint), &options.config, samples, scenarios)
        })
    }

    fn evaluator_settings(&self, evaluator: Option<&Fingerprint>) -> Settings {
        evaluator.map_or_else(Settings::new, |fingerprint| {
            evaluator_settings(&json!(fingerprint), &self.pipeline.options.config)
        })
    }

    /// Replaces the file at `path`, keeps a copy of what could not be made again, and records how the new one came about.
    async fn compose(
        &self,
        id: &ModelId,
        dir: &TargetDir,
        spool: Spool,
        phase: Phase,
        path: &Path,
        settings: Settings,
    ) -> Result<(), RunError> {
        let known = self.provenance().target(id);
        let record = match phase {
            Phase::Evaluate => known.scores,
            _ => known.conversations,
        };
        let to = path.to_owned();
        let evaluator = (phase == Phase::Evaluate).then(|| settings.clone());
        let is_good = Keep::any_good(phase, path);
        // Other targets continue meanwhile, whatever runtime this is.
        let work = move || {
            let copy = match is_good {
                true => KeptCopy::of(&to, record.as_ref(), evaluator.as_ref())?,
                false => None,
            };
            spool.compose(&to)?;
            Ok::<_, RunError>((copy, hash_of_file(&to)))
        };
        let (copy, hash) = tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| RunError::input(error.to_string()))??;
        let hash = hash.unwrap_or_default();
        self.replaced(copy.and_then(|copy| copy.replaced_by(&hash, phase, id)));
        let target = match phase {
            Phase::Simulate => target_settings(&self.pipeline.options.config, id.as_str()),
            _ => Settings::new(),
        };
        let file = FileProvenance {
            run_id: self.pipeline.session.run_id().to_string(),
            sha256: Some(hash),
            settings,
            target,
        };
        let judged = (phase == Phase::Evaluate).then(|| self.judged(id, dir));
        self.record_provenance(|all| {
            let known = all.targets.entry(id.to_string()).or_default();
            match judged {
                Some(judged) => (known.scores, known.judged) = (Some(file), judged),
                None => known.conversations = Some(file),
            }
        })
    }

    /// How the conversations came about that were judged: those that the tree has now.
    fn judged(&self, id: &ModelId, dir: &TargetDir) -> Option<FileProvenance> {
        let sha256 = hash_of_file(&dir.conversations());
        let layout = &self.pipeline.layout;
        let known = match self.provenance().target(id).conversations {
            Some(known) => Some(known),
            None => {
                Provenance::read_all(layout, &self.dir, std::slice::from_ref(id))
                    .target(id)
                    .conversations
            }
        };
        let known = known.filter(|known| known.sha256.is_none() || known.sha256 == sha256);
        Some(FileProvenance {
            sha256,
            ..known.unwrap_or_default()
        })
    }
}

/// For each metric, a hash of its scenarios.
fn scenario_hashes(rows: &[FeedRow]) -> BTreeMap<String, String> {
    let mut by_metric: BTreeMap<&str, Vec<(u32, &Scenario)>> = BTreeMap::new();
    for row in rows {
        let of_metric = by_metric.entry(&row.scenario.metric_id).or_default();
        of_metric.push((row.index, &row.scenario));
    }
    let hash = |(metric, mut rows): (&str, Vec<(u32, &Scenario)>)| {
        rows.sort_by_key(|(index, _)| *index);
        let rows = rows.into_iter().map(|(_, row)| row);
        (metric.to_owned(), hash_of_scenarios(rows))
    };
    by_metric.into_iter().map(hash).collect()
}
