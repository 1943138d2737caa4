//! Times of events.

use crate::numbers::UNKNOWN;

/// A time in seconds since the start that times count from: `+0.094`, `+2:05.100`, `+1:02:05.100`.
pub(super) fn offset(after: Option<f64>) -> String {
    let Some(after) = after.filter(|after| after.is_finite()) else {
        return UNKNOWN.to_owned();
    };
    let sign = if after < 0.0 { '-' } else { '+' };
    let after = after.abs();
    let minutes = (after / 60.0).floor();
    let rest = after - minutes * 60.0;
    let hours = (minutes / 60.0).floor();
    if minutes < 1.0 {
        format!("{sign}{rest:.3}")
    } else if hours < 1.0 {
        format!("{sign}{minutes:.0}:{rest:06.3}")
    } else {
        format!(
            "{sign}{hours:.0}:{:02.0}:{rest:06.3}",
            minutes - hours * 60.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (after, text) in [
            (Some(0.0944), "+0.094"),
            (Some(125.1), "+2:05.100"),
            (Some(3_725.5), "+1:02:05.500"),
            (Some(-0.001), "-0.001"),
            (None, "-"),
        ] {
            assert_eq!(offset(after), text);
        }
    }
}
