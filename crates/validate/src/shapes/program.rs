//! The lines between Probity and a program: see `docs/any-language.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A line between Probity, the host, and a program. Unknown keys are ignored by both; null and absent are the same.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ProgramLine {
    HostRequest(HostRequest),
    ProgramCall(ProgramCall),
    Answer(Answer),
    Failure(Failure),
    Notification(Notification),
}

/// A request of the host. Its id is new for each.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct HostRequest {
    id: u64,
    #[serde(flatten)]
    request: Request,
}

/// What is requested.
#[derive(JsonSchema)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Request {
    /// The first request, and nothing else until it is answered.
    Hello(HelloParams),
    /// A judge: a verdict on a conversation. Answered by `JudgeResult`.
    Judge(JudgeParams),
    /// A target or a model: the next reply. Answered by `ChatResult`.
    Chat(ChatParams),
    /// A target or tools with `sessions`: a conversation begins. Answered by `OpenResult`.
    Open(OpenParams),
    /// A target or tools with `sessions`: a conversation has ended. Answered by an empty object.
    Close(CloseParams),
    /// A simulated user: the next message. Answered by `NextMessageResult`.
    NextMessage(NextMessageParams),
    /// A simulated user with `form: whole`: a conversation, which it plays by the call `say`. Answered by `SimulateResult`.
    Simulate(SimulateParams),
    /// Tools: the answer to a call. Answered by `ToolResult`.
    Answer(AnswerParams),
    /// A generator: metrics. Answered by `MetricsResult`.
    GenerateMetrics(GenerateMetricsParams),
    /// A generator: the scenarios of a metric. Answered by `ScenariosResult`.
    GenerateScenarios(GenerateScenariosParams),
}

/// A call of the program: of a model of the run, or with an item.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ProgramCall {
    /// New for each call.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    #[serde(flatten)]
    call: Call,
}

/// What is called.
#[derive(JsonSchema)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Call {
    /// A model. Answered by `CallResult`.
    Chat(CallParams),
    /// A metric or a scenario, of a generator that gives them one by one. Answered by `ItemResult`, or by an error `malformed` with its key.
    Item(ItemParams),
    /// The next message of a simulated user with `form: whole`. Answered by `SayResult`, or by an error `malformed` with what is wrong with it.
    Say(SayParams),
}

/// A metric or a scenario of a generator that gives them one by one.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ItemParams {
    /// The request that it is given for.
    #[serde(rename = "for")]
    request: u64,
    /// What the list of a result would have.
    item: Map<String, Value>,
}

/// A message of the simulated user.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SayParams {
    /// The request that it plays.
    #[serde(rename = "for")]
    request: u64,
    #[schemars(length(min = 1))]
    message: String,
}

/// What the target said.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SayResult {
    /// The turn of the message, from 1.
    turn: u32,
    /// The message as the transcript has it.
    message: Option<String>,
    /// The reply. Null at the end.
    content: Option<String>,
    messages: Vec<LineMessage>,
    /// Why nothing more may be said: `turns` or `stopped`. Null: something may.
    end: Option<String>,
}

/// A conversation that the simulated user plays.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SimulateParams {
    scenario: Map<String, Value>,
    user_context: Option<String>,
    turns: u32,
    seed: u32,
    attempt: Option<u32>,
    /// What was wrong with its last message, or with its end.
    fault: Option<String>,
    timeout_s: Option<f64>,
}

/// The conversation has ended.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SimulateResult {
    /// Why.
    end: String,
}

/// An item is taken.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ItemResult {
    accepted: bool,
    id: String,
}

/// The result of a request or of a call, with its id.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Answer {
    id: Id,
    result: AnyResult,
}

/// A whole number of the host, or a text of the program.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Id {
    Host(u64),
    Program(#[schemars(length(min = 1, max = 64))] String),
}

/// A result, by the method of its request.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum AnyResult {
    Hello(HelloResult),
    Judge(JudgeResult),
    Chat(ChatResult),
    Call(CallResult),
    Item(ItemResult),
    Say(SayResult),
    Simulate(SimulateResult),
    Open(OpenResult),
    NextMessage(NextMessageResult),
    Tool(ToolResult),
    Metrics(MetricsResult),
    Scenarios(ScenariosResult),
}

/// The error of a request or of a call, with its id.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Failure {
    id: Id,
    error: LineError,
}

