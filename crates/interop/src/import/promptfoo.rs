//! Results of promptfoo: `promptfoo eval -o results.json` or `.jsonl`.
//!
//! A row is one prompt of one provider on one test. Repetitions of a test have the same variables, and count up in the order of the file.

use std::{
    collections::{BTreeMap, HashMap},
    io::BufReader,
    ops::ControlFlow,
    path::Path,
};

use schema::{Extra, Role, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Found, ImportError, Recorded, SourceFile, Take,
    clean::Clean,
    file_name,
    inspect::split_system,
    json_lines::JsonLines,
    messages,
    text::{json_text, known},
};

/// `failureReason` of a row whose call failed. A row that an assertion failed has its text as `error` too, which is not an error.
const CALL_FAILED: u64 = 2;

/// A file in JSON.
#[derive(Debug, Deserialize)]
struct Output {
    #[serde(rename = "evalId", default)]
    eval_id: Option<String>,
    results: Results,
    #[serde(default)]
    config: Config,
}

#[derive(Debug, Deserialize)]
struct Results {
    results: Vec<Row>,
}

#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    description: Option<String>,
}

/// One result.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    #[serde(default)]
    id: Option<String>,
    provider: RowProvider,
    #[serde(default)]
    prompt: Prompt,
    #[serde(default)]
    vars: Extra,
    #[serde(default)]
    test_case: TestCase,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    grading_result: Option<Grading>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    failure_reason: Option<u64>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    metadata: Option<Extra>,
}

