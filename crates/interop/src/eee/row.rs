//! One row of the instance file: one conversation judged for one metric.

use std::borrow::Cow;

use schema::{Role, Score, Turn, Verdict, setting_keys::EVALUATOR};
use serde_json::{Value, json};

use super::{
    Version,
    shape::{
        Arguments, Attribution, Evaluation, Input, Listed, Message, Messages, Output, Performance,
        Row, Texts, TokenUsage, ToolCall,
    },
};
use crate::{Asked, Call, Run, Sample, attribution, places::places, text, words};

/// The values that all rows of a target share.
pub(super) struct Ids<'a> {
    pub(super) evaluation_id: &'a str,
    pub(super) model_id: &'a str,
    pub(super) benchmark: &'a str,
}

/// The row of `score`, which has a verdict: `passed` and a number.
pub(super) fn row<'a>(
    version: Version,
    ids: &Ids<'a>,
    run: &'a Run,
    sample: &'a Sample,
    score: &'a Score,
    (number, passed): (f64, bool),
) -> Row<'a> {
    let turns = &sample.conversation.transcript;
    let tool_calls = turns.iter().map(|turn| turn.tool_calls.len()).sum();
    let agentic = tool_calls > 0 || turns.iter().any(|turn| turn.role == Role::Tool);
    let single = match turns.as_slice() {
        [asked, answered]
            if asked.role == Role::User
                && answered.role == Role::Assistant
                && !agentic
                && run.turns.is_none_or(|turns| turns == 1) =>
        {
            Some((asked, answered))
        }
        _ => None,
    };
    let raw = described(sample);
    let wanted = value(score.metric_type.passed(true));
    let listed = |text: &'a str| match version {
        Version::V0_2_0 => Listed::One(text),
        Version::V0_3_0 => Listed::List([text]),
    };
    let transcript = match single {
        Some(_) => None,
        None => Some(messages(version, sample)),
    };
    let count = transcript.as_ref().map_or(1, Vec::len);
    let name = format!("{}.{}", ids.benchmark, score.metric_id);
    Row {
        schema_version: version.of_rows(),
        evaluation_id: ids.evaluation_id,
        model_id: ids.model_id,
        evaluation_result_id: format!("{}#{}", ids.evaluation_id, score.metric_id),
        sample_id: schema::Conversation::prompt_id(&score.id, sample.conversation.sample),
        sample_hash: version.sample_hash(&raw, wanted),
        interaction_type: match (single, agentic) {
            (Some(_), _) => "single_turn",
            (None, true) => "agentic",
            (None, false) => "multi_turn",
        },
        input: Input {
            formatted: single.and_then(|(asked, _)| formatted(sample, asked, &raw)),
            raw,
            reference: listed(wanted),
            choices: text::choices(&sample.conversation.scenario),
        },
        output: single.map(|(_, answered)| Output {
            raw: listed(&answered.content),
            reasoning_trace: reasoning(sample.reply(1, 0), answered).map(listed),
        }),
        answer_attribution: attributions(version, method(run), sample, score, single.is_some()),
        messages: match version {
            Version::V0_2_0 => Messages::Interactions(transcript),
            Version::V0_3_0 => Messages::Messages(transcript),
        },
        evaluation: Evaluation {
            score: number,
            is_correct: passed,
            num_turns: count.max(1),
            tool_calls_count: tool_calls,
        },
        token_usage: token_usage(sample),
        performance: performance(sample, score),
        error: error(sample, score),
        metadata: metadata(run, sample, score, single.map(|(asked, _)| &*asked.content)),
        evaluation_name: name,
    }
}

/// A verdict as a word.
fn value(present: bool) -> &'static str {
    if present { "present" } else { "absent" }
}

/// A description that is the same for every target: the scenario, or the case of a safety evaluation that an attacker phrased, or, if both
/// are unknown, the user's first message.
fn described(sample: &Sample) -> Cow<'_, str> {
    let scenario = &sample.conversation.scenario;
    let text = match text::scenario(scenario) {
        text if text.is_empty() => text::attacked_case(scenario),
        text => text,
    };
    let mut turns = sample.conversation.transcript.iter();
    match turns.find(|turn| turn.role == Role::User) {
        Some(first) if text.is_empty() => Cow::Borrowed(&first.content),
        _ => Cow::Owned(text),
    }
}

/// The complete input of the model for a single prompt, if it differs from `raw`.
fn formatted(sample: &Sample, asked: &Turn, raw: &str) -> Option<String> {
    match &sample.system_prompt {
        Some(system) => Some(format!("SYSTEM: {system}\n\nUSER: {}", asked.content)),
        None if *asked.content == *raw => None,
        None => Some(asked.content.to_string()),
    }
}

