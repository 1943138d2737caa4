//! The requests of a whole run for one benchmark, phase by phase.

use schema::{Benchmark, Phase, Scenario};

use super::{
    JUDGE_REPLY, METRICS_REPLY, PROMPT, PlanModel, PlanRow, PlanSettings, PlannedCalls, Range,
    SCENARIO_REPLY, SCENARIO_TEXT, and_further,
    conversation::{ConversationPlan, Tools},
    cut, each, part_of, tokens,
};
use crate::needed_scenarios::NeededScenarios;

/// The rows of one benchmark.
pub(super) fn plan_benchmark(
    name: &str,
    benchmark: &Benchmark,
    scenarios: &[Scenario],
    wanted: &NeededScenarios,
    settings: &PlanSettings,
) -> Vec<PlanRow> {
    let context = benchmark.scenario.user_context.as_deref().unwrap_or("");
    let mut planner = Planner {
        name,
        benchmark,
        settings,
        brief: tokens(&benchmark.description).saturating_add(tokens(context)),
        plan: Vec::new(),
    };
    let metrics = planner.metrics();
    let rows = planner
        .scenarios(metrics, scenarios, wanted)
        .sampled(settings.samples);
    let tools = Tools::of(benchmark, settings);
    let turns = turns(scenarios, settings.turns);
    for target in &settings.targets {
        let conversation = ConversationPlan::new(settings, target, turns, planner.brief, &tools);
        planner.conversations(target, &rows, &conversation, &tools);
        planner.scores(target, rows.judged, &conversation);
    }
    planner.plan
}

/// The exchanges of a conversation: fixed messages are all sent, and a simulated user may leave after one.
fn turns(scenarios: &[Scenario], configured: u64) -> Range<u64> {
    let exchanges = |row: &Scenario| {
        let fixed = row.turns.len() as u64;
        match row.is_simulated() {
            true => (fixed.max(1), fixed.max(configured)),
            false => (fixed, fixed),
        }
    };
    let low = scenarios.iter().map(|row| exchanges(row).0).min();
    let high = scenarios.iter().map(|row| exchanges(row).1).max();
    Range {
        low: low.unwrap_or(1),
        high: high.unwrap_or(configured),
    }
}

/// The rows of each target.
#[derive(Clone, Copy, Default)]
struct Rows {
    all: Range<u64>,
    /// Those for which a model writes messages of the user.
    simulated: Range<u64>,
    /// Those that judges decide.
    judged: Range<u64>,
}

impl Rows {
    /// Existing scenarios of metrics that the benchmark has.
    fn of(benchmark: &Benchmark, scenarios: &[Scenario]) -> Self {
        let mut rows = Self::default();
        for row in scenarios {
            let Some(metric) = benchmark.metric(&row.metric_id) else {
                continue;
            };
            let one = |is: bool| Range::exact(u64::from(is));
            rows.all = rows.all + one(true);
            rows.simulated = rows.simulated + one(row.is_simulated());
            rows.judged = rows.judged + one(metric.check.is_none());
        }
        rows
    }

    fn sampled(self, samples: u64) -> Self {
        let sampled = |rows| each(rows, Range::exact(samples));
        Self {
            all: sampled(self.all),
            simulated: sampled(self.simulated),
            judged: sampled(self.judged),
        }
    }
}

struct Planner<'p> {
    name: &'p str,
    benchmark: &'p Benchmark,
    settings: &'p PlanSettings,
    /// Tokens of the benchmark's description.
    brief: u64,
    plan: Vec<PlanRow>,
}

