//! A copy of a benchmark during a run, with the rows finished so far.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use schema::{ModelId, Phase};
use tempfile::TempDir;

use crate::{
    BenchmarkDir, Layout, RunError, TargetDir, TreeLock, current_statistics, plain_path,
    read_benchmark, scored_targets, sort_summaries, spool::copy_spooled, write_json,
    write_statistics,
};

/// A copy of a benchmark in a temporary folder. Its conversations and scores are the rows that the run has finished so far, and its results
/// and statistics are computed from them. The run itself and its files are only read. Dropping it removes the copy.
#[derive(Debug)]
pub struct Snapshot {
    layout: Layout,
    judging: Vec<ModelId>,
    // Removed on drop.
    _folder: TempDir,
}

/// Files that the copy computes instead of taking them from the tree.
const SUMMED_UP: [&str; 3] = ["results.json", "statistics.json", "grades.json"];

/// The spools of one target.
type Spools = BTreeMap<Phase, PathBuf>;

impl Snapshot {
    /// Copies the benchmark `name` of `layout`, with the rows that its run has finished, into a new folder in `temporary`. `None` if no run
    /// is working on it, or the run has not begun to simulate or judge: then the tree's files are everything.
    ///
    /// # Errors
    /// When a file of the benchmark cannot be read, or the temporary folder cannot be written.
    pub fn take(layout: &Layout, name: &str, temporary: &Path) -> Result<Option<Self>, RunError> {
        let dir = layout.benchmark(name)?;
        // Spools left by a killed run hold rows that the tree lacks: its next run finishes them.
        if !TreeLock::is_held(&dir) {
            return Ok(None);
        }
        let spools = spools(&dir);
        if spools.is_empty() {
            return Ok(None);
        }
        let folder = TempDir::new_in(temporary).map_err(unusable)?;
        let copied = layout.copied_to(folder.path().join("benchmarks"));
        let copy = copied.benchmark(name)?;
        copy_files(dir.root(), copy.root(), &SUMMED_UP).map_err(unusable)?;
        for target in targets(&dir, &spools) {
            let (from, to) = (dir.target(&target)?, copy.target(&target)?);
            let of_run = spools.get(&target);
            copy_target(&from, &to, of_run).map_err(unusable)?;
        }
        sum_up(&copy)?;
        let judging = spools
            .into_iter()
            .filter(|(_, spools)| spools.contains_key(&Phase::Evaluate));
        Ok(Some(Self {
            layout: copied,
            judging: judging.map(|(target, _)| target).collect(),
            _folder: folder,
        }))
    }

    /// The layout of the copy. Journals and records are those of the original tree.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The targets whose conversations the run judges: those without a score are pending.
    #[must_use]
    pub fn judging(&self) -> &[ModelId] {
        &self.judging
    }
}

/// The spools of a benchmark by target.
fn spools(dir: &BenchmarkDir) -> BTreeMap<ModelId, Spools> {
    let mut found: BTreeMap<ModelId, Spools> = BTreeMap::new();
    for entry in fs::read_dir(dir.spool()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((target, rows)) = name.to_str().and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        let phase = match rows {
            "conversations" => Phase::Simulate,
            "scores" => Phase::Evaluate,
            _ => continue,
        };
        if let Ok(target) = ModelId::new(target) {
            found.entry(target).or_default().insert(phase, entry.path());
        }
    }
    found
}

/// All targets of the tree and of the run.
fn targets(dir: &BenchmarkDir, spools: &BTreeMap<ModelId, Spools>) -> Vec<ModelId> {
    let folders = fs::read_dir(dir.runs()).into_iter().flatten().flatten();
    let in_tree = folders.filter_map(|entry| ModelId::new(entry.file_name().to_str()?).ok());
    let mut targets: Vec<ModelId> = in_tree.chain(spools.keys().cloned()).collect();
    targets.sort();
    targets.dedup();
    targets
}

