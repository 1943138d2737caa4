//! Rates on an axis from 0 to 100%: a row of the first chart, a cell of the matrix, and all models of a metric on one line. All positions are
//! percent of the width, so that a drawing is as wide as its place, and prints.

use super::svg::{Svg, number};
use crate::model_mark::ModelMark;

/// A rate and its interval, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DrawnRate {
    /// The rate.
    pub(crate) estimate: f64,
    /// Its interval.
    pub(crate) interval: Option<(f64, f64)>,
}

fn x(share: f64) -> String {
    format!("{}%", number(share.clamp(0.0, 1.0) * 100.0))
}

fn line(svg: &mut Svg, class: &str, (from, to): (f64, f64), y: &str) {
    let [from, to] = [from, to].map(x);
    svg.empty(
        "line",
        &[
            ("class", class),
            ("x1", &from),
            ("x2", &to),
            ("y1", y),
            ("y2", y),
        ],
    );
}

fn dot(svg: &mut Svg, class: &str, share: f64, y: &str, mark: ModelMark) {
    svg.begin(
        "svg",
        &[("x", &x(share)), ("y", y), ("overflow", "visible")],
    );
    svg.empty("path", &[("class", class), ("d", mark.outline())]);
    svg.end("svg");
}

fn grid(svg: &mut Svg, at: &[f64]) {
    for share in at {
        let x = x(*share);
        svg.empty(
            "line",
            &[
                ("class", "gridline"),
                ("x1", &x),
                ("x2", &x),
                ("y1", "0"),
                ("y2", "100%"),
            ],
        );
    }
}

/// A rate as a mark with its interval as a band, and below it, hollow, the rate that people would give.
pub(crate) fn rate_chart(
    rate: Option<DrawnRate>,
    people: Option<DrawnRate>,
    mark: ModelMark,
    is_small: bool,
) -> String {
    let mut svg = Svg::new();
    svg.begin("svg", &[("class", "chart-svg"), ("aria-hidden", "true")]);
    match is_small {
        true => grid(&mut svg, &[0.0, 0.5, 1.0]),
        false => grid(&mut svg, &[0.0, 0.25, 0.5, 0.75, 1.0]),
    }
    let (y, below) = match people {
        Some(_) => ("32%", "68%"),
        None => ("50%", "50%"),
    };
    if let Some(rate) = rate {
        if let Some(ends) = rate.interval {
            line(&mut svg, "iv", ends, y);
        }
        dot(&mut svg, "pt", rate.estimate, y, mark);
    }
    if let Some(people) = people {
        if let Some(ends) = people.interval {
            line(&mut svg, "hv", ends, below);
        }
        dot(&mut svg, "ho", people.estimate, below, mark);
    }
    svg.end("svg");
    svg.finish()
}

/// With more models than this on one line, all of them are small circles.
const SHAPED: usize = 12;

/// The rates of several models on one line, from the lowest to the highest.
pub(crate) fn spread_chart(rates: &[(f64, ModelMark)]) -> String {
    let mut svg = Svg::new();
    svg.begin("svg", &[("class", "chart-svg"), ("aria-hidden", "true")]);
    let shares = || rates.iter().map(|(share, _)| *share);
    let ends = shares().reduce(f64::min).zip(shares().reduce(f64::max));
    if let Some(ends) = ends {
        line(&mut svg, "range", ends, "50%");
    }
    for (share, mark) in rates.iter().rev() {
        if rates.len() > SHAPED {
            let class = format!("pt {}", mark.class());
            let at = x(*share);
            svg.empty(
                "circle",
                &[("class", &class), ("cx", &at), ("cy", "50%"), ("r", "3")],
            );
            continue;
        }
        svg.begin("g", &[("class", &mark.class())]);
        dot(&mut svg, "pt", *share, "50%", *mark);
        svg.end("g");
    }
    svg.end("svg");
    svg.finish()
}

/// The numbers above the rows of the first chart.
pub(crate) fn rate_axis() -> String {
    let mut svg = Svg::new();
    svg.begin(
        "svg",
        &[("class", "chart-svg scale"), ("aria-hidden", "true")],
    );
    for (share, text) in [
        (0.0, "0"),
        (0.25, "25"),
        (0.5, "50"),
        (0.75, "75"),
        (1.0, "100%"),
    ] {
        let class = if share == 1.0 { "tick end" } else { "tick" };
        svg.text(
            "text",
            &[("class", class), ("x", &x(share)), ("y", "13")],
            text,
        );
    }
    svg.end("svg");
    svg.finish()
}

/// The mark of a model beside its name.
pub(crate) fn key(mark: ModelMark) -> String {
    let mut svg = Svg::new();
    let class = format!("key {}", mark.class());
    svg.begin(
        "svg",
        &[
            ("class", &class),
            ("viewBox", "-6.5 -6.5 13 13"),
            ("aria-hidden", "true"),
        ],
    );
    svg.empty("path", &[("class", "pt"), ("d", mark.outline())]);
    svg.end("svg");
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_its_place_and_people_a_hollow_mark_below() {
        let mark = ModelMark::for_id("aster-large-2");
        let rate = DrawnRate {
            estimate: 0.75,
            interval: Some((0.71, 0.79)),
        };
        let alone = rate_chart(Some(rate), None, mark, true);
        assert!(
            alone.contains("class=\"iv\" x1=\"71%\" x2=\"79%\" y1=\"50%\""),
            "{alone}"
        );
        assert!(!alone.contains("class=\"ho\""), "{alone}");
        let both = rate_chart(Some(rate), Some(rate), mark, false);
        assert!(
            both.contains("x=\"75%\" y=\"68%\"") && both.contains("class=\"ho\""),
            "{both}"
        );
        assert_eq!(both.matches("gridline").count(), 5);
        assert!(!rate_chart(None, None, mark, true).contains("class=\"pt\""));
    }
}
