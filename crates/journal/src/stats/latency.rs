//! The duration of calls.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The duration of calls, in seconds. Percentiles are accurate to a thousandth of their value, the maximum is
/// exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CallLatency")]
pub struct Latency {
    /// Half of the calls took no longer.
    pub p50: f64,
    /// 90% of the calls took no longer.
    pub p90: f64,
    /// 99% of the calls took no longer.
    pub p99: f64,
    /// The longest call.
    pub max: f64,
}

/// Durations, counted by their length.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    /// In microseconds. `None` before the first duration, so that a model that was never called takes no
    /// memory.
    histogram: Option<Histogram<u32>>,
    max: f64,
}

/// Durations as they are stored: microseconds, each with its count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredLatencies {
    counts: Vec<(u64, u32)>,
    /// Seconds.
    max: f64,
}

impl Latencies {
    /// Adds a duration. A value that is not a duration is ignored.
    pub(super) fn push(&mut self, seconds: f64) {
        const LONGEST: f64 = 1e9;
        if !(0.0..=LONGEST).contains(&seconds) {
            return;
        }
        if self.histogram.is_none() {
            // The histogram accepts a precision of three digits.
            self.histogram = Histogram::new(3).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            // The histogram grows with its values, so no value is out of range.
            let _ = histogram.record(microseconds(seconds));
            self.max = self.max.max(seconds);
        }
    }

    /// The durations as they are stored.
    pub(super) fn to_stored(&self) -> StoredLatencies {
        let recorded = self.histogram.iter().flat_map(Histogram::iter_recorded);
        let counts = recorded.map(|value| (value.value_iterated_to(), value.count_at_value()));
        StoredLatencies {
            counts: counts.collect(),
            max: self.max,
        }
    }

    /// The durations that were stored.
    pub(super) fn of_stored(stored: &StoredLatencies) -> Self {
        let mut latencies = Self {
            histogram: None,
            max: stored.max,
        };
        if !stored.counts.is_empty() {
            latencies.histogram = Histogram::new(3).ok();
        }
        for (value, count) in &stored.counts {
            if let Some(histogram) = &mut latencies.histogram {
                // The histogram grows with its values, so no value is out of range.
                let _ = histogram.record_n(*value, *count);
            }
        }
        latencies
    }

    /// Adds those that another one counted.
    pub(super) fn add(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        match (&mut self.histogram, &other.histogram) {
            (_, None) => {}
            (None, more) => self.histogram.clone_from(more),
            (Some(histogram), Some(more)) => {
                // It grows with what it counts, so nothing is out of its range.
                let _ = histogram.add(more);
            }
        }
    }

    pub(super) fn finish(&self) -> Option<Latency> {
        let histogram = self
            .histogram
            .as_ref()
            .filter(|histogram| !histogram.is_empty())?;
        let at = |part| seconds(histogram.value_at_quantile(part)).min(self.max);
        Some(Latency {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: self.max,
        })
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller has checked the range"
)]
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

#[allow(clippy::cast_precision_loss, reason = "exact below 2^53 microseconds")]
fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close_and_the_maximum_is_exact() {
        let mut latencies = Latencies::default();
        assert!(Latencies::default().finish().is_none());
        for n in 1..=1000 {
            latencies.push(f64::from(n) / 100.0);
        }
        for bad in [f64::NAN, -1.0, f64::INFINITY, 1e300] {
            latencies.push(bad);
        }
        let latency = latencies.finish().unwrap();
        for (actual, expected) in [(latency.p50, 5.0), (latency.p90, 9.0), (latency.p99, 9.9)] {
            assert!(
                (actual - expected).abs() <= expected / 1000.0,
                "{actual} {expected}"
            );
        }
        assert_eq!(latency.max.to_bits(), 10.0_f64.to_bits());
    }
}
