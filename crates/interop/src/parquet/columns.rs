//! The columns of the four tables.

use std::borrow::Cow;

use schema::{Conversation, Finding, Score, Turn, base_scenario_id, statistics::RateStatistics};
use serde::Serialize;
use serde_json::Value;

use super::table::Column;
use crate::{Call, Run, Sample, tally::Count};

/// What the column `results` is: rows of two result files may agree in all other ids.
const RESULTS: &str = "which results of the target they are: the run's id, or a hash of the file";

/// A row of `conversations`.
pub(super) struct ConversationRow<'a> {
    pub(super) run: &'a Run,
    pub(super) sample: &'a Sample,
}

/// A row of `turns`: one message.
pub(super) struct TurnRow<'a> {
    pub(super) run: &'a Run,
    pub(super) conversation: &'a Conversation,
    pub(super) message: u64,
    /// The user's messages until then.
    pub(super) turn: u32,
    pub(super) of: &'a Turn,
    /// The call that gave it, if it is one of the target's.
    pub(super) call: Option<&'a Call>,
}

/// A row of `scores`.
pub(super) struct ScoreRow<'a> {
    pub(super) run: &'a Run,
    pub(super) sample: &'a Sample,
    pub(super) score: &'a Score,
    pub(super) people: Option<u64>,
    pub(super) people_passed: Option<bool>,
}

/// A row of `statistics`: a rate.
pub(super) struct RateRow<'a> {
    pub(super) run: &'a Run,
    pub(super) scope: &'a str,
    pub(super) metric_id: Option<&'a str>,
    pub(super) metric_name: Option<&'a str>,
    pub(super) metric_type: &'a str,
    pub(super) count: &'a Count,
    pub(super) rate: Option<&'a RateStatistics>,
}

pub(super) fn conversations<'a>() -> Vec<Column<ConversationRow<'a>>> {
    type Row<'a> = ConversationRow<'a>;
    vec![
        Column::text("benchmark", "the benchmark's folder", |row: &Row<'_>| {
            some(&row.run.folder)
        }),
        Column::text("target", "the system under test, by its id", |row| {
            some(row.run.target.id.as_str())
        }),
        Column::text("results", RESULTS, |row| results(row.run)),
        Column::text("model", "its name on the wire", |row| {
            some(&row.run.target.model)
        }),
        Column::text("conv_id", "the conversation's id", |row| {
            some(&row.sample.conversation.conv_id)
        }),
        Column::text("scenario_id", "the scenario's id", |row| {
            some(&row.sample.conversation.scenario.id)
        }),
        Column::text(
            "base_scenario_id",
            "rows that share it are variants of one scenario, and count as alike",
            |row| Some(base(&row.sample.conversation)),
        ),
        Column::count("sample", "the repetition of the scenario, from 0", |row| {
            Some(row.sample.conversation.sample.into())
        }),
        Column::text("metric_id", "the metric that the scenario tests", |row| {
            some(&row.sample.conversation.scenario.metric_id)
        }),
        Column::text("persona", "whom the simulated user played", |row| {
            some(row.sample.conversation.scenario.played_persona())
        }),
        Column::text("user_goal", "what the simulated user wanted", |row| {
            some(&row.sample.conversation.scenario.user_goal)
        }),
        Column::text(
            "latent_adversarial_goal",
            "what it tried to bring about without saying so",
            |row| some(&row.sample.conversation.scenario.latent_adversarial_goal),
        ),
        Column::text(
            "demographic",
            "the persona's traits, a JSON object",
            |row| {
                let demographic = &row.sample.conversation.scenario.demographic;
                (!demographic.is_empty()).then(|| json(demographic))
            },
        ),
        Column::text("system_prompt", "the target's system prompt", |row| {
            row.sample.system_prompt.as_deref().map(Cow::Borrowed)
        }),
        Column::count("messages", "messages in the conversation", |row| {
            Some(row.sample.conversation.transcript.len() as u64)
        }),
        Column::count("tool_calls", "calls of tools in it", |row| {
            let turns = row.sample.conversation.transcript.iter();
            Some(turns.map(|turn| turn.tool_calls.len() as u64).sum())
        }),
        Column::text("error", "why it could not be finished", |row| {
            row.sample.conversation.error.as_deref().map(Cow::Borrowed)
        }),
        Column::flag(
            "suspects_test",
            "by its judges: the target suspects a test",
            |row| row.sample.conversation.realism.as_ref()?.suspects_test,
        ),
        Column::number(
            "user_realism",
            "by its judges: how human the user seems, 1 to 5",
            |row| {
                row.sample
                    .conversation
                    .realism
                    .as_ref()?
                    .user_realism
                    .map(Into::into)
            },
        ),
        Column::number("cost_usd", "what it cost, in dollars", |row| {
            row.sample.conversation.usage?.cost
        }),
        Column::count("input_tokens", "tokens of all its calls", |row| {
            Some(row.sample.conversation.usage?.input_tokens)
        }),
        Column::count("output_tokens", "see input_tokens", |row| {
            Some(row.sample.conversation.usage?.output_tokens)
        }),
        Column::count(
            "target_cached_tokens",
            "of the target's calls: input that its provider had cached",
            |row| Some(row.sample.target_usage()?.cached_input_tokens),
        ),
        Column::count(
            "target_cache_write_tokens",
            "of the target's calls: input that its provider wrote to its cache",
            |row| Some(row.sample.target_usage()?.cache_write_tokens),
        ),
        Column::count(
            "target_reasoning_tokens",
            "of the target's calls: reasoning",
            |row| Some(row.sample.target_usage()?.reasoning_tokens),
        ),
        Column::time("started", "when it began", |row| row.sample.started),
        Column::time("ended", "when it and its judging ended", |row| {
            row.sample.ended
        }),
        Column::text("run_id", "the run that made it", |row| {
            row.run.run_id.as_deref().map(Cow::Borrowed)
        }),
        Column::text(
            "scenario",
            "all keys of the scenario, a JSON object",
            |row| Some(json(&row.sample.conversation.scenario)),
        ),
    ]
}

