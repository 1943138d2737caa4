//! Every Eval Ever: for each target an aggregate as JSON, and a JSONL file of instances beside it.
//!
//! The file layout is that of the public datastore: `data/<benchmark>/<developer>/<model>/<uuid>.json` and `<uuid>_samples.jsonl`.
//! Aggregates have version 0.3.0; rows have 0.3.0 or 0.2.0. One row is one conversation judged for one metric.
//!
//! The format has no null score, so rows without a verdict are left out, counted in `score_details.details.n_without_verdict`, and reported
//! in [`Exported::notes`].

mod aggregate;
mod counts;
mod names;
mod row;
mod shape;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::{Path, PathBuf},
};

use schema::{
    numbers::grouped,
    text::{counted, hex},
};
use sha2::{Digest, Sha256};

use self::{
    aggregate::{Aggregate, Instances},
    counts::{Counts, Seen},
    names::{ModelName, collection, uuid_of},
    row::Ids,
};
use crate::{ExportError, Exported, Exporter, OutFile, Run, Sample, json};

/// The version of the instance rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `instance_level_eval_0.2.0`.
    V0_2_0,
    /// 0.3.0, which the public datastore accepts.
    #[default]
    V0_3_0,
}

impl Version {
    /// The version with this name: `0.2.0` or `0.3.0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "0.2.0" => Some(Self::V0_2_0),
            "0.3.0" => Some(Self::V0_3_0),
            _ => None,
        }
    }

    /// `sample_hash` of a row: the hash of its input and its reference.
    fn sample_hash(self, raw: &str, reference: &str) -> String {
        match self {
            Self::V0_2_0 => hex(&Sha256::digest([raw, reference].concat())),
            Self::V0_3_0 => names::sample_hash(raw, &[reference]),
        }
    }

    /// `schema_version` of a row.
    fn of_rows(self) -> &'static str {
        match self {
            Self::V0_2_0 => "instance_level_eval_0.2.0",
            Self::V0_3_0 => "0.3.0",
        }
    }
}

/// How to export.
#[derive(Clone, Debug)]
pub struct EeeOptions {
    /// The version of the instance rows.
    pub version: Version,
    /// Who ran the evaluation: `source_metadata.source_organization_name`.
    pub organization: String,
}

impl Default for EeeOptions {
    fn default() -> Self {
        Self {
            version: Version::default(),
            organization: "not stated".to_owned(),
        }
    }
}

/// Writes Every Eval Ever.
#[derive(Debug)]
pub struct Eee {
    out: PathBuf,
    options: EeeOptions,
    target: Option<Target>,
    /// The model of each folder.
    folders: BTreeMap<(String, String, String), String>,
    evaluations: BTreeSet<String>,
    exported: Exported,
}

/// The target that is being written.
#[derive(Debug)]
struct Target {
    run: Run,
    name: ModelName,
    collection: String,
    benchmark: String,
    evaluation_id: String,
    /// The path within the export's folder, without the extension.
    stem: String,
    rows: Hashed,
    counts: Counts,
    seen: Seen,
}

/// A file and the hash of its contents.
#[derive(Debug)]
struct Hashed {
    file: OutFile,
    hash: Sha256,
    line: Vec<u8>,
}

impl Hashed {
    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        self.line.clear();
        json::write_line(&mut self.line, value)?;
        self.hash.update(&self.line);
        self.file.write_all(&self.line)?;
        // The memory for a long row is freed.
        self.line.shrink_to(1 << 20);
        Ok(())
    }
}

impl Eee {
    /// Writes below `out`, which then holds a folder `data`.
    #[must_use]
    pub fn new(out: &Path, options: EeeOptions) -> Self {
        Self {
            out: out.to_owned(),
            options,
            target: None,
            folders: BTreeMap::new(),
            evaluations: BTreeSet::new(),
            exported: Exported::default(),
        }
    }

    /// Removes the files of a target without a verdict.
    fn give_up(&self, target: Target) -> ExportError {
        let place = format!("{}: {}", target.run.folder, target.run.target.id);
        let path = target.rows.file.path().to_owned();
        drop(target);
        // Folders that are not empty cannot be removed, so they stay.
        let mut folders = path.ancestors().skip(1);
        while let Some(folder) = folders.next().filter(|folder| *folder != self.out)
            && std::fs::remove_dir(folder).is_ok()
        {}
        ExportError::nothing(format!(
            "{place}: no verdict to export; the format needs at least one"
        ))
    }

