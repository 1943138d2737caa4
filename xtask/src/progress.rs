//! Progress of a run: bars on a terminal, a line every few seconds without one.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use pipeline::{Observer, Outcome, Phase, Progress};

use crate::terminal::Terminal;

/// How often progress is told where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);

/// How often it is told that nothing happens.
const QUIET: Duration = Duration::from_secs(30);

/// Shows the progress of a run. All targets of a phase share one bar.
pub struct Watch {
    shared: Arc<Shared>,
    /// Dropped at the end, which ends the thread that tells lines.
    _ticking: Option<mpsc::SyncSender<()>>,
}

struct Shared {
    terminal: Terminal,
    tasks: Mutex<BTreeMap<(String, Phase), Task>>,
    /// When a line was told last.
    told: Mutex<Instant>,
}

/// One phase of one benchmark.
struct Task {
    bar: ProgressBar,
    began: Instant,
    /// How many rows each target has, where it is known; one entry without a name for phases without targets.
    rows: BTreeMap<String, Option<u64>>,
    open: usize,
    ended: u64,
    failed: u64,
    abstained: u64,
    skipped: u64,
    told: u64,
}

impl Watch {
    /// A watch that writes to `terminal`.
    pub fn new(terminal: &Terminal) -> Self {
        let shared = Arc::new(Shared {
            terminal: terminal.clone(),
            tasks: Mutex::default(),
            told: Mutex::new(Instant::now()),
        });
        let ticking = (!terminal.draws() && !terminal.quiet()).then(|| {
            let (sender, receiver) = mpsc::sync_channel::<()>(1);
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while receiver.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    shared.tell(Instant::now());
                }
            });
            sender
        });
        Self {
            shared,
            _ticking: ticking,
        }
    }

    /// Takes the bars away.
    pub fn end(&self) {
        for task in self.shared.tasks().values() {
            task.bar.finish_and_clear();
        }
    }
}

impl Observer for Watch {
    fn on(&self, progress: &Progress<'_>) {
        match progress {
            Progress::Started {
                phase,
                benchmark,
                target,
                rows,
            } => {
                self.shared
                    .start(*phase, benchmark, name(target.as_ref()), *rows);
            }
            Progress::Rows {
                phase,
                benchmark,
                target,
                rows,
            } => {
                self.shared.with(*phase, benchmark, |task| {
                    task.rows.insert(name(target.as_ref()), Some(*rows));
                    task.draw();
                });
            }
            Progress::Row {
                phase,
                benchmark,
                outcome,
                ..
            } => {
                self.shared
                    .with(*phase, benchmark, |task| task.row(*outcome));
            }
            Progress::Finished {
                phase, benchmark, ..
            } => self.shared.finish(*phase, benchmark),
            Progress::Note { benchmark, text } => {
                self.shared.terminal.note(&format!("{benchmark}: {text}"))
            }
            _ => {}
        }
    }
}

fn name(target: Option<&&schema::ModelId>) -> String {
    target.map(ToString::to_string).unwrap_or_default()
}

impl Shared {
    fn start(&self, phase: Phase, benchmark: &str, target: String, rows: Option<u64>) {
        let mut tasks = self.tasks();
        let task = tasks
            .entry((benchmark.to_owned(), phase))
            .or_insert_with(|| {
                let bar = ProgressBar::no_length()
                    .with_style(style(false))
                    .with_prefix(format!("{} {benchmark}", phase.command()));
                let bar = self.terminal.bars().add(bar);
                if self.terminal.draws() {
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
                Task {
                    bar,
                    began: Instant::now(),
                    rows: BTreeMap::new(),
                    open: 0,
                    ended: 0,
                    failed: 0,
                    abstained: 0,
                    skipped: 0,
                    told: 0,
                }
            });
        task.rows.insert(target, rows);
        task.open += 1;
        task.draw();
    }

    fn finish(&self, phase: Phase, benchmark: &str) {
        let line = {
            let mut tasks = self.tasks();
            let Some(task) = tasks.get_mut(&(benchmark.to_owned(), phase)) else {
                return;
            };
            task.open = task.open.saturating_sub(1);
            if task.open > 0 {
                return;
            }
            task.bar.set_length(task.ended);
            task.bar.finish();
            task.told = task.ended;
            let end = if task.is_whole() { "done" } else { "stopped" };
            format!("{}, {end}", task.line(benchmark, phase))
        };
        if !self.terminal.draws() {
            self.terminal.line(&line);
        }
    }

    /// Tells what is new at `now`.
    fn tell(&self, now: Instant) {
        for line in self.news(now) {
            self.terminal.line(&line);
        }
    }

    /// One line for each phase in which something happened since its last one. Where nothing has happened at all for a while,
    /// one line for all of them.
    fn news(&self, now: Instant) -> Vec<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tasks = self.tasks();
        let (mut lines, mut waiting) = (Vec::new(), Vec::new());
        for ((benchmark, phase), task) in tasks.iter_mut().filter(|(_, task)| task.open > 0) {
            if task.told == task.ended {
                waiting.push(task.count(benchmark, *phase));
            } else {
                task.told = task.ended;
                lines.push(task.line(benchmark, *phase));
            }
        }
        if lines.is_empty() && !waiting.is_empty() && now.duration_since(*told) >= QUIET {
            lines.push(format!("waiting for replies: {}", waiting.join("; ")));
        }
        if !lines.is_empty() {
            *told = now;
        }
        lines
    }

