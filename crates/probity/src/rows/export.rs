//! Exports of some of the rows.

use interop::{ExportError, Exported, Exporter, Run, Sample};
use schema::{numbers::grouped, statistics::CorrectedDifference};

use super::RowFilter;

/// Passes the rows that fit a filter on to an exporter of rows. What the exporter gets of a target as a whole, such as its rates, stays that
/// of all its rows: it is for formats that have no rates.
pub struct FilteredExporter<'e> {
    to: Box<dyn Exporter + 'e>,
    filter: RowFilter,
    /// Rows of this target that fit.
    of_target: u64,
    fit: u64,
    all: u64,
}

impl<'e> FilteredExporter<'e> {
    /// Passes what `filter` lets through on to `to`.
    #[must_use]
    pub fn new(to: Box<dyn Exporter + 'e>, filter: RowFilter) -> Self {
        Self {
            to,
            filter,
            of_target: 0,
            fit: 0,
            all: 0,
        }
    }
}

impl Exporter for FilteredExporter<'_> {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        self.of_target = 0;
        self.to.begin(run)
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        self.all += 1;
        let conversation = &sample.conversation;
        let scores = sample.scores.iter();
        let fitting: Vec<_> = scores
            .filter(|score| self.filter.holds(conversation, Some(score)))
            .cloned()
            .collect();
        let fits = match sample.scores.is_empty() {
            true => self.filter.holds(conversation, None),
            false => !fitting.is_empty(),
        };
        let is_beyond = self.filter.limit.is_some_and(|most| self.of_target >= most);
        if !fits || is_beyond {
            return Ok(());
        }
        (self.of_target, self.fit) = (self.of_target + 1, self.fit + 1);
        self.to.push(&Sample {
            scores: fitting,
            ..sample.clone()
        })
    }

    fn end(&mut self) -> Result<(), ExportError> {
        self.to.end()
    }

    fn corrected_differences(
        &mut self,
        folder: &str,
        differences: &[CorrectedDifference],
    ) -> Result<(), ExportError> {
        self.to.corrected_differences(folder, differences)
    }

    fn note_problems(&mut self, problems: &[&str]) {
        self.to.note_problems(problems);
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let mut exported = self.to.finish()?;
        exported.notes.push(format!(
            "some of the rows: {} of {} fit the conditions",
            grouped(self.fit),
            grouped(self.all)
        ));
        Ok(exported)
    }
}
