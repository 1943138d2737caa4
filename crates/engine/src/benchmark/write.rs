//! Writes the files of one target when its last row has ended, and records their provenance.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use llm_client::MeterKey;
use schema::{Fingerprint, ModelId, Phase, PhaseCost, ReplySpan, Scenario, notice, text::counted};
use serde_json::json;

use super::{
    feed::FeedRow,
    results::Results,
    retain::{RetainPolicy, UnfinishedRows},
    run::BenchmarkRun,
    target::TargetRun,
};
use crate::{
    reply_ages::reply_ages,
    report::{Counts, KeptRows},
};
use store::{
    RunError, Spool, TargetDir,
    provenance::{
        FileProvenance, KeptCopy, Provenance, ReplacedFile, Settings, evaluator_settings,
        hash_of_scenarios, simulator_settings, target_settings,
    },
    read_costs, write_cost,
};

/// A file of a target, and the rows of this run for it.
struct NewFile {
    phase: Phase,
    /// Absent where the phase did not run.
    spool: Option<Spool>,
    counts: Counts,
    cost: PhaseCost,
    /// How the rows were made.
    settings: Settings,
    /// When the replies of the target came, for conversations.
    came: Option<ReplySpan>,
}

/// Writes the files of one target, and adds its numbers to `results`. `rows` are the scenarios that were simulated.
pub(super) async fn write_target(
    run: &BenchmarkRun<'_>,
    target: Arc<TargetRun>,
    rows: &[FeedRow],
    results: &mut Results,
) -> Result<(), RunError> {
    let Ok(mut target) = Arc::try_unwrap(target) else {
        return Err(RunError::input(
            "internal error: a row is still running after the last one ended",
        ));
    };
    let id = target.id().clone();
    let dir = run.dir.target(&id)?;
    let broken = target.take_broken();
    let (counts, kept_verdicts) = {
        let tests = std::mem::take(&mut target.state.tallies().tests);
        results.tallies.insert(id.clone(), tests);
        let totals = target.totals();
        ((totals.simulate, totals.evaluate), totals.kept_verdicts)
    };
    let writer = TargetWriter { run, id: &id, dir };
    writer.note_kept_verdicts(kept_verdicts);
    let unfinished = writer.policy_of_unfinished(&target, counts)?;
    let is_unfinished = unfinished.is_some();
    if !is_unfinished {
        // Otherwise the conversations of the tree are those of an earlier run.
        results.replied(&id, std::mem::take(&mut target.totals().replies));
    }
    let policy = unfinished.unwrap_or_else(|| RetainPolicy::of(&writer.dir, counts));
    for file in writer.new_files(&mut target, rows, counts) {
        let phase = file.phase;
        let Some(spool) = file.spool else { continue };
        let (counts, mut cost) = (file.counts, file.cost);
        // A run that produced no rows leaves the existing files unchanged.
        let rows = counts.done + counts.failed + counts.abstained;
        let nothing = rows == 0;
        if !nothing && phase == Phase::Evaluate && rows == kept_verdicts {
            // All verdicts come from the existing file.
            cost = writer.earlier_cost(phase, cost);
        } else if (!nothing || is_unfinished)
            && broken.is_none()
            && policy.retains(phase, &writer.dir)
        {
            cost = writer.earlier_cost(phase, cost);
            results.report.kept.push(KeptRows {
                phase,
                target: id.clone(),
                reason: policy.reason(),
            });
        } else if !nothing && broken.is_none() {
            let record = FileProvenance {
                settings: file.settings,
                replies: file.came.as_ref().map(reply_ages),
                ..FileProvenance::default()
            };
            let replaced = writer.compose(spool, phase, record);
            results.report.replaced.extend(replaced.await?);
            write_cost(&run.dir, Some(&id), phase, cost)?;
            results.cost_written(phase, Some(&id), None);
            results.wrote(writer.rows(phase));
        }
        results.count(phase, &id, counts, cost);
        target.state.report_finished(phase);
    }
    broken.map_or(Ok(()), Err)
}

/// Writes the files of one target.
struct TargetWriter<'r> {
    run: &'r BenchmarkRun<'r>,
    id: &'r ModelId,
    dir: TargetDir,
}

