//! The tools of a benchmark, and those of one conversation.

use std::{fmt, sync::Arc};

use schema::{
    CallContext, ChatModel, PhaseError, PhaseErrorKind, Scenario, Tool, ToolCall, ToolSpec,
    reply::excerpt, text::is_blank,
};
use serde_json::{Value, json};
use tool_schema::{ArgumentValidator, check_tool};

use super::{
    AnsweredCall, ProgramTools, ToolAnswerer, ToolFailed, ToolReply, ToolRequest,
    answerer::{AnswerTable, FixedAnswer, hash},
};

/// The tools that a target may call, each with its compiled schema and its answerer. Clones share them.
///
/// ```
/// use std::sync::Arc;
/// use schema::{ChatModel, Tool};
/// use simulator::tools::{SimulatedTools, Toolbox};
///
/// # fn made(model: Arc<dyn ChatModel>) -> Result<(), Box<dyn std::error::Error>> {
/// let tool: Tool = serde_json::from_str(r#"{"name": "get_rate", "answer": {"rate": 1.1}}"#)?;
/// let toolbox = Toolbox::new(&[tool], Arc::new(SimulatedTools::new(model)?))?.with_world_state(Some("It is Monday."));
/// assert_eq!(toolbox.names().collect::<Vec<_>>(), ["get_rate"]);
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Toolbox {
    entries: Vec<Arc<Entry>>,
    world_state: Option<Arc<str>>,
    /// All tools, for scenarios that do not restrict them.
    specs: Arc<[ToolSpec]>,
}

