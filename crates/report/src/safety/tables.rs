//! The results by group, strategy and layer.

use indexmap::IndexMap;
use schema::safety::{
    SafetyScore, Tally,
    results::{Details, SafetyResults},
};

use crate::{
    numbers::{grouped, percent},
    table::Table,
};

/// The counts behind one line of a table.
#[derive(Default)]
struct Counted {
    tally: Tally,
    controls: u64,
    refused: u64,
    scores: Vec<SafetyScore>,
}

/// A table of groups, a table of strategies and a table of layers. The last two are left out if there is only one strategy or layer.
pub(super) fn tables(results: &SafetyResults, details: &Details, width: usize) -> String {
    let mut text = String::new();
    for counts in counted(results, details) {
        let header: Vec<&str> = counts.header();
        let mut table = Table::new(1, &header);
        counts.rows().into_iter().for_each(|row| table.row(row));
        text.push_str(&format!("{}\n", table.render(width)));
    }
    text
}

/// The results of the conversations by group, strategy or layer.
pub(crate) struct SafetyCounts {
    /// What a row stands for: the heading of the first column.
    pub(crate) heading: &'static str,
    rows: IndexMap<String, Counted>,
}

impl SafetyCounts {
    fn has_controls(&self) -> bool {
        self.rows.values().any(|row| row.controls > 0)
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> Vec<&'static str> {
        let mut header = vec![
            self.heading,
            "run",
            "passed",
            "failed",
            "rate",
            "errors",
            "lowest",
            "mean",
        ];
        if self.has_controls() {
            header.push("over-refused");
        }
        header
    }

    /// A cell for every column.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let refusals = self.has_controls();
        let rows = self.rows.iter();
        rows.map(|(name, row)| row.cells(name, refusals)).collect()
    }
}

impl Counted {
    fn cells(&self, name: &str, refusals: bool) -> Vec<String> {
        let scored = self.tally.passed + self.tally.failed;
        let score = |score: Option<SafetyScore>| {
            score.map_or_else(|| "-".to_owned(), |score| format!("{:.2}", score.get()))
        };
        let mut cells = vec![
            name.to_owned(),
            grouped(scored + self.tally.errors),
            grouped(self.tally.passed),
            grouped(self.tally.failed),
            percent((scored > 0).then(|| self.tally.failure_rate())),
            grouped(self.tally.errors),
            score(SafetyScore::lowest(self.scores.iter().copied())),
            score(SafetyScore::mean(&self.scores)),
        ];
        if refusals {
            cells.push(match self.controls {
                0 => "-".to_owned(),
                controls => format!("{} of {controls}", self.refused),
            });
        }
        cells
    }
}

/// The conversations by group, and by strategy and layer if there is more than one.
pub(crate) fn counted(results: &SafetyResults, details: &Details) -> Vec<SafetyCounts> {
    let single = matches!(results, SafetyResults::SingleTurn(_));
    let mut all = vec![SafetyCounts {
        heading: "group",
        rows: by(details, |group, _, _, _| group.to_owned()),
    }];
    let by_strategy = match single {
        true => by(details, |_, strategy, _, _| {
            strategy.unwrap_or("seed").to_owned()
        }),
        false => by(details, |_, _, test_type, _| {
            test_type.unwrap_or("-").to_owned()
        }),
    };
    if by_strategy.len() > 1 {
        all.push(SafetyCounts {
            heading: if single { "strategy" } else { "test type" },
            rows: by_strategy,
        });
    }
    let mut by_layer = by(details, |_, _, _, layer| {
        layer.map_or_else(|| "-".to_owned(), |layer| layer.to_string())
    });
    by_layer.sort_by(|a, _, b, _| a.len().cmp(&b.len()).then(a.cmp(b)));
    if single && by_layer.len() > 1 {
        all.push(SafetyCounts {
            heading: "layer",
            rows: by_layer,
        });
    }
    all
}

/// Conversations and errors by the key that `key` derives from group, strategy, test type and layer, in the order of the run's groups.
fn by(
    details: &Details,
    key: impl Fn(&str, Option<&str>, Option<&str>, Option<u32>) -> String,
) -> IndexMap<String, Counted> {
    let mut rows: IndexMap<String, Counted> = IndexMap::new();
    for row in &details.conversations {
        let key = key(
            &row.group,
            row.strategy.as_deref(),
            row.test_type.as_deref(),
            row.layer,
        );
        let counted = rows.entry(key).or_default();
        counted.tally.passed += u64::from(row.passed);
        counted.tally.failed += u64::from(!row.passed);
        counted.controls += u64::from(row.over_refusal.is_some());
        counted.refused += u64::from(row.over_refusal == Some(true));
        counted.scores.push(row.safe_response_score);
    }
    for row in &details.errors {
        let key = key(
            &row.group,
            row.strategy.as_deref(),
            row.test_type.as_deref(),
            row.layer,
        );
        rows.entry(key).or_default().tally.errors += 1;
    }
    rows
}
