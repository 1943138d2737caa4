//! Which benchmarks a command works on.

use std::{fs, path::Path};

use pipeline::Layout;

use crate::{config::nearest, exit::Failure, shipped, terminal::Terminal};

/// What the command line says of benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The names given.
    pub names: &'a [String],
    /// Whether all in the folder are meant.
    pub all: bool,
    /// Whether the shipped demonstration is meant when there is no benchmark at all.
    pub demonstration: bool,
    /// Whether a shipped benchmark may be copied into the folder.
    pub copies: bool,
}

/// The names of the benchmarks that are meant. Shipped ones are copied into the folder on first use.
///
/// # Errors
/// When there is none of a name, or it is not clear which is meant.
pub fn choose(
    layout: &Layout,
    wanted: Wanted<'_>,
    terminal: &Terminal,
) -> Result<Vec<String>, Failure> {
    let folder = layout.benchmarks();
    let there = layout.names()?;
    if wanted.all {
        return if there.is_empty() {
            Err(Failure::usage(format!(
                "{}: there is no benchmark here; `cargo xtask init NAME` makes one",
                folder.display()
            )))
        } else {
            Ok(there)
        };
    }
    if wanted.names.is_empty() {
        return match there.as_slice() {
            [] if wanted.demonstration && wanted.copies => {
                copy(folder, shipped::DEMONSTRATION, terminal)?;
                Ok(vec![shipped::DEMONSTRATION.to_owned()])
            }
            [] => Err(Failure::usage(format!(
                "{}: there is no benchmark here; `cargo xtask run` brings the shipped demonstration, `cargo xtask init NAME` \
                 makes one of your own",
                folder.display()
            ))),
            [one] => Ok(vec![one.clone()]),
            many => Err(Failure::usage(format!(
                "which benchmark? {} holds {}. Name one or more, or say --all",
                folder.display(),
                many.join(", ")
            ))),
        };
    }
    let mut chosen: Vec<String> = Vec::new();
    for given in wanted.names {
        let name = name_of(folder, given);
        find(layout, name, &there, wanted.copies, terminal)?;
        if !chosen.iter().any(|other| other == name) {
            chosen.push(name.to_owned());
        }
    }
    Ok(chosen)
}

/// A name that a shell has completed to a path, `benchmarks/honesty/`, is the name of its folder.
fn name_of<'a>(folder: &Path, given: &'a str) -> &'a str {
    let path = Path::new(given);
    match (
        path.parent(),
        path.file_name().and_then(|name| name.to_str()),
    ) {
        (Some(parent), Some(name)) if parent == folder || parent.as_os_str().is_empty() => name,
        _ => given,
    }
}

fn find(
    layout: &Layout,
    name: &str,
    there: &[String],
    copies: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    if there.iter().any(|known| known == name) {
        return Ok(());
    }
    let dir = layout.benchmark(name)?;
    if dir.root().exists() {
        return Err(Failure::usage(format!(
            "{}: there is no benchmark.yaml in this folder; `cargo xtask init {name}` writes one",
            dir.root().display()
        )));
    }
    if shipped::find(name).is_some() {
        return if copies {
            copy(layout.benchmarks(), name, terminal)
        } else {
            Err(Failure::usage(format!(
                "the shipped benchmark `{name}` is not in {} yet; `cargo xtask run {name}` brings it",
                layout.benchmarks().display()
            )))
        };
    }
    let known = || there.iter().map(String::as_str).chain(shipped::NAMES);
    let mut message = format!(
        "there is no benchmark `{name}` in {}",
        layout.benchmarks().display()
    );
    match nearest(name, known()) {
        Some(near) => message.push_str(&format!("; did you mean `{near}`?")),
        None => {
            let mut names: Vec<&str> = known().collect();
            names.sort_unstable();
            names.dedup();
            message.push_str(&format!(
                "; there are {}. `cargo xtask init {name}` makes it",
                names.join(", ")
            ));
        }
    }
    Err(Failure::usage(message))
}

/// Copies a shipped benchmark. It appears under its name only when it is whole.
fn copy(folder: &Path, name: &str, terminal: &Terminal) -> Result<(), Failure> {
    let files = shipped::find(name).unwrap_or_default();
    let target = folder.join(name);
    let unfinished = folder.join(format!(".{name}.{}", std::process::id()));
    let written = (|| {
        fs::create_dir_all(&unfinished)?;
        for (file, text) in files {
            fs::write(unfinished.join(file), text)?;
        }
        fs::rename(&unfinished, &target)
    })();
    if let Err(error) = written {
        // What could not be finished is of no use; whether it can be removed changes nothing.
        let _ = fs::remove_dir_all(&unfinished);
        return Err(Failure::nothing_ran(format!(
            "{}: cannot be written: {error}",
            target.display()
        )));
    }
    terminal.note(&format!(
        "copied the shipped benchmark {name} to {}",
        target.display()
    ));
    Ok(())
}
