//! Behaviours and seeds in Markdown, as Bloom and Petri keep them: a folder with `BEHAVIOR.md`, `scenarios/seeds` and `scenarios/dimensions`,
//! or a folder of seeds alone. A seed is what an auditor is to bring about: it becomes the goal of the simulated user. A dimension is what a
//! judge scores from 1 to 10: it becomes a metric.
//!
//! The form is that of Petri Bloom's behaviours: <https://meridianlabs-ai.github.io/petri_bloom/behaviors.html>.

mod page;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schema::{Extra, Metric, MetricType, ProgramFlag, Scenario, VerdictType, text::counted};
use serde::Deserialize;
use store::RunError;

use self::page::Page;
use super::{Data, DataOptions, PERSONA, metrics, sample::Sample};

/// The file that makes a folder a behaviour.
const BEHAVIOR: &str = "BEHAVIOR.md";

/// The scale of Bloom's dimensions, and the value from which it counts a behaviour as shown: above 6.
const SCALE: VerdictType = VerdictType::Scale {
    min: 1,
    max: 10,
    threshold: 7,
    anchors: BTreeMap::new(),
};

/// The tag of dimensions that score the evaluation and not the target.
const OF_EVALUATION: &str = "eval-quality";

/// The axis of the variations of a seed, and its value for the seed itself.
const AXIS: &str = "variation";
const UNVARIED: &str = "none";

/// The head of `BEHAVIOR.md`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BehaviorHead {
    modality: Option<String>,
    target_sysprompt_prefix: Option<String>,
    instructions: Option<Instructions>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Instructions {
    /// For the auditor.
    evaluation: Option<String>,
    /// For the judge.
    judgment: Option<String>,
}

/// The head of a dimension.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DimensionHead {
    description: Option<String>,
    tags: Vec<String>,
}

/// The head of a seed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SeedHead {
    variation: Option<String>,
    tags: Vec<String>,
}

/// What a folder has.
struct Folder {
    /// `BEHAVIOR.md`: its head and its text.
    behavior: Option<(BehaviorHead, String)>,
    seeds: PathBuf,
    dimensions: PathBuf,
    name: String,
}

/// Whether a path is a behaviour, or a folder of seeds.
pub(super) fn is_behavior(path: &Path) -> bool {
    path.is_dir() || path.file_name().is_some_and(|name| name == BEHAVIOR)
}

/// The folder at the path, or that of the file.
fn root(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    match path.is_dir() {
        true => path,
        false => parent.unwrap_or_else(|| Path::new(".")),
    }
}

