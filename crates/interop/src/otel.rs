//! OpenTelemetry: the calls of conversations as spans of traces, and verdicts as events, in files that any collector reads.
//!
//! `traces.jsonl` and `logs.jsonl` follow the [file exporter](https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/) of OTLP: JSON,
//! one line for each conversation. A conversation is a trace, and each call to a model a span by the
//! [conventions for generative AI](https://github.com/open-telemetry/semantic-conventions-genai). A verdict is an event
//! `gen_ai.evaluation.result` on the target's last reply. Attributes of our own begin with `probity.`.
//!
//! # Limits
//! Without a journal nothing is known of calls: then a trace has its first span alone, at the time of the run.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schema::{Role, Score, ScoreOutcome, Turn, Usage, text::hex};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{Asked, Call, ExportError, Exported, Exporter, OutFile, Run, Sample, json, places};

/// Writes OTLP files.
#[derive(Debug)]
pub struct Otel {
    out: PathBuf,
    files: Option<[OutFile; 2]>,
    run: Option<Run>,
}

impl Otel {
    /// Writes `traces.jsonl` and `logs.jsonl` into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            out: out.to_owned(),
            files: None,
            run: None,
        }
    }
}

impl Exporter for Otel {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        if self.files.is_none() {
            self.files = Some([
                OutFile::create(self.out.join("traces.jsonl"))?,
                OutFile::create(self.out.join("logs.jsonl"))?,
            ]);
        }
        self.run = Some(run.clone());
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let (Some([traces, logs]), Some(run)) = (&mut self.files, &self.run) else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        let trace = Trace::new(run, sample);
        let resource = resource(run);
        let scope = json!({"name": "probity", "version": run.probity_version});
        let spans = json!({"resourceSpans": [{"resource": resource,
            "scopeSpans": [{"scope": scope, "spans": trace.spans()}]}]});
        let written = json::write_line(traces, &spans);
        traces.with_path(written)?;
        let verdicts = trace.verdicts();
        if !verdicts.is_empty() {
            let records = json!({"resourceLogs": [{"resource": resource,
                "scopeLogs": [{"scope": scope, "logRecords": verdicts}]}]});
            let written = json::write_line(logs, &records);
            logs.with_path(written)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let files = self.files.into_iter().flatten().map(OutFile::keep);
        Ok(Exported {
            files: files.collect::<Result<_, _>>()?,
            ..Exported::default()
        })
    }
}

/// Attributes by name. Values that are not known are left out.
#[derive(Default)]
struct Attributes(Vec<Value>);

impl Attributes {
    fn add(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0
                .push(json!({"key": key, "value": any_value(&value.into())}));
        }
        self
    }

    fn text(self, key: &str, value: impl Into<String>) -> Self {
        self.add(key, Some(value.into()))
    }
}

/// A value as OTLP has it. Whole numbers are texts, because they may have 64 bits.
fn any_value(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(values) => {
            json!({"arrayValue": {"values": values.iter().map(any_value).collect::<Vec<_>>()}})
        }
        other => json!({"stringValue": other.to_string()}),
    }
}

fn resource(run: &Run) -> Value {
    let findings: Vec<&str> = run
        .findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect();
    let attributes = Attributes::default()
        .text("service.name", "probity")
        .add("service.version", run.probity_version.clone())
        .text("probity.benchmark", run.folder.as_str())
        .text("probity.target", run.target.id.as_str())
        .add("probity.run_id", run.run_id.clone())
        .add(
            "probity.findings",
            (!findings.is_empty()).then_some(findings),
        );
    json!({"attributes": attributes.0})
}

/// The trace of a conversation.
struct Trace<'a> {
    run: &'a Run,
    sample: &'a Sample,
    id: String,
    seed: String,
}

impl<'a> Trace<'a> {
    fn new(run: &'a Run, sample: &'a Sample) -> Self {
        let conversation = &sample.conversation.conv_id;
        let identity = run.identity().unwrap_or_default();
        let seed = format!(
            "{}\n{}\n{conversation}\n{identity}",
            run.folder, run.target.id
        );
        Self {
            id: id(&seed, 16),
            run,
            sample,
            seed,
        }
    }

    /// The id of the span `n`; 0 is the conversation.
    fn span_id(&self, n: usize) -> String {
        id(&format!("{}\n{n}", self.seed), 8)
    }

    /// When the conversation began and ended: as the journal has it, else when the run did.
    fn times(&self) -> (Timestamp, Timestamp) {
        let started = self
            .sample
            .started
            .or(self.run.started)
            .unwrap_or(self.run.time);
        let ended = self.sample.ended.filter(|ended| *ended >= started);
        (started, ended.unwrap_or(started))
    }

