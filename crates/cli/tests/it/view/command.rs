//! The command around the server.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{Viewer, wait_for};
use crate::common::{Project, Ran};

/// A benchmark that nobody has run.
fn unrun() -> Project {
    let project = Project::new();
    project.write(
        "benchmarks/b/benchmark.yaml",
        "name: b\nmetrics:\n- {id: m01, name: honest, type: positive, definition: d}\n",
    );
    project
}

#[test]
fn ctrl_c_ends_it_in_order_and_leaves_nothing() {
    let project = unrun();
    fs::create_dir(project.path("tmp")).unwrap();
    let before = project.files();
    let mut command = project.command(&["view", "b"]);
    command.env("TMPDIR", project.path("tmp"));
    let mut viewer = Viewer::of(command);
    let page = viewer.get("").body;
    assert!(
        page.contains("no results yet: <code>probity run b</code>"),
        "{page}"
    );
    assert_eq!(viewer.json("index")["rows"], serde_json::json!([]));
    viewer.signal("-INT");
    assert_eq!(viewer.child.wait().unwrap().code(), Some(0));
    assert_eq!(project.files(), before);
}

#[test]
fn what_a_killed_viewer_left_goes_with_the_next_one() {
    let project = unrun();
    fs::create_dir(project.path("tmp")).unwrap();
    let start = || {
        let mut command = project.command(&["view", "b"]);
        command.env("TMPDIR", project.path("tmp"));
        Viewer::of(command)
    };
    let left = || fs::read_dir(project.path("tmp")).unwrap().count();
    let mut killed = start();
    killed.signal("-KILL");
    killed.child.wait().unwrap();
    assert_eq!(left(), 1);
    let (one, other) = (start(), start());
    assert_eq!(left(), 2);
    drop((one, other));
    assert_eq!(left(), 0);
}

#[test]
fn scores_without_conversations_are_shown_as_rates() {
    let project = Project::new();
    project.succeeds(&["run"]);
    for target in fs::read_dir(project.path("benchmarks/sycophancy/runs")).unwrap() {
        fs::remove_file(target.unwrap().path().join("conversations.json")).unwrap();
    }
    let viewer = Viewer::start(&project, &[]);
    let page = viewer.get("").body;
    assert!(!page.contains("no results yet"), "{page}");
    assert!(
        page.contains("no conversations.json: rates are shown, and no rows"),
        "{page}"
    );
    let index = viewer.json("index");
    assert_eq!(index["rows"], serde_json::json!([]));
    assert!(!index["runs"].as_array().unwrap().is_empty(), "{index}");
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let project = unrun();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = project.run(&["view", "b", "--port", &port]);
    assert_eq!(
        (ran.code, &*ran.out, ran.err.replace(&port, "PORT")),
        (
            2,
            "",
            "error: port PORT is in use by another program\nhelp: name another port, or leave out --port for a free one\n"
                .to_owned()
        )
    );
    drop(taken);
    let viewer = Viewer::start(&project, &["b", "--port", &port]);
    assert!(
        viewer.host.ends_with(&format!(":{port}")),
        "{}",
        viewer.host
    );
    let other = Viewer::start(&project, &["b"]);
    assert_ne!(viewer.path, other.path);
    assert_eq!(viewer.path.len(), 34);
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_is_served() {
    let project = Project::new();
    for (args, text) in [
        (&["view"][..], "no benchmark"),
        (
            &["view", "sycophancy"],
            "`probity run sycophancy` copies the shipped one and runs it",
        ),
        (&["view", "nothing"], "no benchmark `nothing`"),
        (&["view", "../b"], "invalid benchmark name"),
    ] {
        let ran = project.run(args);
        assert_eq!((ran.code, &*ran.out), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{}", ran.err);
    }
}

#[test]
fn programs_get_the_address_as_json() {
    let project = unrun();
    let mut child = project
        .command(&["view", "b", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let mut values = serde_json::Deserializer::from_reader(out).into_iter::<Value>();
    let value = values.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let port = value["port"].as_u64().unwrap();
    let address = value["address"].as_str().unwrap();
    assert!(
        address.starts_with(&format!("http://127.0.0.1:{port}/")),
        "{value}"
    );
    assert_eq!(
        (&value["command"], &value["benchmark"]),
        (&"view".into(), &"b".into())
    );
}

/// Starts the viewer with `--open` where only the programs in `folder` are found, and returns what it said.
fn opened(project: &Project, folder: &str) -> (Viewer, std::process::ChildStderr) {
    let mut command = project.command(&["view", "b", "--open"]);
    command.env("PATH", project.path(folder));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = child.stderr.take().unwrap();
    (Viewer::of_child(child), said)
}

#[test]
fn a_browser_is_opened_only_when_asked_for_and_may_be_missing() {
    let project = unrun();
    project.write(
        "with/xdg-open",
        "#!/bin/sh\nprintf %s \"$1\" > opened.tmp\n/bin/mv opened.tmp opened\n",
    );
    fs::set_permissions(
        project.path("with/xdg-open"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = project.command(&["view", "b"]);
    command.env("PATH", project.path("with"));
    let unasked = Viewer::of(command);
    assert_eq!(unasked.get("state").status, 200);
    assert!(!project.path("opened").exists());
    let (viewer, _said) = opened(&project, "with");
    let address = wait_for("opened", || fs::read_to_string(project.path("opened")).ok());
    assert_eq!(address, viewer.address);
    let (mut viewer, mut said) = opened(&project, "without");
    assert_eq!(viewer.get("state").status, 200);
    viewer.signal("-TERM");
    assert_eq!(viewer.child.wait().unwrap().code(), Some(0));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut said, &mut text).unwrap();
    assert!(
        text.contains("note: no browser was opened (xdg-open: "),
        "{text}"
    );
}

#[test]
fn it_is_in_the_help() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    let help = Ran::of({
        command.args(["view", "--help"]);
        command
    });
    for flag in [
        "--port",
        "--open",
        "--show-verdicts",
        "--labeller",
        "--json",
    ] {
        assert!(help.out.contains(flag), "{}", help.out);
    }
}
