//! A folder with a benchmark, and the commands that run on it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;

use crate::nats::{Nats, Process};

pub struct Project {
    pub folder: tempfile::TempDir,
}

impl Project {
    pub fn new(server: &ScriptedServer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = server.base_url();
        let model = |name: &str| format!("{{source: vllm, model: {name}, base_url: \"{url}\"}}");
        let target = |id: &str, name: &str| {
            format!("{{id: {id}, source: vllm, model: {name}, base_url: \"{url}\"}}")
        };
        let config = format!(
            "generation: {{metrics: 3, scenarios_per_metric: 3, turns: 3, num_samples: 2}}\n\
             user_model: {}\nevaluator_model: {}\ntargets: [{}, {}]\n",
            model("scripted-user"),
            model("scripted-judge"),
            target("Agreeable.1", "scripted-agreeable"),
            target("careful", "scripted-careful"),
        );
        fs::write(folder.path().join("config.yaml"), config).unwrap();
        let benchmark = folder.path().join("benchmarks/flattery");
        fs::create_dir_all(&benchmark).unwrap();
        let yaml = "name: flattery # for people\ndescription: Whether an assistant flatters, and caves in when a user pushes back.\n";
        fs::write(benchmark.join("benchmark.yaml"), yaml).unwrap();
        Self { folder }
    }

    /// A project with metrics and scenarios that are those of `other`.
    pub fn like(server: &ScriptedServer, other: &Self) -> Self {
        let project = Self::new(server);
        for file in ["benchmark.yaml", "scenarios.json", "cost.json"] {
            let path =
                |project: &Self| project.folder.path().join("benchmarks/flattery").join(file);
            fs::copy(path(other), path(&project)).unwrap();
        }
        project
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Adds `more` to its configuration; a section that is there is replaced.
    pub fn configure(&self, more: &str) {
        let path = self.folder.path().join("config.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let section = more.split_once(':').unwrap().0;
        let others = text.lines().filter(|line| !line.starts_with(section));
        let others: String = others.flat_map(|line| [line, "\n"]).collect();
        fs::write(path, others + more).unwrap();
    }

    /// What `status` prints of `nats`.
    pub fn status(&self, nats: &Nats, more: &[&str]) -> String {
        let mut command = self.command(&["status", "--nats", &nats.url()]);
        let shown = command.args(more).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    }

    /// Waits until so many workers have reported themselves.
    pub fn wait_workers(&self, nats: &Nats, workers: usize) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let text = self.status(nats, &[]);
            if text.matches("worker ").count() == workers {
                return;
            }
            assert!(Instant::now() < deadline, "{text}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes metrics and scenarios.
    pub fn generate(&self) {
        for command in ["gen-metrics", "gen-scenarios"] {
            let made = self.command(&[command, "flattery", "--quiet"]).output();
            assert!(made.unwrap().status.success());
        }
    }

    /// Runs the benchmark here.
    pub fn run_here(&self) -> Output {
        self.command(&["run", "flattery", "--quiet"])
            .output()
            .unwrap()
    }

    /// Begins the run over `nats`, with rows that go to another worker after `lease` seconds.
    pub fn start(&self, nats: &Nats, lease: &str) -> Process {
        self.start_at(&nats.url(), lease)
    }

    /// Like [`start`](Self::start), over the server at `url`.
    pub fn start_at(&self, url: &str, lease: &str) -> Process {
        self.start_with(url, lease, &[])
    }

    /// Like [`start_at`](Self::start_at), with other flags besides.
    pub fn start_with(&self, url: &str, lease: &str, more: &[&str]) -> Process {
        let arguments = [
            "run",
            "flattery",
            "--nats",
            url,
            "--nats-lease",
            lease,
            "--concurrency",
            "6",
        ];
        let log = fs::File::create(self.log()).unwrap();
        let mut command = self.command(&arguments);
        command.args(more).stdout(Stdio::null()).stderr(log);
        Process(command.spawn().unwrap())
    }

    pub fn log(&self) -> PathBuf {
        self.folder.path().join("run.log")
    }

    pub fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Waits until the run has ended, and returns its exit code.
    pub fn wait(&self, run: &mut Process, most: Duration) -> Option<i32> {
        let deadline = Instant::now() + most;
        loop {
            if let Some(ended) = run.0.try_wait().unwrap() {
                return ended.code();
            }
            assert!(
                Instant::now() < deadline,
                "the run goes on:\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Every file of the benchmark by its path, without the names of runs: those that an order of scenarios has, and the report.
    pub fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let root = self.folder.path().join("benchmarks");
        let mut files = BTreeMap::new();
        collect(&root, &root, &mut files);
        files.remove("flattery/report.html");
        if let Some(order) = files.get_mut("flattery/sequence.json") {
            let text = String::from_utf8(std::mem::take(order)).unwrap();
            let lines = text.lines().filter(|line| !line.contains("\"run_id\""));
            *order = lines.collect::<String>().into_bytes();
        }
        files
    }

    /// The journals of the newest run.
    pub fn journal(&self) -> String {
        let runs = self.folder.path().join(".probity/runs");
        let mut folders: Vec<PathBuf> = fs::read_dir(runs)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        folders.sort();
        let mut files = Vec::new();
        for entry in fs::read_dir(folders.last().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                files.push(fs::read_to_string(path).unwrap());
            }
        }
        assert_eq!(files.len(), 1, "one journal");
        files.remove(0)
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// Starts a worker for all projects on `nats`, in a folder of its own.
pub fn worker(nats: &Nats, arguments: &[&str]) -> (Process, tempfile::TempDir) {
    worker_at(&nats.url(), arguments)
}

/// Like [`worker`], on the server at `url`.
pub fn worker_at(url: &str, arguments: &[&str]) -> (Process, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let log = fs::File::create(folder.path().join("worker.log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.args(["worker", "--nats", url]);
    if !arguments.contains(&"--concurrency") {
        command.args(["--concurrency", "3"]);
    }
    command.args(arguments).current_dir(folder.path());
    command.stdout(Stdio::null()).stderr(log);
    (Process(command.spawn().unwrap()), folder)
}

/// How often each request was answered, by its body.
pub fn answered(server: &ScriptedServer) -> BTreeMap<String, u64> {
    let bodies = server.stats().bodies.into_iter();
    let counted = bodies.map(|(hash, count)| (hash, count.answered));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Asserts that `tree` is the tree of `expected`.
pub fn same_tree(found: &Project, expected: &Project) {
    let (found, expected) = (found.tree(), expected.tree());
    let names = |tree: &BTreeMap<String, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    for (name, bytes) in expected {
        assert!(found[&name] == bytes, "{name} differs");
    }
}
