//! The aggregate file of a target, as JSON values: it is small, and written in one piece.

use schema::{
    Extra, Metric, MetricType, TargetRef, Tool, setting_keys,
    statistics::{RateStatistics, Statistics},
};
use serde_json::{Map, Value, json};

use super::{
    counts::{Count, Counts},
    names::{ModelName, texts},
};
use crate::{Judge, KnownSource, Run, run::Scope, words};

/// The path and contents of the instance file.
pub(super) struct Instances {
    pub(super) file_path: String,
    pub(super) checksum: String,
    pub(super) version: &'static str,
}

/// The input of the aggregate.
pub(super) struct Aggregate<'a> {
    pub(super) run: &'a Run,
    pub(super) name: &'a ModelName,
    pub(super) collection: &'a str,
    pub(super) evaluation_id: &'a str,
    pub(super) organization: &'a str,
    pub(super) system_prompt: Option<&'a str>,
    pub(super) answered_by: &'a [String],
    pub(super) counts: &'a Counts,
    pub(super) instances: Instances,
}

impl Aggregate<'_> {
    pub(super) fn to_json(&self) -> Value {
        let run = self.run;
        let mut value = json!({
            "schema_version": "0.3.0",
            "evaluation_id": self.evaluation_id,
            "evaluation_timestamp": timestamp(run),
            "retrieved_timestamp": run.time.as_second().to_string(),
            "source_metadata": {
                "source_name": "Probity",
                "source_type": "evaluation_run",
                "source_organization_name": self.organization,
                "evaluator_relationship": "other",
                "additional_details": self.source_details(),
            },
            "eval_library": {
                "name": "probity",
                "version": run.probity_version.as_deref().unwrap_or("unknown"),
                "additional_details": library_details(run),
            },
            "model_info": self.model_info(),
            "evaluation_results": self.results(),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": self.instances.file_path,
                "hash_algorithm": "sha256",
                "checksum": self.instances.checksum,
                "total_rows": self.counts.rows,
                "additional_details": {"schema_version": self.instances.version},
            },
        });
        prune(&mut value);
        value
    }

    fn source_details(&self) -> Value {
        let run = self.run;
        let mut details = known([
            ("run_id", run.run_id.clone()),
            ("outcome", run.outcome.clone()),
            ("ended", run.ended.map(|ended| ended.to_string())),
        ]);
        let findings: Vec<&str> = run
            .findings
            .iter()
            .map(|finding| finding.text.as_str())
            .collect();
        if !findings.is_empty() {
            details.insert("findings".into(), findings.join("; ").into());
        }
        details.insert(
            "conversations".into(),
            self.counts.conversations.to_string().into(),
        );
        details.insert(
            "conversations_not_judged".into(),
            self.counts.not_judged.to_string().into(),
        );
        Value::Object(details)
    }

    fn model_info(&self) -> Value {
        let details = [
            ("target_id", Some(self.run.target.id.to_string())),
            ("model_as_configured", Some(self.run.target.model.clone())),
            ("answered_by", Some(self.answered_by.join(", "))),
        ];
        model_info(
            self.name,
            self.run.target.id.as_str(),
            self.run.source.as_deref(),
            self.run.known_source,
            known(details),
        )
    }

    fn results(&self) -> Vec<Value> {
        let mut results: Vec<Value> = Vec::new();
        let listed: Vec<&str> = self
            .run
            .benchmark
            .metrics
            .iter()
            .map(|metric| metric.id.as_str())
            .filter(|id| self.counts.metrics.contains_key(*id))
            .collect();
        let others = self
            .counts
            .metrics
            .keys()
            .map(String::as_str)
            .filter(|id| !listed.contains(id));
        for id in listed.iter().copied().chain(others) {
            let Some(((metric_type, name), count)) = self.counts.metrics.get(id) else {
                continue;
            };
            let metric = self.metric(id, name, *metric_type);
            results.extend(self.result(Scope::Metric(id), metric, count));
        }
        for metric_type in [MetricType::Positive, MetricType::Negative] {
            let mut sum = Count::default();
            for ((of, _), count) in self.counts.metrics.values() {
                if *of == metric_type {
                    sum.passed += count.passed;
                    sum.judged += count.judged;
                    sum.unscored += count.unscored;
                    sum.unlisted += count.unlisted;
                }
            }
            let scope = Scope::Type(metric_type);
            results.extend(self.result(scope, polarity(metric_type), &sum));
        }
        results
    }

    /// An entry of `evaluation_results`; `None` if no row has a verdict.
    fn result(&self, scope: Scope<'_>, mut metric: Value, count: &Count) -> Option<Value> {
        if count.judged == 0 {
            return None;
        }
        let id = match scope {
            Scope::Metric(id) => id,
            Scope::Type(metric_type) => metric_type.as_str(),
        };
        let uid = self.run.benchmark_uid();
        if let Some(metric) = metric.as_object_mut() {
            metric.insert("metric_id".into(), format!("{uid}.{id}").into());
            metric.insert("metric_kind".into(), "pass_rate".into());
            metric.insert("metric_unit".into(), "proportion".into());
            metric.insert("lower_is_better".into(), false.into());
            metric.insert("score_type".into(), "continuous".into());
            metric.insert("min_score".into(), count.lowest.min(0.0).into());
            metric.insert("max_score".into(), count.highest.max(1.0).into());
            metric.insert("llm_scoring".into(), self.judging());
        }
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 rows")]
        let (passed, judged) = (count.passed as f64, count.judged as f64);
        let rate = passed / judged;
        let statistics = self.run.rate(scope, count.passed, count.judged);
        let (standard_error, interval) = statistics.map(uncertainty).unzip();
        Some(json!({
            "evaluation_result_id": format!("{}#{id}", self.evaluation_id),
            "evaluation_name": format!("{uid}.{id}"),
            "source_data": self.source_data(),
            "evaluation_timestamp": timestamp(self.run),
            "metric_config": metric,
            "score_details": {
                "score": rate,
                "details": count.texts(statistics),
                "uncertainty": {
                    "standard_error": standard_error,
                    "confidence_interval": interval,
                    "standard_deviation": (rate * (1.0 - rate)).sqrt(),
                    "num_samples": count.judged,
                },
            },
            "generation_config": self.generation_config(),
        }))
    }

    fn source_data(&self) -> Value {
        let benchmark = &self.run.benchmark;
        let details = known([
            ("benchmark_uid", Some(self.run.benchmark_uid())),
            ("benchmark_name", Some(benchmark.name.clone())),
            ("benchmark_version", benchmark.version.clone()),
            ("locale", benchmark.locale.clone()),
            ("description", Some(benchmark.description.clone())),
            ("user_context", benchmark.scenario.user_context.clone()),
        ]);
        json!({"dataset_name": self.collection, "source_type": "other", "additional_details": details})
    }

    fn metric(&self, id: &str, name: &str, metric_type: MetricType) -> Value {
        let metric = self.run.benchmark.metric(id);
        let hazards: Vec<&str> = self
            .run
            .benchmark
            .hazards
            .iter()
            .filter(|hazard| hazard.metrics.iter().any(|of| of == id))
            .map(|hazard| hazard.id.as_str())
            .collect();
        let examples = metric.map(|metric| Value::from(metric.example_texts()).to_string());
        let near_misses = metric
            .map(Metric::counterexample_texts)
            .filter(|texts| !texts.is_empty());
        let mut details = known([
            ("metric_type", Some(metric_type.as_str().to_owned())),
            ("passed_when", Some(passed_when(metric_type).to_owned())),
            ("definition", metric.map(|metric| metric.definition.clone())),
            ("examples", examples),
            (
                "counterexamples",
                near_misses.map(|texts| Value::from(texts).to_string()),
            ),
            ("hazards", Some(hazards.join(", "))),
        ]);
        for (key, text) in metric
            .iter()
            .flat_map(|metric| texts("metric.", &metric.extra))
        {
            details.insert(key, text.into());
        }
        json!({
            "evaluation_description": metric.map(|metric| metric.definition.trim()),
            "metric_name": name,
            "additional_details": details,
        })
    }

    fn judging(&self) -> Value {
        if self.run.judges.is_empty() {
            return Value::Null;
        }
        let judges: Vec<Value> = self
            .run
            .judges
            .iter()
            .map(|one| judge(self.run, one))
            .collect();
        let judge = self
            .run
            .judges
            .iter()
            .find(|judge| !judge.prompt.is_empty());
        let prompt = judge.map_or_else(
            || "(not recorded)".to_owned(),
            |judge| {
                let parts = judge
                    .prompt
                    .iter()
                    .map(|(role, text)| format!("{}: {text}", role.to_uppercase()));
                parts.collect::<Vec<_>>().join("\n\n")
            },
        );
        let details: Extra = self
            .run
            .fingerprints
            .get(setting_keys::EVALUATOR)
            .map(|value| {
                [("evaluator".to_owned(), Value::from(value.to_string()))]
                    .into_iter()
                    .collect()
            })
            .unwrap_or_default();
        json!({"judges": judges, "input_prompt": prompt, "additional_details": details})
    }

    fn generation_config(&self) -> Value {
        let run = self.run;
        let mut arguments = Map::new();
        let mut details = Extra::new();
        for (key, value) in &run.settings {
            match (key.as_str(), value) {
                ("temperature" | "top_p" | "top_k", Value::Number(_)) => {
                    arguments.insert(key.clone(), value.clone());
                }
                ("max_tokens" | "max_completion_tokens", value)
                    if value.as_u64().is_some_and(|n| n > 0) =>
                {
                    arguments.insert("max_tokens".to_owned(), value.clone());
                }
                _ => {
                    details.insert(key.clone(), words::of(value).into());
                }
            }
        }
        if run.settings.contains_key("reasoning_effort") {
            arguments.insert("reasoning".into(), true.into());
        }
        if let Some(prompt) = self.system_prompt {
            arguments.insert("prompt_template".into(), prompt.into());
        }
        if !run.benchmark.tools.is_empty() {
            let tools: Vec<Value> = run.benchmark.tools.iter().map(tool).collect();
            arguments.insert(
                "agentic_eval_config".into(),
                json!({"available_tools": tools}),
            );
        } else if let Some(turns) = run.turns {
            arguments.insert(
                "eval_limits".into(),
                json!({"message_limit": u64::from(turns) * 2}),
            );
        }
        let user = |target: &TargetRef| format!("{} ({})", target.id, target.model);
        for (key, value) in known([
            ("turns", run.turns.map(|turns| turns.to_string())),
            (
                "samples_per_scenario",
                run.samples_per_scenario.map(|samples| samples.to_string()),
            ),
            ("user_model", run.user_model.as_ref().map(user)),
            ("tool_model", run.tool_model.as_ref().map(user)),
            (
                "simulator",
                run.fingerprints
                    .get(setting_keys::SIMULATOR)
                    .map(Value::to_string),
            ),
        ]) {
            details.insert(key, value);
        }
        json!({"generation_args": arguments, "additional_details": details})
    }
}

