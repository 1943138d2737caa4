//! A dot with its interval in the cell of a table. All positions are percent of the width, so that the drawing is as wide as its column.

use super::{
    place,
    svg::{Svg, number},
    ticks,
};
use crate::model_mark::ModelMark;
use interop::sheet::{Axis, Strip};

/// The drawing of one row, with the mark of its model.
pub(crate) fn strip(axis: Axis, strip: &Strip, mark: ModelMark) -> String {
    let mut svg = Svg::new();
    let class = format!("strip {}", mark.class());
    svg.begin("svg", &[("class", &class)]);
    svg.text("title", &[], &strip.title);
    if axis != Axis::Rate {
        let zero = percent(axis, 0.0);
        svg.empty(
            "line",
            &[
                ("class", "zero"),
                ("x1", &zero),
                ("x2", &zero),
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
        svg.empty("path", &[("class", "dot"), ("d", mark.outline())]);
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
        svg.text(
            "text",
            &[("class", "tick"), ("x", &at), ("y", "75%")],
            &text,
        );
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
        let none = strip(Axis::Rate, &Strip::default(), ModelMark::default());
        assert!(!none.contains("dot") && !none.contains("<line"), "{none}");
        let all = Strip {
            estimate: Some(1.0),
            interval: Some((0.75, 1.0)),
            ..Strip::default()
        };
        let all = strip(Axis::Rate, &all, ModelMark::default());
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
        let mark = ModelMark::for_id("cedar-pro");
        let fitted = strip(Axis::Tens(-6, 4), &drawn, mark);
        assert!(fitted.contains(r#"class="zero" x1="60%""#), "{fitted}");
        let drawn = strip(Axis::Difference, &drawn, mark);
        assert!(drawn.contains(r#"class="zero" x1="50%""#), "{drawn}");
        assert!(drawn.contains(r#"<svg x="25%""#), "{drawn}");
        assert!(
            drawn.contains("strip k2") && drawn.contains("&lt;b&gt;"),
            "{drawn}"
        );
    }
}