fn messages(version: Version, sample: &Sample) -> Vec<Message<'_>> {
    let mut messages = Vec::with_capacity(sample.conversation.transcript.len() + 1);
    if let Some(system) = &sample.system_prompt {
        messages.push(Message {
            turn_idx: 0,
            role: Role::System.as_str(),
            content: system,
            reasoning_trace: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
        });
    }
    for (place, turn) in places(&sample.conversation.transcript) {
        let reply = sample.reply_call(turn, place);
        messages.push(Message {
            turn_idx: messages.len(),
            role: turn.role.as_str(),
            content: &turn.content,
            reasoning_trace: reasoning(reply, turn),
            tool_calls: turn
                .tool_calls
                .iter()
                .map(|call| tool_call(version, call))
                .collect(),
            tool_call_id: turn.tool_call_id.as_deref().map(|id| [id]),
        });
    }
    messages
}

/// The reasoning for a message of the target: from the row, else from the endpoint.
fn reasoning<'a>(call: Option<&'a Call>, said: &'a Turn) -> Option<&'a str> {
    let kept = said.reasoning.as_deref();
    kept.or_else(|| call?.reasoning.as_deref())
}

/// A call with its arguments, in 0.3.0 as texts, the only type that this version allows. Arguments that are not an object are unchanged
/// under `arguments`.
fn tool_call(version: Version, call: &schema::ToolCall) -> ToolCall<'_> {
    let mut texts = Texts::default();
    let arguments = match (call.object(), version) {
        (Ok(map), Version::V0_2_0) => Arguments::Values(map),
        (Ok(map), Version::V0_3_0) => {
            map.iter()
                .for_each(|(name, value)| texts.add(name.clone(), words::of(value)));
            Arguments::Texts(texts)
        }
        (Err(_), _) => {
            texts.add("arguments", call.arguments.as_str());
            Arguments::Texts(texts)
        }
    };
    ToolCall {
        id: &call.id,
        name: &call.name,
        arguments,
    }
}

/// The method of the verdicts: a judge, unless the evaluator is known and its settings name none.
fn method(run: &Run) -> &'static str {
    let evaluator = run.fingerprints.get(EVALUATOR);
    let has_judge = |evaluator: &Value| {
        let judges = ["/settings/judge", "/settings/judges"];
        judges.iter().any(|key| evaluator.pointer(key).is_some())
    };
    match evaluator {
        Some(evaluator) if run.judges.is_empty() && !has_judge(evaluator) => "custom",
        _ => "llm_judge",
    }
}

/// The messages that the justification refers to, else the target's last one.
fn attributions(
    version: Version,
    method: &'static str,
    sample: &Sample,
    score: &Score,
    single: bool,
) -> Vec<Attribution> {
    let Some(present) = score.present else {
        return Vec::new();
    };
    let first = usize::from(sample.system_prompt.is_some() && !single);
    let of = |at: usize, is_terminal: bool| Attribution {
        turn_idx: if single { 0 } else { at + first },
        source: match (single, version) {
            (true, _) => "output.raw".to_owned(),
            (false, Version::V0_2_0) => format!("interactions[{}].content", at + first),
            (false, Version::V0_3_0) => format!("messages[{}].content", at + first),
        },
        extracted_value: value(present),
        extraction_method: method,
        is_terminal,
    };
    let named = attribution::messages_behind(score, &sample.conversation.transcript);
    let last = named.len().saturating_sub(1);
    let named = named.into_iter().enumerate();
    named.map(|(index, at)| of(at, index == last)).collect()
}

fn token_usage(sample: &Sample) -> Option<TokenUsage> {
    let usage = sample.target_usage()?;
    Some(TokenUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        input_tokens_cache_write: (usage.cache_write_tokens > 0)
            .then_some(usage.cache_write_tokens),
        input_tokens_cache_read: usage.cached_input_tokens,
        reasoning_tokens: usage.reasoning_tokens,
    })
}

/// The durations of the calls to one role, in milliseconds; `None` if one of them is unknown.
fn milliseconds<'a>(calls: impl Iterator<Item = &'a Call>) -> Option<Vec<f64>> {
    let times: Option<Vec<f64>> = calls
        .map(|call| call.run_time.map(|seconds| (seconds * 1e6).round() / 1e3))
        .collect();
    times.filter(|times| {
        !times.is_empty() && times.iter().all(|time| time.is_finite() && *time >= 0.0)
    })
}

