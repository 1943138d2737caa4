//! Reads the data of the page again when files changed.

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use probity::Journals;
use report::html::LivePage;
use schema::{ModelId, ProgramName};
use store::{
    BenchmarkDir, Layout, RunError, StatisticsState, TreeLock, read_benchmark, refresh_people,
};
use tokio::{sync::Notify, task::spawn_blocking};

use super::{edition::Edition, files::FileStates, monitor::Monitor, request::Refusal};
use crate::{commands::Context, exit::Failure, terminal::Terminal};

/// The pause between two checks of the files, at least, however many pages are open. Labels that were written here are read at once.
const PAUSE: Duration = Duration::from_secs(1);
/// Reading again takes at most 1/`SHARE_OF_RUN` of the time, so that a large benchmark leaves the processor to its run.
const SHARE_OF_RUN: u32 = 5;
/// The same while no run goes on.
const SHARE: u32 = 2;
/// The number of editions kept: a page that has the index of the previous edition can still ask for its conversations.
const KEPT: usize = 2;

/// Follows a benchmark.
#[derive(Debug)]
pub(super) struct Follower {
    layout: Layout,
    /// The program in commands that pages and messages name.
    program: ProgramName,
    dir: BenchmarkDir,
    options: LivePage,
    terminal: Terminal,
    /// The folder for copies of the rows that a run has finished.
    temporary: PathBuf,
    journals: Journals,
    monitor: Monitor,
    state: Mutex<State>,
    looked: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The editions kept, the newest last.
    editions: VecDeque<Arc<Edition>>,
    /// The states of the files that the newest edition was read from.
    files: FileStates,
    /// When the files were last checked, and how long that took.
    looked: Option<(Instant, Duration)>,
    /// Whether a check of the files is under way.
    looking: bool,
    /// Why the files could not be read the last time.
    error: Option<String>,
    /// Targets whose labels were changed here, and whose statistics do not have the change yet.
    labelled: BTreeSet<ModelId>,
    /// Targets whose labels were changed here at any time.
    ever_labelled: BTreeSet<ModelId>,
    /// How many labels were changed here, and how many of these changes the newest edition shows.
    labels: u64,
    labels_shown: u64,
}

impl State {
    /// Whether labels were changed that the newest edition does not show.
    fn lacks_labels(&self) -> bool {
        self.labels > self.labels_shown
    }

    /// Whether the last check of the files was only a moment ago.
    fn is_early(&self) -> bool {
        let Some((at, took)) = self.looked else {
            return false;
        };
        let pause = match self.files.running {
            true => PAUSE.max(took * (SHARE_OF_RUN - 1)),
            false if self.lacks_labels() => took * (SHARE - 1),
            false => PAUSE.max(took * (SHARE - 1)),
        };
        at.elapsed() < pause
    }
}

/// The state at one moment.
#[derive(Clone, Debug)]
pub(super) struct Now {
    /// The newest edition.
    pub(super) edition: Arc<Edition>,
    /// Whether a run goes on.
    pub(super) running: bool,
    /// Why there is no newer edition, although files changed.
    pub(super) error: Option<String>,
    /// Whether labels were changed here that this edition does not show and the next one will.
    pub(super) pending: bool,
}

impl Follower {
    /// Follows the benchmark `name`. Copies of finished rows of a run are made in the folder `temporary`.
    ///
    /// # Errors
    /// When `name` is not a valid name.
    pub(super) fn new(
        context: &Context,
        name: &str,
        options: LivePage,
        temporary: PathBuf,
    ) -> Result<Self, Failure> {
        Ok(Self {
            layout: context.layout.clone(),
            program: context.program.clone(),
            dir: context.layout.benchmark(name)?,
            options,
            terminal: context.terminal.clone(),
            temporary,
            journals: Journals::default(),
            monitor: Monitor::default(),
            state: Mutex::default(),
            looked: Notify::new(),
        })
    }

    /// The benchmark.
    pub(super) fn dir(&self) -> &BenchmarkDir {
        &self.dir
    }

    /// The current state. Waits for the first edition only: while a later one is read, returns the previous one.
    ///
    /// # Errors
    /// When the files could not be read yet.
    pub(super) async fn now(self: &Arc<Self>) -> Result<Now, Refusal> {
        loop {
            let looked = self.looked.notified();
            self.look();
            {
                let state = self.lock();
                if let Some(edition) = state.editions.back() {
                    return Ok(Now {
                        edition: Arc::clone(edition),
                        running: state.files.running,
                        error: state.error.clone(),
                        pending: state.lacks_labels() && !state.files.running,
                    });
                }
                if let (Some(error), false) = (&state.error, state.looking) {
                    return Err(Refusal::Unavailable(error.clone()));
                }
            }
            looked.await;
        }
    }

