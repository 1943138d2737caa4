//! The calls that a safety run would make, counted before the first one.

use schema::{
    Phase,
    safety::{MultiTurnSettings, SingleTurnSettings, TestCase, TestCaseGroup},
};

use crate::plan::{
    JUDGE_REPLY, PlanModel, PlanRow, PlannedCalls, Prefixes, Range, cut, each, tokens,
};

/// The models of a plan.
#[derive(Clone, Debug)]
pub struct SafetyPlanModels {
    /// The model that rewrites or attacks.
    pub attacker: PlanModel,
    /// The judges of every message.
    pub judges: Vec<PlanModel>,
    /// The systems under test.
    pub targets: Vec<PlanModel>,
    /// The targets' system prompt.
    pub system_prompt: Option<String>,
}

/// The name of a safety evaluation in plans, where those of benchmarks have the benchmark's name.
const SINGLE_TURN: &str = "safety_single_turn";
const MULTI_TURN: &str = "safety_multi_turn";

// Assumed lengths of replies and prompts, in tokens.
const TARGET_REPLY: Range<u64> = Range { low: 60, high: 700 };
const ATTACKER_REPLY: Range<u64> = Range { low: 30, high: 250 };
const VARIATION: Range<u64> = Range { low: 25, high: 200 };
/// The fixed part of an attacker's prompt.
const ATTACKER_PROMPT: u64 = 600;
/// The fixed part of a judge's prompt: the rubric.
const JUDGE_PROMPT: u64 = 1000;
/// The most prompts that are counted: larger sums would overflow.
const MOST: u64 = 1_000_000_000_000;

/// The plan of a single-turn run. At least, the seeds run and nothing continues; at most, everything continues.
#[must_use]
pub fn plan_single_turn(
    groups: &[TestCaseGroup],
    settings: &SingleTurnSettings,
    models: &SafetyPlanModels,
) -> Vec<PlanRow> {
    let most = settings.max_cases.unwrap_or(u64::MAX).min(MOST);
    let seeds = count(groups).min(most);
    let (mut all, mut parents, mut layer) = (seeds, 0_u64, seeds);
    for _ in 0..settings.maximum_iteration_layers {
        // The layers after it would stay empty.
        if all >= most {
            break;
        }
        parents = parents.saturating_add(layer);
        layer = layer.saturating_mul(u64::from(settings.variations));
        layer = layer.min(most - all);
        all = all.saturating_add(layer);
    }
    let rows = Range {
        low: seeds,
        high: all,
    };
    let prompt = mean(groups, TestCase::seed_prompt);
    let prompt = Range {
        low: prompt,
        high: prompt.max(VARIATION.high),
    };
    let strategies = settings.strategies.len().max(1) as u64;
    let variations = u64::from(settings.variations);
    let asked = Range {
        low: 0,
        high: parents.saturating_mul(strategies.min(variations)),
    };
    let mut plan = Vec::new();
    for target in &models.targets {
        let reply = cut(TARGET_REPLY, target.max_tokens);
        if asked.high > 0 {
            let made = Range {
                low: 0,
                high: all - seeds,
            };
            let input = Range::exact(ATTACKER_PROMPT) + prompt + reply;
            let who = format!("attacker {} for target {}", models.attacker.id, target.id);
            let planned = PlannedCalls {
                calls: asked,
                input: each(asked, input),
                output: each(made, VARIATION),
                are_alone: true,
                ..PlannedCalls::default()
            };
            let who = (who, target);
            plan.extend(rows_of(
                SINGLE_TURN,
                "variations",
                who,
                made,
                &planned,
                &models.attacker,
            ));
        }
        let who = format!("target {}", target.id);
        let planned = PlannedCalls {
            calls: rows,
            input: each(rows, prompt + Range::exact(system(models))),
            output: each(rows, reply),
            are_alone: true,
            ..PlannedCalls::default()
        };
        plan.extend(rows_of(
            SINGLE_TURN,
            "target",
            (who, target),
            rows,
            &planned,
            target,
        ));
        let input = each(rows, Range::exact(JUDGE_PROMPT) + prompt + reply);
        plan.extend(judges(SINGLE_TURN, models, target, (rows, rows), input));
    }
    plan
}