fn performance(sample: &Sample, score: &Score) -> Option<Performance> {
    let sum = |times: &[f64]| (times.iter().sum::<f64>() * 1e3).round() / 1e3;
    let latency = milliseconds(sample.calls_to(Asked::Target));
    let mut details = Texts::default();
    if let Some(times) = &latency {
        let each: Vec<String> = times.iter().map(f64::to_string).collect();
        details.add("latency_ms_by_turn", format!("[{}]", each.join(",")));
    }
    for (name, times) in [
        (
            "user_latency_ms",
            milliseconds(sample.calls_to(Asked::User)),
        ),
        (
            "tool_latency_ms",
            milliseconds(sample.calls_to(Asked::Tool)),
        ),
        (
            "judge_latency_ms",
            milliseconds(sample.judge_calls(&score.metric_id)),
        ),
    ] {
        details.add_known(name, times.map(|times| sum(&times).to_string()));
    }
    let cached = sample
        .calls_to(Asked::Target)
        .filter(|call| call.cached)
        .count();
    if cached > 0 {
        details.add("replies_from_cache", cached.to_string());
    }
    (latency.is_some() || !details.is_empty()).then(|| Performance {
        latency_ms: latency.as_deref().map(sum),
        additional_details: details,
    })
}

/// Texts as a JSON list; `None` if there are none.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = texts.collect();
    (!known.is_empty()).then(|| Value::from(known).to_string())
}

/// The error of a row that has a verdict nevertheless.
fn error(sample: &Sample, score: &Score) -> Option<String> {
    let of_conversation = sample.conversation.error.as_deref();
    let error = score.error().or(of_conversation).map(ToOwned::to_owned);
    error.or_else(|| {
        let cut: Vec<String> = text::unusual_ends(&sample.conversation.transcript);
        (!cut.is_empty()).then(|| cut.join("; "))
    })
}

/// `prompt`: the prompt of a single turn.
fn metadata<'a>(
    run: &'a Run,
    sample: &'a Sample,
    score: &'a Score,
    prompt: Option<&'a str>,
) -> Texts<'a> {
    let conversation = &sample.conversation;
    let scenario = &conversation.scenario;
    let mut texts = Texts::default();
    texts.add("conv_id", conversation.conv_id.as_str());
    texts.add("scenario_id", scenario.id.as_str());
    texts.add("sample", conversation.sample.to_string());
    texts.add("target_id", conversation.target.id.as_str());
    texts.add("metric_id", score.metric_id.as_str());
    texts.add("metric_name", score.metric_name.as_str());
    texts.add("metric_type", score.metric_type.as_str());
    texts.add_known("present", score.present.map(|present| present.to_string()));
    texts.add_known("verdict", score.verdict.as_ref().map(Verdict::text));
    texts.add("justification", score.justification.as_str());
    texts.add_known("prompt", prompt);
    texts.add_known("run_id", run.run_id.as_deref());
    texts.add_known("started", sample.started.map(|time| time.to_string()));
    texts.add_known("ended", sample.ended.map(|time| time.to_string()));
    for (axis, value) in &scenario.demographic {
        texts.add(format!("demographic.{axis}"), words::of(value));
    }
    for (name, text) in [
        ("persona", scenario.played_persona()),
        ("user_goal", &scenario.user_goal),
        ("latent_adversarial_goal", &scenario.latent_adversarial_goal),
    ] {
        if !text.is_empty() {
            texts.add(name, text);
        }
    }
    if let Some(tools) = &scenario.tools {
        texts.add("scenario.tools", tools.join(", "));
    }
    texts.add_known("scenario.world_state", scenario.world_state.as_deref());
    for (key, value) in &scenario.extra {
        texts.add(format!("scenario.{key}"), words::of(value));
    }
    for (key, value) in &score.extra {
        texts.add(format!("score.{key}"), words::of(value));
    }
    let faults = &conversation.simulator_faults;
    if !faults.is_empty() {
        texts.add("_simulator_faults", json!(faults).to_string());
    }
    if let Some(check) = &conversation.simulator_check {
        texts.add("_simulator_check", json!(check).to_string());
    }
    if let Some(realism) = &conversation.realism {
        texts.add("_realism", json!(realism).to_string());
    }
    let request_id = |call: &'a Call| call.request_id.as_deref();
    let target = || sample.calls_to(Asked::Target);
    texts.add_known("request_ids", list(target().filter_map(request_id)));
    let judges = sample.judge_calls(&score.metric_id);
    texts.add_known("judge_request_ids", list(judges.filter_map(request_id)));
    let reasons = target().filter_map(|call| call.finish_reason.as_deref());
    texts.add_known("finish_reasons", list(reasons));
    let dollars = |cost: Option<schema::PhaseCost>| {
        cost.and_then(|cost| cost.cost).map(|cost| cost.to_string())
    };
    texts.add_known("conversation_cost_usd", dollars(conversation.usage));
    texts.add_known("judge_cost_usd", dollars(score.usage));
    texts
}
