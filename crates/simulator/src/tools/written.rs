//! Answers that are written down in the benchmark.

use std::sync::Arc;

use async_trait::async_trait;
use schema::{ToolAnswer, text::hex};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{ToolAnswerer, ToolFailed, ToolReply, ToolRequest};

/// The same answer to every call.
pub(super) struct FixedAnswer(pub(super) Value);

/// Answers by arguments.
pub(super) struct AnswerTable(pub(super) Vec<ToolAnswer>);

#[async_trait]
impl ToolAnswerer for FixedAnswer {
    async fn answer(&self, _request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        Ok(ToolReply::new(text(&self.0)))
    }

    fn fingerprint(&self) -> Value {
        json!({ "answer": hash(&self.0) })
    }
}

#[async_trait]
impl ToolAnswerer for AnswerTable {
    async fn answer(&self, request: &ToolRequest<'_>) -> Result<ToolReply, ToolFailed> {
        let fits = |row: &&ToolAnswer| row.fits(request.arguments);
        Ok(match self.0.iter().find(fits) {
            Some(row) => ToolReply::new(text(&row.answer)),
            None => ToolReply::error(format!(
                "{} has no answer to these arguments; check them, or do without it",
                request.tool.name
            )),
        })
    }

    fn fingerprint(&self) -> Value {
        json!({ "answers": hash(&json!(self.0)) })
    }
}

/// Text as it is, anything else as JSON.
fn text(answer: &Value) -> Arc<str> {
    match answer {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// The SHA-256 of a value, in hexadecimal, for fingerprints.
pub(super) fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string()))
}
