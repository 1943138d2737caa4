//! `schemas`: the JSON Schemas of all files.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Args;
use validate::{Kind, schema, schema_text};

/// Flags of `schemas`.
#[derive(Clone, Debug, Args)]
pub struct SchemasArgs {
    /// The folder of the schemas
    #[arg(long, value_name = "DIR", default_value = "docs/schemas")]
    out: PathBuf,
    /// Write nothing; end with 1 where the folder does not hold what would be written
    #[arg(long)]
    check: bool,
}

/// Writes the schemas, or compares them with the existing files.
///
/// # Errors
/// When the folder cannot be written or read.
pub fn run(args: &SchemasArgs) -> Result<ExitCode, String> {
    let mut stale = Vec::new();
    let mut names = Vec::new();
    for kind in Kind::ALL {
        let path = args.out.join(kind.schema_file());
        // The schemas of the configuration and of the output are defined by the command.
        let schema = schema(kind).unwrap_or_else(|| match kind {
            Kind::Output => probity_cli::output_schema(),
            _ => probity_cli::config_schema(),
        });
        let text = schema_text(&schema);
        let there = files::read_text(&path).unwrap_or_default();
        if there != text {
            stale.push(path.display().to_string());
            if !args.check {
                fs::create_dir_all(&args.out)
                    .and_then(|()| fs::write(&path, text))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        names.push(kind.schema_file());
    }
    let foreign = foreign(args, &names)?;
    let verb = if args.check {
        "not current: "
    } else {
        "wrote "
    };
    for path in &stale {
        println!("{verb}{path}");
    }
    for path in &foreign {
        println!("unknown kind: {path}");
    }
    if args.check && !(stale.is_empty() && foreign.is_empty()) {
        eprintln!("error: the schemas do not match the types; run `cargo xtask schemas`");
        return Ok(ExitCode::FAILURE);
    }
    if stale.is_empty() {
        println!("{} schemas are current", names.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Schemas in the folder that belong to no kind of file.
fn foreign(args: &SchemasArgs, known: &[String]) -> Result<Vec<String>, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", args.out.display());
    let mut found = Vec::new();
    if !args.out.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(&args.out).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".schema.json") && !known.contains(&name.to_string()) {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    Ok(found)
}
