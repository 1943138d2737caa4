//! `show`: one conversation, with its verdicts.

use clap::Args;
use probity::{ShownRow, show_row};
use report::{label_conversation, label_hidden, label_metric, label_verdict};
use schema::{Conversation, Score};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, output::CommandOutput};
use crate::{
    benchmarks::one_benchmark,
    completion,
    exit::{Exit, Failure},
};

/// Show a conversation, its metric and its verdict
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask list honesty --verdict fail\n  cargo xtask show honesty m01_s002_v01__gpt-4.1 --hidden"
)]
pub struct ShowArgs {
    /// The benchmark
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: String,
    /// The conversation, by its id: see list
    #[arg(value_name = "CONVERSATION")]
    conversation: String,
    /// Show the system prompt, the user's instructions and the target's reasoning too
    #[arg(long)]
    hidden: bool,
    /// The result as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `show`.
#[derive(Serialize, JsonSchema)]
pub struct ShowOutput<'a> {
    /// The benchmark.
    benchmark: &'a str,
    /// The row of `conversations.json`.
    conversation: &'a Conversation,
    /// Its rows of `scores.json`.
    scores: &'a [Score],
}

impl CommandOutput for ShowOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["show"];
}

/// Prints the conversation.
///
/// # Errors
/// When the benchmark cannot be read, or has no such conversation.
pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let name = one_benchmark(&context.layout, &args.name)?;
    let shown = show_row(&context.layout, &name, &args.conversation)?;
    if args.json {
        let output = ShowOutput {
            benchmark: &name,
            conversation: &shown.conversation,
            scores: &shown.scores,
        };
        context.print_json("show", Exit::Complete, &output);
    } else {
        let text = text(&shown, args.hidden, context.terminal.width());
        context.terminal.print(&text);
    }
    Ok(Exit::Complete)
}

fn text(shown: &ShownRow, hidden: bool, columns: usize) -> String {
    let conversation = &shown.conversation;
    let mut parts = vec![label_conversation(conversation, columns)];
    if hidden {
        let system_prompt = shown.system_prompt.as_deref();
        parts.insert(0, label_hidden(conversation, system_prompt, columns));
    }
    if let Some(error) = &conversation.error {
        parts.push(format!("the conversation failed: {error}\n"));
    }
    for metric in &shown.metrics {
        let mut part = label_metric(metric, columns);
        match shown
            .scores
            .iter()
            .find(|score| score.metric_id == metric.id)
        {
            Some(score) => part.push_str(&label_verdict(metric, score, columns)),
            None => part.push_str("not judged yet\n"),
        }
        parts.push(part);
    }
    parts.join("\n")
}
