//! Parquet: `conversations.parquet`, `turns.parquet`, `scores.parquet` and `statistics.parquet`, with a card of the data set, `README.md`, as
//! the Hugging Face Hub shows it.
//!
//! Columns are flat and typed, and any value may be absent. What has a form of its own, such as the arguments of tools, is JSON in a text.
//! Compressed by Zstandard, in groups of 10,000 rows.
//!
//! # Limits
//! Single calls of judges and of the simulated user, and settings, are in no table: JSONL has them.

mod card;
mod columns;
mod table;

use std::path::{Path, PathBuf};

use schema::MetricType;

use self::{
    card::Card,
    columns::{ConversationRow, RateRow, ScoreRow, TurnRow},
    table::Table,
};
use crate::{
    ExportError, Exported, Exporter, Run, Sample, places,
    run::Scope,
    tally::{Count, Tally},
    target_rows::TargetRows,
};

/// Writes Parquet.
pub struct Parquet {
    out: PathBuf,
    files: Option<Files>,
    target: Option<TargetRows>,
    card: Card,
}

impl std::fmt::Debug for Parquet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parquet")
            .field("out", &self.out)
            .finish_non_exhaustive()
    }
}

struct Files {
    conversations: Table,
    turns: Table,
    scores: Table,
    statistics: Table,
}

impl Parquet {
    /// Writes into the folder `out`.
    #[must_use]
    pub fn new(out: &Path) -> Self {
        Self {
            out: out.to_owned(),
            files: None,
            target: None,
            card: Card::default(),
        }
    }

    fn open(&self) -> Result<Files, ExportError> {
        card::check_place(&self.out)?;
        let path = |name: &str| self.out.join(name);
        Ok(Files {
            conversations: Table::new(
                path("conversations.parquet"),
                "conversations",
                &columns::conversations(),
            )?,
            turns: Table::new(path("turns.parquet"), "turns", &columns::turns())?,
            scores: Table::new(path("scores.parquet"), "scores", &columns::scores())?,
            statistics: Table::new(path("statistics.parquet"), "statistics", &columns::rates())?,
        })
    }
}

impl Exporter for Parquet {
    fn begin(&mut self, run: &Run) -> Result<(), ExportError> {
        if self.files.is_none() {
            self.files = Some(self.open()?);
        }
        self.target = Some(TargetRows::of(run));
        Ok(())
    }

    fn push(&mut self, sample: &Sample) -> Result<(), ExportError> {
        let (Some(files), Some(TargetRows { run, tally, people })) =
            (&mut self.files, &mut self.target)
        else {
            return Err(ExportError::nothing("a sample was given before its target"));
        };
        tally.add(sample);
        let row = ConversationRow { run, sample };
        files.conversations.push(&columns::conversations(), &row)?;
        push_turns(&mut files.turns, run, sample)?;
        let columns = columns::scores();
        for score in &sample.scores {
            let (labels, people_passed) = people.of_row(score);
            let row = ScoreRow {
                run,
                sample,
                score,
                people: labels,
                people_passed,
            };
            files.scores.push(&columns, &row)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ExportError> {
        let (Some(files), Some(TargetRows { run, tally, .. })) =
            (&mut self.files, self.target.take())
        else {
            return Ok(());
        };
        push_rates(&mut files.statistics, &run, &tally)?;
        self.card.add(&run, &tally);
        Ok(())
    }

    fn note_problems(&mut self, problems: &[&str]) {
        self.card.note_problems(problems);
    }

    fn finish(self: Box<Self>) -> Result<Exported, ExportError> {
        let mut exported = Exported::default();
        let Some(files) = self.files else {
            return Ok(exported);
        };
        let tables = [
            files.conversations,
            files.turns,
            files.scores,
            files.statistics,
        ];
        let rows = tables.each_ref().map(Table::rows);
        let card = self.card.write(&self.out, rows)?;
        for table in tables {
            exported.files.push(table.keep()?);
        }
        exported.files.push(card.keep()?);
        Ok(exported)
    }
}

fn push_turns(table: &mut Table, run: &Run, sample: &Sample) -> Result<(), ExportError> {
    let conversation = &sample.conversation;
    let columns = columns::turns();
    for (message, (place, of)) in (1..).zip(places(&conversation.transcript)) {
        let row = TurnRow {
            run,
            conversation,
            message,
            turn: place.turn,
            of,
            call: sample.reply_call(of, place),
        };
        table.push(&columns, &row)?;
    }
    Ok(())
}

fn push_rates(table: &mut Table, run: &Run, tally: &Tally) -> Result<(), ExportError> {
    for (id, metric) in tally.metrics(run) {
        let row = RateRow {
            run,
            scope: "metric",
            metric_id: Some(id),
            metric_name: Some(&metric.name),
            metric_type: metric.metric_type.as_str(),
            count: &metric.count,
            rate: metric.count.statistics(run, Scope::Metric(id)),
        };
        table.push(&columns::rates(), &row)?;
    }
    for metric_type in [MetricType::Positive, MetricType::Negative] {
        let count = tally.of_type(metric_type);
        if count == Count::default() {
            continue;
        }
        let row = RateRow {
            run,
            scope: "all",
            metric_id: None,
            metric_name: None,
            metric_type: metric_type.as_str(),
            count: &count,
            rate: count.statistics(run, Scope::Type(metric_type)),
        };
        table.push(&columns::rates(), &row)?;
    }
    Ok(())
}
