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

/// Shows the progress of a run. All targets of a phase share one bar.
pub struct Watch {
    shared: Arc<Shared>,
    /// Dropped at the end, which ends the thread that tells lines.
    _ticking: Option<mpsc::SyncSender<()>>,
}

struct Shared {
    terminal: Terminal,
    tasks: Mutex<BTreeMap<(String, Phase), Task>>,
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
        });
        let ticking = (!terminal.draws() && !terminal.quiet()).then(|| {
            let (sender, receiver) = mpsc::sync_channel::<()>(1);
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while receiver.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    shared.tell();
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
            task.line(benchmark, phase)
        };
        if !self.terminal.draws() {
            self.terminal.line(&format!("{line}, done"));
        }
    }

    /// One line for each phase in which something happened.
    fn tell(&self) {
        let lines: Vec<String> = self
            .tasks()
            .iter_mut()
            .filter(|(_, task)| task.open > 0)
            .map(|((benchmark, phase), task)| {
                let quiet = task.told == task.ended;
                task.told = task.ended;
                let line = task.line(benchmark, *phase);
                if quiet {
                    format!("{line}, waiting for replies")
                } else {
                    line
                }
            })
            .collect();
        for line in lines {
            self.terminal.line(&line);
        }
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

    fn line(&self, benchmark: &str, phase: Phase) -> String {
        let of = self
            .total()
            .map(|total| format!("/{total}"))
            .unwrap_or_default();
        let mut line = format!("{benchmark}: {}", phase.command());
        // What is not counted in rows, such as aggregate, is only begun and done.
        if self.ended > 0 || !of.is_empty() {
            line.push_str(&format!(" {}{of}", self.ended));
        }
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
