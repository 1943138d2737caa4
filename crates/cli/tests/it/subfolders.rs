//! The command in a folder below that of a project.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;
use scripted_llm::ScriptedServer;

/// A prompt of one's own: the shipped one.
const JUDGE: &str = include_str!("../../../evaluator/prompts/v1/judge_user.j2");

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_found_from_a_folder_below_it() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "prompts: {judge_user: prompts/judge.j2}\n");
    project.write("prompts/judge.j2", JUDGE);
    project.write("notes/today/x.md", "");
    let folder = "notes/today";
    let used = "note: using the benchmarks and the configuration of ../..\n";

    let ran = project.run_in(folder, &["plan"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.starts_with(used), "{}", ran.err);
    assert!(ran.out.contains("target careful"), "{}", ran.out);
    let ran = project.run_in(folder, &["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("../../benchmarks/flattery/report.html"),
        "{}",
        ran.out
    );
    assert!(project.path("benchmarks/flattery/results.json").exists());
    assert!(project.path(".probity/cache.sqlite").exists());
    assert!(!project.path("notes/today/benchmarks").exists());
    assert!(!project.path("notes/today/.probity").exists());

    // Hints can be pasted here, and paths in flags start here.
    let ran = project.run_in(folder, &["evaluate", "flatery"]);
    assert!(ran.err.contains("did you mean `flattery`?"), "{}", ran.err);
    project.write(
        "notes/today/own.yaml",
        &project.read("config.yaml").replace("prompts:", "#"),
    );
    let ran = project.run_in(folder, &["plan", "--config", "own.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let used = "note: using the benchmarks of ../..\n";
    assert!(ran.err.starts_with(used), "{}", ran.err);
    // Mistakes name the file that they are in.
    project.write(
        "config.yaml",
        &format!("{}sed: 1\n", project.read("config.yaml")),
    );
    let ran = project.run_in(folder, &["plan"]);
    assert!(
        ran.err.contains("error: ../../config.yaml, line "),
        "{}",
        ran.err
    );
    let ran = project.run_in(folder, &["validate", "../../config.yaml"]);
    assert!(ran.out.starts_with("../../config.yaml:"), "{}", ran.out);
    assert!(ran.out.contains(": sed: unknown key"), "{}", ran.out);
    let mended = project.read("config.yaml").replace("sed: 1\n", "");
    project.write("config.yaml", &mended);
    let export = ["export", "csv", "--out", "here"];
    let ran = project.run_in(folder, &export);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(project.path("notes/today/here").exists());
    let ran = project.run_in(folder, &["init", "second"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(project.path("benchmarks/second/benchmark.yaml").exists());
    assert!(ran.out.contains("kept ../../config.yaml"), "{}", ran.out);
    assert!(!ran.out.contains("--benchmarks"), "{}", ran.out);
}

#[test]
fn a_folder_of_its_own_needs_a_flag_or_a_repository() {
    let project = Project::new();
    project.write("benchmarks/b/benchmark.yaml", "name: b\ndescription: x\n");
    project.write("other/.git/HEAD", "");
    let ran = project.run_in("other", &["init", "c"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err, "");
    assert!(project.path("other/benchmarks/c/benchmark.yaml").exists());
    assert!(project.path("other/config.yaml").exists());
    let mine = ["--benchmarks", "mine", "plan", "--scripted"];
    let ran = project.run_in("benchmarks/b", &mine);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("using the benchmarks"), "{}", ran.err);
}
