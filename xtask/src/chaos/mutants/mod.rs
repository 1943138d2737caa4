//! Files from outside, changed at random from a seed: no parser panics, and none is busy for long.
//!
//! The parsers run in a process of their own, so that one that overflows its stack ends that process and not the count. The file that it
//! was given is kept.

mod corpus;
mod endpoint;
mod interfaces;
mod mutate;
mod reader;

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

pub(super) use self::corpus::write as write_corpus;
use self::reader::{Original, Reader, Readers, originals};
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

/// A finished run with a journal, rows in segments, a cassette and exports.
async fn finished(trial: &Trial) -> Result<Project, Box<dyn Error>> {
    let server = ScriptedServer::start().await?;
    let project = trial.project(&server.base_url(), SIZE, "tree: {segments: true}\n")?;
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
        &["export", "tree", "bench", "--quiet", "--plain", "plain"],
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
    let originals = originals(&repository, more)?;
    let folder = kept.join("now");
    fs::create_dir_all(&folder)?;
    let readers = Readers::new(&folder)?;
    let panics = watch_panics();
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let began = Instant::now();
    while began.elapsed() < time {
        let Some(original) = choose(&originals, &mut random) else {
            break;
        };
        let bytes = mutate::mutated(&original.bytes, &mut random);
        let start = Instant::now();
        let read = AssertUnwindSafe(|| readers.read(original.reader, &original.name, &bytes));
        if let Ok(done) = panic::catch_unwind(read) {
            done?;
        }
        let took = start.elapsed();
        counts.add(original.reader, took);
        let mut panicked = panics.lock().unwrap_or_else(PoisonError::into_inner);
        for what in panicked.drain(..) {
            counts.keep(kept, original, &bytes, what)?;
        }
        if took > BUSY {
            counts.keep(
                kept,
                original,
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
    fn add(&mut self, reader: Reader, took: Duration) {
        let name = reader.name();
        *self.files.entry(name.to_owned()).or_default() += 1;
        let slowest = self.slowest_ms.entry(name.to_owned()).or_default();
        *slowest = (*slowest).max(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }

    /// Keeps a file that broke a promise, once for each way.
    fn keep(
        &mut self,
        kept: &Path,
        original: &Original,
        bytes: &[u8],
        what: String,
    ) -> std::io::Result<()> {
        let parser = original.reader.name().to_owned();
        if self
            .broken
            .iter()
            .any(|(other, known)| (other, known) == (&parser, &what))
        {
            return Ok(());
        }
        let path: PathBuf = kept.join(format!("{}-{parser}-{}", self.broken.len(), original.name));
        fs::write(path, bytes)?;
        self.broken.push((parser, what));
        Ok(())
    }
}

/// A file: each reader gets as many as another one.
fn choose<'o>(originals: &'o [Original], random: &mut Random) -> Option<&'o Original> {
    let reader = match random.below(3) {
        0 => originals.get(random.below(originals.len()))?.reader,
        _ => {
            let all = Reader::all();
            *all.get(random.below(all.len()))?
        }
    };
    let own = originals
        .iter()
        .filter(|original| original.reader == reader);
    let own: Vec<&Original> = own.collect();
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
