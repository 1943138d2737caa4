//! A run that is killed at any moment goes on where it was: no finished call is made again, and the tree becomes the one of a
//! run that was left alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::tree;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use llm_client::{Cache, CacheSettings};
use scripted_llm::ScriptedServer;

/// Replies after which the process is killed, counted from its start. The moments fall into generating metrics, generating
/// scenarios, playing (with tools: also between two calls of a turn) and judging.
const MOMENTS: [usize; 6] = [1, 2, 5, 13, 40, 40];

fn prepare(folder: &Path, server: &ScriptedServer) {
    let url = server.base_url();
    let model = |name: &str| format!("{{source: vllm, model: {name}, base_url: \"{url}\"}}");
    let target = |id: &str, name: &str| {
        format!("{{id: {id}, source: vllm, model: {name}, base_url: \"{url}\"}}")
    };
    let config = format!(
        "run: {{concurrency: {{gen_scenarios: 2, simulate: 3, evaluate: 2}}}}\n\
         generation: {{scenarios_per_metric: 2, turns: 3, num_samples: 2}}\n\
         demographics: {{age: [young, old]}}\n\
         user_model: {}\nevaluator_model: {}\ntargets: [{}, {}]\n",
        model("scripted-user"),
        model("scripted-judge"),
        target("Agreeable.1", "scripted-agreeable"),
        target("careful", "scripted-careful"),
    );
    fs::write(folder.join("config.yaml"), config).unwrap();
    // The other benchmark is a shipped one.
    let benchmark = folder.join("benchmarks/flattery");
    fs::create_dir_all(&benchmark).unwrap();
    let yaml = "name: flattery # for people\ndescription: Whether an assistant flatters, and caves in when a user pushes back.\n";
    fs::write(benchmark.join("benchmark.yaml"), yaml).unwrap();
}

fn start(folder: &Path, benchmark: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(["run", benchmark, "--quiet"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// How many replies the run's cache holds. The file may be open in the run's process at the same time.
fn cached(folder: &Path) -> u64 {
    let path = folder.join(".probity/cache.sqlite");
    if !path.exists() {
        return 0;
    }
    let cache = Cache::open(path, CacheSettings::default()).ok();
    cache.and_then(|cache| cache.count().ok()).unwrap_or(0)
}

/// Waits until `replies` replies have arrived. Then nothing moves any more, because all further calls are held.
async fn wait_until_still(server: &ScriptedServer, folder: &Path, child: &mut Child, replies: u64) {
    let mut ended = || child.try_wait().unwrap().is_some();
    wait_until(|| server.held() > 0 || ended(), "the run asked for nothing").await;
    wait_until(
        || cached(folder) >= replies || ended(),
        "a reply did not arrive in the cache",
    )
    .await;
}

async fn wait_until(mut done: impl FnMut() -> bool, otherwise: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{otherwise}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn answered(server: &ScriptedServer) -> BTreeMap<String, u64> {
    let bodies = server.stats().bodies;
    bodies
        .into_iter()
        .map(|(hash, count)| (hash, count.answered))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_goes_on_without_asking_again() {
    goes_on_without_asking_again("flattery").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_with_tools_goes_on_without_asking_again() {
    goes_on_without_asking_again("delegated-actions").await;
}

async fn goes_on_without_asking_again(benchmark: &str) {
    let server = || async {
        ScriptedServer::builder()
            .record_bodies(true)
            .start()
            .await
            .unwrap()
    };
    let alone = server().await;
    let undisturbed = tempfile::tempdir().unwrap();
    prepare(undisturbed.path(), &alone);
    assert!(
        start(undisturbed.path(), benchmark)
            .wait()
            .unwrap()
            .success()
    );

    let server = server().await;
    let killed = tempfile::tempdir().unwrap();
    prepare(killed.path(), &server);
    for moment in MOMENTS {
        server.hold_after(moment);
        let replies = server.stats().answered + moment as u64;
        let mut child = start(killed.path(), benchmark);
        wait_until_still(&server, killed.path(), &mut child, replies).await;
        assert!(
            child.try_wait().unwrap().is_none(),
            "the run ended before it could be killed after {moment} more replies"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // Held calls go with their connections; answered to nobody, they would count as answered.
        wait_until(
            || server.stats().in_flight == 0,
            "the killed run's calls are still held",
        )
        .await;
        server.release();
    }
    // One more time at a moment that nothing was prepared for.
    let mut child = start(killed.path(), benchmark);
    tokio::time::sleep(Duration::from_millis(60)).await;
    let _ = child.kill();
    child.wait().unwrap();
    wait_until(
        || server.stats().in_flight == 0,
        "the killed run's calls are still there",
    )
    .await;
    let lost = server.stats().answered - cached(killed.path());
    assert!(
        lost <= 16,
        "no more than what was in flight when it was killed can be lost: {lost}"
    );

    assert!(start(killed.path(), benchmark).wait().unwrap().success());
    tree::assert_same(
        &tree::read(&killed.path().join("benchmarks")),
        &tree::read(&undisturbed.path().join("benchmarks")),
    );
    let (once, more) = (answered(&alone), answered(&server));
    let repeated: u64 = more
        .iter()
        .map(|(hash, count)| count - once.get(hash).copied().unwrap_or(0))
        .sum();
    assert_eq!(
        repeated, lost,
        "calls that were answered, stored and made again"
    );
}