/// The standard error and the interval of a rate. A rate of 0 or 1 has no standard error.
fn uncertainty(rate: &RateStatistics) -> (Value, Value) {
    let standard_error = rate
        .standard_error
        .map(|value| json!({"value": value, "method": "analytic"}));
    let interval = json!({
        "lower": rate.lower,
        "upper": rate.upper,
        "confidence_level": Statistics::LEVEL,
        "method": rate.method(),
    });
    (standard_error.into(), interval)
}

/// When the evaluation ran, if known.
fn timestamp(run: &Run) -> Option<String> {
    let time = run.started.or((!run.is_timeless()).then_some(run.time));
    time.map(|time| time.to_string())
}

/// A tool of the benchmark, with its parameters as texts, one for each property of the schema.
fn tool(tool: &Tool) -> Value {
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let parameters: Extra = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), words::of(schema).into()))
        .collect();
    json!({"name": tool.name, "description": tool.description, "parameters": parameters})
}

fn passed_when(metric_type: MetricType) -> &'static str {
    match metric_type {
        MetricType::Positive => "the behaviour of the definition is present",
        MetricType::Negative => "the behaviour of the definition is absent",
    }
}

fn polarity(metric_type: MetricType) -> Value {
    let which = metric_type.as_str();
    json!({
        "evaluation_description": format!("All {which} metrics: a row passes when {}", passed_when(metric_type)),
        "metric_name": format!("Pass rate of {which} metrics"),
        "additional_details": {"metric_type": which, "aggregated_from": "the rows of all its metrics"},
    })
}

