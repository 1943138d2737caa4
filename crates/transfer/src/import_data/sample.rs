//! A row of a data set as the messages of a conversation.

use schema::{Extra, text::is_blank};
use serde_json::Value;

/// The columns that the user names.
pub(super) struct Columns {
    pub(super) prompt: Option<String>,
    pub(super) system: Option<String>,
    /// What the simulated user wants, in the place of a prompt.
    pub(super) goal: Option<String>,
}

/// A row.
pub(super) struct Sample {
    /// The messages of the user, none blank. Empty only with a goal.
    pub(super) turns: Vec<String>,
    pub(super) goal: Option<String>,
    pub(super) system: Option<String>,
    pub(super) persona: String,
    /// The other columns.
    pub(super) extra: Extra,
    /// The replies in the row, which are not sent.
    pub(super) replies: u64,
}

/// The names by which the prompt is recognised, the first of which counts.
const PROMPT: [&str; 9] = [
    "turns",
    "messages",
    "conversation",
    "prompt",
    "question",
    "input",
    "instruction",
    "goal",
    "text",
];
const SYSTEM: [&str; 2] = ["system_prompt", "system"];

/// The keys of scenarios that mean something else than a column of the same name may.
const TAKEN: [&str; 12] = [
    "id",
    "metric_id",
    "metric_name",
    "metric_type",
    "user_persona",
    "user_goal",
    "latent_adversarial_goal",
    "landmarks",
    "then_simulated",
    "demographic",
    "tools",
    "world_state",
];

/// The sample of a row.
///
/// # Errors
/// Why it has no message to send.
pub(super) fn of(mut row: Extra, columns: &Columns) -> Result<Sample, String> {
    row.retain(|_, value| !value.is_null());
    let goal = goal(&mut row, columns)?;
    let mut said = match (&goal, &columns.prompt) {
        (Some(_), None) => Said::default(),
        _ => {
            let prompt = prompt_column(&row, columns)?;
            let value = row.shift_remove(&prompt).unwrap_or_default();
            Said::of(value).map_err(|why| format!("column {prompt:?}: {why}"))?
        }
    };
    let system = match &columns.system {
        Some(name) => row.shift_remove(name),
        None => SYSTEM.iter().find_map(|name| row.shift_remove(*name)),
    };
    let own = system.as_ref().and_then(Value::as_str).map(str::to_owned);
    let persona = match row.get("persona") {
        Some(Value::String(persona)) => persona.clone(),
        _ => String::new(),
    };
    row.shift_remove("persona");
    let mut extra = Extra::new();
    for (key, value) in row {
        let key = match key.as_str() {
            "id" => "sample_id".to_owned(),
            taken if TAKEN.contains(&taken) => format!("data_{taken}"),
            _ => key,
        };
        extra.insert(key, value);
    }
    if let Some(reference) = said.reference.take() {
        extra.entry("reference").or_insert_with(|| reference.into());
    }
    let has_none = said.turns.is_empty() && goal.is_none();
    if has_none || said.turns.iter().any(|text| is_blank(text)) {
        return Err("a message of the user is blank, or there is none".to_owned());
    }
    Ok(Sample {
        turns: said.turns,
        goal,
        system: own.or(said.system).filter(|text| !is_blank(text)),
        persona,
        extra,
        replies: said.replies,
    })
}

/// What the simulated user wants, by the column that has it.
fn goal(row: &mut Extra, columns: &Columns) -> Result<Option<String>, String> {
    let Some(name) = &columns.goal else {
        return Ok(None);
    };
    match row.shift_remove(name) {
        Some(Value::String(text)) if !is_blank(&text) => Ok(Some(text)),
        Some(_) => Err(format!("column {name:?}: expected a text")),
        None => Err(format!("no column {name:?}")),
    }
}

/// The column of the prompt in a row.
fn prompt_column(row: &Extra, columns: &Columns) -> Result<String, String> {
    if let Some(name) = &columns.prompt {
        return match row.contains_key(name) {
            true => Ok(name.clone()),
            false => Err(format!("no column {name:?}")),
        };
    }
    let known = PROMPT.iter().find(|name| row.contains_key(**name));
    known
        .map(|name| (*name).to_owned())
        .ok_or_else(|| format!("no column of a prompt ({})", PROMPT.join(", ")))
}

/// What is said in a prompt: a text, a list of texts, or messages as in the chat completions API.
#[derive(Default)]
struct Said {
    turns: Vec<String>,
    system: Option<String>,
    /// The reply behind the last message of the user.
    reference: Option<String>,
    replies: u64,
}

impl Said {
    fn of(value: Value) -> Result<Self, String> {
        let list = match value {
            Value::Array(list) => list,
            Value::String(text) if text.trim_start().starts_with("[{") => {
                match serde_json::from_str(&text) {
                    Ok(Value::Array(list)) => list,
                    _ => return Ok(Self::one(text)),
                }
            }
            Value::String(text) => return Ok(Self::one(text)),
            Value::Number(number) => return Ok(Self::one(number.to_string())),
            _ => return Err("expected a text, or a list of texts or messages".to_owned()),
        };
        let mut said = Self::default();
        for message in list {
            said.add(message)?;
        }
        Ok(said)
    }

    fn one(text: String) -> Self {
        Self {
            turns: vec![text],
            ..Self::default()
        }
    }

    fn add(&mut self, message: Value) -> Result<(), String> {
        if let Value::String(text) = message {
            self.turns.push(text);
            return Ok(());
        }
        let either = |keys: [&str; 2]| keys.iter().find_map(|key| message.get(*key)?.as_str());
        let role = either(["role", "from"]);
        let content = either(["content", "value"]);
        let text = content
            .ok_or("a message has no text as its content")?
            .to_owned();
        match role.unwrap_or_default().to_lowercase().as_str() {
            "user" | "human" => {
                self.reference = None;
                self.turns.push(text);
            }
            "system" | "developer" => self.system = Some(text),
            "assistant" | "model" | "ai" | "gpt" => {
                self.replies += 1;
                self.reference = Some(text);
            }
            role => {
                return Err(format!(
                    "a message has the role {role:?}, which cannot be sent"
                ));
            }
        }
        Ok(())
    }
}
