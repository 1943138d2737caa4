//! `run --until` and `--until-width`: a run that stops when the rules of its gate are decided, or the differences of its targets, or when
//! intervals are narrow enough.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use probity::{
    StopWhenDecided,
    gate::{GateNames, GateSubject, read_gate_rules},
};
use schema::{
    gate::{GateRules, GateScope},
    sequence::RunUntil,
};
use store::WidthQuestion;

use crate::exit::Failure;

/// The heading of the flags.
pub const STOPS: &str = "A run that stops when it is decided";

/// When a run stops before its last scenario.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = STOPS)]
pub struct UntilArgs {
    /// Simulate scenarios in a random order until the rules of --gate are decided: `decided` ends when the answer of the gate is known,
    /// `each-decided` when every rule is. Without --gate: until it is known of each pair of targets whether they differ. Answers hold however
    /// often they are looked at
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true,
        group = "stops"
    )]
    until: Option<Until>,
    /// Simulate scenarios in a random order until the interval of each target's rate of all rows is at most this wide: 0.1 is ten points from
    /// end to end. `each-metric:0.2`: that of each metric. From ten scenarios on
    #[arg(long, value_name = "[each-metric:]WIDTH", value_parser = width, group = "stops", conflicts_with = "until")]
    until_width: Option<WidthQuestion>,
    /// Bet as if there were this many base scenarios, where more are to be added later
    #[arg(long, value_name = "SCENARIOS", requires = "until")]
    list_of: Option<u64>,
    /// Give a rule or a pair up when the chance that the rest of the scenarios decides it is below this; 0: never
    #[arg(long, value_name = "CHANCE", value_parser = chance, default_value = "0.05", requires = "until")]
    give_up: f64,
    /// What the order of the scenarios follows from: a whole number, or `random` for one that is drawn before the first call [default: the
    /// configuration's seed]
    #[arg(long, value_name = "SEED", value_parser = order_seed, requires = "stops")]
    order_seed: Option<OrderSeed>,
    /// Begin a new order. The gate and the report then say that there was an earlier one
    #[arg(long, requires = "stops")]
    restart: bool,
}

/// When a run stops.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Until {
    Decided,
    EachDecided,
}

/// What an order follows from.
#[derive(Clone, Copy, Debug)]
pub enum OrderSeed {
    Number(u64),
    Random,
}

impl OrderSeed {
    /// The number; of `random` one that nobody chose: of the random keys of the standard library's hash maps.
    pub fn number(self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        match self {
            Self::Number(seed) => seed,
            Self::Random => RandomState::new().hash_one(std::process::id()) >> 12,
        }
    }
}

impl From<Until> for RunUntil {
    fn from(until: Until) -> Self {
        match until {
            Until::Decided => Self::Decided,
            Until::EachDecided => Self::EachDecided,
        }
    }
}

/// A chance below which a rule is given up.
pub fn chance(text: &str) -> Result<f64, String> {
    let chance = text.parse().ok();
    chance
        .filter(|chance| (0.0..1.0).contains(chance))
        .ok_or_else(|| "must be a number from 0 and below 1".to_owned())
}

fn width(text: &str) -> Result<WidthQuestion, String> {
    let of_metrics = text.strip_prefix("each-metric:");
    let number: Option<f64> = of_metrics.unwrap_or(text).parse().ok();
    let is_width = |width: &f64| *width > 0.0 && *width < 1.0;
    let wrong = "must be a number above 0 and below 1, such as 0.1, or each-metric:0.2";
    Ok(WidthQuestion {
        width: number.filter(is_width).ok_or(wrong)?,
        scope: match of_metrics {
            Some(_) => GateScope::EachMetric,
            None => GateScope::All,
        },
    })
}

/// What `--order-seed` says.
pub fn order_seed(text: &str) -> Result<OrderSeed, String> {
    if text == "random" {
        return Ok(OrderSeed::Random);
    }
    let seed = text.parse().map(OrderSeed::Number);
    seed.map_err(|_| "must be a whole number of 0 or more, or `random`".to_owned())
}

impl UntilArgs {
    /// Whether the run stops before its last scenario.
    pub fn stops(&self) -> bool {
        self.until.is_some() || self.until_width.is_some()
    }

    /// How the run stops; `None` without the flag. `seed` is the configuration's.
    ///
    /// # Errors
    /// When the rules of the gate cannot be used, or a run cannot be stopped by one.
    pub fn stop(&self, gate: Option<&Path>, seed: u64) -> Result<Option<StopWhenDecided>, Failure> {
        let until = match (self.until, &self.until_width) {
            (None, None) => return Ok(None),
            (None, Some(_)) => RunUntil::Width,
            (Some(until), _) => until.into(),
        };
        // A width asks nothing of the gate, which is answered at the end.
        let gate = gate.filter(|_| self.until_width.is_none());
        let rules = gate.map(rules).transpose()?;
        Ok(Some(StopWhenDecided {
            until,
            width: self.until_width.clone(),
            list_of: self.list_of,
            baseline: gate
                .zip(rules.as_ref())
                .and_then(|(gate, rules)| named_baseline(gate, rules)),
            rules,
            give_up: self.give_up,
            seed: self.order_seed.map_or(seed, OrderSeed::number),
            is_seed_chosen: matches!(self.order_seed, Some(OrderSeed::Number(_))),
            restart: self.restart,
        }))
    }
}

/// The rules of a gate that say when to stop.
fn rules(gate: &Path) -> Result<GateRules, Failure> {
    let names = GateNames {
        subject: GateSubject::Benchmark(None),
        targets: None,
    };
    Ok(read_gate_rules(gate, names)?)
}

/// The baseline that the rules name, beside their file.
pub fn named_baseline(gate: &Path, rules: &GateRules) -> Option<PathBuf> {
    let named = Path::new(rules.baseline.as_ref()?);
    Some(match gate.parent() {
        Some(folder) => folder.join(named),
        None => named.to_owned(),
    })
}
