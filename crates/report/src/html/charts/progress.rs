//! Drawings of a run in progress: a bar for rows and money, and a line for the pace of calls.

use super::svg::{Svg, number};

/// The height of a line over the minutes.
const HEIGHT: f64 = 10.0;

/// A bar of the share `done`, with a lighter part of the share `more` behind it, and a mark at `limit`.
pub(crate) fn bar(done: f64, more: f64, limit: Option<f64>) -> String {
    let percent = |share: f64| format!("{}%", number(share.clamp(0.0, 1.0) * 100.0));
    let mut svg = Svg::new();
    svg.begin("svg", &[("class", "bar-svg"), ("aria-hidden", "true")]);
    let part = |svg: &mut Svg, class: &str, from: f64, share: f64| {
        let attributes = [
            ("class", class),
            ("x", &*percent(from)),
            ("width", &*percent(share)),
            ("height", "100%"),
        ];
        svg.empty("rect", &attributes);
    };
    part(&mut svg, "tk", 0.0, 1.0);
    part(&mut svg, "dn", 0.0, done);
    if more > 0.0 {
        part(&mut svg, "d2", done, more);
    }
    if let Some(limit) = limit {
        let x = percent(limit);
        let attributes = [
            ("class", "bd"),
            ("x1", &*x),
            ("x2", &*x),
            ("y1", "-2"),
            ("y2", "12"),
        ];
        svg.empty("line", &attributes);
    }
    svg.end("svg");
    svg.finish()
}

/// A line over the numbers of each minute. The last minute has not ended, so it is left out.
pub(crate) fn pace(minutes: &[u64]) -> String {
    let Some((_, minutes)) = minutes.split_last().filter(|(_, rest)| rest.len() > 1) else {
        return String::new();
    };
    #[expect(clippy::cast_precision_loss, reason = "calls are far fewer than 2^53")]
    let values: Vec<f64> = minutes.iter().map(|count| *count as f64).collect();
    let most = values.iter().copied().fold(1.0, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "there are 30 minutes at most")]
    let step = 100.0 / (values.len() - 1) as f64;
    let mut x = -step;
    let points: Vec<String> = values
        .iter()
        .map(|value| {
            x += step;
            format!("{},{}", number(x), number(HEIGHT - value / most * HEIGHT))
        })
        .collect();
    let mut svg = Svg::new();
    let attributes = [
        ("class", "bar-svg"),
        ("viewBox", "0 0 100 10"),
        ("preserveAspectRatio", "none"),
        ("aria-hidden", "true"),
    ];
    svg.begin("svg", &attributes);
    svg.empty(
        "polyline",
        &[("class", "pace"), ("points", &points.join(" "))],
    );
    svg.end("svg");
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_part_for_each_share() {
        let drawn = bar(0.25, 0.5, Some(2.0));
        assert!(
            drawn.contains(r#"class="dn" x="0%" width="25%""#),
            "{drawn}"
        );
        assert!(
            drawn.contains(r#"class="d2" x="25%" width="50%""#),
            "{drawn}"
        );
        assert!(drawn.contains(r#"x1="100%""#), "{drawn}");
    }

    #[test]
    fn a_pace_is_a_line_over_whole_minutes() {
        assert_eq!(pace(&[3, 9]), "");
        let drawn = pace(&[0, 10, 5, 99]);
        assert!(drawn.contains(r#"points="0,10 50,0 100,5""#), "{drawn}");
    }
}
