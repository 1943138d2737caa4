//! Warnings about replies that are empty or cut off, which cannot fail a negative metric by their missing part, and about
//! replies with reasoning.

use probity::{BenchmarkReport, imported_targets};
use schema::{IncompleteReplies, ReasoningReplies, text::counted};

use super::Context;

/// A warning for each target with conversations that contain an empty or cut-off reply.
pub fn incomplete(context: &Context, report: &BenchmarkReport) -> Vec<String> {
    let some = |replies: &&IncompleteReplies| replies.incomplete > 0;
    let imported = imported_targets(&context.layout, &report.name).unwrap_or_default();
    let line = |replies: &IncompleteReplies| {
        let imported = imported.iter().any(|target| target.id == replies.sut);
        format!(
            "{}: {} of {} conversations of {} hold an empty or cut-off reply ({}). An empty reply passes negative metrics. {}",
            report.name,
            replies.incomplete,
            replies.conversations,
            replies.sut,
            kinds(replies),
            advice(replies, imported)
        )
    };
    report.replies.iter().filter(some).map(line).collect()
}

/// A warning for each target whose replies contain closing tags of reasoning blocks without opening ones.
pub fn unopened(report: &BenchmarkReport) -> Vec<String> {
    let some = report.reasoning.iter().filter(|all| all.unopened > 0);
    let line = |replies: &ReasoningReplies| {
        format!(
            "{}: {} of {} of {} have a closing tag such as </think> without an opening tag; the judge reads the whole \
             reply\nhelp: if the chat template of {} opens the block, set `reasoning_opened_by: template` for this target in the config \
             and run the same command again: cached replies are parsed again, without calls",
            report.name,
            replies.unopened,
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
            n => format!("; {n} of them ended before anything was said"),
        };
        format!(
            "{}: {} of {} of {} came with reasoning{ended}. It is kept as `reasoning` in conversations.json and is not judged",
            report.name,
            replies.with_reasoning,
            counted(replies.replies, "reply", "replies"),
            replies.sut,
        )
    };
    some.map(line).collect()
}

fn kinds(replies: &IncompleteReplies) -> String {
    let kinds = [
        (replies.cut_off, "cut off by the token limit"),
        (replies.filtered, "stopped by the provider's filter"),
        (replies.empty, "empty"),
    ];
    let kinds = kinds.iter().filter(|(n, _)| *n > 0);
    let kinds: Vec<String> = kinds.map(|(n, what)| format!("{n} {what}")).collect();
    kinds.join(", ")
}

fn advice(replies: &IncompleteReplies, imported: bool) -> String {
    let id = &replies.sut;
    if imported {
        return "They were imported: only the program that simulated them can repeat them"
            .to_owned();
    }
    if replies.cut_off > 0 {
        return format!("Raise `max_tokens` of the target {id} in the config");
    }
    if replies.empty > 0 {
        return format!(
            "If {id} thinks before it answers, thinking may use up its tokens: raise `max_tokens` of the target in the config"
        );
    }
    format!("Its rates describe the filter more than {id}")
}
