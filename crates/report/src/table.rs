//! A table of aligned columns.

use crate::text::{clean, shorten, width};

const INDENT: &str = "  ";
const GAP: &str = "  ";
/// A column is never shortened below this width.
const NARROWEST: usize = 8;

/// A table. The first `names` columns hold names: they are aligned left, and shortened if the table is too wide. The other columns hold
/// numbers: they are aligned right and never shortened.
pub(crate) struct Table {
    names: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(names: usize, header: &[&str]) -> Self {
        let header = header.iter().map(ToString::to_string).collect();
        Self {
            names,
            rows: vec![header],
        }
    }

    /// Adds a row with a cell for every column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows
            .push(cells.iter().map(|cell| clean(cell)).collect());
    }

    /// The table within a width of `columns`, unless its numbers need more.
    pub(crate) fn render(&self, columns: usize) -> String {
        let widths = self.widths(columns);
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(INDENT);
            for (at, (cell, columns)) in row.iter().zip(&widths).enumerate() {
                if at > 0 {
                    line.push_str(GAP);
                }
                let cell = shorten(cell, *columns);
                let pad = " ".repeat(columns.saturating_sub(width(&cell)));
                let (first, second) = if at < self.names {
                    (cell, pad)
                } else {
                    (pad, cell)
                };
                line.push_str(&first);
                line.push_str(&second);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The width of each column: the width of its widest cell. The widest columns of names are narrowed until the table fits.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.first().map_or(0, Vec::len);
        let mut widths = vec![0; count];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        let gaps = INDENT.len() + GAP.len() * count.saturating_sub(1);
        loop {
            let total = gaps + widths.iter().sum::<usize>();
            let names = widths.iter_mut().take(self.names);
            match names.max() {
                Some(name) if total > columns && *name > NARROWEST => *name -= 1,
                _ => return widths,
            }
        }
    }
}
