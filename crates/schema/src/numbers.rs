//! Numbers as people read them: one form of each for terminal, report, job summary and messages. Files have the numbers themselves.
//!
//! Halves are rounded away from zero, also where the nearest binary number lies just below the half.

mod durations;

pub use durations::{about, clock, duration, wait};

/// Stands for a minus sign before numbers: as wide as a digit, and no line breaks after it.
const MINUS: char = '\u{2212}';

/// Added before rounding, so that shares such as 29 of 200 (14.5%), which no binary number has exactly, are rounded as the half that they are.
const HALF_GUARD: f64 = 1e-9;

/// A share from 0 to 1 in whole percent. A value close to 0 or 1 is never shown as exactly 0% or 100%.
///
/// ```
/// use schema::numbers::percent;
///
/// assert_eq!(percent(0.6667), "67%");
/// assert_eq!(percent(0.145), "15%");
/// assert_eq!(percent(0.9999), ">99%");
/// assert_eq!(percent(0.004), "<1%");
/// assert_eq!(percent(1.0), "100%");
/// ```
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{}%", percent_digits(share))
}

/// The ends of an interval of a share in a sentence, without the sign that stands after the estimate.
///
/// ```
/// assert_eq!(schema::numbers::interval((0.712, 0.998)), "71 to >99");
/// ```
#[must_use]
pub fn interval((lower, upper): (f64, f64)) -> String {
    format!("{} to {}", percent_digits(lower), percent_digits(upper))
}

/// The ends of an interval of a share in a cell of a table. An end with a sign has a word before it: `55–>99` reads badly.
///
/// ```
/// use schema::numbers::compact_interval;
///
/// assert_eq!(compact_interval((0.712, 0.79)), "71–79");
/// assert_eq!(compact_interval((0.55, 0.998)), "55 to >99");
/// ```
#[must_use]
pub fn compact_interval((lower, upper): (f64, f64)) -> String {
    let ends = [percent_digits(lower), percent_digits(upper)];
    let has_sign = ends.iter().any(|end| end.starts_with(['<', '>']));
    ends.join(if has_sign { " to " } else { "–" })
}

/// A share with its interval, if it has one.
///
/// ```
/// use schema::numbers::rate;
///
/// assert_eq!(rate(0.75, Some((0.71, 0.79))), "75% (71 to 79)");
/// assert_eq!(rate(0.75, None), "75%");
/// ```
#[must_use]
pub fn rate(share: f64, ends: Option<(f64, f64)>) -> String {
    match ends {
        Some(ends) => format!("{} ({})", percent(share), interval(ends)),
        None => percent(share),
    }
}

/// A share and, unless that is 0, the limit that it is above: both with as many decimals as it takes to tell them apart.
///
/// ```
/// use schema::numbers::percent_above;
///
/// assert_eq!(percent_above(0.312, 0.05), "31%, more than 5%");
/// assert_eq!(percent_above(0.0504, 0.05), "5.04%, more than 5.00%");
/// assert_eq!(percent_above(0.312, 0.0), "31%");
/// ```
#[must_use]
pub fn percent_above(share: f64, limit: f64) -> String {
    if limit <= 0.0 {
        return percent(share);
    }
    let pairs = (0..6).map(|decimals| [share, limit].map(|n| rounded(n * 100.0, decimals)));
    let differ = pairs.into_iter().find(|[share, limit]| share != limit);
    let [share, limit] = differ.unwrap_or_else(|| [share, limit].map(|n| (n * 100.0).to_string()));
    format!("{share}%, more than {limit}%")
}

/// The digits of [`percent`], without the sign, for tables whose heading has it.
#[must_use]
pub fn percent_digits(share: f64) -> String {
    match rounded(share * 100.0, 0).as_str() {
        "0" if share > 0.0 => "<1".to_owned(),
        "100" if share < 1.0 => ">99".to_owned(),
        digits => digits.to_owned(),
    }
}

/// A difference of two shares, from -1 to 1, in percentage points. Below one point it has as many decimals as it takes to show that it is
/// not zero, up to three.
///
/// ```
/// use schema::numbers::points;
///
/// assert_eq!(points(0.15), "15 points");
/// assert_eq!(points(-0.01), "−1 point");
/// assert_eq!(points(0.004), "0.4 points");
/// ```
#[must_use]
pub fn points(difference: f64) -> String {
    let digits = point_digits(difference);
    let unit = match digits.trim_start_matches(MINUS) {
        "1" => "point",
        _ => "points",
    };
    format!("{digits} {unit}")
}

/// A difference in percentage points with its interval.
///
/// ```
/// use schema::numbers::points_with_interval;
///
/// assert_eq!(points_with_interval(0.15, (0.09, 0.21)), "15 points (9 to 21)");
/// assert_eq!(points_with_interval(0.15, (-0.09, 0.39)), "15 points (−9 to 39)");
/// ```
#[must_use]
pub fn points_with_interval(difference: f64, ends: (f64, f64)) -> String {
    format!("{} ({})", points(difference), point_interval(ends))
}

/// The ends of an interval of a difference, in percentage points.
///
/// ```
/// assert_eq!(schema::numbers::point_interval((-0.09, 0.002)), "−9 to 0.2");
/// ```
#[must_use]
pub fn point_interval((lower, upper): (f64, f64)) -> String {
    format!("{} to {}", point_digits(lower), point_digits(upper))
}

