//! The data of the page as JSON: an index of runs, metrics and rows, and chunks of conversations. The page's script reads them.
//!
//! Keys without a value are left out. `run` and `metric` of a row are positions in the lists of the index. `chunk` and `at` are the number
//! of the chunk that holds the row's conversation, and the position in that chunk.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schema::MetricType;
use serde::{Deserialize, Serialize};

/// The version of the format. The first number changes when a reader of an earlier version could misread a file.
pub const FORMAT: &str = "1.0.0";

/// The runs and metrics, and one entry for each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Index {
    /// `1.0.0`.
    pub format: &'static str,
    /// The title for people: the names of the benchmarks.
    pub title: String,
    /// The name of the program in commands that the page shows.
    pub program: String,
    /// Which rows the page holds.
    pub kept: RowsKept,
    /// Which of these rows it holds, in words; absent: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The number of rows of all runs, including rows that the page does not hold.
    pub total_rows: u64,
    /// The number of chunks.
    pub chunks: usize,
    /// The runs, in the order in which they were given.
    pub runs: Vec<IndexRun>,
    /// The metrics of all benchmarks.
    pub metrics: Vec<IndexMetric>,
    /// The rows that the page holds.
    pub rows: Vec<Row>,
    /// How rows were drawn for labels.
    pub label: LabelDraw,
}

/// How rows were drawn for labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LabelDraw {
    /// The seed; absent where nothing was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Which rows a report holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowsKept {
    /// All rows. Of more than [`ALL_LIMIT`](super::ALL_LIMIT), as [`Notable`](Self::Notable).
    All,
    /// All rows of a small report. Of a larger one, the rows that deserve attention first, see [`NOTABLE_LIMIT`](super::NOTABLE_LIMIT).
    #[default]
    Notable,
    /// No rows: only the overview.
    None,
}

/// One target of one benchmark, or one result file of a safety evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IndexRun {
    /// Unique in the page: the target's id, preceded by the benchmark's folder if there are several benchmarks.
    pub id: String,
    /// The folder of the benchmark.
    pub benchmark: String,
    /// The target's id.
    pub target: String,
    /// The model's name at its endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider or program that serves the model, as the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The kind of the run.
    pub kind: RunKind,
    /// Whether rows are missing.
    pub state: RunState,
    /// The planned number of user messages of each conversation; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The command that runs it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<String>,
    /// Whether `--force-row CONV_ID` may follow that command, to call for one row again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun_row: bool,
    /// The numbers of rows in the order in which people label them; absent if there is nothing to label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_order: Vec<usize>,
    /// The width of the 95% interval of the corrected rate over all rows, by the labels in files, from 0 to 1; absent if the rate is not
    /// known. People who label see it, and not the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_width: Option<f64>,
    /// The same of the judge's own rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_width: Option<f64>,
    /// The pass rate in each metric with its 95% interval, as tables show it, by the metric's position in [`Index::metrics`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<usize, String>,
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// A behavioural benchmark.
    #[default]
    Benchmark,
    /// A safety evaluation.
    Safety,
}

/// Whether a run is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// No row is known to be missing.
    #[default]
    Complete,
    /// Rows are missing: the run was interrupted, or is still running.
    Partial,
}

/// A metric, or a group of a safety evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexMetric {
    /// Its id, unique in its benchmark.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the behaviour is desired.
    #[serde(rename = "type")]
    pub metric_type: MetricType,
    /// The folder of its benchmark.
    pub benchmark: String,
    /// What judges look for.
    pub definition: String,
    /// Examples of the behaviour, as judges read them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Near misses, which do not show it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counterexamples: Vec<String>,
    /// The answers of judges in words, if they are not yes and no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The test of the replies that decides it in place of judges, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The points from the lowest to the highest value of its scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<u32>,
    /// The hazard that it is scored with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<String>,
}

/// Whether a row passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowVerdict {
    /// The row passed.
    Pass,
    /// The row failed.
    Fail,
    /// There is no verdict.
    #[default]
    None,
    /// A run in progress has not judged the row yet.
    Pending,
}

impl From<Option<bool>> for RowVerdict {
    fn from(passed: Option<bool>) -> Self {
        match passed {
            Some(true) => Self::Pass,
            Some(false) => Self::Fail,
            None => Self::None,
        }
    }
}

