//! One phase of one benchmark, shown as a bar or as lines.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use probity::{Outcome, Phase};
use schema::numbers::grouped;

use super::pace::{Pace, left_text, rate_text};

/// A phase of a benchmark. All its targets share one bar.
pub(super) struct Task {
    name: String,
    phase: Phase,
    /// Drawn once a row is in progress: a phase without work is not shown.
    bar: Option<ProgressBar>,
    pace: Option<Pace>,
    /// The number of rows of each target, if known; one entry without a name for phases without targets.
    rows: BTreeMap<String, Option<u64>>,
    /// The number of active targets.
    open: usize,
    started: u64,
    ended: u64,
    failed: u64,
    abstained: u64,
    skipped: u64,
    /// Rows that had ended when the last line was written.
    reported: u64,
    /// The time left of the phase that supplies the rows, while it is active.
    source: Option<TimeLeft>,
}

/// The time left of the previous phase, which supplies the rows of this one: this phase cannot end sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeLeft {
    /// It needs about this much time.
    About(Duration),
    /// The time that it needs is unknown.
    Unknown,
}

impl Task {
    /// The phase of the benchmark `name`, before any target is active.
    pub(super) fn new(name: &str, phase: Phase) -> Self {
        Self {
            name: name.to_owned(),
            phase,
            bar: None,
            pace: None,
            rows: BTreeMap::new(),
            open: 0,
            started: 0,
            ended: 0,
            failed: 0,
            abstained: 0,
            skipped: 0,
            reported: 0,
            source: None,
        }
    }

    /// The time left for the next phase to wait for at `now`.
    pub(super) fn time_left(&self, now: Instant) -> Option<TimeLeft> {
        self.is_open().then(|| match self.left(now) {
            Some(left) => TimeLeft::About(left),
            None => TimeLeft::Unknown,
        })
    }

    /// Sets the time left of the phase that supplies the rows.
    pub(super) fn set_earlier(&mut self, source: Option<TimeLeft>) {
        self.source = source;
    }

    /// Starts the phase for `target`.
    pub(super) fn open(&mut self, target: String, rows: Option<u64>) {
        self.rows.insert(target, rows);
        self.open += 1;
    }

    /// Ends the phase for a target. Returns whether it was the last one.
    pub(super) fn close(&mut self) -> bool {
        self.open = self.open.saturating_sub(1);
        self.reported = self.ended;
        self.open == 0
    }

    pub(super) fn set_rows(&mut self, target: String, rows: u64) {
        self.rows.insert(target, Some(rows));
    }

    pub(super) fn row_started(&mut self, now: Instant) {
        self.started += 1;
        self.pace.get_or_insert_with(|| Pace::new(now));
    }

    pub(super) fn row_ended(&mut self, outcome: Outcome, now: Instant) {
        self.ended += 1;
        match outcome {
            Outcome::Done => {}
            Outcome::Failed => self.failed += 1,
            Outcome::Abstained => self.abstained += 1,
            // A skipped row took no time.
            Outcome::Skipped => {
                self.skipped += 1;
                return;
            }
        }
        self.pace.get_or_insert_with(|| Pace::new(now)).row(now);
    }

    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Whether there is something to show: rows that ended or are in progress, or work that does not consist of rows.
    pub(super) fn is_seen(&self) -> bool {
        self.started > 0 || self.ended > 0 || !self.is_of_rows()
    }

    /// Whether the phase is waiting for replies.
    pub(super) fn waits(&self) -> bool {
        self.is_open() && (self.started != self.ended || !self.is_of_rows())
    }

    /// Whether the phase reports the start of each row; other phases are active from their start.
    fn is_of_rows(&self) -> bool {
        matches!(self.phase, Phase::Simulate | Phase::Evaluate)
    }

    /// Whether rows ended since the last call.
    pub(super) fn has_news(&mut self) -> bool {
        std::mem::replace(&mut self.reported, self.ended) != self.ended
    }

    /// The number of rows, once it is known for every target.
    fn total(&self) -> Option<u64> {
        self.rows.values().copied().sum()
    }

    /// Whether every row ended. A run that stops does not report the rows that were not started.
    fn is_whole(&self) -> bool {
        self.skipped == 0 && self.total().is_none_or(|total| self.ended >= total)
    }

    fn in_work(&self) -> u64 {
        self.started.saturating_sub(self.ended)
    }

    /// `3 failed`, `1 without a verdict`, `2 skipped`.
    fn troubles(&self) -> Vec<String> {
        let counts = [
            (self.failed, "failed"),
            (self.abstained, "without a verdict"),
            (self.skipped, "skipped"),
        ];
        counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{} {what}", grouped(*n)))
            .collect()
    }

    /// `3/16`, or `3` if the number of rows is unknown. Phases without rows, such as aggregate, have no count.
    fn count(&self) -> Option<String> {
        // Skipped rows were not done.
        let done = self.ended.saturating_sub(self.skipped);
        match self.total() {
            Some(total) => Some(format!("{}/{}", grouped(done), grouped(total))),
            None => (self.ended > 0).then(|| grouped(done)),
        }
    }

    /// The time left and the speed, once they are known.
    fn forecast(&self, now: Instant) -> Vec<String> {
        let Some(pace) = self.pace.as_ref().filter(|_| self.is_open()) else {
            return Vec::new();
        };
        let rate = pace.rate(now, self.in_work());
        let texts = [self.left(now).map(left_text), rate.map(rate_text)];
        texts.into_iter().flatten().collect()
    }

