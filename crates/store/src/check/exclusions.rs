//! The parts of a tree that are not compared with a journal, because another run wrote them.
//!
//! Neither the tree nor the records of a run store which run of which folder wrote a file, so the replies are
//! compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use journal::RunId;
use schema::{Conversation, ModelId, Role, Shard, text::counted};
use serde::Deserialize;

use super::{
    journal_benchmark,
    record::{JournalRecord, key},
};
use crate::{BenchmarkDir, Layout, each_row};

/// The parts of the tree, by phase, that other runs wrote.
#[derive(Default)]
pub(super) struct Exclusions {
    /// By system under test (`None`: the benchmark's own files) and phase.
    parts: BTreeSet<Part>,
    notes: Vec<String>,
}

type Part = (Option<String>, String);

impl Exclusions {
    /// The parts of the tree in `dir` that runs other than `run_id` wrote. `record` is the journal of `run_id`.
    pub(super) fn of(
        record: &JournalRecord,
        layout: &Layout,
        dir: &BenchmarkDir,
        run_id: Option<&str>,
    ) -> Self {
        let mut excluded = Self::default();
        if let Some(run_id) = run_id {
            excluded.since(record, layout, dir, run_id);
        }
        excluded.foreign(record, dir);
        excluded.imported(record, dir);
        excluded
    }

    /// The parts of a tree that the run of `record` has just written: only scores with kept verdicts are excluded.
    pub(super) fn of_own_tree(record: &JournalRecord, dir: &BenchmarkDir) -> Self {
        let mut excluded = Self::default();
        excluded.imported(record, dir);
        excluded
    }

    /// Whether the part of `phase` is excluded. Scores are excluded with their conversations.
    pub(super) fn holds(&self, sut: Option<&str>, phase: &str) -> bool {
        let has = |phase: &str| {
            let part = (sut.map(str::to_owned), phase.to_owned());
            self.parts.contains(&part)
        };
        has(phase) || (phase == "evaluate" && has("simulate"))
    }

    /// Why rules do not apply that have nothing left to compare.
    pub(super) fn reason(&self) -> Option<&'static str> {
        (!self.parts.is_empty())
            .then_some("the files of the tree are of another run; see the notes")
    }

    /// Notes for people.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().cloned()
    }

    /// Excludes systems under test if the journal knows few of their conversations in the tree.
    fn foreign(&mut self, record: &JournalRecord, dir: &BenchmarkDir) {
        let suts = record.suts.keys();
        let foreign: Vec<&String> = suts
            .filter(|sut| !self.holds(Some(sut), "simulate") && is_foreign(record, dir, sut))
            .collect();
        if foreign.is_empty() {
            return;
        }
        let names: Vec<&str> = foreign.iter().map(|sut| sut.as_str()).collect();
        self.notes.push(format!(
            "{}: the conversations of {} are not those of this journal: they are of another run, or this run was of another folder of \
             benchmarks. They are not compared with it",
            dir.root().display(),
            names.join(", ")
        ));
        if foreign.len() == record.suts.len() {
            let phases = record.costs.generated_entries();
            self.parts
                .extend(phases.map(|(phase, _)| (None, phase.to_owned())));
        }
        let parts = foreign.into_iter();
        self.parts
            .extend(parts.map(|sut| (Some(sut.clone()), "simulate".to_owned())));
    }

    /// Excludes scores that include verdicts of another program: the run kept them, so its journal does not have
    /// them.
    fn imported(&mut self, record: &JournalRecord, dir: &BenchmarkDir) {
        for (sut, sums) in &record.suts {
            let part = (Some(sut.clone()), "evaluate".to_owned());
            if !record.wrote_scores(sut, sums) || self.holds(Some(sut), "evaluate") {
                continue;
            }
            let imported = ModelId::new(sut).map_or(0, |id| dir.imported_verdicts(&id).0);
            if imported > 0 {
                self.notes.push(format!(
                    "{}: {sut}: the run kept {} of another program; its scores are not compared with \
                     the journal",
                    dir.root().display(),
                    counted(imported, "verdict", "verdicts")
                ));
                self.parts.insert(part);
            }
        }
    }

    /// Adds the parts of this tree that later runs wrote.
    fn since(&mut self, record: &JournalRecord, layout: &Layout, dir: &BenchmarkDir, run_id: &str) {
        let own = own_parts(record);
        for path in later(&layout.state().join("runs"), run_id) {
            if own.is_subset(&self.parts) {
                return;
            }
            if journal_benchmark(&path).as_deref() != Some(dir.name()) {
                continue;
            }
            let mut parts = written(&path, dir, record.shard);
            parts.retain(|part| own.contains(part) && !self.parts.contains(part));
            if !parts.is_empty() {
                self.notes.push(format!(
                    "a later run wrote {} in the tree; its journal is {}. That is not compared with this journal",
                    words(&parts),
                    path.display()
                ));
            }
            self.parts.extend(parts);
        }
    }
}