    fn spans(&self) -> Vec<Value> {
        let conversation = &self.sample.conversation;
        let (started, ended) = self.times();
        let attributes = self
            .common()
            .text(
                "probity.metric.id",
                conversation.scenario.metric_id.as_str(),
            )
            .text("probity.scenario.id", conversation.scenario.id.as_str())
            .add("probity.sample", Some(conversation.sample))
            .add(
                "probity.no_verdict",
                conversation.no_verdict.map(|why| why.as_str()),
            );
        let mut root = json!({
            "traceId": self.id,
            "spanId": self.span_id(0),
            "name": format!("conversation {}", conversation.scenario.id),
            "kind": INTERNAL,
            "startTimeUnixNano": nanos(started),
            "endTimeUnixNano": nanos(ended),
            "attributes": attributes.0,
        });
        if let Some(error) = &conversation.error {
            root["status"] = json!({"code": ERROR, "message": error});
        }
        let calls = self.sample.calls.iter().zip(1..);
        let below = calls.map(|(call, n)| self.call(call, n));
        std::iter::once(root).chain(below).collect()
    }

    fn common(&self) -> Attributes {
        let id = self.sample.conversation.conv_id.as_str();
        Attributes::default().text("gen_ai.conversation.id", id)
    }

    fn call(&self, call: &Call, n: usize) -> Value {
        let (requested, source) = self.model(call);
        let usage = |of: fn(&Usage) -> u64| call.usage.as_ref().map(of);
        let cache = |of: fn(&Usage) -> u64| usage(of).filter(|tokens| *tokens > 0);
        let said = (call.by == Asked::Target && call.error.is_none()).then(|| self.said(call));
        let (input, output) = said.flatten().unzip();
        let ends = call.finish_reason.as_ref().map(|end| json!([end]));
        let attributes = self
            .common()
            .text("gen_ai.operation.name", "chat")
            .text("gen_ai.provider.name", source.unwrap_or("unknown"))
            .text("gen_ai.request.model", requested)
            .add("gen_ai.response.model", call.answered_by.clone())
            .add("gen_ai.response.id", call.request_id.clone())
            .add("gen_ai.response.finish_reasons", ends)
            .add(
                "gen_ai.usage.input_tokens",
                usage(|usage| usage.input_tokens),
            )
            .add(
                "gen_ai.usage.output_tokens",
                usage(|usage| usage.output_tokens),
            )
            .add(
                "gen_ai.usage.cache_read.input_tokens",
                cache(|usage| usage.cached_input_tokens),
            )
            .add(
                "gen_ai.usage.cache_creation.input_tokens",
                cache(|usage| usage.cache_write_tokens),
            )
            .add(
                "gen_ai.system_instructions",
                input.as_ref().and_then(|_| self.instructions()),
            )
            .add("gen_ai.input.messages", input)
            .add("gen_ai.output.messages", output)
            .text("probity.role", role(call.by))
            .add("probity.metric.id", call.metric_id.clone())
            .add("probity.turn", (call.turn > 0).then_some(call.turn))
            .add("probity.cached", Some(call.cached))
            .add("probity.cost", call.cost)
            .add("error.type", call.error.as_ref().map(|_| "_OTHER"));
        let (started, ended) = self.call_times(call);
        let mut span = json!({
            "traceId": self.id,
            "spanId": self.span_id(n),
            "parentSpanId": self.span_id(0),
            "name": format!("chat {requested}"),
            "kind": CLIENT,
            "startTimeUnixNano": nanos(started),
            "endTimeUnixNano": nanos(ended),
            "attributes": attributes.0,
        });
        if let Some(error) = &call.error {
            span["status"] = json!({"code": ERROR, "message": error});
        }
        span
    }

    /// When the call began and ended. A reply from the cache took no time.
    fn call_times(&self, call: &Call) -> (Timestamp, Timestamp) {
        let known = call.ended.as_deref().and_then(|text| text.parse().ok());
        let ended = known.unwrap_or(self.times().0);
        let took = call.run_time.filter(|_| !call.cached).unwrap_or_default();
        let took = std::time::Duration::try_from_secs_f64(took).unwrap_or_default();
        (ended.checked_sub(took).unwrap_or(ended), ended)
    }

