//! The tree of one benchmark.

use std::collections::BTreeSet;

use schema::{Benchmark, CostSum, ModelId, Phase, ShardFile};
use store::{
    BenchmarkDir, Layout, RowForm, RunError, Spool, copy_own_files, provenance::Provenance,
    read_benchmark, read_costs, read_scenarios, scored_targets, simulated_targets, write_cost,
    write_shard,
};

use super::{
    MergedTarget,
    input::Part,
    labels::merge_labels,
    provenance,
    rows::{MergedRows, Places},
};

/// What was merged.
pub(super) struct MergedFiles {
    pub(super) targets: Vec<MergedTarget>,
    /// The parts that lack rows.
    pub(super) cut_off: BTreeSet<u32>,
    /// Whether no part and no row is missing.
    pub(super) is_whole: bool,
    pub(super) notes: Vec<String>,
}

/// A merged file of a target.
#[derive(Default)]
pub(super) struct MergedFile {
    pub(super) rows: u64,
    /// Replies in rows that more than one part has.
    pub(super) repeated: u64,
    /// Its digest; `None` if no part has the file.
    pub(super) sha256: Option<String>,
}

/// Merges the trees `parts` of the benchmark `name` into `layout`, all but what is computed from their rows.
pub(super) fn merge_benchmark(
    layout: &Layout,
    name: &str,
    parts: &[Part<'_>],
) -> Result<MergedFiles, RunError> {
    let dir = layout.benchmark(name)?;
    let Some(first) = parts.first() else {
        return Err(RunError::input(format!("{name}: nothing to merge")));
    };
    copy_own_files(first.dir.root(), dir.root())?;
    let benchmark = read_benchmark(&dir)?;
    let scenarios = read_scenarios(&dir)?;
    let places = Places::new(&benchmark, &scenarios, first.file.of);
    let mut merge = Merge {
        dir: &dir,
        benchmark: &benchmark,
        places: &places,
        parts,
        known: provenance::begin(parts),
        cut_off: BTreeSet::new(),
        notes: Vec::new(),
    };
    let mut targets = Vec::new();
    for id in targets_of(parts)? {
        targets.push(merge.target(&id)?);
    }
    let (mut known, mut cut_off, notes) = (merge.known, merge.cut_off, merge.notes);
    known.write(&dir)?;
    let held: BTreeSet<u32> = parts
        .iter()
        .flat_map(|part| part.file.parts.iter().copied())
        .collect();
    // What is known of an earlier merge is found in its rows again.
    cut_off.retain(|part| held.contains(part));
    let is_whole = held.len() as u64 == u64::from(first.file.of) && cut_off.is_empty();
    if !is_whole {
        let file = ShardFile {
            format: ShardFile::FORMAT.to_owned(),
            of: first.file.of,
            parts: held.into_iter().collect(),
            merged: true,
            cut_off: cut_off.iter().copied().collect(),
        };
        write_shard(&dir, &file)?;
    }
    Ok(MergedFiles {
        targets,
        cut_off,
        is_whole,
        notes,
    })
}

/// All targets with rows, sorted.
fn targets_of(parts: &[Part<'_>]) -> Result<BTreeSet<ModelId>, RunError> {
    let mut all = BTreeSet::new();
    for part in parts {
        all.extend(simulated_targets(&part.dir)?);
        all.extend(scored_targets(&part.dir)?);
    }
    Ok(all)
}

struct Merge<'m> {
    dir: &'m BenchmarkDir,
    benchmark: &'m Benchmark,
    places: &'m Places,
    parts: &'m [Part<'m>],
    known: Provenance,
    cut_off: BTreeSet<u32>,
    notes: Vec<String>,
}

impl Merge<'_> {
    fn target(&mut self, id: &ModelId) -> Result<MergedTarget, RunError> {
        let simulated = self.file(id, Phase::Simulate)?;
        let judged = self.file(id, Phase::Evaluate)?;
        merge_labels(self.dir, self.parts, id)?;
        provenance::add(&mut self.known, self.parts, id, (&simulated, &judged))?;
        Ok(MergedTarget {
            id: id.clone(),
            conversations: simulated.rows,
            scores: judged.rows,
        })
    }

    /// Merges the rows of a phase and their cost. The rows are written as segments if those of a shard are.
    fn file(&mut self, id: &ModelId, phase: Phase) -> Result<MergedFile, RunError> {
        let path_in = |dir: &BenchmarkDir| -> Result<_, RunError> {
            let files = dir.target(id)?;
            Ok(match phase {
                Phase::Evaluate => files.scores(),
                _ => files.conversations(),
            })
        };
        let spool = Spool::create(&self.dir.spool().join(format!("{id}.{}", phase.as_str())))?;
        let mut rows = MergedRows::new(self.places, spool);
        let mut used = Vec::new();
        let mut form = RowForm::Plain;
        for (number, part) in self.parts.iter().enumerate() {
            let path = path_in(&part.dir)?;
            if path.exists() {
                if RowForm::of(&path) == RowForm::Segments {
                    form = RowForm::Segments;
                }
                used.push((part, rows.add(self.parts, number, &path)?));
            }
        }
        if used.is_empty() {
            rows.into_spool().discard()?;
            return Ok(MergedFile::default());
        }
        let samples = self.samples(id).unwrap_or(0).max(rows.most_samples());
        self.cut_off.extend(rows.lacking(samples));
        let cost = self.cost(id, phase, &used, rows.sum());
        let (count, repeated) = (rows.count(), rows.repeated());
        let spool = rows.into_spool();
        let (dir, benchmark) = (self.dir, self.benchmark);
        let sha256 = match phase {
            Phase::Evaluate => dir.compose_scores(spool, form, benchmark, id)?,
            _ => dir.compose_conversations(spool, form, benchmark, id)?,
        };
        if let Some(cost) = cost {
            write_cost(self.dir, Some(id), phase, cost.total())?;
        }
        let _ = std::fs::remove_dir(self.dir.spool());
        Ok(MergedFile {
            rows: count,
            repeated,
            sha256: Some(sha256),
        })
    }

    /// The samples that a shard's run planned, if that is known.
    fn samples(&self, id: &ModelId) -> Option<u32> {
        let of = |part: &Part<'_>| Provenance::read(&part.dir).target(id).samples();
        self.parts.iter().filter_map(of).max()
    }

    /// The cost of all rows; `None` where no shard has one. It is summed over the rows where that is how the shards' own costs came about, so
    /// that it is rounded once.
    fn cost(
        &mut self,
        id: &ModelId,
        phase: Phase,
        used: &[(&Part<'_>, CostSum)],
        of_rows: CostSum,
    ) -> Option<CostSum> {
        let entries: Vec<_> = used
            .iter()
            .filter_map(|(part, rows)| {
                let costs = read_costs(&part.dir, Some(id));
                let entry = costs.get(phase.as_str())?.cost;
                Some((*part, entry, rows.total()))
            })
            .collect();
        if entries.is_empty() {
            return None;
        }
        let differing: Vec<String> = entries
            .iter()
            .filter(|(_, entry, rows)| !entry.agrees_with(rows))
            .map(|(part, ..)| part.words())
            .collect();
        if differing.is_empty() && entries.len() == used.len() {
            return Some(of_rows);
        }
        self.notes.push(format!(
            "{}: the cost of {} for {id} is the sum of the shards' costs: in {} it is not that of the rows",
            self.dir.name(),
            phase.as_str(),
            differing.join(", "),
        ));
        let mut sum = CostSum::default();
        entries.iter().for_each(|(_, entry, _)| sum.add(entry));
        Some(sum)
    }
}
