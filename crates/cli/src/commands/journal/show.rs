//! `journal show`: prints the events of a run.

use std::{ops::ControlFlow, path::Path};

use clap::Args;
use jiff::Timestamp;
use journal::{Filter, ItemRenderer, ItemTimeline, ItemTimelines, Line, Since, Step};
use report::{JournalItem, JournalStep, journal_item, journal_line};
use schema::ItemKey;

use super::{
    super::Context,
    JournalSelection, find, names,
    page::{self, Page},
    read,
};
use crate::{
    completion,
    exit::{Exit, Failure},
};

/// Show the events: all of them, or one item with its messages
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without --prompt-id: one line for each event. With it: all messages, with times from the item's start.\n\n\
    Examples:\n  cargo xtask journal show\n  cargo xtask journal show --prompt-id m01_s001_v01 --sut gpt-4.1\n  \
    cargo xtask journal show run-20261121-015207-588619 --message \"retrying call\" --since 5m"
)]
pub struct ShowArgs {
    /// Which journal.
    #[command(flatten)]
    selection: JournalSelection,
    /// Only the items of this prompt, with all messages
    #[arg(long, value_name = "ID")]
    prompt_id: Option<String>,
    /// Only events of this system under test
    #[arg(long, value_name = "ID", add = completion::simulated_targets())]
    sut: Option<String>,
    /// Only events of this test
    #[arg(long, value_name = "ID")]
    test: Option<String>,
    /// Only events of this type, such as "sut exception"
    #[arg(long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Only events from this time on: 2026-11-21T01:52:03Z, or 90s, counted from the journal's start
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    /// The events as JSON, one a line
    #[arg(long)]
    json: bool,
}

/// Shows the requested items or events.
///
/// # Errors
/// When there is no such journal, or it does not contain the id.
pub fn run(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let path = find::journal(context, &args.selection)?;
    let filter = Filter {
        prompt_id: args.prompt_id.clone(),
        sut: args.sut.clone(),
        test: args.test.clone(),
        message: args.message.clone(),
        since: args.since,
    };
    let mut page = Page::new();
    let shown = if args.prompt_id.is_some() && !args.json {
        items(context, &path, &filter, &mut page)?
    } else {
        events(context, &path, &filter, args.json, &mut page)?
    };
    page.flush()?;
    if shown {
        return Ok(Exit::Complete);
    }
    match names::missing(&context.terminal, &path, &filter)? {
        Some(failure) => Err(failure),
        None => {
            context.terminal.note("no event matches");
            Ok(Exit::Complete)
        }
    }
}

/// Prints items with all messages. Returns whether there was any.
fn items(
    context: &Context,
    path: &Path,
    filter: &Filter,
    page: &mut Page,
) -> Result<bool, Failure> {
    let mut timelines = ItemTimelines::new(filter.clone());
    read::lines(&context.terminal, path, |line| {
        timelines
            .push(line)
            .map_err(|error| bad_line(path, line, &error))?;
        Ok(ControlFlow::Continue(()))
    })?;
    let width = page::width(&context.terminal);
    let mut shown = false;
    for (key, timeline) in timelines
        .into_items()
        .filter(|(_, timeline)| !timeline.steps.is_empty())
    {
        if shown && !page.write(b"\n\n")? {
            break;
        }
        shown = true;
        let text = journal_item(&item(key, timeline), width);
        if !page.write(text.as_bytes())? {
            break;
        }
    }
    Ok(shown)
}

/// Prints one line for each event. Returns whether there was any.
fn events(
    context: &Context,
    path: &Path,
    filter: &Filter,
    json: bool,
    page: &mut Page,
) -> Result<bool, Failure> {
    let edge = page::edge(&context.terminal);
    let mut start = None;
    let mut shown = false;
    read::lines(&context.terminal, path, |line| {
        if start.is_none() {
            start = line.time();
        }
        let (prompt_id, sut, test) = (
            line.prompt_id.as_deref(),
            line.sut.as_deref(),
            line.test.as_deref(),
        );
        let fits = filter.takes_message(&line.message)
            && filter.takes_item(prompt_id, sut, test)
            && filter.takes_time(line.time(), start);
        if !fits {
            return Ok(ControlFlow::Continue(()));
        }
        shown = true;
        let going = if json {
            let text = serde_json::to_string(line).map_err(|error| bad_line(path, line, &error))?;
            page.write(text.as_bytes())? && page.write(b"\n")?
        } else {
            let rendered = ItemRenderer::default()
                .render(line)
                .map_err(|error| bad_line(path, line, &error))?;
            let step = step(rendered, start);
            let names: Vec<&str> = [prompt_id.or(test), sut].into_iter().flatten().collect();
            page.write(journal_line(&step, &names.join(" "), edge).as_bytes())?
        };
        Ok(match going {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(shown)
}

fn item(key: ItemKey, timeline: ItemTimeline) -> JournalItem {
    let start = timeline.start;
    JournalItem {
        prompt_id: key.prompt_id.to_string(),
        test: key.test.to_string(),
        sut: key.sut.to_string(),
        start: start.map(|time| time.to_string()),
        lasted: timeline.end.and_then(|end| seconds_from(start, end)),
        outcome: timeline.outcome,
        steps: timeline
            .steps
            .into_iter()
            .map(|rendered| step(rendered, start))
            .collect(),
    }
}

/// A step with its time from `start`.
fn step(step: Step, start: Option<Timestamp>) -> JournalStep {
    let sections = step.sections.into_iter();
    JournalStep {
        after: step.time.and_then(|time| seconds_from(start, time)),
        title: step.message,
        facts: step.facts,
        took: step.took,
        again_after: step.again_after,
        cost: step.cost,
        sections: sections
            .map(|section| (section.speaker, section.text))
            .collect(),
        brief: step.brief,
    }
}

fn seconds_from(start: Option<Timestamp>, time: Timestamp) -> Option<f64> {
    Some(time.duration_since(start?).as_secs_f64())
}

fn bad_line(path: &Path, line: &Line<'_>, error: &serde_json::Error) -> Failure {
    Failure::usage(format!(
        "{}, line {}: cannot read a field: {error}",
        path.display(),
        line.number
    ))
}
