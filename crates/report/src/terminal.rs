//! Tables of aligned columns for a terminal, or in Markdown.

use std::borrow::Cow;

use interop::sheet::{Cell, Column, ColumnKind, Line, Sheet, markdown, together};

use crate::{
    text::{clean, hanging, shorten, width, wrapped},
    text_chart::{self, rate_axis, rate_strip},
};

const INDENT: &str = "  ";
/// The indent of rows under the heading of their group.
const INNER: &str = "    ";
const GAP: &str = "  ";
/// A column is never shortened below this width.
const NARROWEST: usize = 8;
/// Wide columns give way before a column of names is shortened below this width.
const LEGIBLE: usize = 20;

/// Tables one below the other, as text of `width` columns. Tables without rows and notes are left out.
///
/// ```
/// use report::{Cell, Column, Sheet, sheets_text};
///
/// let columns = vec![Column::name("model"), Column::number("calls"), Column::number("from the cache")];
/// let mut sheet = Sheet::new("cache", "cache", columns);
/// sheet.row(vec!["careful".into(), 8_u64.into(), Cell::rate(Some(0.125))]);
/// assert_eq!(
///     sheets_text(&[sheet], 80),
///     "cache\n  model    calls  from the cache\n  careful      8             13%\n"
/// );
/// ```
#[must_use]
pub fn sheets_text<'s>(sheets: impl IntoIterator<Item = &'s Sheet>, width: usize) -> String {
    let sheets: Vec<String> = sheets
        .into_iter()
        .filter(|sheet| !sheet.is_blank())
        .map(|sheet| sheet_text(sheet, width))
        .collect();
    sheets.join("\n")
}

/// The same tables in Markdown, with their notes.
#[must_use]
pub fn sheets_markdown<'s>(sheets: impl IntoIterator<Item = &'s Sheet>) -> String {
    let sheets = sheets.into_iter().filter(|sheet| !sheet.is_blank());
    sheets.map(markdown::sheet).collect()
}

/// The title, the rows, remarks and notes, within a width of `columns`, unless the numbers need more.
pub(crate) fn sheet_text(sheet: &Sheet, columns: usize) -> String {
    let sheet = fitted(sheet, columns);
    let mut text = String::new();
    if !sheet.title.is_empty() {
        text = format!("{}\n", sheet.title);
    }
    if !sheet.is_empty() {
        text.push_str(&Grid::fitted(&sheet, columns).render(columns));
    }
    for remark in remarks(&sheet) {
        text.push_str(&hanging(&remark, "  ", "    ", columns));
    }
    for note in &sheet.notes {
        text.push_str(&wrapped(note, INDENT, columns));
    }
    text
}

/// The headings and rows without an indent, a line each. A table with groups is indented below their headings.
pub(crate) fn bare_lines(sheet: &Sheet, columns: usize) -> Vec<String> {
    let sheet = fitted(sheet, columns);
    let mut grid = Grid::fitted(&sheet, columns + INDENT.len());
    grid.indent = "";
    grid.render(columns).lines().map(str::to_owned).collect()
}

/// The table without its wide columns, and without the notes that explain them, if it does not fit otherwise.
fn fitted(sheet: &Sheet, columns: usize) -> Cow<'_, Sheet> {
    if Grid::fitted(sheet, columns).fits(columns) {
        return Cow::Borrowed(sheet);
    }
    let is_kept = |column: &Column| !column.is_wide || column.kind == ColumnKind::Name;
    let mut fitted = sheet.clone().with_columns(|_, column| is_kept(column));
    let left_out = sheet.columns.iter().filter(|column| !is_kept(column));
    for column in left_out {
        let about = format!("{}: ", column.name);
        fitted.notes.retain(|note| !note.starts_with(&about));
    }
    Cow::Owned(fitted)
}

/// The texts of the columns that a terminal shows.
struct Grid {
    kinds: Vec<ColumnKind>,
    /// The headings and the rows; a single text is the heading of a group.
    rows: Vec<Result<Vec<String>, String>>,
    /// The width of the widest text of each column.
    widths: Vec<usize>,
    indent: &'static str,
}

impl Grid {
    /// The texts, with drawings so narrow that no name has to be shortened, if they can be.
    fn fitted(sheet: &Sheet, columns: usize) -> Self {
        let [widest, narrower @ ..] = text_chart::WIDTHS;
        let grid = Self::drawn(sheet, widest);
        if !grid
            .kinds
            .iter()
            .any(|kind| matches!(kind, ColumnKind::Chart(_)))
        {
            return grid;
        }
        narrower.into_iter().fold(grid, |grid, width| {
            match grid.gaps() + grid.widths.iter().sum::<usize>() <= columns {
                true => grid,
                false => Self::drawn(sheet, width),
            }
        })
    }

