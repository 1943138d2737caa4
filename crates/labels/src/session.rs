//! Shows a person the rows of a target one by one, and stores the labels.

mod progress;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use aggregator::statistics::{LABEL_SEED, PersonLabel, RowToLabel, label_order};
use schema::{
    Benchmark, Conversation, HumanLabel, Metric, ModelId, Scenario, Score, TargetRef, nearest,
    notice, text::not_blank, transcript_digest,
};
use store::{
    BenchmarkDir, Layout, RefreshedPeople, RunError, ScoredRows, choose_scored_targets,
    find_conversations, find_scores, list_ids, put_label, read_benchmark, read_labels,
    read_scenario_index, read_scenarios, refresh_people, remove_label,
};

use self::progress::LabelCounts;
pub use self::progress::LabelProgress;

/// How many rows with their conversations are in memory at a time.
const AHEAD: usize = 32;

/// The options of a labelling session: its rows and the person.
#[derive(Clone, Debug, Default)]
pub struct LabelOptions {
    /// The target; `None`: the only one with scores.
    pub target: Option<ModelId>,
    /// Only rows of this metric.
    pub metric: Option<String>,
    /// The name of the person who labels.
    pub labeller: String,
}

/// A row for a person to read.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelRow {
    /// The metric. If `benchmark.yaml` no longer has it, the data about it in the score.
    pub metric: Metric,
    /// The conversation to read.
    pub conversation: Conversation,
    /// The target's system prompt.
    pub system_prompt: Option<String>,
    /// The judge's score.
    pub score: Score,
}

/// A row of `scores.json`.
#[derive(Clone, Debug)]
struct ScoredRow {
    conv_id: String,
    metric_id: String,
    base: String,
    passed: Option<bool>,
}

/// The last step of a person.
#[derive(Clone, Debug)]
enum Step {
    Answered {
        row: usize,
        /// The label that this answer replaced.
        before: Option<HumanLabel>,
    },
    Skipped {
        row: usize,
    },
}

/// A labelling session of one person and one target. Every answer is in `labels.json` when [`answer`](Self::answer) returns.
///
/// Rows come in the order of [`label_order`], without those that the person labelled before.
#[derive(Debug)]
pub struct Labelling {
    dir: BenchmarkDir,
    benchmark: Benchmark,
    scenarios: Arc<Vec<Scenario>>,
    target: ModelId,
    labeller: String,
    rows: Vec<ScoredRow>,
    /// The rows that are still to be shown; the first is the current one.
    queue: VecDeque<usize>,
    labelled: HashSet<usize>,
    /// The labels of all people so far.
    counts: LabelCounts,
    steps: Vec<Step>,
    loaded: HashMap<usize, LabelRow>,
    /// Rows whose conversations are not in `conversations.json`.
    unread: usize,
}

impl Labelling {
    /// Reads the rows to label.
    ///
    /// # Errors
    /// When there are no such rows, there are several targets and none is chosen, or `labels.json` cannot be used.
    pub fn open(layout: &Layout, name: &str, options: &LabelOptions) -> Result<Self, RunError> {
        let dir = layout.benchmark(name)?;
        let benchmark = read_benchmark(&dir)?;
        let target = chosen_target(&dir, options.target.as_ref())?;
        let files = dir.target(&target)?;
        if !files.conversations().exists() {
            return Err(RunError::input(format!(
                "{}: no such file, so there is nothing to read",
                files.conversations().display()
            )));
        }
        let labels = read_labels(&dir, &target)?.unwrap_or_default();
        let mine: HashSet<(&str, &str)> = labels
            .labels
            .iter()
            .filter(|label| label.labeller == options.labeller)
            .map(|label| (label.conv_id.as_str(), label.metric_id.as_str()))
            .collect();
        let scored = ScoredRows::read(&files.scores(), &target)?;
        let index = read_scenario_index(&dir)?;
        let rows: Vec<ScoredRow> = scored
            .iter()
            .filter(|row| row.passed.is_some())
            .filter(|row| {
                options
                    .metric
                    .as_deref()
                    .is_none_or(|id| id == row.metric_id)
            })
            .map(|row| ScoredRow {
                conv_id: row.conv_id.to_owned(),
                metric_id: row.metric_id.to_owned(),
                base: index.base(row.scenario).to_owned(),
                passed: row.passed,
            })
            .collect();
        if rows.is_empty() {
            return Err(no_rows(&dir, &target, &scored, options.metric.as_deref()));
        }
        let order = label_order(&to_label(&rows), LABEL_SEED);
        let is_mine =
            |row: &ScoredRow| mine.contains(&(row.conv_id.as_str(), row.metric_id.as_str()));
        let labelled: HashSet<usize> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| is_mine(row))
            .map(|(index, _)| index)
            .collect();
        let left = order.into_iter().filter(|row| !labelled.contains(row));
        let counts = LabelCounts::new(&rows, &labels.labels);
        Ok(Self {
            scenarios: read_scenarios(&dir)?,
            queue: left.collect(),
            dir,
            benchmark,
            target,
            labeller: options.labeller.clone(),
            rows,
            labelled,
            counts,
            steps: Vec::new(),
            loaded: HashMap::new(),
            unread: 0,
        })
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &ModelId {
        &self.target
    }

