//! The requests of one conversation.

use schema::Benchmark;

use super::{PROMPT, PlanModel, PlanSettings, Prefixes, Range, SCENARIO_TEXT, cut, tokens};

// Assumed lengths of messages in tokens: short and long chat replies as common models give them.
const USER_REPLY: Range<u64> = Range { low: 30, high: 200 };
const TARGET_REPLY: Range<u64> = Range { low: 60, high: 700 };
const TOOL_CALL: u64 = 80;
const TOOL_ANSWER: Range<u64> = Range { low: 15, high: 150 };
/// The most rounds of tool calls that a target is assumed to need in a turn, where the settings allow them. One call each.
const ROUNDS: u64 = 3;

/// The requests of one conversation.
pub(super) struct ConversationPlan {
    pub(super) user_calls: Range<u64>,
    pub(super) user_input: Range<u64>,
    pub(super) user_output: Range<u64>,
    pub(super) target_calls: Range<u64>,
    pub(super) target_input: Range<u64>,
    pub(super) target_output: Range<u64>,
    pub(super) judge_input: Range<u64>,
    pub(super) tool_calls: Range<u64>,
    pub(super) tool_input: Range<u64>,
    pub(super) tool_output: Range<u64>,
    pub(super) user_prefixes: Range<Prefixes>,
    pub(super) target_prefixes: Range<Prefixes>,
}

/// What a benchmark's tools add to a conversation.
pub(super) struct Tools {
    /// The most rounds of calls in a turn.
    rounds: u64,
    /// Whether a model answers some of the tools.
    pub(super) simulated: bool,
    /// Tokens of their definitions, as sent to the target.
    definitions: u64,
    /// Tokens of the world's state, as sent to the model behind simulated tools.
    world: u64,
    /// The most tokens of an answer.
    answer: u64,
}

impl Tools {
    pub(super) fn of(benchmark: &Benchmark, settings: &PlanSettings) -> Self {
        let definitions = benchmark
            .tools
            .iter()
            .map(|tool| tokens(&tool.description) + tokens(&tool.parameters.to_string()) + 20);
        let rounds = match benchmark.tools.is_empty() {
            true => 0,
            false => settings.max_tool_steps.min(ROUNDS),
        };
        Self {
            rounds,
            simulated: benchmark.tools.iter().any(|tool| tool.simulated),
            definitions: definitions.fold(0, u64::saturating_add),
            world: tokens(benchmark.world_state.as_deref().unwrap_or("")),
            answer: cut(TOOL_ANSWER, settings.tools.max_tokens).high,
        }
    }
}

/// The assumed length of a conversation.
struct Length {
    exchanges: u64,
    /// How often the user model is called.
    asked: u64,
    /// Tokens of the user's messages.
    user: u64,
    /// Tokens of the target's replies.
    reply: u64,
    /// Tokens of the scenario.
    scenario: u64,
    /// Rounds of tool calls in an exchange.
    rounds: u64,
}

impl Length {
    /// The tokens of the messages of an exchange.
    fn exchange(&self) -> u64 {
        self.user.saturating_add(self.reply)
    }

    /// Of the user model's requests. The newest message of each has notes that the next request has not.
    fn user_prefixes(&self, context: u64) -> Prefixes {
        let prompt = sum(&[PROMPT, self.scenario, context]);
        Prefixes::of_conversation((0..self.asked).map(|before| {
            let newest = if before > 0 { self.reply } else { 0 };
            sum(&[prompt, times(&[before, self.exchange()])]).saturating_sub(newest)
        }))
    }

    /// Of the target's requests: each repeats all of the one before, answers of tools included.
    fn target_prefixes(&self, context: u64, tools: &Tools) -> Prefixes {
        let first = sum(&[context, 20, self.user, tools.definitions]);
        let called = tools.answer.saturating_add(TOOL_CALL);
        let steps = self.rounds.saturating_add(1);
        let requests = 0..times(&[self.exchanges, steps]);
        Prefixes::of_conversation(requests.map(|before| {
            let exchanges = before / steps;
            let calls = before.saturating_sub(exchanges);
            sum(&[
                first,
                times(&[exchanges, self.exchange()]),
                times(&[calls, called]),
            ])
        }))
    }
}

