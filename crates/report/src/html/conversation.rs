//! A sample as the page stores it: the conversation for its chunk, and a row for each score.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use interop::{Asked, Call, MessagePosition, Sample, places};
use schema::{
    Conversation, Extra, FinishReason, JudgeQuote, JudgeVerdict, MetricType, NoVerdict, Realism,
    Role, Scenario, Score, SimulatorFault, Turn, Usage, base_scenario_id, text::not_blank,
    transcript_digest,
};
use serde_json::Value;

use super::{
    data::{
        CallData, ConversationData, FaultData, JudgeData, LandmarkData, MessageData, QuoteData,
        RealismData, RealismJudgeData, Row, RowDissent, RowVerdict, RunKind, ScenarioData,
        ScoreData, ToolCallData,
    },
    planned::Planned,
};

/// How many characters of the first message a row shows.
const PREVIEW: usize = 120;
/// How many characters of an error a row shows.
const ROW_ERROR: usize = 300;
/// How many characters of a judge's reason a row shows.
const ROW_REASON: usize = 160;

/// The conversation of a sample. `metrics` are the positions of its scores' metrics in the index.
pub(super) fn conversation<'a>(
    run: usize,
    kind: RunKind,
    sample: &'a Sample,
    metrics: &[usize],
) -> ConversationData<'a> {
    let of = &sample.conversation;
    let scores = sample.scores.iter().zip(metrics);
    ConversationData {
        conv_id: &of.conv_id,
        run,
        scenario: scenario(&of.scenario),
        system_prompt: sample.system_prompt.as_deref(),
        messages: messages(sample),
        scores: scores
            .map(|(row, metric)| score(sample, kind, row, *metric))
            .collect(),
        realism: of.realism.as_ref().map(realism),
        faults: faults(of),
        error: of.error.as_deref(),
        cost: of.usage.as_ref().and_then(|usage| usage.cost),
        transcript: transcript_digest(&of.transcript),
    }
}

fn scenario(scenario: &Scenario) -> ScenarioData<'_> {
    ScenarioData {
        id: &scenario.id,
        title: scenario.extra.get("title").map(text_of),
        persona: not_blank(scenario.played_persona()),
        user_goal: not_blank(scenario.user_goal.as_str()),
        hidden_goal: not_blank(scenario.latent_adversarial_goal.as_str()),
        landmarks: scenario
            .landmarks
            .iter()
            .map(|landmark| LandmarkData {
                turn: landmark.turn,
                text: &landmark.instruction,
            })
            .collect(),
        demographic: texts(&scenario.demographic),
        world_state: scenario.world_state.as_deref().and_then(not_blank),
    }
}

fn messages(sample: &Sample) -> Vec<MessageData<'_>> {
    let transcript = &sample.conversation.transcript;
    places(transcript)
        .map(|(place, turn)| message(turn, place, &calls_of(sample, turn, place)))
        .collect()
}

/// The calls that produced a message; empty if they are not known.
fn calls_of<'a>(sample: &'a Sample, turn: &Turn, place: MessagePosition) -> Vec<&'a Call> {
    match turn.role {
        Role::Assistant => sample.reply_call(turn, place).into_iter().collect(),
        Role::User => {
            let calls = sample.calls_to(Asked::User);
            // The last call that succeeded: the messages of earlier calls were generated again.
            let call = calls.filter(|call| call.turn == place.turn && call.error.is_none());
            call.last().into_iter().collect()
        }
        // A model that simulates a tool is called until its answer is usable, so a message can have several calls.
        Role::Tool => {
            let id = turn.tool_call_id.as_deref();
            let calls = sample.calls_to(Asked::Tool);
            calls
                .filter(|call| id.is_some() && call.tool_call_id.as_deref() == id)
                .collect()
        }
        Role::System => Vec::new(),
    }
}

