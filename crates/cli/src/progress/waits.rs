//! The models that a run waits for, why, and until when.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use llm_client::{Health, ModelStatus};
use schema::{
    numbers::{grouped, wait},
    text::counted,
};

/// Shorter waits are not shown.
const SHORT: Duration = Duration::from_secs(3);

/// A call that takes longer than this is shown as a wait.
const LONG: Duration = Duration::from_secs(30);

/// Shows which models hold up the run.
pub(super) struct Waits {
    health: Health,
    /// When each model was last reported, by endpoint and name.
    reported: BTreeMap<(Arc<str>, Arc<str>), Instant>,
    /// The line on a terminal, while it is shown.
    bar: Option<ProgressBar>,
}

impl Waits {
    pub(super) fn new(health: Health) -> Self {
        Self {
            health,
            reported: BTreeMap::new(),
            bar: None,
        }
    }

    /// A line for each model that holds up the run: when the wait begins, and then every `every`.
    pub(super) fn news(&mut self, now: Instant, every: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for status in self.health.status() {
            let model = (Arc::clone(&status.endpoint), Arc::clone(&status.model));
            let Some(text) = wait_text(&status) else {
                self.reported.remove(&model);
                continue;
            };
            let last = self.reported.get(&model);
            if last.is_none_or(|last| now.duration_since(*last) >= every) {
                self.reported.insert(model, now);
                lines.push(text);
            }
        }
        lines
    }

    /// Shows the same on one line below the bars, cut to the width of the terminal.
    pub(super) fn draw(&mut self, bars: &MultiProgress) {
        let texts: Vec<String> = self.health.status().iter().filter_map(wait_text).collect();
        let Some((first, others)) = texts.split_first() else {
            if let Some(bar) = self.bar.take() {
                bar.finish_and_clear();
                bars.remove(&bar);
            }
            return;
        };
        let text = match others.len() {
            0 => first.clone(),
            more => format!("({more} more) {first}"),
        };
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bars.add(ProgressBar::no_length().with_style(style))
        });
        bar.set_message(text);
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The message about a model that holds up the run; `None` if it does not.
fn wait_text(status: &ModelStatus) -> Option<String> {
    let ModelStatus {
        model, endpoint, ..
    } = status;
    let failing = status.failing.as_ref();
    if let (Some(probe), Some(failing)) = (status.next_probe, failing) {
        return Some(format!(
            "gave up on {model}, next attempt in {}: {} (circuit breaker open, no reply for {}, {endpoint})",
            seconds(probe),
            failing.last,
            seconds(failing.lasting),
        ));
    }
    let next = status.next_attempt.as_ref();
    if let Some(failing) = failing
        && (failing.lasting >= SHORT || next.is_some_and(|(next, _)| *next >= SHORT))
    {
        let until = match next {
            Some((next, _)) => format!("next attempt in {}", seconds(*next)),
            None => match status.longest {
                Some(longest) => format!("in flight for {}", seconds(longest)),
                // No call uses the model any more.
                None => return None,
            },
        };
        let attempts = counted(failing.attempts.into(), "attempt", "attempts");
        return Some(format!(
            "waiting for {model}, {until}: {} ({attempts} failed in {}, circuit breaker opens in {}, {endpoint})",
            failing.last,
            seconds(failing.lasting),
            seconds(failing.opens_in),
        ));
    }
    if let Some(batches) = status.batches {
        return Some(format!(
            "waiting for {model}: {} of {} in {} done, sent {} ago ({endpoint})",
            grouped(batches.done),
            counted(batches.requests, "request", "requests"),
            counted(batches.batches, "batch", "batches"),
            seconds(batches.longest)
        ));
    }
    let longest = status.longest.filter(|longest| *longest >= LONG)?;
    let calls = counted(status.in_flight as u64, "call", "calls");
    Some(format!(
        "waiting for {model}: {calls} in flight, the oldest for {} ({endpoint})",
        seconds(longest)
    ))
}

fn seconds(time: Duration) -> String {
    wait(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use llm_client::FailingStatus;

    use super::*;

    const fn after(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn idle() -> ModelStatus {
        ModelStatus {
            model: "m".into(),
            endpoint: "http://host/v1".into(),
            in_flight: 0,
            longest: None,
            waiting: 0,
            next_attempt: None,
            failing: None,
            next_probe: None,
            batches: None,
        }
    }

    fn failing(seconds: u64, attempts: u32) -> Option<FailingStatus> {
        Some(FailingStatus {
            lasting: after(seconds),
            attempts,
            last: "status 429: slow down".to_owned(),
            opens_in: after(180 - seconds),
        })
    }

    #[test]
    fn who_why_and_until_when() {
        let retried = ModelStatus {
            waiting: 3,
            next_attempt: Some((after(42), "x".into())),
            ..idle()
        };
        for (status, text) in [
            (idle(), None),
            // Other requests are answered.
            (retried.clone(), None),
            (
                ModelStatus {
                    failing: failing(1, 1),
                    ..retried.clone()
                },
                Some(
                    "waiting for m, next attempt in 42 s: status 429: slow down (1 attempt failed in 1 s, circuit breaker opens in 2:59, \
                     http://host/v1)",
                ),
            ),
            (
                ModelStatus {
                    failing: failing(2, 4),
                    ..idle()
                },
                None,
            ),
            (
                ModelStatus {
                    failing: failing(60, 4),
                    in_flight: 2,
                    longest: Some(after(9)),
                    ..idle()
                },
                Some(
                    "waiting for m, in flight for 9 s: status 429: slow down (4 attempts failed in 1:00, circuit breaker opens in 2:00, \
                     http://host/v1)",
                ),
            ),
            (
                ModelStatus {
                    failing: failing(170, 4),
                    next_probe: Some(after(12)),
                    ..idle()
                },
                Some(
                    "gave up on m, next attempt in 12 s: status 429: slow down (circuit breaker open, no reply for 2:50, http://host/v1)",
                ),
            ),
            (
                ModelStatus {
                    in_flight: 20,
                    longest: Some(after(250)),
                    ..idle()
                },
                Some("waiting for m: 20 calls in flight, the oldest for 4:10 (http://host/v1)"),
            ),
            (
                ModelStatus {
                    in_flight: 1,
                    longest: Some(after(29)),
                    ..idle()
                },
                None,
            ),
        ] {
            assert_eq!(wait_text(&status).as_deref(), text, "{status:?}");
        }
    }
}
