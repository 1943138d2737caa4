//! The progress of a run: bars on a terminal, a line every few seconds without one.

mod pace;
mod task;
mod waits;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use llm_client::Health;
use probity::{Observer, Phase, Progress};
use schema::ProgramName;

use self::{task::Task, waits::Waits};
use crate::terminal::Terminal;

/// How often bars are redrawn.
const DRAWN: Duration = Duration::from_millis(200);

/// How often progress is reported without a terminal.
const EVERY: Duration = Duration::from_secs(5);

/// Reading a journal of so many bytes takes a moment that somebody who waits would notice.
const LARGE: u64 = 20_000_000;

/// How often a lack of progress is reported.
const QUIET: Duration = Duration::from_secs(30);

/// Shows the progress of a run. All targets of a phase share one bar.
pub struct ProgressObserver {
    shared: Arc<Shared>,
    /// Dropped at the end, which stops the thread that draws bars or writes lines.
    _ticking: Option<mpsc::SyncSender<()>>,
}

struct Shared {
    terminal: Terminal,
    /// The program in commands that notes name.
    program: ProgramName,
    tasks: Mutex<Tasks>,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Tasks {
    all: BTreeMap<(String, Phase), Task>,
    /// When the last line was written.
    last_line: Option<Instant>,
    /// Drawing has ended.
    ended: bool,
}

impl ProgressObserver {
    /// An observer that writes to `terminal`, with commands of `program`, and reports which models of `health` the run waits for.
    pub fn new(terminal: &Terminal, program: &ProgramName, health: Health) -> Self {
        let shared = Arc::new(Shared {
            terminal: terminal.clone(),
            program: program.clone(),
            tasks: Mutex::default(),
            waits: Mutex::new(Waits::new(health)),
        });
        let every = if terminal.draws() { DRAWN } else { EVERY };
        let ticking = (!terminal.quiet()).then(|| {
            let (sender, receiver) = mpsc::sync_channel::<()>(1);
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while receiver.recv_timeout(every) == Err(mpsc::RecvTimeoutError::Timeout) {
                    shared.tick(Instant::now());
                }
            });
            sender
        });
        Self {
            shared,
            _ticking: ticking,
        }
    }

    /// Removes the bars.
    pub fn end(&self) {
        let mut tasks = self.shared.tasks();
        tasks.ended = true;
        if self.shared.terminal.draws_now() {
            tasks.all.values().for_each(Task::clear);
        }
        self.shared.waits().clear();
    }
}

impl Observer for ProgressObserver {
    fn on(&self, progress: &Progress<'_>) {
        let now = Instant::now();
        let shared = &self.shared;
        match progress {
            Progress::Started {
                phase,
                benchmark,
                target,
                rows,
            } => shared.start(*phase, benchmark, name(target.as_ref()), *rows),
            Progress::Rows {
                phase,
                benchmark,
                target,
                rows,
            } => shared.with(*phase, benchmark, |task| {
                task.set_rows(name(target.as_ref()), *rows);
            }),
            Progress::RowStarted {
                phase, benchmark, ..
            } => shared.with(*phase, benchmark, |task| task.row_started(now)),
            Progress::Row {
                phase,
                benchmark,
                outcome,
                ..
            } => shared.with(*phase, benchmark, |task| task.row_ended(*outcome, now)),
            Progress::Finished {
                phase, benchmark, ..
            } => shared.finish(*phase, benchmark),
            Progress::FirstFailure {
                phase,
                benchmark,
                target,
                reason,
            } => shared.terminal.note(&format!(
                "{benchmark}: {}, {}: the first failed row: {reason}",
                phase.command(),
                name(target.as_ref())
            )),
            Progress::ReadingJournal { path, bytes } => {
                let line = reading_journal(path, *bytes);
                line.into_iter()
                    .for_each(|line| shared.terminal.line(&line));
            }
            Progress::Note { benchmark, text } => {
                let text = text.text(&shared.program);
                shared.terminal.note(&format!("{benchmark}: {text}"));
            }
            _ => {}
        }
    }
}

/// The line about the journal at `path` while it is read, if that takes a moment.
fn reading_journal(path: &Path, bytes: u64) -> Option<String> {
    (bytes >= LARGE).then(|| {
        let megabytes = bytes / 1_000_000;
        format!("checking the journal ({megabytes} MB): {}", path.display())
    })
}

fn name(target: Option<&&schema::ModelId>) -> String {
    target.map(ToString::to_string).unwrap_or_default()
}

