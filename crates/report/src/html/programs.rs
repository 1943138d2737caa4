//! Programs in the place of models, as the records of a run describe them.

use interop::Run;
use schema::setting_keys::{EVALUATOR, SIMULATOR};
use serde_json::Value;

use super::summary::fingerprint;

/// Whether a judge got a prompt: not all are programs.
pub(super) fn has_prompt(run: &Run) -> bool {
    let programs = judge_programs(run).map_or(0, serde_json::Map::len);
    programs == 0 || programs < run.judges.len()
}

fn judge_programs(run: &Run) -> Option<&serde_json::Map<String, Value>> {
    fingerprint(run, EVALUATOR)?["settings"]["programs"].as_object()
}

/// A sentence for each judge that is a program.
pub(super) fn judges(run: &Run) -> Vec<String> {
    let programs = judge_programs(run).into_iter().flatten();
    programs
        .map(|(id, program)| {
            let mut text = format!("{id} is {}", described(program));
            let wants = texts(&program["wants"]);
            if !wants.is_empty() {
                text.push_str(&format!(
                    "; beyond the transcript and the metric it sees {}",
                    wants.join(", ")
                ));
            }
            text
        })
        .collect()
}

/// The simulated user, if it is a program.
pub(super) fn user(run: &Run) -> Option<String> {
    let program = &fingerprint(run, SIMULATOR)?["settings"]["program"];
    program.is_object().then(|| described(program))
}

/// `a program (votes, version 1) that asked gpt-4.1 through the run`.
fn described(program: &Value) -> String {
    let name = program["name"].as_str().unwrap_or("unnamed");
    // A hash of files is long, and its beginning names it.
    let version = match program["version"].as_str() {
        None => String::new(),
        Some(hash) if hash.len() == 64 => format!(", version {}", hash.get(..12).unwrap_or(hash)),
        Some(own) => format!(", version {own}"),
    };
    let calls = program["calls"].as_object().into_iter().flatten();
    let models: Vec<&str> = calls
        .filter_map(|(_, model)| model["model"].as_str())
        .collect();
    let asked = match models.is_empty() {
        true => String::new(),
        false => format!(" that asked {} through the run", models.join(", ")),
    };
    format!("a program ({name}{version}){asked}")
}

fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}
