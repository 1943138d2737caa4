//! The header of a log: the facts about the whole evaluation.

use schema::{Extra, Metric};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ids, message::target_name, provider::Named, results::Sums, settings::generate_config};
use crate::{Judge, Run};

/// Version of the log format: Inspect's own.
const VERSION: u8 = 2;

/// The header of a log: everything but its samples and reductions. The order of the keys is part of the format.
#[derive(Serialize)]
pub(super) struct Header {
    version: u8,
    status: &'static str,
    eval: Value,
    plan: Value,
    results: Value,
    stats: Value,
    invalidated: bool,
    tags: Vec<String>,
    metadata: Value,
}

/// The contents of `_journal/start.json`.
#[derive(Serialize)]
pub(super) struct Start<'a> {
    version: u8,
    eval: &'a Value,
    plan: &'a Value,
}

impl Header {
    pub(super) fn of(run: &Run, sums: &Sums) -> Self {
        let tags = tags(run);
        let metadata = metadata(run);
        Self {
            version: VERSION,
            status: status(run.outcome.as_deref()),
            eval: eval(run, sums, &tags, &metadata),
            plan: plan(run),
            results: sums.results(run),
            stats: json!({
                "started_at": run.started.or(sums.started).map(ids::time).unwrap_or_default(),
                "completed_at": run.ended.or(sums.ended).map(ids::time).unwrap_or_default(),
                "model_usage": sums.used.by_model,
                "role_usage": sums.used.by_role,
            }),
            invalidated: false,
            tags,
            metadata,
        }
    }

    pub(super) fn start(&self) -> Start<'_> {
        Start {
            version: self.version,
            eval: &self.eval,
            plan: &self.plan,
        }
    }
}

/// How the evaluation ended. Failed rows have their own errors and do not end it.
fn status(outcome: Option<&str>) -> &'static str {
    match outcome {
        None | Some("complete" | "failed_rows") => "success",
        Some("interrupted") => "cancelled",
        // The run has not ended.
        Some(_) => "started",
    }
}

/// The user's own name for the target, if it differs from the model's name: two targets may be one model with different
/// settings.
fn tags(run: &Run) -> Vec<String> {
    let id = run.target.id.as_str();
    if id == target_name(run) {
        return Vec::new();
    }
    vec![format!("target:{id}")]
}

