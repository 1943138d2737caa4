//! Servers that do not let everybody in.

use std::{path::Path, time::Duration};

use scripted_llm::ScriptedServer;

use crate::{
    nats::{Nats, Process},
    project::{Project, same_tree, worker_at},
};

const LONG: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls_and_a_token() {
    const TOKEN: &str = "token-of-the-test-0123456789";
    let server = ScriptedServer::builder().start().await.unwrap();
    let here = Project::new(&server);
    assert!(here.run_here().status.success());
    let there = Project::like(&server, &here);
    let at = |name: &str| there.folder.path().join(name).display().to_string();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(at("server.pem"), made.cert.pem()).unwrap();
    std::fs::write(at("server.key"), made.signing_key.serialize_pem()).unwrap();
    let (certificate, key) = (at("server.pem"), at("server.key"));
    let nats = Nats::start_with(&[
        "--tls",
        "--tlscert",
        &certificate,
        "--tlskey",
        &key,
        "--auth",
        TOKEN,
    ]);
    let url = format!("tls://localhost:{}", nats.port());

    // Without the certificate, and then without the token, nothing begins.
    let status = |more: &[&str]| {
        let mut command = there.command(&["status", "--nats", &url]);
        let output = command.args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = status(&[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("certificate"), "{said}");
    let (code, said) = status(&["--nats-ca", &certificate]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("authorization violation"), "{said}");

    std::fs::write(at(".env"), format!("NATS_TOKEN={TOKEN}\n")).unwrap();
    let (code, said) = status(&["--nats-ca", &certificate]);
    assert_eq!(code, Some(0), "{said}");
    let mut able = there.command(&["worker", "--nats", &url, "--nats-ca", &certificate]);
    let _able = Process(able.stderr(std::process::Stdio::null()).spawn().unwrap());
    let mut run = there.start_with(&url, "10", &["--nats-ca", &certificate]);
    assert_eq!(there.wait(&mut run, LONG), Some(0), "{}", there.said());
    same_tree(&there, &here);
    assert!(!there.said().contains(TOKEN));
    assert!(!there.journal().contains(TOKEN));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_accounts() {
    let accounts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/accounts");
    let file = |name: &str| accounts.join(name).display().to_string();
    let server = ScriptedServer::builder().start().await.unwrap();
    let nats = Nats::start_with(&["-c", &file("server.conf")]);
    let project = Project::new(&server);
    let (run_creds, other_creds) = (file("run.creds"), file("other.creds"));
    let mut run = project.start_with(&nats.url(), "10", &["--nats-creds", &run_creds]);
    let (_able, _folder) = worker_at(&nats.url(), &["--nats-creds", &run_creds]);
    assert_eq!(project.wait(&mut run, LONG), Some(0), "{}", project.said());

    // Another account sees nothing of it, and nobody gets in without one.
    let status = |more: &[&str]| {
        let mut command = project.command(&["status", "--nats", &nats.url()]);
        command.args(more).output().unwrap()
    };
    let seen = status(&["--nats-creds", &run_creds]);
    assert!(String::from_utf8_lossy(&seen.stdout).contains("worker "));
    let other = status(&["--nats-creds", &other_creds]);
    let text = String::from_utf8_lossy(&other.stdout).into_owned();
    assert_eq!(text, "no run and no worker is on this server\n");
    let refused = status(&[]);
    assert_eq!(refused.status.code(), Some(3));
    let missing = status(&["--nats-creds", "none.creds"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("none.creds"));
}
