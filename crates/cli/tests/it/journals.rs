//! The command's runs leave journals that pass their check, and from which the tree can be rebuilt.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common;
use schema::EventKind;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use common::Project;
use journal::{
    JournalReader,
    check::{Outcome, Verdict},
};
use probity::{Layout, check_journal, rebuild};
use scripted_llm::ScriptedServer;

/// The journals of all runs, oldest first.
fn journals(project: &Project) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for run in fs::read_dir(project.path(".probity/runs")).unwrap() {
        for file in fs::read_dir(run.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("journal-") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

fn messages(path: &Path) -> Vec<String> {
    let reader = JournalReader::open(path).unwrap();
    reader.map(|entry| entry.unwrap().message).collect()
}

fn assert_passes(project: &Project, journal: &Path) {
    let layout = Layout::new(project.path("benchmarks"));
    let report = check_journal(journal, Some(&layout));
    assert_eq!(report.verdict(), Verdict::Passed, "{report:#?}");
    let rules: Vec<&str> = report.rows.iter().map(|row| &*row.rule).collect();
    assert!(rules.contains(&"ScoreRowsHaveExchanges"), "{rules:?}");
}

/// Rebuilds the journal and compares the result with the tree in `tree`. Returns how many files there are.
fn assert_rebuilds(journal: &Path, tree: &Path) -> usize {
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(journal, out.path()).unwrap();
    for path in &rebuilt.files {
        let name = path.strip_prefix(out.path()).unwrap();
        let (have, wanted) = (fs::read(path).unwrap(), fs::read(tree.join(name)).unwrap());
        assert!(have == wanted, "{} differs", name.display());
    }
    rebuilt.files.len()
}

#[test]
fn the_demonstration_can_be_written_anew_from_its_journal() {
    let project = Project::new();
    let ran = project.run(&["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("the journal passes all"), "{}", ran.err);
    let journals = journals(&project);
    let [journal] = journals.as_slice() else {
        panic!("{journals:?}");
    };
    assert_passes(&project, journal);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/sycophancy");
    assert_eq!(assert_rebuilds(journal, &golden), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_leaves_a_journal_that_reads_and_the_next_one_is_whole() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    server.hold_after(60);
    let mut child = project
        .command(&["run", "flattery", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let written = |journals: &[PathBuf]| {
        let last = journals.last();
        last.is_some_and(|path| {
            messages(path)
                .iter()
                .any(|m| *m == EventKind::TranslatedSutTurn)
        })
    };
    // What is written is there within a second; the calls that are held do not end.
    while server.held() == 0 || !written(&journals(&project)) {
        assert!(Instant::now() < deadline, "nothing was journaled");
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    server.release();

    let killed = journals(&project).pop().unwrap();
    let report = check_journal(&killed, Some(&Layout::new(project.path("benchmarks"))));
    assert!(
        matches!(report.verdict(), Verdict::NotCheckable(_)),
        "{report:#?}"
    );
    let out = tempfile::tempdir().unwrap();
    let rebuilt = rebuild(&killed, out.path()).unwrap();
    assert!(
        rebuilt
            .notes
            .iter()
            .any(|note| note.contains("had not ended")),
        "{rebuilt:?}"
    );

    let ran = tokio::task::block_in_place(|| project.run(&["run", "flattery"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let resumed = journals(&project).pop().unwrap();
    assert_ne!(resumed, killed);
    assert_passes(&project, &resumed);
    assert_eq!(
        assert_rebuilds(&resumed, &project.path("benchmarks/flattery")),
        8
    );
    let messages = messages(&resumed);
    for message in [
        EventKind::ResumingRun,
        EventKind::UsingCachedSutTurn,
        EventKind::FetchedSutTurn,
    ] {
        assert!(messages.iter().any(|m| *m == message), "{message}");
    }
}

/// The outcomes of the rules between journal and tree, and the notes of the report.
fn tree_rules(project: &Project, benchmarks: &str, journal: &Path) -> (Vec<Outcome>, Vec<String>) {
    let report = check_journal(journal, Some(&Layout::new(project.path(benchmarks))));
    let rules = report.rows.iter().rev().take(4);
    (rules.map(|row| row.outcome).collect(), report.notes)
}

#[test]
fn what_a_later_run_wrote_is_not_compared_with_an_older_journal() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    let first = journals(&project).pop().unwrap();
    // As it was written again, it still fits.
    project.succeeds(&["run", "--quiet"]);
    let (outcomes, notes) = tree_rules(&project, "benchmarks", &first);
    assert_eq!(outcomes, [Outcome::Passed; 4], "{notes:?}");

    project.succeeds(&["run", "--quiet", "--turns", "2"]);
    let latest = journals(&project).pop().unwrap();
    let (outcomes, notes) = tree_rules(&project, "benchmarks", &first);
    // The costs of metrics and scenarios are still those of the first run.
    let none = Outcome::NotApplicable;
    assert_eq!(outcomes, [none, Outcome::Passed, none, none], "{notes:?}");
    assert!(
        notes
            .iter()
            .any(|note| note.contains(&latest.display().to_string())),
        "{notes:?}"
    );
    let id = first.parent().unwrap().file_name().unwrap();
    let ran = project.succeeds(&["journal", "check", id.to_str().unwrap()]);
    assert!(ran.out.contains("a later run wrote"), "{}", ran.out);
    assert_passes(&project, &latest);

    // A tree that was changed still fails the run that wrote it.
    let scores = "benchmarks/sycophancy/runs/scripted-careful/scores.json";
    project.write(
        scores,
        &project
            .read(scores)
            .replace("\"present\": false", "\"present\": true"),
    );
    let (outcomes, notes) = tree_rules(&project, "benchmarks", &latest);
    assert!(outcomes.contains(&Outcome::Failed), "{notes:?}");
}

#[test]
fn a_run_of_another_folder_of_benchmarks_is_distinguished_from_this_one() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    for file in ["benchmark.yaml", "scenarios.json"] {
        let text = project.read(&format!("benchmarks/sycophancy/{file}"));
        project.write(&format!("other/sycophancy/{file}"), &text);
    }
    let other = ["run", "--quiet", "--benchmarks", "other", "--turns", "3"];
    project.succeeds(&other);
    let all = journals(&project);
    let [here, there] = all.as_slice() else {
        panic!("{all:?}");
    };
    let (outcomes, notes) = tree_rules(&project, "benchmarks", here);
    assert_eq!(outcomes, [Outcome::Passed; 4], "{notes:?}");
    let (outcomes, notes) = tree_rules(&project, "other", there);
    assert!(!outcomes.contains(&Outcome::Failed), "{notes:?}");
    let (outcomes, notes) = tree_rules(&project, "benchmarks", there);
    assert_eq!(outcomes, [Outcome::NotApplicable; 4], "{notes:?}");
    assert!(
        notes.iter().any(|note| note.contains("another folder")),
        "{notes:?}"
    );

    // The run of the other folder came later, and did not write this tree.
    let results = "benchmarks/sycophancy/results.json";
    project.write(
        results,
        &project
            .read(results)
            .replacen("\"n_passed\": ", "\"n_passed\": 1", 1),
    );
    let (outcomes, notes) = tree_rules(&project, "benchmarks", here);
    assert_eq!(outcomes.first(), Some(&Outcome::Failed), "{notes:?}");
}

#[test]
fn a_benchmarks_name_stands_for_its_newest_journal() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet", "sycophancy"]);
    project.succeeds(&["run", "--quiet", "sycophancy"]);
    project.write(
        "benchmarks/unrun/benchmark.yaml",
        "name: none\ndescription: None.\n",
    );
    project.succeeds(&["run", "--quiet", "unrun"]);
    let path = journals(&project).remove(1);
    let path = path.file_name().unwrap().to_str().unwrap().to_owned();
    for name in [
        "sycophancy",
        "benchmarks/sycophancy",
        "benchmarks/sycophancy/",
    ] {
        for command in ["check", "stats"] {
            let ran = project.succeeds(&["journal", command, name]);
            let first = ran.out.lines().next().unwrap_or_default();
            assert!(first.contains(&path), "{command} {name}: {first}");
        }
        project.succeeds(&["journal", "show", name]);
        project.succeeds(&["journal", "scores", name]);
    }
    fs::remove_dir_all(project.path(".probity/runs")).unwrap();
    for (name, wanted) in [
        ("unrun", "no run of the benchmark `unrun` with a journal"),
        ("sycophanzy", "did you mean `sycophancy`?"),
    ] {
        let ran = project.run(&["journal", "check", name]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(wanted), "{}", ran.err);
    }
}

/// A journal of the run, without or with other lines, and what is rebuilt from it: the files by name, and whether it says that it is whole.
fn rebuilt_from(lines: &[&str], folder: &Path) -> Option<(BTreeMap<PathBuf, Vec<u8>>, bool)> {
    let journal = folder.join("cut.jsonl");
    fs::write(&journal, lines.concat()).unwrap();
    let out = tempfile::tempdir_in(folder).unwrap();
    let rebuilt = rebuild(&journal, out.path()).ok()?;
    let is_said = !rebuilt.is_whole() || !rebuilt.notes.is_empty();
    let files = rebuilt.files.iter();
    let files = files.map(|path| {
        let name = path.strip_prefix(out.path()).unwrap().to_owned();
        (name, fs::read(path).unwrap())
    });
    Some((files.collect(), is_said))
}

#[test]
fn a_line_that_is_missing_or_changed_changes_no_rebuilt_file_in_silence() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet", "--turns", "2"]);
    let journal = journals(&project).pop().unwrap();
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().unwrap();
    let (whole, is_said) = rebuilt_from(&lines, folder.path()).unwrap();
    assert!(!is_said && whole.len() == 8, "{:?}", whole.keys());

    let queued = EventKind::QueuingItem.message();
    let item = lines.iter().position(|line| line.contains(queued));
    let (mut silent, mut said) = (Vec::new(), 0);
    // The lines before the first item, those of the first items, and the last ones.
    let ends = lines.len() - 40;
    for at in (0..item.unwrap() + 60).chain(ends..lines.len()) {
        let mut cut = lines.clone();
        cut.remove(at);
        match rebuilt_from(&cut, folder.path()) {
            Some((files, false)) if files != whole => silent.push(lines[at]),
            Some((_, true)) | None => said += 1,
            Some(_) => {}
        }
    }
    assert!(silent.is_empty(), "{silent:?}");
    assert!(said > 50, "{said}");

    // The usage of one call in the place of another's.
    let calls: Vec<usize> = (0..lines.len())
        .filter(|at| lines[*at].contains("\"fetched user response\""))
        .collect();
    let spend = |line: &str| {
        let start = line.find("\"spend\":").unwrap();
        line[start..].to_owned()
    };
    let other = calls
        .iter()
        .find(|at| spend(lines[**at]) != spend(lines[calls[0]]))
        .unwrap();
    let first = lines[calls[0]].replace(&spend(lines[calls[0]]), &spend(lines[*other]));
    let mut exchanged = lines.clone();
    exchanged[calls[0]] = &first;
    let (files, is_said) = rebuilt_from(&exchanged, folder.path()).unwrap();
    assert!(is_said && files == whole);

    project.write("cut.jsonl", &exchanged.concat());
    let ran = project.run(&["journal", "rebuild", "cut.jsonl", "--out", "again"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    for words in ["not everything could be restored", "the run counted"] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}
