//! What the page holds as JSON: an index of runs, metrics and rows, and chunks of conversations. The script of the page reads it.
//!
//! Keys without a value are left out. `run` and `metric` of a row are places in the lists of the index, `chunk` and `at` those of its
//! conversation.

use indexmap::IndexMap;
use schema::MetricType;
use serde::{Deserialize, Serialize};

/// The version of the format. The first number changes when a reader of an earlier version could misread a file.
pub const FORMAT: &str = "1.0.0";

/// What is known of all runs, and one entry for each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Index {
    /// `1.0.0`.
    pub format: &'static str,
    /// For people: the benchmarks.
    pub title: String,
    /// What commands for people begin with.
    pub program: String,
    /// Which rows the page holds.
    pub kept: RowsKept,
    /// Rows of all runs, those that the page does not hold included.
    pub total_rows: u64,
    /// How many chunks there are.
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
    /// Each of them.
    All,
    /// Each of them where there are few; else those that a person wants to see first, see [`NOTABLE_LIMIT`](super::NOTABLE_LIMIT).
    #[default]
    Notable,
    /// None: the overview alone.
    None,
}

/// One target of one benchmark, or one result file of a safety evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IndexRun {
    /// Unique in the page: the target's id, behind the name of the benchmark where there are several.
    pub id: String,
    /// The folder of the benchmark.
    pub benchmark: String,
    /// The target's id.
    pub target: String,
    /// Its name on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who serves it, as the configuration names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What was run.
    pub kind: RunKind,
    /// Whether rows are missing.
    pub state: RunState,
    /// User messages that each conversation was to have; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The command that runs it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<String>,
    /// Whether `--force-row CONV_ID` may follow that command, to call for one row again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun_row: bool,
    /// The numbers of rows in the order in which people label them; absent where there is nothing to label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_order: Vec<usize>,
}

/// What was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// A behavioural benchmark.
    #[default]
    Benchmark,
    /// A safety evaluation.
    Safety,
}

/// Whether a run is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// No row is missing, as far as is known.
    #[default]
    Complete,
    /// Rows are missing: the run was interrupted, or goes on.
    Partial,
}

/// A metric; of a safety evaluation a group.
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
    /// What judges answer in place of yes or no, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The hazard that it is scored with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<String>,
}

/// Whether a row passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowVerdict {
    /// It did.
    Pass,
    /// It did not.
    Fail,
    /// There is no verdict.
    #[default]
    None,
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
    /// Place in [`Index::runs`].
    pub run: usize,
    /// Place in [`Index::metrics`].
    pub metric: usize,
    /// The scenario; of a safety evaluation the case.
    pub scenario: String,
    /// The scenario without its variant.
    pub base: String,
    /// Which repetition, from 0; of a safety evaluation, which attempt at the case.
    pub sample: u32,
    /// The values of the variant, by axis.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub variant: IndexMap<String, String>,
    /// Whether it passed.
    pub verdict: RowVerdict,
    /// Why there is no verdict: a word of [`schema::NoVerdict`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Kinds of faults of the simulated user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<&'static str>,
    /// Whether a reply is empty or was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub incomplete: bool,
    /// Whether the judges of a panel disagree.
    #[serde(skip_serializing_if = "is_false")]
    pub split: bool,
    /// What people say of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<RowLabel>,
    /// Messages of the user.
    pub turns: usize,
    /// Why there are fewer than [`IndexRun::turns`]; absent where there are not, or where it is not known. A word of
    /// [`schema::NoVerdict`], or `error`, `user`, `tool_limit` or `settled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
    /// How the conversation begins.
    pub preview: String,
    /// The chunk that holds the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    /// Its place in the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// One person's verdict on a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowLabel {
    /// Who labelled it.
    pub labeller: String,
    /// Whether it passes; null: unclear.
    pub passed: Option<bool>,
    /// What the person wrote beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One conversation, with all that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationData<'a> {
    /// Its id.
    pub conv_id: &'a str,
    /// Place in [`Index::runs`].
    pub run: usize,
    /// What was simulated.
    pub scenario: ScenarioData<'a>,
    /// The instructions of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<&'a str>,
    /// What was said.
    pub messages: Vec<MessageData<'a>>,
    /// What judges found.
    pub scores: Vec<ScoreData<'a>>,
    /// How real the conversation is, as judges see it; absent where they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realism: Option<RealismData<'a>>,
    /// Where the simulated user fell out of its role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultData<'a>>,
    /// Why the conversation could not be finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// Dollars for the conversation without its judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What a label of it carries, so that a label of an earlier run is recognised.
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
    /// What the simulated user openly wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_goal: Option<&'a str>,
    /// What pressure it puts on the target.
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

/// One message, with the call that it came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MessageData<'a> {
    /// Who speaks: `user`, `assistant`, `tool` or `system`.
    pub role: &'a str,
    /// The turn, from 1.
    pub turn: u32,
    /// What was said.
    pub text: &'a str,
    /// What was thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<&'a str>,
    /// The tools that it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallData<'a>>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    /// The tool that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Why it ended, where it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The call.
    #[serde(flatten)]
    pub call: CallData<'a>,
    /// Whether it came from the response cache.
    #[serde(skip_serializing_if = "is_false")]
    pub cached: bool,
}

/// What is known of a call, or of several together.
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
    /// Dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCallData<'a> {
    /// Names the call.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// The arguments as the model wrote them.
    pub arguments: &'a str,
}

/// What was found on one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreData<'a> {
    /// Place in [`Index::metrics`].
    pub metric: usize,
    /// Whether it passed.
    pub verdict: RowVerdict,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Why there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Why the judge decided so.
    pub justification: &'a str,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The passages that the verdict rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuoteData<'a>>,
    /// Each judge of a panel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeData<'a>>,
    /// The calls of judges.
    #[serde(flatten)]
    pub call: CallData<'a>,
}

/// A passage that a judge quotes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuoteData<'a> {
    /// Place of the message in [`ConversationData::messages`].
    pub message: u64,
    /// The words.
    pub text: &'a str,
}

/// What one judge of a panel said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeData<'a> {
    /// The judge's id.
    pub judge: &'a str,
    /// Whether the row passes by this judge.
    pub verdict: RowVerdict,
    /// The value on the scale or the category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Why it decided so.
    pub justification: &'a str,
    /// The passages that its verdict rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuoteData<'a>>,
}

/// How real a conversation is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealismData<'a> {
    /// Whether the target seems to suspect a test; null: the judges are divided or gave no answer.
    pub suspects_test: Option<bool>,
    /// How real the simulated user sounds, from 1 to 5; null: too few judges gave an answer.
    pub user_realism: Option<u8>,
    /// Each judge.
    pub judges: Vec<RealismJudgeData<'a>>,
}

/// What one judge said of how real a conversation is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealismJudgeData<'a> {
    /// The judge's id.
    pub judge: &'a str,
    /// As [`RealismData::suspects_test`].
    pub suspects_test: Option<bool>,
    /// As [`RealismData::user_realism`].
    pub user_realism: Option<u8>,
    /// Why it says so, or why it says nothing.
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
    /// Its kind.
    pub kind: &'static str,
    /// How the reply began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// Whether the message was generated again.
    #[serde(skip_serializing_if = "is_false")]
    pub retried: bool,
}