/// One metric in one conversation, or a conversation that has no score.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The conversation.
    pub conv_id: String,
    /// Position in [`Index::runs`].
    pub run: usize,
    /// Position in [`Index::metrics`].
    pub metric: usize,
    /// The scenario, or the case of a safety evaluation.
    pub scenario: String,
    /// The scenario without its variant.
    pub base: String,
    /// The scenario's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of the repetition, from 0; in a safety evaluation, the number of the attempt at the case.
    pub sample: u32,
    /// The values of the variant, by axis.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub variant: IndexMap<String, String>,
    /// The words of the scenario's key `tags`, to find rows by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it passed.
    pub verdict: RowVerdict,
    /// Why there is no verdict: the name of a [`schema::NoVerdict`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The score, if it is a number other than of a yes or no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The start of the reason of a judge that decided as the row says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Of a panel: how many judges say that the row passes, and how many say that it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub votes: Option<[usize; 2]>,
    /// Of a panel whose answers are more than yes and no: on a scale, the points between the lowest and the highest answer; of categories,
    /// the share of judges, 0 to 1, that are not in the largest group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The judges of a panel that decided otherwise than the row says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dissent: Option<RowDissent>,
    /// The error, if one occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Kinds of faults of the simulated user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<&'static str>,
    /// Whether a reply is empty or was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub incomplete: bool,
    /// Whether a reply was cut off at a limit or by a filter.
    #[serde(skip_serializing_if = "is_false")]
    pub cut: bool,
    /// Whether the judges of a panel disagree.
    #[serde(skip_serializing_if = "is_false")]
    pub split: bool,
    /// The labels that people gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<RowLabel>,
    /// The number of user messages.
    pub turns: usize,
    /// Why there are fewer turns than [`IndexRun::turns`]; absent if there are not fewer, or if the reason is not known. The name of a
    /// [`schema::NoVerdict`], or `error`, `user`, `tool_limit`, `settled`, or `fixed`: the
    /// scenario has no more messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
    /// The start of the first user message.
    pub preview: String,
    /// The chunk that holds the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    /// The position of the conversation in the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// The judges that decided otherwise than their panel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowDissent {
    /// Their ids.
    pub judges: Vec<String>,
    /// The start of the first one's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// One person's verdict on a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowLabel {
    /// The person who labelled the row.
    pub labeller: String,
    /// Whether the row passes; null if it is unclear.
    pub passed: Option<bool>,
    /// The person's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One conversation with its scenario, scores, faults and cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationData<'a> {
    /// Its id.
    pub conv_id: &'a str,
    /// Position in [`Index::runs`].
    pub run: usize,
    /// The simulated scenario.
    pub scenario: ScenarioData<'a>,
    /// The target's system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<&'a str>,
    /// The transcript.
    pub messages: Vec<MessageData<'a>>,
    /// The judges' scores.
    pub scores: Vec<ScoreData<'a>>,
    /// How realistic judges find the conversation; absent if they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realism: Option<RealismData<'a>>,
    /// The places where the simulated user fell out of its role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultData<'a>>,
    /// Why the conversation could not be finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The cost of the conversation in dollars, without its judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The digest of the transcript. Labels carry it, so that labels of an earlier run are recognised.
    pub transcript: String,
}

/// The scenario of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScenarioData<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Who the simulated user is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<&'a str>,
    /// The simulated user's open goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_goal: Option<&'a str>,
    /// The pressure that the simulated user puts on the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_goal: Option<&'a str>,
    /// Instructions to the simulated user for single turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landmarks: Vec<LandmarkData<'a>>,
    /// The values of the variant, by axis.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub demographic: IndexMap<String, String>,
    /// The state of the world for simulated tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_state: Option<&'a str>,
}

/// An instruction to the simulated user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LandmarkData<'a> {
    /// The turn, from 1.
    pub turn: u32,
    /// The instruction.
    pub text: &'a str,
}

/// One message, with the call that produced it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MessageData<'a> {
    /// The speaker: `user`, `assistant`, `tool` or `system`.
    pub role: &'a str,
    /// The turn, from 1.
    pub turn: u32,
    /// The text.
    pub text: &'a str,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<&'a str>,
    /// The tool calls in the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallData<'a>>,
    /// The tool call that the message answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// The tool that the message comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Why the message ended, if it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The call.
    #[serde(flatten)]
    pub call: CallData<'a>,
    /// Whether the message came from the response cache.
    #[serde(skip_serializing_if = "is_false")]
    pub cached: bool,
}

/// The figures of a call, or the sums of several calls. Unknown figures are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallData<'a> {
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// Tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Seconds from request to reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The cost in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCallData<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// The arguments as the model wrote them.
    pub arguments: &'a str,
}

/// The score of one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreData<'a> {
    /// Position in [`Index::metrics`].
    pub metric: usize,
    /// Whether the conversation passed.
    pub verdict: RowVerdict,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The judge's reason.
    pub justification: &'a str,
    /// The error, if one occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The passages that support the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuoteData<'a>>,
    /// The verdict of each judge of a panel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeData<'a>>,
    /// The calls of the judges, summed.
    #[serde(flatten)]
    pub call: CallData<'a>,
}

/// A passage that a judge quotes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuoteData<'a> {
    /// Position of the message in [`ConversationData::messages`].
    pub message: u64,
    /// The words.
    pub text: &'a str,
}

/// The verdict of one judge of a panel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeData<'a> {
    /// The judge's id.
    pub judge: &'a str,
    /// Whether the row passes by this judge.
    pub verdict: RowVerdict,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The judge's reason.
    pub justification: &'a str,
    /// The passages that support the judge's verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuoteData<'a>>,
}

/// How realistic a conversation is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealismData<'a> {
    /// Whether the target seems to suspect a test; null if the judges are divided or gave no answer.
    pub suspects_test: Option<bool>,
    /// How real the simulated user sounds, from 1 to 5; null if too few judges gave an answer.
    pub user_realism: Option<u8>,
    /// The answers of each judge.
    pub judges: Vec<RealismJudgeData<'a>>,
}

/// The answers of one judge on how realistic a conversation is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealismJudgeData<'a> {
    /// The judge's id.
    pub judge: &'a str,
    /// As [`RealismData::suspects_test`].
    pub suspects_test: Option<bool>,
    /// As [`RealismData::user_realism`].
    pub user_realism: Option<u8>,
    /// The judge's reason, or why the judge gave no answer.
    pub reason: &'a str,
    /// The words of the target that show a suspicion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuoteData<'a>>,
}

/// A fault of the simulated user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultData<'a> {
    /// The turn, from 1.
    pub turn: u32,
    /// The kind of fault.
    pub kind: &'static str,
    /// The start of the faulty reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// Whether the message was generated again.
    #[serde(skip_serializing_if = "is_false")]
    pub retried: bool,
}