fn message<'a>(turn: &'a Turn, place: MessagePosition, of: &[&'a Call]) -> MessageData<'a> {
    let tool_calls = turn.tool_calls.iter().map(|call| ToolCallData {
        id: &call.id,
        name: &call.name,
        arguments: &call.arguments,
    });
    let finish = turn.finish_reason.clone().map(String::from);
    MessageData {
        role: turn.role.as_str(),
        turn: place.turn,
        text: &turn.content,
        reasoning: turn.reasoning.as_deref(),
        tool_calls: tool_calls.collect(),
        tool_call_id: turn.tool_call_id.as_deref(),
        name: turn.name.as_deref(),
        finish,
        call: calls(of),
        cached: !of.is_empty() && of.iter().all(|call| call.cached),
    }
}

/// The sum of several calls. Unknown is not zero: if a value is unknown for one call, its sum is unknown.
fn calls<'a>(calls: &[&'a Call]) -> CallData<'a> {
    let Some(first) = calls.first() else {
        return CallData::default();
    };
    let mut used = Some(Usage::default());
    for call in calls {
        used = used.zip(call.usage).map(|(mut sum, usage)| {
            sum.add(&usage);
            sum
        });
    }
    let sum = |of: fn(&Call) -> Option<f64>| calls.iter().map(|call| of(call)).sum();
    let model = |call: &&'a Call| call.answered_by.as_deref().unwrap_or(&call.model);
    let is_one = calls.iter().all(|call| model(call) == model(first));
    CallData {
        model: is_one.then(|| model(first)),
        tokens_in: used.map(|used| used.input_tokens),
        tokens_out: used.map(|used| used.output_tokens),
        seconds: sum(|call| call.run_time),
        cost: sum(|call| call.cost),
    }
}

fn score<'a>(sample: &'a Sample, kind: RunKind, score: &'a Score, metric: usize) -> ScoreData<'a> {
    let judged: Vec<&Call> = sample.judge_calls(&score.metric_id).collect();
    let judges: &[JudgeVerdict] = &score.judges;
    ScoreData {
        metric,
        verdict: score.outcome().passed().into(),
        shown: shown(kind, score),
        reason: score.outcome().reason().map(NoVerdict::as_str),
        justification: &score.justification,
        error: score.error(),
        quotes: judges
            .iter()
            .flat_map(|judge| quotes(&judge.quotes))
            .collect(),
        // The verdict of a single judge is the score itself.
        judges: match judges {
            [] | [_] => Vec::new(),
            several => several
                .iter()
                .map(|judge| judge_data(judge, score.metric_type))
                .collect(),
        },
        call: calls(&judged),
    }
}

fn judge_data(judge: &JudgeVerdict, metric_type: MetricType) -> JudgeData<'_> {
    let passed = judge.present.map(|present| metric_type.passed(present));
    JudgeData {
        judge: &judge.judge,
        verdict: passed.into(),
        shown: judge.verdict.as_ref().map(schema::Verdict::text),
        justification: &judge.justification,
        quotes: quotes(&judge.quotes).collect(),
    }
}

fn quotes(quotes: &[JudgeQuote]) -> impl Iterator<Item = QuoteData<'_>> {
    // Judges count from 1.
    quotes.iter().filter_map(|quote| {
        Some(QuoteData {
            message: quote.message.checked_sub(1)?,
            text: &quote.text,
        })
    })
}

fn realism(of: &Realism) -> RealismData<'_> {
    let judges = of.judges.iter().map(|judge| RealismJudgeData {
        judge: &judge.judge,
        suspects_test: judge.suspects_test,
        user_realism: judge.user_realism,
        reason: &judge.reason,
        quotes: quotes(&judge.quotes).collect(),
    });
    RealismData {
        suspects_test: of.suspects_test,
        user_realism: of.user_realism,
        judges: judges.collect(),
    }
}

/// What a judge decided if it is more than yes or no. Of a safety evaluation, the score.
fn shown(kind: RunKind, score: &Score) -> Option<String> {
    let verdict = score.verdict.as_ref().map(schema::Verdict::text);
    verdict.or_else(|| graded(kind, score).map(|value| value.to_string()))
}

/// The score, if it is more than that of a yes or no.
fn graded(kind: RunKind, score: &Score) -> Option<f64> {
    let is_yes_or_no = |value: &f64| kind == RunKind::Benchmark && [0.0, 1.0].contains(value);
    score.score.filter(|value| !is_yes_or_no(value))
}

