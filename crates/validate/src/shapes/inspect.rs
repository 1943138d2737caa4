//! The header of a log of Inspect: what readers of logs rely on.

use serde_json::{Value, json};

/// `header.json` of a log, or a log in one JSON file without its samples.
pub(crate) fn inspect_log() -> Value {
    json!({
        "description": "What was evaluated, how it ended, and its results.",
        "type": "object",
        "required": ["version", "eval"],
        "properties": {
            "version": {"const": 2},
            "status": {"enum": ["started", "success", "cancelled", "error"]},
            "eval": {
                "type": "object",
                "required": ["task"],
                "properties": {
                    "task": {"type": "string"},
                    "model": {"type": ["string", "null"]},
                    "created": {"type": "string"},
                    "dataset": {"type": ["object", "null"]},
                    "config": {"type": ["object", "null"]},
                },
            },
            "results": {
                "type": ["object", "null"],
                "properties": {
                    "total_samples": {"type": "integer", "minimum": 0},
                    "completed_samples": {"type": "integer", "minimum": 0},
                    "scores": {
                        "type": ["array", "null"],
                        "items": {
                            "type": "object",
                            "required": ["name", "scorer"],
                            "properties": {
                                "name": {"type": "string"},
                                "scorer": {"type": "string"},
                                "metrics": {"type": "object"},
                            },
                        },
                    },
                },
            },
        },
    })
}
