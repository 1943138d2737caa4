//! Warnings and notes about replies with reasoning.

use probity::BenchmarkReport;
use schema::{ReasoningReplies, numbers::grouped, text::counted};

/// A warning for each target whose replies contain closing tags of reasoning blocks without opening ones.
pub fn unopened(report: &BenchmarkReport) -> Vec<String> {
    let some = report.reasoning.iter().filter(|all| all.unopened > 0);
    let line = |replies: &ReasoningReplies| {
        format!(
            "{}: {} of {} of {} have a closing tag such as </think> without an opening tag; the judge reads the whole \
             reply\nhelp: if the chat template of {} opens the block, set `reasoning_opened_by: template` for this target in the config \
             and run the same command again: cached replies are parsed again, without calls",
            report.name,
            grouped(replies.unopened),
            counted(replies.replies, "reply", "replies"),
            replies.sut,
            replies.sut,
        )
    };
    some.map(line).collect()
}

/// A note for each target whose replies contain reasoning.
pub fn with_reasoning(report: &BenchmarkReport) -> Vec<String> {
    let some = report.reasoning.iter().filter(|all| all.with_reasoning > 0);
    let line = |replies: &ReasoningReplies| {
        let ended = match replies.never_answered {
            0 => String::new(),
            n => format!("; {} of them ended before anything was said", grouped(n)),
        };
        format!(
            "{}: {} of {} of {} came with reasoning{ended}. It is kept as `reasoning` in conversations.json and is not judged",
            report.name,
            grouped(replies.with_reasoning),
            counted(replies.replies, "reply", "replies"),
            replies.sut,
        )
    };
    some.map(line).collect()
}
