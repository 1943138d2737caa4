//! Metrics from a description.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc};

use async_trait::async_trait;
use prompt::Prompt;
use schema::{
    Brief, CallContext, ChatModel, ChatReply, Extra, Fingerprint, Metric, MetricGenerator,
    MetricType, PhaseError, PhaseErrorKind, Purpose, ResponseFormat,
    reply::{NextQuestion, Refused, kind_of, list, text},
    text::is_blank,
};
use serde_json::{Value, json};

use crate::{base_scenario::strict, json_request, prompts};

/// Writes metrics with a language model: one call, and further ones while the reply is unusable.
///
/// Ids are `m01`, `m02`... in the order of the reply. See the [crate] for an example.
pub struct LlmMetricGenerator {
    model: Arc<dyn ChatModel>,
    prompt: Prompt,
    count: (u32, u32),
    tries: u32,
    format: ResponseFormat,
}

impl LlmMetricGenerator {
    /// A generator that requests four to six metrics from `model`, with at most three tries and the shipped prompt.
    ///
    /// # Errors
    /// Never for a released version: the shipped prompt is tested.
    pub fn new(model: Arc<dyn ChatModel>) -> Result<Self, PhaseError> {
        let prompt = prompts::shipped_metric_prompt().map_err(json_request::bad_prompt)?;
        Ok(Self {
            model,
            prompt,
            count: (4, 6),
            tries: 3,
            format: json_request::format("metrics", reply_schema()),
        })
    }

    /// Sets how many metrics are requested. A longer reply is cut; a shorter one is accepted with a warning.
    ///
    /// # Errors
    /// When the range is empty or starts at 0.
    pub fn with_count(mut self, count: RangeInclusive<u32>) -> Result<Self, PhaseError> {
        if *count.start() == 0 || count.is_empty() {
            let (min, max) = (count.start(), count.end());
            return Err(PhaseError::new(
                PhaseErrorKind::BadInput,
                format!("invalid number of metrics: {min} to {max}; at least one is needed"),
            ));
        }
        self.count = (*count.start(), *count.end());
        Ok(self)
    }

    /// Sets how often the model is called for a usable reply. 0 counts as 1.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// Replaces the prompt. Its values are those of [`shipped_metric_prompt`](crate::shipped_metric_prompt).
    ///
    /// # Errors
    /// When the template uses a value that does not exist.
    pub fn with_prompt(mut self, prompt: Prompt) -> Result<Self, PhaseError> {
        for user_context in [None, Some("x".to_owned())] {
            let brief = Brief {
                user_context,
                ..Brief::default()
            };
            prompts::metrics(&prompt, &brief, self.count)?;
        }
        self.prompt = prompt;
        Ok(self)
    }
}

#[async_trait]
impl MetricGenerator for LlmMetricGenerator {
    async fn metrics(&self, brief: &Brief) -> Result<Vec<Metric>, PhaseError> {
        if is_blank(&brief.description) {
            return Err(PhaseError::new(
                PhaseErrorKind::BadInput,
                format!(
                    "benchmark {:?} has no description; metrics are written from it, so add one or write metrics by hand",
                    brief.name
                ),
            ));
        }
        let text = prompts::metrics(&self.prompt, brief, self.count)?;
        let context = CallContext::new(Purpose::GenMetrics, "metrics");
        let request = json_request::request(text, self.format.clone(), context);
        let what = format!("metrics of benchmark {:?}", brief.name);
        let (least, most) = (self.count.0 as usize, self.count.1 as usize);
        let read = |reply: &ChatReply| {
            let object = json_request::object_with_list(reply, "metrics");
            let metrics = object.and_then(|object| read_metrics(&object, most));
            let is_cut_off = json_request::was_cut_off(reply);
            match metrics {
                Ok(metrics) if is_cut_off && metrics.len() < least => Err(Refused {
                    reason: json_request::cut_off(&format!(
                        "only {} of {least} metrics came",
                        metrics.len()
                    )),
                    next: NextQuestion::Nothing,
                }),
                Err(reason) if is_cut_off => Err(Refused {
                    reason: json_request::cut_off(&reason),
                    next: NextQuestion::Nothing,
                }),
                read => read.map_err(Refused::from),
            }
        };
        let metrics = json_request::ask_for(&*self.model, request, self.tries, &what, read).await?;
        if metrics.len() < self.count.0 as usize {
            tracing::warn!(
                given = metrics.len(),
                wanted = self.count.0,
                "fewer metrics than asked for"
            );
        }
        Ok(metrics)
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            name: "LlmMetricGenerator".into(),
            version: 1,
            settings: json!({
                "model": self.model.id(),
                "prompt": self.prompt.hash(),
                "count": [self.count.0, self.count.1],
                "tries": self.tries,
            }),
        }
    }
}

