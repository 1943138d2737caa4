//! Judges that are programs: what they are sent, and how their results are read. The form is that of `docs/any-language.md`.

use schema::{
    CallContext, ChatReply, Conversation, Extra, Item, Metric, NoVerdict, PhaseProgram, Purpose,
    ReadingKind, Turn, Verdict, VerdictType, reply, text::hex,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    evaluator::{Answer, GivenVerdict},
    quotes,
    verdict::JudgeReply,
};

/// The most bytes of `details`, as JSON.
const MOST_DETAILS: usize = 64 << 10;

/// The context of a reading's requests.
pub(crate) fn context(item: &Item, reading: Option<ReadingKind>) -> CallContext {
    let mut context = item.call(Purpose::Judge, 0);
    if let Some(reading) = reading {
        context.row = format!("{}__{}", context.row, reading.as_str()).into();
    }
    context
}

/// The parameters of a reading's first request.
pub(crate) fn params(
    program: &PhaseProgram,
    conversation: &Conversation,
    metric: &Metric,
    turns: &[Turn],
    context: &CallContext,
) -> Value {
    // Ids name the model.
    let row = hex(&Sha256::digest(context.row.as_bytes()));
    let mut params = Map::new();
    params.insert("row".to_owned(), row.get(..16).unwrap_or_default().into());
    params.insert("sample".to_owned(), context.sample.into());
    params.insert("attempt".to_owned(), 1.into());
    params.insert("metrics".to_owned(), json!([asked(program, metric)]));
    params.insert("messages".to_owned(), messages(program, turns).into());
    add_wanted(program, conversation, &mut params);
    params.into()
}

fn wants(program: &PhaseProgram, key: &str) -> bool {
    program.wants.iter().any(|want| want == key)
}

/// The metric. Thresholds are never shown.
fn asked(program: &PhaseProgram, metric: &Metric) -> Value {
    let mut asked = json!({
        "id": metric.id,
        "definition": metric.definition,
        "examples": metric.examples,
        "verdict": match &metric.verdict {
            None => json!({"type": "present"}),
            Some(VerdictType::Scale { min, max, .. }) => json!({"type": "scale", "min": min, "max": max}),
            Some(VerdictType::Categories { labels, .. }) => json!({"type": "categories", "labels": labels}),
        },
    });
    if wants(program, "name") {
        asked["name"] = metric.name.as_str().into();
    }
    if wants(program, "type") {
        asked["type"] = metric.metric_type.as_str().into();
    }
    asked
}

fn messages(program: &PhaseProgram, turns: &[Turn]) -> Vec<Value> {
    let message = |(at, turn): (usize, &Turn)| {
        let mut message = json!({"n": at + 1, "role": turn.role.as_str(), "content": turn.content});
        if !turn.tool_calls.is_empty() {
            message["tool_calls"] = json!(turn.tool_calls);
        }
        if let Some(id) = &turn.tool_call_id {
            message["tool_call_id"] = json!(id);
        }
        let reasoning = turn.reasoning.as_ref();
        if let Some(reasoning) = reasoning.filter(|_| wants(program, "reasoning")) {
            message["reasoning"] = json!(reasoning);
        }
        message
    };
    turns.iter().enumerate().map(message).collect()
}

fn add_wanted(
    program: &PhaseProgram,
    conversation: &Conversation,
    params: &mut Map<String, Value>,
) {
    let scenario = &conversation.scenario;
    let ids = json!({"conversation": conversation.conv_id, "scenario": scenario.id});
    let all = [
        ("target", json!(conversation.target)),
        ("ids", ids),
        ("system_prompt", json!(scenario.target_system_prompt)),
        ("demographic", json!(scenario.demographic)),
        ("persona", scenario.played_persona().into()),
        ("user_goal", scenario.user_goal.as_str().into()),
        (
            "hidden_goal",
            scenario.latent_adversarial_goal.as_str().into(),
        ),
        ("landmarks", json!(scenario.landmarks)),
    ];
    for (key, value) in all {
        if wants(program, key) {
            params.insert(key.to_owned(), value);
        }
    }
}

