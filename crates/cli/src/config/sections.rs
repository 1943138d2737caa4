//! The sections of the configuration, key by key.

use probity::PROMPT_NAMES;

use super::{
    error::ConfigProblem,
    models::{ModelEntry, Part, read_model},
    read::{Reader, Text},
    safety::read_safety,
    settings::{Concurrency, Generation, Models, PriceEntry, Retries, Settings},
    table::Table,
    tuning::Limits,
};

/// A target that calls tools in more rounds than this in one turn runs in circles.
const MOST_TOOL_STEPS: u32 = 100;

/// Reads the whole configuration. What cannot be read is in the reader's errors.
pub fn root(root: &mut Table, reader: &mut Reader<'_>) -> Settings {
    let models = Models {
        user: root
            .take("user_model")
            .and_then(|node| read_model(node, Part::Role, reader)),
        tool: root
            .take("tool_model")
            .and_then(|node| read_model(node, Part::Role, reader)),
        generator: root
            .take("generator_model")
            .and_then(|node| read_model(node, Part::Role, reader)),
        evaluator: root
            .take("evaluator_model")
            .and_then(|node| read_model(node, Part::Role, reader)),
        targets: read_targets(root, reader),
    };
    let (force, dry_run, verbose, concurrency) = read_run(root, reader);
    let (max_cost, max_tokens) = read_budget(root, reader);
    Settings {
        file: None,
        force,
        dry_run,
        verbose,
        concurrency,
        models,
        generation: read_generation(root, reader),
        demographics: read_demographics(root, reader),
        perfunctory: flag(root, "perfunctory", reader),
        landmarks: flag(root, "landmarks", reader),
        prompts: read_prompts(root, reader),
        standards: root.take("standards").and_then(|node| node.text(reader)),
        prices: read_prices(root, reader),
        max_cost,
        max_tokens,
        cache_expiry: section(root, "cache", reader, |cache, reader| {
            cache.take("expiry").and_then(|node| node.duration(reader))
        })
        .flatten(),
        journal_compress: section(root, "journal", reader, |journal, reader| {
            flag(journal, "compress", reader)
        })
        .unwrap_or(false),
        limits: Limits::read(root, reader),
        retries: section(root, "retries", reader, read_retries).unwrap_or_default(),
        seed: root
            .take("seed")
            .and_then(|node| node.count(reader, 0))
            .unwrap_or(0),
        safety: section(root, "safety", reader, read_safety).unwrap_or_default(),
    }
}

fn read_retries(retries: &mut Table, reader: &mut Reader<'_>) -> Retries {
    Retries {
        max_attempts: count(retries, "max_attempts", reader),
        circuit_breaker: retries
            .take("circuit_breaker")
            .and_then(|node| node.duration(reader))
            .unwrap_or_default(),
    }
}

/// Reads the table at `key` and reports what is left of it.
fn section<T>(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
    read: impl FnOnce(&mut Table, &mut Reader<'_>) -> T,
) -> Option<T> {
    let mut inner = table.take(key)?.table(reader)?;
    let value = read(&mut inner, reader);
    inner.finish(reader);
    Some(value)
}

fn flag(table: &mut Table, key: &'static str, reader: &mut Reader<'_>) -> bool {
    table
        .take(key)
        .and_then(|node| node.flag(reader))
        .unwrap_or(false)
}

/// A number of things, 1 at least. The defaults hold every key that is read by this, so what is missing was reported.
fn count<T: TryFrom<u64> + From<u8>>(
    table: &mut Table,
    key: &'static str,
    reader: &mut Reader<'_>,
) -> T {
    table
        .take(key)
        .and_then(|node| node.count(reader, 1))
        .unwrap_or_else(|| T::from(1))
}

fn read_run(root: &mut Table, reader: &mut Reader<'_>) -> (bool, bool, bool, Concurrency) {
    let mut concurrency = Concurrency {
        gen_scenarios: 1,
        simulate: 1,
        evaluate: 1,
    };
    let flags = section(root, "run", reader, |run, reader| {
        section(run, "concurrency", reader, |table, reader| {
            concurrency = Concurrency {
                gen_scenarios: count(table, "gen_scenarios", reader),
                simulate: count(table, "simulate", reader),
                evaluate: count(table, "evaluate", reader),
            };
        });
        (
            flag(run, "force", reader),
            flag(run, "dry_run", reader),
            flag(run, "verbose", reader),
        )
    });
    let (force, dry_run, verbose) = flags.unwrap_or_default();
    (force, dry_run, verbose, concurrency)
}

fn read_generation(root: &mut Table, reader: &mut Reader<'_>) -> Generation {
    let read = |table: &mut Table, reader: &mut Reader<'_>| Generation {
        metrics: table
            .take("metrics")
            .and_then(|node| node.range(reader))
            .unwrap_or(1..=1),
        scenarios_per_metric: count(table, "scenarios_per_metric", reader),
        turns: count(table, "turns", reader),
        num_samples: count(table, "num_samples", reader),
        max_tool_steps: table
            .take("max_tool_steps")
            .and_then(|node| node.ranged(reader, 1, MOST_TOOL_STEPS))
            .unwrap_or(1),
    };
    section(root, "generation", reader, read).unwrap_or(Generation {
        metrics: 1..=1,
        scenarios_per_metric: 1,
        turns: 1,
        num_samples: 1,
        max_tool_steps: 1,
    })
}

