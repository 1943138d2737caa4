//! The aggregate file beside an instance file.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use schema::{
    Extra, Metric, MetricType,
    text::{counted, hex},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::import::{ImportError, clean::Clean};

/// The largest aggregate, in bytes. Aggregates are small: a larger file is not one.
const LARGEST: u64 = 64 << 20;

/// The fields of an aggregate that the import needs.
#[derive(Debug, Deserialize)]
pub(super) struct Aggregate {
    #[serde(default)]
    pub(super) schema_version: Option<String>,
    #[serde(default)]
    model_info: Option<ModelInfo>,
    #[serde(default)]
    evaluation_results: Option<Vec<EvaluationResult>>,
    #[serde(default)]
    detailed_evaluation_results: Option<Detailed>,
}

#[derive(Debug, Deserialize)]
struct ModelInfo {
    #[serde(default)]
    additional_details: Option<Extra>,
}

#[derive(Debug, Deserialize)]
struct EvaluationResult {
    #[serde(default)]
    evaluation_result_id: Option<String>,
    #[serde(default)]
    source_data: Option<Value>,
    #[serde(default)]
    metric_config: Option<MetricConfig>,
}

#[derive(Debug, Deserialize)]
struct MetricConfig {
    #[serde(default)]
    metric_name: Option<String>,
    #[serde(default)]
    additional_details: Option<Extra>,
}

#[derive(Debug, Deserialize)]
struct Detailed {
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    hash_algorithm: Option<String>,
    #[serde(default)]
    checksum: Option<String>,
    #[serde(default)]
    total_rows: Option<u64>,
}

