//! Shows the calls and the cost of an evaluation.

use std::sync::Arc;

use probity::{
    Forecast, PlanModel, PlanRow, Session,
    safety::{SafetyPlanModels, attacker_calls, plan_multi_turn, plan_single_turn},
};
use report::plan_table;
use schema::Extra;
use store::runs_case;

use super::{
    super::{
        Context, forecast,
        models::open_cache,
        plan::{NOWHERE, PlannedCalls, counting, plan_model, table_row},
        plan_budget::Budget,
        unpriced::UnknownCosts,
    },
    args::Mode,
    output::SafetyOutput,
    run::Job,
};
use crate::{
    config::ModelEntry,
    exit::{Exit, Failure},
};

/// Shows the plan.
///
/// # Errors
/// When a model cannot be used.
pub fn show(context: &Context, job: &Job<'_>) -> Result<Exit, Failure> {
    // A forecast that cannot be made is left out.
    let found = cached(context, job).unwrap_or_default();
    let mut rows = rows(context, job)?;
    for row in &mut rows {
        let mut of_target = found.iter();
        match of_target.find(|found| Some(&found.target) == row.target.as_ref()) {
            Some(found) if found.new == 0 && !found.more => row.all_cached(found.cached),
            Some(found) => row.without_cached(found),
            None => {}
        }
    }
    let cast = &job.cast;
    let models = cast.judges.iter().chain(&cast.targets);
    let unknown = UnknownCosts::of(job.config, models.chain([&cast.attacker]));
    let budget = Budget::of(&job.config.settings, &rows);
    if job.args.common.json {
        let plan = SafetyOutput::Plan(PlannedCalls::new(&rows, &budget, &found, &unknown));
        context.print_json(job.args.mode.command(), Exit::Complete, &plan);
    } else {
        let table: Vec<_> = rows.iter().map(table_row).collect();
        let page = context.terminal.page();
        let is_whole = job.config.settings.run.verbose;
        let mut text = plan_table(&table, is_whole, page);
        text.push_str("  No model was called.\n");
        context.terminal.print(&text);
    }
    for line in forecast::lines(&found, false) {
        context.terminal.note(&line);
    }
    for line in budget.words() {
        context.terminal.warning(&line);
    }
    for note in unknown.notes() {
        context.terminal.note(&note);
    }
    context.terminal.note(counting(&rows));
    Ok(Exit::Complete)
}

/// The expected use of the cache; `None` without a cache, or with an empty one.
pub fn cached(context: &Context, job: &Job<'_>) -> Option<Vec<Forecast>> {
    let path = context.layout.cache();
    if !path.exists() {
        return None;
    }
    let settings = &job.config.settings;
    let cache = open_cache(settings, &path, &[]).ok()?;
    if cache.count().unwrap_or_default() == 0 {
        return None;
    }
    let endpoints = job.config.endpoints(Some(NOWHERE.to_owned())).ok()?;
    let model = |entry: &ModelEntry| {
        let model = forecast::cached_only(&endpoints, entry, &cache)?;
        Ok((model, Extra::new()))
    };
    let run = job.evaluation(&Arc::new(Session::default()), &model).ok()?;
    let why_new = match (settings.run.force, settings.run.fresh_targets) {
        (true, _) => "--force calls for every reply again",
        (false, true) => "--fresh-targets calls the targets again",
        (false, false) => "their replies are not all in the cache",
    };
    Context::runtime()
        .ok()?
        .block_on(run.forecast(why_new))
        .ok()
}

fn rows(context: &Context, job: &Job<'_>) -> Result<Vec<PlanRow>, Failure> {
    let settings = &job.config.settings;
    let endpoints = job
        .config
        .endpoints(Some(NOWHERE.to_owned()))?
        .with_records(context.layout.state());
    let model = |entry: &ModelEntry| plan_model(&endpoints, &settings.models, entry);
    let models = |entries: &[ModelEntry]| -> Result<Vec<PlanModel>, Failure> {
        entries.iter().map(model).collect()
    };
    let models = SafetyPlanModels {
        attacker: model(&job.cast.attacker)?,
        judges: models(&job.cast.judges)?,
        targets: models(&job.cast.targets)?,
        system_prompt: job.system_prompt.as_ref().map(ToString::to_string),
    };
    let safety = &settings.safety;
    let shard = job.args.common.shard.shard();
    let mut groups = job.groups.clone();
    for group in &mut groups {
        group.cases.retain(|case| runs_case(shard, &case.id));
    }
    Ok(match job.args.mode {
        Mode::SingleTurn => plan_single_turn(&groups, &safety.single_turn(), &models),
        Mode::MultiTurn => plan_multi_turn(&groups, &safety.multi_turn(), &models, attacker_calls),
    })
}