    /// The model's name, made unique among models that would have the same folder.
    fn name(&mut self, run: &Run, collection: &str) -> ModelName {
        let mut name = ModelName::new(&run.target, run.source.as_deref());
        let folder = |name: &ModelName| {
            (
                collection.to_owned(),
                name.developer.to_lowercase(),
                name.folder.to_lowercase(),
            )
        };
        if self
            .folders
            .get(&folder(&name))
            .is_some_and(|id| *id != name.id)
        {
            let hash = hex(&Sha256::digest(name.id.as_bytes()));
            name = name.with_suffix(hash.get(..8).unwrap_or_default());
        }
        self.folders.insert(folder(&name), name.id.clone());
        name
    }
}

impl Exporter for Eee {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        let benchmark = run.benchmark_uid();
        let collection = collection(&benchmark);
        let name = self.name(run, &collection);
        let made = match run.identity().filter(|_| run.is_timeless()) {
            // The run has no time that distinguishes it from another run of the same model.
            Some(identity) => {
                let hash = hex(&Sha256::digest(identity.as_bytes()));
                hash.get(..12).unwrap_or_default().to_owned()
            }
            None => run.time.as_second().to_string(),
        };
        let mut evaluation_id = format!("{collection}/{}/{made}", name.id);
        // Another target may call the same model with other settings, or a run of the same target may have ended in the same second.
        let apart = [Some(run.target.id.as_str()), run.identity()];
        for more in apart.into_iter().flatten() {
            if self.evaluations.contains(&evaluation_id) {
                evaluation_id = format!("{evaluation_id}/{more}");
            }
        }
        self.evaluations.insert(evaluation_id.clone());
        let uuid = uuid_of(&format!(
            "{evaluation_id}\n{}\n{}\n{}",
            run.folder,
            run.target.id,
            run.identity().unwrap_or_default()
        ));
        let stem = format!(
            "data/{collection}/{}/{}/{uuid}",
            name.developer, name.folder
        );
        let file = OutFile::create(self.out.join(format!("{stem}_samples.jsonl")))?;
        let mut counts = Counts::default();
        counts.begin(run);
        self.target = Some(Target {
            run: run.clone(),
            name,
            collection,
            benchmark,
            evaluation_id,
            stem,
            rows: Hashed {
                file,
                hash: Sha256::new(),
                line: Vec::new(),
            },
            counts,
            seen: Seen::default(),
        });
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        match &mut self.target {
            Some(target) => target.push(self.options.version, sample),
            None => Err(ExportError::nothing("a sample was given before its target")),
        }
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let Some(target) = self.target.take() else {
            return Ok(());
        };
        if target.counts.rows == 0 {
            return Err(self.give_up(target));
        }
        let unscored: u64 = target
            .counts
            .metrics
            .values()
            .map(|(_, count)| count.unscored)
            .sum();
        let missing = unscored + target.counts.not_judged;
        if missing > 0 {
            self.exported.notes.push(format!(
                "{}: {}: {} of {} have no verdict and are left out: the format knows no score that is not a number",
                target.run.folder,
                target.run.target.id,
                grouped(missing),
                counted(target.counts.rows + missing, "row", "rows")
            ));
        }
        let aggregate = self.out.join(format!("{}.json", target.stem));
        let (value, rows) = target.finish(&self.options)?;
        let mut file = OutFile::create(aggregate)?;
        let written = json::write_pretty(&mut file, &value);
        file.with_path(written)?;
        self.exported.files.push(rows.keep()?);
        self.exported.files.push(file.keep()?);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        Ok(self.exported)
    }
}

impl Target {
    fn push(&mut self, version: Version, sample: &Sample) -> Result<(), ExportError> {
        self.counts.conversations += 1;
        if sample.scores.is_empty() {
            self.counts.not_judged += 1;
        }
        self.seen.add(sample);
        let ids = Ids {
            evaluation_id: &self.evaluation_id,
            model_id: &self.name.id,
            benchmark: &self.benchmark,
        };
        for score in &sample.scores {
            let verdict = score
                .score
                .filter(|number| number.is_finite())
                .zip(score.outcome().passed());
            self.counts.add(score, verdict);
            if let Some(verdict) = verdict {
                let row = row::row(version, &ids, &self.run, sample, score, verdict);
                let written = self.rows.line(&row);
                self.rows.file.with_path(written)?;
                self.counts.rows += 1;
            }
        }
        Ok(())
    }

    fn finish(self, options: &EeeOptions) -> Result<(serde_json::Value, OutFile), ExportError> {
        let aggregate = Aggregate {
            run: &self.run,
            name: &self.name,
            collection: &self.collection,
            evaluation_id: &self.evaluation_id,
            organization: &options.organization,
            system_prompt: self.seen.system_prompt(),
            answered_by: &self.seen.answered_by,
            counts: &self.counts,
            instances: Instances {
                file_path: format!("{}_samples.jsonl", self.stem),
                checksum: hex(&self.rows.hash.finalize()),
                version: options.version.of_rows(),
            },
        };
        Ok((aggregate.to_json(), self.rows.file))
    }
}
