//! How groups, strategies and layers did.

use indexmap::IndexMap;
use schema::safety::{
    SafetyScore, Tally,
    results::{Details, SafetyResults},
};

use crate::{numbers::percent, table::Table};

/// The rows of one line of a table.
#[derive(Default)]
struct Counted {
    tally: Tally,
    controls: u64,
    refused: u64,
    scores: Vec<SafetyScore>,
}

/// A table of groups, one of strategies, and one of layers; the last two only where there is more than one.
pub(super) fn tables(results: &SafetyResults, details: &Details, width: usize) -> String {
    let single = matches!(results, SafetyResults::SingleTurn(_));
    let mut text = table(
        "group",
        &by(details, |group, _, _, _| group.to_owned()),
        width,
    );
    let by_strategy = match single {
        true => by(details, |_, strategy, _, _| {
            strategy.unwrap_or("seed").to_owned()
        }),
        false => by(details, |_, _, test_type, _| {
            test_type.unwrap_or("-").to_owned()
        }),
    };
    let heading = if single { "strategy" } else { "test type" };
    if by_strategy.len() > 1 {
        text.push_str(&table(heading, &by_strategy, width));
    }
    let mut by_layer = by(details, |_, _, _, layer| {
        layer.map_or_else(|| "-".to_owned(), |layer| layer.to_string())
    });
    by_layer.sort_by(|a, _, b, _| a.len().cmp(&b.len()).then(a.cmp(b)));
    if single && by_layer.len() > 1 {
        text.push_str(&table("layer", &by_layer, width));
    }
    text
}

fn table(heading: &str, rows: &IndexMap<String, Counted>, width: usize) -> String {
    let refusals = rows.values().any(|row| row.controls > 0);
    let mut header = vec![
        heading, "run", "passed", "failed", "rate", "errors", "lowest", "mean",
    ];
    if refusals {
        header.push("over-refused");
    }
    let mut table = Table::new(1, &header);
    for (name, row) in rows {
        let scored = row.tally.passed + row.tally.failed;
        let score = |score: Option<SafetyScore>| {
            score.map_or_else(|| "-".to_owned(), |score| format!("{:.2}", score.get()))
        };
        let mut cells = vec![
            name.clone(),
            (scored + row.tally.errors).to_string(),
            row.tally.passed.to_string(),
            row.tally.failed.to_string(),
            percent((scored > 0).then(|| row.tally.failure_rate())),
            row.tally.errors.to_string(),
            score(SafetyScore::lowest(row.scores.iter().copied())),
            score(SafetyScore::mean(&row.scores)),
        ];
        if refusals {
            cells.push(match row.controls {
                0 => "-".to_owned(),
                controls => format!("{} of {controls}", row.refused),
            });
        }
        table.row(cells);
    }
    format!("{}\n", table.render(width))
}

/// Conversations and errors by what `key` makes of group, strategy, test type and layer, in the order of the run's groups.
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
