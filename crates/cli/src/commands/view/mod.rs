//! `view`: the page of `report`, served on this machine only. It follows a run, and saves labels.

mod access;
mod browser;
mod edition;
mod files;
mod follow;
mod labels;
mod monitor;
mod request;
mod routes;
mod server;
mod temporary;
mod write_limit;

use std::{io, net::Ipv4Addr, sync::Arc, time::Duration};

use clap::Args;
use report::html::LivePage;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::net::TcpListener;

use self::{access::Access, follow::Follower, routes::Viewer, temporary::Temporary};
use super::{Context, output::CommandOutput, run_report, signals};
use crate::{
    benchmarks::choose,
    completion,
    exit::{Exit, Failure},
    flags::BenchmarkSelection,
};

/// Show the results of a benchmark in the browser, follow its run, and label rows
///
/// Serves the page of `report` on this machine only, under an address that nobody can guess. Ctrl-C ends it. No model is called, and
/// only labels are written, and what they say of the judge.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask view honesty\n  cargo xtask view honesty --open --labeller ana"
)]
pub struct ViewArgs {
    /// The benchmark by name [default: the only one in the folder]
    #[arg(value_name = "BENCHMARK", add = completion::benchmarks())]
    name: Option<String>,
    /// The port [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Show the judge's verdict of a row before it is labelled
    #[arg(long)]
    show_verdicts: bool,
    /// Who labels: the name that labels carry [default: the page asks]
    #[arg(long, value_name = "NAME")]
    labeller: Option<String>,
    /// The address as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// The output of `view`, printed when it starts to serve.
#[derive(Serialize, JsonSchema)]
pub struct ViewOutput<'a> {
    /// The benchmark's folder.
    benchmark: &'a str,
    /// The address of the page. A program that knows it can read the results and write labels while the command runs.
    address: &'a str,
    /// The port in the address.
    port: u16,
}

impl CommandOutput for ViewOutput<'_> {
    const COMMANDS: &'static [&'static str] = &["view"];
}

/// How long open connections may take to end after Ctrl-C.
const ENDING: Duration = Duration::from_millis(500);

/// Serves until Ctrl-C.
///
/// # Errors
/// When there is no such benchmark, or the port cannot be used.
pub fn run(context: &Context, args: &ViewArgs) -> Result<Exit, Failure> {
    let name = benchmark(context, args)?;
    let options = LivePage {
        show_verdicts: args.show_verdicts,
        labeller: args.labeller.clone(),
        ..LivePage::default()
    };
    let temporary = Temporary::new().map_err(|error| {
        Failure::nothing_ran(format!("no temporary folder can be created: {error}"))
    })?;
    let folder = temporary.path().to_owned();
    let follower = Follower::new(context, &name, options, folder)?;
    let runtime = Context::runtime()?;
    let follower = Arc::new(follower);
    let served = runtime.block_on(serve(context, args, &name, Arc::clone(&follower)));
    // The results of reads in progress are not needed any more; their copies are removed with the folder.
    runtime.shutdown_timeout(ENDING);
    drop(temporary);
    served?;
    if follower.finish()? {
        run_report::of_labels(context, &name);
    }
    Ok(Exit::Complete)
}

/// The benchmark to show. It need not have results yet.
fn benchmark(context: &Context, args: &ViewArgs) -> Result<String, Failure> {
    let selection = BenchmarkSelection {
        names: args.name.iter().cloned().collect(),
        ..BenchmarkSelection::default()
    };
    let chosen = choose(&context.layout, &selection, false)?;
    let name = chosen.names.into_iter().next().unwrap_or_default();
    // A shipped benchmark that was never run has no files.
    if context.layout.benchmark(&name)?.yaml().exists() {
        return Ok(name);
    }
    Err(Failure::usage(format!(
        "no benchmark `{name}` in {}\nhelp: `{} run {name}` copies the shipped one and runs it",
        context.layout.benchmarks().display(),
        context.program.start()
    )))
}

async fn serve(
    context: &Context,
    args: &ViewArgs,
    name: &str,
    follower: Arc<Follower>,
) -> Result<(), Failure> {
    let ended = signals::first()
        .map_err(|error| Failure::nothing_ran(format!("Ctrl-C cannot be handled: {error}")))?;
    let (listener, port) = listen(args.port).await?;
    let access = Access::new(port)
        .map_err(|error| Failure::nothing_ran(format!("no random address: {error}")))?;
    let address = access.address();
    let viewer = Arc::new(Viewer::new(access, follower));
    if args.json {
        let output = ViewOutput {
            benchmark: name,
            address: &address,
            port,
        };
        context.print_json("view", Exit::Complete, &output);
    } else {
        context.terminal.print(&format!("{address}\n"));
    }
    context
        .terminal
        .note(&format!("showing {name}; Ctrl-C ends it"));
    if args.open {
        browser::open(&address, context.terminal.clone());
    }
    server::serve(listener, viewer, ended).await;
    Ok(())
}

async fn listen(port: Option<u16>) -> Result<(TcpListener, u16), Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))
        .await
        .and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    match bound {
        Ok((port, listener)) => Ok((listener, port)),
        Err(error) => Err(Failure::usage(match (port, error.kind()) {
            (Some(port), io::ErrorKind::AddrInUse) => format!(
                "port {port} is in use by another program\nhelp: name another port, or leave out --port for a free one"
            ),
            (Some(port), io::ErrorKind::PermissionDenied) => format!(
                "port {port} is reserved by the system\nhelp: name a port above 1023, or leave out --port for a free one"
            ),
            _ => format!("no port of this machine can be used: {error}"),
        })),
    }
}