    /// The texts, with drawings of this width.
    fn drawn(sheet: &Sheet, chart: usize) -> Self {
        let is_shown = |column: &Column| match column.kind {
            ColumnKind::Remark => false,
            ColumnKind::Chart(_) => column.is_in_text,
            _ => true,
        };
        let columns = || sheet.columns.iter().filter(|column| is_shown(column));
        let head: Vec<String> = columns()
            .map(|column| match column.is_chart() {
                true => rate_axis(chart),
                false => column.short.as_ref().unwrap_or(&column.name).clone(),
            })
            .collect();
        let mut rows = Vec::new();
        if head.iter().any(|name| !name.is_empty()) {
            rows.push(Ok(head));
        }
        let mut above: &[Cell] = &[];
        for line in &sheet.lines {
            let cells = match line {
                Line::Group(head) => {
                    rows.push(Err(head.text()));
                    &[][..]
                }
                Line::Row(cells) => {
                    let row = sheet
                        .columns
                        .iter()
                        .zip(cells)
                        .enumerate()
                        .filter(|(_, (column, _))| is_shown(column));
                    let text = |(at, (column, cell)): (usize, (&Column, &Cell))| {
                        let repeats = above.get(at).is_some_and(|other| other.value == cell.value);
                        match (column.is_once && repeats, &cell.strip) {
                            (true, _) => String::new(),
                            (false, Some(strip)) if column.is_chart() => rate_strip(strip, chart),
                            (false, _) => cell.text(),
                        }
                    };
                    rows.push(Ok(row.map(text).collect()));
                    cells
                }
            };
            above = cells;
        }
        let mut widths = vec![0; columns().count()];
        for row in rows.iter().flatten() {
            for (widest, text) in widths.iter_mut().zip(row) {
                *widest = width(text).max(*widest);
            }
        }
        Self {
            kinds: columns().map(|column| column.kind).collect(),
            indent: match rows.iter().any(Result::is_err) {
                true => INNER,
                false => INDENT,
            },
            rows,
            widths,
        }
    }

    /// Whether every name can be read within a width of `columns`.
    fn fits(&self, columns: usize) -> bool {
        let each = self.widths.iter().zip(&self.kinds);
        let needed = each.map(|(width, kind)| match kind {
            ColumnKind::Name => (*width).min(LEGIBLE),
            _ => *width,
        });
        self.gaps() + needed.sum::<usize>() <= columns
    }

    fn gaps(&self) -> usize {
        self.indent.len() + GAP.len() * self.widths.len().saturating_sub(1)
    }

    /// The width of each column. The widest columns of names are narrowed until the table fits.
    fn narrowed(&self, columns: usize) -> Vec<usize> {
        let mut widths = self.widths.clone();
        loop {
            let total = self.gaps() + widths.iter().sum::<usize>();
            let names = widths
                .iter_mut()
                .zip(&self.kinds)
                .filter(|(_, kind)| **kind == ColumnKind::Name);
            match names.map(|(width, _)| width).max() {
                Some(name) if total > columns && *name > NARROWEST => *name -= 1,
                _ => return widths,
            }
        }
    }

    fn render(&self, columns: usize) -> String {
        let widths = self.narrowed(columns);
        let mut text = String::new();
        for row in &self.rows {
            let line = match row {
                Ok(row) => self.line(row, &widths),
                Err(head) => wrapped(head, INDENT, columns),
            };
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .zip(&self.kinds)
            .map(|((text, columns), kind)| {
                let text = match kind {
                    ColumnKind::Name => shorten(text, *columns),
                    _ => text.clone(),
                };
                let pad = " ".repeat(columns.saturating_sub(width(&text)));
                match kind {
                    ColumnKind::Number => pad + &text,
                    _ => text + &pad,
                }
            })
            .collect();
        format!("{}{}", self.indent, cells.join(GAP))
    }
}

/// A line for each remark, with all that it is about.
fn remarks(sheet: &Sheet) -> Vec<String> {
    let rows = sheet.lines.iter().filter_map(|line| match line {
        Line::Row(cells) => Some(cells),
        Line::Group(_) => None,
    });
    let cells = rows.flat_map(|cells| sheet.columns.iter().zip(cells));
    let remarks = cells
        .filter(|(column, _)| column.kind == ColumnKind::Remark)
        .filter_map(|(_, cell): (_, &Cell)| {
            let about = cell.about.as_deref()?;
            Some((cell.text(), clean(about)))
        });
    together(remarks)
        .into_iter()
        .map(|(text, about)| format!("{}: {text}.", about.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let columns = vec![
            Column::name("model"),
            Column::number("scenarios that differ")
                .short("differ")
                .wide(),
            Column::number("points"),
            Column::remark("says"),
        ];
        let mut sheet = Sheet::new("id", "Pairs", columns);
        for (model, about) in [("模型-a", Some("a")), ("b", Some("b")), ("c", None)] {
            let says = Cell {
                about: about.map(str::to_owned),
                ..Cell::new("no difference shown")
            };
            sheet.row(vec![model.into(), 3_u64.into(), 1_920_u64.into(), says]);
        }
        sheet.note("A note.");
        sheet.note("scenarios that differ: of all.");
        sheet
    }

    #[test]
    fn remarks_stand_below_once_and_wide_columns_give_way() {
        let rest = "  a, b: no difference shown.\n  A note.\n  scenarios that differ: of all.\n";
        assert_eq!(
            sheet_text(&sheet(), 80),
            format!(
                "Pairs\n  model   differ  points\n  模型-a       3   1,920\n  b            3   1,920\n  c            3   1,920\n{rest}"
            )
        );
        let narrow = sheet_text(&sheet(), 23);
        assert!(
            narrow.starts_with("Pairs\n  model   points\n  模型-a   1,920\n")
                && narrow.ends_with("  A note.\n"),
            "{narrow}"
        );
    }

    #[test]
    fn a_table_without_headings_begins_with_its_rows_and_words_are_never_shortened() {
        let columns = vec![Column::name(""), Column::words("")];
        let mut list = Sheet::new("files", "", columns);
        list.row(vec!["a-very-long-name".into(), "a/long/path".into()]);
        assert_eq!(sheet_text(&list, 10), "  a-ve…ame  a/long/path\n");
    }
}
