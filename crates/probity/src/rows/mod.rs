//! The rows of a benchmark's tree: a list of those that fit conditions, single conversations, and runs on some scenarios.

mod export;
mod filter;
mod trial;

use std::{collections::HashSet, ops::ControlFlow};

use schema::{
    Benchmark, Conversation, Metric, ModelId, Scenario, Score, TargetRef, nearest, notice,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    BenchmarkDir, Layout, RunError, ScoresBeside, find_conversations, find_scores, list_ids,
    read_benchmark, read_conversations, read_scenarios, simulated_targets,
};

pub use export::FilteredExporter;
pub use filter::{RowCondition, RowFilter};
pub use trial::{Trial, TrialConversations, make_trial};

/// A row of a list: a conversation and its verdict on a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedRow {
    /// The conversation.
    pub conv_id: String,
    /// The system under test.
    pub target: ModelId,
    /// The metric.
    pub metric_id: String,
    /// The scenario.
    pub scenario_id: String,
    /// The repetition of the scenario, from 0.
    pub sample: u32,
    /// `pass`, `fail` or `none`.
    pub verdict: &'static str,
    /// Why there is no verdict, in the words of `scores.json`; null with a verdict, and where it is not known.
    pub no_verdict: Option<&'static str>,
    /// The scenario's title, else the first message of the user.
    pub title: String,
    /// The judge's reason, else the error, else empty.
    pub justification: String,
}

/// The rows that a filter lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRows {
    /// The rows, by target, in the order of the files.
    pub rows: Vec<ListedRow>,
    /// Those that the limit leaves out.
    pub beyond: u64,
    /// All rows of these targets.
    pub of: u64,
}

/// A conversation with what is known of it.
#[derive(Clone, Debug)]
pub struct ShownRow {
    /// The conversation.
    pub conversation: Conversation,
    /// Its verdicts, by metric.
    pub scores: Vec<Score>,
    /// The metrics that they are on; that of its scenario where it is not judged.
    pub metrics: Vec<Metric>,
    /// The target's system prompt, where the scenario or the benchmark has one.
    pub system_prompt: Option<String>,
}

/// The rows of the benchmark `name` that `filter` lets through. `targets`: only these; empty: all with conversations.
///
/// # Errors
/// When the benchmark or a file cannot be read, or a target has no conversations.
pub fn list_rows(
    layout: &Layout,
    name: &str,
    targets: &[ModelId],
    filter: &RowFilter,
) -> Result<ListedRows, RunError> {
    let tree = Tree::open(layout, name)?;
    let mut found = ListedRows::default();
    for target in tree.targets(targets)? {
        tree.list(&target, filter, &mut found)?;
    }
    Ok(found)
}

/// The conversation `conv_id` of the benchmark `name`.
///
/// # Errors
/// When the benchmark or a file cannot be read, or there is no such conversation; the text has the most similar one.
pub fn show_row(layout: &Layout, name: &str, conv_id: &str) -> Result<ShownRow, RunError> {
    let tree = Tree::open(layout, name)?;
    let targets = tree.targets(&[])?;
    for target in &targets {
        if let Some(shown) = tree.show(target, conv_id)? {
            return Ok(shown);
        }
    }
    let all = list_rows(layout, name, &[], &RowFilter::default())?;
    let ids = all.rows.iter().map(|row| row.conv_id.as_str());
    let near = match nearest(conv_id, ids) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    let help = notice![tree.dir.command("list"), " lists them"];
    Err(RunError::input(format!("{name}: no conversation `{conv_id}`{near}")).with_help(help))
}

struct Tree {
    dir: BenchmarkDir,
    benchmark: Benchmark,
    scenarios: std::sync::Arc<Vec<Scenario>>,
}

impl Tree {
    fn open(layout: &Layout, name: &str) -> Result<Self, RunError> {
        let dir = layout.benchmark(name)?;
        Ok(Self {
            benchmark: read_benchmark(&dir)?,
            scenarios: read_scenarios(&dir)?,
            dir,
        })
    }

    fn targets(&self, chosen: &[ModelId]) -> Result<Vec<ModelId>, RunError> {
        let all = simulated_targets(&self.dir)?;
        if all.is_empty() {
            let help = notice![self.dir.command("run"), " makes them"];
            return Err(
                RunError::input(format!("{}: no conversations", self.dir.name())).with_help(help),
            );
        }
        match chosen.iter().find(|id| !all.contains(id)) {
            Some(id) => Err(RunError::input(format!(
                "{}: no conversations of {id}; there are those of {}",
                self.dir.name(),
                list_ids(&all)
            ))),
            None if chosen.is_empty() => Ok(all),
            None => Ok(chosen.to_vec()),
        }
    }

