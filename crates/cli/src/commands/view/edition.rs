//! The data of the page at one moment.

use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use probity::{Journals, ReportRequest};
use report::html::{Index, LivePage, Report, RowsKept};
use schema::{ModelId, ProgramName};
use serde::Deserialize;
use serde_json::json;
use store::{Layout, RunError, Snapshot, scored_targets, simulated_targets};

use super::request::Refusal;

const GOES_ON: &str = "a run goes on: rows are those finished so far";

/// The content of a page, from files that were read once. Conversations are in a temporary file.
#[derive(Debug)]
pub(super) struct Edition {
    version: u64,
    targets: Vec<ModelId>,
    page: Bytes,
    index: Bytes,
    fragments: Bytes,
    report: Mutex<Report>,
}

impl Edition {
    /// Reads the benchmark `name`: the finished rows of its run, if one works on it, otherwise the files of the tree. Of `journals`, only
    /// appended data is read.
    ///
    /// # Errors
    /// When a file cannot be read, or the folder `temporary` cannot be written.
    pub(super) fn read(
        layout: &Layout,
        program: &ProgramName,
        name: &str,
        temporary: &Path,
        version: u64,
        options: &LivePage,
        journals: &Journals,
    ) -> Result<Self, RunError> {
        let snapshot = Snapshot::take(layout, name, temporary)?;
        let layout = snapshot.as_ref().map_or(layout, Snapshot::layout);
        let dir = layout.benchmark(name)?;
        let is_empty = simulated_targets(&dir)?.is_empty() && scored_targets(&dir)?.is_empty();
        let report = match is_empty {
            true => probity::empty_report(layout, name, program)?,
            false => {
                let request = ReportRequest {
                    names: vec![name.to_owned()],
                    rows: RowsKept::All,
                    notes: snapshot.iter().map(|_| GOES_ON.into()).collect(),
                    journals: journals.clone(),
                    program: program.clone(),
                    judging: snapshot.as_ref().map(|run| run.judging().to_vec()),
                    ..ReportRequest::default()
                };
                probity::read_report(layout, &request)?.0
            }
        };
        Self::new(version, report, options)
            .map_err(|error| RunError::output(error.to_string()).with_source(error))
    }

    fn new(version: u64, report: Report, options: &LivePage) -> io::Result<Self> {
        let [overview, cost] = report.sections();
        let fragments = json!({"overview": overview, "cost": cost});
        let runs = report.index().runs.iter();
        let options = LivePage {
            version: Some(version),
            ..options.clone()
        };
        Ok(Self {
            version,
            targets: runs
                .filter_map(|run| ModelId::new(&*run.target).ok())
                .collect(),
            page: report.live_page(&options).into(),
            index: serde_json::to_vec(report.index())?.into(),
            fragments: fragments.to_string().into(),
            report: Mutex::new(report),
        })
    }

    /// The number of this edition among those of one viewer.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The page without data.
    pub(super) fn page(&self) -> Bytes {
        self.page.clone()
    }

    /// The index.
    pub(super) fn index(&self) -> Bytes {
        self.index.clone()
    }

    /// The contents of `overview` and `cost`.
    pub(super) fn fragments(&self) -> Bytes {
        self.fragments.clone()
    }

    /// A chunk of conversations, by its number.
    ///
    /// # Errors
    /// When there is no such chunk, or the temporary file cannot be read.
    pub(super) fn chunk(&self, number: usize) -> Result<Vec<u8>, Refusal> {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = report
            .chunk(number)
            .map_err(|error| Refusal::Failed(format!("temporary files: {error}")))?;
        chunk.ok_or(Refusal::NotFound)
    }

    /// The target of the run with this id.
    pub(super) fn target(&self, run: &str) -> Option<&ModelId> {
        // The page shows one benchmark, whose runs are named after their targets.
        self.targets.iter().find(|target| target.as_str() == run)
    }

    /// The digest of the transcript of a row.
    ///
    /// # Errors
    /// When there is no such row.
    pub(super) fn transcript(
        &self,
        target: &ModelId,
        conversation: &str,
        metric: &str,
    ) -> Result<String, Refusal> {
        #[derive(Deserialize)]
        struct Read {
            transcript: String,
        }
        let place = {
            let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
            place(report.index(), target, conversation, metric)
        };
        let Some((chunk, at)) = place else {
            return Err(Refusal::Bad(format!(
                "{target} has no row of {conversation:?} on {metric:?}"
            )));
        };
        let rows: Vec<Read> = serde_json::from_slice(&self.chunk(chunk)?)
            .map_err(|error| Refusal::Failed(error.to_string()))?;
        let row = rows.into_iter().nth(at).ok_or(Refusal::Gone)?;
        Ok(row.transcript)
    }
}

/// The location of a row's conversation: its chunk, and its position in the chunk.
fn place(
    index: &Index,
    target: &ModelId,
    conversation: &str,
    metric: &str,
) -> Option<(usize, usize)> {
    let run = |number: usize| index.runs.get(number).map(|run| &*run.target);
    let metric_of = |number: usize| index.metrics.get(number).map(|metric| &*metric.id);
    let mut rows = index.rows.iter();
    let row = rows.find(|row| {
        row.conv_id == conversation
            && metric_of(row.metric) == Some(metric)
            && run(row.run) == Some(target.as_str())
    })?;
    Some((row.chunk?, row.at?))
}
