//! Text for people that names commands of the program. Libraries do not know what the program is called, or which folder of benchmarks it
//! finds by itself: they make a [`Notice`], and the program that shows it puts in its own [`ProgramName`].

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};

use serde::{Serialize, Serializer};

/// A text whose commands are not written out yet: a message, advice, or a note.
///
/// ```
/// use schema::{ProgramCommand, ProgramName, notice};
///
/// let evaluate = ProgramCommand::new("evaluate").on("honesty").with("target", "a");
/// let notice = notice![evaluate, " writes the file again"];
/// assert_eq!(
///     notice.text(&ProgramName::new("cargo xtask")),
///     "`cargo xtask evaluate honesty --target a` writes the file again"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Notice(Vec<NoticePart>);

/// A part of a [`Notice`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoticePart {
    /// Words.
    Text(String),
    /// A command, shown in backticks.
    Command(ProgramCommand),
}

/// A command of the program, for people to type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramCommand {
    verb: Cow<'static, str>,
    operands: Vec<String>,
    flags: Vec<ProgramFlag>,
    /// The folder of benchmarks that it works on; `None`: the one that the program works on.
    benchmarks: Option<PathBuf>,
}

/// A flag of a command. It is displayed as people type it: `--out FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramFlag {
    name: Cow<'static, str>,
    value: Option<String>,
}

/// What the program is called, and on which folder of benchmarks it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramName {
    name: String,
    benchmarks: Option<PathBuf>,
    found: Option<PathBuf>,
}

/// A [`Notice`] of texts, commands and other notices.
#[macro_export]
macro_rules! notice {
    ($($part:expr),+ $(,)?) => {
        $crate::Notice::default()$(.and($part))+
    };
}

impl Notice {
    /// This text followed by another one.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// The notices as lines.
    pub fn lines(notices: impl IntoIterator<Item = Self>) -> Self {
        let mut parts = Vec::new();
        for notice in notices {
            if !parts.is_empty() {
                parts.push(NoticePart::Text("\n".to_owned()));
            }
            parts.extend(notice.0);
        }
        Self(parts)
    }

    /// The text as shown by `program`.
    #[must_use]
    pub fn text(&self, program: &ProgramName) -> String {
        let parts = self.0.iter().map(|part| match part {
            NoticePart::Text(text) => text.clone(),
            NoticePart::Command(command) => format!("`{}`", command.text(program)),
        });
        parts.collect()
    }

    /// The text with its commands written out for `program`.
    #[must_use]
    pub fn named(&self, program: &ProgramName) -> Self {
        self.text(program).into()
    }

    /// The text with other commands.
    #[must_use]
    pub fn map_commands(self, change: impl Fn(ProgramCommand) -> ProgramCommand) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            NoticePart::Command(command) => NoticePart::Command(change(command)),
            text => text,
        });
        Self(parts.collect())
    }
}

/// The text as shown by a program that is called `probity`.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&ProgramName::default()))
    }
}

/// In files and in output for programs a notice is its text. A caller that writes one for another program names it first:
/// [`Notice::named`].
impl Serialize for Notice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<String> for Notice {
    fn from(text: String) -> Self {
        Self(vec![NoticePart::Text(text)])
    }
}

impl From<&str> for Notice {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<ProgramCommand> for Notice {
    fn from(command: ProgramCommand) -> Self {
        Self(vec![NoticePart::Command(command)])
    }
}

impl ProgramCommand {
    /// The command `verb`, such as `evaluate`, without arguments.
    pub fn new(verb: impl Into<Cow<'static, str>>) -> Self {
        Self {
            verb: verb.into(),
            operands: Vec::new(),
            flags: Vec::new(),
            benchmarks: None,
        }
    }

    /// With one more operand.
    #[must_use]
    pub fn on(mut self, operand: impl fmt::Display) -> Self {
        self.operands.push(operand.to_string());
        self
    }

    /// With a flag that has no value.
    #[must_use]
    pub fn flag(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.flags.push(ProgramFlag::new(name));
        self
    }

    /// With a flag and its value.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl fmt::Display) -> Self {
        self.flags.push(ProgramFlag::new(name).value(value));
        self
    }

