//! The rows that `--force-row` names.

use llm_client::CachedRow;
use schema::{Conversation, nearest};
use store::read_scenarios;

use super::Context;
use crate::{
    benchmarks::Chosen,
    config::{Config, ModelEntry},
    exit::Failure,
};

/// The rows of the conversations `ids`, looked up among the scenarios of the benchmarks `chosen` and all samples of
/// `targets`.
///
/// # Errors
/// When an id matches no row, or scenarios cannot be read.
pub fn find(
    context: &Context,
    config: &Config,
    targets: &[&ModelEntry],
    chosen: &Chosen,
    ids: &[String],
) -> Result<Vec<CachedRow>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let scenarios = chosen.read(&context.layout, |layout, name| {
        read_scenarios(&layout.benchmark(name)?)
    })?;
    let samples = *config.settings.generation.num_samples;
    let mut known = Vec::new();
    for scenario in scenarios.iter().flat_map(|rows| rows.iter()) {
        for target in targets {
            let id = |sample| Conversation::make_id(&scenario.id, &target.id, sample);
            let row = |sample| CachedRow { row: id(0), sample };
            known.extend((0..samples).map(|sample| (id(sample), row(sample))));
        }
    }
    let mut found = Vec::new();
    for id in ids {
        let Some((_, row)) = known.iter().find(|(known, _)| known == id) else {
            let near = nearest(id, known.iter().map(|(known, _)| known.as_str()));
            return Err(Failure::usage(unknown(id, near, samples)));
        };
        found.push(row.clone());
    }
    Ok(found)
}

fn unknown(id: &str, near: Option<&str>, samples: u32) -> String {
    match near {
        Some(near) => format!("--force-row: unknown conversation `{id}`; did you mean `{near}`?"),
        None => format!(
            "--force-row: unknown conversation `{id}`: no scenario and target of this run have it, with samples 0 to {}\nhelp: the \
             conv_id of each row is in runs/TARGET/conversations.json; `--num-samples N` sets the samples",
            samples.saturating_sub(1)
        ),
    }
}
