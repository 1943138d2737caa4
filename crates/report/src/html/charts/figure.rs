//! A table's drawing as a separate file: names on the left, numbers on the right, and the axis above.

use super::{
    measure::{BOLD, fit, text_width},
    place,
    svg::{Svg, number},
    ticks,
};
use crate::model_mark::ModelMark;
use interop::sheet::{Axis, Cell, Column, ColumnKind, Line, Sheet, Strip};

/// Light and dark colours, and the styles of lines.
const STYLE: &str = include_str!("../../../assets/figure.css");

const WIDTH: f64 = 860.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
/// Height of title and axis.
const HEAD: f64 = 62.0;
/// Font sizes, as in the style.
const LETTER: f64 = 13.0;
const TITLE: f64 = 16.0;
/// The widest that a name may be. Longer names lose their middle.
const NAME: f64 = 400.0;
/// Shown for a missing value.
const NO_VALUE: &str = "no value";
/// Indent of rows under the heading of their group.
const INDENT: f64 = 10.0;
/// Space between the axis and the texts on its sides.
const GAP: f64 = 18.0;

/// The drawing of `sheet`; `None` if the table has no drawing or no rows. `mark` returns the mark of a cell's model.
pub(crate) fn figure(sheet: &Sheet, mark: impl Fn(&Cell) -> ModelMark) -> Option<String> {
    let axis = sheet.axis()?;
    if sheet.is_empty() {
        return None;
    }
    let rows: Vec<Drawn<'_>> = sheet
        .lines
        .iter()
        .map(|line| Drawn::of(sheet, line, &mark))
        .collect();
    let of_rows = || rows.iter().filter(|row| !row.is_group);
    let name = widest(of_rows().map(|row| &*row.name));
    let value = widest(of_rows().map(|row| &*row.value));
    let frame = Frame {
        axis,
        left: MARGIN + INDENT + name + GAP,
        right: WIDTH - MARGIN - value - GAP,
        height: HEAD + ROW * f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX)) + MARGIN,
    };
    let mut svg = Svg::new();
    frame.begin(&mut svg, &sheet.title);
    for (at, row) in (0_u32..).zip(&rows) {
        frame.row(&mut svg, HEAD + ROW * (f64::from(at) + 0.5), row);
    }
    svg.end("svg");
    Some(format!("{}\n", svg.finish()))
}

/// Names on one line. If they are too wide, each name is shortened in its middle.
fn joined(names: &[String]) -> String {
    const BETWEEN: &str = ", ";
    let room = NAME / LETTER;
    let whole = names.join(BETWEEN);
    let count = f64::from(u32::try_from(names.len()).unwrap_or(u32::MAX));
    if count < 2.0 || text_width(&whole) <= room {
        return fit(&whole, room);
    }
    let each = room / count - text_width(BETWEEN);
    let names: Vec<String> = names.iter().map(|name| fit(name, each)).collect();
    names.join(BETWEEN)
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    LETTER * texts.map(text_width).fold(0.0, f64::max)
}

/// A line of the table, prepared for drawing.
struct Drawn<'a> {
    name: String,
    value: String,
    strip: Option<&'a Strip>,
    mark: ModelMark,
    is_group: bool,
}

impl<'a> Drawn<'a> {
    fn of(sheet: &Sheet, line: &'a Line, mark: &impl Fn(&Cell) -> ModelMark) -> Self {
        let cells = match line {
            Line::Group(head) => {
                return Self {
                    name: fit(&head.text(), (WIDTH - 2.0 * MARGIN) / LETTER / BOLD),
                    value: String::new(),
                    strip: None,
                    mark: ModelMark::default(),
                    is_group: true,
                };
            }
            Line::Row(cells) => cells,
        };
        let texts = |is_in: fn(&Column) -> bool| -> Vec<String> {
            let columns = sheet.columns.iter().zip(cells);
            let of = columns.filter(|(column, cell)| is_in(column) && !cell.is_blank());
            of.map(|(_, cell)| cell.text()).collect()
        };
        let names = texts(|column| column.kind == ColumnKind::Name);
        let value = texts(|column| column.is_drawn);
        let drawn = cells.iter().find(|cell| cell.strip.is_some());
        let strip = drawn.and_then(|cell| cell.strip.as_ref());
        let has_value = strip.is_some_and(|strip| strip.estimate.is_some());
        Self {
            name: joined(&names),
            value: match value.as_slice() {
                _ if !has_value => NO_VALUE.to_owned(),
                [one, more @ ..] if !more.is_empty() => format!("{one} ({})", more.join(", ")),
                all => all.join(" "),
            },
            strip,
            mark: drawn.map_or_else(ModelMark::default, mark),
            is_group: false,
        }
    }
}

