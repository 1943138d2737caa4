//! The calls that a run would make, counted before the first one.

mod benchmark;
mod conversation;
mod judging;
mod prefixes;

use std::ops::Add;

use llm_client::{BatchSettings, Price, PromptCache};
use schema::{ModelId, Phase, Scenario};
use schemars::JsonSchema;
use serde::Serialize;

use self::benchmark::plan_benchmark;
pub use self::judging::plan_judging;
pub(crate) use self::prefixes::Prefixes;
use crate::{forecast::Forecast, needed_scenarios::needed};
use store::{Layout, RunError, plays, read_benchmark, read_scenarios, read_shard};

/// A range: the lowest and the highest expected value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Range_of_{T}")]
pub struct Range<T> {
    /// The lower end.
    pub low: T,
    /// The upper end.
    pub high: T,
}

impl<T: Copy> Range<T> {
    pub(crate) fn exact(n: T) -> Self {
        Self { low: n, high: n }
    }
}

/// Sums saturate at the largest number.
impl Add for Range<u64> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }
}

impl Add for Range<f64> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}

/// A model in a plan.
#[derive(Clone, Debug)]
pub struct PlanModel {
    /// The user's own name for the model.
    pub id: ModelId,
    /// Its price; `None`: unknown.
    pub price: Option<Price>,
    /// The most tokens of a reply, if a limit is set.
    pub max_tokens: Option<u32>,
    /// How its provider caches the beginning of requests, if it is known to.
    pub prompt_cache: Option<PromptCache>,
    /// Whether its provider takes batches: requests in them cost [`BatchSettings::PRICE`] of its price.
    pub batches: bool,
    /// For a program: the models that it calls through the run.
    pub calls: Vec<CalledModel>,
}

/// A model that a program calls through the run.
#[derive(Clone, Debug)]
pub struct CalledModel {
    /// The model.
    pub model: PlanModel,
    /// How often the program calls it for one request.
    pub calls: Range<u64>,
}

/// The settings of a plan.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// How many metrics are requested.
    pub metrics: Range<u64>,
    /// Scenarios for each metric, variants not counted.
    pub scenarios_per_metric: u64,
    /// Combinations of the demographic axes; 1 without axes.
    pub variants: u64,
    /// Whether there are axes at all. If so, each variant is a call.
    pub demographics: bool,
    /// Turns of a conversation.
    pub turns: u64,
    /// Samples of each scenario.
    pub samples: u64,
    /// The most rounds of tool calls in a turn, where a benchmark has tools.
    pub max_tool_steps: u64,
    /// The model that writes metrics and scenarios.
    pub generator: PlanModel,
    /// The model that simulates the user.
    pub user: PlanModel,
    /// The model that answers calls of simulated tools.
    pub tools: PlanModel,
    /// The judges: one, or a panel.
    pub judges: Vec<PlanModel>,
    /// The most calls that a judge makes for a row after the first one, on average.
    pub further_judge_calls: f64,
    /// The share of the conversations, 0 to 1, in which the first judge also reads the messages of the simulated user.
    pub judge_users: f64,
    /// Whether the judges also rate how realistic each conversation is.
    pub judge_realism: bool,
    /// The systems under test.
    pub targets: Vec<PlanModel>,
}

/// The requests of one phase to one model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanRow {
    /// The benchmark's folder name.
    pub benchmark: String,
    /// The phase.
    pub phase: Phase,
    /// In a safety evaluation: `variations`, `attack`, `target` or `judge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// The called model and, where there is one, the target: `judge gpt-4o`, `user gpt-4o for target llama`.
    pub who: String,
    /// The target that the model is called for; null for the phases that generate.
    pub target: Option<ModelId>,
    /// Whether the called model is that target.
    #[serde(skip)]
    pub is_target: bool,
    /// Rows of the phase.
    pub rows: Range<u64>,
    /// The rows whose replies are all in the cache. The numbers below cover the other rows.
    pub cached: u64,
    /// Calls. Retries and repeated questions are not counted.
    pub calls: Range<u64>,
    /// Tokens sent.
    pub input_tokens: Range<u64>,
    /// Tokens received.
    pub output_tokens: Range<u64>,
    /// Dollars; null: the price of the model is unknown.
    pub cost: Option<Range<f64>>,
    /// The same where the provider reads the beginning of each request of a conversation from its prompt cache. It keeps one for some minutes.
    pub cost_with_prompt_cache: Option<Range<f64>>,
    /// The same as `cost` where all requests that can be are sent in batches.
    pub cost_in_batches: Option<Range<f64>>,
}

