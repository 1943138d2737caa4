//! Completes a command line for a shell, with the names of benchmarks and targets.
//!
//! The script of `completions` calls the program again with [`VARIABLE`] set and the words typed so far after `--`. Only folders and the
//! configuration are read. What cannot be read completes to nothing: an error message would be written between the words.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    process::ExitCode,
};

use clap_complete::{
    CompleteEnv, Shell,
    engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter},
    env::Shells,
};
use probity::Layout;

use crate::{
    benchmarks::name_of,
    config::{self, ModelEntry, Settings},
    project::Project,
    shipped,
};

/// The variable with the name of the shell. It does not begin with `PROBITY_`, because such variables are configuration.
const VARIABLE: &str = "_PROBITY_COMPLETE";

/// Answers a shell that asks for completions of `line`. `None` if no shell does, so that this is a usual start of the program.
pub fn answer(line: &clap::Command) -> Option<ExitCode> {
    let completed = CompleteEnv::with_factory(|| line.clone())
        .var(VARIABLE)
        .try_complete(env::args_os(), env::current_dir().ok().as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// The script that lets `shell` complete `program`. It calls the program as this process was started.
///
/// # Errors
/// None for the shells of [`Shell`].
pub fn script(shell: Shell, program: &str) -> io::Result<String> {
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell.to_string())
        .ok_or(io::ErrorKind::Unsupported)?;
    let started = env::args_os().next().map(PathBuf::from);
    let path = match started {
        // A relative path is valid only in the current folder.
        Some(path) if path.components().count() > 1 => std::path::absolute(&path)?,
        Some(path) => path,
        None => program.into(),
    };
    let mut script = Vec::new();
    let path = path.to_string_lossy();
    completer.write_registration(VARIABLE, program, program, &path, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Completes benchmarks of the folder.
pub fn benchmarks() -> ArgValueCompleter {
    completer(|words| words.layout().names().unwrap_or_default())
}

/// Completes benchmarks of the folder, and shipped ones.
pub fn benchmarks_and_shipped() -> ArgValueCompleter {
    completer(|words| {
        let mut names = words.layout().names().unwrap_or_default();
        names.extend(shipped::NAMES.map(str::to_owned));
        names
    })
}

/// Completes benchmarks of the folder, and any path.
pub fn benchmarks_and_paths() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut candidates = benchmarks().complete(current);
        candidates.extend(PathCompleter::any().complete(current));
        candidates
    })
}

/// Completes all models of the configuration.
pub fn configured_models() -> ArgValueCompleter {
    completer(|words| {
        let settings = words.settings();
        let safety = &settings.safety;
        let own = safety.attacker.iter().chain(&safety.judges);
        ids(settings.models.all().chain(own))
    })
}

/// Completes targets of the configuration.
pub fn configured_targets() -> ArgValueCompleter {
    completer(|words| ids(&words.settings().models.targets))
}

/// Completes targets with conversations in the named benchmarks; without a name, in all of the folder.
pub fn simulated_targets() -> ArgValueCompleter {
    completer(Words::simulated)
}

/// Completes targets of the configuration, and those with conversations: the conversations of a target that is not configured may be
/// imported ones.
pub fn targets_to_judge() -> ArgValueCompleter {
    completer(|words| {
        let mut targets = ids(&words.settings().models.targets);
        targets.extend(words.simulated());
        targets
    })
}

/// A completer of those texts of `list` that begin with the word at the cursor.
fn completer(list: fn(&Words) -> Vec<String>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let mut texts = list(&Words::of_process());
        texts.retain(|text| {
            current
                .to_str()
                .is_some_and(|typed| text.starts_with(typed))
        });
        texts.sort();
        texts.dedup();
        texts.into_iter().map(CompletionCandidate::new).collect()
    })
}

fn ids<'a>(models: impl IntoIterator<Item = &'a ModelEntry>) -> Vec<String> {
    let ids = models.into_iter().map(|model| model.id.to_string());
    ids.collect()
}

/// The words of the command line that is being completed.
struct Words(Vec<OsString>);

impl Words {
    fn of_process() -> Self {
        let words = env::args_os().skip_while(|word| word != "--");
        Self(words.skip(1).collect())
    }

    /// The value of the option `--name VALUE` or `--name=VALUE`.
    fn value(&self, name: &str) -> Option<PathBuf> {
        let mut words = self.0.iter();
        while let Some(word) = words.next() {
            if word == name {
                return words.next().map(PathBuf::from);
            }
            let joined = word.to_str().and_then(|word| word.strip_prefix(name));
            if let Some(value) = joined.and_then(|rest| rest.strip_prefix('=')) {
                return Some(PathBuf::from(value));
            }
        }
        None
    }

    fn layout(&self) -> Layout {
        match self.value("--benchmarks") {
            Some(folder) => Layout::new(folder),
            None => Layout::of_project(Project::find().root()),
        }
    }

    /// The settings, or none if the configuration cannot be used.
    fn settings(&self) -> Settings {
        let file = self
            .value("--config")
            .and_then(|file| std::path::absolute(file).ok());
        let is_scripted = self.0.iter().any(|word| word == "--scripted");
        let project = Project::find();
        config::load(project.root(), file.as_deref(), &[], is_scripted)
            .map(|config| config.settings)
            .unwrap_or_default()
    }

    fn simulated(&self) -> Vec<String> {
        let layout = self.layout();
        let all = layout.names().unwrap_or_default();
        let named = |name: &&String| {
            let mut words = self.0.iter().filter_map(|word| word.to_str());
            words.any(|word| name_of(layout.benchmarks(), word) == name.as_str())
        };
        let mut names: Vec<&String> = all.iter().filter(named).collect();
        if names.is_empty() {
            names = all.iter().collect();
        }
        let targets = names.into_iter().filter_map(|name| {
            let dir = layout.benchmark(name).ok()?;
            store::simulated_targets(&dir).ok()
        });
        targets.flatten().map(|id| id.to_string()).collect()
    }
}
