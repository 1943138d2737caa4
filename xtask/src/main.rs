//! `cargo xtask`: the command `probity` from a clone, and the developers' tools.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use std::{fmt::Display, process::ExitCode};

use clap::{ArgMatches, Args, FromArgMatches};
use probity_cli::Program;

mod bench;
mod chaos;
mod schemas;

fn main() -> ExitCode {
    let measuring = bench::Measuring::begin();
    // The descriptions come last: `augment_args` sets one from the doc comment of the type.
    let schemas = schemas::SchemasArgs::augment_args(clap::Command::new("schemas"))
        .about("Write the JSON Schemas of all files into docs/schemas");
    let bench = bench::BenchArgs::augment_args(clap::Command::new("bench"))
        .about("Measure whole pipelines against the scripted server, and compare with a minimal client")
        .after_help("Run `cargo run --release -p xtask -- bench` for figures to compare.");
    let chaos = chaos::ChaosArgs::augment_args(clap::Command::new("chaos"))
        .about("Try whether runs keep their promises under faults, kills and limits")
        .after_help("Exit codes: 0 all promises held, 1 one was broken, 3 nothing could be tried.");
    let exit = Program::new("cargo xtask")
        .command(schemas, run_schemas)
        .command(bench, run_bench)
        .command(chaos, run_chaos)
        .run();
    match measuring {
        Some(measuring) => measuring.end(exit),
        None => exit,
    }
}

fn run_schemas(matches: &ArgMatches) -> ExitCode {
    let args = match schemas::SchemasArgs::from_arg_matches(matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    schemas::run(&args).unwrap_or_else(|error| failed(3, error))
}

fn run_bench(matches: &ArgMatches) -> ExitCode {
    let args = match bench::BenchArgs::from_arg_matches(matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    if let Err(error) = args.check() {
        return failed(2, error);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(bench::run(args)),
        Err(error) => return failed(3, format!("no threads can be started: {error}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(3, format!("the benchmark failed: {error}")),
    }
}

fn run_chaos(matches: &ArgMatches) -> ExitCode {
    let args = match chaos::ChaosArgs::from_arg_matches(matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let broken = match runtime {
        Ok(runtime) => runtime.block_on(chaos::run(args)),
        Err(error) => return failed(3, format!("no threads can be started: {error}")),
    };
    match broken {
        Ok(0) => ExitCode::SUCCESS,
        Ok(broken) => failed(1, format!("{broken} promises were broken")),
        Err(error) => failed(3, error),
    }
}

/// Reports an error.
fn failed(code: u8, error: impl Display) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(code)
}