    fn list(
        &self,
        target: &ModelId,
        filter: &RowFilter,
        found: &mut ListedRows,
    ) -> Result<(), RunError> {
        let files = self.dir.target(target)?;
        let path = files.scores();
        let mut scores = match path.exists() {
            true => Some(ScoresBeside::open(&path, target, &self.benchmark)?),
            false => None,
        };
        let mut kept = 0;
        let mut add = |conversation: &Conversation, score: Option<&Score>| {
            found.of += 1;
            if !filter.holds(conversation, score) {
                return;
            }
            if filter.limit.is_some_and(|limit| kept >= limit) {
                found.beyond += 1;
                return;
            }
            kept += 1;
            found.rows.push(listed(conversation, score));
        };
        self.each_conversation(target, |conversation| {
            let scores = match &mut scores {
                Some(scores) => scores.take(&conversation.conv_id)?,
                None => Vec::new(),
            };
            if scores.is_empty() {
                add(&conversation, None);
            }
            for score in &scores {
                add(&conversation, Some(score));
            }
            Ok(())
        })
    }

    fn each_conversation(
        &self,
        target: &ModelId,
        mut take: impl FnMut(Conversation) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let path = self.dir.target(target)?.conversations();
        let of = Self::target_ref(target);
        let mut taken = Ok(());
        read_conversations(&path, &of, &self.benchmark, &self.scenarios, |row| {
            taken = take(row);
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        taken
    }

    fn target_ref(target: &ModelId) -> TargetRef {
        TargetRef {
            id: target.clone(),
            model: String::new(),
        }
    }

    fn show(&self, target: &ModelId, conv_id: &str) -> Result<Option<ShownRow>, RunError> {
        let files = self.dir.target(target)?;
        let ids = HashSet::from([conv_id]);
        let of = Self::target_ref(target);
        let (benchmark, path) = (&self.benchmark, files.conversations());
        let mut found = find_conversations(&path, &of, benchmark, &self.scenarios, &ids)?;
        let Some(conversation) = found.remove(conv_id) else {
            return Ok(None);
        };
        let scores = match files.scores().exists() {
            true => find_scores(&files.scores(), target, benchmark, &ids)?,
            false => Vec::new(),
        };
        let of_scores = scores.iter().map(|score| score.metric_id.as_str());
        let metric_ids: Vec<&str> = match scores.is_empty() {
            true => vec![&conversation.scenario.metric_id],
            false => of_scores.collect(),
        };
        let metrics = metric_ids.into_iter().filter_map(|id| benchmark.metric(id));
        let own = conversation.scenario.target_system_prompt.as_ref();
        Ok(Some(ShownRow {
            metrics: metrics.cloned().collect(),
            system_prompt: own.or(benchmark.scenario.user_context.as_ref()).cloned(),
            conversation,
            scores,
        }))
    }
}

fn listed(conversation: &Conversation, score: Option<&Score>) -> ListedRow {
    let scenario = &conversation.scenario;
    let first = || {
        let mut turns = conversation.transcript.iter();
        turns
            .find(|turn| turn.role == schema::Role::User)
            .map(|turn| turn.content.to_string())
    };
    let title = scenario
        .extra
        .get("title")
        .and_then(serde_json::Value::as_str);
    let outcome = score.map(Score::outcome);
    let reason = outcome
        .and_then(schema::ScoreOutcome::reason)
        .or(conversation.no_verdict);
    let verdict = filter::verdict(outcome);
    let error = conversation.error.clone().unwrap_or_default();
    ListedRow {
        conv_id: conversation.conv_id.clone(),
        target: conversation.target.id.clone(),
        metric_id: score
            .map_or(&scenario.metric_id, |score| &score.metric_id)
            .clone(),
        scenario_id: scenario.id.clone(),
        sample: conversation.sample,
        verdict,
        no_verdict: reason
            .filter(|_| verdict == "none")
            .map(schema::NoVerdict::as_str),
        title: title.map(str::to_owned).or_else(first).unwrap_or_default(),
        justification: score.map_or(error, |score| score.justification.clone()),
    }
}