fn eval(run: &Run, sums: &Sums, tags: &[String], metadata: &Value) -> Value {
    let benchmark = &run.benchmark;
    let name = if benchmark.name.is_empty() {
        &run.folder
    } else {
        &benchmark.name
    };
    let version = benchmark.version.as_deref();
    let sample_ids = sums.sample_ids();
    let model = Named::target(run);
    let mut config = json!({"epochs": sums.epochs, "fail_on_error": false, "log_samples": true});
    if sums.epochs > 1 {
        set(&mut config, "epochs_reducer", json!(["mean"]));
    }
    let mut eval = json!({
        "eval_id": ids::eval_id(run),
        "run_id": ids::run_key(run),
        "created": ids::time(run.time),
        "task": run.folder,
        "task_id": ids::task_id(run),
        "task_version": version.map_or(Value::from(0), Value::from),
        "task_display_name": name,
        "task_description": benchmark.description.trim(),
        "task_args": {},
        "dataset": {
            "name": run.benchmark_uid(),
            "samples": sample_ids.len(),
            "sample_ids": sample_ids,
            "shuffled": false,
        },
        "model": model.name,
        "model_generate_config": generate_config(&run.settings),
        "model_base_url": model.base_url,
        "model_args": model.args,
        "config": config,
        "tags": tags,
        "packages": packages(run),
        "metadata": metadata,
        "scorers": sums.scorers().map(|name| scorer(run, name)).collect::<Vec<_>>(),
    });
    if let Some(roles) = roles(run) {
        set(&mut eval, "model_roles", roles);
    }
    if let Some(commit) = &run.revision {
        let revision = json!({"type": "git", "origin": "", "commit": commit});
        set(&mut eval, "revision", revision);
    }
    eval
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn packages(run: &Run) -> Value {
    let version = run.probity_version.as_deref();
    version.map_or_else(|| json!({}), |version| json!({"probity": version}))
}

/// The models that simulated the user, simulated tools, and judged. Several judges form a list.
fn roles(run: &Run) -> Option<Value> {
    let mut roles = Map::new();
    for (role, played_by) in [("user", Named::user(run)), ("tool", Named::tool(run))] {
        if let Some(played_by) = played_by {
            roles.insert(role.to_owned(), model(&played_by, &Extra::new()));
        }
    }
    let mut judges: Vec<Value> = run
        .judges
        .iter()
        .map(|judge| model(&Named::judge(run, judge), &judge.settings))
        .collect();
    match judges.len() {
        0 => {}
        1 => {
            roles.insert("grader".to_owned(), judges.swap_remove(0));
        }
        _ => {
            roles.insert("grader".to_owned(), Value::Array(judges));
        }
    }
    (!roles.is_empty()).then_some(Value::Object(roles))
}

fn model(named: &Named, settings: &Extra) -> Value {
    json!({
        "model": named.name,
        "config": generate_config(settings),
        "base_url": named.base_url,
        "args": named.args,
    })
}

/// One metric of the benchmark as a scorer.
fn scorer(run: &Run, name: &str) -> Value {
    let judges: Vec<&str> = run.judges.iter().map(|judge| judge.id.as_str()).collect();
    let metadata = run.benchmark.metric(name).map(describe);
    json!({
        "name": name,
        "options": {"judges": judges},
        "metrics": [{"name": "pass_rate", "options": {}}, {"name": "stderr", "options": {}}],
        "metadata": metadata.unwrap_or_else(|| json!({})),
    })
}

fn describe(metric: &Metric) -> Value {
    let mut described = json!({
        "name": metric.name,
        "type": metric.metric_type,
        "definition": metric.definition,
        "examples": metric.examples,
    });
    if !metric.counterexamples.is_empty() {
        set(
            &mut described,
            "counterexamples",
            json!(metric.counterexamples),
        );
    }
    described
}

/// The conversation as Inspect's only solver.
fn plan(run: &Run) -> Value {
    let mut params = json!({});
    if let Some(turns) = run.turns {
        set(&mut params, "turns", turns.into());
    }
    if let Some(user) = &run.user_model {
        set(&mut params, "user_model", user.id.as_str().into());
    }
    json!({
        "name": "plan",
        "steps": [{"solver": "conversation", "params": params, "params_passed": params}],
        "config": {},
    })
}

/// Known facts about the run without a field of their own in the format.
fn metadata(run: &Run) -> Value {
    let mut metadata = json!({
        "benchmark": run.benchmark_uid(),
        "target_id": run.target.id,
        "target_model": run.target.model,
    });
    let texts = [
        ("locale", &run.benchmark.locale),
        ("outcome", &run.outcome),
        ("probity_version", &run.probity_version),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            set(&mut metadata, key, value.as_str().into());
        }
    }
    if !run.benchmark.tools.is_empty() {
        set(&mut metadata, "tools", json!(run.benchmark.tools));
    }
    if let Some(world) = &run.benchmark.world_state {
        set(&mut metadata, "world_state", world.as_str().into());
    }
    if !run.judges.is_empty() {
        let judges = run.judges.iter().map(judge).collect();
        set(&mut metadata, "judges", judges);
    }
    if !run.fingerprints.is_empty() {
        let prints = Value::Object(run.fingerprints.clone());
        set(&mut metadata, "fingerprints", prints);
    }
    if !run.findings.is_empty() {
        set(&mut metadata, "findings", json!(run.findings));
    }
    metadata
}

fn judge(judge: &Judge) -> Value {
    let prompt: Vec<Value> = judge
        .prompt
        .iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    json!({"id": judge.id, "model": judge.model, "prompt": prompt})
}
