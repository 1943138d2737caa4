//! How often events occurred, how long calls took, and what they cost.

mod calls;
mod latency;
mod over_time;
mod stored;
mod used;

use std::collections::HashMap;

use jiff::Timestamp;
use schema::{EventBody, event::FailedAttempt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use calls::CallStats;
pub use latency::Latency;
pub use over_time::{Bucket, OverTime};
pub use used::Used;

use crate::Line;
use calls::{Calls, CountedCall};
use over_time::OverTimeBuilder;
use stored::StoredTotals;

/// The number of types of events, and of causes of retries, that are counted separately; the rest are counted together.
const NAMES: usize = 500;
/// The name of the rest, which is counted together.
const OTHERS: &str = "(others)";

/// Figures of one journal. They serialize to the output of `journal stats --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "JournalStats")]
pub struct Stats {
    /// Entries read.
    pub entries: u64,
    /// The earliest time in the journal.
    #[serde(serialize_with = "time_text")]
    #[schemars(with = "Option<String>")]
    pub start: Option<Timestamp>,
    /// The latest time in the journal.
    #[serde(serialize_with = "time_text")]
    #[schemars(with = "Option<String>")]
    pub end: Option<Timestamp>,
    /// How often each type of event occurs, the most frequent first.
    pub events: Vec<EventCount>,
    /// The calls to each model in each role, in the order of role and name.
    pub calls: Vec<CallStats>,
    /// Why calls were retried or failed for good, the most frequent first.
    pub retries: Vec<RetryCount>,
    /// Calls and their cost over time. Replies from a cache do not count here.
    pub over_time: OverTime,
}

/// How often a type of event occurs in a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventCount {
    /// The type.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// How often calls failed for the same cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryCount {
    /// The kind of failure, such as `rate_limited`.
    pub kind: String,
    /// The status of the HTTP response; null without a response.
    pub status: Option<u16>,
    /// Attempts that were retried.
    pub retried: u64,
    /// Seconds waited before the retries.
    pub waited: f64,
    /// Attempts that were the last.
    pub given_up: u64,
}

/// Collects the figures of a journal, line by line. Its size does not depend on the number of lines.
///
/// ```
/// use journal::{JournalReader, StatsBuilder};
///
/// let text = r#"{"message":"fetched sut response","sut":"careful","run_time":0.25}
/// {"message":"using cached sut response","sut":"careful"}
/// "#;
/// let mut stats = StatsBuilder::default();
/// let mut reader = JournalReader::new(text.as_bytes(), "example");
/// while let Some(line) = reader.next_line() {
///     stats.push(&line?);
/// }
/// let stats = stats.finish();
/// assert_eq!(stats.calls[0].cache_hit_rate, Some(0.5));
/// assert_eq!(stats.calls[0].latency.map(|latency| latency.max), Some(0.25));
/// # Ok::<(), journal::ReadError>(())
/// ```
#[derive(Debug, Default)]
pub struct StatsBuilder {
    entries: u64,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    events: HashMap<String, u64>,
    totals: CallTotals,
    over_time: OverTimeBuilder,
}

/// The calls of a journal and the attempts that failed, event by event. Those of several journals can be added up. Stored and read again,
/// they are the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "StoredTotals", from = "StoredTotals")]
pub struct CallTotals {
    calls: Calls,
    retries: HashMap<(String, Option<u16>), RetryCount>,
}

impl CallTotals {
    /// Counts an event of the system under test `sut`, which is empty where the line names none.
    pub fn push(&mut self, event: &EventBody, sut: &str) {
        self.attempts(event);
        if let Some(call) = CountedCall::of(event, sut) {
            self.calls.push(&call);
        }
    }

    fn attempts(&mut self, event: &EventBody) {
        match event {
            EventBody::RetryingCall(attempt) => {
                let count = self.attempt(attempt);
                count.retried += 1;
                count.waited += attempt.delay.unwrap_or_default().max(0.0);
            }
            EventBody::ModelCallFailed(attempt) => self.attempt(attempt).given_up += 1,
            _ => {}
        }
    }

