//! The metrics that imported conversations are judged for.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use interop::import::SourceFile;
use located::YamlError;
use schema::{Extra, Metric, MetricType, ProgramFlag, ReplyCheck, VerdictType};
use serde::Deserialize;
use serde_json::Value;

use super::{ImportOptions, tasks::check_one_task};
use store::{RunError, check_metrics};

/// A metric as people write it. Without an id it gets a numbered one.
#[derive(Deserialize)]
struct Given {
    id: Option<String>,
    name: String,
    #[serde(rename = "type")]
    metric_type: MetricType,
    definition: String,
    examples: Option<Vec<Value>>,
    counterexamples: Option<Vec<Value>>,
    verdict: Option<VerdictType>,
    check: Option<ReplyCheck>,
    #[serde(flatten)]
    extra: Extra,
}

/// The part of a `benchmark.yaml` that is read here.
#[derive(Deserialize)]
struct File {
    metrics: Option<Vec<Given>>,
}

/// Reads metrics from a file: a `benchmark.yaml`, or a list of metrics. Metrics without an id get a numbered one.
///
/// # Errors
/// When the file cannot be read, is not YAML or JSON, has no metric, or has one that cannot be used.
pub fn read_metrics(path: &Path) -> Result<Vec<Metric>, RunError> {
    let text = files::read_text(path).map_err(|error| RunError::read(path, error))?;
    let given =
        parse(&text).map_err(|error| RunError::in_yaml(path, &YamlError::new(&error, &text)))?;
    if given.is_empty() {
        return Err(RunError::input(format!(
            "{}: no metrics; expected a benchmark.yaml with `metrics`, or a list of metrics",
            path.display()
        )));
    }
    let metrics: Vec<Metric> = given
        .into_iter()
        .zip(1..)
        .map(|(given, number)| Metric {
            id: given.id.unwrap_or_else(|| format!("m{number:02}")),
            name: given.name,
            metric_type: given.metric_type,
            definition: given.definition,
            examples: given.examples.unwrap_or_default(),
            counterexamples: given.counterexamples.unwrap_or_default(),
            verdict: given.verdict,
            check: given.check,
            extra: given.extra,
        })
        .collect();
    check_metrics(path, &metrics)?;
    Ok(metrics)
}

fn parse(text: &str) -> Result<Vec<Given>, serde_saphyr::Error> {
    // Only the outermost type is determined here: values are parsed as their final types, so that `no` stays a text.
    Ok(match serde_saphyr::from_str::<Value>(text)? {
        Value::Array(_) => serde_saphyr::from_str(text)?,
        Value::Null => Vec::new(),
        _ => serde_saphyr::from_str::<File>(text)?
            .metrics
            .unwrap_or_default(),
    })
}

/// The metrics to judge for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) metrics: Vec<Metric>,
    /// Whether only the verdicts to import name the metrics.
    pub(super) from_verdicts: bool,
    /// Whether each conversation is judged for the metric that it was created for, and keeps its ids. Otherwise each is
    /// judged for every metric.
    pub(super) own: bool,
}

impl Wanted {
    /// The given metrics, those that all files define, or those that the verdicts name.
    pub(super) fn of(
        options: &ImportOptions,
        sources: &[(PathBuf, SourceFile)],
    ) -> Result<Self, RunError> {
        let has_own = sources.iter().all(|(_, source)| !source.metrics.is_empty());
        let metrics = match options.metrics.as_slice() {
            [] if has_own => Vec::new(),
            [] => options
                .verdicts
                .metrics(options.metric_type.unwrap_or(MetricType::Positive)),
            given => given.to_vec(),
        };
        if !metrics.is_empty() {
            check_metrics(Path::new("the metrics given"), &metrics)?;
            return Ok(Self {
                from_verdicts: options.metrics.is_empty(),
                metrics,
                own: false,
            });
        }
        for (_, source) in sources {
            if source.metrics.is_empty() {
                return Err(RunError::input(format!(
                    "{}: no metric for a judge. Pass one with `{}` (a benchmark.yaml, or a list of metrics), or with `{} {} {}`; or take \
                     scores of the file as verdicts with `{}`",
                    source.file,
                    ProgramFlag::new("metrics").value("FILE"),
                    ProgramFlag::new("metric-name").value("NAME"),
                    ProgramFlag::new("metric-type").value("positive|negative"),
                    ProgramFlag::new("definition").value("TEXT"),
                    ProgramFlag::new("verdicts").value("SCORER=METRIC")
                )));
            }
        }
        check_one_task(sources)?;
        let mut metrics: Vec<Metric> = Vec::new();
        let mut from: BTreeMap<String, &str> = BTreeMap::new();
        for (_, source) in sources {
            for metric in &source.metrics {
                match metrics.iter().find(|known| known.id == metric.id) {
                    None => {
                        from.insert(metric.id.clone(), &source.file);
                        metrics.push(metric.clone());
                    }
                    Some(known) if known == metric => {}
                    Some(_) => {
                        return Err(RunError::input(format!(
                            "{} and {} define the metric {:?} differently. Import them one by one, or give `{}`",
                            from.get(&metric.id).copied().unwrap_or_default(),
                            source.file,
                            metric.id,
                            ProgramFlag::new("metrics").value("FILE")
                        )));
                    }
                }
            }
        }
        // Sort by id, which restores the order of the original benchmark.
        metrics.sort_by(|a, b| a.id.cmp(&b.id));
        check_metrics(Path::new("the metrics of the files"), &metrics)?;
        Ok(Self {
            metrics,
            from_verdicts: false,
            own: true,
        })
    }
}