    /// The state of the newest run.
    ///
    /// # Errors
    /// When no run is recorded yet, or its files cannot be read.
    pub(super) async fn monitor(self: &Arc<Self>) -> Result<Bytes, Refusal> {
        let follower = Arc::clone(self);
        let read = spawn_blocking(move || {
            let (layout, name) = (&follower.layout, follower.dir.name());
            let answer = follower.monitor.answer(layout, name, &follower.program);
            answer.map_err(|error| Refusal::Unavailable(error.notice().text(&follower.program)))
        });
        read.await
            .map_err(|error| Refusal::Failed(error.to_string()))?
    }

    /// The edition of a version, or the newest one.
    ///
    /// # Errors
    /// When the edition is no longer kept, and like [`now`](Self::now).
    pub(super) async fn edition(
        self: &Arc<Self>,
        version: Option<u64>,
    ) -> Result<Arc<Edition>, Refusal> {
        let Some(version) = version else {
            return Ok(self.now().await?.edition);
        };
        let state = self.lock();
        let kept = state
            .editions
            .iter()
            .find(|edition| edition.version() == version);
        kept.cloned().ok_or(Refusal::Gone)
    }

    /// Checks the files, unless that was done a moment ago, and reads them if they changed, in a thread of its own.
    fn look(self: &Arc<Self>) {
        {
            let mut state = self.lock();
            if state.looking || state.is_early() {
                return;
            }
            state.looking = true;
        }
        let follower = Arc::clone(self);
        // The task ends by itself; it is aborted only when the viewer ends.
        drop(spawn_blocking(move || {
            follower.read();
            follower.looked.notify_waiters();
        }));
    }

    /// Notes that labels of `target` were written, and reads them.
    pub(super) fn labelled(self: &Arc<Self>, target: &ModelId) {
        {
            let mut state = self.lock();
            state.labelled.insert(target.clone());
            state.ever_labelled.insert(target.clone());
            state.labels += 1;
        }
        self.look();
    }

    /// Brings `statistics.json` up to date with the last labels. Returns whether labels were written here and the file has all of them.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(super) fn finish(&self) -> Result<bool, RunError> {
        let labelled = std::mem::take(&mut self.lock().ever_labelled);
        if labelled.is_empty() {
            return Ok(false);
        }
        let benchmark = read_benchmark(&self.dir)?;
        let mut is_current = true;
        for target in &labelled {
            let refreshed = refresh_people(&self.dir, &benchmark, target)?;
            is_current &= refreshed.state == StatisticsState::Current;
        }
        Ok(is_current)
    }

    /// Brings `statistics.json` up to date with the labels that were written here. A run in progress writes them itself when it ends.
    fn refresh(&self) -> Result<(), RunError> {
        if TreeLock::is_held(&self.dir) {
            return Ok(());
        }
        let labelled = std::mem::take(&mut self.lock().labelled);
        if labelled.is_empty() {
            return Ok(());
        }
        let done = read_benchmark(&self.dir).and_then(|benchmark| {
            labelled
                .iter()
                .try_for_each(|target| refresh_people(&self.dir, &benchmark, target).map(|_| ()))
        });
        if done.is_err() {
            self.lock().labelled.extend(labelled);
        }
        done
    }

    fn read(&self) {
        let started = Instant::now();
        let labels = self.lock().labels;
        if let Err(error) = self.refresh() {
            // Files that cannot be read are reported below; the labels themselves are written.
            tracing::warn!(%error, "statistics.json does not have the labels");
        }
        let files = FileStates::of(&self.layout, &self.dir);
        let version = {
            let mut state = self.lock();
            let newest = state.editions.back().map(|edition| edition.version());
            if newest.is_some() && state.error.is_none() && state.files == files {
                state.looking = false;
                state.labels_shown = labels;
                state.looked = Some((Instant::now(), started.elapsed()));
                return;
            }
            newest.unwrap_or_default() + 1
        };
        let read = Edition::read(
            &self.layout,
            &self.program,
            self.dir.name(),
            &self.temporary,
            version,
            &LivePage {
                running: files.running,
                ..self.options.clone()
            },
            &self.journals,
        );
        self.journals.forget_unused();
        let mut state = self.lock();
        match read {
            Ok(edition) => {
                state.error = None;
                state.editions.push_back(Arc::new(edition));
                if state.editions.len() > KEPT {
                    state.editions.pop_front();
                }
            }
            Err(error) => {
                let text = error.notice().text(&self.program);
                if state.error.as_ref() != Some(&text) {
                    self.terminal.warning(&text);
                }
                state.error = Some(text);
            }
        }
        state.files = files;
        state.looking = false;
        state.labels_shown = labels;
        state.looked = Some((Instant::now(), started.elapsed()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
