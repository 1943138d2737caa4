//! `init`: the files of a new benchmark.

use std::{fs::OpenOptions, io::Write, path::Path};

use clap::Args;

use super::Context;
use crate::exit::{Exit, Failure};

/// Create a benchmark: writes benchmark.yaml, and config.yaml where there is none
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// The benchmark's name, which names its folder
    name: String,
}

const BENCHMARK: &str = include_str!("templates/benchmark.yaml");
const CONFIG: &str = include_str!("templates/config.yaml");

/// Creates the missing files. Never overwrites an existing one.
///
/// # Errors
/// When the benchmark already exists, the name is invalid, or a file cannot be written.
pub fn run(context: &Context, args: &InitArgs) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    check_name(name)?;
    let dir = context.layout.benchmark(name)?;
    let file = dir.yaml();
    std::fs::create_dir_all(dir.root()).map_err(|error| {
        Failure::nothing_ran(format!(
            "{}: cannot be created: {error}",
            dir.root().display()
        ))
    })?;
    if !write_new(
        &file,
        &BENCHMARK
            .replace("{name}", name)
            .replace("cargo xtask", context.program.name()),
    )? {
        return Err(Failure::usage(format!(
            "{}: the benchmark already exists; nothing was changed",
            file.display()
        )));
    }
    let mut text = format!("wrote {}\n", file.display());
    text.push_str(&config_step(context)?);
    let xtask = context.program.start();
    text.push_str(&format!(
        "\nNext:\n  1. describe in {} what you want to measure\n  2. choose models and set a key in the config (--scripted needs neither)\n  \
         3. {xtask} doctor\n  4. {xtask} plan {name}\n  5. {xtask} run {name}\n",
        file.display()
    ));
    context.terminal.print(&text);
    Ok(Exit::Complete)
}

/// Creates the configuration if it is missing.
fn config_step(context: &Context) -> Result<String, Failure> {
    let path = match &context.global.config {
        Some(given) => given.clone(),
        None => {
            let root = context.project.root();
            let toml = root.join("probity.toml");
            match toml.exists() {
                true => toml,
                false => root.join("config.yaml"),
            }
        }
    };
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    // The template is YAML.
    let written = !is_toml
        && write_new(
            &path,
            &CONFIG.replace("cargo xtask", context.program.name()),
        )?;
    let did = if written { "wrote" } else { "kept" };
    Ok(format!("{did} {}\n", path.display()))
}

/// Creates a file; returns false if it exists.
fn write_new(path: &Path, text: &str) -> Result<bool, Failure> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Failure::nothing_ran(format!(
            "{}: cannot be written: {error}",
            path.display()
        ))),
    }
}

/// Checks that the name is a valid folder name on every file system, and needs no quotes in a shell
/// or in YAML.
fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.');
    if name.chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(fits)
        && name.len() <= 100
    {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "invalid benchmark name `{}`: use letters, digits, `-`, `_` and `.`, and begin with a letter or digit, such as my-benchmark",
        name.escape_debug()
    )))
}
