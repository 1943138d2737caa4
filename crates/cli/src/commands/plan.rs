//! `plan`: shows the calls and the cost of a run.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use llm_client::{BatchSettings, ModelSettings, PromptCache};
use probity::{
    CalledModel, Forecast, Phase, PlanModel, PlanQuestions, PlanSettings, Range, RunError,
    RunOptions, config::keys, needed_scenarios, plan_metrics,
};
use report::{PlanRow, Span};
use schema::{Finding, ModelId, TargetRef, statistics::MetricPlan};
use schemars::JsonSchema;
use serde::Serialize;
use store::{RowForm, suggest_segments};

use super::{
    Context, demonstration,
    findings::PlanFindings,
    force_rows, forecast,
    imported::Imported,
    models::{ModelRoles, open_cache},
    needs::Needs,
    output::CommandOutput,
    plan_budget::Budget,
    plan_view::PlanView,
    run::PhaseArgs,
    shard::{self, ShardArgs, ShardFolder},
    typos,
    unpriced::UnknownCosts,
};
use crate::{
    benchmarks::choose,
    config::{Config, Endpoints, ModelEntries, ModelEntry, Settings},
    exit::{Exit, Failure, Problems},
    flags::{self, BenchmarkSelection, OVER, Overrides, PromptArgs, Samples, Targets, Turns},
};

/// Show the rows, calls, tokens and dollars of a run without calling a model
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    selection: BenchmarkSelection,
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    samples: Samples,
    #[command(flatten)]
    turns: Turns,
    #[command(flatten)]
    prompts: PromptArgs,
    #[command(flatten)]
    shard: ShardArgs,
    /// What it takes to call the targets again, with the replies of users and judges where their input does not change
    #[arg(long, help_heading = OVER)]
    fresh_targets: bool,
    /// The most dollars that the run may spend
    #[arg(long, value_name = "DOLLARS", value_parser = flags::dollars, allow_negative_numbers = true, help_heading = OVER)]
    max_cost: Option<f64>,
    /// How many scenarios it takes to show this difference between two targets, such as 0.1
    #[arg(long, value_name = "DIFFERENCE", value_parser = difference, allow_negative_numbers = true)]
    want_difference: Option<f64>,
    /// How likely these rules of a gate pass, fail or are not decided
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
}

impl From<PlanArgs> for PhaseArgs {
    fn from(args: PlanArgs) -> Self {
        Self {
            overrides: Overrides::default()
                .with(&args.samples)
                .with(&args.turns)
                .switch(keys::FRESH_TARGETS, "fresh-targets", args.fresh_targets)
                .set(keys::MAX_COST, "max-cost", args.max_cost),
            selection: args.selection,
            targets: args.targets.targets,
            prompts: args.prompts.into(),
            shard: args.shard,
            ..Self::default()
        }
    }
}

fn difference(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(difference) if difference > 0.0 && difference < 1.0 => Ok(difference),
        _ => Err("must be a difference of two rates, above 0 and below 1, such as 0.1".to_owned()),
    }
}

/// The base URL of scripted models in a plan. It is never called.
pub const NOWHERE: &str = "http://127.0.0.1/v1";

/// The output of `plan`.
#[derive(Serialize, JsonSchema)]
pub struct PlanOutput<'a> {
    #[serde(flatten)]
    calls: PlannedCalls<'a>,
    /// What the rows of one target could show, by benchmark and metric. Empty if no row is judged, and for imported conversations.
    metrics: &'a [MetricPlan],
    /// The difference for which `scenarios_needed` is computed, or null.
    want_difference: Option<f64>,
    /// What the configured models already say about the results, then what limits those that are in the tree. Absent in output from
    /// before it was collected.
    #[serde(default)]
    findings: Vec<&'a Finding>,
}

impl CommandOutput for PlanOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["plan"];
}

/// The calls of a plan, their sums, and what the cache has of them.
#[derive(Serialize, JsonSchema)]
pub struct PlannedCalls<'a> {
    /// The planned calls, by benchmark and phase.
    rows: &'a [probity::PlanRow],
    /// The sums of `rows`.
    total: PlanTotal<'a>,
    /// The limits of the run's spending.
    budget: PlanBudget,
    /// The expected use of the cache.
    cache: &'a [Forecast],
}

