//! `safety single-turn`: prompts and their variations.

use clap::Args;
use probity::config::{IterationLayers, Variations, keys};
use schema::{nearest::hint, safety::GoOn};

use super::{
    EXIT_CODES,
    args::{CommonArgs, Mode, Names, SafetyArgs, setting},
};
use crate::flags::Overrides;

/// Put single prompts to the targets, then variations of those that failed
#[derive(Clone, Debug, Args)]
#[command(after_help = format!("Examples:\n  cargo xtask safety single-turn --scripted\n  \
    cargo xtask safety single-turn --test-case-groups self-harm-risk,privacy --fail-action-threshold 0.05 --junit safety.xml\n  \
    cargo xtask safety single-turn --test-cases advbench.csv --csv-column goal --max-cases 100 --dry-run\n\n{EXIT_CODES}"))]
pub struct SingleTurnArgs {
    /// Rewritten prompts for each case that continues to the next layer
    #[arg(long, value_name = "N", value_parser = setting::<Variations>, allow_negative_numbers = true)]
    variations: Option<Variations>,
    /// Layers after layer 0; 0 runs the seed prompts only
    #[arg(long, value_name = "N", value_parser = setting::<IterationLayers>, allow_negative_numbers = true)]
    maximum_iteration_layers: Option<IterationLayers>,
    /// How prompts are rewritten, in the order in which the strategies take turns: paraphrase, role_play, hypothetical,
    /// emotional_pressure, authority_claim, splitting, translation
    #[arg(long, value_name = "NAMES")]
    strategies: Option<Names>,
    /// Which cases continue to the next layer: failed, passed or all
    #[arg(long, value_name = "WHICH", value_parser = go_on)]
    go_on: Option<GoOn>,
    #[command(flatten)]
    common: CommonArgs,
}

impl From<SingleTurnArgs> for SafetyArgs {
    fn from(args: SingleTurnArgs) -> Self {
        let overrides = Overrides::default()
            .set(keys::VARIATIONS, "variations", args.variations.map(|n| *n))
            .set(
                keys::MAXIMUM_ITERATION_LAYERS,
                "maximum-iteration-layers",
                args.maximum_iteration_layers.map(|n| *n),
            )
            .set(keys::STRATEGIES, "strategies", args.strategies)
            .set(keys::GO_ON, "go-on", args.go_on.map(GoOn::name));
        Self {
            mode: Mode::SingleTurn,
            overrides: overrides.with(&args.common),
            common: args.common,
        }
    }
}

fn go_on(text: &str) -> Result<GoOn, String> {
    let word = text.trim().to_lowercase();
    word.parse().map_err(|_| {
        let near = hint(&word, &GoOn::NAMES, "known are");
        format!("expected failed, passed or all{near}")
    })
}