/// An error. A kind that is not known is `permanent`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct LineError {
    /// `retryable`, `rate_limited`, `malformed`, `refused`, `permanent`, `unsupported`, `lost`, `cancelled`, `over_budget`, `unavailable`.
    kind: String,
    /// What went wrong, for people. Cut after 4,000 characters.
    message: String,
    /// When a request may succeed.
    #[schemars(range(min = 0))]
    retry_after_s: Option<f64>,
    /// Of a turn of a conversation: false, if it was not seen.
    seen: Option<bool>,
    /// Whether all retries are over.
    #[serde(rename = "final")]
    is_final: Option<bool>,
}

/// A message without an answer.
#[derive(JsonSchema)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Notification {
    /// Of the host: the request with this id is not needed any more. It is answered all the same.
    Cancel {
        /// The request.
        id: u64,
        /// `deadline` or `stop`.
        reason: Option<String>,
    },
    /// Of the program: a text for the log.
    Log {
        /// The text.
        text: String,
        /// `info`, `warn` and so on.
        level: Option<String>,
        /// The request that it belongs to.
        #[serde(rename = "for")]
        request: Option<u64>,
    },
}

/// The host's greeting.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct HelloParams {
    /// The version of the protocol.
    #[schemars(range(min = 1, max = 1))]
    protocol: u64,
    /// The name and version of the host.
    host: String,
    /// `settings` of the configuration.
    settings: Map<String, Value>,
    /// The models that the program may call.
    models: Vec<String>,
    /// The seed of the run.
    seed: u64,
    /// The longest line that the host reads, in bytes.
    max_line: u64,
}

/// What the program says of itself.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct HelloResult {
    /// The version of the protocol.
    #[schemars(range(min = 1, max = 1))]
    protocol: u64,
    /// What it is.
    kind: PartKind,
    /// Its name, for people and for the cache.
    #[schemars(length(min = 1))]
    name: String,
    /// Its version.
    version: Option<String>,
    /// The settings that decide what it answers. None of them is a secret.
    settings: Option<Map<String, Value>>,
    /// The most requests in flight in one process: 1 by default.
    #[schemars(range(min = 1))]
    max_concurrency: Option<u64>,
    /// The longest line that it reads, in bytes.
    max_line: Option<u64>,
    /// A judge: what it sees beyond the default.
    wants: Option<Vec<Want>>,
    /// The models that it calls, each with the fewest and the most calls for one request.
    models: Option<BTreeMap<String, [u32; 2]>>,
    /// A target, or tools: whether it keeps conversations.
    sessions: Option<bool>,
    /// A target that keeps conversations: whether it goes on with one from `history`.
    restore: Option<bool>,
    /// A target: `own`, if it has its own system prompt.
    system: Option<String>,
    /// A judge: `conversation`, if one request asks for all metrics of a conversation; else `metric`.
    per: Option<String>,
    /// A simulated user: `whole`, if one request plays a conversation; else `next`.
    form: Option<String>,
    /// Whether its results are kept.
    cache: Option<bool>,
}

/// What a program is.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum PartKind {
    Judge,
    Target,
    Model,
    Simulator,
    Tools,
    Generator,
    Metrics,
    Scenarios,
}

/// What a judge can see.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Want {
    Name,
    Type,
    Target,
    Ids,
    SystemPrompt,
    Reasoning,
    Demographic,
    Persona,
    UserGoal,
    HiddenGoal,
    Landmarks,
}

/// A conversation to judge. What `wants` names comes as further keys, here or in the metric.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct JudgeParams {
    /// A hash of the row's ids, which name the model.
    row: String,
    sample: Option<u32>,
    /// From 1: more after results that could not be used.
    attempt: Option<u32>,
    /// What was wrong with the last result.
    fault: Option<String>,
    timeout_s: Option<f64>,
    /// The metric; of a judge with `per: conversation` all of them.
    #[schemars(length(min = 1))]
    metrics: Vec<JudgedMetric>,
    messages: Vec<LineMessage>,
}

/// A metric.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct JudgedMetric {
    id: String,
    /// The behaviour to look for.
    definition: String,
    examples: Vec<String>,
    verdict: VerdictForm,
    name: Option<String>,
    #[serde(rename = "type")]
    metric_type: Option<String>,
}

/// The form of the verdict.
#[derive(JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum VerdictForm {
    /// `present` of the result: true or false.
    Present,
    /// `value` of the result: a whole number in this range.
    Scale { min: i64, max: i64 },
    /// `label` of the result: one of these.
    Categories { labels: Vec<String> },
}

/// A message of a conversation.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct LineMessage {
    /// Its number in the conversation, from 1.
    n: Option<u64>,
    role: schema::Role,
    content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<Value>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