impl<'a> PlannedCalls<'a> {
    pub fn new(
        rows: &'a [probity::PlanRow],
        budget: &Budget,
        cache: &'a [Forecast],
        unknown: &'a UnknownCosts,
    ) -> Self {
        Self {
            rows,
            total: PlanTotal {
                calls: rows
                    .iter()
                    .fold(Range::default(), |sum, row| sum + row.calls),
                tokens: budget.tokens,
                dollars: budget.dollars,
                dollars_with_prompt_cache: rows
                    .iter()
                    .filter_map(|row| row.cost_with_prompt_cache)
                    .fold(Range::default(), |sum, cost| sum + cost),
                dollars_in_batches: rows
                    .iter()
                    .filter_map(|row| row.cost_in_batches)
                    .fold(Range::default(), |sum, cost| sum + cost),
                unpriced: budget.unpriced,
                assumed_free: unknown.assumed_free.iter().collect(),
                unbounded: unknown.unbounded.iter().collect(),
            },
            budget: PlanBudget {
                max_cost: budget.max_cost,
                max_tokens: budget.max_tokens,
                suffices: budget.suffices(),
            },
            cache,
        }
    }
}

/// The sums over the rows of a plan.
#[derive(Serialize, JsonSchema)]
struct PlanTotal<'a> {
    /// Calls.
    calls: Range<u64>,
    /// Tokens, sent and received.
    tokens: Range<u64>,
    /// Dollars of the calls with a known price.
    dollars: Range<f64>,
    /// The same where the providers' prompt caches have what each request of a conversation repeats.
    dollars_with_prompt_cache: Range<f64>,
    /// The same as `dollars` where all requests that can be are sent in batches.
    dollars_in_batches: Range<f64>,
    /// Whether `dollars` leaves calls out, because their price is unknown.
    unpriced: bool,
    /// The models whose calls are assumed to be free. Absent in output from before they were listed.
    #[serde(default)]
    assumed_free: Vec<&'a ModelId>,
    /// The models whose replies no `max_tokens` bounds, free ones left out. Absent in output from before they were listed.
    #[serde(default)]
    unbounded: Vec<&'a ModelId>,
}

/// The limits of a run's spending.
#[derive(Serialize, JsonSchema)]
struct PlanBudget {
    /// The most dollars, or null.
    max_cost: Option<f64>,
    /// The most tokens, or null.
    max_tokens: Option<u64>,
    /// `yes`, `perhaps` or `no`; null without a limit.
    suffices: Option<&'static str>,
}

/// Shows the plan of a whole run.
///
/// # Errors
/// When the configuration or a benchmark cannot be used.
pub fn run(context: &Context, args: PlanArgs) -> Result<Exit, Failure> {
    let questions = PlanQuestions {
        want_difference: args.want_difference,
        gate: args.gate.clone(),
    };
    let args = PhaseArgs::from(args);
    let part = shard::begin(context, &args, ShardFolder::Temporary)?;
    let (context, args) = match &part {
        Some(part) => (&part.context, &part.args),
        None => (context, &args),
    };
    let config = shard::configure(context, args, true)?;
    show(context, &config, args, &questions, &Phase::ALL)
}

