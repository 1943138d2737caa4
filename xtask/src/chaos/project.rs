//! A project in a folder of its own: its configuration, its commands, and what they leave.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// How long a command may take before it counts as one that never ends.
pub(super) const PATIENCE: Duration = Duration::from_secs(150);

/// The page that a run writes beside its results shows when the run was.
const REPORT: &str = "report.html";

/// The folder of benchmarks.
pub(super) const TREE: &str = "benchmarks";

/// The targets of a project, which are scripted models.
pub(super) const TARGETS: [&str; 2] = ["agreeable", "careful"];

/// A project of the benchmark `bench`.
pub(super) struct Project {
    program: PathBuf,
    folder: TempDir,
}

/// A command that ended.
#[derive(Debug)]
pub(super) struct CommandResult {
    /// The exit code; -1 after a signal.
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl CommandResult {
    /// The first lines that say why it ended so.
    pub(super) fn reason(&self) -> String {
        let lines = self.err.lines().filter(|line| !line.trim().is_empty());
        lines.take(3).collect::<Vec<_>>().join(" / ")
    }
}

/// What differs between the projects of different parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) scenarios: usize,
    pub(super) samples: u32,
    pub(super) turns: u32,
    pub(super) in_flight: usize,
}

impl Size {
    /// A run of a second, of 12 rows.
    pub(super) const SMALL: Self = Self {
        scenarios: 6,
        samples: 1,
        turns: 2,
        in_flight: 4,
    };
}

/// The command of a whole run.
pub(super) const RUN: [&str; 3] = ["run", "bench", "--quiet"];

impl Project {
    /// A project of `size` on the models of the server at `base_url`, which cost a dollar for a million tokens.
    pub(super) fn new(
        program: PathBuf,
        base_url: &str,
        size: Size,
        more: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let project = Self::empty(program)?;
        crate::bench::prepare(project.path(), size.scenarios)?;
        project.configure(base_url, size, more)?;
        Ok(project)
    }

    fn empty(program: PathBuf) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            program,
            folder: tempfile::Builder::new()
                .prefix("probity-chaos-")
                .tempdir()?,
        })
    }

    /// Writes the configuration; `more` are further lines.
    pub(super) fn configure(
        &self,
        base_url: &str,
        size: Size,
        more: &str,
    ) -> Result<(), Box<dyn Error>> {
        let model = |name: &str| {
            format!("source: vllm, model: scripted-{name}, base_url: \"{base_url}\", timeout: 3")
        };
        let priced = |name: &str| format!("{{model: scripted-{name}, input: 1, output: 1}}");
        let Size {
            samples,
            turns,
            in_flight,
            ..
        } = size;
        let config = format!(
            "user_model: {{{}}}\nevaluator_model: {{{}}}\ntargets:\n  - {{id: agreeable, {}}}\n  - {{id: careful, {}}}\n\
             prices: [{}, {}, {}, {}]\n\
             generation: {{turns: {turns}, num_samples: {samples}, scenarios_per_metric: 2}}\n\
             run: {{concurrency: {{gen_scenarios: 2, simulate: {in_flight}, evaluate: {in_flight}}}}}\n{more}",
            model("user"),
            model("judge"),
            model("agreeable"),
            model("careful"),
            priced("user"),
            priced("judge"),
            priced("agreeable"),
            priced("careful"),
        );
        fs::write(self.path().join("config.yaml"), config)?;
        Ok(())
    }

    /// A copy, with the times of the files.
    pub(super) async fn copy(&self) -> Result<Self, Box<dyn Error>> {
        let copy = Self::empty(self.program.clone())?;
        self.copy_within(".", copy.path()).await?;
        Ok(copy)
    }

    /// Copies what is in the folder `from` into the folder `to`, which is created. Both may be below the project's folder.
    pub(super) async fn copy_within(
        &self,
        from: &str,
        to: impl AsRef<Path>,
    ) -> Result<(), Box<dyn Error>> {
        let to = self.path().join(to);
        fs::create_dir_all(&to)?;
        let status = Command::new("cp")
            .args(["-a", &format!("{from}/.")])
            .arg(to)
            .current_dir(self.path())
            .status()
            .await?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("{from} cannot be copied: {status}").into()),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn benchmarks(&self) -> PathBuf {
        self.path().join(TREE)
    }

    /// The command with `args`, ready to start; `launcher` is a command that starts it, if any.
    pub(super) fn command(&self, launcher: &[&str], args: &[&str]) -> Command {
        let mut command = match launcher {
            [] => Command::new(&self.program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Starts the command with `args`; its output is discarded.
    pub(super) fn start(&self, args: &[&str]) -> Result<Child, Box<dyn Error>> {
        let mut command = self.command(&[], args);
        Ok(command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?)
    }

    /// Runs the command to its end.
    pub(super) async fn run(&self, args: &[&str]) -> Result<CommandResult, Box<dyn Error>> {
        ended(self.command(&[], args), args).await
    }

    /// Runs the command to its end, which must be a good one.
    pub(super) async fn succeeds(&self, args: &[&str]) -> Result<CommandResult, Box<dyn Error>> {
        let ended = self.run(args).await?;
        match ended.code {
            0 => Ok(ended),
            code => Err(format!("{args:?} ended with {code}: {}", ended.reason()).into()),
        }
    }
}

/// Waits for the end of a command.
pub(super) async fn ended(
    mut command: Command,
    args: &[&str],
) -> Result<CommandResult, Box<dyn Error>> {
    let output = timeout(PATIENCE, command.output())
        .await
        .map_err(|_| format!("{args:?} did not end in {} s", PATIENCE.as_secs()))??;
    Ok(CommandResult {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Every file at or below `root` by its path, but for reports.
pub(super) fn files(root: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    collect(root, root, &mut found)?;
    Ok(found)
}

fn collect(
    root: &Path,
    path: &Path,
    found: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(root, &entry?.path(), found)?;
        }
    } else if path.exists() && !path.ends_with(REPORT) {
        let name = path.strip_prefix(root)?.to_owned();
        found.insert(name, ::files::read(path)?);
    }
    Ok(())
}

/// Keys whose values say when and by which run a file was made.
const OF_THE_RUN: [&str; 5] = ["run_id", "started", "ended", "timestamp", "starts"];

/// Whether two files are the same but for when and by which run they were made.
fn alike(have: &[u8], expected: &[u8]) -> bool {
    have == expected
        || match (
            serde_json::from_slice(have),
            serde_json::from_slice(expected),
        ) {
            (Ok(have), Ok(expected)) => timeless(have) == timeless(expected),
            _ => false,
        }
}

fn timeless(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object
                .into_iter()
                .filter(|(key, _)| !OF_THE_RUN.contains(&&**key));
            kept.map(|(key, value)| (key, timeless(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(timeless).collect(),
        other => other,
    }
}

/// The first file that differs, if any.
pub(super) fn difference(
    have: &BTreeMap<PathBuf, Vec<u8>>,
    expected: &BTreeMap<PathBuf, Vec<u8>>,
) -> Option<String> {
    let lacking = expected.keys().find(|name| !have.contains_key(*name));
    let beyond = have.keys().find(|name| !expected.contains_key(*name));
    let other = have.iter().find(|(name, bytes)| {
        expected
            .get(*name)
            .is_some_and(|other| !alike(bytes, other))
    });
    lacking
        .map(|name| format!("{} is missing", name.display()))
        .or_else(|| beyond.map(|name| format!("{} was left behind", name.display())))
        .or_else(|| other.map(|(name, _)| format!("{} has other bytes", name.display())))
}