    /// With more flags.
    #[must_use]
    pub fn flags(mut self, flags: impl IntoIterator<Item = ProgramFlag>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// On the benchmarks in this folder.
    #[must_use]
    pub fn in_folder(self, benchmarks: impl Into<PathBuf>) -> Self {
        Self {
            benchmarks: Some(benchmarks.into()),
            ..self
        }
    }

    /// The command's name.
    #[must_use]
    pub fn verb(&self) -> &str {
        &self.verb
    }

    /// The command line as typed for `program`. Words that a shell would not read as one are quoted.
    #[must_use]
    pub fn text(&self, program: &ProgramName) -> String {
        let mut words = vec![
            program.start_in(self.benchmarks.as_deref()),
            self.verb.to_string(),
        ];
        words.extend(self.operands.iter().map(|word| quoted(word).into_owned()));
        for flag in &self.flags {
            words.push(format!("--{}", flag.name));
            words.extend(flag.value.as_deref().map(|word| quoted(word).into_owned()));
        }
        words.join(" ")
    }
}

impl ProgramFlag {
    /// The flag `name`, such as `force`.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            value: None,
        }
    }

    /// With a value.
    #[must_use]
    pub fn value(self, value: impl fmt::Display) -> Self {
        Self {
            value: Some(value.to_string()),
            ..self
        }
    }
}

impl fmt::Display for ProgramFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "--{} {value}", self.name),
            None => write!(f, "--{}", self.name),
        }
    }
}

impl Default for ProgramName {
    fn default() -> Self {
        Self::new("probity")
    }
}

impl ProgramName {
    /// A program that works on the folder `benchmarks`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            benchmarks: None,
            found: None,
        }
    }

    /// Sets the folder of benchmarks that it was started for, which its commands have to name.
    #[must_use]
    pub fn for_benchmarks(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            benchmarks: Some(folder.into()),
            ..self
        }
    }

    /// Sets the folder of benchmarks that it finds by itself, which no command has to name.
    #[must_use]
    pub fn finding(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            found: Some(folder.into()),
            ..self
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The beginning of each command: the program, and the folder of benchmarks where it has to be named.
    ///
    /// ```
    /// use schema::ProgramName;
    ///
    /// let program = ProgramName::new("mine");
    /// assert_eq!(program.start(), "mine");
    /// assert_eq!(program.for_benchmarks("my own").start(), "mine --benchmarks 'my own'");
    /// ```
    #[must_use]
    pub fn start(&self) -> String {
        self.start_in(None)
    }

    fn start_in(&self, folder: Option<&Path>) -> String {
        let name = &self.name;
        let named = folder
            .or(self.benchmarks.as_deref())
            .filter(|folder| self.found.as_deref() != Some(folder));
        match named.and_then(Path::to_str) {
            // A folder name that is not UTF-8 cannot be typed.
            Some("benchmarks") | None => name.clone(),
            Some(folder) => {
                let flag = ProgramFlag::new("benchmarks").value(quoted(folder));
                format!("{name} {flag}")
            }
        }
    }
}

/// `word`, quoted if a shell would not read it as one word.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |char: char| char.is_alphanumeric() || "/._-+=:,@%".contains(char);
    match !word.is_empty() && word.chars().all(plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_folder_unless_the_program_finds_it() {
        let run = ProgramCommand::new("run").on("my b").flag("force");
        let there = run.clone().in_folder("../benchmarks");
        let program = ProgramName::new("p");
        assert_eq!(run.text(&program), "p run 'my b' --force");
        assert_eq!(
            there.text(&program),
            "p --benchmarks ../benchmarks run 'my b' --force"
        );
        let finding = program.clone().finding("../benchmarks");
        assert_eq!(there.text(&finding), "p run 'my b' --force");
        let started = program.for_benchmarks("it's");
        assert_eq!(
            run.text(&started),
            r"p --benchmarks 'it'\''s' run 'my b' --force"
        );
    }

    #[test]
    fn notices_join_and_keep_their_commands() {
        let first = notice!["see ", ProgramCommand::new("plan")];
        let lines = Notice::lines([first.clone(), "b".into()]);
        assert_eq!(lines.text(&ProgramName::new("p")), "see `p plan`\nb");
        assert_eq!(notice!["a: ", first].to_string(), "a: see `probity plan`");
    }
}