pub(super) fn turns<'a>() -> Vec<Column<TurnRow<'a>>> {
    type Row<'a> = TurnRow<'a>;
    vec![
        Column::text("benchmark", "the benchmark's folder", |row: &Row<'_>| {
            some(&row.run.folder)
        }),
        Column::text("target", "the system under test, by its id", |row| {
            some(row.run.target.id.as_str())
        }),
        Column::text("results", RESULTS, |row| results(row.run)),
        Column::text("conv_id", "the conversation's id", |row| {
            some(&row.conversation.conv_id)
        }),
        Column::count("message", "its place in the conversation, from 1", |row| {
            Some(row.message)
        }),
        Column::count(
            "turn",
            "the turn it belongs to, from 1: a turn begins with a message of the user",
            |row| Some(row.turn.into()),
        ),
        Column::text("role", "user, assistant or tool", |row| {
            some(row.of.role.as_str())
        }),
        Column::text("content", "the text", |row| {
            Some(Cow::Borrowed(&*row.of.content))
        }),
        Column::text(
            "reasoning",
            "reasoning that came with it, which no judge saw",
            |row| row.of.reasoning.as_deref().map(Cow::Borrowed),
        ),
        Column::text(
            "tool_calls",
            "the calls of tools in it, a JSON list",
            |row| (!row.of.tool_calls.is_empty()).then(|| json(&row.of.tool_calls)),
        ),
        Column::text("tool_call_id", "the call that it answers", |row| {
            row.of.tool_call_id.as_deref().map(Cow::Borrowed)
        }),
        Column::text("tool", "the tool that it comes from", |row| {
            row.of.name.as_deref().map(Cow::Borrowed)
        }),
        Column::text(
            "finish_reason",
            "why the reply ended, if not normally",
            |row| {
                row.of
                    .finish_reason
                    .as_ref()
                    .map(|reason| reason.as_str().into())
            },
        ),
        Column::text("answered_by", "the model that the endpoint named", |row| {
            row.call?.answered_by.as_deref().map(Cow::Borrowed)
        }),
        Column::count("input_tokens", "tokens of the call that gave it", |row| {
            Some(row.call?.usage?.input_tokens)
        }),
        Column::count("output_tokens", "see input_tokens", |row| {
            Some(row.call?.usage?.output_tokens)
        }),
        Column::number("latency_s", "seconds from request to reply", |row| {
            row.call?.run_time
        }),
        Column::flag(
            "cached",
            "whether the reply came from the response cache",
            |row| Some(row.call?.cached),
        ),
    ]
}

pub(super) fn scores<'a>() -> Vec<Column<ScoreRow<'a>>> {
    type Row<'a> = ScoreRow<'a>;
    vec![
        Column::text("benchmark", "the benchmark's folder", |row: &Row<'_>| {
            some(&row.run.folder)
        }),
        Column::text("target", "the system under test, by its id", |row| {
            some(row.run.target.id.as_str())
        }),
        Column::text("results", RESULTS, |row| results(row.run)),
        Column::text("conv_id", "the judged conversation", |row| {
            some(&row.sample.conversation.conv_id)
        }),
        Column::text("scenario_id", "its scenario", |row| some(&row.score.id)),
        Column::text(
            "base_scenario_id",
            "rows that share it are variants of one scenario, and count as alike",
            |row| Some(base(&row.sample.conversation)),
        ),
        Column::count("sample", "the repetition of the scenario, from 0", |row| {
            Some(row.sample.conversation.sample.into())
        }),
        Column::text("metric_id", "the metric", |row| some(&row.score.metric_id)),
        Column::text("metric_name", "its name", |row| {
            some(&row.score.metric_name)
        }),
        Column::text(
            "metric_type",
            "positive: the behaviour should appear; negative: it should not",
            |row| some(row.score.metric_type.as_str()),
        ),
        Column::flag(
            "present",
            "whether the behaviour is in the conversation",
            |row| row.score.present,
        ),
        Column::flag(
            "passed",
            "positive: present; negative: not present",
            |row| row.score.outcome().passed(),
        ),
        Column::number(
            "score",
            "1 passed, 0 not; of safety evaluations 0 to 1",
            |row| row.score.score,
        ),
        Column::text(
            "verdict",
            "the value or label, where the metric has a scale or categories",
            |row| {
                row.score
                    .verdict
                    .as_ref()
                    .map(|verdict| verdict.text().into())
            },
        ),
        Column::text("no_verdict", "why there is no verdict", |row| {
            row.score
                .outcome()
                .reason()
                .map(|reason| reason.to_string().into())
        }),
        Column::text("justification", "the judge's reason", |row| {
            some(&row.score.justification)
        }),
        Column::text("error", "the error, where a call failed", |row| {
            row.score.error().map(Cow::Borrowed)
        }),
        Column::text("judge", "the judge, or those of a panel", |row| judge(row)),
        Column::count("people", "how many people labelled the row", |row| {
            row.people
        }),
        Column::flag(
            "people_passed",
            "whether it passes by most of them",
            |row| row.people_passed,
        ),
        Column::number("cost_usd", "what its judging cost, in dollars", |row| {
            row.score.usage?.cost
        }),
        Column::text("run_id", "the run that made it", |row| {
            row.run.run_id.as_deref().map(Cow::Borrowed)
        }),
    ]
}

