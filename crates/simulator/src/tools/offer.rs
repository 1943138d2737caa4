//! The tools of one conversation.

use std::sync::Arc;

use schema::{CallContext, ToolCall, ToolSpec, reply::excerpt};

use super::{AnsweredCall, ToolFailed, ToolReply, ToolRequest, toolbox::Entry};

/// The tools that the target can call in one conversation, and the world they act in.
pub(crate) struct Offer {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) world_state: Arc<str>,
}

impl Offer {
    /// The definitions sent to the target.
    pub(crate) fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Answers a call. The answer says what is wrong with it.
    pub(crate) async fn answer(
        &self,
        call: &ToolCall,
        earlier: &[AnsweredCall],
        context: &CallContext,
    ) -> Result<ToolReply, ToolFailed> {
        let Some(entry) = self
            .entries
            .iter()
            .find(|entry| entry.spec.name == call.name)
        else {
            return Ok(ToolReply::error(self.unknown(&call.name)));
        };
        let arguments = match call.object() {
            Ok(arguments) => arguments,
            Err(reason) => {
                let written = excerpt(&call.arguments);
                return Ok(ToolReply::error(format!(
                    "{reason}. They must be one JSON object; they were: {written}"
                )));
            }
        };
        if let Some(reason) = entry.validator.misfits(&arguments) {
            return Ok(ToolReply::error(reason));
        }
        let request = ToolRequest {
            tool: &entry.spec,
            arguments: &arguments,
            world_state: &self.world_state,
            earlier,
            context,
        };
        entry.answerer.answer(&request).await
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self
            .entries
            .iter()
            .map(|entry| entry.spec.name.as_str())
            .collect();
        format!(
            "there is no tool {:?}. The tools are: {}",
            excerpt(name),
            names.join(", ")
        )
    }
}
