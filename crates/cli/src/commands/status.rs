//! `status`: the state of a run, from another terminal.

use clap::Args;
use jiff::Timestamp;
use report::status_text;
use schema::{RunState, RunStatus, nearest};
use schemars::JsonSchema;
use serde::Serialize;
use store::run_status::{RunWatch, latest_run, run_ids};

use super::{
    Context,
    elsewhere::{
        NatsArgs,
        server::{self, ServerOutput},
    },
    output::CommandOutput,
};
use crate::{
    benchmarks::name_of,
    completion,
    exit::{Exit, Failure},
};

/// The width for the output, which is read beside a run.
const WIDTH: usize = 80;

/// Show the state of a run in progress: progress, calls, limits, failures, cost and time left
///
/// Reads only the run's files, so it works from another terminal and disturbs no run. Where no run is in progress it shows the last one.
/// No model is called.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask status\n  cargo xtask status honesty --json\n  watch -n 2 cargo xtask status\n\nExit codes:\n  \
        0    the run goes on, or has ended\n  1    the run died before its end\n  2    no such run, or none is recorded"
)]
pub struct StatusArgs {
    /// A run's id, or a benchmark: its newest run [default: the run in progress, or the last one]
    #[arg(value_name = "RUN", add = completion::benchmarks())]
    run: Option<String>,
    /// The state as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nats: NatsArgs,
}

/// What `status --json` prints: the state of a run, or with `--nats` what is on a server.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StatusOutput<'a> {
    /// The state of a run.
    Run(&'a RunStatus),
    /// What is on a NATS server.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(dead_code, reason = "the schema is that of every build")
    )]
    Server(&'a ServerOutput),
}

impl CommandOutput for StatusOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["status"];
}

/// Runs the command.
///
/// # Errors
/// When there is no such run, or its journal cannot be read.
pub fn run(context: &Context, args: &StatusArgs) -> Result<Exit, Failure> {
    if let Some(exit) = server::show(context, &args.nats, args.json)? {
        return Ok(exit);
    }
    let id = find(context, args)?;
    let mut status = RunWatch::new(&context.layout, &id).status(Timestamp::now())?;
    status.help = status.help.map(|help| help.named(&context.program));
    let exit = match status.state {
        RunState::Died => Exit::FailedRows,
        RunState::Running | RunState::Unknown | RunState::Ended => Exit::Complete,
    };
    if args.json {
        context.print_json("status", exit, &StatusOutput::Run(&status));
    } else {
        let goes_on = matches!(status.state, RunState::Running | RunState::Unknown);
        let lead =
            (args.run.is_none() && !goes_on).then_some("no run is in progress; the last one:");
        let width = context.terminal.width().min(WIDTH);
        context.terminal.print(&status_text(&status, lead, width));
    }
    Ok(exit)
}

/// The id of the run that the command line selects.
fn find(context: &Context, args: &StatusArgs) -> Result<String, Failure> {
    let layout = &context.layout;
    let Some(given) = &args.run else {
        return latest_run(layout, None).ok_or_else(|| {
            Failure::usage(format!(
                "{}: no run is in progress, and none is recorded\nhelp: `{} run` starts one",
                layout.run("").display(),
                context.program.start()
            ))
        });
    };
    let mut known = run_ids(layout);
    if known.contains(given) {
        return Ok(given.clone());
    }
    let name = name_of(layout.benchmarks(), given);
    if let Some(id) = latest_run(layout, Some(name)) {
        return Ok(id);
    }
    let alike = known
        .iter()
        .find(|id| id.starts_with(given.as_str()))
        .cloned();
    known.clear();
    known.extend(layout.names().unwrap_or_default());
    let near =
        alike.or_else(|| nearest(given, known.iter().map(String::as_str)).map(str::to_owned));
    let hint = match near {
        Some(near) if near == name => "; it has not been run".to_owned(),
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; the runs are in {}", layout.run("").display()),
    };
    Err(Failure::usage(format!(
        "{given}: no such run or benchmark{hint}"
    )))
}
