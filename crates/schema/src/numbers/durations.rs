//! Durations: measured ones, waits and estimates, and times since a start.
//!
//! Below a minute, all have their unit. From a minute on, what is measured is `1:52` or `3:20:00`, and what is estimated `38 min`.

use super::rounded;

/// Whole seconds as minutes and seconds, and hours if there are any: `0:05`, `1:52`, `3:20:00`.
///
/// ```
/// use schema::numbers::clock;
///
/// assert_eq!(clock(112), "1:52");
/// assert_eq!(clock(3_725), "1:02:05");
/// ```
#[must_use]
pub fn clock(seconds: u64) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}:{rest:02}"),
        (hours, minutes) => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// A measured duration in seconds: milliseconds below a second, hundredths below a minute.
///
/// ```
/// use schema::numbers::duration;
///
/// assert_eq!(duration(0.0207), "21 ms");
/// assert_eq!(duration(1.525), "1.53 s");
/// assert_eq!(duration(125.2), "2:05");
/// ```
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        format!("{seconds} s")
    } else if seconds > 0.0 && seconds < 0.000_5 {
        "<1 ms".to_owned()
    } else if seconds < 0.999_5 {
        format!("{} ms", rounded(seconds * 1000.0, 0))
    } else if seconds < 59.995 {
        format!("{} s", rounded(seconds, 2))
    } else {
        clock(whole(seconds))
    }
}

/// The length of a wait in seconds, to the second.
///
/// ```
/// use schema::numbers::wait;
///
/// assert_eq!(wait(4.6), "5 s");
/// assert_eq!(wait(112.0), "1:52");
/// ```
#[must_use]
pub fn wait(seconds: f64) -> String {
    match whole(seconds) {
        short @ 0..60 => format!("{short} s"),
        long => clock(long),
    }
}

/// An estimate of a duration in whole seconds, rounded up as far as an estimate is worth.
///
/// ```
/// use schema::numbers::about;
///
/// assert_eq!(about(42), "45 s");
/// assert_eq!(about(2_250), "38 min");
/// ```
#[must_use]
pub fn about(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..10 => (seconds.max(1), "s"),
        10..90 => (seconds.next_multiple_of(5), "s"),
        90..5_400 => (seconds.div_ceil(60), "min"),
        5_400..129_600 => (seconds.div_ceil(3_600), "h"),
        _ => (seconds.div_ceil(86_400), "days"),
    };
    format!("{count} {unit}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no duration has 2^63 seconds, and a negative one is 0"
)]
fn whole(seconds: f64) -> u64 {
    seconds.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.000_01, "<1 ms"),
            (0.0205, "21 ms"),
            (0.9996, "1.00 s"),
            (1.005, "1.01 s"),
            (59.999, "1:00"),
            (12_000.0, "3:20:00"),
            (90_061.0, "25:01:01"),
            (-1.0, "-1 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!((wait(59.4), wait(59.5)), ("59 s".into(), "1:00".into()));
        for (seconds, text) in [
            (0, "1 s"),
            (90, "2 min"),
            (7_200, "2 h"),
            (200_000, "3 days"),
        ] {
            assert_eq!(about(seconds), text);
        }
    }
}