/// Reads a result: one of `present`, `value`, `label`, as the metric asks, with a `reason`; or `abstain` with the reason. A judge of
/// all metrics at once gives a list of these.
///
/// # Errors
/// What is wrong with it, with its key.
pub(crate) fn read(
    program: &PhaseProgram,
    reply: &ChatReply,
    metric: &Metric,
    turns: &[Turn],
) -> Result<Answer, String> {
    let result = reply::json_object(&reply.content)?;
    let verdict = match result.get("verdicts") {
        None | Some(Value::Null) if program.is_per_conversation() => {
            let id = &metric.id;
            return Err(format!("verdicts: missing; expected a list with {id}"));
        }
        None | Some(Value::Null) => result,
        Some(Value::Array(verdicts)) => one_of(program, verdicts, metric)?,
        Some(_) => return Err("verdicts: expected a list".to_owned()),
    };
    let (key, value) = given(&verdict)?;
    if key == "abstain" {
        let reason = not_blank(Some(value)).ok_or("abstain: expected a reason")?;
        let words = format!("the judge abstained: {reason}");
        return Ok(Err((NoVerdict::JudgeUnusable, words)));
    }
    let read = verdict_of(key, value, metric)?;
    let justification = not_blank(verdict.get("reason"))
        .ok_or("reason: expected a text that is not blank")?
        .to_owned();
    let quotes = match verdict.get("quotes") {
        None | Some(Value::Null) => Vec::new(),
        Some(_) => quotes::read(&verdict, turns, false)?,
    };
    let reply = JudgeReply {
        verdict: Some(read),
        justification,
    };
    Ok(Ok(GivenVerdict {
        reply,
        quotes,
        details: details(&verdict)?,
    }))
}

/// What the program says beside its verdict: an object that is kept with the row.
fn details(verdict: &Extra) -> Result<Option<Value>, String> {
    let details = match verdict.get("details") {
        None | Some(Value::Null) => return Ok(None),
        Some(details) if details.is_object() => details,
        Some(_) => return Err("details: expected an object".to_owned()),
    };
    match details.to_string().len() {
        0..=MOST_DETAILS => Ok(Some(details.clone())),
        length => Err(format!(
            "details: {length} bytes; {MOST_DETAILS} are the most"
        )),
    }
}

fn not_blank(value: Option<&Value>) -> Option<&str> {
    let text = value.and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty())
}

/// The one key that is the answer, and its value.
fn given(verdict: &Extra) -> Result<(&'static str, &Value), String> {
    let keys = ["present", "value", "label", "abstain"].into_iter();
    let mut given = keys.filter_map(|key| {
        let value = verdict.get(key).filter(|value| !value.is_null())?;
        Some((key, value))
    });
    match (given.next(), given.next()) {
        (Some(only), None) => Ok(only),
        _ => Err("expected one of present, value, label, abstain".to_owned()),
    }
}

/// The verdict that the metric allows.
fn verdict_of(key: &str, value: &Value, metric: &Metric) -> Result<Verdict, String> {
    let needed = match &metric.verdict {
        None => "present",
        Some(VerdictType::Scale { .. }) => "value",
        Some(VerdictType::Categories { .. }) => "label",
    };
    if key != needed {
        return Err(format!("{key}: the metric asks for `{needed}`"));
    }
    let wrong = |expected: String| format!("{key}: expected {expected}");
    match &metric.verdict {
        None => {
            let present = value
                .as_bool()
                .ok_or_else(|| wrong("true or false".to_owned()))?;
            Ok(Verdict::yes_no(present))
        }
        Some(VerdictType::Scale { min, max, .. }) => {
            let number = value
                .as_i64()
                .and_then(|number| i32::try_from(number).ok())
                .filter(|number| (*min..=*max).contains(number))
                .ok_or_else(|| wrong(format!("a whole number from {min} to {max}")))?;
            Ok(Verdict::scale(number))
        }
        Some(VerdictType::Categories { labels, .. }) => {
            let label = value
                .as_str()
                .filter(|label| labels.iter().any(|known| known == label))
                .ok_or_else(|| wrong(format!("one of {}", labels.join(", "))))?;
            Ok(Verdict::category(label))
        }
    }
}

/// The verdict on `metric` in a list that has no other.
fn one_of(program: &PhaseProgram, verdicts: &[Value], metric: &Metric) -> Result<Extra, String> {
    let [only] = verdicts else {
        return Err(format!("verdicts: expected one, of metric {}", metric.id));
    };
    let is_asked = match only.get("metric").and_then(Value::as_str) {
        Some(id) => id == metric.id,
        None => !program.is_per_conversation(),
    };
    if !is_asked {
        return Err(format!("verdicts[0].metric: expected {}", metric.id));
    }
    let object = only.as_object().cloned();
    object.ok_or_else(|| "verdicts[0]: expected an object".to_owned())
}
