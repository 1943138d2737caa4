//! Parts and merges that are killed, and a part that is at work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;

use super::{PARTS, project};
use crate::{common::Project, tree};

/// Makes the models those of `server`.
fn serve(project: &Project, server: &ScriptedServer) {
    let url = server.base_url();
    let model = |name: &str| format!("model: scripted-{name}, base_url: \"{url}\"");
    project.write(
        "config.yaml",
        &format!(
            "generation: {{turns: 2, num_samples: 2}}\nuser_model: {{{}}}\nevaluator_model: {{{}}}\ntargets:\n  - {{id: agreeable, {}}}\n  - {{id: careful, {}}}\n",
            model("user"),
            model("judge"),
            model("agreeable"),
            model("careful")
        ),
    );
}

fn start(project: &Project, args: &[&str]) -> Child {
    project
        .command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Starts part 3 of 4, whose calls are held after nine replies.
async fn held_part(project: &Project, server: &ScriptedServer) -> Child {
    server.hold_after(9);
    let mut child = start(project, &["run", "flattery", "--shard", "3/4"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.held() == 0 {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_killed_goes_on_and_the_merged_tree_is_the_same() {
    let server = ScriptedServer::start().await.unwrap();
    let project = project();
    serve(&project, &server);
    let run = |args: &[&str]| project.succeeds(args).err;
    tokio::task::block_in_place(|| {
        run(&["run", "flattery"]);
        for part in ["1/4", "2/4", "4/4"] {
            run(&["run", "flattery", "--shard", part]);
        }
    });
    let child = held_part(&project, &server).await;
    let merge = [&["merge", "whole"], &PARTS[..]].concat();
    let on_part = ["--benchmarks", "shards/3-of-4/benchmarks"];
    tokio::task::block_in_place(|| {
        // While it is at work, nothing is merged, and its state says which part it is.
        let merged = project.run(&merge);
        assert_eq!(merged.code, 3, "{}{}", merged.out, merged.err);
        let expected = "a run is at work in shards/3-of-4/benchmarks/flattery. Wait for it to end";
        assert!(merged.err.contains(expected), "{}", merged.err);
        assert!(!project.path("whole").exists() && !project.path("whole.merging").exists());
        let status = project.succeeds(&[&on_part[..], &["status"]].concat()).out;
        assert!(
            status.starts_with("flattery, shard 3 of 4, run-"),
            "{status}"
        );
    });
    kill(child);
    server.release();
    tokio::task::block_in_place(|| {
        // It is named before it has run again.
        let merged = project.run(&merge);
        assert_eq!(merged.code, 1, "{}{}", merged.out, merged.err);
        assert!(
            merged.err.contains("shard 3 was not played to the end"),
            "{}",
            merged.err
        );
        run(&["run", "flattery", "--shard", "3/4"]);
        run(&[&merge[..], &["--force"]].concat());
        tree::assert_same(
            &tree::read(&project.path("whole/benchmarks")),
            &tree::read(&project.path("benchmarks")),
        );
        let checked = project.run(&["--benchmarks", "whole/benchmarks", "journal", "check"]);
        assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    });
}

/// Killed at moments from its start to its end, the merged folder is not there or whole, also where it replaces another one.
#[test]
fn a_killed_merge_leaves_the_old_folder_or_the_new_one() {
    let project = project();
    for part in ["1/2", "2/2"] {
        project.succeeds(&["--scripted", "run", "flattery", "--shard", part, "--quiet"]);
    }
    let parts = ["shards/1-of-2", "shards/2-of-2"];
    project.succeeds(&[&["merge", "expected"], &parts[..]].concat());
    let expected = tree::read(&project.path("expected/benchmarks"));
    for force in [&[][..], &["--force"]] {
        let merge = [&["merge", "whole"], &parts[..], force].concat();
        let mut unfinished = 0;
        for moment in 0_u64..30 {
            if force.is_empty() && project.path("whole").exists() {
                break;
            }
            let child = start(&project, &merge);
            std::thread::sleep(Duration::from_millis(25 * moment));
            kill(child);
            unfinished += usize::from(project.path("whole.merging").exists());
            if project.path("whole").exists() {
                tree::assert_same(&tree::read(&project.path("whole/benchmarks")), &expected);
            }
        }
        assert!(unfinished > 0);
    }
    project.succeeds(&[&["merge", "whole", "--force"], &parts[..]].concat());
    tree::assert_same(&tree::read(&project.path("whole/benchmarks")), &expected);
    assert!(!project.path("whole.merging").exists() && !project.path("whole.replaced").exists());
}