impl Planner<'_> {
    fn push(
        &mut self,
        phase: Phase,
        (who, target): (String, Option<&PlanModel>),
        rows: Range<u64>,
        asked: &PlannedCalls,
        model: &PlanModel,
    ) {
        let who = (who, target.map(|target| &target.id));
        let rows = PlanRow::with_calls(self.name, phase, who, rows, asked, model);
        self.plan.extend(rows);
    }

    /// Plans the metrics if the benchmark has none. Returns how many there will be.
    fn metrics(&mut self) -> Range<u64> {
        let have = self.benchmark.metrics.len() as u64;
        if have > 0 {
            return Range::exact(have);
        }
        let generator = &self.settings.generator;
        let one = Range::exact(1);
        let asked = PlannedCalls {
            calls: one,
            input: Range::exact(self.brief.saturating_add(PROMPT)),
            output: METRICS_REPLY,
            are_alone: true,
            ..PlannedCalls::default()
        };
        let who = format!("generator {}", generator.id);
        self.push(Phase::GenMetrics, (who, None), one, &asked, generator);
        self.settings.metrics
    }

    /// Plans the scenarios to generate. Returns how many there will be for all metrics.
    fn scenarios(
        &mut self,
        metrics: Range<u64>,
        scenarios: &[Scenario],
        wanted: &NeededScenarios,
    ) -> Rows {
        let settings = self.settings;
        let benchmark = self.benchmark;
        let kept = Rows::of(benchmark, scenarios);
        let missing = match benchmark.metrics.is_empty() {
            true => metrics,
            false => Range::exact(wanted.metrics.len() as u64),
        };
        let per_metric = settings
            .scenarios_per_metric
            .saturating_mul(settings.variants);
        let have: u64 = wanted.metrics.iter().map(|metric| metric.have).sum();
        let made = each(missing, Range::exact(per_metric));
        let made = Range {
            low: made.low.saturating_sub(have),
            high: made.high.saturating_sub(have),
        };
        if missing.high > 0 {
            let prompt = self.brief.saturating_add(PROMPT);
            let input = Range {
                low: prompt,
                high: prompt.saturating_add(SCENARIO_TEXT.high),
            };
            // One call for each metric; with demographic axes, one call for each variant.
            let varied = match settings.demographics {
                true => per_metric,
                false => 0,
            };
            let calls = each(missing, Range::exact(varied.saturating_add(1)));
            let asked = PlannedCalls {
                calls,
                input: each(calls, input),
                output: each(made, SCENARIO_REPLY),
                are_alone: true,
                ..PlannedCalls::default()
            };
            let generator = &settings.generator;
            let who = format!("generator {}", generator.id);
            self.push(Phase::GenScenarios, (who, None), made, &asked, generator);
        }
        let mut wanted = wanted.metrics.iter();
        let judged = match benchmark.metrics.is_empty() || wanted.all(|m| m.metric.check.is_none())
        {
            true => made,
            // How many of them is not worth a second estimate.
            false => Range { low: 0, ..made },
        };
        Rows {
            all: kept.all + made,
            simulated: kept.simulated + made,
            judged: kept.judged + judged,
        }
    }

    /// Plans the conversations with a target: calls of the user, the target, the model behind simulated tools, and the
    /// judges of the conversation itself.
    fn conversations(
        &mut self,
        target: &PlanModel,
        of: &Rows,
        conversation: &ConversationPlan,
        tools: &Tools,
    ) {
        let settings = self.settings;
        let user = &settings.user;
        let rows = of.simulated;
        if rows.high > 0 || of.all.high == 0 {
            let asked = PlannedCalls {
                calls: each(rows, conversation.user_calls),
                input: each(rows, conversation.user_input),
                output: each(rows, conversation.user_output),
                prefixes: conversation.user_prefixes.each(rows),
                are_alone: false,
            };
            let who = format!("user {} for target {}", user.id, target.id);
            self.push(Phase::Simulate, (who, Some(target)), rows, &asked, user);
        }
        let rows = of.all;
        let asked = PlannedCalls {
            calls: each(rows, conversation.target_calls),
            input: each(rows, conversation.target_input),
            output: each(rows, conversation.target_output),
            prefixes: conversation.target_prefixes.each(rows),
            are_alone: conversation.target_calls.high <= 1,
        };
        let who = format!("target {}", target.id);
        let own = self.plan.len();
        self.push(Phase::Simulate, (who, Some(target)), rows, &asked, target);
        if let Some(row) = self.plan.get_mut(own) {
            row.is_target = true;
        }
        if tools.simulated {
            let asked = PlannedCalls {
                calls: each(rows, conversation.tool_calls),
                input: each(rows, conversation.tool_input),
                output: each(rows, conversation.tool_output),
                ..PlannedCalls::default()
            };
            let who = format!("tools {} for target {}", settings.tools.id, target.id);
            self.push(
                Phase::Simulate,
                (who, Some(target)),
                rows,
                &asked,
                &settings.tools,
            );
        }
        let share = settings.judge_users;
        let of_users = settings.judges.first().filter(|_| share > 0.0);
        let of_realism = settings.judges.iter().filter(|_| settings.judge_realism);
        let of_users = of_users.map(|judge| (judge, "the user", part_of(of.simulated, share)));
        let of_realism = of_realism.map(|judge| (judge, "realism", rows));
        for (judge, what, rows) in of_users.into_iter().chain(of_realism) {
            let asked = PlannedCalls {
                calls: rows,
                input: each(rows, conversation.judge_input),
                output: each(rows, cut(JUDGE_REPLY, judge.max_tokens)),
                ..PlannedCalls::default()
            };
            let who = format!("judge {} of {what} for target {}", judge.id, target.id);
            self.push(Phase::Simulate, (who, Some(target)), rows, &asked, judge);
        }
    }

    /// Plans the judging of a target's conversations.
    fn scores(&mut self, target: &PlanModel, rows: Range<u64>, conversation: &ConversationPlan) {
        if rows.high == 0 && !self.benchmark.needs_judges() {
            return;
        }
        let further = |range| and_further(range, self.settings.further_judge_calls);
        for judge in &self.settings.judges {
            let asked = PlannedCalls {
                calls: further(rows),
                input: further(each(rows, conversation.judge_input)),
                output: further(each(rows, cut(JUDGE_REPLY, judge.max_tokens))),
                are_alone: true,
                ..PlannedCalls::default()
            };
            let who = format!("judge {} for target {}", judge.id, target.id);
            self.push(Phase::Evaluate, (who, Some(target)), rows, &asked, judge);
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::ModelId;

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

    #[test]
    fn numbers_that_no_run_could_reach_stop_at_the_largest() {
        let benchmark: Benchmark = serde_json::from_value(serde_json::json!({
            "name": "b",
            "description": "d",
            "metrics": [],
            "tools": [{"name": "t", "description": "", "parameters": {}, "simulated": true}],
        }))
        .unwrap();
        for most in [u64::from(u32::MAX), u64::MAX] {
            let settings = PlanSettings {
                metrics: Range { low: 1, high: most },
                scenarios_per_metric: most,
                variants: most,
                demographics: true,
                turns: most,
                samples: most,
                max_tool_steps: most,
                generator: model("g"),
                user: model("u"),
                tools: model("w"),
                judges: vec![model("j")],
                further_judge_calls: 0.1,
                judge_users: 1.0,
                judge_realism: true,
                targets: vec![model("t")],
            };
            let plan = plan_benchmark("b", &benchmark, &[], &NeededScenarios::default(), &settings);
            assert_eq!(plan.len(), 8);
            for row in &plan {
                assert!(row.calls.low <= row.calls.high, "{row:?}");
                assert!(row.input_tokens.low <= row.input_tokens.high, "{row:?}");
                assert!(row.output_tokens.low <= row.output_tokens.high, "{row:?}");
            }
            let all = plan
                .iter()
                .fold(Range::default(), |sum, row| sum + row.input_tokens);
            assert_eq!(all.high, u64::MAX);
        }
    }
}
