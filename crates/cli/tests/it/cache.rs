//! `probity cache`: what the cache holds, and removing replies from it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot set up its project fails"
)]

use crate::{common::Project, tree};

use std::{fs, path::Path};

use serde_json::{Value, json};

const FILE: &str = ".probity/cache.sqlite";

fn printed(project: &Project, args: &[&str]) -> Value {
    serde_json::from_str(&project.succeeds(args).out).unwrap()
}

/// How many replies there are of a model; of all without one.
fn replies(stats: &Value, model: Option<&str>) -> u64 {
    let groups = stats["groups"].as_array().unwrap().iter();
    let of_model = groups.filter(|group| model.is_none_or(|model| group["model"] == model));
    of_model
        .map(|group| group["replies"].as_u64().unwrap())
        .sum()
}

#[test]
fn a_model_is_pruned_and_the_next_run_calls_only_for_its_replies() {
    let project = Project::new();
    let first = printed(&project, &["run", "--quiet", "--json"]);
    let made = tree::read(&project.path("benchmarks"));
    let stats = printed(&project, &["cache", "stats", "--json"]);
    assert_eq!(stats["file"], FILE);
    assert_eq!(stats["replies"], first["replies"]["asked"]);
    assert_eq!(replies(&stats, None), stats["replies"].as_u64().unwrap());
    assert_eq!(stats["damaged"], 0);
    assert_eq!(stats["groups"][0]["endpoint"], "scripted");
    assert!(stats["oldest"].as_str() <= stats["newest"].as_str());
    let judged = replies(&stats, Some("scripted-judge"));
    assert!(judged > 0);
    let shown = project.succeeds(&["cache", "stats"]).out;
    assert!(
        shown.contains("scripted-judge") && shown.contains(FILE),
        "{shown}"
    );

    let prune = ["cache", "prune", "--model", "scripted-judge", "--json"];
    let dry = printed(&project, &[&prune[..], &["--dry-run"]].concat());
    assert_eq!(
        (&dry["rows"], &dry["dry_run"]),
        (&json!(judged), &json!(true))
    );
    assert_eq!(printed(&project, &["cache", "stats", "--json"]), stats);
    let pruned = printed(&project, &prune);
    assert_eq!(
        (&pruned["rows"], &pruned["bytes"]),
        (&json!(judged), &dry["bytes"])
    );
    assert_eq!(pruned["shrunk"], true);
    let bytes = |key: &str| pruned[key].as_u64().unwrap();
    assert!(
        bytes("file_bytes_after") < bytes("file_bytes_before"),
        "{pruned}"
    );
    let left = printed(&project, &["cache", "stats", "--json"]);
    assert_eq!(replies(&left, Some("scripted-judge")), 0);
    assert_eq!(left["file_bytes"], pruned["file_bytes_after"]);

    let again = printed(&project, &["run", "--quiet", "--json"]);
    assert_eq!(again["replies"]["asked"], judged);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &made);
}

#[test]
fn one_row_is_called_for_again_and_the_others_come_from_the_cache() {
    let project = Project::new();
    let first = printed(&project, &["run", "--quiet", "--json"]);
    let made = tree::read(&project.path("benchmarks"));
    let row = "m01_s001_v01__scripted-careful";
    let args = ["run", "sycophancy", "--force-row", row, "--json"];
    let ran = project.succeeds(&args);
    let again: Value = serde_json::from_str(&ran.out).unwrap();
    // Four turns of the user and of the target, and the verdict.
    assert_eq!(again["replies"]["asked"], 9, "{}", ran.err);
    let all = first["replies"]["asked"].as_u64().unwrap();
    assert!(
        again["replies"]["cached"].as_u64() >= Some(all - 9 - 5),
        "{again}"
    );
    assert!(
        ran.err.contains("1 new: --force-row calls for them again"),
        "{}",
        ran.err
    );
    tree::assert_same(&tree::read(&project.path("benchmarks")), &made);

    let misspelt = project.run(&[
        "run",
        "sycophancy",
        "--force-row",
        "m01_s001_v1__scripted-careful",
    ]);
    assert_eq!(misspelt.code, 2, "{}", misspelt.err);
    assert!(
        misspelt.err.contains(&format!("did you mean `{row}`?")),
        "{}",
        misspelt.err
    );
    let misspelt = "m01_s001_v1__scripted-careful";
    let dry = project.run(&["run", "sycophancy", "--dry-run", "--force-row", misspelt]);
    assert_eq!(dry.code, 2, "{}", dry.out);
    assert!(dry.err.contains("did you mean"), "{}", dry.err);
    let sample = project.run(&["run", "sycophancy", "--force-row", "nothing of the sort"]);
    assert!(sample.err.contains("samples 0 to 0"), "{}", sample.err);
}