/// The plan of a multi-turn run. At least, each conversation ends after one exchange; at most, it uses all messages.
/// `attacker_calls` returns how many calls the attacker of a test type makes for a number of exchanges; `None`: one
/// for each.
#[must_use]
pub fn plan_multi_turn(
    groups: &[TestCaseGroup],
    settings: &MultiTurnSettings,
    models: &SafetyPlanModels,
    attacker_calls: impl Fn(&str, u32) -> Option<u32>,
) -> Vec<PlanRow> {
    let most = settings.max_cases.unwrap_or(u64::MAX).min(MOST);
    let types = settings.test_types.len() as u64;
    let rows = Range::exact(count(groups).saturating_mul(types).min(most));
    let most = settings.max_turns.exchanges();
    let exchanges = Range {
        low: 1,
        high: u64::from(most),
    };
    let calls = each(rows, exchanges);
    let attacker_calls = &attacker_calls;
    // Some strategies make an extra call, for a plan.
    let asked = |exchanges: u32| {
        let types = settings.test_types.iter();
        types.map(move |name| attacker_calls(name, exchanges).unwrap_or(exchanges))
    };
    let attacks = Range {
        low: u64::from(asked(1).min().unwrap_or(1)),
        high: u64::from(asked(most).max().unwrap_or(most)),
    };
    let attacks = each(rows, attacks);
    let intent = mean(groups, TestCase::attack_intent);
    let attack = cut(ATTACKER_REPLY, models.attacker.max_tokens);
    let mut plan = Vec::new();
    for target in &models.targets {
        let reply = cut(TARGET_REPLY, target.max_tokens);
        let exchange = attack + reply;
        // Exchange t repeats the messages of the t-1 exchanges before it.
        let repeated = each(triangle(exchanges), exchange);
        // The attacker's newest message has notes that the next request has not.
        let first = Range::exact(ATTACKER_PROMPT + intent);
        let attacker_prefixes = prefixes(exchanges, first, exchange, reply);
        let target_first = Range::exact(system(models)) + attack;
        let target_prefixes = prefixes(exchanges, target_first, exchange, Range::default());
        let input = each(exchanges, Range::exact(ATTACKER_PROMPT + intent)) + repeated;
        let who = format!("attacker {} for target {}", models.attacker.id, target.id);
        let planned = PlannedCalls {
            calls: attacks,
            input: each(rows, input),
            output: each(attacks, attack),
            prefixes: attacker_prefixes.each(rows),
            are_alone: false,
        };
        plan.extend(rows_of(
            MULTI_TURN,
            "attack",
            (who, target),
            rows,
            &planned,
            &models.attacker,
        ));
        let input = each(exchanges, Range::exact(system(models)) + attack) + repeated;
        let who = format!("target {}", target.id);
        let planned = PlannedCalls {
            calls,
            input: each(rows, input),
            output: each(calls, reply),
            prefixes: target_prefixes.each(rows),
            are_alone: false,
        };
        plan.extend(rows_of(
            MULTI_TURN,
            "target",
            (who, target),
            rows,
            &planned,
            target,
        ));
        let input = each(exchanges, Range::exact(JUDGE_PROMPT) + exchange) + repeated;
        let input = each(rows, input);
        plan.extend(judges(MULTI_TURN, models, target, (rows, calls), input));
    }
    plan
}

/// What requests have that the next one begins with: the `first` tokens and the exchanges so far, except in all but the first one the last
/// `without` tokens.
fn prefixes(
    exchanges: Range<u64>,
    first: Range<u64>,
    exchange: Range<u64>,
    without: Range<u64>,
) -> Range<Prefixes> {
    let of = |exchanges: u64, first: u64, exchange: u64, without: u64| {
        Prefixes::of_conversation((0..exchanges).map(|before| {
            let all = first.saturating_add(before.saturating_mul(exchange));
            all.saturating_sub(if before > 0 { without } else { 0 })
        }))
    };
    Range {
        low: of(exchanges.low, first.low, exchange.low, without.low),
        high: of(exchanges.high, first.high, exchange.high, without.high),
    }
}

fn judges<'a>(
    kind: &'a str,
    models: &'a SafetyPlanModels,
    target: &'a PlanModel,
    (rows, calls): (Range<u64>, Range<u64>),
    input: Range<u64>,
) -> impl Iterator<Item = PlanRow> + use<'a> {
    models.judges.iter().flat_map(move |judge| {
        let who = format!("judge {} for target {}", judge.id, target.id);
        let planned = PlannedCalls {
            calls,
            input,
            output: each(calls, cut(JUDGE_REPLY, judge.max_tokens)),
            are_alone: true,
            ..PlannedCalls::default()
        };
        rows_of(kind, "judge", (who, target), rows, &planned, judge)
    })
}

