//! Calls, tokens and dollars over time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Used,
    calls::{CountedCall, Ending},
};

/// The possible widths of a bucket, in seconds: each is a multiple of the previous one.
const WIDTHS: [u64; 11] = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400];
/// When there are more buckets than this, they are merged into fewer and wider ones.
const MOST: usize = 30;

/// Calls and their cost over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CallsOverTime")]
pub struct OverTime {
    /// The width of a bucket, in seconds.
    pub bucket_seconds: u64,
    /// The buckets from the first entry's time on, without gaps. At most 30, unless the journal spans more than a month.
    pub buckets: Vec<Bucket>,
}

/// Calls and their cost in one interval. A call counts when it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CallBucket")]
pub struct Bucket {
    /// The start, in seconds from the first call that ended.
    pub start: u64,
    /// Replies of endpoints.
    pub fetched: u64,
    /// Replies from a cache. No other figure here includes them.
    pub cached: u64,
    /// Calls that failed for good.
    pub failed: u64,
    /// Usage and cost.
    #[serde(flatten)]
    pub used: Used,
}

impl Bucket {
    fn add(&mut self, other: &Self) {
        self.fetched += other.fetched;
        self.cached += other.cached;
        self.failed += other.failed;
        self.used.add(&other.used);
    }

    fn push(&mut self, call: &CountedCall<'_>) {
        match call.ending {
            Ending::Fetched => self.fetched += call.count,
            Ending::Cached => self.cached += call.count,
            Ending::Failed => self.failed += call.count,
        }
        self.used.push(call);
    }
}

#[derive(Debug)]
pub(super) struct OverTimeBuilder {
    start: Option<Timestamp>,
    /// The time of the previous call.
    last: Option<Timestamp>,
    width: u64,
    buckets: Vec<Bucket>,
}

impl Default for OverTimeBuilder {
    fn default() -> Self {
        Self {
            start: None,
            last: None,
            width: 1,
            buckets: Vec::new(),
        }
    }
}

impl OverTimeBuilder {
    /// Counts a call that ended at `time`. A call without a time counts with the previous call; a call that is earlier
    /// than the first counts with the first.
    pub(super) fn push(&mut self, time: Option<Timestamp>, call: &CountedCall<'_>) {
        self.start = self.start.or(time);
        self.last = time.or(self.last);
        let after = match (self.start, self.last) {
            (Some(start), Some(last)) => last.as_second().saturating_sub(start.as_second()),
            _ => 0,
        };
        let after = u64::try_from(after).unwrap_or(0);
        while after / self.width >= MOST as u64 {
            self.widen();
        }
        let at = usize::try_from(after / self.width).unwrap_or(0);
        if self.buckets.len() <= at {
            self.buckets.resize(at + 1, Bucket::default());
        }
        if let Some(bucket) = self.buckets.get_mut(at) {
            bucket.push(call);
        }
    }

    /// Merges the buckets into fewer and wider ones.
    fn widen(&mut self) {
        let wider = WIDTHS
            .into_iter()
            .find(|width| *width > self.width)
            .unwrap_or(self.width.saturating_mul(2));
        let together = usize::try_from(wider / self.width).unwrap_or(2).max(2);
        self.width = wider;
        let merged = self.buckets.chunks(together).map(|chunk| {
            let mut all = Bucket::default();
            chunk.iter().for_each(|bucket| all.add(bucket));
            all
        });
        self.buckets = merged.collect();
    }

    pub(super) fn finish(self) -> OverTime {
        let Self {
            width, mut buckets, ..
        } = self;
        for (bucket, start) in buckets.iter_mut().zip((0..).step_by(as_usize(width))) {
            bucket.start = start;
            bucket.used = bucket.used.finish(bucket.fetched);
        }
        OverTime {
            bucket_seconds: width,
            buckets,
        }
    }
}

fn as_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use schema::{EventBody, event::SutReply};

    use super::*;

    fn over_time(times: impl IntoIterator<Item = String>) -> OverTime {
        let mut builder = OverTimeBuilder::default();
        let event = EventBody::FetchedSutResponse(SutReply::default());
        let call = CountedCall::of(&event, "").unwrap();
        for time in times {
            builder.push(time.parse().ok(), &call);
        }
        builder.finish()
    }

    fn counts(over_time: &OverTime) -> Vec<(u64, u64)> {
        let buckets = over_time.buckets.iter();
        buckets
            .map(|bucket| (bucket.start, bucket.fetched))
            .collect()
    }

    #[test]
    fn buckets_get_wider_as_time_goes_on() {
        let at = |seconds: i64| {
            Timestamp::from_second(1_000_000 + seconds)
                .unwrap()
                .to_string()
        };
        let short = over_time([at(0), at(2), "no time".to_owned(), at(-50)]);
        assert_eq!(counts(&short), [(0, 2), (1, 0), (2, 2)]);
        let long = over_time((0..100).map(at));
        assert_eq!(long.bucket_seconds, 5);
        assert_eq!(long.buckets.len(), 20);
        assert!(counts(&long).iter().all(|(_, fetched)| *fetched == 5));
        assert_eq!(counts(&long)[19].0, 95);
        let years = over_time([at(0), at(10_i64.pow(9))]);
        assert!(years.buckets.len() <= MOST, "{years:?}");
        let total: u64 = years.buckets.iter().map(|bucket| bucket.fetched).sum();
        assert_eq!(total, 2);
        assert_eq!(over_time([]).buckets, []);
    }
}
