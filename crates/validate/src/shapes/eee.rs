//! The files of Every Eval Ever: an aggregate, and the lines of its samples. See `docs/export-eee.md`.

use serde_json::{Map, Value, json};

/// An object with these keys. Those whose name ends in `*` are required.
fn object(keys: Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Value::Object(keys) = keys {
        for (key, schema) in keys {
            let name = match key.strip_suffix('*') {
                Some(name) => {
                    required.push(name.to_owned());
                    name.to_owned()
                }
                None => key,
            };
            properties.insert(name, schema);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// Without other keys.
fn closed(mut object: Value) -> Value {
    object["additionalProperties"] = false.into();
    object
}

/// The same, or null.
fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
    }
    schema
}

fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

fn words(all: &[&str]) -> Value {
    json!({"enum": all})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn whole(least: i64) -> Value {
    json!({"type": "integer", "minimum": least})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

/// Any keys with texts.
fn texts() -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}})
}

/// An aggregate.
pub(crate) fn eee_log() -> Value {
    let mut schema = closed(object(json!({
        "schema_version*": text(),
        "evaluation_id*": text(),
        "evaluation_timestamp": text(),
        "retrieved_timestamp*": text(),
        "source_metadata*": object(json!({
            "source_name": text(),
            "source_type*": words(&["documentation", "evaluation_run"]),
            "source_organization_name*": text(),
            "source_organization_url": text(),
            "source_organization_logo_url": text(),
            "evaluator_relationship*": words(&["first_party", "third_party", "collaborative", "other"]),
            "additional_details": texts(),
        })),
        "eval_library*": object(json!({"name*": text(), "version*": text(), "additional_details": texts()})),
        "model_info*": {"$ref": "#/$defs/model_info"},
        "evaluation_results*": list(eee_result()),
        "detailed_evaluation_results": object(json!({
            "format*": words(&["jsonl"]),
            "file_path*": text(),
            "hash_algorithm": words(&["sha256", "md5"]),
            "checksum": text(),
            "total_rows": {"type": "integer"},
            "additional_details": texts(),
        })),
    })));
    schema["$defs"] = json!({"model_info": eee_model()});
    schema["description"] = "The results of one model: who ran what, each rate with its metric, and where the samples are.".into();
    schema
}

fn eee_model() -> Value {
    let mut details = object(json!({
        "deployment_type*": words(&["self_deployed", "externally_managed", "unknown"]),
        "model_availability*": words(&["open_weights", "closed_weights", "unknown"]),
    }));
    details["additionalProperties"] = text();
    object(json!({
        "name*": text(),
        "id*": text(),
        "developer": text(),
        "inference_platform": text(),
        "inference_engine": object(json!({"name": text(), "version": text()})),
        "additional_details*": details,
    }))
}

fn eee_result() -> Value {
    let source = |kind: &str, more: Value| {
        let mut source = object(
            json!({"dataset_name*": text(), "source_type*": {"const": kind}, "additional_details": texts()}),
        );
        if let (Some(all), Value::Object(more)) = (source["properties"].as_object_mut(), more) {
            all.extend(more);
        }
        source
    };
    let mut by_url = source(
        "url",
        json!({"url": {"type": "array", "items": text(), "minItems": 1}}),
    );
    by_url["required"] = json!(["dataset_name", "source_type", "url"]);
    object(json!({
        "evaluation_result_id": text(),
        "evaluation_name*": text(),
        "source_data*": {"oneOf": [
            by_url,
            source("hf_dataset", json!({"hf_repo": text(), "hf_split": text(), "samples_number": {"type": "integer"}, "sample_ids": list(text())})),
            source("other", json!({})),
        ]},
        "evaluation_timestamp": text(),
        "metric_config*": eee_metric(),
        "score_details*": object(json!({
            "score*": number(),
            "details": texts(),
            "uncertainty": object(json!({
                "standard_error": object(json!({"value*": number(), "method": text()})),
                "confidence_interval": object(json!({
                    "lower*": number(),
                    "upper*": number(),
                    "confidence_level": {"type": "number", "minimum": 0, "maximum": 1},
                    "method": text(),
                })),
                "standard_deviation": number(),
                "num_samples": {"type": "integer"},
                "num_bootstrap_samples": {"type": "integer"},
            })),
        })),
        "generation_config": eee_generation(),
    }))
}

fn eee_metric() -> Value {
    let bound = json!({"anyOf": [number(), words(&["Infinity", "-Infinity"]), {"type": "null"}]});
    let mut metric = object(json!({
        "evaluation_description": text(),
        "metric_id": text(),
        "metric_name": text(),
        "metric_kind": text(),
        "metric_unit": text(),
        "metric_parameters": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        "lower_is_better*": flag(),
        "score_type": words(&["binary", "continuous", "levels"]),
        "level_names": list(text()),
        "level_metadata": list(text()),
        "has_unknown_level": flag(),
        "min_score": bound,
        "max_score": bound,
        "llm_scoring": object(json!({
            "judges*": {"type": "array", "minItems": 1, "items": object(json!({
                "model_info*": {"$ref": "#/$defs/model_info"},
                "temperature": number(),
                "weight": number(),
                "additional_details": texts(),
            }))},
            "input_prompt*": text(),
            "aggregation_method": words(&["majority_vote", "average", "weighted_average", "median"]),
            "expert_baseline": number(),
            "additional_details": texts(),
        })),
        "additional_details": texts(),
    }));
    let is = |kind: &str| json!({"required": ["score_type"], "properties": {"score_type": {"const": kind}}});
    metric["allOf"] = json!([
        {"if": is("levels"), "then": {"required": ["level_names", "has_unknown_level"]}},
        {"if": is("continuous"), "then": {"required": ["min_score", "max_score"]}},
    ]);
    metric
}

