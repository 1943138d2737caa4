//! What the files of a target say, read once: one pass over `conversations.json` and one over `scores.json` feed the summary, the
//! statistics, the hazards, the checks, the tallies and the digests.

mod conversations;
mod digest;
mod memory;
mod score_check;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::Path,
    sync::Arc,
};

use aggregator::{
    ConversationKey, HazardScorer, ScoreRow, aggregate_reader_and, statistics::TargetRows,
};
use schema::{
    Benchmark, BenchmarkScore, Conversation, ModelId, ScoreOutcome, Standards, Summary,
    VerdictTally, statistics::MissingReasons,
};

pub use self::{
    conversations::ConversationIndex,
    score_check::{Contradiction, ScoreFaults},
};
use self::{
    conversations::{ConversationFacts, read_facts},
    memory::Versions,
    score_check::ScoreCheck,
};
pub(crate) use self::{
    digest::{DigestReader, DigestWriter},
    memory::{FileVersion, TreeMemory},
};
use crate::{
    BenchmarkDir, ReplyTally, RowForm, RunError, Spool, TargetDir, open_rows, read_benchmark,
    summaries::scores_error,
};

/// What the rows of a target say. Rows themselves are not kept: memory is that of the counts of each scenario, and of a few hashes for each
/// conversation (52 bytes) and the ids of those that are incomplete.
#[derive(Clone, Debug)]
pub struct TargetFacts {
    /// Its row of `results.json`, as the shipped aggregator computes it.
    pub summary: Summary,
    /// Its rows by scenario, for statistics.
    pub rows: TargetRows,
    /// What is missing in its replies; `None` if its conversations cannot be read, or were not read.
    pub replies: Option<ReplyTally>,
    /// What identifies its conversations; `None` as for [`replies`](Self::replies).
    pub conversations: Option<Arc<ConversationIndex>>,
    /// What is wrong with its score rows.
    pub faults: ScoreFaults,
    /// Its rows without a verdict.
    pub unscored: Unscored,
    /// Its verdicts of another program.
    pub imported: u64,
    /// The scorers that gave them, where the rows name them.
    pub scorers: BTreeSet<String>,
    /// Its verdicts on scales and among categories, by metric.
    pub verdicts: BTreeMap<String, VerdictTally>,
    /// SHA-256 of its `scores.json`.
    pub scores_sha256: String,
    hazards: HazardScorer,
}

impl TargetFacts {
    /// Its row of `grades.json`, graded if there are `standards`.
    #[must_use]
    pub fn score(&self, standards: Option<&Standards>) -> BenchmarkScore {
        let scorer = self.hazards.clone();
        scorer.finish(self.summary.target_model.clone(), standards)
    }
}

/// Rows of a `scores.json` without a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unscored {
    /// Rows without a verdict because a call or the conversation failed.
    pub failed: u64,
    /// Why these rows failed, as far as they have a reason.
    pub reasons: MissingReasons,
    /// Rows to which the judge gave no usable verdict.
    pub abstained: u64,
    /// The first few rows that the judge abstained from, by their `prompt_id`, as the journal names them.
    pub examples: Vec<String>,
}

impl Unscored {
    /// The most rows that are named.
    const MAX_EXAMPLES: usize = 3;

    fn push(&mut self, row: &ScoreRow<'_>) {
        let ScoreOutcome::Unscored(why) = row.outcome() else {
            return;
        };
        if why.is_error {
            self.failed += 1;
            if let Some(reason) = why.reason {
                self.reasons.add(reason, 1);
            }
            return;
        }
        self.abstained += 1;
        if self.examples.len() < Self::MAX_EXAMPLES {
            let sample = row.stated.sample.unwrap_or(0);
            let prompt_id = Conversation::prompt_id(&row.id, sample);
            self.examples.push(prompt_id);
        }
    }
}