/// A tool.
struct Entry {
    spec: ToolSpec,
    validator: ArgumentValidator,
    answerer: Arc<dyn ToolAnswerer>,
    /// Whether it is no tool of the benchmark, so that no scenario can name it.
    is_brought: bool,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Toolbox {
    /// The tools of a benchmark. Those with `simulated: true` are answered by `simulated`.
    ///
    /// # Errors
    /// `BadInput` when a name is duplicated or [`check_tool`] refuses a tool. The text names the tool.
    pub fn new(tools: &[Tool], simulated: Arc<dyn ToolAnswerer>) -> Result<Self, PhaseError> {
        let mut toolbox = Self::default();
        for tool in tools {
            check_tool(tool).map_err(|error| refused(&tool.name, error.reason))?;
            if toolbox.names().any(|name| name == tool.name) {
                return Err(refused(&tool.name, "duplicate name"));
            }
            let answerer: Arc<dyn ToolAnswerer> = match (&tool.answer, tool.simulated) {
                (Some(answer), _) => Arc::new(FixedAnswer(answer.clone())),
                (None, true) => Arc::clone(&simulated),
                (None, false) => Arc::new(AnswerTable(tool.answers.clone())),
            };
            toolbox = toolbox.with(tool.spec(), answerer)?;
        }
        Ok(toolbox)
    }

    /// Adds a tool, or replaces the description and the answerer of the tool with this name.
    ///
    /// # Errors
    /// `BadInput` when the parameters are not a JSON schema of an object.
    pub fn with(
        mut self,
        spec: ToolSpec,
        answerer: Arc<dyn ToolAnswerer>,
    ) -> Result<Self, PhaseError> {
        let validator = ArgumentValidator::new(&spec.parameters)
            .map_err(|error| refused(&spec.name, error.reason))?;
        let entry = Arc::new(Entry {
            spec,
            validator,
            answerer,
            is_brought: false,
        });
        let known = |known: &&mut Arc<Entry>| known.spec.name == entry.spec.name;
        match self.entries.iter_mut().find(known) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
        self.specs = specs(&self.entries);
        Ok(self)
    }

    /// Adds the tools that `program` brings. They are offered in every scenario but those without tools.
    ///
    /// # Errors
    /// `BadInput` when one has the name of another tool, or its parameters are no JSON schema.
    pub fn with_program(mut self, program: Arc<dyn ChatModel>) -> Result<Self, PhaseError> {
        let of = program.id().to_string();
        let brought = program.phase_program().map(|program| program.tools);
        let answerer: Arc<dyn ToolAnswerer> = Arc::new(ProgramTools::new(program));
        for spec in brought.iter().flat_map(|tools| tools.iter()) {
            if self.names().any(|name| name == spec.name) {
                let reason = format!("{of} brings a tool with the name of another one");
                return Err(refused(&spec.name, reason));
            }
            let validator = ArgumentValidator::new(&spec.parameters)
                .map_err(|error| refused(&spec.name, format!("{of}: {}", error.reason)))?;
            self.entries.push(Arc::new(Entry {
                spec: spec.clone(),
                validator,
                answerer: Arc::clone(&answerer),
                is_brought: true,
            }));
        }
        self.specs = specs(&self.entries);
        Ok(self)
    }

    /// Sets the state of the world for simulated tools. A scenario's own `world_state` takes precedence. Blank counts
    /// as absent.
    #[must_use]
    pub fn with_world_state(mut self, world_state: Option<&str>) -> Self {
        self.world_state = not_blank(world_state).map(Arc::from);
        self
    }

    /// The names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.spec.name.as_str())
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tools that a scenario offers, in the toolbox's order.
    pub(crate) fn offer(&self, scenario: &Scenario) -> Result<Offer, PhaseError> {
        let world_state = match not_blank(scenario.world_state.as_deref()) {
            Some(own) => own.into(),
            None => self.world_state.clone().unwrap_or_default(),
        };
        let Some(names) = &scenario.tools else {
            return Ok(Offer {
                entries: self.entries.clone(),
                specs: Arc::clone(&self.specs),
                world_state,
            });
        };
        if let Some(name) = names
            .iter()
            .find(|name| self.names().all(|known| known != *name))
        {
            return Err(PhaseError::new(
                PhaseErrorKind::BadInput,
                format!(
                    "scenario {:?} cannot be played: there is no tool {name:?}",
                    scenario.id
                ),
            ));
        }
        let wanted = |entry: &&Arc<Entry>| match entry.is_brought {
            true => !names.is_empty(),
            false => names.contains(&entry.spec.name),
        };
        let entries: Vec<_> = self.entries.iter().filter(wanted).cloned().collect();
        Ok(Offer {
            specs: specs(&entries),
            entries,
            world_state,
        })
    }

    /// The conversation of `context` has ended.
    pub(crate) async fn end(&self, context: &CallContext) {
        for entry in &self.entries {
            entry.answerer.end(context).await;
        }
    }

    /// What determines how tools are offered and answered.
    pub(crate) fn fingerprint(&self) -> Value {
        let tool = |entry: &Arc<Entry>| {
            json!({
                "name": entry.spec.name,
                "spec": hash(&json!(entry.spec)),
                "answered_by": entry.answerer.fingerprint(),
            })
        };
        let world_state = self.world_state.as_deref().map(|text| hash(&json!(text)));
        json!({
            "offered": self.entries.iter().map(tool).collect::<Vec<_>>(),
            "world_state": world_state,
        })
    }
}

fn specs(entries: &[Arc<Entry>]) -> Arc<[ToolSpec]> {
    entries.iter().map(|entry| entry.spec.clone()).collect()
}

fn not_blank(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !is_blank(text))
}

fn refused(name: &str, reason: impl fmt::Display) -> PhaseError {
    PhaseError::new(PhaseErrorKind::BadInput, format!("tool {name:?}: {reason}"))
}

/// The tools that the target can call in one conversation, and the world they act in.
pub(crate) struct Offer {
    entries: Vec<Arc<Entry>>,
    specs: Arc<[ToolSpec]>,
    world_state: Arc<str>,
}

impl Offer {
    /// The definitions sent to the target.
    pub(crate) fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// Whether there are no tools.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Answers a call. If the call is wrong, the answer says why.
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