/// A verdict: one of `present`, `value` and `label` with a `reason`, or `abstain`; with `per: conversation` a list of these.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum JudgeResult {
    Present {
        present: bool,
        #[schemars(length(min = 1))]
        reason: String,
        quotes: Option<Vec<LineQuote>>,
        cost: Option<f64>,
        /// Kept with the row; at most 64 KiB.
        details: Option<Map<String, Value>>,
        usage: Option<LineUsage>,
    },
    Value {
        value: i64,
        #[schemars(length(min = 1))]
        reason: String,
        quotes: Option<Vec<LineQuote>>,
        cost: Option<f64>,
        /// Kept with the row; at most 64 KiB.
        details: Option<Map<String, Value>>,
        usage: Option<LineUsage>,
    },
    Label {
        label: String,
        #[schemars(length(min = 1))]
        reason: String,
        quotes: Option<Vec<LineQuote>>,
        cost: Option<f64>,
        /// Kept with the row; at most 64 KiB.
        details: Option<Map<String, Value>>,
        usage: Option<LineUsage>,
    },
    Abstain {
        /// Why there is no verdict.
        #[schemars(length(min = 1))]
        abstain: String,
        cost: Option<f64>,
        usage: Option<LineUsage>,
    },
    Verdicts {
        /// Each metric of the request once, and no other.
        #[schemars(length(min = 1))]
        verdicts: Vec<MetricVerdict>,
        cost: Option<f64>,
        usage: Option<LineUsage>,
    },
}

/// The verdict on one metric, of a judge with `per: conversation`: one of `present`, `value` and `label` with a `reason`, or `abstain`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct MetricVerdict {
    metric: String,
    present: Option<bool>,
    value: Option<i64>,
    label: Option<String>,
    reason: Option<String>,
    abstain: Option<String>,
    quotes: Option<Vec<LineQuote>>,
    /// Kept with the row; at most 64 KiB.
    details: Option<Map<String, Value>>,
}

/// Words of a message that a verdict rests on.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct LineQuote {
    /// The message's number.
    message: u64,
    /// Words that are in it.
    text: String,
}

/// Tokens.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct LineUsage {
    input_tokens: u64,
    output_tokens: u64,
}

/// The next turn of a conversation. With `sessions` the messages are those that are new, else all.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatParams {
    conversation: String,
    /// What `open` answered.
    session: Option<Value>,
    /// The turn, from 1.
    turn: Option<u32>,
    /// The number of the call within the turn, from 0: later ones follow on answers of tools.
    step: Option<u32>,
    attempt: Option<u32>,
    seed: Option<u64>,
    tools: Option<Vec<Value>>,
    metadata: Option<Map<String, Value>>,
    timeout_s: Option<f64>,
    #[schemars(length(min = 1))]
    messages: Vec<LineMessage>,
}

/// A reply: a text, calls of tools, or both; or the messages of a target with tools of its own.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ChatResult {
    Text {
        content: String,
        reasoning: Option<String>,
        tool_calls: Option<Vec<CalledTool>>,
        finish: Option<String>,
        usage: Option<LineUsage>,
        /// Dollars.
        cost: Option<f64>,
    },
    Steps {
        /// Of a target with tools of its own: its messages, the answers of its tools, and the reply as the last one.
        #[schemars(length(min = 1, max = 256))]
        messages: Vec<OwnMessage>,
        reasoning: Option<String>,
        finish: Option<String>,
        usage: Option<LineUsage>,
        /// Dollars.
        cost: Option<f64>,
    },
    Calls {
        /// They are answered where the scenario has tools.
        #[schemars(length(min = 1))]
        tool_calls: Vec<CalledTool>,
        reasoning: Option<String>,
        finish: Option<String>,
        usage: Option<LineUsage>,
        /// Dollars.
        cost: Option<f64>,
    },
}

/// A message of a target with tools of its own, or the answer of such a tool.
#[derive(JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum OwnMessage {
    Assistant {
        /// Null only with calls.
        content: Option<String>,
        /// `{id, name, arguments}`, or the form of chat completions. Each has its answer before the last message, which has none.
        tool_calls: Option<Vec<Map<String, Value>>>,
    },
    Tool {
        content: String,
        /// The call that it answers.
        tool_call_id: String,
    },
}

/// A call of a tool.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CalledTool {
    id: String,
    name: String,
    /// An object, or its JSON as a text.
    arguments: Value,
}

/// A conversation begins.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct OpenParams {
    conversation: String,
    system: Option<String>,
    tools: Option<Vec<Value>>,
    metadata: Option<Map<String, Value>>,
    /// Of a target with `restore`, where the conversation goes on: what was said.
    history: Option<Vec<LineMessage>>,
    /// Of tools: the world that they act in.
    world_state: Option<String>,
    /// Of tools: the calls before, with their answers.
    calls: Option<Vec<Value>>,
    timeout_s: Option<f64>,
}

