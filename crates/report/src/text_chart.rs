//! Drawings of rates in a line of text.

use interop::sheet::Strip;

/// The widths of a drawing, the widest first: multiples of four and one, so that each quarter has a column of its own.
pub(crate) const WIDTHS: [usize; 3] = [21, 17, 13];

/// The numbers of the axis: `0    25   50   75  100`. They take one column more than the drawing.
pub(crate) fn rate_axis(columns: usize) -> String {
    let step = (columns - 1) / 4;
    let mut axis = String::new();
    let labels = match step < 4 {
        true => ["0", "", "50", "", "100"],
        false => ["0", "25", "50", "75", "100"],
    };
    for (quarter, label) in labels.into_iter().enumerate() {
        // The last number ends with the drawing.
        let start = (quarter * step).min(columns - 2);
        axis.push_str(&" ".repeat(start.saturating_sub(axis.len())));
        axis.push_str(label);
    }
    axis
}

/// A rate and its interval between 0 and 100: `|    :    :   ─●─   |`.
pub(crate) fn rate_strip(strip: &Strip, columns: usize) -> String {
    let last = columns - 1;
    let mut marks = vec![' '; columns];
    for (quarter, mark) in ['|', ':', ':', ':', '|'].into_iter().enumerate() {
        put(&mut marks, quarter * last / 4, mark);
    }
    if let Some((lower, upper)) = strip.interval {
        for at in place(lower, last)..=place(upper, last) {
            put(&mut marks, at, '─');
        }
    }
    if let Some(estimate) = strip.estimate {
        put(&mut marks, place(estimate, last), '●');
    }
    marks.into_iter().collect()
}

fn put(marks: &mut [char], at: usize, mark: char) {
    if let Some(place) = marks.get_mut(at) {
        *place = mark;
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and the few columns of a drawing"
)]
fn place(share: f64, last: usize) -> usize {
    (share.clamp(0.0, 1.0) * last as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_above_their_columns_and_a_rate_covers_the_grid() {
        let strip = |estimate, interval| Strip {
            estimate,
            interval,
            ..Strip::default()
        };
        assert_eq!(rate_axis(21), "0    25   50   75  100");
        assert_eq!(rate_axis(17), "0   25  50  75 100");
        assert_eq!(rate_axis(13), "0     50   100");
        let drawn = rate_strip(&strip(Some(0.75), Some((0.68, 0.82))), 21);
        assert_eq!(drawn, "|    :    :   ─●─   |");
        assert_eq!(
            rate_strip(&strip(Some(0.0), Some((0.0, 1.0))), 13),
            "●────────────"
        );
        assert_eq!(rate_strip(&strip(None, None), 13), "|  :  :  :  |");
    }
}
