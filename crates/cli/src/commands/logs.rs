//! Logs of other programs in the place of a benchmark: what `compare` and `gate` take where there is no tree.

use std::path::{Path, PathBuf};

use clap::Args;
use probity::{ImportOptions, ImportTasks, ImportVerdicts, Layout};
use schema::ModelId;
use tempfile::TempDir;

use super::{
    Context,
    import::{self, Polarity},
};
use crate::{
    benchmarks::{name_of, target_ids},
    exit::Failure,
};

/// Flags for logs of other programs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Logs of other programs")]
pub struct LogArgs {
    /// Take the scores of a scorer as verdicts, such as match=correct or grade=good:>=0.7; can be repeated [default: every scorer that
    /// says yes or no]
    #[arg(long, value_name = "SCORER=METRIC[:CONDITION]")]
    verdicts: Vec<String>,
    /// Whether the behaviour that the scorers look for is desired [default: positive]
    #[arg(long, value_enum, value_name = "TYPE")]
    metric_type: Option<Polarity>,
    /// The key in the samples' data whose value dependent samples share, such as group
    #[arg(long, value_name = "KEY")]
    cluster: Option<String>,
    /// The task, where the logs are of several
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

impl LogArgs {
    /// Refuses the flags for a benchmark, whose verdicts are in its tree.
    ///
    /// # Errors
    /// The first flag that is given.
    pub fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--verdicts", !self.verdicts.is_empty()),
            ("--metric-type", self.metric_type.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--task", self.task.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag} is for logs of other programs; a benchmark has its verdicts in its tree"
            ))),
        }
    }
}

/// A benchmark made of logs for one command. Its folder ends with this value.
pub struct LogBenchmark {
    /// The context of a command on it.
    pub context: Context,
    /// Its name.
    pub name: String,
    _folder: TempDir,
}

impl LogBenchmark {
    /// Reads the logs at `paths`. `to_compare`: there must be two targets, and logs of a single model are targets of their own.
    ///
    /// # Errors
    /// When a log cannot be read, no scorer gives verdicts, the logs are of several tasks and none is chosen, there is nothing to compare, or
    /// there is no temporary folder.
    pub fn read(
        context: &Context,
        paths: Vec<PathBuf>,
        args: &LogArgs,
        to_compare: bool,
    ) -> Result<Self, Failure> {
        let folder = TempDir::new().map_err(|error| {
            Failure::nothing_ran(format!("no temporary folder can be created: {error}"))
        })?;
        let layout = Layout::new(folder.path().join("benchmarks"));
        let verdicts = match args.verdicts.as_slice() {
            [] => ImportVerdicts::All,
            rules => ImportVerdicts::parse(rules).map_err(import::verdicts_error)?,
        };
        let options = ImportOptions {
            paths,
            verdicts,
            metric_type: args.metric_type.map(Into::into),
            cluster: args.cluster.clone(),
            tasks: match &args.task {
                Some(task) => ImportTasks::Named(task.clone()),
                None => ImportTasks::Single,
            },
            one_model_by_file: to_compare,
            ..ImportOptions::default()
        };
        let report = probity::import(&layout, &options)?;
        import::warn_of(context, &report);
        if let ([only], true) = (report.targets.as_slice(), to_compare) {
            return Err(Failure::usage(format!(
                "compare: the logs are of {} alone; name a log to compare it with",
                only.target.id
            )));
        }
        Ok(Self {
            context: context.with_layout(layout),
            name: report.name,
            _folder: folder,
        })
    }
}

/// What the arguments of a command name, where they name logs.
pub struct NamedLogs {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// The targets named after them.
    pub targets: Vec<ModelId>,
}

/// Splits the arguments of a command: logs of other programs, which come first, and the ids of targets after them. `None`: the first names a
/// benchmark.
///
/// # Errors
/// When a text after the logs is neither a path nor an id.
pub fn split(layout: &Layout, arguments: &[String]) -> Result<Option<NamedLogs>, Failure> {
    let is_log = |text: &String| is_log(layout, Path::new(text));
    let paths: Vec<PathBuf> = arguments
        .iter()
        .take_while(|text| is_log(text))
        .map(PathBuf::from)
        .collect();
    let Some(rest) = arguments.get(paths.len()..).filter(|_| !paths.is_empty()) else {
        return Ok(None);
    };
    if let Some(path) = rest.iter().find(|text| looks_like_log(text)) {
        let why = match Path::new(path).exists() {
            true => "a benchmark, and no log of another program",
            false => "no such file",
        };
        return Err(Failure::usage(format!("{path}: {why}")));
    }
    let targets = target_ids(rest)?;
    Ok(Some(NamedLogs { paths, targets }))
}

/// Whether a text is meant as the path of a log, and not as the id of a target.
fn looks_like_log(text: &str) -> bool {
    let path = Path::new(text);
    let known = ["eval", "json", "jsonl"];
    let extension = path.extension().and_then(|extension| extension.to_str());
    path.exists() || extension.is_some_and(|extension| known.contains(&extension))
}

/// Whether a path is a file, or a folder that is neither a benchmark nor the name of one.
fn is_log(layout: &Layout, path: &Path) -> bool {
    let is_named = || {
        let name = path.to_str().map(|text| name_of(layout.benchmarks(), text));
        name.and_then(|name| layout.benchmark(name).ok())
            .is_some_and(|dir| dir.yaml().exists())
    };
    path.exists() && !path.join("benchmark.yaml").exists() && !is_named()
}
