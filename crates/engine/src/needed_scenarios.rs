//! Decides which scenarios a run generates, both for a plan and for a run. Also reports where existing ones differ from the
//! settings.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
};

use indexmap::{IndexMap, IndexSet};
use schema::{Benchmark, Metric, Scenario, numbers::grouped, text::counted};

use store::{
    BenchmarkDir, Layout, RunError, provenance::Provenance, read_benchmark, read_scenarios,
    write_json,
};

/// The scenarios that a run of the generating phase requests.
///
/// A metric is covered if `scenarios.json` has rows of it. It is requested all the same if an earlier run could not generate all of
/// its rows, as long as the file is unchanged since that run: a later change is taken as deliberate. A file that was not generated
/// here is never changed: metrics without rows are then left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeededScenarios {
    /// Metrics whose scenarios are requested, in the order of `benchmark.yaml`.
    pub metrics: Vec<NeededMetric>,
    /// Metrics without scenarios for which nothing is generated, because the file is the user's own.
    pub left_out: Vec<String>,
}

/// A metric whose scenarios are requested.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededMetric {
    /// The metric.
    pub metric: Metric,
    /// Its rows in `scenarios.json`. They stay.
    pub have: u64,
}

impl NeededMetric {
    /// All scenarios of `metric`.
    pub(crate) fn new(metric: &Metric) -> Self {
        Self {
            metric: metric.clone(),
            have: 0,
        }
    }
}

impl NeededScenarios {
    /// Whether scenarios of this metric are requested.
    #[must_use]
    pub fn has(&self, metric: &str) -> bool {
        self.metrics.iter().any(|wanted| wanted.metric.id == metric)
    }

    /// Describes what is generated; `None` if nothing is.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let with = |new: bool| -> Vec<&str> {
            let of_kind = self
                .metrics
                .iter()
                .filter(|wanted| (wanted.have == 0) == new);
            of_kind.map(|wanted| wanted.metric.id.as_str()).collect()
        };
        let (new, rest) = (with(true), with(false));
        let mut parts = Vec::new();
        if !new.is_empty() {
            parts.push(format!("for {}, which had none", new.join(", ")));
        }
        if !rest.is_empty() {
            parts.push(format!(
                "for {}, which an earlier run did not finish",
                rest.join(", ")
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// What a run would generate for the benchmark `name`. With `add`, rows are also added to a file that is the user's own.
///
/// # Errors
/// When the benchmark cannot be read.
pub fn needed_scenarios(
    layout: &Layout,
    name: &str,
    add: bool,
) -> Result<NeededScenarios, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let rows = read_scenarios(&dir)?;
    Ok(needed(&dir, &benchmark, &rows, add))
}

pub(crate) fn needed(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    rows: &[Scenario],
    add: bool,
) -> NeededScenarios {
    let generated = Provenance::read(dir).scenarios;
    let is_as_written = generated
        .as_ref()
        .is_some_and(|generated| dir.digest(&dir.scenarios()).as_ref() == Some(&generated.sha256));
    let gaps = match is_as_written {
        true => read_gaps(dir),
        false => HashSet::new(),
    };
    let mut wanted = NeededScenarios::default();
    for metric in &benchmark.metrics {
        let is_of_metric = |row: &&Scenario| row.metric_id == metric.id;
        let have = rows.iter().filter(is_of_metric).count() as u64;
        if have == 0 || gaps.contains(&metric.id) {
            let metric = metric.clone();
            wanted.metrics.push(NeededMetric { metric, have });
        }
    }
    if !add && is_users_own(dir, rows) {
        let left_out = std::mem::take(&mut wanted.metrics).into_iter();
        wanted.left_out = left_out.map(|wanted| wanted.metric.id).collect();
    }
    wanted
}

/// Whether somebody else wrote the rows: no row is as it was generated here.
pub(crate) fn is_users_own(dir: &BenchmarkDir, rows: &[Scenario]) -> bool {
    let generated = Provenance::read(dir).scenarios;
    !rows.is_empty() && !generated.is_some_and(|generated| generated.holds_one_of(rows))
}

/// The metrics whose scenarios an earlier run could not all write, because a call failed.
fn read_gaps(dir: &BenchmarkDir) -> HashSet<String> {
    let Ok(text) = files::read(dir.gaps()) else {
        return HashSet::new();
    };
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Records that some scenarios of these metrics are missing, so that the next run generates them. The replies that did arrive are
/// in the cache.
pub(crate) fn write_gaps(dir: &BenchmarkDir, metrics: &[Metric]) -> Result<(), RunError> {
    let path = dir.gaps();
    if metrics.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(RunError::write(path, error))
            }
            _ => Ok(()),
        };
    }
    let ids: Vec<&str> = metrics.iter().map(|metric| metric.id.as_str()).collect();
    write_json(path, &ids)
}

