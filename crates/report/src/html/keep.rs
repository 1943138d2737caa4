//! Selection of the rows that a report holds.

use std::collections::BTreeMap;

use schema::numbers::grouped;

use super::{
    conversation::is_notable,
    data::{Row, RowsKept},
};

/// A report of notable rows holds all rows if there are at most this many.
pub const SMALL_RUN: usize = 500;
/// The most rows of a report of all rows. Of more rows it is one of notable rows: browsers open no page with a million rows, and memory has
/// to hold each.
pub const ALL_LIMIT: usize = 100_000;
/// The most rows that a report of notable rows holds if there are more than [`SMALL_RUN`].
pub const NOTABLE_LIMIT: usize = 2_000;

/// The rows that are kept so far, and the conversation of each.
#[derive(Debug)]
pub(super) struct Kept {
    which: RowsKept,
    /// Each row with the number of its conversation.
    rows: Vec<(Row, usize)>,
    total: u64,
    /// Rows that were not chosen.
    passed_over: u64,
    /// Whether only notable rows are kept, because there are too many rows to keep all.
    only_notable: bool,
    /// The number of notable rows that are kept, by run and metric.
    counts: BTreeMap<(usize, usize), usize>,
    /// The most rows that a group may still reach.
    level: usize,
    /// Rows are dropped when more rows than this are kept.
    thin_above: usize,
}

impl Kept {
    pub(super) fn new(which: RowsKept) -> Self {
        Self {
            which,
            rows: Vec::new(),
            total: 0,
            passed_over: 0,
            only_notable: false,
            counts: BTreeMap::new(),
            level: NOTABLE_LIMIT,
            thin_above: 2 * NOTABLE_LIMIT,
        }
    }

    /// Which rows are kept.
    pub(super) fn which(&self) -> RowsKept {
        match self.which {
            RowsKept::All if self.only_notable => RowsKept::Notable,
            which => which,
        }
    }

    /// Why not all rows are kept although all were wanted.
    pub(super) fn problem(&self) -> Option<String> {
        let is_other = self.which != self.which();
        is_other.then(|| {
            format!(
                "the page holds {} notable rows: there are more than {}, the most of a page with all rows",
                grouped(self.rows.len() as u64),
                grouped(ALL_LIMIT as u64)
            )
        })
    }

    /// The number of rows seen so far, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total + self.passed_over
    }

    /// Counts rows that were not chosen.
    pub(super) fn pass_over(&mut self, rows: usize) {
        self.passed_over += rows as u64;
    }

    /// Selects the rows of a conversation that may be kept.
    pub(super) fn choose(&mut self, rows: Vec<Row>) -> Vec<Row> {
        self.total += rows.len() as u64;
        let most = match self.which {
            RowsKept::None => return Vec::new(),
            RowsKept::All => ALL_LIMIT,
            RowsKept::Notable => SMALL_RUN,
        };
        if self.total <= most as u64 {
            return rows;
        }
        if !self.only_notable {
            self.only_notable = true;
            self.rows.retain(|(row, _)| is_notable(row));
            self.thin();
            self.rows.shrink_to_fit();
        }
        let counts = &self.counts;
        let fits = |row: &Row| {
            counts
                .get(&group(row))
                .is_none_or(|count| *count < self.level)
        };
        rows.into_iter()
            .filter(|row| is_notable(row) && fits(row))
            .collect()
    }

    /// Keeps chosen rows of the conversation with this number.
    pub(super) fn add(&mut self, rows: Vec<Row>, conversation: usize) {
        for row in rows {
            if is_notable(&row) {
                *self.counts.entry(group(&row)).or_default() += 1;
            }
            self.rows.push((row, conversation));
        }
        if self.only_notable && self.rows.len() > self.thin_above {
            self.thin();
            self.thin_above = 2 * self.rows.len().max(NOTABLE_LIMIT);
        }
    }

    /// Leaves the rows that are kept in the end.
    pub(super) fn end(&mut self) {
        if !self.only_notable {
            return;
        }
        self.thin();
        // There may be more runs and metrics than the limit has rows.
        let all = self.rows.len().max(NOTABLE_LIMIT);
        let share = |place: usize| place * NOTABLE_LIMIT / all;
        let mut places = 0..;
        let mut is_kept = || {
            places
                .next()
                .is_some_and(|place| share(place) < share(place + 1))
        };
        self.rows.retain(|_| is_kept());
    }

    /// The rows after [`end`](Self::end), each with the number of its conversation.
    pub(super) fn into_rows(self) -> Vec<(Row, usize)> {
        self.rows
    }

    /// The number of rows in memory.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.rows.capacity()
    }

    /// Drops rows above the limit: the last rows of the largest groups. Each group keeps at least one row.
    fn thin(&mut self) {
        // The level only decreases: a new group leaves fewer rows for the others.
        let level = level(self.counts.values().copied(), NOTABLE_LIMIT);
        self.level = level;
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        self.rows.retain(|(row, _)| {
            let count = counts.entry(group(row)).or_default();
            *count += 1;
            *count <= level
        });
        for count in counts.values_mut() {
            *count = (*count).min(level);
        }
        self.counts = counts;
    }
}