    /// The count of attempts that failed for the same cause.
    fn attempt(&mut self, attempt: &FailedAttempt) -> &mut RetryCount {
        self.cause((attempt.kind.clone().into_owned(), attempt.status))
    }

    fn cause(&mut self, mut cause: (String, Option<u16>)) -> &mut RetryCount {
        if !self.retries.contains_key(&cause) && self.retries.len() >= NAMES {
            cause = (OTHERS.to_owned(), None);
        }
        self.retries.entry(cause).or_default()
    }

    /// Adds what another journal has.
    pub fn add(&mut self, other: &Self) {
        self.calls.add(&other.calls);
        for (cause, more) in &other.retries {
            let count = self.cause(cause.clone());
            count.retried += more.retried;
            count.waited += more.waited;
            count.given_up += more.given_up;
        }
    }

    /// The calls to each model in each role, in the order of role and name.
    #[must_use]
    pub fn calls(&self) -> Vec<CallStats> {
        self.calls.finish()
    }

    /// Why calls were tried again or given up, the most frequent first.
    #[must_use]
    pub fn retries(&self) -> Vec<RetryCount> {
        let mut retries: Vec<_> = self
            .retries
            .iter()
            .map(|((kind, status), count)| RetryCount {
                kind: kind.clone(),
                status: *status,
                ..count.clone()
            })
            .collect();
        retries.sort_by(|a, b| {
            let all = |count: &RetryCount| count.retried + count.given_up;
            let cause = |count: &RetryCount| (count.kind.clone(), count.status);
            all(b).cmp(&all(a)).then_with(|| cause(a).cmp(&cause(b)))
        });
        retries
    }
}

impl StatsBuilder {
    /// Counts a line.
    pub fn push(&mut self, line: &Line<'_>) {
        self.entries += 1;
        let time = line.time();
        if let Some(time) = time {
            self.start = Some(self.start.map_or(time, |start| start.min(time)));
            self.end = Some(self.end.map_or(time, |end| end.max(time)));
        }
        match self.events.get_mut(&*line.message) {
            Some(count) => *count += 1,
            None => {
                let message = room(self.events.len(), &line.message);
                *self.events.entry(message.to_owned()).or_default() += 1;
            }
        }
        // A line that lacks a field of its message counts among the events only.
        let Some(Ok(event)) = line.event() else {
            return;
        };
        self.totals.attempts(&event);
        if let Some(call) = CountedCall::of(&event, line.sut.as_deref().unwrap_or_default()) {
            self.totals.calls.push(&call);
            self.over_time.push(time, &call);
        }
    }

    /// The figures.
    #[must_use]
    pub fn finish(self) -> Stats {
        let mut events: Vec<_> = self
            .events
            .into_iter()
            .map(|(message, count)| EventCount { message, count })
            .collect();
        events.sort_by(|a, b| b.count.cmp(&a.count).then(a.message.cmp(&b.message)));
        Stats {
            entries: self.entries,
            start: self.start,
            end: self.end,
            events,
            calls: self.totals.calls(),
            retries: self.totals.retries(),
            over_time: self.over_time.finish(),
        }
    }
}

fn time_text<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

/// `name`, or the name of the rest if `known` names are already counted separately.
fn room(known: usize, name: &str) -> &str {
    if known < NAMES { name } else { OTHERS }
}

#[cfg(test)]
mod tests {
    use schema::EventKind;

    use super::*;

    fn stats(lines: impl IntoIterator<Item = String>) -> Stats {
        let mut stats = StatsBuilder::default();
        for line in lines {
            stats.push(&Line::parse(line.as_bytes()).unwrap());
        }
        stats.finish()
    }