/// The settings that scenarios are generated from.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Scenarios per metric, variants not counted. `None`: unknown, and not compared.
    pub scenarios_per_metric: Option<u32>,
    /// Turns of a conversation.
    pub turns: Option<u32>,
    /// Demographic axes and their values.
    pub demographics: Option<IndexMap<String, Vec<String>>>,
}

impl Expected {
    /// How many rows a metric has with all its variants; `None` if unknown.
    pub(crate) fn rows_per_metric(&self) -> Option<u64> {
        let scenarios = u64::from(self.scenarios_per_metric?);
        let values = self.demographics.as_ref()?.values();
        let variants = values.map(|values| values.len().max(1) as u64);
        Some(variants.fold(scenarios, u64::saturating_mul))
    }

    /// One sentence for each setting that no longer matches the rows. Rows with the user's own messages were never generated from settings.
    pub(crate) fn differences(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Vec<String> {
        let is_own = |row: &Scenario| !row.turns.is_empty();
        let mut generated = by_metric.clone();
        generated.retain(|_, rows| !rows.iter().any(is_own));
        if generated.is_empty() {
            return Vec::new();
        }
        [
            self.count(&generated),
            self.axes(&generated),
            self.late_landmarks(&generated),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn count(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        let wanted = self.scenarios_per_metric? as usize;
        let (metric, have) = by_metric
            .iter()
            .map(|(metric, rows)| {
                (
                    metric,
                    rows.iter().map(base_id).collect::<BTreeSet<_>>().len(),
                )
            })
            .find(|(_, have)| *have != wanted)?;
        Some(format!(
            "generation.scenarios_per_metric is {}, and scenarios.json has {} for {metric}: the file is used as it is",
            grouped(wanted as u64),
            grouped(have as u64)
        ))
    }

    fn axes(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        // In the order of the settings; the order makes no difference.
        let mut wanted = Axes::new();
        for (axis, values) in self.demographics.as_ref()? {
            wanted
                .entry(axis.as_str())
                .or_default()
                .extend(values.iter().map(String::as_str));
        }
        let mut have = Axes::new();
        for (axis, value) in by_metric
            .values()
            .flatten()
            .flat_map(|row| &row.demographic)
        {
            have.entry(axis.as_str())
                .or_default()
                .extend(value.as_str());
        }
        (have != wanted).then(|| {
            format!(
                "the demographics of the config ({}) differ from those of scenarios.json ({}): the file is used as it is",
                list(&wanted),
                list(&have)
            )
        })
    }

    fn late_landmarks(&self, by_metric: &BTreeMap<String, Vec<Scenario>>) -> Option<String> {
        let turns = self.turns?;
        let late = by_metric
            .values()
            .flatten()
            .filter(|row| row.landmarks.iter().any(|landmark| landmark.turn > turns))
            .count();
        (late > 0).then(|| {
            format!(
                "{} landmarks after turn {turns}, the last of a conversation; these landmarks are not used",
                counted(late as u64, "scenario has", "scenarios have")
            )
        })
    }
}

/// `m01_s002` of `m01_s002_v01`.
fn base_id(row: &Scenario) -> &str {
    match row.id.rsplit_once("_v") {
        Some((base, variant)) if variant.chars().all(|c| c.is_ascii_digit()) => base,
        _ => &row.id,
    }
}

/// Demographic axes and their values, in order of appearance. Two with the same content are equal in any order.
type Axes<'a> = IndexMap<&'a str, IndexSet<&'a str>>;

fn list(axes: &Axes<'_>) -> String {
    if axes.is_empty() {
        return "none".to_owned();
    }
    let axis = |(name, values): (&&str, &IndexSet<&str>)| {
        format!(
            "{name}: {}",
            values.iter().copied().collect::<Vec<_>>().join(", ")
        )
    };
    axes.iter().map(axis).collect::<Vec<_>>().join("; ")
}