/// The requests to one model, in calls and tokens.
#[derive(Default)]
pub(crate) struct PlannedCalls {
    pub(crate) calls: Range<u64>,
    pub(crate) input: Range<u64>,
    pub(crate) output: Range<u64>,
    /// What a prompt cache can have of the input.
    pub(crate) prefixes: Range<Prefixes>,
    /// Whether they can be sent in batches: no later request goes on with them.
    pub(crate) are_alone: bool,
}

impl PlanRow {
    /// The requests to `model` for these rows, and those that it makes of other models if it is a program. What it asks them is assumed to be as
    /// long as what it was asked itself, and so are the answers.
    pub(crate) fn with_calls(
        benchmark: &str,
        phase: Phase,
        (who, target): (String, Option<&ModelId>),
        rows: Range<u64>,
        planned: &PlannedCalls,
        model: &PlanModel,
    ) -> Vec<Self> {
        let of_called = model.calls.iter().map(|called| {
            let made = |range| each(range, called.calls);
            let calls = made(planned.calls);
            let longest_reply = called.model.max_tokens.map_or(u64::MAX, u64::from);
            let longest = each(calls, Range::exact(longest_reply));
            let output = made(planned.output);
            let planned = PlannedCalls {
                calls,
                input: made(planned.input),
                output: Range {
                    low: output.low.min(longest.low),
                    high: output.high.min(longest.high),
                },
                ..PlannedCalls::default()
            };
            let who = (format!("{} by {who}", called.model.id), target);
            // Programs get their answers directly.
            let model = PlanModel {
                batches: false,
                ..called.model.clone()
            };
            Self::new(benchmark, phase, who, rows, &planned, &model)
        });
        let others: Vec<Self> = of_called.collect();
        let own = Self::new(benchmark, phase, (who, target), rows, planned, model);
        [own].into_iter().chain(others).collect()
    }

    /// The requests to `model` for these rows, as if no reply was cached. `who` names the model and its target.
    pub(crate) fn new(
        benchmark: &str,
        phase: Phase,
        (who, target): (String, Option<&ModelId>),
        rows: Range<u64>,
        planned: &PlannedCalls,
        model: &PlanModel,
    ) -> Self {
        let (input, output) = (planned.input, planned.output);
        let price = model.price.as_ref();
        let cost = price.map(|price| planned.dollars(price, None));
        let of_price = match planned.are_alone && model.batches {
            true => BatchSettings::PRICE,
            false => 1.0,
        };
        Self {
            benchmark: benchmark.to_owned(),
            phase,
            part: None,
            who,
            target: target.cloned(),
            is_target: false,
            rows,
            cached: 0,
            calls: planned.calls,
            input_tokens: input,
            output_tokens: output,
            cost,
            cost_with_prompt_cache: price.map(|price| planned.dollars(price, model.prompt_cache)),
            cost_in_batches: cost.map(|cost| Range {
                low: cost.low * of_price,
                high: cost.high * of_price,
            }),
        }
    }

    /// All costs, as far as they are known.
    fn costs(&mut self) -> impl Iterator<Item = &mut Range<f64>> {
        let costs = [
            &mut self.cost,
            &mut self.cost_with_prompt_cache,
            &mut self.cost_in_batches,
        ];
        costs.into_iter().flatten()
    }

    /// Leaves out everything: the whole run was looked up, it has this many rows at most, and all of their replies are in the cache.
    pub fn all_cached(&mut self, rows: u64) {
        self.rows = Range::exact(rows.min(self.rows.high));
        self.cached = self.rows.high;
        self.calls = Range::default();
        self.input_tokens = Range::default();
        self.output_tokens = Range::default();
        self.costs().for_each(|cost| *cost = Range::exact(0.0));
    }

    /// Leaves out the rows whose replies are all in the cache, according to `found`. If not all rows were looked up, the cached
    /// share of those that were is applied to all rows. All rows are assumed to be alike.
    pub fn without_cached(&mut self, found: &Forecast) {
        let all = found.cached.saturating_add(found.new);
        let cached = match found.more {
            true => part(self.rows.high, found.cached, all),
            false => found.cached,
        };
        self.cached = cached.min(self.rows.low);
        let (rows, cached) = (self.rows, self.cached);
        for range in [
            &mut self.calls,
            &mut self.input_tokens,
            &mut self.output_tokens,
        ] {
            range.low = part(range.low, rows.low.saturating_sub(cached), rows.low);
            range.high = part(range.high, rows.high.saturating_sub(cached), rows.high);
        }
        for cost in self.costs() {
            cost.low *= share_without(cached, rows.low);
            cost.high *= share_without(cached, rows.high);
        }
    }

