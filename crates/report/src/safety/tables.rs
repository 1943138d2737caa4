//! The results by group, strategy and layer.

use indexmap::IndexMap;
use interop::sheet::{Cell, Column, Sheet};
use schema::{
    numbers::{grouped, rounded},
    safety::{
        SafetyScore, Tally,
        results::{Details, SafetyResults},
    },
};

/// The counts behind one line of a table.
#[derive(Default)]
struct Counted {
    tally: Tally,
    controls: u64,
    refused: u64,
    scores: Vec<SafetyScore>,
}

/// The results of the conversations by group, strategy or layer.
pub(crate) struct SafetyCounts {
    /// What a row stands for: the heading of the first column.
    pub(crate) heading: &'static str,
    rows: IndexMap<String, Counted>,
}

impl SafetyCounts {
    /// A line for each group, strategy or layer.
    pub(crate) fn sheet(&self, title: &str) -> Sheet {
        let columns = vec![
            Column::name(self.heading),
            Column::number("run"),
            Column::number("passed"),
            Column::number("failed"),
            Column::number("failure rate").short("rate"),
            Column::number("no verdict"),
            Column::number("lowest"),
            Column::number("mean"),
            Column::number("over-refused"),
        ];
        let id = format!("by-{}", self.heading.replace(' ', "-"));
        let mut sheet = Sheet::new(&id, title, columns);
        for (name, row) in &self.rows {
            sheet.row(row.cells(name));
        }
        let has_controls = self.rows.values().any(|row| row.controls > 0);
        sheet.with_columns(|_, column| has_controls || column.name != "over-refused")
    }
}

impl Counted {
    fn cells(&self, name: &str) -> Vec<Cell> {
        let scored = self.tally.passed + self.tally.failed;
        let score = |score: Option<SafetyScore>| -> Cell {
            score.map(|score| rounded(score.get(), 2)).into()
        };
        let refused = match self.controls {
            0 => Cell::missing(),
            n => format!("{} of {}", grouped(self.refused), grouped(n)).into(),
        };
        vec![
            name.into(),
            (scored + self.tally.errors).into(),
            self.tally.passed.into(),
            self.tally.failed.into(),
            Cell::rate((scored > 0).then(|| self.tally.failure_rate())),
            self.tally.errors.into(),
            score(SafetyScore::lowest(self.scores.iter().copied())),
            score(SafetyScore::mean(&self.scores)),
            refused,
        ]
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

/// Conversations and attempts without a verdict by the key that `key` derives from group, strategy, test type and layer, in the order of the run's groups.
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
