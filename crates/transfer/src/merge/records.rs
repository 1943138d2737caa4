//! The records of the shards side by side, and that of the merge.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use journal::RunId;
use llm_client::SqliteStore;
use schema::TargetRef;
use serde_json::Value;
use store::{Layout, Manifest, MergedShard, RunError, write_json};

use super::input::{Input, Inputs, Part};

/// The records of a merge, while they are collected.
pub(super) struct Records<'i> {
    inputs: &'i Inputs,
    layout: &'i Layout,
    run_id: RunId,
    start: Timestamp,
    git: Value,
    /// The manifests of the runs with rows, oldest first.
    manifests: Vec<Manifest>,
    targets: Vec<TargetRef>,
    pub(super) shards: Vec<MergedShard>,
    pub(super) notes: Vec<String>,
}

impl<'i> Records<'i> {
    pub(super) fn new(inputs: &'i Inputs, layout: &'i Layout, git: &Value) -> Self {
        let mut records = Self {
            inputs,
            layout,
            run_id: RunId::now(),
            start: Timestamp::now(),
            git: git.clone(),
            manifests: Vec::new(),
            targets: Vec::new(),
            shards: Vec::new(),
            notes: Vec::new(),
        };
        for input in &inputs.all {
            let shard = records.read(input);
            records.shards.push(shard);
        }
        records
    }

    pub(super) fn run_id(&self) -> &str {
        self.run_id.as_str()
    }

    /// The targets of the shards' runs, in their order.
    pub(super) fn targets(&self) -> &[TargetRef] {
        &self.targets
    }

    /// The runs of a folder.
    fn read(&mut self, input: &Input) -> MergedShard {
        let mut shard = MergedShard {
            folder: input.folder.display().to_string(),
            ..MergedShard::default()
        };
        for folder in run_folders(&input.layout) {
            let Some(manifest) = Manifest::read(&folder) else {
                continue;
            };
            // Those of the runs that generated the scenarios are copies.
            let is_own = manifest.shard.is_some() || manifest.merged.is_some();
            if !is_own {
                continue;
            }
            for target in &manifest.targets {
                if !self.targets.iter().any(|known| known.id == target.id) {
                    self.targets.push(target.clone());
                }
            }
            if let Some(of_run) = manifest.shard {
                shard.of = of_run.of;
                shard.parts = vec![of_run.part];
            }
            shard.runs.push(manifest.run_id.clone());
            shard.journals.extend(journals(&folder));
            self.manifests.push(manifest);
        }
        shard
    }

    /// Takes which parts a benchmark's trees have, and which of them lack rows.
    pub(super) fn cut_off(&mut self, parts: &[Part<'_>], cut_off: &BTreeSet<u32>) {
        for part in parts {
            if let Some(shard) = self.shards.get_mut(part.number) {
                shard.of = part.file.of;
                shard.parts.clone_from(&part.file.parts);
                shard.cut_off |= part.file.parts.iter().any(|part| cut_off.contains(part));
            }
        }
    }

    /// Copies manifests, journals and caches, and writes the record of the merge. Returns how many replies the cache has.
    pub(super) fn write(&mut self, is_whole: bool) -> Result<u64, RunError> {
        let inputs = self.inputs;
        for input in &inputs.all {
            for folder in run_folders(&input.layout) {
                self.copy_run(input, &folder)?;
            }
        }
        let replies = self.merge_caches()?;
        let manifest = self.manifest(is_whole);
        let path = self.layout.run(self.run_id()).join(Manifest::FILE);
        write_json(&path, &manifest)?;
        Ok(replies)
    }

    fn copy_run(&mut self, input: &Input, folder: &Path) -> Result<(), RunError> {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
            return Ok(());
        };
        let mut to = self.layout.run(name);
        if to.exists() {
            if is_same_run(folder, &to) {
                return Ok(());
            }
            // Two machines began a run in the same microsecond.
            let place = input.folder.file_name().unwrap_or_default();
            to = self
                .layout
                .run(&format!("{name}-of-{}", place.to_string_lossy()));
            self.notes.push(format!(
                "two shards have a run {name}: that of {} is in {}",
                input.folder.display(),
                to.display()
            ));
        }
        copy_folder(folder, &to).map_err(|error| RunError::write(&to, error))
    }

    fn merge_caches(&self) -> Result<u64, RunError> {
        let failed =
            |error: llm_client::CacheError| RunError::output(error.to_string()).with_source(error);
        let caches: Vec<PathBuf> = self
            .inputs
            .all
            .iter()
            .map(|input| input.layout.cache())
            .filter(|path| path.exists())
            .collect();
        if caches.is_empty() {
            return Ok(0);
        }
        SqliteStore::merge(&self.layout.cache(), &caches).map_err(failed)
    }

    /// The record of the merge: what the newest run of the first shard says of the configuration, and what all say of the models.
    fn manifest(&self, is_whole: bool) -> Manifest {
        let mut newest = self.manifests.iter().rev();
        let like = newest
            .find(|manifest| manifest.has_rows())
            .cloned()
            .unwrap_or_default();
        let mut models: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (id, names) in self.manifests.iter().flat_map(|one| &one.models) {
            let known = models.entry(id.clone()).or_default();
            known.extend(names.iter().cloned());
        }
        let names = models.into_iter();
        Manifest {
            format_version: Manifest::FORMAT_VERSION.to_owned(),
            run_id: self.run_id.to_string(),
            probity_version: env!("CARGO_PKG_VERSION").to_owned(),
            git: self.git.clone(),
            start: self.start.to_string(),
            end: Some(Timestamp::now().to_string()),
            outcome: Some(if is_whole { "complete" } else { "interrupted" }.to_owned()),
            benchmarks: self.inputs.names().map(str::to_owned).collect(),
            targets: self.targets.clone(),
            shard: None,
            divided_by: None,
            merged: Some(self.shards.clone()),
            models: names
                .map(|(id, names)| (id, names.into_iter().collect()))
                .collect(),
            results: schema::Extra::new(),
            phases: Vec::new(),
            ..like
        }
    }
}

/// The folders of the runs, oldest first.
pub(super) fn run_folders(layout: &Layout) -> Vec<PathBuf> {
    let entries = fs::read_dir(layout.run("")).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The names of the journals in the folder of a run.
fn journals(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = all.filter(|name| name.starts_with("journal-")).collect();
    names.sort();
    names
}

fn is_same_run(one: &Path, two: &Path) -> bool {
    let manifest = |folder: &Path| files::read(folder.join(Manifest::FILE)).ok();
    manifest(one).is_some() && manifest(one) == manifest(two)
}

/// Copies the files of a run. They keep the time of their last change, which says whether an index belongs to its journal.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let (Some(name), true) = (path.file_name(), path.is_file()) else {
            continue;
        };
        let mut source = files::open(&path)?;
        let mut copy = File::create(to.join(name))?;
        io::copy(&mut source, &mut copy)?;
        copy.sync_all()?;
        if let Ok(changed) = source.metadata().and_then(|metadata| metadata.modified()) {
            copy.set_modified(changed)?;
        }
    }
    Ok(())
}