impl Tasks {
    /// The active phases, each with the time left of its source at `now`.
    fn open(&mut self, now: Instant) -> impl Iterator<Item = &mut Task> {
        let mut simulated = None;
        for ((benchmark, phase), task) in &mut self.all {
            match phase {
                Phase::Simulate => simulated = Some((benchmark.as_str(), task.time_left(now))),
                Phase::Evaluate => {
                    let before = simulated.filter(|(name, _)| name == benchmark);
                    task.set_earlier(before.and_then(|(_, source)| source));
                }
                _ => {}
            }
        }
        self.all.values_mut().filter(|task| task.is_open())
    }
}

impl Shared {
    fn start(&self, phase: Phase, benchmark: &str, target: String, rows: Option<u64>) {
        let mut tasks = self.tasks();
        tasks.last_line.get_or_insert_with(Instant::now);
        let task = tasks
            .all
            .entry((benchmark.to_owned(), phase))
            .or_insert_with(|| Task::new(benchmark, phase));
        task.open(target, rows);
        self.draw(task);
    }

    fn finish(&self, phase: Phase, benchmark: &str) {
        let mut tasks = self.tasks();
        let Some(task) = tasks.all.get_mut(&(benchmark.to_owned(), phase)) else {
            return;
        };
        if !task.close() {
            return;
        }
        self.draw(task);
        let line = task.last_line();
        drop(tasks);
        if let Some(line) = line.filter(|_| !self.terminal.draws()) {
            self.terminal.line(&line);
        }
    }

    /// Shows the changes at `now`.
    fn tick(&self, now: Instant) {
        if self.terminal.draws() {
            let mut tasks = self.tasks();
            if !tasks.ended && self.terminal.draws_now() {
                tasks.open(now).for_each(|task| self.draw(task));
                self.waits().draw(self.terminal.bars());
            }
            return;
        }
        let waits = self.waits().news(now, QUIET);
        for line in self.news(now).into_iter().chain(waits) {
            self.terminal.line(&line);
        }
    }

    /// One line for each phase with progress since its last line. After a period without any progress, one line for all
    /// phases that wait for replies.
    fn news(&self, now: Instant) -> Vec<String> {
        let mut tasks = self.tasks();
        let (mut lines, mut waiting) = (Vec::new(), Vec::new());
        for task in tasks.open(now) {
            if task.has_news() {
                lines.push(task.line(now));
            } else if task.waits() {
                waiting.push(task.short_line());
            }
        }
        let quiet = tasks
            .last_line
            .map(|last_line| now.duration_since(last_line));
        if lines.is_empty() && !waiting.is_empty() && quiet.is_some_and(|quiet| quiet >= QUIET) {
            lines.push(format!("waiting for replies: {}", waiting.join("; ")));
        }
        if !lines.is_empty() {
            tasks.last_line = Some(now);
        }
        lines
    }

    fn draw(&self, task: &mut Task) {
        if self.terminal.draws_now() {
            task.draw(
                self.terminal.bars(),
                self.terminal.columns(),
                Instant::now(),
            );
        }
    }

    fn with(&self, phase: Phase, benchmark: &str, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks().all.get_mut(&(benchmark.to_owned(), phase)) {
            change(task);
        }
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use probity::Outcome;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn only_a_large_journal_is_worth_a_line() {
        let line = |bytes| reading_journal(Path::new("runs/j.jsonl"), bytes);
        assert_eq!(line(19_999_999), None);
        let said = line(84_300_000).unwrap();
        assert_eq!(said, "checking the journal (84 MB): runs/j.jsonl");
    }

    #[test]
    fn what_has_not_changed_is_reported_in_one_line_and_seldom() {
        let cli = Cli::parse_from(["xtask", "--quiet", "plan"]);
        let watch = ProgressObserver::new(
            &Terminal::new(&cli.global),
            &ProgramName::default(),
            Health::new(),
        );
        let shared = &watch.shared;
        shared.start(Phase::Simulate, "b", "t".to_owned(), Some(4));
        shared.start(Phase::Evaluate, "b", "t".to_owned(), Some(4));
        let start = shared.tasks().last_line.unwrap();
        let after = |seconds| shared.news(start + Duration::from_secs(seconds));
        let begin = || {
            shared.with(Phase::Simulate, "b", |task| task.row_started(start));
        };
        assert_eq!(after(5), Vec::<String>::new());
        begin();
        begin();
        shared.with(Phase::Simulate, "b", |task| {
            task.row_ended(Outcome::Failed, start + Duration::from_secs(7));
        });
        assert_eq!(after(10), ["b: simulate 1/4, 1 failed"]);
        assert_eq!(after(15), Vec::<String>::new());
        assert_eq!(after(35), Vec::<String>::new());
        // No conversation has reached the judge: evaluate is not waiting for replies.
        let waiting = "waiting for replies: b: simulate 1/4";
        assert_eq!(after(40), [waiting]);
        assert_eq!(after(45), Vec::<String>::new());
        assert_eq!(after(70), [waiting]);
    }
}
