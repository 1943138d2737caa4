//! A dot with its interval in the cell of a table. All positions are percent of the width, so that the drawing is as wide as its column.

use super::{
    dot, place, series_class,
    svg::{Svg, number},
    ticks,
};
use interop::sheet::{Axis, Strip};

/// The drawing of one row. `series` is the number of the model, which selects colour and shape.
pub(crate) fn strip(axis: Axis, strip: &Strip, series: usize) -> String {
    let mut svg = Svg::new();
    let class = format!("strip {}", series_class(series));
    svg.begin("svg", &[("class", &class)]);
    svg.text("title", &[], &strip.title);
    if axis == Axis::Difference {
        svg.empty(
            "line",
            &[
                ("class", "zero"),
                ("x1", "50%"),
                ("x2", "50%"),
                ("y1", "0"),
                ("y2", "100%"),
            ],
        );
    }
    for (class, ends) in [("bound", strip.bounds), ("interval", strip.interval)] {
        if let Some((from, to)) = ends {
            let [from, to] = [from, to].map(|end| percent(axis, end));
            svg.empty(
                "line",
                &[
                    ("class", class),
                    ("x1", &from),
                    ("x2", &to),
                    ("y1", "50%"),
                    ("y2", "50%"),
                ],
            );
        }
    }
    if let Some(estimate) = strip.estimate {
        let at = percent(axis, estimate);
        svg.begin("svg", &[("x", &at), ("y", "50%"), ("overflow", "visible")]);
        svg.empty("path", &[("class", "dot"), ("d", dot(series))]);
        svg.end("svg");
    }
    svg.end("svg");
    svg.finish()
}

/// The axis above the drawings of a column.
pub(crate) fn axis(axis: Axis) -> String {
    let mut svg = Svg::new();
    svg.begin("svg", &[("class", "strip scale"), ("aria-hidden", "true")]);
    for (value, text) in ticks(axis) {
        let at = percent(axis, value);
        svg.text("text", &[("class", "tick"), ("x", &at), ("y", "75%")], text);
    }
    svg.end("svg");
    svg.finish()
}

fn percent(axis: Axis, value: f64) -> String {
    format!("{}%", number(place(axis, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_without_rows_has_no_dot_and_one_of_all_has_it_at_the_end() {
        let none = strip(Axis::Rate, &Strip::default(), 0);
        assert!(!none.contains("dot") && !none.contains("<line"), "{none}");
        let all = Strip {
            estimate: Some(1.0),
            interval: Some((0.75, 1.0)),
            ..Strip::default()
        };
        let all = strip(Axis::Rate, &all, 0);
        assert!(
            all.contains(r#"class="interval" x1="75%" x2="100%""#),
            "{all}"
        );
        assert!(all.contains(r#"<svg x="100%""#), "{all}");
    }

    #[test]
    fn a_difference_has_its_zero_in_the_middle() {
        let drawn = Strip {
            estimate: Some(-0.5),
            title: "<b>".to_owned(),
            ..Strip::default()
        };
        let drawn = strip(Axis::Difference, &drawn, 10);
        assert!(drawn.contains(r#"class="zero" x1="50%""#), "{drawn}");
        assert!(drawn.contains(r#"<svg x="25%""#), "{drawn}");
        assert!(
            drawn.contains("series-2") && drawn.contains("&lt;b&gt;"),
            "{drawn}"
        );
    }
}