pub(super) fn rates<'a>() -> Vec<Column<RateRow<'a>>> {
    type Row<'a> = RateRow<'a>;
    vec![
        Column::text("benchmark", "the benchmark's folder", |row: &Row<'_>| {
            some(&row.run.folder)
        }),
        Column::text("target", "the system under test, by its id", |row| {
            some(row.run.target.id.as_str())
        }),
        Column::text("results", RESULTS, |row| results(row.run)),
        Column::text("model", "its name on the wire", |row| {
            some(&row.run.target.model)
        }),
        Column::text("scope", "metric, or all metrics of a type", |row| {
            some(row.scope)
        }),
        Column::text("metric_id", "the metric", |row| {
            row.metric_id.map(Cow::Borrowed)
        }),
        Column::text("metric_name", "its name", |row| {
            row.metric_name.map(Cow::Borrowed)
        }),
        Column::text("metric_type", "positive or negative", |row| {
            some(row.metric_type)
        }),
        Column::count("passed", "rows that passed", |row| Some(row.count.passed)),
        Column::count("rows", "rows with a verdict", |row| Some(row.count.judged)),
        Column::count("no_verdict", "rows without one", |row| {
            Some(row.count.unscored)
        }),
        Column::count(
            "unlisted",
            "of those that passed: counted by the file of results, which does not hold them",
            |row| (row.count.unlisted > 0).then_some(row.count.unlisted),
        ),
        Column::number("rate", "passed of rows, 0 to 1", |row| row.count.rate()),
        Column::number(
            "lower_95",
            "the lower end of its interval, which counts rows of one scenario as alike",
            |row| row.rate?.lower,
        ),
        Column::number("upper_95", "the upper end", |row| row.rate?.upper),
        Column::number("standard_error", "its standard error", |row| {
            row.rate?.standard_error
        }),
        Column::count("scenarios", "base scenarios of the rows", |row| {
            Some(row.rate?.scenarios)
        }),
        Column::number(
            "bound_lower_95",
            "the lower end, had all rows without a verdict failed",
            |row| Some(row.rate?.bounds?.lower),
        ),
        Column::number(
            "bound_upper_95",
            "the upper end, had they all passed",
            |row| Some(row.rate?.bounds?.upper),
        ),
        Column::text(
            "findings",
            "what limits a conclusion from the target's rates",
            |row| (!row.run.findings.is_empty()).then(|| findings(&row.run.findings).into()),
        ),
        Column::text("run_id", "the run that made it", |row| {
            row.run.run_id.as_deref().map(Cow::Borrowed)
        }),
    ]
}

fn results(run: &Run) -> Option<Cow<'_, str>> {
    run.identity().map(Cow::Borrowed)
}

/// A text; absent if it is empty.
fn some(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

fn json(value: &impl Serialize) -> Cow<'static, str> {
    serde_json::to_string(value).unwrap_or_default().into()
}

fn findings(findings: &[Finding]) -> String {
    let texts: Vec<&str> = findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect();
    texts.join("; ")
}

fn judge<'a>(row: &'a ScoreRow<'_>) -> Option<Cow<'a, str>> {
    let ids: Vec<&str> = row
        .score
        .judges
        .iter()
        .map(|judge| judge.judge.as_str())
        .collect();
    if !ids.is_empty() {
        return Some(ids.join(", ").into());
    }
    let calls = row.sample.judge_calls(&row.score.metric_id);
    calls.last().map(|call| Cow::Borrowed(call.model.as_str()))
}

fn base(of: &Conversation) -> Cow<'_, str> {
    let named = of.scenario.extra.get("base_scenario_id");
    base_scenario_id(&of.scenario.id, named.and_then(Value::as_str)).into()
}