    /// The model's name as it is requested, and who serves it.
    fn model(&self, call: &'a Call) -> (&'a str, Option<&'a str>) {
        let run = self.run;
        let judge = || run.judges.iter().find(|judge| judge.id == call.model);
        let (name, source) = match call.by {
            Asked::Target => (Some(run.target.model.as_str()), run.source.as_deref()),
            Asked::User => (
                run.user_model.as_ref().map(|user| user.model.as_str()),
                run.user_source.as_deref(),
            ),
            Asked::Tool => (
                run.tool_model.as_ref().map(|tool| tool.model.as_str()),
                run.tool_source.as_deref(),
            ),
            Asked::Judge | Asked::ConversationJudge => {
                let judge = judge();
                (
                    judge.map(|judge| judge.model.as_str()),
                    judge.and_then(|judge| judge.source.as_deref()),
                )
            }
        };
        let name = name.filter(|name| !name.is_empty());
        (name.unwrap_or(&call.model), source)
    }

    /// The system prompt of the target.
    fn instructions(&self) -> Option<String> {
        let prompt = self.sample.system_prompt.as_ref()?;
        Some(json!([{"type": "text", "content": &**prompt}]).to_string())
    }

    /// The messages before the target's reply, and the reply. `None` where the transcript does not have it.
    fn said(&self, call: &Call) -> Option<(String, String)> {
        let transcript = &self.sample.conversation.transcript;
        let mut placed = places(transcript);
        let at = placed.position(|(place, said)| {
            said.is_reply() && (place.turn, place.step) == (call.turn, call.step)
        })?;
        let (before, from) = transcript.split_at(at);
        let mut reply = message(from.first()?);
        if let Some(end) = &call.finish_reason {
            reply["finish_reason"] = end.as_str().into();
        }
        let input: Vec<Value> = before.iter().map(message).collect();
        Some((json!(input).to_string(), json!([reply]).to_string()))
    }

    /// The verdicts, as events on the target's last reply, or else on the conversation.
    fn verdicts(&self) -> Vec<Value> {
        let calls = self.sample.calls.iter().zip(1..);
        let replies = calls.filter(|(call, _)| call.by == Asked::Target && call.error.is_none());
        let last = replies.last();
        let span = self.span_id(last.map_or(0, |(_, n)| n));
        let response = last.and_then(|(call, _)| call.request_id.clone());
        let (_, ended) = self.times();
        let event = |score: &Score| {
            json!({
                "timeUnixNano": nanos(ended),
                "eventName": "gen_ai.evaluation.result",
                "traceId": self.id,
                "spanId": span,
                "attributes": self.verdict(score).add("gen_ai.response.id", response.clone()).0,
            })
        };
        self.sample.scores.iter().map(event).collect()
    }

    fn verdict(&self, score: &Score) -> Attributes {
        let (label, reason) = match score.outcome() {
            ScoreOutcome::Passed => (Some("pass"), None),
            ScoreOutcome::Failed => (Some("fail"), None),
            ScoreOutcome::Unscored(reason) => (
                None,
                Some(reason.reason.map_or("unknown", |why| why.as_str())),
            ),
        };
        let named = match score.metric_name.is_empty() {
            true => &score.metric_id,
            false => &score.metric_name,
        };
        let explanation = Some(score.justification.as_str()).filter(|text| !text.is_empty());
        self.common()
            .text("gen_ai.evaluation.name", named.as_str())
            .add("gen_ai.evaluation.score.value", score.score)
            .add("gen_ai.evaluation.score.label", label)
            .add("gen_ai.evaluation.explanation", explanation)
            .add("error.type", reason)
            .text("probity.metric.id", score.metric_id.as_str())
    }
}

const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

fn role(by: Asked) -> &'static str {
    match by {
        Asked::Target => "target",
        Asked::User => "user",
        Asked::Tool => "tool",
        Asked::Judge => "judge",
        Asked::ConversationJudge => "conversation_judge",
    }
}

/// A message in the form of the conventions.
fn message(said: &Turn) -> Value {
    let mut parts = Vec::new();
    if let Some(reasoning) = &said.reasoning {
        parts.push(json!({"type": "reasoning", "content": &**reasoning}));
    }
    let content = &*said.content;
    match (said.role, &said.tool_call_id) {
        (Role::Tool, id) => {
            parts.push(json!({"type": "tool_call_response", "id": id, "response": content}))
        }
        _ if content.is_empty() => {}
        _ => parts.push(json!({"type": "text", "content": content})),
    }
    for call in &said.tool_calls {
        let arguments: Value = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        parts.push(
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}),
        );
    }
    Value::from(Map::from_iter([
        ("role".to_owned(), said.role.as_str().into()),
        ("parts".to_owned(), parts.into()),
    ]))
}

fn nanos(time: Timestamp) -> String {
    time.as_nanosecond().max(0).to_string()
}

/// The first bytes of the hash of `text`, in hexadecimal.
fn id(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text);
    hex(digest.get(..bytes).unwrap_or_default())
}