#[test]
fn replies_are_pruned_by_age() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    let none = project
        .succeeds(&["cache", "prune", "--older-than", "1h"])
        .out;
    assert!(
        none.starts_with("removed 0 rows (0 bytes of text)"),
        "{none}"
    );
    let all = printed(&project, &["cache", "stats", "--json"])["replies"].clone();
    // Every reply is older than a nanosecond.
    let old = printed(
        &project,
        &["cache", "prune", "--older-than", "1ns", "--json"],
    );
    assert_eq!(old["rows"], all);
    let left = printed(&project, &["cache", "stats", "--json"]);
    assert_eq!(
        (&left["replies"], &left["oldest"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(left["groups"], json!([]));
}

#[test]
fn a_cache_of_an_earlier_version_is_shown_as_it_is() {
    let project = Project::new();
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/frozen/single-judge/state/cache.sqlite");
    fs::create_dir(project.path(".probity")).unwrap();
    fs::copy(&frozen, project.path(FILE)).unwrap();
    let stats = printed(&project, &["cache", "stats", "--json"]);
    assert_eq!(
        (&stats["replies"], &stats["damaged"]),
        (&json!(10), &json!(0))
    );
    assert_eq!(stats["groups"][0]["model"], Value::Null);
    let dry = ["cache", "prune", "--older-than", "1s", "--dry-run"];
    let dry = project.succeeds(&dry).out;
    assert!(dry.starts_with("would remove 10 rows ("), "{dry}");
    assert_eq!(
        fs::read(project.path(FILE)).unwrap(),
        fs::read(frozen).unwrap()
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let project = Project::new();
    let fails = |args: &[&str], code: i32, text: &str| {
        let ran = project.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{args:?}: {}", ran.err);
    };
    fails(
        &["cache", "stats"],
        2,
        "there is no cache: .probity/cache.sqlite",
    );
    fails(&["cache", "prune", "--damaged"], 2, "there is no cache");
    fails(&["cache", "prune"], 2, "--older-than");
    fails(
        &["cache", "prune", "--older-than", "soon"],
        2,
        "expected a length of time",
    );
    fails(&["cache", "prune", "--older-than", "-1d"], 2, "");
    let both = ["cache", "prune", "--damaged", "--model", "m"];
    fails(&both, 2, "cannot be used with");
    project.write(FILE, "These are my notes.");
    fails(
        &["cache", "stats"],
        3,
        "is damaged and cannot be repaired, or is no cache at all",
    );
    fails(
        &["cache", "prune", "--damaged"],
        3,
        "is damaged and cannot be repaired, or is no cache at all",
    );
    assert_eq!(project.read(FILE), "These are my notes.");
}

/// Its pages are not where the table says, so that a search for the next row finds an earlier one.
#[cfg(unix)]
#[test]
fn commands_end_on_a_damaged_cache_and_a_run_repairs_it() {
    use crate::special_files::promptly;
    let project = Project::new();
    project.succeeds(&["run", "--scripted"]);
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cache/damaged.sqlite");
    for args in [&["cache", "stats"][..], &["plan"], &["run", "--scripted"]] {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(project.path(&format!("{FILE}{end}")));
        }
        fs::copy(&fixture, project.path(FILE)).unwrap();
        let ran = promptly(&project, args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
    let repaired = "was damaged and has been repaired";
    let prune = ["cache", "prune", "--damaged"];
    fs::copy(&fixture, project.path(FILE)).unwrap();
    let ran = promptly(&project, &prune);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains(repaired), "{}", ran.err);
    assert!(
        ran.err
            .contains("The damaged file is kept as .probity/cache.sqlite.damaged"),
        "{}",
        ran.err
    );
    assert!(project.path(".probity/cache.sqlite.damaged").exists());
    let stats = printed(&project, &["cache", "stats", "--json"]);
    assert_eq!(
        (&stats["damaged"], &stats["replies"]),
        (&0.into(), &89.into())
    );
    assert!(ran.err.contains("kept 89 replies, lost 0"), "{}", ran.err);
}
