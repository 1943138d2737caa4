//! The scores of conversations that are read one after another.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use aggregator::{ConversationKey, read_score};
use located::json::JsonRows;
use schema::{Benchmark, ModelId, Score};

use crate::{
    RunError,
    rows::each_json_row,
    segments::{RowsFile, open_rows},
};

/// The scores in the `scores.json` of a target, for one conversation after another. Where both files have the same order, as a run writes
/// them, only the scores of one conversation are in memory, and a key of 12 bytes for each.
#[derive(Debug)]
pub struct ScoresBeside<'b> {
    path: PathBuf,
    rows: JsonRows<RowsFile>,
    target: &'b ModelId,
    benchmark: &'b Benchmark,
    /// How many scores of each conversation were not read yet.
    unread: HashMap<u64, u32>,
    /// Scores that were passed on the way to those of another conversation.
    passed: HashMap<String, Vec<Score>>,
}

impl<'b> ScoresBeside<'b> {
    /// Opens the `scores.json` at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a list of score rows.
    pub fn open(
        path: &Path,
        target: &'b ModelId,
        benchmark: &'b Benchmark,
    ) -> Result<Self, RunError> {
        let mut unread = HashMap::new();
        each_json_row(path, |row| {
            let id = row.parse::<ConversationKey>()?.conversation(target);
            *unread.entry(key_of(&id)).or_default() += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let file = open_rows(path).map_err(|error| RunError::read(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            rows: JsonRows::new(file),
            target,
            benchmark,
            unread,
            passed: HashMap::new(),
        })
    }

    /// The scores of the conversation `conv_id`, in the order of the file. They are returned once.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn take(&mut self, conv_id: &str) -> Result<Vec<Score>, RunError> {
        let key = key_of(conv_id);
        while self.unread.get(&key).is_some_and(|count| *count > 0) {
            let next = self.next();
            let Some((id, score)) = next.map_err(|error| RunError::in_rows(&self.path, error))?
            else {
                break;
            };
            if let Some(count) = self.unread.get_mut(&key_of(&id)) {
                *count = count.saturating_sub(1);
            }
            self.passed.entry(id).or_default().push(score);
        }
        Ok(self.passed.remove(conv_id).unwrap_or_default())
    }

    fn next(&mut self) -> Result<Option<(String, Score)>, located::json::JsonRowsError> {
        let Some(row) = self.rows.next_row()? else {
            return Ok(None);
        };
        let id = row.parse::<ConversationKey>()?.conversation(self.target);
        let score = read_score(&row, self.target, &self.benchmark.metrics)?;
        Ok(Some((id, score)))
    }
}

fn key_of(conv_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    conv_id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The numbers of the scores that each conversation gets, from a file with scores of the conversations `file`.
    fn taken(file: &[&str], conversations: &[&str]) -> (Vec<usize>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.json");
        let row = |conv_id: &&str| {
            json!({"id": "s", "conv_id": conv_id, "metric_id": "m01", "metric_name": "n", "metric_type": "negative", "present": false, "passed": true,
                "score": 1, "justification": ""})
        };
        let rows: Vec<_> = file.iter().map(row).collect();
        std::fs::write(&path, serde_json::to_string(&rows).unwrap()).unwrap();
        let target = ModelId::new("a").unwrap();
        let metric = json!({"id": "m01", "name": "n", "type": "negative", "definition": "d"});
        let benchmark: Benchmark =
            serde_json::from_value(json!({"name": "b", "metrics": [metric]})).unwrap();
        let mut scores = ScoresBeside::open(&path, &target, &benchmark).unwrap();
        let mut most = 0;
        let counts = conversations
            .iter()
            .map(|id| {
                let count = scores.take(id).unwrap().len();
                most = most.max(scores.passed.len());
                count
            })
            .collect();
        (counts, most)
    }

    #[test]
    fn scores_in_the_order_of_their_conversations_are_not_kept() {
        let (counts, most) = taken(&["a", "a", "c", "d"], &["a", "b", "c", "d"]);
        assert_eq!(counts, [2, 0, 1, 1]);
        assert_eq!(most, 0);
    }

    #[test]
    fn scores_in_another_order_are_found() {
        let (counts, most) = taken(&["d", "c", "a", "a"], &["a", "b", "c", "d", "a"]);
        assert_eq!(counts, [2, 0, 1, 1, 0]);
        assert_eq!(most, 2);
    }
}
