//! The server as a process of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_says_where_it_listens_and_stops_when_its_input_ends() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_scripted-llm"))
        .args([
            "--port",
            "0",
            "--latency-ms",
            "1",
            "--fault",
            "hang; model=scripted-judge",
            "--no-batches",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line.trim().strip_prefix("listening http://").unwrap();
    let address = url.strip_suffix("/v1").unwrap();
    let stats = get(address, "/stats");
    assert!(
        stats.starts_with("HTTP/1.1 200") && stats.contains("\"requests\":0"),
        "{stats}"
    );
    assert!(get(address, "/v1/models").contains("scripted-judge"));
    let batches = get(address, "/v1/batches");
    assert!(batches.starts_with("HTTP/1.1 404"), "{batches}");
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_fault_that_cannot_be_read_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-llm"))
        .args(["--fault", "melt"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("melt"), "{message}");
}
