//! How a program is started.

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use llm_client::{Scrubber, is_secretive, looks_like_key};
use schema::Extra;
use secrecy::{ExposeSecret, SecretString};

/// The variables of the caller's environment that every program gets, where they are set.
pub const INHERITED: [&str; 15] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
];

/// The most processes of one program.
const MOST_PROCESSES: usize = 32;

/// How a program is started, and what it gets. `Debug` shows no value of the environment.
#[derive(Clone, Debug)]
pub struct ProcessSettings {
    /// The user's name for it, in messages.
    pub name: String,
    /// The program and its arguments; there is no shell. A program with a separator in its name is relative to `folder`, another one is looked
    /// up in `PATH`.
    pub command: Vec<String>,
    /// What it has to be: `judge`, `target`, `simulator`, `tools`, `generator`, `model`. A `model` can also be a target, a simulated user, the model of tools or that of
    /// generation.
    pub kind: &'static str,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// The values of [`INHERITED`] in the caller's environment: what every program gets.
    pub inherited: Vec<(String, String)>,
    /// Further variables. A value is a secret if its name says so or it looks like a key: it is removed from all that the program says.
    pub env: Vec<(String, SecretString)>,
    /// Settings that it is sent at its start.
    pub settings: Extra,
    /// What a target gets with each conversation and turn.
    pub metadata: Extra,
    /// The version in the user's words, in place of the program's own.
    pub version: Option<String>,
    /// Further files whose content decides its version, where neither the user nor the program gives one.
    pub files: Vec<PathBuf>,
    /// How many processes run at once, at most. At most 32.
    pub processes: usize,
    /// How long one request may take. The clock stands while the program waits for a call of its own.
    pub timeout: Duration,
    /// How long it may take until it has said hello.
    pub start_timeout: Duration,
    /// The models that it may call by name.
    pub models: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// Where it is recorded what the program says of itself at its start, for plans. `None`: nowhere.
    pub record: Option<PathBuf>,
}

impl ProcessSettings {
    /// One process in the current folder, 300 seconds for a request and 60 for the start.
    pub fn new<T: Into<String>>(
        name: impl Into<String>,
        command: impl IntoIterator<Item = T>,
        kind: &'static str,
    ) -> Self {
        Self {
            name: name.into(),
            command: command.into_iter().map(Into::into).collect(),
            kind,
            folder: PathBuf::from("."),
            inherited: Vec::new(),
            env: Vec::new(),
            settings: Extra::new(),
            metadata: Extra::new(),
            version: None,
            files: Vec::new(),
            processes: 1,
            timeout: Duration::from_secs(300),
            start_timeout: Duration::from_secs(60),
            models: Vec::new(),
            seed: 0,
            record: None,
        }
    }

    /// What of the environment is secret, to be removed from what the program says.
    #[must_use]
    pub fn secrets(&self) -> Vec<SecretString> {
        let env = self.env.iter();
        env.filter(|(name, value)| is_secretive(name) || looks_like_key(value.expose_secret()))
            .map(|(_, value)| value.clone())
            .collect()
    }

    pub(crate) fn scrubber(&self) -> Scrubber {
        Scrubber::of(&self.secrets(), [])
    }

    pub(crate) fn most_processes(&self) -> usize {
        self.processes.clamp(1, MOST_PROCESSES)
    }
}

/// The interpreter for a file of Python: that of `$PROBITY_PYTHON`, else of `$VIRTUAL_ENV`, else beside this program, else `python3` or
/// `python` of `PATH`. `variable` reads the environment.
pub fn python(variable: impl Fn(&str) -> Option<String>) -> String {
    let named = variable("PROBITY_PYTHON").filter(|path| !path.is_empty());
    let of_environment = || {
        let folder = variable("VIRTUAL_ENV").filter(|path| !path.is_empty())?;
        interpreter_in(&Path::new(&folder).join("bin"))
            .or_else(|| interpreter_in(&Path::new(&folder).join("Scripts")))
    };
    let beside = || interpreter_in(env::current_exe().ok()?.parent()?);
    let in_path = || {
        let path = variable("PATH")?;
        let found = |name: &str| {
            env::split_paths(&path)
                .map(|folder| folder.join(name))
                .find(|file| file.is_file())
        };
        found("python3").or_else(|| found("python"))
    };
    named
        .or_else(of_environment)
        .or_else(beside)
        .or_else(|| in_path().map(|path| path.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "python3".to_owned())
}

fn interpreter_in(folder: &Path) -> Option<String> {
    ["python3", "python", "python.exe"]
        .map(|name| folder.join(name))
        .into_iter()
        .find(|file| file.is_file())
        .map(|file| file.to_string_lossy().into_owned())
}
