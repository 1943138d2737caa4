//! Which scenarios a run generates: what a plan shows and a run does is decided here.

use std::{collections::HashSet, fs};

use schema::{Benchmark, Metric, Scenario};

use store::{
    BenchmarkDir, Layout, RunError,
    provenance::{Provenance, hash_of_file},
    read_benchmark, read_scenarios,
};

/// The scenarios that a run of the generating phase asks for.
///
/// A metric is covered when `scenarios.json` has rows of it. It is requested all the same when an earlier run could not make all of
/// its rows, as long as the file is as that run wrote it: a later change is taken as deliberate. A file that was not generated
/// here is never changed: metrics without rows are then left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WantedScenarios {
    /// Metrics whose scenarios are requested, in the order of `benchmark.yaml`.
    pub metrics: Vec<WantedMetric>,
    /// Metrics without scenarios for which nothing is generated, because the file is the user's own.
    pub left_out: Vec<String>,
}

/// A metric whose scenarios are requested.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedMetric {
    /// The metric.
    pub metric: Metric,
    /// Rows of it that `scenarios.json` has. They stay.
    pub have: u64,
}

impl WantedMetric {
    /// All scenarios of `metric`.
    pub(crate) fn new(metric: &Metric) -> Self {
        Self {
            metric: metric.clone(),
            have: 0,
        }
    }
}

impl WantedScenarios {
    /// Whether scenarios of this metric are requested.
    #[must_use]
    pub fn has(&self, metric: &str) -> bool {
        self.metrics.iter().any(|wanted| wanted.metric.id == metric)
    }

    /// What is generated, in words; `None` where nothing is.
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

/// What a run would generate of the benchmark `name`. With `add` rows are also added to a file that is the user's own.
///
/// # Errors
/// When the benchmark cannot be read.
pub fn wanted_scenarios(
    layout: &Layout,
    name: &str,
    add: bool,
) -> Result<WantedScenarios, RunError> {
    let dir = layout.benchmark(name)?;
    let benchmark = read_benchmark(&dir)?;
    let rows = read_scenarios(&dir.scenarios())?;
    Ok(wanted(&dir, &benchmark, &rows, add))
}

pub(crate) fn wanted(
    dir: &BenchmarkDir,
    benchmark: &Benchmark,
    rows: &[Scenario],
    add: bool,
) -> WantedScenarios {
    let generated = Provenance::read(dir).scenarios;
    let is_as_written = generated.as_ref().is_some_and(|generated| {
        hash_of_file(&dir.scenarios()).as_ref() == Some(&generated.sha256)
    });
    let gaps = match is_as_written {
        true => read_gaps(dir),
        false => HashSet::new(),
    };
    let mut wanted = WantedScenarios::default();
    for metric in &benchmark.metrics {
        let have = rows.iter().filter(|row| row.metric_id == metric.id);
        let have = have.count() as u64;
        if have == 0 || gaps.contains(&metric.id) {
            let metric = metric.clone();
            wanted.metrics.push(WantedMetric { metric, have });
        }
    }
    if !add && is_users_own(dir, rows) {
        let left_out = std::mem::take(&mut wanted.metrics).into_iter();
        wanted.left_out = left_out.map(|wanted| wanted.metric.id).collect();
    }
    wanted
}

/// Whether somebody else wrote the rows: none of them is as it was generated here.
pub(crate) fn is_users_own(dir: &BenchmarkDir, rows: &[Scenario]) -> bool {
    let generated = Provenance::read(dir).scenarios;
    !rows.is_empty() && !generated.is_some_and(|generated| generated.holds_one_of(rows))
}

/// The metrics whose scenarios were not all written in an earlier run because a call failed.
fn read_gaps(dir: &BenchmarkDir) -> HashSet<String> {
    let Ok(text) = fs::read(dir.gaps()) else {
        return HashSet::new();
    };
    serde_json::from_slice(&text).unwrap_or_default()
}
