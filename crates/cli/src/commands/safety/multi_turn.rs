//! `safety multi-turn`: conversations with an attacker.

use clap::Args;
use probity::config::keys;
use schema::safety::MaxTurns;

use super::{
    EXIT_CODES,
    args::{CommonArgs, Mode, Names, SafetyArgs, setting},
};
use crate::flags::Overrides;

/// Let an attacker talk to the targets, in conversations that adapt to their replies
#[derive(Clone, Debug, Args)]
#[command(after_help = format!("Examples:\n  cargo xtask safety multi-turn --scripted\n  \
    cargo xtask safety multi-turn --max-turns 8 --test-types user_persona --target gpt-4.1-mini\n\n{EXIT_CODES}"))]
pub struct MultiTurnArgs {
    /// The most messages in a conversation, an even number: 8 is four user and four assistant messages
    #[arg(long, value_name = "N", value_parser = setting::<MaxTurns>, allow_negative_numbers = true)]
    max_turns: Option<MaxTurns>,
    /// The strategies to simulate each case with: user_persona, semantic_chunks
    #[arg(long, value_name = "NAMES")]
    test_types: Option<Names>,
    /// End a conversation after the first failed response
    #[arg(long)]
    early_stop: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl From<MultiTurnArgs> for SafetyArgs {
    fn from(args: MultiTurnArgs) -> Self {
        let overrides = Overrides::default()
            .set(keys::MAX_TURNS, "max-turns", args.max_turns.map(u32::from))
            .set(keys::TEST_TYPES, "test-types", args.test_types)
            .switch(keys::EARLY_STOP, "early-stop", args.early_stop);
        Self {
            mode: Mode::MultiTurn,
            overrides: overrides.with(&args.common),
            common: args.common,
        }
    }
}