/// The parts of the tree that the run of `record` wrote.
fn own_parts(record: &JournalRecord) -> BTreeSet<Part> {
    let generated = record.costs.generated_entries();
    let mut parts: BTreeSet<Part> = generated
        .map(|(phase, _)| (None, phase.to_owned()))
        .collect();
    for (sut, sums) in &record.suts {
        for (wrote, phase) in [
            (record.wrote_conversations(sut, sums), "simulate"),
            (record.wrote_scores(sut, sums), "evaluate"),
        ] {
            if wrote {
                parts.insert((Some(sut.clone()), phase.to_owned()));
            }
        }
    }
    parts
}

/// The parts of the tree in `dir` that the run of the journal at `path` wrote; empty if the tree has other
/// conversations.
fn written(path: &Path, dir: &BenchmarkDir, shard: Option<Shard>) -> BTreeSet<Part> {
    let Ok(record) = JournalRecord::read(path) else {
        return BTreeSet::new();
    };
    // Another part of the same run wrote other rows.
    if record.shard.is_some() && record.shard != shard {
        return BTreeSet::new();
    }
    let suts = record.suts.keys();
    let foreign: BTreeSet<&String> = suts.filter(|sut| is_foreign(&record, dir, sut)).collect();
    let elsewhere = !foreign.is_empty() && foreign.len() == record.suts.len();
    let mut parts = own_parts(&record);
    parts.retain(|(sut, _)| match sut {
        Some(sut) => !foreign.contains(sut),
        None => !elsewhere,
    });
    parts
}

/// Describes what a run wrote, for people.
fn words(parts: &BTreeSet<Part>) -> String {
    let mut phases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (sut, phase) in parts {
        let suts = phases.entry(phase.as_str()).or_default();
        suts.extend(sut.as_deref());
    }
    let each = phases
        .iter()
        .rev()
        .map(|(phase, suts)| match suts.as_slice() {
            [] => format!("the entry of {phase}"),
            suts => format!("the rows of {phase} for {}", suts.join(", ")),
        });
    each.collect::<Vec<_>>().join(" and ")
}

/// Whether the tree has conversations of `sut` and most of them differ from those of the journal.
fn is_foreign(record: &JournalRecord, dir: &BenchmarkDir, sut: &str) -> bool {
    /// A row with the texts of its replies, which are compared.
    #[derive(Deserialize)]
    struct Row {
        id: String,
        metric_id: String,
        #[serde(default)]
        sample: Option<u32>,
        #[serde(rename = "_sample", default)]
        older_sample: Option<u32>,
        transcript: Vec<Said>,
    }
    #[derive(Deserialize)]
    struct Said {
        role: Role,
        content: String,
        #[serde(default)]
        own_step: bool,
    }
    let target = ModelId::new(sut).ok().and_then(|id| dir.target(&id).ok());
    let Some(target) = target else {
        return false;
    };
    let (mut known, mut others) = (0_u64, 0_u64);
    let read = each_row(&target.conversations(), |row: Row| {
        let replies: Vec<&str> = row
            .transcript
            .iter()
            .filter(|said| said.role == Role::Assistant && !said.own_step)
            .map(|said| said.content.as_str())
            .collect();
        let sample = row.sample.or(row.older_sample).unwrap_or_default();
        let prompt_id = Conversation::prompt_id(&row.id, sample);
        let item = record.items.find(key(&row.metric_id, &prompt_id, sut))?;
        match item.map(|item| item.has_said(&replies)) {
            // If either side has no text, the replies cannot be compared.
            Some(None) => {}
            Some(Some(true)) => known += 1,
            _ => others += 1,
        }
        Ok(ControlFlow::Continue(()))
    });
    read.is_ok() && others > known
}

/// The journals in the folder of runs that started after `run_id`, newest first. Ids sort by time.
fn later(runs: &Path, run_id: &str) -> Vec<PathBuf> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in paths(runs) {
        for path in paths(&folder) {
            let name = path.file_name().and_then(|name| name.to_str());
            let id = name.and_then(|name| {
                let stem = name.strip_suffix(".zst").unwrap_or(name);
                stem.strip_prefix("journal-")?.strip_suffix(".jsonl")
            });
            if let Some(id) = id.filter(|id| *id > run_id && id.parse::<RunId>().is_ok()) {
                found.push((id.to_owned(), path));
            }
        }
    }
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The entries of a folder; empty if it cannot be read.
fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}