/// Reads `{"metrics": [...]}`. If there are more than `most` metrics, the first ones are used.
pub(crate) fn read_metrics(object: &Extra, most: usize) -> Result<Vec<Metric>, String> {
    let rows = list(object, "metrics")?;
    if rows.is_empty() {
        return Err("\"metrics\" is an empty list".to_owned());
    }
    if rows.len() > most {
        tracing::debug!(
            given = rows.len(),
            most,
            "more metrics than asked for; the rest is left out"
        );
    }
    let mut names = BTreeSet::new();
    let mut metrics = Vec::with_capacity(rows.len().min(most));
    for (at, row) in rows.iter().take(most).enumerate() {
        let number = at + 1;
        let metric = read_metric(row, format!("m{number:02}"))
            .map_err(|reason| format!("metric {number}: {reason}"))?;
        if !names.insert(metric.name.to_lowercase()) {
            return Err(format!(
                "metric {number}: the name {:?} stands twice",
                metric.name
            ));
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

fn read_metric(row: &Value, id: String) -> Result<Metric, String> {
    let row = row
        .as_object()
        .ok_or_else(|| format!("it is {}, not an object", kind_of(row)))?;
    let metric_type = match text(row, "type")? {
        "positive" => MetricType::Positive,
        "negative" => MetricType::Negative,
        other => {
            let other = schema::reply::excerpt(other);
            return Err(format!(
                "\"type\" is {other:?}, not \"positive\" or \"negative\""
            ));
        }
    };
    let name = text(row, "name")?;
    if metric_type == MetricType::Positive && name.to_lowercase().starts_with("avoid ") {
        return Err(format!(
            "{name:?} is positive, but a name that begins with \"Avoid\" is for negative metrics"
        ));
    }
    let examples = list(row, "examples")?;
    let mut texts = Vec::with_capacity(examples.len());
    for (at, example) in examples.iter().enumerate() {
        let example = example
            .as_str()
            .map(str::trim)
            .ok_or_else(|| format!("example {} is {}, not a string", at + 1, kind_of(example)))?;
        if !example.is_empty() {
            texts.push(example.into());
        }
    }
    let name = match metric_type {
        MetricType::Positive => name.to_owned(),
        MetricType::Negative => avoid(name),
    };
    Ok(Metric {
        examples: texts,
        ..Metric::new(id, name, metric_type, text(row, "definition")?)
    })
}

/// The name of a negative metric: "Avoid X". A missing prefix does not cause another request.
fn avoid(name: &str) -> String {
    const PREFIX: &str = "avoid ";
    match name.get(..PREFIX.len()) {
        Some(start) if start.eq_ignore_ascii_case(PREFIX) => {
            format!("Avoid {}", name[PREFIX.len()..].trim_start())
        }
        _ => format!("Avoid {name}"),
    }
}

/// The JSON schema of the reply.
fn reply_schema() -> Value {
    let metric = strict(json!({
        "name": {"type": "string"},
        "type": {"type": "string", "enum": ["positive", "negative"]},
        "definition": {"type": "string"},
        "examples": {"type": "array", "items": {"type": "string"}},
    }));
    strict(json!({"metrics": {"type": "array", "items": metric}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(metrics: Value) -> Result<Vec<Metric>, String> {
        read_metrics(json!({ "metrics": metrics }).as_object().unwrap(), 2)
    }

    fn metric(name: &str, metric_type: &str) -> Value {
        json!({"name": name, "type": metric_type, "definition": " d ", "examples": ["e"]})
    }

    #[test]
    fn negative_metrics_are_named_avoid() {
        for (name, named) in [
            ("flattery", "Avoid flattery"),
            ("Avoid flattery", "Avoid flattery"),
            ("avoid  flattery", "Avoid flattery"),
            ("AVOID flattery", "Avoid flattery"),
            ("Avoidance", "Avoid Avoidance"),
            ("éé", "Avoid éé"),
        ] {
            assert_eq!(
                read(json!([metric(name, "negative")])).unwrap()[0].name,
                named
            );
        }
        assert_eq!(
            read(json!([metric("flattery", "positive")])).unwrap()[0].name,
            "flattery"
        );
    }

    #[test]
    fn what_is_malformed_is_named() {
        let with = |key: &str, value: Value| {
            let mut row = metric("n", "positive");
            row[key] = value;
            json!([row])
        };
        for (metrics, reason) in [
            (json!([]), "empty list"),
            (json!({}), "an object, not a list"),
            (json!(["n"]), "metric 1: it is a string"),
            (
                with("type", json!("neutral")),
                "\"neutral\", not \"positive\"",
            ),
            (with("type", json!(true)), "\"type\" is a boolean"),
            (
                json!([metric("Avoid lies", "positive")]),
                "\"Avoid lies\" is positive",
            ),
            (with("name", json!("  ")), "\"name\" is empty"),
            (with("definition", json!(null)), "\"definition\" is null"),
            (with("examples", json!("e")), "\"examples\" is a string"),
            (with("examples", json!(["e", 1])), "example 2 is a number"),
            (
                json!([metric("Same", "positive"), metric(" sAME", "positive")]),
                "metric 2: the name",
            ),
            (
                json!([metric("x", "negative"), metric("Avoid X", "negative")]),
                "stands twice",
            ),
        ] {
            let error = read(metrics.clone()).unwrap_err();
            assert!(error.contains(reason), "{metrics}: {error}");
        }
    }

    #[test]
    fn ids_count_and_too_many_are_cut() {
        let all = read(json!([
            metric("a", "positive"),
            metric("b", "negative"),
            "junk"
        ]))
        .unwrap();
        let ids: Vec<&str> = all.iter().map(|metric| metric.id.as_str()).collect();
        assert_eq!(ids, ["m01", "m02"]);
        assert_eq!(all[0].definition, "d");
    }
}
