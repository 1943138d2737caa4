//! `plan`: what a run would ask for and cost.

use llm_client::ModelSettings;
use pipeline::{Phase, PlanModel, PlanSettings, Range};
use report::{PlanRow, Span, plan_table};

use super::{Context, models::Parts, run::demographics};
use crate::{
    benchmarks::{Wanted, choose},
    cli::PhaseArgs,
    config::{Config, Endpoints, ModelEntry},
    exit::{Exit, Failure},
};

/// The base URL that scripted models are counted with: none is called.
const NOWHERE: &str = "http://127.0.0.1/v1";

/// Shows the plan of a whole run.
///
/// # Errors
/// When the configuration or a benchmark cannot be used.
pub fn run(context: &Context, args: &PhaseArgs) -> Result<Exit, Failure> {
    let config = context.configure(&args.overrides)?;
    show(context, &config, args, &Phase::ALL)
}

/// Shows the plan of `phases`.
///
/// # Errors
/// When the configuration or a benchmark cannot be used.
pub fn show(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    phases: &[Phase],
) -> Result<Exit, Failure> {
    let settings = &config.settings;
    // A plan always looks at the whole run: what a later phase asks follows from the earlier ones.
    let parts = Parts::of(settings, &Phase::ALL, &args.targets)?;
    let endpoints = Endpoints::new(settings, &config.vars, Some(NOWHERE.to_owned()))?;
    let plan_model = |entry: Option<&ModelEntry>| {
        let entry =
            entry.ok_or_else(|| Failure::usage("a model is missing in the configuration"))?;
        let settings: ModelSettings = endpoints.without_key(entry)?;
        Ok::<_, Failure>(PlanModel {
            id: entry.id.clone(),
            price: settings.price,
            max_tokens: settings.max_tokens,
        })
    };
    let axes = demographics(config)?;
    let generation = &settings.generation;
    let plan_settings = PlanSettings {
        metrics: Range {
            low: u64::from(*generation.metrics.start()),
            high: u64::from(*generation.metrics.end()),
        },
        scenarios_per_metric: u64::from(generation.scenarios_per_metric),
        variants: axes
            .values()
            .map(|values| values.len() as u64)
            .fold(1, u64::saturating_mul),
        demographics: !axes.is_empty(),
        turns: u64::from(generation.turns),
        samples: u64::from(generation.num_samples),
        generator: plan_model(parts.generator)?,
        user: plan_model(parts.user)?,
        judge: plan_model(parts.evaluator)?,
        targets: parts
            .targets
            .iter()
            .map(|entry| plan_model(Some(entry)))
            .collect::<Result<_, _>>()?,
    };
    let wanted = Wanted {
        names: &args.names,
        all: args.all,
        demonstration: true,
        copies: !settings.dry_run,
    };
    let names = choose(&context.layout, wanted, &context.terminal)?;
    context.tell_scripted(config);
    let rows: Vec<PlanRow> = pipeline::plan(&context.layout, &names, &plan_settings)?
        .into_iter()
        .filter(|row| phases.contains(&row.phase))
        .map(table_row)
        .collect();
    context
        .terminal
        .print(&plan_table(&rows, context.terminal.width()));
    context.terminal.note("replies that were received before are counted as if they had to be asked for again; retries are not counted");
    Ok(Exit::Complete)
}

fn table_row(row: pipeline::PlanRow) -> PlanRow {
    let tokens = row.input_tokens + row.output_tokens;
    PlanRow {
        phase: row.phase.command().to_owned(),
        model: row.who,
        rows: row.rows.high,
        calls: Span {
            low: row.calls.low,
            high: row.calls.high,
        },
        tokens: Span {
            low: tokens.low,
            high: tokens.high,
        },
        dollars: row.cost.map(|cost| Span {
            low: cost.low,
            high: cost.high,
        }),
    }
}
