//! The tokens that providers read from and wrote to their prompt caches, as tables and texts show them.

use interop::sheet::{Cell, Column, Sheet};

use crate::numbers::short;

/// The names of the columns.
pub const COLUMNS: [&str; 2] = ["read from prompt caches", "written to prompt caches"];

/// The cells of a row: the parts of the tokens sent. Empty for none.
pub(crate) fn cells(read: u64, written: u64) -> [Cell; 2] {
    [read, written].map(|tokens| match tokens {
        0 => Cell::default(),
        tokens => short(tokens).into(),
    })
}

/// `sheet` without [`COLUMNS`], unless they are used: most providers report neither.
#[must_use]
pub fn only_if(is_used: bool, sheet: Sheet) -> Sheet {
    let is_column = |column: &Column| COLUMNS.contains(&column.name.as_str());
    sheet.with_columns(|_, column| is_used || !is_column(column))
}

/// The same in words, in parentheses and after a space; empty for none.
pub(crate) fn text(read: u64, written: u64) -> String {
    match (read, written) {
        (0, 0) => String::new(),
        (read, 0) => format!(" ({} read from prompt caches)", short(read)),
        (read, written) => format!(
            " ({} read from and {} written to prompt caches)",
            short(read),
            short(written)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_is_not_shown() {
        assert_eq!(text(0, 0), "");
        assert_eq!(text(12_345, 0), " (12.3k read from prompt caches)");
        assert_eq!(
            text(0, 2_000),
            " (0 read from and 2,000 written to prompt caches)"
        );
        let columns = ["role"].into_iter().chain(COLUMNS).map(Column::number);
        let sheet = Sheet::new("calls", "Calls", columns.collect());
        assert_eq!(only_if(true, sheet.clone()).columns.len(), 3);
        assert_eq!(only_if(false, sheet).columns.len(), 1);
    }
}