    /// The time left, once it is known.
    fn left(&self, now: Instant) -> Option<Duration> {
        let rows = self.total()?.saturating_sub(self.ended);
        let pace = self.pace.as_ref().filter(|_| rows > 0)?;
        let left = pace.left(now, self.in_work(), rows)?;
        match self.source {
            None => Some(left),
            Some(TimeLeft::About(source)) => Some(left.max(source)),
            Some(TimeLeft::Unknown) => None,
        }
    }

    /// `flattery: simulate 3/16`.
    pub(super) fn short_line(&self) -> String {
        let count = self.count().map(|count| format!(" {count}"));
        format!(
            "{}: {}{}",
            self.name,
            self.phase.command(),
            count.unwrap_or_default()
        )
    }

    /// `flattery: simulate 3/16, 1 failed, about 40 s left, 0.5/s`.
    pub(super) fn line(&self, now: Instant) -> String {
        let mut parts = vec![self.short_line()];
        parts.extend(self.troubles());
        parts.extend(self.forecast(now));
        parts.join(", ")
    }

    /// The last line; `None` if there was nothing to do.
    pub(super) fn last_line(&self) -> Option<String> {
        if !self.is_seen() {
            return None;
        }
        let mut parts = vec![self.short_line()];
        parts.extend(self.troubles());
        parts.push(if self.is_whole() { "done" } else { "stopped" }.to_owned());
        Some(parts.join(", "))
    }

    /// Draws the bar on a terminal of `width` columns, once there is something to show.
    pub(super) fn draw(&mut self, bars: &MultiProgress, width: usize, now: Instant) {
        if !self.is_seen() {
            return;
        }
        let form = Form::of(width);
        let bar = self
            .bar
            .get_or_insert_with(|| {
                bars.add(ProgressBar::no_length()).with_prefix(format!(
                    "{} {}",
                    self.phase.command(),
                    self.name
                ))
            })
            .clone();
        let (total, done) = (self.total(), !self.is_open());
        let length = if done { Some(self.ended.max(1)) } else { total };
        bar.set_style(form.style(length.is_some()));
        // Each of these calls draws, in this order, so that the bar never appears beside an older text.
        bar.set_message(self.status(form.room(width), now));
        if let Some(length) = length {
            bar.set_length(length);
            bar.set_position(if done { length } else { self.ended });
        }
        if done {
            bar.finish();
        } else {
            bar.tick();
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The status in at most `room` columns: failures before times.
    fn status(&self, room: usize, now: Instant) -> String {
        let mut parts = Vec::from_iter(self.count());
        parts.extend(self.troubles());
        parts.extend(self.forecast(now));
        let mut text = String::new();
        for part in parts {
            let gap = if text.is_empty() { "" } else { ", " };
            if text.len() + gap.len() + part.len() <= room {
                text.push_str(gap);
                text.push_str(&part);
            }
        }
        text
    }
}

/// The widths of the parts of a bar's line.
struct Form {
    prefix: usize,
    bar: usize,
}

impl Form {
    fn of(width: usize) -> Self {
        match width {
            0..70 => Self { prefix: 13, bar: 6 },
            _ => Self {
                prefix: 28,
                bar: 12,
            },
        }
    }

    /// The columns that are left for the message. The last column stays free: some terminals wrap there.
    fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.prefix + self.bar + 3)
    }

    fn style(&self, counted: bool) -> ProgressStyle {
        let Self { prefix, bar } = self;
        let template = if counted {
            format!("{{prefix:{prefix}!}} {{bar:{bar}}} {{msg}}")
        } else {
            format!("{{prefix:{prefix}!}} {{spinner:{bar}}} {{msg}}")
        };
        ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(rows: u64) -> Task {
        let mut task = Task::new("b", Phase::Simulate);
        task.open("t".to_owned(), Some(rows));
        task
    }

    #[test]
    fn what_fits_is_shown_and_failures_come_before_times() {
        let start = Instant::now();
        let mut task = task(234_567);
        for second in 0..20 {
            let now = start + Duration::from_secs(second);
            task.row_started(now);
            task.row_ended(Outcome::Failed, now);
        }
        let now = start + Duration::from_secs(19);
        assert_eq!(
            task.status(60, now),
            "20/234,567, 20 failed, about 3 days left, 1.0/s"
        );
        assert_eq!(task.status(37, now), "20/234,567, 20 failed, 1.0/s");
        assert_eq!(task.status(22, now), "20/234,567, 20 failed");
    }

    #[test]
    fn a_phase_ends_no_sooner_than_the_one_it_gets_its_rows_from() {
        let start = Instant::now();
        let mut judging = Task::new("b", Phase::Evaluate);
        judging.open("t".to_owned(), Some(6));
        for second in 1..=4 {
            judging.row_started(start);
            judging.row_ended(Outcome::Done, start + Duration::from_secs(second));
        }
        let now = start + Duration::from_secs(4);
        assert_eq!(judging.line(now), "b: evaluate 4/6, about 2 s left, 1.0/s");
        judging.set_earlier(Some(TimeLeft::About(Duration::from_secs(30))));
        assert_eq!(judging.line(now), "b: evaluate 4/6, about 30 s left, 1.0/s");
        judging.set_earlier(Some(TimeLeft::Unknown));
        assert_eq!(judging.line(now), "b: evaluate 4/6, 1.0/s");
    }

    #[test]
    fn a_phase_that_has_nothing_to_do_is_not_seen() {
        let mut task = task(4);
        assert!(!task.is_seen() && !task.waits());
        assert_eq!(task.last_line(), None);
        task.row_started(Instant::now());
        assert!(task.is_seen() && task.waits());
        task.row_ended(Outcome::Done, Instant::now());
        assert!(task.is_seen() && !task.waits());
        let mut metrics = Task::new("b", Phase::GenMetrics);
        metrics.open(String::new(), Some(1));
        assert!(metrics.is_seen() && metrics.waits());
    }
}