/// The start of a judge's reason for the row's verdict. The reason of a panel names each judge, so it is the first judge's who agrees.
fn said(score: &Score) -> Option<String> {
    let agrees = score
        .judges
        .iter()
        .find(|judge| judge.present == score.present);
    let reason = match &*score.judges {
        [] | [_] => &score.justification,
        _ => &agrees?.justification,
    };
    not_blank(reason).map(|reason| start(reason, ROW_REASON))
}

/// How many judges of a panel say that the row passes, and how many that it fails.
fn votes(score: &Score) -> Option<[usize; 2]> {
    let passed = |wanted: bool| {
        let present = score.judges.iter().filter_map(|judge| judge.present);
        present
            .filter(|present| score.metric_type.passed(*present) == wanted)
            .count()
    };
    (score.judges.len() > 1).then(|| [passed(true), passed(false)])
}

/// How far apart the answers of a panel are, see [`Row::spread`].
fn spread(score: &Score) -> Option<f64> {
    let answers: Vec<&schema::Verdict> = score
        .judges
        .iter()
        .filter_map(|judge| judge.verdict.as_ref())
        .collect();
    if answers.len() < 2 {
        return None;
    }
    let values = || answers.iter().filter_map(|answer| answer.value);
    if let Some((lowest, highest)) = values().min().zip(values().max()) {
        return Some(f64::from(highest) - f64::from(lowest));
    }
    let mut groups: BTreeMap<&str, u32> = BTreeMap::new();
    for label in answers.iter().filter_map(|answer| answer.label.as_deref()) {
        *groups.entry(label).or_default() += 1;
    }
    let all: u32 = groups.values().sum();
    let largest = groups.values().max()?;
    Some(f64::from(all - largest) / f64::from(all))
}

/// The judges that decided otherwise than their panel. A panel without a verdict has no dissent.
fn dissent(score: &Score) -> Option<RowDissent> {
    let decided = score.outcome().passed().and(score.present)?;
    let others: Vec<&JudgeVerdict> = score
        .judges
        .iter()
        .filter(|judge| judge.present.is_some_and(|present| present != decided))
        .collect();
    let first = others.first()?;
    Some(RowDissent {
        said: not_blank(&first.justification).map(|reason| start(reason, ROW_REASON)),
        judges: others.iter().map(|judge| judge.judge.clone()).collect(),
    })
}

/// The words of a scenario's key `tags`: a list, or one text.
fn tags(scenario: &Scenario) -> Vec<String> {
    match scenario.extra.get("tags") {
        Some(Value::Array(tags)) => tags.iter().map(text_of).collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(tag) => vec![text_of(tag)],
    }
}

/// The faults that the rules or a judge found, those of a sample included.
fn all_faults(conversation: &Conversation) -> impl Iterator<Item = &SimulatorFault> {
    let sampled = conversation
        .simulator_check
        .iter()
        .flat_map(|check| &check.faults);
    conversation.simulator_faults.iter().chain(sampled)
}

fn faults(conversation: &Conversation) -> Vec<FaultData<'_>> {
    all_faults(conversation)
        .map(|fault| FaultData {
            turn: fault.turn,
            kind: fault.fault.name(),
            text: fault.text.as_deref(),
            retried: fault.retried,
        })
        .collect()
}

/// The rows of a sample: one for each score, or a single row without scores. `metrics` as in [`conversation`]; for a sample without
/// scores, the position of its own metric.
pub(super) fn rows(
    run: usize,
    kind: RunKind,
    planned: Planned,
    sample: &Sample,
    metrics: &[usize],
) -> Vec<Row> {
    let mut row = of_conversation(run, kind, &sample.conversation);
    row.ended = planned.ended(&sample.conversation, row.turns);
    if sample.scores.is_empty() {
        let metric = metrics.first().copied().unwrap_or_default();
        return vec![Row { metric, ..row }];
    }
    let scores = sample.scores.iter().zip(metrics);
    scores
        .map(|(score, metric)| Row {
            metric: *metric,
            verdict: score.outcome().passed().into(),
            reason: score.outcome().reason().map(NoVerdict::as_str),
            shown: shown(kind, score),
            score: graded(kind, score),
            said: said(score),
            votes: votes(score),
            spread: spread(score),
            dissent: dissent(score),
            error: score.error().map(|error| start(error, ROW_ERROR)),
            split: is_split(score),
            ..row.clone()
        })
        .collect()
}