impl Aggregate {
    /// Reads the aggregate at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, ImportError> {
        let file = files::open(path).map_err(|error| ImportError::read(path, error))?;
        let size = file
            .metadata()
            .map_err(|error| ImportError::read(path, error))?
            .len();
        if size > LARGEST {
            return Err(ImportError::unusable(
                path.display(),
                "it is too large for an aggregate of Every Eval Ever",
            ));
        }
        serde_json::from_reader(BufReader::new(Clean::new(file)))
            .map_err(|error| ImportError::json(path.display(), &error))
    }

    /// Checks that the instance file at `path` belongs to the aggregate: the same number of rows, and the same bytes.
    pub(super) fn check(&self, path: &Path) -> Result<(), ImportError> {
        let Some(detailed) = &self.detailed_evaluation_results else {
            return Ok(());
        };
        let sha256 = |name: &String| name.replace('-', "").eq_ignore_ascii_case("sha256");
        let checksum = detailed
            .checksum
            .as_ref()
            .filter(|_| detailed.hash_algorithm.as_ref().is_none_or(sha256));
        if detailed.total_rows.is_none() && checksum.is_none() {
            return Ok(());
        }
        let (rows, hash) = measured(path).map_err(|error| ImportError::read(path, error))?;
        let differs = |what: String| {
            Err(ImportError::unusable(
                path.display(),
                format!(
                    "{what}: it was cut off or changed. Fetch both files again, or move the aggregate file away to take the rows as \
                     they are"
                ),
            ))
        };
        match (detailed.total_rows, checksum) {
            (Some(total), _) if total != rows => differs(format!(
                "it holds {}, and the aggregate file beside it says {total}",
                counted(rows, "row", "rows")
            )),
            (_, Some(checksum)) if !checksum.trim().eq_ignore_ascii_case(&hash) => differs(
                "its checksum differs from the one in the aggregate file beside it".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// The model's name on the wire, if Probity wrote the file.
    pub(super) fn wire_name(&self) -> Option<String> {
        let details = self.model_info.as_ref()?.additional_details.as_ref()?;
        text(details, "model_as_configured")
    }

    /// The name and the description of the dataset, if known.
    pub(super) fn dataset(&self) -> (Option<String>, Option<String>) {
        let first = self
            .evaluation_results
            .as_ref()
            .and_then(|list| list.first());
        let data = first.and_then(|result| result.source_data.as_ref());
        let name = data.and_then(|data| data.get("dataset_name")?.as_str());
        let about =
            data.and_then(|data| data.get("additional_details")?.get("description")?.as_str());
        (name.map(str::to_owned), about.map(str::to_owned))
    }

    /// The ids of the samples in the order of the dataset; empty if unknown.
    pub(super) fn sample_ids(&self) -> Vec<String> {
        let results = self.evaluation_results.iter().flatten();
        let mut data = results.filter_map(|result| result.source_data.as_ref());
        let ids = data
            .find_map(|data| data.get("sample_ids")?.as_array())
            .into_iter()
            .flatten();
        ids.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The metrics with a definition.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let results = self.evaluation_results.iter().flatten();
        results.filter_map(EvaluationResult::metric).collect()
    }
}

impl EvaluationResult {
    fn metric(&self) -> Option<Metric> {
        let config = self.metric_config.as_ref()?;
        let details = config.additional_details.as_ref()?;
        let metric_type: MetricType =
            serde_json::from_value(json!(text(details, "metric_type")?)).ok()?;
        let (_, id) = self.evaluation_result_id.as_ref()?.rsplit_once('#')?;
        let list = |key: &str| {
            let texts = text(details, key).and_then(|list| serde_json::from_str(&list).ok());
            texts.unwrap_or_default()
        };
        let name = config.metric_name.as_deref().unwrap_or(id);
        let definition = text(details, "definition").filter(|text| !text.trim().is_empty())?;
        Some(Metric {
            examples: list("examples"),
            counterexamples: list("counterexamples"),
            ..Metric::new(id, name, metric_type, definition)
        })
    }
}

/// The number of rows of a file, and the SHA-256 of its bytes.
fn measured(path: &Path) -> std::io::Result<(u64, String)> {
    let mut reader = BufReader::with_capacity(1 << 16, files::open(path)?);
    let (mut rows, mut hash, mut blank) = (0, Sha256::new(), true);
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        for byte in chunk {
            match byte {
                b'\n' => blank = true,
                byte if byte.is_ascii_whitespace() => {}
                _ if blank => {
                    rows += 1;
                    blank = false;
                }
                _ => {}
            }
        }
        hash.update(chunk);
        let read = chunk.len();
        reader.consume(read);
    }
    Ok((rows, hex(&hash.finalize())))
}

fn text(details: &Extra, key: &str) -> Option<String> {
    details.get(key)?.as_str().map(str::to_owned)
}

/// The instance file that the aggregate at `path` names: the file name that it gives, or `x_samples.jsonl` for `x.json`, in the same
/// folder. `None` if there is no such file.
pub(super) fn instances_of(path: &Path) -> Result<Option<PathBuf>, ImportError> {
    let aggregate = Aggregate::read(path)?;
    let named = aggregate
        .detailed_evaluation_results
        .and_then(|detailed| detailed.file_path);
    let name = named.as_deref().and_then(|path| path.rsplit('/').next());
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let usual = stem.map(|stem| format!("{stem}_samples.jsonl"));
    let mut names = [name, usual.as_deref()].into_iter().flatten();
    Ok(names
        .find(|name| path.with_file_name(name).is_file())
        .map(|name| path.with_file_name(name)))
}

/// The aggregate of the instance file at `path`: `x.json` beside `x_samples.jsonl`, or beside `x.jsonl` if it is an aggregate.
pub(super) fn beside(path: &Path) -> Result<Option<Aggregate>, ImportError> {
    let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
        return Ok(None);
    };
    let samples = stem.strip_suffix("_samples");
    let aggregate = path.with_file_name(format!("{}.json", samples.unwrap_or(stem)));
    if !aggregate.is_file() {
        return Ok(None);
    }
    match Aggregate::read(&aggregate) {
        Ok(aggregate) if aggregate.evaluation_results.is_some() => Ok(Some(aggregate)),
        Err(error) if samples.is_some() => Err(error),
        // An unrelated file.
        _ => Ok(None),
    }
}