/// The group of a row. The kept rows are spread evenly over the groups.
fn group(row: &Row) -> (usize, usize) {
    (row.run, row.metric)
}

/// The largest number of rows per group for which all groups together have at most `limit` rows; at least 1.
fn level(counts: impl Iterator<Item = usize> + Clone, limit: usize) -> usize {
    let sum = |level: usize| -> usize { counts.clone().map(|count| count.min(level)).sum() };
    let (mut low, mut high) = (1, limit + 1);
    while low + 1 < high {
        let middle = low.midpoint(high);
        match sum(middle) <= limit {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::data::RowVerdict;

    fn row(run: usize, metric: usize, passed: bool) -> Row {
        Row {
            run,
            metric,
            verdict: Some(passed).into(),
            ..Row::default()
        }
    }

    fn kept(which: RowsKept, rows: impl Iterator<Item = Row>) -> (Vec<Row>, u64) {
        let mut kept = Kept::new(which);
        for (number, row) in rows.enumerate() {
            let rows = kept.choose(vec![row]);
            kept.add(rows, number);
        }
        let total = kept.total();
        kept.end();
        (
            kept.into_rows().into_iter().map(|(row, _)| row).collect(),
            total,
        )
    }

    #[test]
    fn a_small_run_is_kept_as_a_whole() {
        let rows = |count| (0..count).map(|n| row(0, 0, n % 10 > 0));
        assert_eq!(kept(RowsKept::Notable, rows(500)).0.len(), 500);
        let (few, total) = kept(RowsKept::Notable, rows(510));
        assert_eq!((few.len(), total), (51, 510));
        assert!(few.iter().all(|row| row.verdict == RowVerdict::Fail));
        assert_eq!(kept(RowsKept::All, rows(510)).0.len(), 510);
        assert_eq!(kept(RowsKept::None, rows(510)), (vec![], 510));
    }

    #[test]
    fn more_rows_than_a_page_can_have_are_not_held() {
        let mut kept = Kept::new(RowsKept::All);
        for number in 0..=ALL_LIMIT {
            let rows = kept.choose(vec![row(0, number % 2, false)]);
            kept.add(rows, number);
            if number + 1 == ALL_LIMIT {
                assert_eq!(kept.rows.len(), ALL_LIMIT);
                assert_eq!((kept.which(), kept.problem()), (RowsKept::All, None));
            }
        }
        for number in 0..2 * ALL_LIMIT {
            let rows = kept.choose(vec![row(0, number % 3, false)]);
            kept.add(rows, number);
        }
        assert!(kept.held() <= 4 * NOTABLE_LIMIT, "{}", kept.held());
        assert_eq!(kept.which(), RowsKept::Notable);
        assert_eq!(kept.total(), 3 * ALL_LIMIT as u64 + 1);
        kept.end();
        assert_eq!(
            kept.problem().unwrap(),
            "the page holds 1,998 notable rows: there are more than 100,000, the most of a page with all rows"
        );
        assert_eq!(kept.into_rows().len(), 1_998);
    }

    #[test]
    fn notable_rows_are_spread_over_runs_and_metrics() {
        // Three metrics of two runs; the third metric has 10 failures, the others 3,000 in each run.
        let rows = (0..6_000).flat_map(|n| {
            [
                row(n / 3_000, 0, false),
                row(n / 3_000, 1, false),
                row(0, 2, n >= 10),
            ]
        });
        let (few, total) = kept(RowsKept::Notable, rows);
        assert_eq!(total, 18_000);
        let count = |run, metric| few.iter().filter(|row| group(row) == (run, metric)).count();
        assert_eq!(count(0, 2), 10);
        assert_eq!(
            [count(0, 0), count(0, 1), count(1, 0), count(1, 1)],
            [497; 4]
        );
    }

    #[test]
    fn more_runs_and_metrics_than_rows_are_sampled_evenly() {
        let rows = (0..30_000).map(|n| row(n / 500, n % 500, false));
        let (few, _) = kept(RowsKept::Notable, rows);
        assert_eq!(few.len(), NOTABLE_LIMIT);
        for run in 0..60 {
            let of_run = few.iter().filter(|row| row.run == run).count();
            assert!((33..=34).contains(&of_run), "{run}: {of_run}");
        }
    }
}
