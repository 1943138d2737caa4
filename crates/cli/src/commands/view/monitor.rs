//! The state of the run of the benchmark, as the page shows it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use jiff::Timestamp;
use report::html::{monitor_html, monitor_title};
use schema::ProgramName;
use serde_json::json;
use store::{
    Layout, RunError,
    run_status::{RunWatch, latest_run},
};

/// How long an answer is good for, however many pages ask.
const FRESH: Duration = Duration::from_millis(900);

/// Follows the newest run of a benchmark. Of its journal, only what is appended is read.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The id of the run that is followed.
    run: String,
    watch: Option<RunWatch>,
    answer: Option<(Instant, Bytes)>,
}

impl Monitor {
    /// The page's content. Reads files, so it belongs into a thread of its own.
    ///
    /// # Errors
    /// When no run of the benchmark is recorded, or its files cannot be read.
    pub(super) fn answer(
        &self,
        layout: &Layout,
        benchmark: &str,
        program: &ProgramName,
    ) -> Result<Bytes, RunError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, answer)) = &state.answer
            && at.elapsed() < FRESH
        {
            return Ok(answer.clone());
        }
        let Some(run) = latest_run(layout, Some(benchmark)) else {
            return Err(RunError::input("no run of this benchmark is recorded"));
        };
        if state.run != run {
            state.watch = None;
            state.run.clone_from(&run);
        }
        let watch = state
            .watch
            .get_or_insert_with(|| RunWatch::new(layout, &run));
        let status = watch.status(Timestamp::now())?;
        let page = json!({
            "html": monitor_html(&status, program),
            "done": monitor_title(&status),
        });
        let answer = Bytes::from(page.to_string());
        state.answer = Some((Instant::now(), answer.clone()));
        Ok(answer)
    }
}