/// Shows the plan of `phases`. Writes nothing: a shipped benchmark that is not yet in the folder is read from a
/// temporary one.
///
/// # Errors
/// When the configuration or a benchmark cannot be used.
pub fn show(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    questions: &PlanQuestions,
    phases: &[Phase],
) -> Result<Exit, Failure> {
    let imported = Imported::of(&context.layout, &args.selection, phases)?;
    if !args.force_rows.is_empty() {
        // A forecast that cannot be made is left out; an unknown row is an error.
        let parts = roles(context, config, args, phases, imported.clone())?;
        let chosen = choose(&context.layout, &args.selection, false)?;
        force_rows::find(context, config, &parts.targets, &chosen, &args.force_rows)?;
    }
    let found = cached(context, config, args, phases, &imported);
    let kept = match config.settings.run.fresh_targets {
        true => {
            let mut usual = config.clone();
            usual.settings.run.fresh_targets = false;
            cached(context, &usual, args, phases, &imported)
        }
        false => Vec::new(),
    };
    let Planned {
        mut rows,
        names,
        metrics,
    } = if imported.is_empty() {
        of_run(context, config, args, questions, phases)?
    } else {
        of_judging(context, config, args, imported)?
    };
    for row in &mut rows {
        let of_row = |found: &&Forecast| {
            (found.benchmark.as_str(), found.phase) == (row.benchmark.as_str(), row.phase)
                && Some(&found.target) == row.target.as_ref()
        };
        let (found, kept) = (found.iter().find(of_row), kept.iter().find(of_row));
        if let Some(found) = found {
            row.without_cached(found);
        }
        if let Some(kept) = kept {
            row.with_kept(kept);
        }
    }
    context.report_configured(config, &names);
    context.warn_of_scripted_scenarios(config, &names, phases);
    let limits = PlanFindings::new(context, config, &names, phases);
    context.warn_of(&limits.present);
    let budget = Budget::of(&config.settings, &rows);
    let unknown = UnknownCosts::of(config, config.settings.models.all());
    if args.selection.json {
        let output = PlanOutput {
            calls: PlannedCalls::new(&rows, &budget, &found, &unknown),
            metrics: &metrics,
            want_difference: questions.want_difference,
            findings: limits.configured.iter().chain(&limits.present).collect(),
        };
        context.print_json("plan", Exit::Complete, &output);
    } else {
        let view = PlanView {
            rows: &rows,
            metrics: &metrics,
            want_difference: questions.want_difference,
            // Questions are answered metric by metric.
            by_metric: config.settings.run.verbose
                || questions.want_difference.is_some()
                || questions.gate.is_some(),
            is_whole: config.settings.run.verbose,
            budget: &budget,
            findings: &limits.present,
        };
        context.terminal.print(&view.text(context));
    }
    for line in forecast::lines(&found, false) {
        context.terminal.note(&line);
    }
    if phases.contains(&Phase::GenScenarios) {
        report_scenarios(context, &names)?;
    }
    for line in budget.words() {
        context.terminal.warning(&line);
    }
    for note in many_rows(config, &rows) {
        context.terminal.note(&note);
    }
    for note in unknown.notes() {
        context.terminal.note(&note);
    }
    if kept.iter().any(|kept| kept.cached > 0) {
        context.terminal.note(
            "--fresh-targets: the lower numbers are for targets that say what they said before, so that users and judges answer from the \
             cache; the higher ones are for targets that say something else",
        );
    }
    context.terminal.note(counting(&rows));
    Ok(Exit::Complete)
}

/// A suggestion for each benchmark of which a target has many rows.
fn many_rows(config: &Config, rows: &[probity::PlanRow]) -> Vec<String> {
    let form = RowForm::segments_if(config.settings.tree.segments);
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.target.is_some()) {
        let known = most.entry(&row.benchmark).or_default();
        *known = row.rows.high.max(*known);
    }
    most.into_iter()
        .filter_map(|(benchmark, rows)| {
            let suggested = suggest_segments(rows, form)?;
            Some(format!("{benchmark}: {suggested}"))
        })
        .collect()
}

/// How a plan counts calls.
pub fn counting(rows: &[probity::PlanRow]) -> &'static str {
    match rows.iter().any(|row| row.cached > 0) {
        true => {
            "calls, tokens and dollars are of the rows that are not cached, estimated by their share of all rows. A row of which only \
             some replies are cached counts as new; retries are not counted"
        }
        false => "cached replies are counted as new calls; retries are not counted",
    }
}

/// The models that `phases` need on the selected benchmarks.
fn roles<'c>(
    context: &Context,
    config: &'c Config,
    args: &PhaseArgs,
    phases: &[Phase],
    imported: Imported,
) -> Result<ModelRoles<'c>, Failure> {
    let needs = Needs::of(&context.layout, &args.selection, phases);
    ModelRoles::needed(&config.settings, phases, &args.targets, needs, imported)
}