impl TargetWriter<'_> {
    /// Decides which files stay because this run was stopped, or its budget was spent, before it had their rows.
    fn policy_of_unfinished(
        &self,
        target: &TargetRun,
        (simulated, judged): (Counts, Counts),
    ) -> Result<Option<RetainPolicy>, RunError> {
        let is_stopped = self.run.pipeline.session.stop().is_stopped();
        if !is_stopped && simulated.skipped + judged.skipped == 0 {
            return Ok(None);
        }
        let of_run = match target.simulator {
            Some(_) => simulated,
            None => judged,
        };
        let rows = UnfinishedRows {
            conversations: target.conversations.as_ref(),
            scores: target.scores.as_ref(),
            planned: of_run.all(),
        };
        RetainPolicy::of_unfinished(&self.dir, &rows)
    }

    /// Notes which verdicts of another program stay, and how to replace them.
    fn note_kept_verdicts(&self, kept: u64) {
        if kept > 0 {
            let target = self.id;
            let kept = counted(kept, "verdict", "verdicts");
            self.run.note(notice![
                format!("{target}: kept {kept} of another program; "),
                self.run.dir.command("evaluate").flag("force"),
                " judges these rows"
            ]);
        }
    }

    /// The earlier cost of the rows that stay.
    fn earlier_cost(&self, phase: Phase, otherwise: PhaseCost) -> PhaseCost {
        let costs = read_costs(&self.run.dir, Some(self.id));
        costs
            .get(phase.as_str())
            .map_or(otherwise, |entry| entry.cost)
    }

    fn new_files(
        &self,
        target: &mut TargetRun,
        rows: &[FeedRow],
        counts: (Counts, Counts),
    ) -> [NewFile; 2] {
        let simulator = target.simulator.as_ref().map(|phase| phase.fingerprint());
        let evaluator = target.evaluator.as_ref().map(|phase| phase.fingerprint());
        let came = target.state.tallies().came;
        [
            NewFile {
                phase: Phase::Simulate,
                spool: target.conversations.take(),
                counts: counts.0,
                cost: target.cost(Phase::Simulate),
                settings: self.simulator_settings(simulator.as_ref(), &scenario_hashes(rows)),
                came,
            },
            NewFile {
                phase: Phase::Evaluate,
                spool: target.scores.take(),
                counts: counts.1,
                cost: target.cost(Phase::Evaluate),
                settings: self.evaluator_settings(evaluator.as_ref()),
                came: None,
            },
        ]
    }

    fn simulator_settings(
        &self,
        simulator: Option<&Fingerprint>,
        scenarios: &BTreeMap<String, String>,
    ) -> Settings {
        let options = &self.run.pipeline.options;
        simulator.map_or_else(Settings::new, |fingerprint| {
            let samples = Some(options.samples.into());
            simulator_settings(&json!(fingerprint), &options.config, samples, scenarios)
        })
    }

    fn evaluator_settings(&self, evaluator: Option<&Fingerprint>) -> Settings {
        evaluator.map_or_else(Settings::new, |fingerprint| {
            evaluator_settings(&json!(fingerprint), &self.run.pipeline.options.config)
        })
    }

    /// Where the rows of `phase` are.
    fn rows(&self, phase: Phase) -> PathBuf {
        match phase {
            Phase::Evaluate => self.dir.scores(),
            _ => self.dir.conversations(),
        }
    }

    /// Replaces the rows of `phase`, keeps a copy of rows that could not be produced again, and records the provenance of
    /// the new file: `made` says how its rows were made.
    async fn compose(
        &self,
        spool: Spool,
        phase: Phase,
        made: FileProvenance,
    ) -> Result<Option<ReplacedFile>, RunError> {
        let id = self.id;
        let known = self.run.provenance().target(id);
        let record = match phase {
            Phase::Evaluate => known.scores,
            _ => known.conversations,
        };
        let (to, dir) = (self.rows(phase), self.run.dir.clone());
        let form = self.run.pipeline.options.rows;
        let (benchmark, target) = (self.run.loaded.benchmark.clone(), id.clone());
        let evaluator = (phase == Phase::Evaluate).then(|| made.settings.clone());
        let is_good = RetainPolicy::any_good(phase, &to);
        // Other targets continue meanwhile, on any kind of runtime.
        let work = move || {
            let copy = match is_good {
                true => KeptCopy::of(&dir, &to, record.as_ref(), evaluator.as_ref())?,
                false => None,
            };
            let hash = match phase {
                Phase::Evaluate => dir.compose_scores(spool, form, &benchmark, &target)?,
                _ => dir.compose_conversations(spool, form, &benchmark, &target)?,
            };
            Ok::<_, RunError>((copy, hash))
        };
        let (copy, hash) = tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| RunError::input(error.to_string()))??;
        let replaced = copy.and_then(|copy| copy.replaced_by(&hash, phase, Some(id)));
        let target = match phase {
            Phase::Simulate => target_settings(&self.run.pipeline.options.config, id.as_str()),
            _ => Settings::new(),
        };
        let file = FileProvenance {
            run_id: self.run.pipeline.session.run_id().to_string(),
            sha256: Some(hash),
            target,
            assumed_free: self.assumed_free(phase),
            ..made
        };
        let judged = (phase == Phase::Evaluate).then(|| self.judged());
        self.run.record_provenance(|all| {
            let known = all.targets.entry(id.to_string()).or_default();
            match judged {
                Some(judged) => (known.scores, known.judged) = (Some(file), judged),
                None => known.conversations = Some(file),
            }
        })?;
        Ok(replaced)
    }

    /// The models whose calls of this phase for the target are assumed to be free.
    fn assumed_free(&self, phase: Phase) -> Vec<String> {
        let meter = self.run.pipeline.session.meter();
        let key = MeterKey {
            phase: phase.as_str(),
            sut: Some(self.id.shared()),
        };
        let all = meter.assumed_free();
        let models = all.get(&key).into_iter().flatten();
        models.map(ToString::to_string).collect()
    }

    /// The provenance of the judged conversations: those that the tree holds now.
    fn judged(&self) -> Option<FileProvenance> {
        let id = self.id;
        let sha256 = self.run.dir.digest(&self.dir.conversations());
        let layout = &self.run.pipeline.layout;
        let recorded = match self.run.provenance().target(id).conversations {
            Some(record) => Some(record),
            None => {
                Provenance::read_all(layout, &self.run.dir, std::slice::from_ref(id))
                    .target(id)
                    .conversations
            }
        };
        let known = recorded.filter(|record| record.sha256.is_none() || record.sha256 == sha256);
        Some(FileProvenance {
            sha256,
            ..known.unwrap_or_default()
        })
    }
}

/// A hash of the scenarios of each metric.
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
