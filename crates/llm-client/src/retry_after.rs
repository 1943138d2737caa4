//! How long an endpoint asks clients to wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{Span, SpanRelativeTo};
use reqwest::header::HeaderMap;

/// Reads `retry-after-ms`, `retry-after` (seconds, fractions, dates) and, where a rate limit is used up,
/// `x-ratelimit-reset*`. `now` is the time of the reply.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(delay) = header("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(delay);
    }
    if let Some(text) = header("retry-after") {
        let delay = seconds(text, 1.0).or_else(|| until_date(text, now));
        if delay.is_some() {
            return delay;
        }
    }
    ["", "-requests", "-tokens"]
        .into_iter()
        .filter(|what| {
            let remaining = header(&format!("x-ratelimit-remaining{what}"));
            remaining.is_none_or(|remaining| remaining.starts_with('0'))
        })
        .filter_map(|what| reset(header(&format!("x-ratelimit-reset{what}"))?, now))
        .max()
}

/// A number of units of `unit` seconds.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// The time until an HTTP date; `None` for a past date.
fn until_date(text: &str, now: SystemTime) -> Option<Duration> {
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// `x-ratelimit-reset`: seconds, a duration such as `6m0s` or `20ms`, or a point in time in seconds or milliseconds.
pub(crate) fn reset(text: &str, now: SystemTime) -> Option<Duration> {
    const YEAR_2001: f64 = 1e9;
    const YEAR_2001_MS: f64 = 1e12;
    let Ok(number) = text.parse::<f64>() else {
        return duration(text);
    };
    let point = match number {
        ..YEAR_2001 => return Duration::try_from_secs_f64(number).ok(),
        ..YEAR_2001_MS => number,
        _ => number / 1e3,
    };
    let point = UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(point).ok()?)?;
    Some(point.duration_since(now).unwrap_or_default())
}

/// A duration in Go's format: `1h2m3.5s`, `20ms`.
fn duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours());
    length.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Option<f64> {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after(&headers, now).map(|delay| (delay.as_secs_f64() * 1e6).round() / 1e6)
    }

    #[test]
    fn every_form_is_read() {
        for (headers, seconds) in [
            (&[("retry-after", "3")][..], Some(3.0)),
            (&[("retry-after", " 0.25 ")], Some(0.25)),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")],
                Some(30.0),
            ),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")],
                Some(0.0),
            ),
            (
                &[("retry-after", "Sunday, 06-Nov-94 08:49:47 GMT")],
                Some(10.0),
            ),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], None),
            (
                &[("retry-after-ms", "1500"), ("retry-after", "9")],
                Some(1.5),
            ),
            (&[("x-ratelimit-reset-requests", "6m0s")], Some(360.0)),
            (&[("x-ratelimit-reset-tokens", "20ms")], Some(0.02)),
            (&[("x-ratelimit-reset", "2.5")], Some(2.5)),
            (&[("x-ratelimit-reset", "784111787")], Some(784_111_787.0)),
            (&[("x-ratelimit-reset", "1h1m1.5s")], Some(3661.5)),
            (&[("x-ratelimit-reset", "1d2h")], Some(93_600.0)),
            (&[("x-ratelimit-reset", "120us")], Some(0.000_12)),
            (&[("x-ratelimit-reset", "6 bananas")], None),
            (&[("x-ratelimit-reset", "-6s")], None),
            (&[("x-ratelimit-reset", "")], None),
            (
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "9s"),
                    ("x-ratelimit-remaining-tokens", "500"),
                ],
                Some(1.0),
            ),
            (&[], None),
        ] {
            assert_eq!(read(headers), seconds, "{headers:?}");
        }
    }

    #[test]
    fn points_in_time_are_read_in_seconds_and_milliseconds() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for text in ["1800000005", "1800000005000"] {
            assert_eq!(reset(text, now), Some(Duration::from_secs(5)));
        }
    }
}
