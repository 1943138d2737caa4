//! Ctrl-C: the first ends the run in order, the second at once.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;
use crate::tree;

use std::{
    io::{BufRead, BufReader, Lines},
    net::TcpListener,
    process::{Child, ChildStderr, Command, Stdio},
};

use common::Project;
use scripted_llm::ScriptedServer;
use serde_json::Value;

/// The command at work, and what it says.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn start(project: &Project, args: &[&str]) -> Self {
        Self::of(project.command(args))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Ctrl-C.
    fn interrupt(&self) {
        self.signal("-INT");
    }

    fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        kill.args([signal, &self.child.id().to_string()]);
        assert!(kill.status().unwrap().success());
    }

    /// Reads on until the command says that it is stopping.
    fn wait_for_stopping(&mut self) {
        let mut said = self.lines.by_ref().map(Result::unwrap);
        assert!(said.any(|line| line.starts_with("stopping: waiting for calls in flight")));
    }

    /// The exit code, and all lines that were not read before.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let rest = self.lines.map(Result::unwrap).collect();
        (self.child.wait().unwrap().code(), rest)
    }
}

#[test]
fn the_second_ctrl_c_leaves_at_once_with_130() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let project = Project::new();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    project.write(
        "config.yaml",
        &format!("user_model: {{model: m, base_url: '{url}'}}\nevaluator_model: {{model: m, base_url: '{url}'}}\ntargets: [{{id: t, \
            model: m, base_url: '{url}'}}]\n"),
    );
    let mut run = Running::start(&project, &["run", "sycophancy"]);
    // A call is in flight, and is never answered.
    let _held = listener.accept().unwrap();
    run.interrupt();
    run.wait_for_stopping();
    run.interrupt();
    assert_eq!(run.end().0, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_ctrl_c_lets_calls_in_flight_finish_and_starts_no_other() {
    let server = ScriptedServer::builder()
        .hold_after(0)
        .start()
        .await
        .unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let mut run = Running::start(&project, &["run", "flattery"]);
    server.wait_held(1).await;
    run.interrupt();
    run.wait_for_stopping();
    server.release();
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said:#?}");
    assert!(
        said.contains(&"stopped; run the same command to continue".to_owned()),
        "{said:#?}"
    );
    let stats = server.stats();
    assert_eq!((stats.requests, stats.answered), (1, 1));
    // The metrics that were in flight have arrived and are written.
    let yaml = project.read("benchmarks/flattery/benchmark.yaml");
    assert!(
        yaml.contains("# for people") && yaml.contains("m01"),
        "{yaml}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_writes_what_is_finished_and_goes_on_without_asking_again() {
    let alone = ScriptedServer::start().await.unwrap();
    let undisturbed = Project::new();
    undisturbed.served_by(&alone, "");
    assert_eq!(undisturbed.run(&["run", "flattery"]).code, 0);
    let wanted = tree::read(&undisturbed.path("benchmarks"));

    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    let mut last_said = Vec::new();
    // The moments fall into generating scenarios, into playing, and into judging.
    for moment in [3, 40, 20] {
        server.hold_after(moment);
        let mut run = Running::start(&project, &["run", "flattery"]);
        server.wait_held(1).await;
        run.interrupt();
        run.wait_for_stopping();
        server.release();
        let (code, said) = run.end();
        assert_eq!(code, Some(130), "after {moment} replies: {said:#?}");
        for (name, bytes) in tree::read(&project.path("benchmarks")) {
            if name.ends_with(".json") {
                serde_json::from_slice::<Value>(&bytes)
                    .unwrap_or_else(|error| panic!("after {moment} replies: {name}: {error}"));
            }
        }
        last_said = said;
    }
    let missing = last_said.iter().any(|line| {
        line.starts_with("warning: flattery: careful has ") && line.contains(" rows; ")
    });
    assert!(missing, "the rates are of some rows only: {last_said:#?}");
    let rows = project.read("benchmarks/flattery/runs/careful/conversations.json");
    assert!(
        rows.contains("conv_id"),
        "finished conversations are in the tree"
    );

    let finished = project.run(&["run", "flattery"]);
    assert_eq!(finished.code, 0, "{}", finished.err);
    tree::assert_same(&tree::read(&project.path("benchmarks")), &wanted);
    assert_eq!(
        server.stats().bodies,
        alone.stats().bodies,
        "each call was made as often as in a run that was left alone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_is_closed_and_a_request_to_terminate_end_a_run_in_order() {
    let alone = ScriptedServer::start().await.unwrap();
    let undisturbed = Project::new();
    undisturbed.served_by(&alone, "");
    undisturbed.succeeds(&["run", "flattery"]);
    let wanted = tree::read(&undisturbed.path("benchmarks"));
    for signal in ["-HUP", "-TERM"] {
        let server = ScriptedServer::start().await.unwrap();
        let project = Project::new();
        project.served_by(&server, "");
        server.hold_after(60);
        // Tests that are started by `nohup` pass on that the signal of a closed terminal is ignored.
        let reset: &[&str] = match cfg!(target_os = "linux") {
            true => &["env", "--default-signal=HUP"],
            false => &["env"],
        };
        let mut run = Running::of(project.launched(reset, &["run", "flattery"]));
        server.wait_held(1).await;
        run.signal(signal);
        run.wait_for_stopping();
        server.release();
        let (code, said) = run.end();
        assert_eq!(code, Some(130), "{signal}: {said:#?}");
        let rows = project.read("benchmarks/flattery/runs/careful/conversations.json");
        serde_json::from_str::<Value>(&rows).unwrap();
        project.succeeds(&["run", "flattery"]);
        tree::assert_same(&tree::read(&project.path("benchmarks")), &wanted);
        let bodies = (server.stats().bodies, alone.stats().bodies);
        assert_eq!(bodies.0, bodies.1, "{signal}: no call was made twice");
    }
}

/// A command started with `nohup` outlives the terminal.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_under_nohup_goes_on() {
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new();
    project.served_by(&server, "");
    server.hold_after(20);
    let mut command = project.launched(&["nohup"], &["run", "flattery"]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.wait_held(1).await;
    let kill = Command::new("kill")
        .args(["-HUP", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    server.release();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(!said.contains("stopping"), "{said}");
}

/// The terminal goes, with all that would be drawn on it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_terminal_goes_writes_its_tree_and_ends() {
    if !std::path::Path::new("/usr/bin/script").exists() {
        eprintln!(
            "SKIPPED: /usr/bin/script (util-linux) is missing, so there is no terminal to close"
        );
        return;
    }
    let server = ScriptedServer::start().await.unwrap();
    let project = Project::new().env("TERM", "xterm");
    project.served_by(&server, "");
    server.hold_after(60);
    let outer = r#"exec script -qec "exec $0 $*" /dev/null"#;
    let mut terminal = project
        .launched(&["sh", "-c", outer], &["run", "flattery"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_held(1).await;
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    // The signal is on its way to the run before its calls are answered.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    server.release();
    let rows = project.path("benchmarks/flattery/runs/careful/conversations.json");
    let ended = |ran: &common::Ran| !ran.err.contains("another run is using");
    for _ in 0..300 {
        let ran = project.run(&["aggregate", "flattery"]);
        if ended(&ran) && rows.exists() {
            project.succeeds(&["run", "flattery"]);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the run has not ended");
}

/// A process whose output nobody takes waits in the middle of a line.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_ends_a_run_whatever_it_waits_for() {
    let project = Project::new();
    let mut command = project.command(&["run", "sycophancy", "--scripted", "--log", "trace"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stderr.take().unwrap();
    // Until it waits: its use of the processor stands still.
    let used = || {
        let path = format!("/proc/{}/stat", child.id());
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        let fields: Vec<&str> = stat.split(' ').collect();
        (
            fields.get(13).map(ToString::to_string),
            fields.get(14).map(ToString::to_string),
        )
    };
    let pause = || std::thread::sleep(std::time::Duration::from_millis(700));
    pause();
    let mut before = used();
    for _ in 0..60 {
        pause();
        let now = used();
        if now == before {
            break;
        }
        before = now;
    }
    let signal = || {
        let mut kill = Command::new("kill");
        kill.args(["-TERM", &child.id().to_string()]);
        assert!(kill.status().unwrap().success());
    };
    signal();
    pause();
    signal();
    for _ in 0..30 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            drop(output);
            return;
        }
        pause();
    }
    child.kill().unwrap();
    panic!("the second signal did not end it");
}
