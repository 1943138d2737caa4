//! Parts of a run that is split over machines: which part a scenario belongs to, and the tree of a part.

use std::{
    collections::{HashMap, HashSet},
    fmt, fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use aggregator::ConversationKey;

use schema::{Scenario, Shard, ShardFile, notice, numbers::grouped, text::counted};
use sha2::{Digest, Sha256};

use crate::{
    BenchmarkDir, Layout, Manifest, RunError, TreeLock, base_of, each_row,
    provenance::{Provenance, earlier_runs},
    read_benchmark, read_scenarios, simulated_targets, write_atomically, write_json,
};

/// The part, from 1, of `of` parts that the base scenario `base` belongs to: the first 64 bits of the SHA-256 of `shard`, a line break and the id,
/// modulo the number of parts. It depends on nothing else, so that a scenario that is added moves no other one.
///
/// ```
/// assert_eq!(store::shard_of("m01_s001", 1), 1);
/// assert!((1..=16).contains(&store::shard_of("m01_s001", 16)));
/// ```
#[must_use]
pub fn shard_of(base: &str, of: u32) -> u32 {
    let digest = Sha256::digest(format!("shard\n{base}"));
    let first = digest.iter().take(8);
    let number = first.fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    let place = number % u64::from(of.max(1));
    u32::try_from(place).unwrap_or_default() + 1
}

/// Whether the scenario is simulated: it belongs to the part, or there are no parts.
#[must_use]
pub fn plays(shard: Option<Shard>, scenario: &Scenario) -> bool {
    shard.is_none_or(|shard| shard_of(base_of(scenario), shard.of) == shard.part)
}

/// Whether the test case `id` of a safety evaluation is run: it belongs to the part, or there are no parts.
#[must_use]
pub fn runs_case(shard: Option<Shard>, id: &str) -> bool {
    shard.is_none_or(|shard| shard_of(id, shard.of) == shard.part)
}

/// Reads the `shard.json` of a benchmark; `None` where the tree is whole.
///
/// # Errors
/// When the file cannot be read, is of a later format, or names no parts.
pub fn read_shard(dir: &BenchmarkDir) -> Result<Option<ShardFile>, RunError> {
    let path = dir.shard();
    let text = match files::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RunError::read(&path, error)),
    };
    let bad = |what: String| RunError::in_file(&path, None, what);
    let file: ShardFile = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("not a shard file: {error}")).with_source(error))?;
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(&file.format) != major(ShardFile::FORMAT) {
        return Err(bad(format!(
            "format is {:?}, and this version of Probity reads {}",
            file.format,
            ShardFile::FORMAT
        )));
    }
    match file.is_valid() {
        true => Ok(Some(file)),
        false => Err(bad(
            "`parts` must be numbers from 1 to `of`, in ascending order".to_owned(),
        )),
    }
}

/// Writes the `shard.json` of a benchmark.
///
/// # Errors
/// When the file cannot be written.
pub fn write_shard(dir: &BenchmarkDir, file: &ShardFile) -> Result<(), RunError> {
    write_json(&dir.shard(), file)
}

/// How much of a benchmark a tree has that is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardScope {
    /// Its parts.
    pub file: ShardFile,
    /// The base scenarios of these parts.
    pub base_scenarios: u64,
    /// All base scenarios of the benchmark.
    pub of: u64,
}

impl ShardScope {
    /// The scope of the tree in `dir`; `None` where it is whole.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(dir: &BenchmarkDir) -> Result<Option<Self>, RunError> {
        let Some(file) = read_shard(dir)? else {
            return Ok(None);
        };
        let scenarios = read_scenarios(dir)?;
        let bases: HashSet<&str> = scenarios.iter().map(base_of).collect();
        let here = bases
            .iter()
            .filter(|base| file.parts.contains(&shard_of(base, file.of)));
        Ok(Some(Self {
            base_scenarios: here.count() as u64,
            of: bases.len() as u64,
            file,
        }))
    }
}

impl fmt::Display for ShardScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = counted(self.of, "base scenario", "base scenarios");
        if let Some(shard) = self.file.shard() {
            return write!(f, "{shard}: {} of {all}", grouped(self.base_scenarios));
        }
        let shards = |parts: &[u32]| {
            let numbers: Vec<String> = parts.iter().map(u32::to_string).collect();
            let noun = if numbers.len() == 1 {
                "shard"
            } else {
                "shards"
            };
            format!("{noun} {}", numbers.join(", "))
        };
        write!(
            f,
            "a merged tree of {} shards",
            grouped(self.file.of.into())
        )?;
        let missing: Vec<u32> = self.file.missing().collect();
        if !missing.is_empty() {
            let left = counted(
                self.of.saturating_sub(self.base_scenarios),
                "base scenario has",
                "base scenarios have",
            );
            write!(
                f,
                " without {}: {left} no verdict: not run",
                shards(&missing)
            )?;
        }
        if !self.file.cut_off.is_empty() {
            let and = if missing.is_empty() { "" } else { ";" };
            let rows = "was not played to the end: its other rows have no verdict: not run";
            write!(f, "{and} {} {rows}", shards(&self.file.cut_off))?;
        }
        Ok(())
    }
}

/// Files of a benchmark that runs write, and that the tree of a shard gets from its own runs.
const OF_RUNS: [&str; 6] = [
    "results.json",
    "grades.json",
    "statistics.json",
    "sequence.json",
    "shard.json",
    "report.html",
];

