//! Numbers formatted for people.

/// Shown for an unknown value.
pub(crate) const UNKNOWN: &str = "-";

/// A rate from 0 to 1 in percent with one decimal; `-` without a rate. A rate that only rounds to 0% or 100% is shown as a bound:
/// `<0.1%`, `>99.9%`.
pub(crate) fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| UNKNOWN.to_owned(), schema::text::percent)
}

/// The ends of an interval in percent; `-` without an interval.
pub(crate) fn interval(ends: Option<(f64, f64)>) -> String {
    ends.map_or_else(
        || UNKNOWN.to_owned(),
        |(lower, upper)| format!("{} - {}", percent(Some(lower)), percent(Some(upper))),
    )
}

/// The same as [`interval`] in fewer characters: `39.8-100.0%`.
pub(crate) fn compact_interval(ends: Option<(f64, f64)>) -> String {
    ends.map_or_else(
        || UNKNOWN.to_owned(),
        |(lower, upper)| {
            let lower = percent(Some(lower));
            format!("{}-{}", lower.trim_end_matches('%'), percent(Some(upper)))
        },
    )
}

/// Dollars, rounded to the cent from ten dollars on, and to a hundredth of a cent below.
pub(crate) fn dollars(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.000_05 {
        "<$0.0001".to_owned()
    } else if dollars < 10.0 {
        format!("${dollars:.4}")
    } else {
        format!("${dollars:.2}")
    }
}

/// A count in short form: `950`, `12.3k`, `4.5M`, `7.8G`.
pub(crate) fn short(n: u64) -> String {
    for (unit, size) in [("k", 1_000_u64), ("M", 1_000_000), ("G", 1_000_000_000)] {
        // Tenths of the unit, rounded. From 999,950 on, the next unit is used.
        let tenths = (u128::from(n) * 10 + u128::from(size) / 2) / u128::from(size);
        if n >= 10_000 && (tenths < 10_000 || unit == "G") {
            return format!("{}.{}{unit}", tenths / 10, tenths % 10);
        }
    }
    n.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_never_hide_a_row() {
        for (rate, text) in [
            (None, "-"),
            (Some(0.0), "0.0%"),
            (Some(0.0001), "<0.1%"),
            (Some(0.6667), "66.7%"),
            (Some(0.9999), ">99.9%"),
            (Some(1.0), "100.0%"),
        ] {
            assert_eq!(percent(rate), text);
        }
    }

    #[test]
    fn dollars_and_counts_are_short() {
        for (amount, text) in [
            (0.0, "$0.0000"),
            (0.000_001, "<$0.0001"),
            (0.012_34, "$0.0123"),
            (9.5, "$9.5000"),
            (1234.567, "$1234.57"),
        ] {
            assert_eq!(dollars(amount), text);
        }
        for (n, text) in [
            (0, "0"),
            (9_999, "9999"),
            (12_345, "12.3k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (4_500_000_000, "4.5G"),
        ] {
            assert_eq!(short(n), text);
        }
    }
}
