//! Verdicts in a tree that another program gave. `evaluate` keeps them, because they cost money.

use std::{
    cell::OnceCell, collections::HashMap, fs, ops::ControlFlow, path::Path, time::SystemTime,
};

use schema::{Conversation, Extra, Metric, ModelId, Score, transcript_digest};
use serde_json::Value;

use super::each_row;
use crate::TargetDir;

/// The mark of a score row with a verdict of another program, once Probity has written the row.
pub const IMPORTED: &str = "imported";

/// The key of such a row for the [digest](transcript_digest) of the transcript that the verdict is on, as labels have it.
const TRANSCRIPT: &str = "_transcript";

/// Marks a row as a verdict of another program on the transcript with this digest, or on one that is not known.
pub fn mark_imported(score: &mut Score, digest: Option<String>) {
    let extra = &mut score.extra;
    extra.insert(IMPORTED.to_owned(), Value::Bool(true));
    if let Some(digest) = digest {
        extra.insert(TRANSCRIPT.to_owned(), Value::String(digest));
    }
}

/// Verdicts of another program, by conversation.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// By the scenario's id and the sample.
    rows: HashMap<(String, u32), Vec<Score>>,
}

impl Verdicts {
    /// The verdicts of another program on the conversations of `target` in the tree: rows that do not name their conversation, as
    /// ImpactBench writes them, and rows with the mark [`IMPORTED`]. A row with the digest of its transcript is a verdict on that
    /// transcript, however old the files are; rows without one are left out if the conversations are newer than the scores. Empty if the
    /// file cannot be read: the conversations are then judged again.
    pub fn read(dir: &TargetDir, target: &ModelId, metrics: &[Metric]) -> Self {
        let mut found = Self::default();
        if !dir.scores().exists() {
            return found;
        }
        let together = OnceCell::new();
        let read = each_row(&dir.scores(), |row: Extra| {
            if is_of_another_program(&row)
                && let Ok(mut score) = Score::joined(row, metrics, target)
                && score.outcome().is_scored()
                && (digest(&score).is_some() || *together.get_or_init(|| belong_together(dir)))
            {
                mark_imported(&mut score, None);
                let of = (score.id.clone(), score.sample);
                found.rows.entry(of).or_default().push(score);
            }
            Ok(ControlFlow::Continue(()))
        });
        read.map_or_else(|_| Self::default(), |()| found)
    }

    /// The scores of a conversation, if they include a verdict for its scenario's metric.
    pub fn of(&self, conversation: &Conversation) -> Option<Vec<Score>> {
        let mut scores = self.kept(conversation)?.to_vec();
        let digest = transcript_digest(&conversation.transcript);
        for score in &mut scores {
            score.conv_id.clone_from(&conversation.conv_id);
            mark_imported(score, Some(digest.clone()));
        }
        Some(scores)
    }

    /// Whether the verdict on a conversation stays, so that the conversation is not judged.
    pub fn has(&self, conversation: &Conversation) -> bool {
        self.kept(conversation).is_some()
    }

    fn kept(&self, conversation: &Conversation) -> Option<&[Score]> {
        let scenario = &conversation.scenario;
        let scores = self.rows.get(&(scenario.id.clone(), conversation.sample))?;
        let judged = scores.iter().any(|row| row.metric_id == scenario.metric_id);
        let now = OnceCell::new();
        let same = |row: &Score| {
            let now = now.get_or_init(|| transcript_digest(&conversation.transcript));
            digest(row).is_none_or(|digest| digest == now)
        };
        (judged && conversation.error.is_none() && scores.iter().all(same)).then_some(scores)
    }
}

/// The digest of the transcript that a verdict is on.
fn digest(score: &Score) -> Option<&str> {
    score.extra.get(TRANSCRIPT)?.as_str()
}

fn is_of_another_program(row: &Extra) -> bool {
    let unnamed = row
        .get("conv_id")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty);
    unnamed || row.get(IMPORTED) == Some(&Value::Bool(true))
}

/// Whether scores without digests belong to the conversations beside them: the conversations are from another program, or not newer than the
/// scores.
fn belong_together(dir: &TargetDir) -> bool {
    let mut foreign = false;
    let first = each_row(&dir.conversations(), |row: Extra| {
        foreign = !row.contains_key("conv_id") || !row.get("target").is_some_and(Value::is_object);
        Ok(ControlFlow::Break(()))
    });
    if first.is_err() || foreign {
        return foreign;
    }
    match (written(&dir.scores()), written(&dir.conversations())) {
        (Some(scores), Some(conversations)) => scores >= conversations,
        _ => false,
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}