/// The digits of a difference in percentage points, without the unit, for tables whose column names it.
#[must_use]
pub fn point_digits(difference: f64) -> String {
    let points = difference * 100.0;
    let decimals = match points.abs() {
        size if size == 0.0 || size >= 0.95 => 0,
        size if size >= 0.095 => 1,
        size if size >= 0.0095 => 2,
        _ => 3,
    };
    rounded(points, decimals)
}

/// A p-value in a sentence.
///
/// ```
/// use schema::numbers::p_value;
///
/// assert_eq!(p_value(0.0312), "p = 0.031");
/// assert_eq!(p_value(0.000_2), "p < 0.001");
/// ```
#[must_use]
pub fn p_value(p: f64) -> String {
    match p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {}", p_digits(p)),
    }
}

/// The digits of a p-value: three decimals, `<0.001` below that.
#[must_use]
pub fn p_digits(p: f64) -> String {
    match p < 0.001 {
        true => "<0.001".to_owned(),
        false => rounded(p, 3),
    }
}

/// A count with groups of three digits.
///
/// ```
/// use schema::numbers::grouped;
///
/// assert_eq!(grouped(1_920), "1,920");
/// assert_eq!(grouped(999), "999");
/// ```
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many independent rows some rows are worth: one decimal below a hundred.
///
/// ```
/// assert_eq!(schema::numbers::worth(12.345), "12.3");
/// assert_eq!(schema::numbers::worth(1_234.5), "1,235");
/// ```
#[must_use]
pub fn worth(rows: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no run has 2^53 rows, and no number of rows is negative"
    )]
    match rows < 99.95 {
        true => rounded(rows, 1),
        false => grouped(rows.round() as u64),
    }
}

/// Dollars to the cent; below ten cents, cents.
///
/// ```
/// use schema::numbers::dollars;
///
/// assert_eq!(dollars(1_234.567), "$1,234.57");
/// assert_eq!(dollars(0.033), "3.3 cents");
/// assert_eq!(dollars(0.000_012), "<0.1 cents");
/// assert_eq!(dollars(0.0), "$0");
/// ```
#[must_use]
pub fn dollars(dollars: f64) -> String {
    if dollars == 0.0 {
        "$0".to_owned()
    } else if dollars < 0.000_5 {
        "<0.1 cents".to_owned()
    } else if dollars < 0.099_5 {
        format!("{} cents", rounded(dollars * 100.0, 1))
    } else {
        let text = rounded(dollars, 2);
        let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
        let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
        format!("${whole}.{cents}")
    }
}

/// Dollars beside a limit in dollars that they are not equal to: `$1.20, above $1.00`, or `just above $1.00` where both have the same cents.
///
/// ```
/// use schema::numbers::dollars_above;
///
/// assert_eq!(dollars_above(1.2, 1.0), "$1.20, above $1.00");
/// assert_eq!(dollars_above(1.000_1, 1.0), "just above $1.00");
/// ```
#[must_use]
pub fn dollars_above(amount: f64, limit: f64) -> String {
    let [amount, limit] = [amount, limit].map(dollars);
    match amount == limit {
        true => format!("just above {limit}"),
        false => format!("{amount}, above {limit}"),
    }
}

/// `value` with this many decimals, halves away from zero, a real minus before negative numbers, and no minus before zero.
#[must_use]
pub fn rounded(value: f64, decimals: usize) -> String {
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    let size = (value.abs() * scale + HALF_GUARD).round() / scale;
    let digits = format!("{size:.decimals$}");
    match value < 0.0 && size > 0.0 {
        true => format!("{MINUS}{digits}"),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_alike_however_binary_numbers_lie() {
        for n in 0..100_u32 {
            let share = (f64::from(n) + 0.5) / 100.0;
            assert_eq!(
                percent(share),
                format!("{}%", n + 1).replace("100%", ">99%"),
                "{share}"
            );
            assert_eq!(rounded(-f64::from(n) - 0.5, 0), format!("−{}", n + 1));
        }
    }

    #[test]
    fn what_is_not_zero_is_not_shown_as_zero() {
        assert_eq!(percent(1e-12), "<1%");
        assert_eq!(percent(1.0 - 1e-12), ">99%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(point_digits(0.0), "0");
        assert_eq!(point_digits(-0.0), "0");
        assert_eq!(point_digits(0.009_6), "1");
        assert_eq!(point_digits(-0.000_4), "−0.04");
    }

    #[test]
    fn sums_of_money_have_no_four_decimals() {
        for (amount, text) in [
            (0.000_001, "<0.1 cents"),
            (0.012_34, "1.2 cents"),
            (0.099_4, "9.9 cents"),
            (0.1, "$0.10"),
            (9.5, "$9.50"),
            (999.999, "$1,000.00"),
        ] {
            assert_eq!(dollars(amount), text);
        }
    }

    #[test]
    fn what_is_no_number_is_shown_as_it_is() {
        assert_eq!(percent(f64::NAN), "NaN%");
        assert_eq!(dollars(f64::INFINITY), "$inf.00");
    }
}
