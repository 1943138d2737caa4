//! Ctrl-C: the first ends the run in order, the second at once.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

mod common;

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use common::Ground;

fn interrupt(child: &Child) {
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn the_second_ctrl_c_leaves_at_once_with_130() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ground = Ground::new();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    ground.write(
        "config.yaml",
        &format!("user_model: {{model: m, base_url: '{url}'}}\nevaluator_model: {{model: m, base_url: '{url}'}}\ntargets: [{{id: t, model: m, base_url: '{url}'}}]\n"),
    );
    let mut child = ground
        .command(&["run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A call is in flight, and is never answered.
    let _held = listener.accept().unwrap();
    interrupt(&child);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("stopping: ")));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
