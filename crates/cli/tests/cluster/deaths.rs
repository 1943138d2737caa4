//! Runs whose processes die, and whose network is cut.

use std::time::{Duration, Instant};

use scripted_llm::ScriptedServer;

use crate::{
    nats::Nats,
    project::{Project, answered, same_tree, worker, worker_at},
    wire::Wire,
};

const LONG: Duration = Duration::from_secs(180);

/// A server whose calls take a moment, the tree of an undisturbed run on it, and a second project with the same scenarios.
struct Stage {
    nats: Nats,
    server: ScriptedServer,
    here: Project,
    there: Project,
    /// The calls of the undisturbed run, without those that generate.
    expected: std::collections::BTreeMap<String, u64>,
    before: std::collections::BTreeMap<String, u64>,
}

impl Stage {
    async fn new() -> Self {
        let server = ScriptedServer::builder().record_bodies(true);
        let server = server.start().await.unwrap();
        let here = Project::new(&server);
        assert!(here.run_here().status.success());
        let there = Project::like(&server, &here);
        let before = answered(&server);
        server.set_latency(Duration::from_millis(150));
        Self {
            nats: Nats::start(),
            server,
            here,
            there,
            expected: before.clone(),
            before,
        }
    }

    /// The calls that were answered since the undisturbed run.
    fn answered(&self) -> u64 {
        answered(&self.server).values().sum::<u64>() - self.before.values().sum::<u64>()
    }

    async fn wait_answered(&self, calls: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.answered() < calls {
            assert!(Instant::now() < deadline, "{}", self.there.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until workers have ended the rows that they had, while the run sends them no more.
    async fn wait_idle(&self) {
        let (mut before, mut answered) = (0, self.answered());
        while answered != before {
            tokio::time::sleep(Duration::from_secs(2)).await;
            (before, answered) = (answered, self.answered());
        }
    }

    /// Asserts that the tree is that of the undisturbed run, and that at most `lost` calls were made twice: those whose replies were under way
    /// to a process that died.
    fn assert_whole(&self, lost: u64) {
        same_tree(&self.there, &self.here);
        let after = answered(&self.server);
        let mut twice = 0;
        for (body, count) in &after {
            let calls = count - self.before.get(body).unwrap_or(&0);
            let expected = self.expected.get(body).copied().unwrap_or(0);
            twice += calls.saturating_sub(expected);
        }
        assert!(
            twice <= lost,
            "{twice} calls were made twice, and {lost} may be"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_a_worker_that_is_killed_goes_on_elsewhere() {
    let stage = Stage::new().await;
    let (first, _folder) = worker(&stage.nats, &[]);
    let mut run = stage.there.start(&stage.nats, "4");
    stage.wait_answered(20).await;
    // Its three rows are in the middle of their conversations. Calls that it has sent are no finished ones.
    let in_flight = 3;
    drop(first);
    let (_second, _folder) = worker(&stage.nats, &[]);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    stage.assert_whole(in_flight);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_is_killed_is_run_again() {
    let stage = Stage::new().await;
    let _workers: Vec<_> = (0..2).map(|_| worker(&stage.nats, &[])).collect();
    let run = stage.there.start(&stage.nats, "10");
    stage.wait_answered(40).await;
    drop(run);
    let mut again = stage.there.start(&stage.nats, "10");
    assert_eq!(
        stage.there.wait(&mut again, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    // No worker died, so no reply was lost.
    stage.assert_whole(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_is_killed_goes_on_with_its_files() {
    let mut stage = Stage::new().await;
    let _workers: Vec<_> = (0..2).map(|_| worker(&stage.nats, &[])).collect();
    let mut run = stage.there.start(&stage.nats, "20");
    stage.wait_answered(40).await;
    stage.nats.restart(Duration::from_secs(2), true);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    stage.assert_whole(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_loses_its_files_loses_no_row() {
    let mut stage = Stage::new().await;
    let _workers: Vec<_> = (0..2).map(|_| worker(&stage.nats, &[])).collect();
    let mut run = stage.there.start(&stage.nats, "20");
    stage.wait_answered(40).await;
    stage.nats.restart(Duration::from_secs(1), false);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    // The workers that have the rows are alive.
    stage.assert_whole(0);
}

#[cfg(unix)]
fn signal(process: &crate::nats::Process, signal: &str) {
    let id = process.0.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([signal, &id])
        .status();
    assert!(sent.unwrap().success());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_interrupted_ends_in_order_and_goes_on() {
    let stage = Stage::new().await;
    let _workers: Vec<_> = (0..2).map(|_| worker(&stage.nats, &[])).collect();
    let mut run = stage.there.start(&stage.nats, "20");
    stage.wait_answered(40).await;
    signal(&run, "-INT");
    let began = Instant::now();
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(130),
        "{}",
        stage.there.said()
    );
    assert!(began.elapsed() < Duration::from_secs(20), "it ended late");
    let mut again = stage.there.start(&stage.nats, "20");
    assert_eq!(
        stage.there.wait(&mut again, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    stage.assert_whole(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_cut_for_half_a_minute_costs_nothing() {
    let stage = Stage::new().await;
    let (to_run, to_worker) = (Wire::to(&stage.nats).await, Wire::to(&stage.nats).await);
    let (_near, _folder) = worker_at(&to_worker.url(), &[]);
    let (_far, _folder) = worker(&stage.nats, &[]);
    let mut run = stage.there.start_at(&to_run.url(), "20");
    stage.wait_answered(20).await;
    to_worker.cut(true);
    stage.wait_answered(40).await;
    to_run.cut(true);
    tokio::time::sleep(Duration::from_secs(30)).await;
    to_run.cut(false);
    to_worker.cut(false);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    // A worker that nobody hears for longer than the lease may have a call under way when its rows go to another one.
    stage.assert_whole(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_gets_its_own_rows_again_goes_on_with_them() {
    let stage = Stage::new().await;
    let to_worker = Wire::to(&stage.nats).await;
    // It has room for all rows twice.
    let (_only, _folder) = worker_at(&to_worker.url(), &["--concurrency", "24"]);
    let mut run = stage.there.start(&stage.nats, "4");
    stage.wait_answered(20).await;
    // The rows go on for longer than a worker waits before it begins one after the cut.
    stage.server.set_latency(Duration::from_millis(700));
    to_worker.cut(true);
    tokio::time::sleep(Duration::from_secs(12)).await;
    to_worker.cut(false);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    stage.assert_whole(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_that_the_run_has_not_taken_are_sent_again_to_a_nats_server_that_lost_them() {
    let mut stage = Stage::new().await;
    let to_run = Wire::to(&stage.nats).await;
    let _workers: Vec<_> = (0..2).map(|_| worker(&stage.nats, &[])).collect();
    let mut run = stage.there.start_at(&to_run.url(), "20");
    stage.wait_answered(40).await;
    to_run.cut(true);
    stage.wait_idle().await;
    stage.nats.restart(Duration::from_secs(1), false);
    to_run.cut(false);
    assert_eq!(
        stage.there.wait(&mut run, LONG),
        Some(0),
        "{}",
        stage.there.said()
    );
    stage.assert_whole(0);
}