/// The expected use of the cache. Empty without a cache, and if it cannot be read.
fn cached(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    phases: &[Phase],
    imported: &Imported,
) -> Vec<Forecast> {
    let path = context.layout.cache();
    let look = || {
        let parts = roles(context, config, args, phases, imported.clone()).ok()?;
        let chosen = choose(&context.layout, &args.selection, false).ok()?;
        let settings = config.phase_settings().ok()?;
        let refreshed =
            force_rows::find(context, config, &parts.targets, &chosen, &args.force_rows).ok()?;
        let cache = open_cache(&config.settings, &path, &refreshed).ok()?;
        let mut options = RunOptions {
            prompts: args.prompts,
            force_rows: !refreshed.is_empty(),
            ..config.run_options(phases).ok()?
        };
        let runtime = Context::runtime().ok()?;
        let names = &chosen.names;
        let versions = settings.clone();
        let versions =
            forecast::cached_versions(context, config, &parts, versions, &options, names, &cache);
        options.found_versions = runtime.block_on(versions);
        let look = forecast::look(context, config, &parts, settings, &options, names, &cache);
        Some(runtime.block_on(look))
    };
    match path.exists() {
        true => look().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Reports which scenarios would be added to existing ones, and which would not.
fn report_scenarios(context: &Context, names: &[String]) -> Result<(), Failure> {
    for name in names {
        // A shipped benchmark that is not yet in the folder has no scenarios.
        if !context.layout.benchmark(name)?.scenarios().exists() {
            continue;
        }
        let wanted = needed_scenarios(&context.layout, name, false)?;
        if let Some(words) = wanted.in_words() {
            context.terminal.note(&format!(
                "{name}: scenarios would be generated {words}, and added to scenarios.json"
            ));
        }
        if let Some(line) = left_out(context, name, &wanted.left_out) {
            context.terminal.warning(&line);
        }
    }
    Ok(())
}

/// A warning if metrics have no scenarios and get none.
pub fn left_out(context: &Context, name: &str, metrics: &[String]) -> Option<String> {
    if metrics.is_empty() {
        return None;
    }
    let has = if metrics.len() == 1 { "has" } else { "have" };
    Some(format!(
        "{name}: {} {has} no scenarios and cannot be measured. scenarios.json was not generated here, so nothing is added to it: write \
         rows for {} yourself, or add them with `{} gen-scenarios {name} --add`, which keeps the other rows",
        metrics.join(", "),
        if metrics.len() == 1 { "it" } else { "them" },
        context.program.start()
    ))
}

/// The content of a plan.
struct Planned {
    rows: Vec<probity::PlanRow>,
    /// The benchmarks' names.
    names: Vec<String>,
    /// What the rows could show; empty if no rows are judged.
    metrics: Vec<MetricPlan>,
}

/// The plan of `phases` as part of a whole run.
fn of_run(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    questions: &PlanQuestions,
    phases: &[Phase],
) -> Result<Planned, Failure> {
    let mut problems = Problems::default();
    // A plan always covers the whole run: the calls of a later phase depend on the earlier ones.
    let parts = roles(context, config, args, &Phase::ALL, Imported::default());
    let parts = problems.take(parts);
    let plan_settings =
        parts.and_then(|parts| problems.take(plan_settings(context, config, &parts)));
    let chosen = problems.take(choose(&context.layout, &args.selection, true));
    problems.take(config.check_files());
    if let Some(chosen) = &chosen {
        typos::warn(context, &chosen.names, false);
    }
    let (Some(plan_settings), Some(chosen), true) = (plan_settings, chosen, problems.is_empty())
    else {
        return Err(problems.into_failure());
    };
    let read = chosen.read(&context.layout, |layout, name| {
        let names = [name.to_owned()];
        let rows = probity::plan(layout, &names, &plan_settings)?;
        let metrics = match phases.contains(&Phase::Evaluate) {
            true => plan_metrics(layout, &names, &plan_settings, questions)?,
            false => Vec::new(),
        };
        Ok::<_, RunError>((rows, metrics))
    })?;
    if let Some(reason) = demonstration::bought(context, config, args, phases, &chosen) {
        context.terminal.warning(&format!(
            "`{} run` would refuse this without a name: {reason}",
            context.program.start()
        ));
    }
    let (rows, metrics): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let rows = rows.into_iter().flatten();
    Ok(Planned {
        rows: rows.filter(|row| phases.contains(&row.phase)).collect(),
        names: chosen.names,
        metrics: metrics.into_iter().flatten().collect(),
    })
}

/// The plan of judging imported conversations. It does not include what the rows could show: the rows already exist and
/// can be compared.
fn of_judging(
    context: &Context,
    config: &Config,
    args: &PhaseArgs,
    imported: Imported,
) -> Result<Planned, Failure> {
    let settings = &config.settings;
    let parts = roles(context, config, args, &[Phase::Evaluate], imported)?;
    let endpoints = config
        .endpoints(Some(NOWHERE.to_owned()))?
        .with_records(context.layout.state());
    let judges = plan_judges(&endpoints, &settings.models, &parts)?;
    let further = further_judge_calls(settings);
    let configured = parts.targets.iter().map(|entry| TargetRef {
        id: entry.id.clone(),
        model: entry.model.raw.clone(),
    });
    let targets: Vec<TargetRef> = parts.imported.iter().cloned().chain(configured).collect();
    let chosen = choose(&context.layout, &args.selection, false)?;
    let rows = chosen.read(&context.layout, |layout, name| {
        probity::plan_judging(layout, name, &targets, &judges, further, settings.run.force)
    })?;
    Ok(Planned {
        rows: rows.into_iter().flatten().collect(),
        names: chosen.names,
        metrics: Vec::new(),
    })
}

/// Converts a model for the plan. A program calls those of `models` that it said it calls when it was last started.
///
/// # Errors
/// When the model cannot be called with its settings.
pub fn plan_model(
    endpoints: &Endpoints<'_>,
    models: &ModelEntries,
    entry: &ModelEntry,
) -> Result<PlanModel, Failure> {
    let settings: ModelSettings = endpoints.without_key(entry)?;
    let called = settings.wire.as_ref().map(|wire| wire.models_called());
    let callable = models.callable();
    let mut calls = Vec::new();
    for (name, (low, high)) in called.unwrap_or_default() {
        let Some((_, called)) = callable.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        calls.push(CalledModel {
            model: plan_model(endpoints, models, called)?,
            calls: Range {
                low: u64::from(low),
                high: u64::from(high),
            },
        });
    }
    Ok(PlanModel {
        calls,
        id: entry.id.clone(),
        price: settings.price,
        max_tokens: settings.max_tokens,
        prompt_cache: PromptCache::of(&settings, entry.table.api.unwrap_or_default()),
        batches: BatchSettings::are_offered(&settings),
    })
}

fn further_judge_calls(settings: &Settings) -> f64 {
    settings.judging.checks(*settings.seed).further_calls()
}

fn plan_judges(
    endpoints: &Endpoints<'_>,
    models: &ModelEntries,
    parts: &ModelRoles<'_>,
) -> Result<Vec<PlanModel>, Failure> {
    let judges = parts.judges.iter();
    judges
        .map(|entry| plan_model(endpoints, models, entry))
        .collect()
}

fn plan_settings(
    context: &Context,
    config: &Config,
    parts: &ModelRoles<'_>,
) -> Result<PlanSettings, Failure> {
    let settings = &config.settings;
    let endpoints = config
        .endpoints(Some(NOWHERE.to_owned()))?
        .with_records(context.layout.state());
    let plan_model = |entry: &ModelEntry| plan_model(&endpoints, &settings.models, entry);
    // A model that is not needed is in no row of the plan.
    let role = |entry: Option<&ModelEntry>, key| entry.map_or_else(|| unneeded(key), plan_model);
    let axes = config.demographics()?;
    let generation = &settings.generation;
    Ok(PlanSettings {
        metrics: Range {
            low: u64::from(*generation.metrics.0.start()),
            high: u64::from(*generation.metrics.0.end()),
        },
        scenarios_per_metric: u64::from(*generation.scenarios_per_metric),
        variants: axes
            .values()
            .map(|values| values.len() as u64)
            .fold(1, u64::saturating_mul),
        demographics: !axes.is_empty(),
        turns: u64::from(*generation.turns),
        samples: u64::from(*generation.num_samples),
        max_tool_steps: u64::from(*generation.max_tool_steps),
        generator: role(parts.generator, "generator_model")?,
        user: role(parts.user, "user_model")?,
        tools: role(parts.tool, "tool_model")?,
        judges: plan_judges(&endpoints, &settings.models, parts)?,
        further_judge_calls: further_judge_calls(settings),
        judge_users: settings.judging.simulator.share(),
        judge_realism: settings.judging.realism,
        targets: parts
            .targets
            .iter()
            .copied()
            .map(plan_model)
            .collect::<Result<_, _>>()?,
    })
}

/// Stands in a plan for a model that is not called.
fn unneeded(key: &str) -> Result<PlanModel, Failure> {
    Ok(PlanModel {
        id: ModelId::new(key).map_err(|error| Failure::usage(error.to_string()))?,
        price: None,
        max_tokens: None,
        prompt_cache: None,
        batches: false,
        calls: Vec::new(),
    })
}

/// Converts a row for the table.
pub fn table_row(row: &probity::PlanRow) -> PlanRow {
    let role = row.who.split(" for target ").next().unwrap_or_default();
    let model = match row.part {
        // An attacker has two kinds of calls.
        Some(part) if !role.starts_with(part) => format!("{role} ({part})"),
        _ => role.to_owned(),
    };
    PlanRow {
        model,
        is_target: row.is_target,
        cached: row.cached,
        calls: span(row.calls),
        input: span(row.input_tokens),
        output: span(row.output_tokens),
        dollars: row.cost.map(span),
        dollars_with_prompt_cache: row.cost_with_prompt_cache.map(span),
        dollars_in_batches: row.cost_in_batches.map(span),
    }
}

/// Converts a range for the table.
fn span<T>(range: Range<T>) -> Span<T> {
    let Range { low, high } = range;
    Span { low, high }
}