impl ConversationPlan {
    /// The lower bound: the conversation has the fewest exchanges of `turns` and no tool is called. The upper bound: it has the most of
    /// them, with `tools.rounds` calls in each.
    pub(super) fn new(
        settings: &PlanSettings,
        target: &PlanModel,
        turns: Range<u64>,
        context: u64,
        tools: &Tools,
    ) -> Self {
        let low = Length {
            exchanges: turns.low,
            asked: turns.high.min(turns.low.saturating_add(1)),
            user: USER_REPLY.low,
            reply: TARGET_REPLY.low,
            scenario: SCENARIO_TEXT.low,
            rounds: 0,
        };
        let high = Length {
            exchanges: turns.high,
            asked: turns.high,
            user: cut(USER_REPLY, settings.user.max_tokens).high,
            reply: cut(TARGET_REPLY, target.max_tokens).high,
            scenario: SCENARIO_TEXT.high,
            rounds: tools.rounds,
        };
        let user_prefixes = Range {
            low: low.user_prefixes(context),
            high: high.user_prefixes(context),
        };
        let target_prefixes = Range {
            low: low.target_prefixes(context, tools),
            high: high.target_prefixes(context, tools),
        };
        let low = Self::of_length(&low, context, tools);
        let high = Self::of_length(&high, context, tools);
        let range = |n: usize| Range {
            low: low[n],
            high: high[n].max(low[n]),
        };
        Self {
            user_calls: range(0),
            user_input: range(1),
            user_output: range(2),
            target_calls: range(3),
            target_input: range(4),
            target_output: range(5),
            judge_input: range(6),
            tool_calls: range(7),
            tool_input: range(8),
            tool_output: range(9),
            user_prefixes,
            target_prefixes,
        }
    }

    /// Calls and tokens of a conversation of this length.
    fn of_length(length: &Length, context: u64, tools: &Tools) -> [u64; 10] {
        let &Length {
            exchanges,
            asked,
            user,
            reply,
            scenario,
            rounds,
        } = length;
        // Turn t repeats the messages of the t-1 exchanges before it.
        let repeated = |turns: u64| times(&[pairs(turns), user.saturating_add(reply)]);
        let calls = exchanges.saturating_mul(rounds);
        let replies = exchanges.saturating_add(calls);
        let called = calls.saturating_mul(tools.answer.saturating_add(TOOL_CALL));
        // Each request for a call repeats all earlier calls, and so does the request for the reply of each exchange.
        let repeated_calls = called.saturating_mul(replies) / 2;
        let prompt = sum(&[PROMPT, scenario, context]);
        let definitions = sum(&[context, 20, user, tools.definitions]);
        let tool_prompt = sum(&[PROMPT, tools.world, tools.definitions]);
        let earlier_calls = times(&[pairs(calls), tools.answer.saturating_add(TOOL_CALL)]);
        [
            asked,
            sum(&[times(&[asked, prompt]), repeated(asked)]),
            times(&[asked, user]),
            replies,
            sum(&[
                times(&[replies, definitions]),
                times(&[repeated(exchanges), rounds.saturating_add(1)]),
                repeated_calls,
            ]),
            sum(&[times(&[exchanges, reply]), times(&[calls, TOOL_CALL])]),
            sum(&[
                PROMPT,
                times(&[exchanges, user.saturating_add(reply)]),
                called,
            ]),
            calls,
            sum(&[times(&[calls, tool_prompt]), earlier_calls]),
            times(&[calls, tools.answer]),
        ]
    }
}

/// The number of pairs among `n` things.
fn pairs(n: u64) -> u64 {
    // One of the two factors is even, so the division is exact.
    match n % 2 {
        0 => (n / 2).saturating_mul(n.saturating_sub(1)),
        _ => n.saturating_mul(n.saturating_sub(1) / 2),
    }
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().copied().fold(0, u64::saturating_add)
}

fn times(factors: &[u64]) -> u64 {
    factors.iter().copied().fold(1, u64::saturating_mul)
}