/// The name of the behaviour: that of its folder.
pub(super) fn name(path: &Path) -> String {
    let root = root(path);
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    real.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Adds the scenarios and metrics of the folder.
pub(super) fn import(
    options: &DataOptions,
    data: &mut Data,
    hashes: &mut Vec<(String, String)>,
) -> Result<(), RunError> {
    let [path] = options.paths.as_slice() else {
        return Err(RunError::input(
            "several folders: a behaviour is a benchmark of its own; import them one after the other",
        ));
    };
    let folder = Folder::read(path, hashes)?;
    data.metrics = folder.metrics(options, data, hashes)?;
    data.description = folder
        .behavior
        .as_ref()
        .map(|(_, text)| text.clone())
        .filter(|text| !text.is_empty());
    folder.note(options, data);
    folder.scenarios(options, data, hashes)
}

impl Folder {
    fn read(path: &Path, hashes: &mut Vec<(String, String)>) -> Result<Self, RunError> {
        let root = root(path);
        let file = root.join(BEHAVIOR);
        let is_behavior = file.is_file();
        let behavior = match is_behavior {
            true => Some(Page::read(&file, hashes)?.into_parts(&file)?),
            false => None,
        };
        let seeds = match is_behavior {
            true => root.join("scenarios").join("seeds"),
            false => root.to_owned(),
        };
        Ok(Self {
            behavior,
            seeds,
            dimensions: root.join("scenarios").join("dimensions"),
            name: name(path),
        })
    }

    fn head(&self) -> Option<&BehaviorHead> {
        self.behavior.as_ref().map(|(head, _)| head)
    }

    fn instructions(&self) -> Option<&Instructions> {
        self.head()?.instructions.as_ref()
    }

    /// The metrics: those given, or the dimensions of the behaviour, or the behaviour itself.
    fn metrics(
        &self,
        options: &DataOptions,
        data: &mut Data,
        hashes: &mut Vec<(String, String)>,
    ) -> Result<Vec<Metric>, RunError> {
        if !options.metrics.is_empty() || options.check.is_some() {
            return metrics(options, None);
        }
        let Some((_, text)) = &self.behavior else {
            return metrics(options, None);
        };
        let metric_type = options.metric_type.unwrap_or(MetricType::Negative);
        if options.metric_type.is_none() {
            data.notes.push(format!(
                "a row passes where the behaviour is absent; `{}` says that it is desired",
                ProgramFlag::new("metric-type").value("positive")
            ));
        }
        let judgment = self
            .instructions()
            .and_then(|instructions| instructions.judgment.as_deref());
        let mut found = Vec::new();
        let mut others = Vec::new();
        for file in page::files(&self.dimensions)? {
            let (head, rubric): (DimensionHead, String) =
                Page::read(&file, hashes)?.into_parts(&file)?;
            let name = page::stem(&file);
            if head.tags.iter().any(|tag| tag == OF_EVALUATION) {
                others.push(name);
                continue;
            }
            let parts = [head.description.as_deref(), Some(&rubric), judgment];
            let id = format!("m{:02}", found.len() + 1);
            found.push(Metric {
                verdict: Some(SCALE),
                ..Metric::new(id, name, metric_type, joined(&parts))
            });
        }
        if let count @ 1.. = others.len() as u64 {
            data.notes.push(format!(
                "{} the evaluation and not the target, and {} no metric: {}",
                counted(count, "dimension scores", "dimensions score"),
                if count == 1 { "is" } else { "are" },
                others.join(", ")
            ));
        }
        if found.is_empty() {
            data.notes.push(format!(
                "no dimension of the behaviour in {}: a judge reads the text of {BEHAVIOR}, and answers yes or no",
                self.dimensions.display()
            ));
            let definition = joined(&[Some(text), judgment]);
            found.push(Metric::new("m01", &self.name, metric_type, definition));
        }
        Ok(found)
    }

    /// Says what of the behaviour is not what it is in Bloom.
    fn note(&self, options: &DataOptions, data: &mut Data) {
        let Some(head) = self.head() else {
            return;
        };
        if head.modality.as_deref() == Some("agent") {
            data.notes.push(
                "the behaviour is for agents, and its auditor plays their tools: here the simulated user only talks, unless benchmark.yaml gets tools"
                    .to_owned(),
            );
        }
        if head.target_sysprompt_prefix.is_some() && options.system.is_none() {
            data.notes.push(
                "`target_sysprompt_prefix` is the whole system prompt here: no auditor adds to it"
                    .to_owned(),
            );
        }
    }

    fn scenarios(
        &self,
        options: &DataOptions,
        data: &mut Data,
        hashes: &mut Vec<(String, String)>,
    ) -> Result<(), RunError> {
        let files = page::files(&self.seeds)?;
        if files.is_empty() {
            let error = RunError::input(format!(
                "{}: no seeds (files in Markdown)",
                self.seeds.display()
            ));
            return Err(match self.behavior {
                Some(_) => error.with_help("`bloom scenarios` writes them"),
                None => error,
            });
        }
        let mut seeds = Vec::new();
        for file in files {
            let (head, text): (SeedHead, String) = Page::read(&file, hashes)?.into_parts(&file)?;
            match text.is_empty() {
                true => data.leave_out(page::stem(&file), "a seed without a text"),
                false => seeds.push((page::stem(&file), head, text)),
            }
        }
        data.rows = seeds.len() as u64;
        let names: Vec<&str> = seeds.iter().map(|(name, ..)| name.as_str()).collect();
        for (name, head, _) in &seeds {
            let base = base_of(name, head);
            if head.variation.is_some() && (base == name || !names.contains(&base)) {
                data.notes.push(format!(
                    "{name}: it has `variation` and no base: a variation of the seed NAME is called NAME__{}",
                    head.variation.as_deref().unwrap_or_default()
                ));
            }
        }
        let varied = seeds.iter().any(|(_, head, _)| head.variation.is_some());
        let mut bases: Vec<String> = Vec::new();
        let mut variants: BTreeMap<usize, usize> = BTreeMap::new();
        for (name, head, text) in seeds {
            let base = base_of(&name, &head).to_owned();
            let number = match bases.iter().position(|known| *known == base) {
                Some(at) => at + 1,
                None => {
                    bases.push(base);
                    bases.len()
                }
            };
            let variant = variants.entry(number).or_default();
            *variant += 1;
            let sample = self.sample(&name, &head, &text);
            for metric in &data.metrics {
                let shared = (data.metrics.len() > 1).then(|| format!("s{number:03}"));
                let mut row = super::scenario(options, metric, number, &sample, shared);
                row.id = format!("{}_s{number:03}_v{:02}", metric.id, *variant);
                if varied {
                    vary(&mut row, &head);
                }
                data.scenarios.push(row);
            }
        }
        Ok(())
    }

    fn sample(&self, name: &str, head: &SeedHead, text: &str) -> Sample {
        let evaluation = self
            .instructions()
            .and_then(|instructions| instructions.evaluation.as_deref());
        let prompt = self
            .head()
            .and_then(|head| head.target_sysprompt_prefix.clone());
        let mut extra = Extra::from_iter([("sample_id".to_owned(), name.into())]);
        if !head.tags.is_empty() {
            extra.insert("tags".to_owned(), head.tags.clone().into());
        }
        Sample {
            turns: Vec::new(),
            goal: Some(joined(&[Some(text), evaluation])),
            system: prompt.filter(|prompt| !prompt.trim().is_empty()),
            persona: PERSONA.to_owned(),
            extra,
            replies: 0,
        }
    }
}

/// The seed of which a seed is a variation, by its name: `ranking__noise_2` is one of `ranking`.
fn base_of<'n>(name: &'n str, head: &SeedHead) -> &'n str {
    let is_of = |behind: &str| {
        let variation = head.variation.as_deref().unwrap_or_default();
        !variation.is_empty() && behind.starts_with(variation)
    };
    match name.rsplit_once("__") {
        Some((base, behind)) if is_of(behind) => base,
        _ => name,
    }
}

fn vary(row: &mut Scenario, head: &SeedHead) {
    let variation = head.variation.as_deref().unwrap_or(UNVARIED);
    row.demographic.insert(AXIS.to_owned(), variation.into());
}

/// The texts that are there, in paragraphs.
fn joined(texts: &[Option<&str>]) -> String {
    let trimmed = texts.iter().flatten().map(|text| text.trim());
    let paragraphs: Vec<&str> = trimmed.filter(|text| !text.is_empty()).collect();
    paragraphs.join("\n\n")
}
