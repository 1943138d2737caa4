//! Completions, as shells ask for them: the shell's script calls the program with the words of the line.
#![allow(clippy::unwrap_used, reason = "tests may fail so")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const PROBITY: &str = env!("CARGO_BIN_EXE_probity");

const CONFIG: &str = "\
targets:
- {id: here, model: scripted-careful, source: scripted}
- {id: there, model: scripted-agreeable, source: scripted}
user_model: {id: user, model: scripted-user, source: scripted}
evaluator_model: {id: judge, model: scripted-judge, source: scripted}
";

/// A project with two benchmarks, whose trees have targets that the configuration does not.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.write("config.yaml", CONFIG);
        for (name, targets) in [
            ("honesty", &["old-a", "old-b", "here"][..]),
            ("flattery", &["old-c"]),
        ] {
            project.write(&format!("benchmarks/{name}/benchmark.yaml"), "");
            for target in targets {
                let folder = format!("benchmarks/{name}/runs/{target}");
                project.write(&format!("{folder}/conversations.json"), "[]");
            }
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, program: &str, folder: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(folder))
            .env("HOME", self.0.path());
        command
    }

    /// The answer to fish, which gives the words up to the cursor.
    fn asked(&self, folder: &str, words: &[&str]) -> Output {
        let mut command = self.command(PROBITY, folder);
        let command = command.env("_PROBITY_COMPLETE", "fish");
        command
            .args(["--", "probity"])
            .args(words)
            .output()
            .unwrap()
    }

    /// The candidates without flags, for which nothing is printed beside them.
    fn names(&self, folder: &str, words: &[&str]) -> Vec<String> {
        let done = self.asked(folder, words);
        assert_eq!(text(&done.stderr), "", "{words:?}");
        assert!(done.status.success(), "{words:?}");
        let values = text(&done.stdout);
        let values = values.lines().filter_map(|line| line.split('\t').next());
        let names = values.filter(|value| !value.starts_with('-'));
        names.map(str::to_owned).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn benchmarks_are_completed_and_shipped_ones_where_a_run_takes_them() {
    let project = Project::new();
    let shipped = ["delegated-actions", "flattery", "honesty", "sycophancy"];
    for (words, expected) in [
        (&["run", ""][..], &shipped[..]),
        (&["plan", "--quiet", "hon"], &["honesty"]),
        (&["compare", ""], &["flattery", "honesty"]),
        (&["gate", "--json", "fl"], &["flattery"]),
        (&["export", "csv", "honesty", "f"], &["flattery"]),
        (&["journal", "check", "hon"], &["honesty"]),
        (&["compare", "zzz"], &[]),
        (&["--benchmarks", "elsewhere", "compare", ""], &["theirs"]),
        (&["compare", "--benchmarks=elsewhere", ""], &["theirs"]),
    ] {
        project.write("elsewhere/theirs/benchmark.yaml", "");
        assert_eq!(project.names("", words), expected, "{words:?}");
    }
    let from_below = project.names("benchmarks/honesty/runs", &["compare", ""]);
    assert_eq!(from_below, ["flattery", "honesty"]);
}

#[test]
fn targets_are_those_of_the_configuration_or_of_the_tree() {
    let project = Project::new();
    project.write("other.yaml", &CONFIG.replace("there", "elsewhere"));
    for (words, expected) in [
        (
            &["run", "honesty", "--target", ""][..],
            &["here", "there"][..],
        ),
        (&["run", "--target=th"], &["--target=there"]),
        (
            &["--config", "other.yaml", "plan", "--target", "e"],
            &["elsewhere"],
        ),
        (
            &["run", "--scripted", "--target", ""],
            &["agreeable", "careful"],
        ),
        (&["compare", "honesty", "old"], &["old-a", "old-b"]),
        (
            &["compare", "benchmarks/honesty/", "old"],
            &["old-a", "old-b"],
        ),
        (&["gate", "--target", "old"], &["old-a", "old-b", "old-c"]),
        (
            &["evaluate", "honesty", "--target", ""],
            &["here", "old-a", "old-b", "there"],
        ),
        (&["safety", "single-turn", "--target", "t"], &["there"]),
        (&["safety", "multi-turn", "--judge", "j"], &["judge"]),
    ] {
        let done = project.asked("", words);
        let values = text(&done.stdout);
        let expected: Vec<String> = match words.contains(&"--scripted") {
            true => expected.iter().map(|id| format!("scripted-{id}")).collect(),
            false => expected.iter().map(|&id| id.to_owned()).collect(),
        };
        let values: Vec<&str> = values
            .lines()
            .filter_map(|line| line.split('\t').next())
            .filter(|value| !value.starts_with('-') || value.contains('='))
            .collect();
        assert_eq!(values, expected, "{words:?}");
        assert_eq!(text(&done.stderr), "", "{words:?}");
    }
}

#[test]
fn what_cannot_be_read_completes_to_nothing_and_prints_no_error() {
    let project = Project::new();
    for config in [
        "targets: {",
        "targets: [{id: a, model: ${NOT_SET}}]",
        "seed: x",
    ] {
        project.write("config.yaml", config);
        let names = project.names("", &["run", "honesty", "--target", ""]);
        assert_eq!(names, [""; 0], "{config}");
    }
    let none = project.names("", &["--benchmarks", "config.yaml", "compare", ""]);
    assert_eq!(none, [""; 0]);
    let done = project
        .command(PROBITY, "")
        .env("_PROBITY_COMPLETE", "no-such-shell")
        .args(["--", "probity", ""])
        .output()
        .unwrap();
    assert_eq!((text(&done.stdout), text(&done.stderr)), Default::default());
    assert!(!done.status.success());
}

#[test]
fn completing_writes_nothing_and_opens_no_cache() {
    let project = Project::new();
    project.write(".probity/cache.sqlite", "not a cache");
    let names = project.names("", &["run", "honesty", "--target", ""]);
    assert_eq!(names, ["here", "there"]);
    let state = fs::read_dir(project.path(".probity")).unwrap();
    assert_eq!(state.count(), 1);
}

#[test]
fn bash_completes_names_with_the_script() {
    let project = Project::new();
    let named = project.path("gauge");
    fs::copy(PROBITY, &named).unwrap();
    let completed = |line: &[&str]| {
        let words = line.join("' '");
        let (last, count) = (line.last().unwrap(), line.len());
        let script = format!(
            "source <(./gauge completions bash)\nCOMP_WORDS=('gauge' '{words}')\nCOMP_CWORD={count}\nCOMP_TYPE=9\n\
             _clap_complete_gauge gauge '{last}' ''\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let done = project
            .command("bash", "")
            .args(["-c", &script])
            .output()
            .unwrap();
        let noise = text(&done.stderr);
        // Outside a real completion, bash refuses to change its options.
        let noise = noise.lines().filter(|line| !line.contains("compopt"));
        assert_eq!(noise.count(), 0, "{}", text(&done.stderr));
        text(&done.stdout).trim().to_owned()
    };
    assert_eq!(completed(&["compare", "hon"]), "honesty");
    assert_eq!(completed(&["compare", "honesty", "old"]), "old-a\nold-b");
    assert_eq!(completed(&["run", "--target", "th"]), "there");
    assert!(completed(&["gen-"]).contains("gen-scenarios"));
    assert!(completed(&["run", "--max"]).contains("--max-cost"));
}

#[test]
fn zsh_gets_names() {
    let project = Project::new();
    let done = project
        .command(PROBITY, "")
        .env("_PROBITY_COMPLETE", "zsh")
        .env("_CLAP_COMPLETE_INDEX", "3")
        .env("_CLAP_IFS", "\n")
        .args(["--", "probity", "compare", "honesty"])
        .output()
        .unwrap();
    let values = text(&done.stdout);
    assert!(values.starts_with("here\nold-a\nold-b\n"), "{values}");
    assert_eq!(text(&done.stderr), "");
}

#[test]
fn the_scripts_call_the_program_as_it_was_started() {
    let project = Project::new();
    let folder = Path::new(PROBITY).parent().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = |program: &str| {
            let mut command = project.command(program, "");
            let done = command
                .env("PATH", folder)
                .args(["completions", shell])
                .output();
            text(&done.unwrap().stdout)
        };
        for script in [script("probity"), script(PROBITY)] {
            assert!(script.contains("_PROBITY_COMPLETE"), "{shell}: {script}");
        }
        assert!(!script("probity").contains(folder.to_str().unwrap()));
        assert!(script(PROBITY).contains(PROBITY), "{shell}");
    }
}
