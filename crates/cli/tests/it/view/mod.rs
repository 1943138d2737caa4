//! The viewer, asked by raw HTTP: who is answered, how labels are written, how a run is followed.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure ends the test"
)]

mod access;
mod command;
mod follow;
mod labels;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::Project;

/// A viewer at work.
struct Viewer {
    child: Child,
    /// As it was printed.
    address: String,
    host: String,
    /// `/TOKEN/`.
    path: String,
}

/// What it answered.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

impl Viewer {
    fn start(project: &Project, args: &[&str]) -> Self {
        Self::of(project.command(&[&["view"], args].concat()))
    }

    fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        Self::of_child(command.spawn().unwrap())
    }

    fn of_child(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let rest = address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        Self {
            host: host.to_owned(),
            path: format!("/{path}"),
            address,
            child,
        }
    }

    /// Sends `text` as it is, and reads to the end of the connection.
    fn raw(&self, text: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        // The answer can come before all is written.
        let _ = stream.write_all(text.as_bytes());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or_default(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// A request for a path with headers of its own.
    fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            text.push_str(&format!("{header}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.raw(&format!("{text}\r\n{body}"))
    }

    fn host_header(&self) -> String {
        format!("Host: {}", self.host)
    }

    fn get(&self, path: &str) -> Answer {
        let path = format!("{}{path}", self.path);
        self.request("GET", &path, &[&self.host_header()], "")
    }

    /// The JSON at `path`.
    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer.json()
    }

    /// Writes a label.
    fn write(&self, method: &str, label: &Value) -> Answer {
        let path = format!("{}label", self.path);
        let headers = [
            &*self.host_header(),
            "Content-Type: application/json",
            &format!("Origin: http://{}", self.host),
        ];
        self.request(method, &path, &headers, &label.to_string())
    }

    fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        kill.args([signal, &self.child.id().to_string()]);
        assert!(kill.status().unwrap().success());
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // Killed, it would leave its temporary folder.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("-TERM");
        }
        let _ = self.child.wait();
    }
}

/// Waits until `found` gives something.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}