#[derive(Debug, Deserialize)]
struct RowProvider {
    #[serde(default)]
    id: String,
    #[serde(default)]
    label: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Prompt {
    #[serde(default)]
    raw: String,
    #[serde(default)]
    label: String,
}

#[derive(Debug, Default, Deserialize)]
struct TestCase {
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Response {
    #[serde(default)]
    output: Value,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    metadata: Option<Extra>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Grading {
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    component_results: Option<Vec<Component>>,
}

#[derive(Debug, Deserialize)]
struct Component {
    pass: bool,
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    assertion: Option<Assertion>,
}

#[derive(Debug, Deserialize)]
struct Assertion {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    metric: Option<String>,
}

/// Whether the first line of a file looks like a result.
pub(super) fn looks_like_rows(line: &[u8]) -> bool {
    let row: Result<Value, _> = serde_json::from_slice(line);
    row.is_ok_and(|row| row.get("testIdx").is_some() && row.get("provider").is_some())
}

/// The facts about the file at `path` as a whole.
pub(super) fn source(path: &Path) -> Result<SourceFile, ImportError> {
    let rows = Rows::read(path)?;
    let first = rows
        .rows
        .first()
        .ok_or_else(|| ImportError::unusable(path.display(), "no results"))?;
    let mut notes = Vec::new();
    if rows.prompts.len() > 1 {
        let listed: Vec<String> = (1..)
            .zip(&rows.prompt_labels)
            .map(|(number, label)| format!("prompt {number} is {label:?}"))
            .collect();
        notes.push(format!(
            "{}: several prompts, so each prompt of a provider is a target: {}",
            file_name(path),
            listed.join("; ")
        ));
    }
    Ok(SourceFile {
        file: file_name(path),
        id: rows.id.clone(),
        task: match &rows.description {
            Some(description) => description.clone(),
            None => path
                .file_stem()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
        },
        description: rows.description.clone().unwrap_or_default(),
        model: rows.model(first),
        notes,
        ..SourceFile::default()
    })
}

/// Passes the conversations of the file to `take`. Returns the number of replaced halves of surrogate pairs.
pub(super) fn read(path: &Path, take: &mut Take<'_>) -> Result<u64, ImportError> {
    let rows = Rows::read(path)?;
    let mut repetitions: HashMap<(String, [u8; 32]), u32> = HashMap::new();
    let mut numbers: HashMap<[u8; 32], usize> = HashMap::new();
    let replaced = rows.replaced;
    let names: Vec<String> = rows.rows.iter().map(|row| rows.model(row)).collect();
    for (row, model) in rows.rows.into_iter().zip(names) {
        let question = row.question();
        let next = numbers.len() + 1;
        let number = *numbers.entry(question).or_insert(next);
        let repetition = repetitions.entry((model.clone(), question)).or_default();
        let recorded = Recorded {
            sample_id: format!("test {number}"),
            question: Some(question),
            repetition: *repetition,
            model: Some(model),
            ..row.recorded().map_err(|what| {
                ImportError::unusable(format!("{}: test {number}", path.display()), what)
            })?
        };
        *repetition = repetition.saturating_add(1);
        if take(Found::Conversation(Box::new(recorded))) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(replaced)
}

/// All rows of a file.
struct Rows {
    id: String,
    description: Option<String>,
    rows: Vec<Row>,
    /// The numbers of the prompts, from 1.
    prompts: BTreeMap<String, usize>,
    prompt_labels: Vec<String>,
    replaced: u64,
}

impl Rows {
    fn read(path: &Path) -> Result<Self, ImportError> {
        let is_lines = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        let mut all = Self {
            id: String::new(),
            description: None,
            rows: Vec::new(),
            prompts: BTreeMap::new(),
            prompt_labels: Vec::new(),
            replaced: 0,
        };
        if is_lines {
            let mut lines = JsonLines::open(path)?;
            while let Some((_, row)) = lines.next_row()? {
                all.rows.push(row);
            }
            all.replaced = lines.replaced();
        } else {
            let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
            let mut clean = Clean::new(file);
            let output: Output = serde_json::from_reader(BufReader::new(&mut clean))
                .map_err(|error| ImportError::json(path.display(), &error))?;
            all.replaced = clean.replaced();
            all.id = output.eval_id.unwrap_or_default();
            all.description = output.config.description;
            all.rows = output.results.results;
        }
        for row in &all.rows {
            if !all.prompts.contains_key(&row.prompt.label) {
                let number = all.prompts.len() + 1;
                all.prompts.insert(row.prompt.label.clone(), number);
                all.prompt_labels.push(row.prompt.label.clone());
            }
        }
        Ok(all)
    }

    /// The name of what is measured: the provider, with the prompt where there are several.
    fn model(&self, row: &Row) -> String {
        let label = row.provider.label.as_deref();
        let provider = label
            .filter(|label| !label.is_empty())
            .unwrap_or(&row.provider.id);
        match self.prompts.get(&row.prompt.label) {
            Some(number) if self.prompts.len() > 1 => format!("{provider} prompt {number}"),
            _ => provider.to_owned(),
        }
    }
}

impl Row {
    /// A hash of the test: its variables and its description. The rendered prompt differs from prompt to prompt.
    fn question(&self) -> [u8; 32] {
        let mut vars: Vec<(&String, &Value)> = self.vars.iter().collect();
        vars.sort_by(|a, b| a.0.cmp(b.0));
        let mut hash = Sha256::new();
        hash.update(json!([self.test_case.description, vars]).to_string());
        if self.vars.is_empty() && self.test_case.description.is_none() {
            hash.update(&self.prompt.raw);
        }
        hash.finalize().into()
    }

    fn recorded(self) -> Result<Recorded, String> {
        let response = self.response.as_ref();
        let conversation =
            response.and_then(|response| response.metadata.as_ref()?.get("messages"));
        let (mut turns, not_text) = match conversation.filter(|messages| messages.is_array()) {
            Some(messages) => messages::turns(messages)?,
            None => prompt(&self.prompt.raw)?,
        };
        let output = response.map_or(&Value::Null, |response| &response.output);
        if conversation.is_none() && !output.is_null() {
            turns.push(Turn::new(Role::Assistant, text(output)));
        }
        let (system_prompt, transcript) = split_system(turns);
        let failed = self.failure_reason == Some(CALL_FAILED);
        let error = response
            .and_then(|response| response.error.clone())
            .or_else(|| self.error.clone().filter(|_| failed));
        let mut metadata = self.metadata.clone().unwrap_or_default();
        metadata.retain(|key, _| !key.starts_with('_'));
        if let Some(description) = &self.test_case.description {
            metadata.insert("title".to_owned(), description.as_str().into());
        }
        for (name, value) in &self.vars {
            metadata
                .entry(name.clone())
                .or_insert_with(|| value.clone());
        }
        let mut recorded = Recorded {
            uuid: self.id.clone(),
            system_prompt,
            transcript,
            error,
            scores: self.scores(),
            metadata,
            not_text,
            ..Recorded::default()
        };
        recorded.check();
        Ok(recorded)
    }

    /// The scores: `pass` of the whole row, then each assertion by its metric or its type. Further ones of a name are numbered.
    fn scores(&self) -> Vec<Value> {
        let mut scores = Vec::new();
        let mut add =
            |name: &str, pass: Option<bool>, score: Option<f64>, reason: &Option<String>| {
                let score =
                    json!({"name": name, "value": pass, "score": score, "explanation": reason});
                if let Value::Object(score) = score {
                    scores.push(Value::Object(known(score, &[])));
                }
            };
        let grading = self.grading_result.as_ref();
        let reason = grading.and_then(|grading| grading.reason.clone());
        if self.failure_reason != Some(CALL_FAILED) {
            add("pass", self.success, self.score, &reason);
        }
        let mut names: HashMap<&str, u32> = HashMap::new();
        let components = grading.and_then(|grading| grading.component_results.as_ref());
        for component in components.into_iter().flatten() {
            let Some(assertion) = &component.assertion else {
                continue;
            };
            let name = assertion.metric.as_deref().unwrap_or(&assertion.kind);
            let count = names.entry(name).or_default();
            *count += 1;
            match *count {
                1 => add(
                    name,
                    Some(component.pass),
                    component.score,
                    &component.reason,
                ),
                n => add(
                    &format!("{name} ({n})"),
                    Some(component.pass),
                    component.score,
                    &component.reason,
                ),
            }
        }
        scores
    }
}

/// The messages of a rendered prompt: a list of messages in JSON, or one message of the user.
fn prompt(raw: &str) -> Result<(Vec<Turn>, Vec<&'static str>), String> {
    let parsed: Option<Value> = serde_json::from_str(raw).ok();
    let is_chat = |value: &Value| {
        let list = value.as_array();
        list.is_some_and(|list| !list.is_empty() && list.iter().all(|m| m.get("role").is_some()))
    };
    match parsed.filter(is_chat) {
        Some(messages) => messages::turns(&messages),
        None if raw.is_empty() => Ok((Vec::new(), Vec::new())),
        None => Ok((vec![Turn::new(Role::User, raw)], Vec::new())),
    }
}

fn text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => json_text(other),
    }
}