/// The requests of `part` to `model`, and those that it makes of other models if it is a program.
fn rows_of(
    kind: &str,
    part: &'static str,
    (who, target): (String, &PlanModel),
    rows: Range<u64>,
    planned: &PlannedCalls,
    model: &PlanModel,
) -> Vec<PlanRow> {
    let phase = match part {
        "judge" => Phase::Evaluate,
        _ => Phase::Simulate,
    };
    let who = (who, Some(&target.id));
    let mut all = PlanRow::with_calls(kind, phase, who, rows, planned, model);
    for (at, row) in all.iter_mut().enumerate() {
        row.part = Some(part);
        row.is_target = part == "target" && at == 0;
    }
    all
}

fn count(groups: &[TestCaseGroup]) -> u64 {
    groups.iter().map(|group| group.cases.len() as u64).sum()
}

/// The mean length of the selected text over all cases, in tokens.
fn mean(groups: &[TestCaseGroup], text: impl Fn(&TestCase) -> &str) -> u64 {
    let cases = groups.iter().flat_map(|group| &group.cases);
    let sum: u64 = cases.map(|case| tokens(text(case)) + 1).sum();
    sum.div_ceil(count(groups).max(1))
}

fn system(models: &SafetyPlanModels) -> u64 {
    10 + tokens(models.system_prompt.as_deref().unwrap_or(""))
}

fn triangle(n: Range<u64>) -> Range<u64> {
    let of = |n: u64| n * n.saturating_sub(1) / 2;
    Range {
        low: of(n.low),
        high: of(n.high),
    }
}

#[cfg(test)]
mod tests {
    use schema::{
        ModelId,
        safety::{GoOn, MaxTurns, Threshold},
    };

    use super::*;

    fn model(id: &str) -> PlanModel {
        PlanModel {
            id: ModelId::new(id).unwrap(),
            price: None,
            max_tokens: None,
            prompt_cache: None,
            batches: false,
            calls: Vec::new(),
        }
    }

    fn models() -> SafetyPlanModels {
        SafetyPlanModels {
            attacker: model("a"),
            judges: vec![model("j"), model("k")],
            targets: vec![model("t")],
            system_prompt: None,
        }
    }

    fn groups() -> Vec<TestCaseGroup> {
        let case = |n: u32| TestCase::new(format!("c{n}"), "g", "Is it fine?");
        vec![TestCaseGroup {
            name: "g".to_owned(),
            description: None,
            cases: (0..10).map(case).collect(),
        }]
    }

    fn single(layers: u32, max_cases: Option<u64>) -> SingleTurnSettings {
        SingleTurnSettings {
            threshold: Threshold::new(0.5).unwrap(),
            variations: 3,
            maximum_iteration_layers: layers,
            go_on: GoOn::Failed,
            max_cases,
            strategies: vec!["x".to_owned(), "y".to_owned()],
        }
    }

    fn calls(plan: &[PlanRow]) -> Vec<(&'static str, u64, u64)> {
        let of = |row: &PlanRow| (row.part.unwrap(), row.calls.low, row.calls.high);
        plan.iter().map(of).collect()
    }

    #[test]
    fn layers_multiply_and_the_cap_holds() {
        let plan = plan_single_turn(&groups(), &single(2, None), &models());
        let want = [
            ("variations", 0, 80),
            ("target", 10, 130),
            ("judge", 10, 130),
            ("judge", 10, 130),
        ];
        assert_eq!(calls(&plan), want);
        let plan = plan_single_turn(&groups(), &single(2, Some(25)), &models());
        assert_eq!(calls(&plan)[1], ("target", 10, 25));
        let plan = plan_single_turn(&groups(), &single(0, Some(4)), &models());
        assert_eq!(calls(&plan)[0], ("target", 4, 4));
        let huge = single(100, None);
        assert_eq!(
            calls(&plan_single_turn(&groups(), &huge, &models()))[1].2,
            MOST
        );
    }

    #[test]
    fn conversations_end_after_one_exchange_or_go_all_the_way() {
        let settings = MultiTurnSettings {
            threshold: Threshold::new(0.5).unwrap(),
            max_turns: MaxTurns::new(8).unwrap(),
            test_types: vec!["x".to_owned(), "y".to_owned()],
            early_stop: false,
            max_cases: None,
        };
        let plan = plan_multi_turn(&groups(), &settings, &models(), |test_type, exchanges| {
            (test_type == "semantic_chunks").then_some(exchanges + 1)
        });
        let want = [
            ("attack", 20, 80),
            ("target", 20, 80),
            ("judge", 20, 80),
            ("judge", 20, 80),
        ];
        assert_eq!(calls(&plan), want);
    }
}
