//! Files from outside, changed at random from a seed: no parser panics, and none is busy for long.
//!
//! The parsers run in a process of their own, so that one that overflows its stack ends that process and not the count. The file that it
//! was given is kept.

mod endpoint;
mod mutate;
mod parsers;

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use scripted_llm::ScriptedServer;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use self::parsers::{Parser, Parsers, Seed};
use super::{
    project::{Project, Size},
    random::Random,
    table::Table,
    trial::Trial,
};

const SIZE: Size = Size {
    scenarios: 2,
    samples: 1,
    turns: 1,
    in_flight: 2,
};

/// How long a parser may work on a file of up to 1 MiB, in a debug build on a busy machine.
const BUSY: Duration = Duration::from_secs(20);

/// The counts of one process.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    files: BTreeMap<String, u64>,
    slowest_ms: BTreeMap<String, u64>,
    broken: Vec<(String, String)>,
}

/// Gives changed files to the parsers. Returns the number of broken promises.
pub(super) async fn measure(trial: &Trial) -> Result<usize, Box<dyn Error>> {
    let mut table = Table::new("changed files", &["parser", "files", "slowest ms"]);
    let project = finished(trial).await?;
    let kept = std::env::temp_dir().join(format!("probity-mutants-{}", std::process::id()));
    fs::create_dir_all(&kept)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["chaos", "--seed", &trial.seed.to_string()])
        .args([
            "--seconds",
            &trial.time.as_secs().max(1).to_string(),
            "read",
        ])
        .args([project.path(), &kept])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let output = tokio::time::timeout(trial.time + 3 * BUSY, command.output()).await;
    let counts = match output {
        Ok(output) => {
            let output = output?;
            let read = serde_json::from_slice(&output.stdout);
            read.map_err(|_| format!("the process of the parsers ended with {}", output.status))
        }
        Err(_) => Err("a parser does not end".to_owned()),
    };
    let counts: Counts = counts.unwrap_or_else(|reason| Counts {
        broken: vec![("all".to_owned(), reason)],
        ..Counts::default()
    });
    for (parser, files) in &counts.files {
        let slowest = counts.slowest_ms.get(parser).copied().unwrap_or_default();
        table.push(
            vec![parser.clone(), files.to_string(), slowest.to_string()],
            Vec::new(),
        );
    }
    let is_whole = counts.broken.is_empty();
    for (parser, what) in counts.broken {
        table.push(vec![parser, String::new(), String::new()], vec![what]);
    }
    match is_whole {
        true => fs::remove_dir_all(&kept)?,
        false => println!("the files are in {}", kept.display()),
    }
    Ok(table.print())
}

/// A finished run with a journal, a cassette and exports.
async fn finished(trial: &Trial) -> Result<Project, Box<dyn Error>> {
    let server = ScriptedServer::start().await?;
    let project = trial.project(&server.base_url(), SIZE, "")?;
    for args in [
        &["run", "bench", "--quiet"][..],
        &["pack", "--quiet", "--out", "run.cassette"],
        &["baseline", "bench", "--quiet", "--out", "baseline.json"],
        &["export", "csv", "bench", "--quiet", "--out", "csv"],
        &["export", "jsonl", "bench", "--quiet", "--out", "jsonl"],
        &[
            "export",
            "petri",
            "bench",
            "--quiet",
            "--out",
            "import/petri",
        ],
        &["export", "inspect", "bench", "--quiet", "--out", "inspect"],
        &["export", "eee", "bench", "--quiet", "--out", "import/eee"],
    ] {
        project.succeeds(args).await?;
    }
    Ok(project)
}

/// The work of the process: prints its counts.
pub(super) fn read(
    time: Duration,
    seed: u64,
    more: &Path,
    kept: &Path,
) -> Result<(), Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let seeds = parsers::seeds(&repository, more)?;
    let folder = kept.join("now");
    fs::create_dir_all(&folder)?;
    let parsers = Parsers::new(folder.clone())?;
    let panics = watch_panics();
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let began = Instant::now();
    while began.elapsed() < time {
        let Some(seed) = choose(&seeds, &mut random) else {
            break;
        };
        let bytes = mutate::mutated(&seed.bytes, &mut random);
        let start = Instant::now();
        let read = AssertUnwindSafe(|| parsers.read(seed.parser, &seed.name, &bytes));
        if let Ok(done) = panic::catch_unwind(read) {
            done?;
        }
        let took = start.elapsed();
        counts.add(seed.parser, took);
        let mut panicked = panics.lock().unwrap_or_else(PoisonError::into_inner);
        for what in panicked.drain(..) {
            counts.keep(kept, seed, &bytes, what)?;
        }
        if took > BUSY {
            counts.keep(
                kept,
                seed,
                &bytes,
                format!("took {:.1} s", took.as_secs_f64()),
            )?;
        }
    }
    fs::remove_dir_all(folder)?;
    println!("{}", serde_json::to_string(&counts)?);
    Ok(())
}

impl Counts {
    fn add(&mut self, parser: Parser, took: Duration) {
        let name = format!("{parser:?}");
        *self.files.entry(name.clone()).or_default() += 1;
        let slowest = self.slowest_ms.entry(name).or_default();
        *slowest = (*slowest).max(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }

    /// Keeps a file that broke a promise, once for each way.
    fn keep(
        &mut self,
        kept: &Path,
        seed: &Seed,
        bytes: &[u8],
        what: String,
    ) -> std::io::Result<()> {
        let parser = format!("{:?}", seed.parser);
        if self
            .broken
            .iter()
            .any(|(other, known)| (other, known) == (&parser, &what))
        {
            return Ok(());
        }
        let path: PathBuf = kept.join(format!("{}-{parser}-{}", self.broken.len(), seed.name));
        fs::write(path, bytes)?;
        self.broken.push((parser, what));
        Ok(())
    }
}

/// A seed: each parser comes as often as another one.
fn choose<'s>(seeds: &'s [Seed], random: &mut Random) -> Option<&'s Seed> {
    let parser = seeds.get(random.below(seeds.len()))?.parser;
    let parser = match random.below(3) {
        0 => parser,
        _ => *Parser::ALL.get(random.below(Parser::ALL.len()))?,
    };
    let own: Vec<&Seed> = seeds.iter().filter(|seed| seed.parser == parser).collect();
    own.get(random.below(own.len())).copied()
}

/// Collects the panics of all threads, in the place of printing them; but not those of the thread whose panics are a file's faults.
fn watch_panics() -> Arc<Mutex<Vec<String>>> {
    let panics = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&panics);
    panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(probity::READER_THREAD) {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push(info.to_string().replace('\n', " "));
        }
    }));
    panics
}
