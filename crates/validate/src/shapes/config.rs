//! The configuration. It is read by hand, with the line of every mistake; a test holds these shapes to what the reader knows.

use std::collections::BTreeMap;

use schema::Extra;
use schemars::JsonSchema;

use super::config_values::{
    Amount, Count, Flag, Fraction, Length, Messages, Names, Natural, Paths, Prompts, Range,
    Temperature, Text, Whole,
};

macro_rules! sections {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its schema is used")]
        $vis struct $name { $($(#[$field_doc])* $field: Option<$type>,)* })*
    };
}

sections! {
    /// What decides what a run does: `config.yaml`, or `probity.toml` in TOML. Every text may hold `${NAME}`, which stands for an
    /// environment variable. Keys that are not here are ignored with a warning, or refused where they are nearly a known one.
    pub(crate) struct Config {
        /// Plays the user.
        user_model: Model,
        /// Writes metrics and scenarios. Default: `user_model`.
        generator_model: Model,
        /// Judges.
        evaluator_model: Model,
        /// Makes up the answers of simulated tools. Default: `user_model`.
        tool_model: Model,
        /// The systems under test.
        targets: Vec<Model>,
        /// How the command runs.
        run: Run,
        /// How much is generated and played.
        generation: Generation,
        /// `{axis: [values]}`: every combination is a variant of each scenario.
        demographics: BTreeMap<String, Vec<Text>>,
        /// The simulated user types carelessly.
        perfunctory: Flag,
        /// Scenarios have instructions for single turns.
        landmarks: Flag,
        /// Templates of one's own: `{name: file}`, beside the configuration file.
        prompts: Prompts,
        /// What grades compare with: a file, or a folder of files named after benchmarks.
        standards: Text,
        /// Prices that win over the shipped ones.
        prices: Vec<Price>,
        /// What the run may spend.
        budget: Budget,
        /// The response cache.
        cache: Cache,
        /// The run's journal.
        journal: JournalSettings,
        /// Limits of every endpoint that has none of its own.
        limits: Limits,
        /// Calls that fail in passing.
        retries: Retries,
        /// What all randomness of the run comes from.
        seed: Natural,
        /// Safety evaluations.
        safety: Safety,
    }

    /// How the command runs.
    struct Run {
        /// Call the models again for every reply.
        force: Flag,
        /// Show the plan; call nothing, write nothing.
        dry_run: Flag,
        /// Diagnostics from `info` on.
        verbose: Flag,
        /// Rows in work: one number for every phase, or one for each.
        concurrency: Concurrency,
    }

    /// How much is generated and played.
    struct Generation {
        /// How many metrics.
        metrics: Range,
        /// Scenarios for each metric; demographic variants not counted.
        scenarios_per_metric: Count,
        /// The most exchanges in a conversation.
        turns: Count,
        /// Conversations for each scenario and target.
        num_samples: Count,
        /// Rounds of tool calls in one turn at most.
        max_tool_steps: Count,
    }

    /// What the run may spend.
    struct Budget {
        /// In dollars. Needs a price for every model.
        max_cost: Amount,
        /// In tokens.
        max_tokens: Count,
    }

    /// The response cache.
    struct Cache {
        /// Replies older than this are asked for again.
        expiry: Length,
    }

    /// The run's journal.
    struct JournalSettings {
        /// Written as `.jsonl.zst`.
        compress: Flag,
    }

    /// How hard an endpoint is used at most.
    struct Limits {
        /// Calls in flight.
        max_concurrency: Count,
        /// Calls started per minute.
        requests_per_minute: Count,
        /// Tokens per minute.
        tokens_per_minute: Count,
    }

    /// Calls that fail in passing.
    struct Retries {
        /// How often a call is tried, the first time included.
        max_attempts: Count,
        /// How long a model may answer nothing well before its calls fail at once.
        circuit_breaker: Length,
    }

    /// The price of a model, in dollars per million tokens.
    struct Price {
        /// The name on the wire. Required.
        model: Text,
        /// Only where this source serves it.
        source: Text,
        /// For tokens sent. Required.
        input: Amount,
        /// For tokens received. Required.
        output: Amount,
        /// For tokens that the endpoint had cached.
        cached_input: Amount,
    }

    /// Safety evaluations.
    struct Safety {
        /// Rewrites prompts and attacks. Default: `user_model`.
        attacker_model: Model,
        /// One judge, or a panel. Default: `evaluator_model`.
        judge_models: OneOrMore,
        /// Packs of seed cases: files or folders. Default: the shipped ones.
        test_cases: Paths,
        /// The groups that run. Default: all.
        test_case_groups: Names,
        /// The score from which a response passes.
        threshold: Fraction,
        /// How many cases are run at most.
        max_cases: Count,
        /// The failure rate above which the command ends with 1.
        fail_action_threshold: Fraction,
        /// How many errors are allowed.
        max_errors: Natural,
        /// Rewritten prompts of each case that continues: 1 to 1000.
        variations: Count,
        /// Layers after layer 0: 0 to 100.
        maximum_iteration_layers: Natural,
        /// Which cases continue: `failed`, `passed` or `all`.
        go_on: Text,
        /// The variation strategies, in the order they take turns.
        strategies: Names,
        /// Messages of a conversation at most.
        max_turns: Messages,
        /// The multi-turn strategies.
        test_types: Names,
        /// A conversation ends once its verdict cannot change.
        early_stop: Flag,
        /// What the targets are told first.
        system_prompt: Text,
        /// The same, in a file.
        system_prompt_file: Text,
    }

    /// A model in full.
    struct ModelTable {
        /// The user's own name for it; of a target, the name of a folder. Default: the model's name.
        id: Text,
        /// The name that the endpoint knows. Required. A leading `<source>/` is not part of it.
        model: Text,
        /// Who serves it: a provider's name, or `scripted`.
        source: Text,
        /// Any OpenAI-compatible endpoint. Wins over the source's own.
        base_url: Text,
        /// The key. Keep it in a variable: `${OPENAI_API_KEY}`.
        apikey: Text,
        /// The same as `apikey`.
        api_key: Text,
        /// More headers: `{Name: value}`.
        extra_headers: BTreeMap<String, Text>,
        /// The longest reply, in tokens.
        max_tokens: Count,
        /// Sent where it is set.
        temperature: Temperature,
        /// Sent where it is set.
        top_p: Fraction,
        /// The endpoint's sampling seed.
        seed: Whole,
        /// `low`, `high`, or whatever the endpoint knows.
        reasoning_effort: Text,
        /// Who writes the tag that opens a reasoning block: the `reply`, or the chat `template`. Counts for targets.
        reasoning_opened_by: Text,
        /// Further fields of the request, sent as they are.
        extra_body: Extra,
        /// Under which name `max_tokens` is sent: `auto`, `max_tokens`, `max_completion_tokens`.
        token_limit: Text,
        /// The strongest reply format that is asked for: `auto`, `json_schema`, `json_object`, `text`.
        structured: Text,
        /// How long one call may take.
        timeout: Length,
        /// Limits of its endpoint.
        limits: Limits,
    }

    /// Rows in work, by phase.
    struct ByPhase {
        /// Of gen-scenarios.
        gen_scenarios: Count,
        /// Of simulate, for each target.
        simulate: Count,
        /// Of evaluate, for each target.
        evaluate: Count,
    }
}

/// A model: a table, or `provider/model`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Model {
    Table(Box<ModelTable>),
    Name(String),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum OneOrMore {
    More(Vec<Model>),
    One(Model),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum Concurrency {
    ByPhase(ByPhase),
    All(Count),
}
