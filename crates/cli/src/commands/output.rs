//! JSON output: `--json`.

use journal::check::Verdict;
use probity::{BenchmarkReport, JournalEnd, RunReport};
use schema::PhaseCost;
use serde_json::{Map, Value, json};

use super::{Context, summary::tree_cost};
use crate::exit::Exit;
use llm_client::Tally;

/// The version of the `--json` output: see `docs/json-output.md`.
pub const FORMAT: &str = "1.5.0";

impl Context {
    /// Prints the result of `command` as one JSON object. The common keys come first, then those of `value`.
    pub fn print_json(&self, command: &str, exit: Exit, value: Value) {
        let mut object = Map::new();
        object.insert("format".to_owned(), FORMAT.into());
        object.insert("command".to_owned(), command.into());
        object.insert("exit_code".to_owned(), exit.code().into());
        if let Value::Object(own) = value {
            object.extend(own);
        }
        // A map with string keys can always be serialized.
        let text = serde_json::to_string_pretty(&object).unwrap_or_default();
        self.terminal.print_data(&format!("{text}\n"));
    }
}

/// The result of a run.
pub fn run(context: &Context, report: &RunReport, spent: &Tally) -> Value {
    let outcome = report.outcome().as_str();
    let benchmarks: Vec<Value> = report
        .benchmarks
        .iter()
        .map(|report| benchmark(context, report))
        .collect();
    json!({
        "run_id": report.run_id,
        "outcome": outcome,
        "judge_gave_up": report.judge_gave_up,
        "record": context.layout.run(&report.run_id),
        "replies": {
            "asked": spent.replies.saturating_sub(spent.cached_replies),
            "cached": spent.cached_replies,
            "failed": spent.failures,
        },
        "paid_now": cost(&spent.paid.to_phase_cost()),
        "benchmarks": benchmarks,
    })
}

fn benchmark(context: &Context, report: &BenchmarkReport) -> Value {
    let counts: Vec<Value> = report
        .counts
        .iter()
        .map(|((phase, target), rows)| json!({"phase": phase, "target": target, "rows": rows}))
        .collect();
    let incomplete = report.replies.iter().filter(|all| all.incomplete > 0);
    let incomplete: Vec<_> = incomplete.collect();
    let reasoning = report.reasoning.iter().filter(|all| all.any());
    let reasoning: Vec<_> = reasoning.collect();
    json!({
        "name": report.name,
        "results": report.summaries,
        "grades": report.grades,
        "counts": counts,
        "incomplete_replies": incomplete,
        "reasoning_replies": reasoning,
        "basis": report.basis,
        "findings": report.findings,
        "failures": report.failures,
        "files": report.files,
        "journal": report.journal.as_ref().map(journal),
        "cost_of_tree": cost(&tree_cost(context, &report.name)),
        "error": report.error.as_ref().map(ToString::to_string),
    })
}

/// The path of a journal, and the result of its check.
pub fn journal(journal: &JournalEnd) -> Value {
    let check = match journal.check.verdict() {
        _ if journal.trouble.is_some() => "incomplete",
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::NotCheckable(_) => "not_checkable",
    };
    json!({"path": journal.path, "check": check, "text": journal.verdict()})
}

/// A cost with all its keys, including null ones.
pub fn cost(cost: &PhaseCost) -> Value {
    json!({
        "dollars": cost.cost,
        "priced_dollars": cost.cost.or(cost.priced_cost),
        "unpriced_calls": cost.unpriced_calls,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
    })
}