fn read_targets(root: &mut Table, reader: &mut Reader<'_>) -> Vec<ModelEntry> {
    let Some(node) = root.take("targets") else {
        return Vec::new();
    };
    let place = node.place();
    let Some(items) = node.list(reader) else {
        return Vec::new();
    };
    if items.is_empty() {
        let reason = "is empty; add a system under test, or leave the key out";
        reader.errors.push(ConfigProblem::of(&place, reason));
    }
    items
        .into_iter()
        .filter_map(|item| read_model(item, Part::Target, reader))
        .collect()
}

fn read_demographics(root: &mut Table, reader: &mut Reader<'_>) -> Vec<(String, Vec<Text>)> {
    let Some(table) = root
        .take("demographics")
        .and_then(|node| node.table(reader))
    else {
        return Vec::new();
    };
    let mut axes = Vec::new();
    for (axis, node) in table.take_all() {
        let place = node.place();
        let Some(items) = node.list(reader) else {
            continue;
        };
        let values: Vec<Text> = items
            .into_iter()
            .filter_map(|item| item.text(reader))
            .collect();
        if values.is_empty() {
            let reason = "has no values; add some, or leave the axis out";
            reader.errors.push(ConfigProblem::of(&place, reason));
        }
        let twice = values
            .iter()
            .enumerate()
            .find(|(n, value)| values.iter().take(*n).any(|other| other.raw == value.raw));
        if let Some((_, value)) = twice {
            let reason = format!("duplicate value `{}`", value.raw);
            reader.errors.push(ConfigProblem::at(&place, reason));
        }
        axes.push((axis, values));
    }
    axes
}

fn read_prompts(root: &mut Table, reader: &mut Reader<'_>) -> Vec<(String, Text)> {
    section(root, "prompts", reader, |table, reader| {
        let file = |name: &'static str| Some((name.to_owned(), table.take(name)?.text(reader)?));
        PROMPT_NAMES.into_iter().filter_map(file).collect()
    })
    .unwrap_or_default()
}

fn read_budget(root: &mut Table, reader: &mut Reader<'_>) -> (Option<f64>, Option<u64>) {
    section(root, "budget", reader, |table, reader| {
        let cost = table
            .take("max_cost")
            .and_then(|node| node.number(reader, 0.0, f64::INFINITY));
        (
            cost,
            table
                .take("max_tokens")
                .and_then(|node| node.count(reader, 1)),
        )
    })
    .unwrap_or_default()
}

fn read_prices(root: &mut Table, reader: &mut Reader<'_>) -> Vec<PriceEntry> {
    let items = root
        .take("prices")
        .and_then(|node| node.list(reader))
        .unwrap_or_default();
    items
        .into_iter()
        .filter_map(|item| read_price(item.table(reader)?, reader))
        .collect()
}

fn read_price(mut table: Table, reader: &mut Reader<'_>) -> Option<PriceEntry> {
    let place = table.place();
    let model = table
        .take("model")
        .and_then(|node| node.resolved_text(reader));
    let source = table
        .take("source")
        .and_then(|node| node.resolved_text(reader));
    let mut dollars = |key| {
        table
            .take(key)
            .map(|node| node.number(reader, 0.0, f64::INFINITY))
    };
    let (input, output, cached_input) =
        (dollars("input"), dollars("output"), dollars("cached_input"));
    table.finish(reader);
    let (Some(model), Some(input), Some(output)) = (model, input, output) else {
        let reason = "needs `model`, `input` and `output`, in dollars per million tokens";
        reader.errors.push(ConfigProblem::of(&place, reason));
        return None;
    };
    Some(PriceEntry {
        model,
        source,
        input: input?,
        output: output?,
        cached_input: cached_input.flatten(),
    })
}