/// An open conversation, or one that is closed.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct OpenResult {
    /// Sent with each turn.
    session: Option<Value>,
}

/// A conversation has ended.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CloseParams {
    conversation: String,
    session: Option<Value>,
    reason: Option<String>,
    timeout_s: Option<f64>,
}

/// The next message of the simulated user.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct NextMessageParams {
    scenario: Map<String, Value>,
    user_context: Option<String>,
    /// What was said.
    messages: Vec<LineMessage>,
    turn: u32,
    turns: u32,
    /// The same for every target.
    seed: Option<u64>,
    attempt: Option<u32>,
    /// What was wrong with the message before.
    fault: Option<String>,
    timeout_s: Option<f64>,
}

/// A message, the end of the conversation with its reason, or both.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum NextMessageResult {
    Says {
        message: String,
        end: Option<String>,
        thought: Option<String>,
    },
    Ends {
        end: String,
    },
}

/// A call of a tool.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AnswerParams {
    conversation: String,
    turn: Option<u32>,
    call: Option<u64>,
    tool: String,
    arguments: Value,
    /// The earlier calls of the conversation.
    calls: Option<Vec<AnsweredCall>>,
    world_state: Option<String>,
    /// From 2, after results that could not be used.
    attempt: Option<u32>,
    /// What was wrong with the last result.
    fault: Option<String>,
    timeout_s: Option<f64>,
}

/// An earlier call.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AnsweredCall {
    tool: String,
    arguments: Value,
    answer: Value,
}

/// The answer to a call, or why it is refused.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ToolResult {
    Answer {
        answer: Value,
    },
    Refusal {
        /// The target sees it.
        error: String,
    },
}

/// A benchmark whose metrics are missing.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct GenerateMetricsParams {
    name: String,
    description: String,
    user_context: Option<String>,
    /// The fewest and the most.
    count: [u32; 2],
    /// Those that are there: each with its id.
    existing: Option<Vec<Map<String, Value>>>,
    attempt: Option<u32>,
    /// What was wrong with the result before.
    fault: Option<String>,
    timeout_s: Option<f64>,
}

/// Metrics.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct MetricsResult {
    #[schemars(length(min = 1))]
    metrics: Vec<WrittenMetric>,
}

/// A metric. A negative one is named "Avoid ...".
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct WrittenMetric {
    #[schemars(length(min = 1))]
    name: String,
    #[serde(rename = "type")]
    metric_type: schema::MetricType,
    /// The behaviour that a judge looks for.
    #[schemars(length(min = 1))]
    definition: String,
    examples: Vec<String>,
}

/// A metric whose scenarios are missing.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct GenerateScenariosParams {
    name: String,
    description: String,
    user_context: Option<String>,
    metric: GeneratedMetric,
    /// How many scenarios, without variants.
    count: u32,
    /// The turns of a conversation. Landmarks are at one of them.
    turns: u32,
    /// Whether scenarios should have landmarks.
    landmarks: bool,
    /// The axes of variants with their values.
    demographics: BTreeMap<String, Vec<String>>,
    /// The names of the benchmark's tools.
    tools: Vec<String>,
    /// Those that are there: each with its id.
    existing: Option<Vec<Map<String, Value>>>,
    attempt: Option<u32>,
    /// What was wrong with the result before, or with the last item.
    fault: Option<String>,
    timeout_s: Option<f64>,
}

/// The metric.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct GeneratedMetric {
    id: String,
    name: String,
    #[serde(rename = "type")]
    metric_type: schema::MetricType,
    definition: String,
    examples: Vec<String>,
}

/// Scenarios: rows with any key of `scenarios.json`. Those with the same `base_scenario_id` are variants of one.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ScenariosResult {
    scenarios: Vec<Map<String, Value>>,
}

/// A call of a model of the run.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CallParams {
    /// The request that the program is working on.
    #[serde(rename = "for")]
    request: u64,
    /// `judge`, `judge:ID`, `user`, `generator`, `tools`, or a name under `models`.
    model: String,
    #[schemars(length(min = 1))]
    messages: Vec<LineMessage>,
    response_format: Option<Map<String, Value>>,
    tools: Option<Vec<Value>>,
    /// `auto` or `none`.
    tool_choice: Option<String>,
    /// Equal calls with equal `n` get one reply.
    n: Option<u32>,
}

/// The reply of a model of the run.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CallResult {
    content: String,
    reasoning: Option<String>,
    tool_calls: Option<Vec<Value>>,
    finish: String,
    usage: Option<LineUsage>,
    cost: Option<f64>,
    cached: bool,
    /// The name that the endpoint gave.
    model: Option<String>,
}
