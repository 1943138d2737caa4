//! The rules of `benchmark.yaml`.

use std::collections::HashMap;

use schema::{Benchmark, Hazard, VerdictType, nearest, text::is_blank};

use crate::checker::Found;

/// All that a run would refuse.
pub(crate) fn check_benchmark(benchmark: &Benchmark) -> Vec<Found> {
    let mut found = Vec::new();
    if benchmark.metrics.is_empty() && is_blank(&benchmark.description) {
        found.push(Found::problem(
            "",
            "neither metrics nor a description to write them from. Add `description` or `metrics`",
        ));
    }
    for (key, text) in [
        ("/uid", &benchmark.uid),
        ("/version", &benchmark.version),
        ("/locale", &benchmark.locale),
    ] {
        let text = text.as_deref().unwrap_or_default();
        if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
            found.push(Found::problem(
                key,
                "holds a slash or a control character, and names files",
            ));
        }
    }
    metrics(benchmark, &mut found);
    if !benchmark.hazards.is_empty() {
        hazards(benchmark, &mut found);
    }
    tools(benchmark, &mut found);
    found
}

fn metrics(benchmark: &Benchmark, found: &mut Vec<Found>) {
    let mut seen = HashMap::new();
    for (index, metric) in benchmark.metrics.iter().enumerate() {
        let at = format!("/metrics/{index}");
        let id = format!("{at}/id");
        if metric.id.trim().is_empty() {
            found.push(Found::problem(&id, "the id is empty"));
        } else if metric.id.contains(['/', '\\'])
            || metric.id.contains("__")
            || metric.id.chars().any(char::is_control)
        {
            found.push(Found::problem(
                &id,
                format!(
                    "the id {:?} holds a slash, `__` or a control character",
                    metric.id
                ),
            ));
        } else if let Some(first) = seen.insert(&metric.id, index) {
            found.push(twice(
                &id,
                &metric.id,
                &format!("metrics[{first}]"),
                "metric",
            ));
        }
        if is_blank(&metric.definition) {
            found.push(Found::problem(
                format!("{at}/definition"),
                "the definition is empty, and the judge sees nothing else of the metric",
            ));
        }
        if let Some(Err(error)) = metric.verdict.as_ref().map(VerdictType::check) {
            let at = match error.key() {
                (key, Some(index)) => format!("{at}/verdict/{key}/{index}"),
                (key, None) => format!("{at}/verdict/{key}"),
            };
            found.push(Found::problem(at, error.to_string()));
        }
    }
}

fn hazards(benchmark: &Benchmark, found: &mut Vec<Found>) {
    found.extend(check_hazard_list(&benchmark.hazards, "/hazards"));
    let ids: Vec<&str> = benchmark
        .metrics
        .iter()
        .map(|metric| metric.id.as_str())
        .collect();
    let owned = |id: &str| {
        let mut hazards = benchmark.hazards.iter();
        hazards.any(|hazard| hazard.metrics.iter().any(|metric| metric == id))
    };
    for (number, hazard) in benchmark.hazards.iter().enumerate() {
        for (index, id) in hazard.metrics.iter().enumerate() {
            if ids.contains(&id.as_str()) {
                continue;
            }
            let at = format!("/hazards/{number}/metrics/{index}");
            found.push(Found::problem(
                at,
                format!("unknown metric {id:?}{}", meant(id, &ids)),
            ));
        }
    }
    let alone = ids.iter().filter(|id| !owned(id));
    for id in alone {
        found.push(Found::problem(
            "/hazards",
            format!("the metric {id:?} is in no hazard. Add it to one, or leave `hazards` out: then each metric is a hazard"),
        ));
    }
}

/// The rules of hazards by themselves. `at` is the pointer of the list.
pub(crate) fn check_hazard_list(hazards: &[Hazard], at: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut seen = HashMap::new();
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for (number, hazard) in hazards.iter().enumerate() {
        let id = format!("{at}/{number}/id");
        if hazard.id.trim().is_empty() {
            found.push(Found::problem(&id, "the id is empty"));
        } else if hazard.id.chars().any(char::is_control) {
            found.push(Found::problem(&id, "the id holds a control character"));
        } else if let Some(first) = seen.insert(&hazard.id, number) {
            found.push(twice(
                &id,
                &hazard.id,
                &format!("hazards[{first}]"),
                "hazard",
            ));
        }
        if hazard.metrics.is_empty() {
            found.push(Found::problem(
                format!("{at}/{number}"),
                "`metrics` is empty. Add the metrics of the hazard",
            ));
        }
        for (index, metric) in hazard.metrics.iter().enumerate() {
            let place = format!("{at}/{number}/metrics/{index}");
            match owners.insert(metric, number) {
                None => {}
                Some(owner) if owner == number => {
                    found.push(Found::problem(place, format!("duplicate metric {metric:?}")));
                }
                Some(owner) => found.push(Found::problem(
                    place,
                    format!("the metric {metric:?} is in hazards[{owner}] already, and its samples would count twice"),
                )),
            }
        }
    }
    found
}

fn tools(benchmark: &Benchmark, found: &mut Vec<Found>) {
    let mut seen = HashMap::new();
    for (index, tool) in benchmark.tools.iter().enumerate() {
        let at = format!("/tools/{index}");
        if let Some(first) = seen.insert(&tool.name, index) {
            found.push(twice(
                &format!("{at}/name"),
                &tool.name,
                &format!("tools[{first}]"),
                "tool",
            ));
        }
        if let Err(error) = schema::check_tool(tool) {
            let key = error.key.split(['.', '[']).next();
            let at = match key == Some("parameters") {
                true => format!("{at}/parameters"),
                false => at,
            };
            found.push(Found::problem(at, error.reason));
        }
    }
}

fn twice(at: &str, id: &str, first: &str, what: &str) -> Found {
    Found::problem(
        at,
        format!("{id:?} is in {first} already. Each {what} needs its own"),
    )
}

/// `; did you mean …?`, or what there is.
pub(super) fn meant(id: &str, known: &[&str]) -> String {
    match nearest(id, known.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => ": there are none".to_owned(),
        None if known.len() <= 12 => format!("; there are {}", known.join(", ")),
        None => String::new(),
    }
}