    #[test]
    fn retries_are_counted_by_kind_and_status() {
        let retry = |message: EventKind, status: &str, delay: &str| {
            format!(
                r#"{{"message":"{message}","model":"m","purpose":"p","row":"r","sample":0,"turn":1,"attempt":1,"kind":"transient","status":{status},"reason":"x","delay":{delay}}}"#
            )
        };
        let stats = stats([
            retry(EventKind::RetryingCall, "503", "0.5"),
            retry(EventKind::RetryingCall, "null", "1"),
            retry(EventKind::RetryingCall, "503", "1.5"),
            retry(EventKind::ModelCallFailed, "503", "null"),
            r#"{"message":"retrying call"}"#.to_owned(),
        ]);
        let count = |kind: &str, status, retried, waited, given_up| RetryCount {
            kind: kind.to_owned(),
            status,
            retried,
            waited,
            given_up,
        };
        assert_eq!(
            stats.retries,
            [
                count("transient", Some(503), 2, 2.0, 1),
                count("transient", None, 1, 1.0, 0),
            ]
        );
        assert_eq!(stats.entries, 5);
        assert_eq!(stats.events[0].count, 4);
    }

    #[test]
    fn times_may_be_out_of_order_or_missing() {
        let stats = stats([
            r#"{"message":"b","timestamp":"2026-11-21T01:52:03Z"}"#.to_owned(),
            r#"{"message":"b","timestamp":"2026-11-21T01:52:02Z"}"#.to_owned(),
            r#"{"message":"a","timestamp":"soon"}"#.to_owned(),
        ]);
        assert_eq!(stats.start, "2026-11-21T01:52:02Z".parse().ok());
        assert_eq!(stats.end, "2026-11-21T01:52:03Z".parse().ok());
        let names: Vec<_> = stats.events.iter().map(|event| &*event.message).collect();
        assert_eq!(names, ["b", "a"]);
    }

    #[test]
    fn totals_of_two_journals_are_those_of_one() {
        let lines: Vec<String> = (1..=40)
            .map(|n| {
                let (model, delay) = (n % 3, n % 2);
                match n % 4 {
                    0 => format!(
                        r#"{{"message":"retrying call","model":"m","purpose":"p","row":"r","sample":0,"turn":1,"attempt":1,"kind":"transient","status":50{delay},"reason":"x","delay":{delay}}}"#
                    ),
                    _ => format!(
                        r#"{{"message":"fetched sut response","sut":"m{model}","run_time":{n}}}"#
                    ),
                }
            })
            .collect();
        let totals = |lines: &[String]| {
            let mut totals = CallTotals::default();
            for line in lines {
                let line = Line::parse(line.as_bytes()).unwrap();
                let sut = line.sut.as_deref().unwrap_or_default();
                totals.push(&line.event().unwrap().unwrap(), sut);
            }
            totals
        };
        let all = totals(&lines);
        let mut sum = totals(&lines[..7]);
        sum.add(&totals(&lines[7..]));
        assert_eq!((sum.calls(), sum.retries()), (all.calls(), all.retries()));
        let whole = stats(lines.clone());
        assert_eq!((whole.calls, whole.retries), (all.calls(), all.retries()));
        // Totals that are stored can be added up as those of the journal can.
        let stored = serde_json::to_string(&totals(&lines[..7])).unwrap();
        let mut sum: CallTotals = serde_json::from_str(&stored).unwrap();
        sum.add(&totals(&lines[7..]));
        assert_eq!((sum.calls(), sum.retries()), (all.calls(), all.retries()));
    }

    #[test]
    fn names_without_end_take_no_memory_without_end() {
        let stats = stats(
            (0..2_000)
                .map(|n| {
                    format!(r#"{{"message":"fetched sut response","sut":"s{n}","run_time":1}}"#)
                })
                .chain((0..2_000).map(|n| format!(r#"{{"message":"m{n}"}}"#))),
        );
        assert_eq!(stats.entries, 4_000);
        assert_eq!(stats.events.len(), NAMES + 1);
        assert_eq!(
            stats.events.iter().map(|event| event.count).sum::<u64>(),
            4_000
        );
        assert!(stats.calls.len() < 200, "{}", stats.calls.len());
        assert_eq!(
            stats.calls.iter().map(|call| call.fetched).sum::<u64>(),
            2_000
        );
    }
}