/// Copies a target. Files that the run writes again come from its spools. A target without a conversation is left out.
fn copy_target(from: &TargetDir, to: &TargetDir, spools: Option<&Spools>) -> io::Result<()> {
    let Some(spools) = spools else {
        copy_files(from.root(), to.root(), &[])?;
        return copy_segments(from, to, &[]);
    };
    // Costs belong to the rows of an earlier run.
    let mut left_out = vec!["scores.json", "cost.json"];
    if let Some(spool) = spools.get(&Phase::Simulate) {
        left_out.push("conversations.json");
        match copy_spool(spool, &to.conversations())? {
            Copied::Rows(0) => return fs::remove_dir_all(to.root()),
            Copied::Rows(_) => {}
            // The run has already written the files of this target.
            Copied::Gone => left_out.clear(),
        }
    }
    if let Some(spool) = spools.get(&Phase::Evaluate)
        && !left_out.is_empty()
        && let Copied::Gone = copy_spool(spool, &to.scores())?
    {
        left_out.retain(|name| *name != "scores.json");
    }
    copy_files(from.root(), to.root(), &left_out)?;
    copy_segments(from, to, &left_out)
}

/// Links or copies the rows that are segments, except those of the plain files in `left_out`.
fn copy_segments(from: &TargetDir, to: &TargetDir, left_out: &[&str]) -> io::Result<()> {
    for rows in [from.conversations(), from.scores()] {
        let plain = plain_path(&rows);
        let (Some(name), Some(folder)) = (plain.file_name(), rows.parent()) else {
            continue;
        };
        if plain != rows && !left_out.iter().any(|left| name == *left) {
            let folder_name = folder.file_name().unwrap_or(name);
            copy_files(folder, &to.root().join(folder_name), &[])?;
        }
    }
    Ok(())
}

enum Copied {
    /// The number of copied rows.
    Rows(u64),
    /// The spool was removed.
    Gone,
}

fn copy_spool(spool: &Path, to: &Path) -> io::Result<Copied> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut out = BufWriter::with_capacity(1 << 16, File::create(to)?);
    match copy_spooled(spool, &mut out) {
        Ok(rows) => out.flush().map(|()| Copied::Rows(rows)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            drop(out);
            fs::remove_file(to).map(|()| Copied::Gone)
        }
        Err(error) => Err(error),
    }
}