    /// The progress of the person.
    #[must_use]
    pub fn progress(&self) -> LabelProgress {
        LabelProgress {
            rows: self.rows.len(),
            labelled: self.labelled.len(),
            people: self.counts.people(),
            corrected: self.counts.corrected(),
            judge_width: self.counts.judge_width(),
        }
    }

    /// Whether any answers of this session are stored and were not undone.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        let is_answer = |step: &Step| matches!(step, Step::Answered { .. });
        self.steps.iter().any(is_answer)
    }

    /// The number of rows that were skipped because `conversations.json` does not have them.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The row to label now; `None` at the end.
    ///
    /// # Errors
    /// When conversations or scores cannot be read.
    pub fn current(&mut self) -> Result<Option<&LabelRow>, RunError> {
        while let Some(row) = self.queue.front().copied() {
            if !self.loaded.contains_key(&row) {
                self.load()?;
            }
            if self.loaded.contains_key(&row) {
                return Ok(self.loaded.get(&row));
            }
            self.queue.pop_front();
            self.unread += 1;
        }
        Ok(None)
    }

    /// Stores the answer for the current row and moves to the next one.
    ///
    /// # Errors
    /// When the label cannot be written; the row then stays the current one.
    pub fn answer(&mut self, passed: Option<bool>, note: Option<String>) -> Result<(), RunError> {
        let Some(row) = self.queue.front().copied() else {
            return Ok(());
        };
        let Some(read) = self.loaded.get(&row) else {
            return Ok(());
        };
        let label = HumanLabel {
            note: note.and_then(not_blank),
            transcript: Some(transcript_digest(&read.conversation.transcript)),
            ..HumanLabel::new(
                &read.conversation.conv_id,
                &read.metric.id,
                &self.labeller,
                passed,
            )
        };
        let before = put_label(&self.dir, &self.target, label)?;
        self.queue.pop_front();
        self.labelled.insert(row);
        self.counts.put(row, self.label(passed));
        self.steps.push(Step::Answered { row, before });
        Ok(())
    }

    fn label(&self, passed: Option<bool>) -> PersonLabel {
        PersonLabel {
            labeller: self.labeller.clone(),
            passed,
        }
    }

    /// Skips the current row; it comes again in a later session.
    pub fn skip(&mut self) {
        if let Some(row) = self.queue.pop_front() {
            self.steps.push(Step::Skipped { row });
        }
    }

    /// Undoes the last step, an answer or a skip: its row becomes the current row again. Returns `false` if there is no step to undo.
    ///
    /// # Errors
    /// When `labels.json` cannot be written.
    pub fn undo(&mut self) -> Result<bool, RunError> {
        let Some(step) = self.steps.last().cloned() else {
            return Ok(false);
        };
        let row = match step {
            Step::Skipped { row } => row,
            Step::Answered { row, before } => {
                match (before, self.rows.get(row)) {
                    (Some(before), _) => {
                        put_label(&self.dir, &self.target, before)?;
                    }
                    (None, Some(of)) => {
                        let (conv_id, metric_id) = (&of.conv_id, &of.metric_id);
                        remove_label(&self.dir, &self.target, conv_id, metric_id, &self.labeller)?;
                    }
                    (None, None) => {}
                }
                self.labelled.remove(&row);
                self.counts.remove(row, &self.labeller);
                row
            }
        };
        self.steps.pop();
        self.queue.push_front(row);
        Ok(true)
    }

    /// Updates `statistics.json` with the labels, and returns how far the judge agrees with people.
    ///
    /// # Errors
    /// Fails like [`refresh_people`].
    pub fn finish(&self) -> Result<RefreshedPeople, RunError> {
        refresh_people(&self.dir, &self.benchmark, &self.target)
    }

    /// Reads the conversations and scores of the next rows, which replace the rows read before.
    fn load(&mut self) -> Result<(), RunError> {
        let next: Vec<(usize, &ScoredRow)> = self
            .queue
            .iter()
            .take(AHEAD)
            .filter_map(|row| Some((*row, self.rows.get(*row)?)))
            .collect();
        let ids: HashSet<&str> = next.iter().map(|(_, row)| row.conv_id.as_str()).collect();
        let files = self.dir.target(&self.target)?;
        let target = TargetRef {
            id: self.target.clone(),
            model: String::new(),
        };
        let mut conversations = find_conversations(
            &files.conversations(),
            &target,
            &self.benchmark,
            &self.scenarios,
            &ids,
        )?;
        let scores = find_scores(&files.scores(), &self.target, &self.benchmark, &ids)?;
        let mut loaded = HashMap::new();
        for (index, row) in &next {
            let is_row =
                |score: &&Score| score.conv_id == row.conv_id && score.metric_id == row.metric_id;
            let conversation = conversations.get_mut(&row.conv_id).cloned();
            if let (Some(conversation), Some(score)) = (conversation, scores.iter().find(is_row)) {
                loaded.insert(*index, self.label_row(conversation, score.clone()));
            }
        }
        self.loaded = loaded;
        Ok(())
    }

    fn label_row(&self, conversation: Conversation, score: Score) -> LabelRow {
        let metric = self.benchmark.metric(&score.metric_id).cloned();
        let gone = || Metric::new(&score.metric_id, &score.metric_name, score.metric_type, "");
        let own = conversation.scenario.target_system_prompt.as_deref();
        let general = self.benchmark.scenario.user_context.as_deref();
        let prompt = own.and_then(not_blank).or(general);
        LabelRow {
            metric: metric.unwrap_or_else(gone),
            system_prompt: prompt.map(str::to_owned),
            conversation,
            score,
        }
    }
}