    fn with(&self, phase: Phase, benchmark: &str, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks().get_mut(&(benchmark.to_owned(), phase)) {
            change(task);
        }
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<(String, Phase), Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn row(&mut self, outcome: Outcome) {
        self.ended += 1;
        match outcome {
            Outcome::Done => {}
            Outcome::Failed => self.failed += 1,
            Outcome::Abstained => self.abstained += 1,
            Outcome::Skipped => self.skipped += 1,
        }
        self.bar.set_position(self.ended);
        if outcome != Outcome::Done {
            self.bar.set_message(self.troubles());
        }
    }

    /// The number of rows, once every target has told its own.
    fn total(&self) -> Option<u64> {
        self.rows.values().copied().sum()
    }

    /// Whether every row came to an end. A run that stops leaves out what was not begun, without a word.
    fn is_whole(&self) -> bool {
        self.skipped == 0 && self.total().is_none_or(|total| self.ended >= total)
    }

    fn draw(&self) {
        if let Some(total) = self.total() {
            self.bar.set_style(style(true));
            self.bar.set_length(total);
        }
    }

    fn troubles(&self) -> String {
        let counts = [
            (self.failed, "failed"),
            (self.abstained, "without a verdict"),
            (self.skipped, "skipped"),
        ];
        let told = counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"));
        told.collect::<Vec<_>>().join(", ")
    }

    /// How far it is: `flattery: simulate 3/16`.
    fn count(&self, benchmark: &str, phase: Phase) -> String {
        let of = self
            .total()
            .map(|total| format!("/{total}"))
            .unwrap_or_default();
        let mut line = format!("{benchmark}: {}", phase.command());
        // What is not counted in rows, such as aggregate, is only begun and done.
        if self.ended > 0 || !of.is_empty() {
            // What was skipped was not done.
            let done = self.ended.saturating_sub(self.skipped);
            line.push_str(&format!(" {done}{of}"));
        }
        line
    }

    fn line(&self, benchmark: &str, phase: Phase) -> String {
        let mut line = self.count(benchmark, phase);
        let seconds = self.began.elapsed().as_secs_f64();
        if self.open > 0 && self.ended > 0 && seconds > 1.0 {
            #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
            let rate = self.ended as f64 / seconds;
            let _ = write!(line, ", {rate:.1}/s");
            if let Some(left) = self.total().and_then(|total| total.checked_sub(self.ended)) {
                #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
                let left = left as f64 / rate;
                let _ = write!(line, ", about {left:.0} s left");
            }
        }
        let troubles = self.troubles();
        if !troubles.is_empty() {
            let _ = write!(line, ", {troubles}");
        }
        line
    }
}

/// A bar's line. What is longest is cut, so that it fits a terminal of 80 columns with six digits of rows.
fn style(counted: bool) -> ProgressStyle {
    let template = if counted {
        "{prefix:28!} {bar:12} {pos}/{len} {rate} eta {eta} {wide_msg}"
    } else {
        "{prefix:28!} {spinner} {wide_msg}"
    };
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        // Text that cannot be written is seen by the one who draws.
        let _ = write!(text, "{:.1}/s", state.per_sec());
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", rate)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn what_has_not_changed_is_told_in_one_line_and_seldom() {
        let cli = Cli::parse_from(["xtask", "--quiet", "plan"]);
        let watch = Watch::new(&Terminal::new(&cli.global));
        let shared = &watch.shared;
        shared.start(Phase::Simulate, "b", "t".to_owned(), Some(4));
        shared.start(Phase::Evaluate, "b", "t".to_owned(), Some(4));
        let start = *shared.told.lock().unwrap();
        let after = |seconds| shared.news(start + Duration::from_secs(seconds));
        assert_eq!(after(5), Vec::<String>::new());
        shared.with(Phase::Simulate, "b", |task| task.row(Outcome::Failed));
        assert_eq!(after(10), ["b: simulate 1/4, 1 failed"]);
        assert_eq!(after(15), Vec::<String>::new());
        assert_eq!(after(35), Vec::<String>::new());
        let waiting = "waiting for replies: b: simulate 1/4; b: evaluate 0/4";
        assert_eq!(after(40), [waiting]);
        assert_eq!(after(45), Vec::<String>::new());
        assert_eq!(after(70), [waiting]);
    }
}
