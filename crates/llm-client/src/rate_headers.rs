//! Headers that say how much of a limit is left: OpenAI's, which many servers send, and Anthropic's.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use schema::{RateLeft, RateUnit};

use crate::retry_after::reset;

/// What the headers of a reply say is left. A part that is missing or cannot be read leaves its limit out. `now` is the time of the reply;
/// where it has a date, points in time count from that, so that a clock that is wrong does no harm.
pub(crate) fn rates_left(headers: &HeaderMap, now: SystemTime) -> Vec<RateLeft> {
    rates_left_by(|name| headers.get(name)?.to_str().ok(), now)
}

/// The same for headers that are found by `header`.
pub(crate) fn rates_left_by<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    now: SystemTime,
) -> Vec<RateLeft> {
    let date = header("date").and_then(|date| httpdate::parse_http_date(date).ok());
    let now = date.unwrap_or(now);
    let limit = |unit| {
        let (remaining, resets) = names(unit);
        let pairs = remaining.iter().zip(resets);
        let mut found = pairs.filter_map(|(remaining, resets)| {
            Some(RateLeft {
                unit,
                left: header(remaining)?.trim().parse().ok()?,
                resets_in: resets_in(header(resets)?.trim(), now)?,
            })
        });
        found.next()
    };
    RateUnit::ALL.into_iter().filter_map(limit).collect()
}

/// The headers of a limit: what is left, and when all of it is there again.
fn names(unit: RateUnit) -> (&'static [&'static str], &'static [&'static str]) {
    match unit {
        RateUnit::Requests => (
            &[
                "x-ratelimit-remaining-requests",
                "anthropic-ratelimit-requests-remaining",
            ],
            &[
                "x-ratelimit-reset-requests",
                "anthropic-ratelimit-requests-reset",
            ],
        ),
        RateUnit::Tokens => (
            &[
                "x-ratelimit-remaining-tokens",
                "anthropic-ratelimit-tokens-remaining",
            ],
            &[
                "x-ratelimit-reset-tokens",
                "anthropic-ratelimit-tokens-reset",
            ],
        ),
        RateUnit::InputTokens => (
            &["anthropic-ratelimit-input-tokens-remaining"],
            &["anthropic-ratelimit-input-tokens-reset"],
        ),
        RateUnit::OutputTokens => (
            &["anthropic-ratelimit-output-tokens-remaining"],
            &["anthropic-ratelimit-output-tokens-reset"],
        ),
    }
}

/// A length of time, or a point in time: RFC 3339, or seconds since 1970.
fn resets_in(text: &str, now: SystemTime) -> Option<Duration> {
    match text.parse::<Timestamp>() {
        Ok(point) => Some(
            SystemTime::from(point)
                .duration_since(now)
                .unwrap_or_default(),
        ),
        Err(_) => reset(text, now),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn read(headers: &[(&str, &str)]) -> Vec<(RateUnit, u64, f64)> {
        let find = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| *value)
        };
        // 2024-05-01T12:00:00Z
        let now = UNIX_EPOCH + Duration::from_secs(1_714_564_800);
        rates_left_by(find, now)
            .into_iter()
            .map(|limit| (limit.unit, limit.left, limit.resets_in.as_secs_f64()))
            .collect()
    }

    #[test]
    fn openais_headers_are_read() {
        let headers = [
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(
            read(&headers),
            [
                (RateUnit::Requests, 499, 0.12),
                (RateUnit::Tokens, 149_984, 360.0)
            ]
        );
    }

    #[test]
    fn anthropics_headers_are_read_by_the_servers_clock() {
        let headers = [
            ("date", "Wed, 01 May 2024 11:59:00 GMT"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2024-05-01T12:00:01Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "30000"),
            (
                "anthropic-ratelimit-input-tokens-reset",
                "2024-05-01T11:00:00Z",
            ),
            ("anthropic-ratelimit-output-tokens-remaining", "8000"),
            (
                "anthropic-ratelimit-output-tokens-reset",
                "2024-05-01T11:59:30+00:00",
            ),
        ];
        assert_eq!(
            read(&headers),
            [
                (RateUnit::Requests, 49, 61.0),
                (RateUnit::InputTokens, 30_000, 0.0),
                (RateUnit::OutputTokens, 8000, 30.0)
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        for (remaining, resets) in [
            ("-1", "1s"),
            ("many", "1s"),
            ("1.5", "1s"),
            ("", "1s"),
            ("1", ""),
            ("1", "soon"),
            ("1", "-1s"),
            ("1", "NaN"),
            ("1", "1e300"),
        ] {
            let headers = [
                ("x-ratelimit-remaining-requests", remaining),
                ("x-ratelimit-reset-requests", resets),
            ];
            assert_eq!(read(&headers), [], "{headers:?}");
        }
        assert_eq!(read(&[("x-ratelimit-remaining-requests", "3")]), []);
    }
}
