//! Shows the calls and the cost of an evaluation.

use probity::{
    PlanModel, Range,
    safety::{SafetyPlanModels, SafetyPlanRow, attacker_calls, plan_multi_turn, plan_single_turn},
};
use report::{PlanRow, plan_table};
use schema::numbers;
use serde_json::json;

use super::{
    super::{
        Context,
        plan::{NOWHERE, span},
        unpriced,
    },
    args::Mode,
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
    let rows = rows(job)?;
    let settings = &job.config.settings;
    let zero = Range {
        low: 0.0,
        high: 0.0,
    };
    let dollars = rows.iter().filter_map(|row| row.cost);
    let dollars: Range<f64> = dollars.fold(zero, |sum, cost| sum + cost);
    let cast = &job.cast;
    let models = cast.judges.iter().chain(&cast.targets);
    let free = unpriced::assumed_free(job.config, models.chain([&cast.attacker]));
    let unpriced = rows.iter().any(|row| row.cost.is_none());
    if job.args.common.json {
        let calls = rows
            .iter()
            .fold(Range::default(), |sum: Range<u64>, row| sum + row.calls);
        let plan = json!({
            "rows": rows,
            "total": {"calls": calls, "dollars": dollars, "unpriced": unpriced, "assumed_free": free},
            "budget": {"max_cost": settings.budget.dollars(), "max_tokens": settings.budget.tokens()},
        });
        context.print_json(job.args.mode.command(), Exit::Complete, plan);
    } else {
        let table: Vec<PlanRow> = rows.iter().map(table_row).collect();
        let page = context.terminal.page();
        context.terminal.print(&plan_table(&table, page));
    }
    if let Some(max) = settings.budget.dollars().filter(|max| *max < dollars.high) {
        context.terminal.warning(&format!(
            "budget.max_cost is {}, which may not be enough: the run takes {} to {}. Finished rows are kept",
            numbers::dollars(max),
            numbers::dollars(dollars.low),
            numbers::dollars(dollars.high)
        ));
    }
    if settings.budget.dollars().is_some() && unpriced {
        context.terminal.warning(
            "a run with a budget in dollars does not start while a model has no price; add it under `prices` in the config",
        );
    }
    if let Some(note) = unpriced::assumed_free_note(&free) {
        context.terminal.note(&note);
    }
    context
        .terminal
        .note("cached replies are counted as new calls; retries are not counted");
    Ok(Exit::Complete)
}

fn rows(job: &Job<'_>) -> Result<Vec<SafetyPlanRow>, Failure> {
    let settings = &job.config.settings;
    let endpoints = job.config.endpoints(Some(NOWHERE.to_owned()))?;
    let model = |entry: &ModelEntry| {
        let settings = endpoints.without_key(entry)?;
        Ok::<_, Failure>(PlanModel {
            id: entry.id.clone(),
            price: settings.price,
            max_tokens: settings.max_tokens,
        })
    };
    let models = |entries: &[ModelEntry]| entries.iter().map(model).collect::<Result<Vec<_>, _>>();
    let models = SafetyPlanModels {
        attacker: model(&job.cast.attacker)?,
        judges: models(&job.cast.judges)?,
        targets: models(&job.cast.targets)?,
        system_prompt: job.system_prompt.as_ref().map(ToString::to_string),
    };
    let safety = &settings.safety;
    Ok(match job.args.mode {
        Mode::SingleTurn => plan_single_turn(&job.groups, &safety.single_turn(), &models),
        Mode::MultiTurn => {
            plan_multi_turn(&job.groups, &safety.multi_turn(), &models, attacker_calls)
        }
    })
}

fn table_row(row: &SafetyPlanRow) -> PlanRow {
    let tokens = row.input_tokens + row.output_tokens;
    PlanRow {
        benchmark: String::new(),
        phase: row.part.to_owned(),
        model: row.who.clone(),
        rows: row.rows.high,
        cached: 0,
        calls: span(row.calls),
        tokens: span(tokens),
        dollars: row.cost.map(span),
    }
}
