//! Whether a log is whole, and its results are those of its samples.

use std::{
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
    path::Path,
};

use serde_json::Value;

use crate::import::{Found, ImportError, Recorded};

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// Where: a key of the header such as `results.scores[0]`, or a sample.
    pub key: String,
    /// What.
    pub reason: String,
    /// Whether it may be as intended.
    pub is_note: bool,
}

impl LogFault {
    fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            reason: reason.into(),
            is_note: false,
        }
    }

    fn note(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            is_note: true,
            ..Self::new(key, reason)
        }
    }
}

/// What the samples of a log give.
#[derive(Default)]
struct Samples {
    count: u64,
    left_out: u64,
    seen: HashSet<(String, u32)>,
    again: Vec<(String, u32)>,
    /// The values by score and sample: each an epoch.
    values: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    names: HashSet<String>,
}

impl Samples {
    fn add(&mut self, sample: &Recorded) {
        self.count += 1;
        let of = (sample.sample_id.clone(), sample.repetition);
        if !self.seen.insert(of.clone()) {
            self.again.push(of);
        }
        for score in &sample.scores {
            let Some(name) = score["name"].as_str() else {
                continue;
            };
            self.names.insert(name.to_owned());
            match &score["value"] {
                Value::Object(several) => {
                    for (key, value) in several {
                        self.value(&format!("{name} {key}"), &sample.sample_id, value);
                    }
                }
                value => self.value(name, &sample.sample_id, value),
            }
        }
    }

    fn value(&mut self, score: &str, sample: &str, value: &Value) {
        if let Some(value) = number(value) {
            let samples = self.values.entry(score.to_owned()).or_default();
            samples.entry(sample.to_owned()).or_default().push(value);
        }
    }

    /// The means of a score: over samples, each the mean of its epochs, and over all values, as logs without a reducer have it.
    fn means(&self, score: &str) -> Option<[f64; 2]> {
        let samples = self.values.get(score)?;
        let of_each: Vec<f64> = samples.values().map(|epochs| mean(epochs)).collect();
        let all: Vec<f64> = samples.values().flatten().copied().collect();
        Some([mean(&of_each), mean(&all)])
    }
}

#[expect(clippy::cast_precision_loss, reason = "no log has 2^53 samples")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A value as Inspect turns it into a number: `C` and `I` are right and wrong, `P` is half right.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "C" | "yes" | "true" => Some(1.0),
            "P" => Some(0.5),
            "I" | "N" | "no" | "false" => Some(0.0),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        _ => None,
    }
}

/// Reads a whole log of Inspect, and says what is wrong with it.
///
/// # Errors
/// When it cannot be read to its end: it is damaged, cut off, or of another version.
pub fn check_inspect_log(path: &Path) -> Result<Vec<LogFault>, ImportError> {
    let header = super::open_header(path)?;
    header.check_version(&path.display().to_string())?;
    let mut samples = Samples::default();
    super::read(path, &mut |found| {
        match found {
            Found::Conversation(sample) => samples.add(&sample),
            Found::LeftOut { .. } => samples.left_out += 1,
        }
        ControlFlow::Continue(())
    })?;
    let mut faults = Vec::new();
    for (sample, epoch) in &samples.again {
        let key = format!("sample {sample:?}, epoch {}", epoch + 1);
        faults.push(LogFault::new(key, "it is in the log several times"));
    }
    match header.status.as_deref() {
        Some("success") => {}
        Some(status) => faults.push(LogFault::note(
            "status",
            format!("the evaluation ended with status {status}"),
        )),
        None => faults.push(LogFault::note("status", "the evaluation did not end")),
    }
    let Some(results) = header.results.as_ref().filter(|results| !results.is_null()) else {
        if header.status.as_deref() == Some("success") {
            faults.push(LogFault::new("results", "they are missing"));
        }
        return Ok(faults);
    };
    let is_done = header.status.as_deref() == Some("success");
    faults.extend(counts(results, &samples, is_done));
    let reducer = header.reducer();
    for (at, score) in results["scores"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        faults.extend(of_score(at, score, &samples, reducer.as_deref()));
    }
    Ok(faults)
}

fn counts(results: &Value, samples: &Samples, is_done: bool) -> Option<LogFault> {
    let all = samples.count + samples.left_out;
    let of = |key: &str| results[key].as_u64();
    if let Some(total) = of("total_samples").filter(|total| is_done && *total != all) {
        let reason = format!("{total}, and the log has {all} samples");
        return Some(LogFault::new("results.total_samples", reason));
    }
    let completed = of("completed_samples").filter(|completed| *completed > all)?;
    let reason = format!("{completed}, and the log has {all} samples");
    Some(LogFault::new("results.completed_samples", reason))
}

fn of_score(
    at: usize,
    score: &Value,
    samples: &Samples,
    reducer: Option<&str>,
) -> Option<LogFault> {
    let (name, scorer) = (score["name"].as_str()?, score["scorer"].as_str()?);
    let key = format!("results.scores[{at}]");
    if samples.left_out > 0 {
        // Its values are not known.
        return None;
    }
    if !samples.names.contains(scorer) && !samples.names.contains(name) {
        let reason = format!("no sample has a score of the scorer {scorer:?}");
        return Some(LogFault::new(key, reason));
    }
    let own = score["reducer"].as_str().or(reducer);
    if own.is_some_and(|reducer| reducer != "mean") {
        return None;
    }
    let means = samples
        .means(&format!("{scorer} {name}"))
        .or_else(|| samples.means(name))?;
    ["accuracy", "mean"].iter().find_map(|metric| {
        let stated = score["metrics"][metric]["value"].as_f64()?;
        let is_same = |mean: &f64| (stated - mean).abs() <= 1e-6 * mean.abs().max(1.0);
        (!means.iter().any(is_same)).then(|| {
            let reason = format!("{stated}, and the samples give {}", means[0]);
            LogFault::new(format!("{key}.metrics.{metric}"), reason)
        })
    })
}
