//! Texts that no file of the repository has: replies, answers and messages.

use crate::Parser;

/// A chat completion with everything that is read of one.
pub const CHAT_COMPLETION: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"<think>x</think>Hello","refusal":null,"reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s"}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8,"cost":0.001,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}}"#;

/// A reply of the Messages interface.
pub const MESSAGE: &str = r#"{"id":"m1","type":"message","role":"assistant","model":"claude","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"Hello"},{"type":"tool_use","id":"t1","name":"f","input":{"a":1}},{"type":"redacted_thinking","data":"x"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":1,"cache_read_input_tokens":2}}"#;

/// A reply of the Responses interface.
pub const RESPONSE: &str = r#"{"id":"r1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]},{"type":"refusal","refusal":"no"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"incomplete_details":null,"usage":{"input_tokens":3,"output_tokens":5,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":2}}}"#;

/// Settings of applications, each with its way to say where the reply is.
pub const APPS: [&str; 2] = [
    r#"{"url": "http://localhost/chat", "body": {"q": "{{ message }}", "h": "{{ history }}"}, "reply": "/answer/text", "reasoning": "/answer/thought", "tool_calls": "/answer/calls", "finish": "/answer/end", "usage": {"input_tokens": "/usage/in", "output_tokens": "/usage/out"}, "cost": "/usage/cost", "model": "/model", "errors": [{"pointer": "/error", "kind": "retryable"}]}"#,
    r#"{"url": "http://localhost/chat", "body": {"q": "{{ message }}"}, "messages": "/messages", "model": "{{ response.model or status }}"}"#,
];

/// The body of an application's reply.
pub const APP_REPLY: &str = r#"{"answer": {"text": "Hello", "thought": "t", "calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}], "end": "stop"}, "usage": {"in": 3, "out": 5, "cost": 0.01}, "model": "m", "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "t", "content": "r"}, {"role": "assistant", "content": "Hello"}]}"#;

const VERDICTS: [&str; 3] = [
    r#"{"evidence": [2], "justification": "[2] objects.", "present": "yes"}"#,
    r#"{"present": false, "justification": "Nothing of the sort."}"#,
    "<think>\n{\"present\": null}</think>\n```json\n{\"quotes\": [\"Hello\"], \"justification\": \"j\", \"absent\": \"cannot tell\"}\n```",
];

const ANSWERS: [&str; 4] = [
    r#"{"id": 1, "result": {"messages": [{"role": "assistant", "content": "x"}], "cost": 0.1}}"#,
    r#"{"id": 1, "result": {"verdicts": [{"metric": "m01", "present": true, "reason": "j", "details": {"a": [1, 2.5]}}]}}"#,
    r#"{"id": 1, "result": {"content": "Hello", "tool_calls": [{"id": "t", "name": "f", "arguments": {"a": 1}}], "usage": {"input_tokens": 1, "output_tokens": 2}}}"#,
    r#"{"id": 1, "result": {"metrics": [{"id": "m01", "name": "n", "type": "positive", "definition": "d"}], "scenarios": [{"id": "s", "metric_id": "m01"}]}}"#,
];

const CHECKS: [&str; 4] = [
    r#"{"check": {"contains": "{{ answer }}"}, "scenario": {"answer": "Paris"}, "reply": "It is Paris."}"#,
    r#"{"check": {"regex": "^(?i)par[a-z]{1,9}\\b"}, "reply": "Paris"}"#,
    r#"{"check": {"choice": ["A", "B"]}, "scenario": {"answer": "B"}, "reply": "Answer: **B**"}"#,
    r#"{"check": {"json_path": "$.a[?@.b > 1].c", "equals": "x"}, "reply": "```json\n{\"a\": [{\"b\": 2, \"c\": \"x\"}]}\n```"}"#,
];

const TOOLS: [&str; 2] = [
    r##"{"tool": {"name": "rate", "parameters": {"type": "object", "properties": {"from": {"type": "string", "pattern": "^[A-Z]{3}$"}, "n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["from"], "additionalProperties": false}, "answers": [{"when": {"from": "EUR"}, "answer": {"rate": 1.1}}, {"answer": "unknown"}]}, "arguments": {"from": "EUR", "n": 4}}"##,
    r#"{"tool": {"name": "f", "parameters": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "patternProperties": {"^x": {"format": "date-time", "enum": ["1", 2]}}, "dependentSchemas": {"a": {"properties": {"a": {"minimum": 1e3}}}}}, "simulated": true}, "arguments": {"a": 5, "x1": "2026-01-01T00:00:00Z"}}"#,
];

const MESSAGES: [&str; 3] = [
    r#"{"calls": [{"key": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "failure": {"kind": "timeout", "message": "m", "attempts": 2, "is_refusal": false, "spend": {"calls": 1}}}], "events": [{"message": "attempt_failed", "fields": "{\"a\": 1}"}], "is_stopped": false}"#,
    r#"{"id": "m01_s001_v01", "metric_id": "m01", "metric_name": "Calm", "metric_type": "positive", "description": "d", "turns": ["Hello"], "persona": "p"}"#,
    r#"{"description": "d", "metrics": [{"id": "m01", "name": "Calm", "type": "positive", "definition": "d"}], "tools": [{"name": "f", "answer": "x"}]}"#,
];

const RULES: [&str; 2] = [
    "rules:\n- name: good enough\n  require: lower >= 0.8\n  targets: [a, b]\n- {scope: each-metric, require: difference >= -0.1}\n- {metric: m01, require: missing <= 0.05}\n- {require: cost <= 5}\nmax_missing: 0.1\nbaseline: baseline.json\n",
    "rules:\n- {scope: seed, require: upper <= 0.15}\n- {scope: seed, group: each-group, require: difference <= 0.3}\n- {scope: controls_refused, require: upper <= 0.25}\n",
];

const PRICES: [&str; 1] = [
    r#"{"format": 1, "as_of": "2026-07-01", "about": ["x"], "prices": [{"source": "openai", "model": "m*", "input": 1.25, "output": 10, "cached_input": 0.125}]}"#,
];

/// All of them, each with its parser.
#[must_use]
pub fn all() -> Vec<(Parser, String)> {
    let replies = [CHAT_COMPLETION, MESSAGE, RESPONSE];
    let app = format!(r#"{{"status": 200, "body": {APP_REPLY}}}"#);
    [
        (Parser::ModelReply, &replies[..]),
        (Parser::AppReply, &[&app]),
        (Parser::Verdict, &VERDICTS),
        (Parser::ProgramAnswer, &ANSWERS),
        (Parser::ReplyCheck, &CHECKS),
        (Parser::ToolSchema, &TOOLS),
        (Parser::ClusterMessage, &MESSAGES),
        (Parser::GateRules, &RULES),
        (Parser::Prices, &PRICES),
    ]
    .into_iter()
    .flat_map(|(parser, texts)| texts.iter().map(move |text| (parser, (*text).to_owned())))
    .collect()
}