impl BenchmarkDir {
    /// What the rows of `target` say. The files are read once, as long as they stay the same. Without conversations, or with some that
    /// cannot be counted, scores alone give everything but [`TargetFacts::replies`]; the faults then say why they cannot be read.
    ///
    /// # Errors
    /// When `scores.json` cannot be read, or is not a list of score rows.
    pub fn facts(
        &self,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Result<Arc<TargetFacts>, RunError> {
        self.read_target(benchmark, target, true)
    }

    /// Like [`facts`](Self::facts), without reading the conversations.
    ///
    /// # Errors
    /// When `scores.json` cannot be read, or is not a list of score rows.
    pub fn score_facts(
        &self,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Result<Arc<TargetFacts>, RunError> {
        self.read_target(benchmark, target, false)
    }

    /// The number of verdicts of another program in the scores of `target`, and the scorers that gave them; none if they cannot be read.
    #[must_use]
    pub fn imported_verdicts(&self, target: &ModelId) -> (u64, BTreeSet<String>) {
        let known = || self.memory().facts_of_scores(&self.target(target).ok()?);
        let read = || {
            let benchmark = read_benchmark(self).ok()?;
            self.score_facts(&benchmark, target).ok()
        };
        let facts = known().or_else(read);
        facts.map_or_else(Default::default, |facts| {
            (facts.imported, facts.scorers.clone())
        })
    }

    /// The SHA-256 of the file of rows at `path`; `None` if it cannot be read. The file is not read if this was done before.
    #[must_use]
    pub fn digest(&self, path: &Path) -> Option<String> {
        self.memory().digest(path)
    }

    /// Replaces the conversations of `target`, in whatever form they are, with the rows of `spool` in `form`, and returns the SHA-256 of the plain
    /// file. What they say is read while they are
    /// written.
    ///
    /// # Errors
    /// As [`Spool::compose`].
    pub fn compose_conversations(
        &self,
        spool: Spool,
        form: RowForm,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Result<String, RunError> {
        let files = self.target(target)?;
        let path = files.conversations();
        let (composed, facts) = spool.compose_rows(&path, form, |rows| {
            read_facts(&path, rows, benchmark, target)
        })?;
        let path = files.conversations();
        self.set_digest(&path, FileVersion::now(&path), &composed.sha256);
        // Rows that cannot be read are reported by the command that needs them.
        if let Ok(facts) = facts {
            self.memory().set_conversations(&path, benchmark, facts);
        }
        Ok(composed.sha256)
    }

    /// Like [`compose_conversations`](Self::compose_conversations), for the scores. The conversations have to be written before.
    ///
    /// # Errors
    /// As [`Spool::compose`].
    pub fn compose_scores(
        &self,
        spool: Spool,
        form: RowForm,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Result<String, RunError> {
        let files = self.target(target)?;
        let conversations = self.conversation_facts(&files, benchmark, target);
        let (composed, facts) = spool.compose_rows(&files.scores(), form, |rows| {
            self.read_scores(rows, benchmark, target, conversations)
        })?;
        let versions = Versions::now(&files, benchmark, true);
        self.set_digest(&files.scores(), versions.scores, &composed.sha256);
        if let Ok(facts) = facts {
            self.memory().set_facts(&files, versions, &Arc::new(facts));
        }
        self.memory().forget_conversations(&files.conversations());
        Ok(composed.sha256)
    }

    fn set_digest(&self, path: &Path, version: Option<FileVersion>, sha256: &str) {
        self.memory().digests.set(path, version, sha256.to_owned());
    }

    fn read_target(
        &self,
        benchmark: &Benchmark,
        target: &ModelId,
        with_conversations: bool,
    ) -> Result<Arc<TargetFacts>, RunError> {
        let files = self.target(target)?;
        let versions = Versions::now(&files, benchmark, with_conversations);
        if let Some(known) = self.memory().facts(&files, &versions) {
            return Ok(known);
        }
        // Without scores there are no facts: the conversations are then not read.
        let path = files.scores();
        let scores = open_rows(&path).map_err(|error| RunError::read(&path, error))?;
        let conversations = match with_conversations {
            true => self.conversation_facts(&files, benchmark, target),
            false => None,
        };
        let facts = Arc::new(self.read_scores(scores, benchmark, target, conversations)?);
        self.set_digest(&path, versions.scores, &facts.scores_sha256);
        self.memory().set_facts(&files, versions, &facts);
        if with_conversations {
            self.memory().forget_conversations(&files.conversations());
        }
        Ok(facts)
    }

    /// What the conversations of `target` say; `None` if there are none.
    fn conversation_facts(
        &self,
        files: &TargetDir,
        benchmark: &Benchmark,
        target: &ModelId,
    ) -> Option<Result<Arc<ConversationFacts>, RunError>> {
        let path = files.conversations();
        if let Some(known) = self.memory().conversations(&path, benchmark) {
            return Some(Ok(known));
        }
        let read = || {
            let version = FileVersion::now(&path);
            let file = open_rows(&path).map_err(|error| RunError::read(&path, error))?;
            let mut file = DigestReader::new(file);
            let facts = read_facts(&path, &mut file, benchmark, target)?;
            self.set_digest(&path, version, &file.finish());
            Ok(Arc::new(facts))
        };
        path.exists().then(read)
    }

    fn read_scores(
        &self,
        scores: impl Read,
        benchmark: &Benchmark,
        target: &ModelId,
        conversations: Option<Result<Arc<ConversationFacts>, RunError>>,
    ) -> Result<TargetFacts, RunError> {
        let path = self.target(target)?.scores();
        let (conversations, unreadable) = match conversations.transpose() {
            Ok(conversations) => (conversations, None),
            Err(error) => (None, Some(Arc::new(error))),
        };
        let known = conversations.as_deref();
        let ids = known.map(|known| &known.ids);
        let replies = known.and_then(|known| known.replies.as_ref());
        let mut file = DigestReader::new(scores);
        let mut hazards = HazardScorer::new(&benchmark.scored_hazards());
        let mut rows = TargetRows::new(target.clone());
        let mut check = ScoreCheck::new(benchmark, target, ids);
        let mut unscored = Unscored::default();
        let mut imported = 0;
        let mut scorers = BTreeSet::new();
        let mut verdicts: BTreeMap<String, VerdictTally> = BTreeMap::new();
        let push = |row: &ScoreRow<'_>| {
            hazards.push_row(row);
            let (named, sample) = (Some(&*row.conv_id), row.stated.sample);
            let conversation = ConversationKey::id_of(named, &row.id, target, sample);
            let incomplete = replies.is_some_and(|replies| replies.is_incomplete(&conversation));
            rows.push_row(row, incomplete);
            check.push(row, &conversation);
            unscored.push(row);
            imported += u64::from(row.stated.imported);
            if let (true, Some(scorer)) = (row.stated.imported, &row.stated.scorer)
                && !scorers.contains(scorer)
            {
                scorers.insert(scorer.clone());
            }
            if let Some(verdict) = &row.stated.verdict {
                let of_metric = verdicts.entry(row.metric_id.to_string()).or_default();
                of_metric.add(verdict);
            }
        };
        let summary = aggregate_reader_and(target.clone(), &benchmark.metrics, &mut file, push)
            .map_err(|error| scores_error(self, target, &path, error))?;
        if let Some(replies) = replies {
            rows.set_simulator(
                replies.simulator().clone(),
                replies.simulator_sample().clone(),
            );
            rows.set_realism(replies.realism().clone());
            let (incomplete, _) = replies.of(target);
            rows.set_replies(incomplete);
        }
        let scores_sha256 = file.finish();
        rows.set_scores_sha256(scores_sha256.clone());
        let faults = ScoreFaults {
            conversations: unreadable,
            ..check.finish(self, &path)
        };
        Ok(TargetFacts {
            summary,
            rows,
            replies: replies.cloned(),
            conversations: known.and_then(|known| known.index.clone()),
            faults,
            unscored,
            imported,
            scorers,
            verdicts,
            scores_sha256,
            hazards,
        })
    }
}

#[cfg(test)]
mod tests {
    use schema::statistics::MissingRows;
    use serde_json::{Value, json};

    use super::*;
    use crate::Layout;

    /// What is missing in the rates of eight conversations, of which the last one is cut off. Rows of these two files lack `conv_id`.
    fn missing(unnamed_conversations: bool, unnamed_scores: bool) -> MissingRows {
        let folder = tempfile::tempdir().unwrap();
        let dir = Layout::new(folder.path()).benchmark("b").unwrap();
        let id = ModelId::new("a").unwrap();
        let files = dir.target(&id).unwrap();
        std::fs::create_dir_all(files.root()).unwrap();
        let row = |number: u32, unnamed: bool| {
            let scenario = format!("s{}", number / 2);
            let mut row = json!({"id": scenario, "metric_id": "m01", "_sample": number % 2});
            let of = ModelId::new("a").unwrap();
            if !unnamed {
                row["conv_id"] = json!(Conversation::make_id(&scenario, &of, number % 2));
            }
            row
        };
        let (mut conversations, mut scores) = (Vec::new(), Vec::new());
        for number in 0..8 {
            let mut conversation = row(number, unnamed_conversations);
            let finish = if number == 7 { "length" } else { "stop" };
            conversation["transcript"] = json!([{"role": "user", "content": "Pay."}, {"role": "assistant", "content": "Pa", "finish_reason": finish}]);
            conversations.push(conversation);
            let mut score = row(number, unnamed_scores);
            (score["present"], score["passed"], score["score"]) =
                (json!(false), json!(true), json!(1));
            scores.push(score);
        }
        std::fs::write(
            files.conversations(),
            Value::Array(conversations).to_string(),
        )
        .unwrap();
        std::fs::write(files.scores(), Value::Array(scores).to_string()).unwrap();
        let metric = json!({"id": "m01", "name": "n", "type": "negative", "definition": "d"});
        let benchmark = json!({"name": "b", "metrics": [metric]});
        let benchmark: Benchmark = serde_json::from_value(benchmark).unwrap();
        let facts = dir.facts(&benchmark, &id).unwrap();
        assert_eq!(facts.faults.warnings().unwrap(), Vec::new());
        let statistics = facts.rows.statistics(&Default::default(), &[]);
        statistics.rates.all.missing
    }

    #[test]
    fn conversations_and_scores_are_joined_with_and_without_their_ids() {
        for (unnamed_conversations, unnamed_scores) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let missing = missing(unnamed_conversations, unnamed_scores);
            assert_eq!(
                missing.incomplete, 1,
                "{unnamed_conversations} {unnamed_scores}"
            );
        }
    }
}