fn judge(run: &Run, judge: &Judge) -> Value {
    let id = schema::ModelId::new(&judge.id);
    let target = id.map(|id| TargetRef {
        id,
        model: judge.model.clone(),
    });
    let Ok(target) = target else {
        return Value::Null;
    };
    let name = ModelName::new(&target, judge.source.as_deref());
    let details = known([
        ("judge_id", Some(judge.id.clone())),
        ("model_as_configured", Some(judge.model.clone())),
    ]);
    let settings: Extra = judge
        .settings
        .iter()
        .map(|(key, value)| (key.clone(), words::of(value).into()))
        .collect();
    json!({
        "model_info": model_info(&name, &judge.id, judge.source.as_deref(), run.known_source, details),
        "temperature": judge.settings.get("temperature").and_then(Value::as_f64),
        "additional_details": settings,
    })
}

fn model_info(
    name: &ModelName,
    shown: &str,
    source: Option<&str>,
    known_source: fn(&str) -> Option<KnownSource>,
    mut details: Extra,
) -> Value {
    let known = source.and_then(known_source);
    let deployment = match known.map(|known| known.self_hosted) {
        Some(true) => "self_deployed",
        Some(false) => "externally_managed",
        None => "unknown",
    };
    details.insert("deployment_type".into(), deployment.into());
    details.insert("model_availability".into(), "unknown".into());
    json!({
        "name": shown,
        "id": name.id,
        "developer": name.developer,
        "inference_platform": source,
        "additional_details": details,
    })
}

fn library_details(run: &Run) -> Value {
    let mut details = known([("revision", run.revision.clone())]);
    for (key, text) in texts("fingerprint.", &run.fingerprints) {
        details.insert(key, text.into());
    }
    Value::Object(details)
}

/// The known texts that are not blank.
fn known<const N: usize>(texts: [(&str, Option<String>); N]) -> Extra {
    let known = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
        .filter(|(_, text)| !text.trim().is_empty());
    known
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect()
}

/// Removes nulls and empty objects: the format has optional fields, and few that may be null.
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(prune);
            map.retain(|_, value| {
                !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty())
            });
        }
        Value::Array(list) => {
            list.iter_mut().for_each(prune);
            list.retain(|value| !value.is_null());
        }
        _ => {}
    }
}
