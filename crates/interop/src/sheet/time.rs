//! Times and durations in tables.

/// A time in whole seconds since the start that times count from: `+0:05`, `+1:02:05`.
#[must_use]
pub fn since(seconds: u64) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("+{minutes}:{rest:02}"),
        (hours, minutes) => format!("+{hours}:{minutes:02}:{rest:02}"),
    }
}

/// A duration for people: `21 ms`, `1.52 s`, `2m 05s`, `3h 20m`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return format!("{seconds} s");
    }
    let whole = seconds.round();
    let minutes = (whole / 60.0).floor();
    if seconds > 0.0 && seconds < 0.000_5 {
        "<1 ms".to_owned()
    } else if seconds < 0.999_5 {
        format!("{:.0} ms", seconds * 1000.0)
    } else if seconds < 59.995 {
        format!("{seconds:.2} s")
    } else if minutes < 60.0 {
        format!("{minutes:.0}m {:02.0}s", whole - minutes * 60.0)
    } else {
        let hours = (minutes / 60.0).floor();
        format!("{hours:.0}h {:02.0}m", minutes - hours * 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_are_short() {
        for (time, text) in [(0, "+0:00"), (65, "+1:05"), (90_061, "+25:01:01")] {
            assert_eq!(since(time), text);
        }
        for (length, text) in [
            (0.0, "0 ms"),
            (0.000_01, "<1 ms"),
            (0.0207, "21 ms"),
            (0.9996, "1.00 s"),
            (59.999, "1m 00s"),
            (125.2, "2m 05s"),
            (12_000.0, "3h 20m"),
            (-1.0, "-1 s"),
        ] {
            assert_eq!(seconds(length), text);
        }
    }
}