/// Writes the files of the benchmark in `from` into the folder of benchmarks of `to`, so that a run there plays the part `shard`. Rows of earlier
/// runs of the shard stay.
///
/// # Errors
/// When the benchmark has no scenarios or results of another program, `to` has another part, a file cannot be read or written, or another process
/// works on the tree.
pub fn write_shard_tree(
    (layout, from): (&Layout, &BenchmarkDir),
    to: &Layout,
    shard: Shard,
) -> Result<(), RunError> {
    let name = from.name();
    if read_scenarios(from)?.is_empty() {
        let text = format!("{name}: there are no scenarios, and all shards need the same ones");
        let help = notice![from.command("gen-scenarios"), " makes them"];
        return Err(RunError::input(text).with_help(help));
    }
    if let Some(file) = read_shard(from)? {
        let what = file
            .shard()
            .map_or_else(|| "a merged tree".to_owned(), |shard| shard.to_string());
        return Err(RunError::input(format!(
            "{name}: {} is {what}, which is not split again",
            from.root().display()
        )));
    }
    let dir = to.benchmark(name)?;
    let _lock = TreeLock::take(&dir)?;
    copy_own_files(from.root(), dir.root())?;
    write_shard(&dir, &ShardFile::new(shard))?;
    let known = Provenance::read(from);
    let mut own = Provenance::read(&dir);
    (own.metrics, own.scenarios) = (known.metrics, known.scenarios);
    own.prompts = own.prompts.or(known.prompts);
    own.write(&dir)?;
    copy_authors(layout, name, to)
}

/// The files in the folder of a benchmark that no run writes, by their paths within it, sorted: what people wrote, and what generating phases made.
///
/// # Errors
/// When the folder cannot be read.
pub fn own_files(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let place = folder.join(&below);
        let entries = fs::read_dir(&place).map_err(|error| RunError::read(&place, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| RunError::read(&place, error))?;
            let name = entry.file_name();
            let is_left = name.to_str().is_none_or(|name| {
                name.starts_with('.') || OF_RUNS.contains(&name) || name == "runs"
            });
            let path = below.join(&name);
            match entry.path().is_dir() {
                _ if is_left => {}
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the [`own_files`] of a benchmark.
///
/// # Errors
/// When a file cannot be read or written.
pub fn copy_own_files(from: &Path, to: &Path) -> Result<(), RunError> {
    for path in own_files(from)? {
        copy_file(&from.join(&path), &to.join(&path))?;
    }
    Ok(())
}

/// Removes the `shard.json` of a merged tree if every target has equally many rows of every scenario now.
///
/// # Errors
/// When a file cannot be read, or the file cannot be removed.
pub fn finish_merged(dir: &BenchmarkDir) -> Result<(), RunError> {
    let benchmark = read_benchmark(dir)?;
    let scenarios = read_scenarios(dir)?;
    let planned = scenarios
        .iter()
        .filter(|row| benchmark.metric(&row.metric_id).is_some())
        .count();
    for id in simulated_targets(dir)? {
        let mut rows: HashMap<(String, String), u64> = HashMap::new();
        each_row(&dir.target(&id)?.conversations(), |row: ConversationKey| {
            let scenario = (row.metric_id.unwrap_or_default(), row.id);
            *rows.entry(scenario).or_default() += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let counts: HashSet<u64> = rows.values().copied().collect();
        if rows.len() < planned || counts.len() > 1 {
            return Ok(());
        }
    }
    let path = dir.shard();
    fs::remove_file(&path).map_err(|error| RunError::write(&path, error))
}

fn copy_file(from: &Path, to: &Path) -> Result<(), RunError> {
    let mut file = files::open(from).map_err(|error| RunError::read(from, error))?;
    write_atomically(to, |writer| std::io::copy(&mut file, writer)).map(|_| ())
}

/// Copies the manifests of the runs that generated the metrics and the scenarios: findings name the models behind them.
fn copy_authors(layout: &Layout, benchmark: &str, to: &Layout) -> Result<(), RunError> {
    let mut known = HashSet::new();
    for run in earlier_runs(layout) {
        let phases: Vec<&str> = run
            .finished_phases(benchmark)
            .map(|(phase, _)| phase)
            .filter(|phase| phase.starts_with("gen_"))
            .collect();
        let is_new = phases
            .into_iter()
            .any(|phase| known.insert(phase.to_owned()));
        if is_new {
            let manifest =
                |layout: &Layout| -> PathBuf { layout.run(&run.run_id).join(Manifest::FILE) };
            copy_file(&manifest(layout), &manifest(to))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_enough_and_the_same_everywhere() {
        let ids: Vec<String> = (0..4000).map(|n| format!("m01_s{n:04}")).collect();
        let mut counts = [0_u32; 16];
        for id in &ids {
            let part = shard_of(id, 16);
            counts[part as usize - 1] += 1;
        }
        // 250 each; 3.5 standard deviations are 54.
        assert!(
            counts.iter().all(|count| (196..=304).contains(count)),
            "{counts:?}"
        );
        // Frozen: other numbers would move scenarios between shards that are half played.
        let parts: Vec<u32> = ids.iter().take(8).map(|id| shard_of(id, 16)).collect();
        assert_eq!(parts, [3, 4, 6, 4, 2, 12, 14, 3]);
    }
}
