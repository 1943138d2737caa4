//! The calls that a run would make, counted before the first one.

mod benchmark;
mod conversation;
mod judging;

use std::ops::Add;

use llm_client::Price;
use schema::{ModelId, Phase, Usage};
use serde::Serialize;

use self::benchmark::plan_benchmark;
pub use self::judging::plan_judging;
use crate::{forecast::Forecast, wanted::wanted};
use store::{Layout, RunError, read_benchmark, read_scenarios};

/// A range: the least and the most that is to be expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range<T> {
    /// The least.
    pub low: T,
    /// The most.
    pub high: T,
}

impl<T: Copy> Range<T> {
    fn exact(n: T) -> Self {
        Self { low: n, high: n }
    }
}

/// Counts stop at the largest number that there is.
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

/// A model that a plan counts with.
#[derive(Clone, Debug)]
pub struct PlanModel {
    /// The user's own name for it.
    pub id: ModelId,
    /// Its price; `None`: not known.
    pub price: Option<Price>,
    /// The most tokens of a reply, where that is set.
    pub max_tokens: Option<u32>,
}

/// The settings that a plan counts with.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// How many metrics are requested.
    pub metrics: Range<u64>,
    /// Scenarios for each metric, variants not counted.
    pub scenarios_per_metric: u64,
    /// Combinations of the demographic axes; 1 without axes.
    pub variants: u64,
    /// Whether there are axes at all: then each variant is a call.
    pub demographics: bool,
    /// Turns of a conversation.
    pub turns: u64,
    /// Samples of each scenario.
    pub samples: u64,
    /// Rounds of tool calls in a turn at most, where a benchmark has tools.
    pub max_tool_steps: u64,
    /// Writes metrics and scenarios.
    pub generator: PlanModel,
    /// Plays the user.
    pub user: PlanModel,
    /// Answers calls of simulated tools.
    pub tools: PlanModel,
    /// Judges: one, or a panel.
    pub judges: Vec<PlanModel>,
    /// Calls that a judge makes for a row beside the first, on the average at most.
    pub further_judge_calls: f64,
    /// Whether the first judge reads the messages of the simulated user too.
    pub judge_users: bool,
    /// Whether the judges read each conversation for how real it is, too.
    pub judge_realism: bool,
    /// The systems under test.
    pub targets: Vec<PlanModel>,
}

/// What one phase asks of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanRow {
    /// The benchmark's folder name.
    pub benchmark: String,
    /// The phase.
    pub phase: Phase,
    /// The model that is called, and for which target: `judge gpt-4o`, `user gpt-4o for target llama`.
    pub who: String,
    /// The target that it is called for; `None` for the phases that generate.
    pub target: Option<ModelId>,
    /// Rows of the phase.
    pub rows: Range<u64>,
    /// Those of them whose replies are all in the cache: see [`without_cached`](Self::without_cached). The numbers below are of the
    /// others.
    pub cached: u64,
    /// Calls. Retries and repeated questions are not counted.
    pub calls: Range<u64>,
    /// Tokens sent.
    pub input_tokens: Range<u64>,
    /// Tokens received.
    pub output_tokens: Range<u64>,
    /// Dollars; `None`: the price of the model is not known.
    pub cost: Option<Range<f64>>,
}

impl PlanRow {
    /// Leaves the rows out whose replies are all in the cache, as `found` has looked them up. Where not all rows were looked up, the
    /// share of those that were stands for the rest. All rows are taken to be alike.
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
        if let Some(cost) = &mut self.cost {
            #[expect(clippy::cast_precision_loss, reason = "no plan has 2^53 rows")]
            let share = |rows: u64| match rows {
                0 => 1.0,
                rows => (rows.saturating_sub(cached)) as f64 / rows as f64,
            };
            cost.low *= share(rows.low);
            cost.high *= share(rows.high);
        }
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

// What replies and prompts are taken to be long, in tokens. Short and long chat replies as common models give them; a limit on
// a model's reply cuts the long one.
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

/// What a whole run on these benchmarks would ask for. Replies that are in the cache already are counted as if they were not, until
/// [`PlanRow::without_cached`] leaves them out. Of a benchmark with tools, a conversation may have none of
/// their calls, or three in every turn where `max_tool_steps` allows as many; a target that continues for longer takes more.
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
        let scenarios = read_scenarios(&dir.scenarios())?;
        let wanted = wanted(&dir, &benchmark, &scenarios, false);
        rows.extend(plan_benchmark(
            name, &benchmark, &scenarios, &wanted, settings,
        ));
    }
    Ok(rows)
}

pub(crate) fn each(times: Range<u64>, of: Range<u64>) -> Range<u64> {
    Range {
        low: times.low.saturating_mul(of.low),
        high: times.high.saturating_mul(of.high),
    }
}

/// `range`, the upper end with this share more of it.
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

pub(crate) fn dollars(price: &Price, input: Range<u64>, output: Range<u64>) -> Range<f64> {
    let cost = |input_tokens, output_tokens| {
        price.cost(&Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        })
    };
    Range {
        low: cost(input.low, output.low),
        high: cost(input.high, output.high),
    }
}

/// About four characters a token.
pub(crate) fn tokens(text: &str) -> u64 {
    text.chars().count() as u64 / 4
}