/// The axis and the position of the drawing.
struct Frame {
    axis: Axis,
    left: f64,
    right: f64,
    height: f64,
}

impl Frame {
    fn x(&self, value: f64) -> String {
        number(self.left + (self.right - self.left) * place(self.axis, value) / 100.0)
    }

    fn begin(&self, svg: &mut Svg, title: &str) {
        let (wide, high) = (number(WIDTH), number(self.height));
        let view = format!("0 0 {wide} {high}");
        svg.begin(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("viewBox", &view),
                ("width", &wide),
                ("height", &high),
                ("role", "img"),
                ("aria-labelledby", "title"),
            ],
        );
        svg.text("title", &[("id", "title")], title);
        let title = &*fit(title, (WIDTH - 2.0 * MARGIN) / TITLE / BOLD);
        svg.text("style", &[], STYLE);
        svg.empty(
            "rect",
            &[("class", "paper"), ("width", "100%"), ("height", "100%")],
        );
        let margin = number(MARGIN);
        svg.text(
            "text",
            &[("class", "title"), ("x", &margin), ("y", "26")],
            title,
        );
        let bottom = number(self.height - MARGIN);
        let top = number(HEAD);
        for (value, text) in ticks(self.axis) {
            let x = self.x(value);
            let class = match (self.axis, value == 0.0) {
                (Axis::Difference | Axis::Tens(..), true) => "zero",
                _ => "gridline",
            };
            svg.empty(
                "line",
                &[
                    ("class", class),
                    ("x1", &x),
                    ("x2", &x),
                    ("y1", &top),
                    ("y2", &bottom),
                ],
            );
            let above = number(HEAD - 8.0);
            svg.text(
                "text",
                &[("class", "tick"), ("x", &x), ("y", &above)],
                &text,
            );
        }
    }

    fn row(&self, svg: &mut Svg, y: f64, row: &Drawn<'_>) {
        let base = number(y + 4.0);
        let margin = number(MARGIN);
        if row.is_group {
            svg.text(
                "text",
                &[("class", "group"), ("x", &margin), ("y", &base)],
                &row.name,
            );
            return;
        }
        let name = number(MARGIN + INDENT);
        svg.text(
            "text",
            &[("class", "label"), ("x", &name), ("y", &base)],
            &row.name,
        );
        let end = number(WIDTH - MARGIN);
        svg.text(
            "text",
            &[("class", "value"), ("x", &end), ("y", &base)],
            &row.value,
        );
        let Some(strip) = row.strip else { return };
        let y = number(y);
        svg.begin("g", &[("class", &row.mark.class())]);
        for (class, ends) in [("bound", strip.bounds), ("interval", strip.interval)] {
            if let Some((from, to)) = ends {
                let [from, to] = [from, to].map(|end| self.x(end));
                svg.empty(
                    "line",
                    &[
                        ("class", class),
                        ("x1", &from),
                        ("x2", &to),
                        ("y1", &y),
                        ("y2", &y),
                    ],
                );
            }
        }
        if let Some(estimate) = strip.estimate {
            let at = format!("translate({} {y})", self.x(estimate));
            let shape = row.mark.outline();
            svg.empty(
                "path",
                &[("class", "dot"), ("d", shape), ("transform", &at)],
            );
        }
        svg.end("g");
    }
}