    /// Lowers the lower ends by the rows whose replies are all in the cache according to `kept`: a look at the cache in which the targets'
    /// replies count. When targets are called again and say what they said before, the replies of the other models come from the cache.
    pub fn with_kept(&mut self, kept: &Forecast) {
        if self.is_target {
            return;
        }
        let mut least = self.clone();
        least.without_cached(kept);
        self.calls.low = least.calls.low;
        self.input_tokens.low = least.input_tokens.low;
        self.output_tokens.low = least.output_tokens.low;
        for (cost, least) in self.costs().zip(least.costs()) {
            cost.low = least.low;
        }
    }
}

impl PlannedCalls {
    /// What they cost at a model with such a prompt cache.
    fn dollars(&self, price: &Price, cache: Option<PromptCache>) -> Range<f64> {
        let cost =
            |input, output, prefixes| prefixes::cost(price, cache, (input, output), prefixes);
        Range {
            low: cost(self.input.low, self.output.low, self.prefixes.low),
            high: cost(self.input.high, self.output.high, self.prefixes.high),
        }
    }
}

/// The share of `rows` that is left without `cached` of them.
#[expect(clippy::cast_precision_loss, reason = "no plan has 2^53 rows")]
fn share_without(cached: u64, rows: u64) -> f64 {
    match rows {
        0 => 1.0,
        rows => rows.saturating_sub(cached) as f64 / rows as f64,
    }
}

/// `n * some / all`, rounded up.
fn part(n: u64, some: u64, all: u64) -> u64 {
    if all == 0 {
        return n;
    }
    let part = (u128::from(n) * u128::from(some)).div_ceil(u128::from(all));
    u64::try_from(part).unwrap_or(u64::MAX)
}

// Assumed lengths of replies and prompts in tokens: short and long chat replies as common models give them. A limit on a model's
// reply also limits the long one.
pub(crate) const JUDGE_REPLY: Range<u64> = Range { low: 40, high: 250 };
const METRICS_REPLY: Range<u64> = Range {
    low: 400,
    high: 1500,
};
const SCENARIO_REPLY: Range<u64> = Range {
    low: 150,
    high: 500,
};
const SCENARIO_TEXT: Range<u64> = Range {
    low: 150,
    high: 400,
};
/// The fixed part of a prompt.
pub(crate) const PROMPT: u64 = 350;

/// The requests of a whole run on these benchmarks. Cached replies are counted as if they were not cached, until
/// [`PlanRow::without_cached`] leaves them out. For a benchmark with tools, a conversation is assumed to have between no tool calls
/// and three in every turn, where `max_tool_steps` allows as many; a target that calls tools more often exceeds the plan.
///
/// # Errors
/// When a benchmark cannot be read.
pub fn plan(
    layout: &Layout,
    benchmarks: &[String],
    settings: &PlanSettings,
) -> Result<Vec<PlanRow>, RunError> {
    let mut rows = Vec::new();
    for name in benchmarks {
        let dir = layout.benchmark(name)?;
        let benchmark = read_benchmark(&dir)?;
        let scenarios = read_scenarios(&dir)?;
        let wanted = needed(&dir, &benchmark, &scenarios, false);
        let part = read_shard(&dir)?.and_then(|file| file.shard());
        let played: Vec<Scenario> = scenarios
            .iter()
            .filter(|row| plays(part, row))
            .cloned()
            .collect();
        rows.extend(plan_benchmark(name, &benchmark, &played, &wanted, settings));
    }
    Ok(rows)
}

pub(crate) fn each(times: Range<u64>, of: Range<u64>) -> Range<u64> {
    Range {
        low: times.low.saturating_mul(of.low),
        high: times.high.saturating_mul(of.high),
    }
}

/// A `share` of the calls in `range`, 0 to 1. Which rows belong to it is not known: at the least it is none of them.
pub(crate) fn part_of(range: Range<u64>, share: f64) -> Range<u64> {
    if share >= 1.0 {
        return range;
    }
    let none = Range {
        high: range.high,
        low: 0,
    };
    let further = and_further(none, share);
    Range {
        high: further.high.saturating_sub(range.high),
        low: 0,
    }
}

/// `range` with its upper end increased by this share.
pub(crate) fn and_further(range: Range<u64>, share: f64) -> Range<u64> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a plan is an estimate, and the cast stops at the largest number"
    )]
    let more = (range.high as f64 * share).ceil() as u64;
    Range {
        high: range.high.saturating_add(more),
        ..range
    }
}

pub(crate) fn cut(reply: Range<u64>, max_tokens: Option<u32>) -> Range<u64> {
    let max = max_tokens.map_or(u64::MAX, u64::from);
    Range {
        low: reply.low.min(max),
        high: reply.high.min(max),
    }
}

/// About four characters a token.
pub(crate) fn tokens(text: &str) -> u64 {
    text.chars().count() as u64 / 4
}
