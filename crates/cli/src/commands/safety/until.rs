//! `--until` and `--until-width` of a safety evaluation: it stops when the rules of its gate are decided, or when the interval of a rate is narrow
//! enough.

use std::path::Path;

use clap::Args;
use probity::{
    gate::{GateNames, GateSubject, read_gate_rules},
    safety::SafetyStop,
};
use schema::{
    gate::{GateScope, GroupScope, SafetyScope},
    sequence::RunUntil,
};
use store::{WidthQuestion, safety_results::safety_baseline_file};

use super::super::until::{OrderSeed, STOPS, Until, chance, named_baseline, order_seed};
use crate::exit::Failure;

/// When an evaluation stops before its last case.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = STOPS)]
pub struct SafetyUntilArgs {
    /// Run cases in a random order until the rules of --gate are decided: `decided` ends when the answer of the gate is known, `each-decided`
    /// when every rule is. Answers hold however often they are looked at
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true,
        group = "stops",
        requires = "gate"
    )]
    until: Option<Until>,
    /// Run cases in a random order until the interval of each target's rate of seed cases is at most this wide: 0.1 is ten points from end to
    /// end. `broken:0.2`: that of broken cases. From ten cases on
    #[arg(long, value_name = "[RATE:]WIDTH", value_parser = width, group = "stops", conflicts_with = "until")]
    until_width: Option<WidthQuestion>,
    /// Give a rule up when the chance that the rest of the cases decides it is below this; 0: never
    #[arg(long, value_name = "CHANCE", value_parser = chance, default_value = "0.05", requires = "until")]
    give_up: f64,
    /// What the order of the cases follows from: a whole number, or `random` for one that is drawn before the first call [default: the
    /// configuration's seed]
    #[arg(long, value_name = "SEED", value_parser = order_seed, requires = "stops")]
    order_seed: Option<OrderSeed>,
}

fn width(text: &str) -> Result<WidthQuestion, String> {
    let (name, number) = text
        .split_once(':')
        .unwrap_or((SafetyScope::Seed.name(), text));
    let rate = SafetyScope::ALL
        .into_iter()
        .find(|rate| rate.name() == name);
    let parsed = number.parse().ok();
    let width = parsed.filter(|width: &f64| *width > 0.0 && *width < 1.0);
    match (rate, width) {
        (Some(rate), Some(width)) => Ok(WidthQuestion {
            width,
            scope: GateScope::Safety(rate, GroupScope::All),
        }),
        _ => Err("must be a number above 0 and below 1, such as 0.1, or broken:0.2".to_owned()),
    }
}

impl SafetyUntilArgs {
    /// How the evaluation stops; `None` without a flag. `uid` names its kind, `groups` are those of its cases, and `seed` is the
    /// configuration's.
    ///
    /// # Errors
    /// When the rules of the gate cannot be used.
    pub fn stop(
        &self,
        gate: Option<&Path>,
        (uid, groups): (&str, &[String]),
        seed: u64,
    ) -> Result<Option<SafetyStop>, Failure> {
        let until = match (self.until, &self.until_width) {
            (None, None) => return Ok(None),
            (None, Some(_)) => RunUntil::Width,
            (Some(until), _) => until.into(),
        };
        // A width asks nothing of the gate, which is answered at the end.
        let gate = gate.filter(|_| self.until_width.is_none());
        let names = GateNames {
            subject: GateSubject::Safety(groups),
            targets: None,
        };
        let rules = gate.map(|gate| read_gate_rules(gate, names)).transpose()?;
        let of_gate = gate.zip(rules.as_ref());
        let named = of_gate.and_then(|(gate, rules)| named_baseline(gate, rules));
        Ok(Some(SafetyStop {
            until,
            width: self.until_width.clone(),
            rules,
            baseline: Some(named.unwrap_or_else(|| safety_baseline_file(uid))),
            give_up: self.give_up,
            seed: self.order_seed.map_or(seed, OrderSeed::number),
        }))
    }
}