/// Links or copies the files of the folder `from` into `to`, except those in `left_out`. Subfolders are not followed.
fn copy_files(from: &Path, to: &Path, left_out: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let from = std::path::absolute(from)?;
    for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_left_out = name
            .to_str()
            .is_none_or(|name| name.starts_with('.') || left_out.contains(&name));
        if !is_left_out && entry.path().is_file() {
            link(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(|_| ())
}

/// Writes `results.json` and `statistics.json` of the copy.
fn sum_up(dir: &BenchmarkDir) -> Result<(), RunError> {
    let benchmark = read_benchmark(dir)?;
    let mut summaries = Vec::new();
    for id in scored_targets(dir)? {
        summaries.push(dir.facts(&benchmark, &id)?.summary.clone());
    }
    sort_summaries(&mut summaries);
    write_json(&dir.results(), &summaries)?;
    // Labels that do not fit the rows so far are reported when the run has ended.
    let statistics = current_statistics(dir, &benchmark, &[])?;
    write_statistics(dir, &statistics)
}

fn unusable(error: io::Error) -> RunError {
    RunError::output(format!("the temporary folder cannot be used: {error}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use schema::{
        Conversation, Metric, Role, Scenario, Score, Summary, TargetRef, Turn,
        statistics::Statistics,
    };

    use super::*;
    use crate::{RowPosition, Spool, read_conversations, read_statistics};

    const YAML: &str =
        "name: b\nmetrics:\n- {id: m01, name: honest, type: positive, definition: d}\n";

    fn conversation(scenario: &str, target: &str) -> Conversation {
        let target = TargetRef {
            id: ModelId::new(target).unwrap(),
            model: "m".to_owned(),
        };
        let scenario = Scenario {
            id: scenario.to_owned(),
            metric_id: "m01".to_owned(),
            ..Scenario::default()
        };
        let transcript = vec![Turn::new(Role::User, "a"), Turn::new(Role::Assistant, "b")];
        Conversation::new(scenario, target, 0, transcript)
    }

    struct Run {
        folder: TempDir,
        layout: Layout,
        dir: BenchmarkDir,
        metric: Metric,
    }

    impl Run {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path().join("benchmarks"));
            let dir = layout.benchmark("b").unwrap();
            fs::create_dir_all(dir.root()).unwrap();
            fs::write(dir.yaml(), YAML).unwrap();
            let metric = read_benchmark(&dir).unwrap().metrics.remove(0);
            Self {
                folder,
                layout,
                dir,
                metric,
            }
        }

        fn score(&self, conversation: &Conversation, passed: bool) -> Score {
            Score::judged(conversation, &self.metric, passed, "because")
        }

        /// A finished target in the tree.
        fn target(&self, id: &str, passed: &[bool]) {
            let files = self.dir.target(&ModelId::new(id).unwrap()).unwrap();
            let rows: Vec<Conversation> = (0..passed.len())
                .map(|n| conversation(&format!("s{n}"), id))
                .collect();
            let scores: Vec<Score> = rows
                .iter()
                .zip(passed)
                .map(|(row, passed)| self.score(row, *passed))
                .collect();
            write_json(&files.conversations(), &rows).unwrap();
            write_json(&files.scores(), &scores).unwrap();
        }

        fn spool<T: serde::Serialize>(&self, name: &str, rows: &[T]) {
            let spool = Spool::create(&self.dir.spool().join(name)).unwrap();
            for row in rows {
                spool.push(RowPosition::default(), row).unwrap();
            }
        }

        fn take(&self) -> Option<Snapshot> {
            Snapshot::take(&self.layout, "b", self.folder.path()).unwrap()
        }
    }

    fn rates(copy: &BenchmarkDir) -> Vec<(String, u64, u64)> {
        let statistics: Statistics = read_statistics(&copy.statistics()).unwrap();
        let rate = |target: &schema::statistics::TargetStatistics| {
            let all = &target.rates.all;
            (target.target.to_string(), all.passed, all.rows)
        };
        statistics.targets.iter().map(rate).collect()
    }

    #[test]
    fn rows_that_are_finished_are_seen_beside_the_targets_of_the_tree() {
        let run = Run::new();
        run.target("old", &[true, false]);
        run.target("again", &[false, false, false]);
        let lock = TreeLock::take(&run.dir).unwrap();
        assert!(run.take().is_none(), "nothing is simulated yet");
        let rows: Vec<Conversation> = ["s0", "s1"].map(|id| conversation(id, "again")).into();
        run.spool("again.conversations", &rows);
        run.spool("again.scores", &[run.score(&rows[0], true)]);
        run.spool::<Conversation>("later.conversations", &[]);
        let before = fs::read_dir(run.dir.spool()).unwrap().count();
        let taken = run.take().unwrap();
        let copy = taken.layout().benchmark("b").unwrap();
        assert_eq!(
            rates(&copy),
            [("again".to_owned(), 1, 1), ("old".to_owned(), 1, 2)]
        );
        let summaries: Vec<Summary> =
            serde_json::from_slice(&fs::read(copy.results()).unwrap()).unwrap();
        assert_eq!(summaries.len(), 2);
        let again = ModelId::new("again").unwrap();
        let mut read = Vec::new();
        read_conversations(
            &copy.target(&again).unwrap().conversations(),
            &rows[0].target,
            &read_benchmark(&copy).unwrap(),
            &[],
            |row| {
                read.push(row.conv_id);
                std::ops::ControlFlow::Continue(())
            },
        )
        .unwrap();
        assert_eq!(read, ["s0__again", "s1__again"]);
        assert!(!copy.runs().join("later").exists());
        assert!(!run.dir.statistics().exists(), "the tree is only read");
        assert_eq!(fs::read_dir(run.dir.spool()).unwrap().count(), before);
        let root = copy.root().to_owned();
        drop(taken);
        assert!(!root.exists());
        drop(lock);
        assert!(run.take().is_none(), "the run was killed");
    }

    #[test]
    fn a_run_that_only_judges_has_the_conversations_of_the_tree() {
        let run = Run::new();
        run.target("a", &[false, false]);
        let _lock = TreeLock::take(&run.dir).unwrap();
        run.spool("a.scores", &[run.score(&conversation("s1", "a"), true)]);
        let taken = run.take().unwrap();
        let copy = taken.layout().benchmark("b").unwrap();
        assert_eq!(rates(&copy), [("a".to_owned(), 1, 1)]);
        assert!(copy.runs().join("a/conversations.json").exists());
        assert_eq!(taken.layout().state(), run.layout.state());
        assert_eq!(
            taken.layout().command("report"),
            run.layout.command("report")
        );
    }
}
