//! Numbers formatted for people, and what stands for unknown ones. The forms are those of [`schema::numbers`].

use schema::numbers;
pub(crate) use schema::numbers::{dollars, grouped, p_value, point_digits, points, rounded};

pub(crate) use interop::sheet::UNKNOWN;

/// A rate from 0 to 1 with its interval, if it has one; `-` without a rate.
pub(crate) fn rate(share: Option<f64>, ends: Option<(f64, f64)>) -> String {
    share.map_or_else(|| UNKNOWN.to_owned(), |share| numbers::rate(share, ends))
}

/// A rate from 0 to 1 in whole percent; `-` without a rate.
pub(crate) fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| UNKNOWN.to_owned(), numbers::percent)
}

/// A count in short form: `9,500`, `12.3k`, `4.5M`, `7.8G`.
pub(crate) fn short(n: u64) -> String {
    for (unit, size) in [("k", 1_000_u64), ("M", 1_000_000), ("G", 1_000_000_000)] {
        // Tenths of the unit, rounded. From 999,950 on, the next unit is used.
        let tenths = (u128::from(n) * 10 + u128::from(size) / 2) / u128::from(size);
        if n >= 10_000 && (tenths < 10_000 || unit == "G") {
            return format!("{}.{}{unit}", tenths / 10, tenths % 10);
        }
    }
    grouped(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (n, text) in [
            (0, "0"),
            (9_999, "9,999"),
            (12_345, "12.3k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (4_500_000_000, "4.5G"),
        ] {
            assert_eq!(short(n), text);
        }
    }
}