fn to_label(rows: &[ScoredRow]) -> Vec<RowToLabel<'_>> {
    rows.iter()
        .map(|row| RowToLabel {
            conv_id: &row.conv_id,
            metric_id: &row.metric_id,
            base: &row.base,
            passed: row.passed,
        })
        .collect()
}

/// The requested target, or the only one with scores.
fn chosen_target(dir: &BenchmarkDir, chosen: Option<&ModelId>) -> Result<ModelId, RunError> {
    let chosen: Vec<ModelId> = chosen.into_iter().cloned().collect();
    let targets = choose_scored_targets(dir, &chosen)?;
    match targets.as_slice() {
        [one] => Ok(one.clone()),
        all => {
            let root = dir.root().display();
            let reason = format!(
                "{root}: {} targets have scores: {}",
                all.len(),
                list_ids(all)
            );
            let first = all.first().map_or("ID", ModelId::as_str);
            Err(RunError::input(reason).with_help(notice![
                "say whose rows are labelled, such as ",
                dir.command("label").with("target", first)
            ]))
        }
    }
}

fn no_rows(
    dir: &BenchmarkDir,
    target: &ModelId,
    scored: &ScoredRows,
    metric: Option<&str>,
) -> RunError {
    let known: HashSet<&str> = scored.iter().map(|row| row.metric_id).collect();
    let root = dir.root().display();
    match metric.filter(|id| !known.contains(id)) {
        Some(id) => {
            let near = nearest(id, known.iter().copied());
            let mut known: Vec<&str> = known.iter().copied().collect();
            known.sort_unstable();
            let near = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("there are scores for {}", known.join(", ")),
            };
            RunError::input(format!("{root}: {target} has no scores for {id:?}; {near}"))
        }
        None => RunError::input(format!("{root}: no row of {target} has a verdict"))
            .with_help("labels are held against verdicts of a judge: run `evaluate` first"),
    }
}