fn eee_generation() -> Value {
    let args = closed(object(json!({
        "temperature": or_null(number()),
        "top_p": or_null(number()),
        "top_k": or_null(number()),
        "max_tokens": whole(1),
        "execution_command": text(),
        "reasoning": flag(),
        "prompt_template": text(),
        "agentic_eval_config": object(json!({
            "available_tools": list(object(json!({"name": text(), "description": text(), "parameters": texts()}))),
            "additional_details": texts(),
        })),
        "eval_plan": object(json!({"name": text(), "steps": list(text()), "config": texts()})),
        "eval_limits": object(json!({"time_limit": {"type": "integer"}, "message_limit": {"type": "integer"}, "token_limit": {"type": "integer"}})),
        "sandbox": object(json!({"type": text(), "config": text()})),
        "max_attempts": {"type": "integer"},
        "incorrect_attempt_feedback": text(),
    })));
    object(json!({"generation_args": args, "additional_details": texts()}))
}

/// A line of samples: of version 0.2.0 if it says so, else of 0.3.0.
pub(crate) fn eee_samples() -> Value {
    json!({
        "description": "One sample judged for one metric: what was said, and its score.",
        "type": "object",
        "if": {"required": ["schema_version"], "properties": {"schema_version": {"const": "instance_level_eval_0.2.0"}}},
        "then": sample(true),
        "else": closed(sample(false)),
    })
}

fn sample(is_old: bool) -> Value {
    let either = |old: Value, new: Value| if is_old { old } else { new };
    let messages = match is_old {
        true => "interactions",
        false => "messages",
    };
    let message = object(json!({
        "turn_idx*": whole(0),
        "role*": text(),
        "content": or_null(text()),
        "reasoning_trace": or_null(text()),
        "tool_calls": or_null(list(object(json!({
            "id*": text(),
            "name*": text(),
            "arguments": either(json!({"type": "object"}), or_null(texts())),
        })))),
        "tool_call_id": either(json!({"anyOf": [text(), list(text())]}), or_null(list(text()))),
    }));
    let optional = |schema: Value| either(schema.clone(), or_null(schema));
    let count = || or_null(whole(0));
    let time = || or_null(json!({"type": "number", "minimum": 0}));
    let mut performance = object(json!({
        "latency_ms": time(),
        "time_to_first_token_ms": time(),
        "generation_time_ms": time(),
    }));
    if !is_old {
        performance["properties"]["additional_details"] = or_null(texts());
    }
    let mut schema = object(json!({
        "schema_version*": text(),
        "evaluation_id*": text(),
        "model_id*": text(),
        "evaluation_name*": text(),
        "sample_id*": either(json!({"type": ["string", "integer"]}), text()),
        "sample_hash": optional(text()),
        "interaction_type*": words(&["single_turn", "multi_turn", "agentic"]),
        "input*": object(json!({
            "raw*": text(),
            "formatted": optional(text()),
            "reference*": either(text(), list(text())),
            "choices": optional(list(text())),
        })),
        "output": or_null(object(json!({
            "raw*": either(text(), list(text())),
            "reasoning_trace": or_null(either(text(), list(text()))),
        }))),
        "answer_attribution*": list(object(json!({
            "turn_idx*": whole(0),
            "source*": text(),
            "extracted_value*": text(),
            "extraction_method*": text(),
            "is_terminal*": flag(),
        }))),
        "evaluation*": object(json!({
            "score*": either(json!({"type": ["number", "boolean"]}), number()),
            "is_correct*": flag(),
            "num_turns": optional(whole(1)),
            "tool_calls_count": optional(whole(0)),
        })),
        "token_usage": or_null(object(json!({
            "input_tokens*": whole(0),
            "output_tokens*": whole(0),
            "total_tokens*": whole(0),
            "input_tokens_cache_write": count(),
            "input_tokens_cache_read": count(),
            "reasoning_tokens": count(),
        }))),
        "performance": or_null(performance),
        "error": or_null(text()),
        "metadata": either(json!({"type": "object"}), or_null(texts())),
    }));
    schema["properties"][messages] = or_null(list(message));
    if !is_old {
        schema["properties"]["evaluation_result_id"] = text();
    }
    let is = |kinds: &[&str]| json!({"properties": {"interaction_type": {"enum": kinds}}});
    schema["allOf"] = json!([
        {
            "if": is(&["single_turn"]),
            "then": {"required": ["output"], "properties": {"output": {"type": "object"}, (messages): {"type": "null"}}},
        },
        {
            "if": is(&["multi_turn", "agentic"]),
            "then": {"required": [messages], "properties": {"output": {"type": "null"}, (messages): {"type": "array"}}},
        },
    ]);
    schema
}
