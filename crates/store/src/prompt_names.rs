//! The prompt templates that a benchmark's folder can hold.

/// The names of the prompts that can be replaced.
pub const PROMPT_NAMES: [&str; 12] = [
    "gen_metrics",
    "gen_scenarios",
    "gen_variant",
    "user_system",
    "user_opening",
    "user_turn",
    "target_system",
    "simulate_tool",
    "judge_system",
    "judge_user",
    "judge_rating_system",
    "judge_rating_user",
];