fn of_conversation(run: usize, kind: RunKind, conversation: &Conversation) -> Row {
    let scenario = &conversation.scenario;
    let said = |role| move |turn: &&Turn| turn.role == role;
    let transcript = || conversation.transcript.iter();
    let first = transcript().find(said(Role::User));
    let mut faults: Vec<&'static str> = Vec::new();
    for fault in all_faults(conversation) {
        if !faults.contains(&fault.fault.name()) {
            faults.push(fault.fault.name());
        }
    }
    let given = scenario
        .extra
        .get("base_scenario_id")
        .and_then(Value::as_str);
    let case = scenario
        .extra
        .get("case_id")
        .map(text_of)
        .filter(|_| kind == RunKind::Safety);
    let base = || base_scenario_id(&scenario.id, given).to_owned();
    Row {
        conv_id: conversation.conv_id.clone(),
        run,
        scenario: case.clone().unwrap_or_else(|| scenario.id.clone()),
        base: case.unwrap_or_else(base),
        title: scenario.extra.get("title").map(text_of),
        sample: conversation.sample,
        variant: variant(kind, scenario),
        tags: tags(scenario),
        reason: conversation.no_verdict.map(|reason| reason.as_str()),
        error: conversation
            .error
            .as_deref()
            .map(|error| start(error, ROW_ERROR)),
        faults,
        incomplete: transcript().any(is_incomplete),
        cut: transcript().any(is_cut),
        turns: transcript().filter(said(Role::User)).count(),
        preview: first.map_or_else(String::new, |turn| start(&turn.content, PREVIEW)),
        ..Row::default()
    }
}

/// The values that distinguish a row from other rows of its scenario, by axis.
fn variant(kind: RunKind, scenario: &Scenario) -> IndexMap<String, String> {
    match kind {
        RunKind::Benchmark => texts(&scenario.demographic),
        RunKind::Safety => ["layer", "strategy", "test_type"]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), text_of(scenario.extra.get(key)?))))
            .collect(),
    }
}

/// Whether a reply of the target is empty or was cut off.
fn is_incomplete(turn: &Turn) -> bool {
    let is_empty = turn.content.trim().is_empty() && turn.tool_calls.is_empty();
    is_cut(turn) || (turn.role == Role::Assistant && is_empty)
}

/// Whether a reply of the target was cut off.
fn is_cut(turn: &Turn) -> bool {
    let reason = &turn.finish_reason;
    let is_cut = matches!(
        reason,
        Some(FinishReason::Length | FinishReason::ContentFilter)
    );
    turn.role == Role::Assistant && is_cut
}

/// Whether the judges that gave a verdict disagree on whether the behaviour is present.
fn is_split(score: &Score) -> bool {
    let mut given = score.judges.iter().filter_map(|judge| judge.present);
    let first = given.next();
    given.any(|present| Some(present) != first)
}

/// Whether the row deserves attention first.
pub(super) fn is_notable(row: &Row) -> bool {
    let differs = row.labels.iter().any(|label| {
        label.passed.is_some()
            && matches!(row.verdict, RowVerdict::Pass | RowVerdict::Fail)
            && row.verdict != label.passed.into()
    });
    row.verdict != RowVerdict::Pass
        || !row.faults.is_empty()
        || row.incomplete
        || row.split
        || differs
}

/// The start of a text on one line, at most `most` characters.
fn start(text: &str, most: usize) -> String {
    // White space may be long: the loop reads no more of the text than it can show.
    let mut line = String::new();
    let mut left = most;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for char in word.chars() {
            if left == 0 {
                line.push('…');
                return line;
            }
            left -= 1;
            line.push(char);
        }
        left = left.saturating_sub(1);
    }
    line
}

fn texts(values: &Extra) -> IndexMap<String, String> {
    let values = values.iter();
    values
        .map(|(key, value)| (key.clone(), text_of(value)))
        .collect()
}

/// A string unchanged, any other value as JSON.
fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
