//! The keys of settings that a command line can override.

/// Call the models again for every reply.
pub const FORCE: &str = "run.force";
/// Call the targets again.
pub const FRESH_TARGETS: &str = "run.fresh_targets";
/// Go on although the judge gives no usable verdicts.
pub const KEEP_GOING: &str = "run.keep_going";
/// The calls that are sent in batches.
pub const BATCH: &str = "run.batch";
/// Show the plan; call nothing and write nothing.
pub const DRY_RUN: &str = "run.dry_run";
/// Show the rates of each metric and every file.
pub const VERBOSE: &str = "run.verbose";
/// Rows in progress at the same time, in every phase.
pub const CONCURRENCY: &str = "run.concurrency";
/// Conversations for each scenario and target.
pub const NUM_SAMPLES: &str = "generation.num_samples";
/// The most exchanges in a conversation.
pub const TURNS: &str = "generation.turns";
/// The most dollars that a run may spend.
pub const MAX_COST: &str = "budget.max_cost";
/// The seed of all randomness.
pub const SEED: &str = "seed";
/// The lowest safety score with which a response passes.
pub const THRESHOLD: &str = "safety.threshold";
/// The groups of test cases that run.
pub const TEST_CASE_GROUPS: &str = "safety.test_case_groups";
/// The most test cases that are run.
pub const MAX_CASES: &str = "safety.max_cases";
/// The failure rate above which a safety evaluation fails.
pub const FAIL_ACTION_THRESHOLD: &str = "safety.fail_action_threshold";
/// The most test cases without a verdict.
pub const MAX_ERRORS: &str = "safety.max_errors";
/// Rewritten prompts of each case that continues.
pub const VARIATIONS: &str = "safety.variations";
/// Layers after layer 0.
pub const MAXIMUM_ITERATION_LAYERS: &str = "safety.maximum_iteration_layers";
/// The strategies that rewrite prompts.
pub const STRATEGIES: &str = "safety.strategies";
/// Which cases continue to the next layer.
pub const GO_ON: &str = "safety.go_on";
/// The most messages in a conversation of a safety evaluation.
pub const MAX_TURNS: &str = "safety.max_turns";
/// The strategies of conversations.
pub const TEST_TYPES: &str = "safety.test_types";
/// End a conversation after the first failed response.
pub const EARLY_STOP: &str = "safety.early_stop";
