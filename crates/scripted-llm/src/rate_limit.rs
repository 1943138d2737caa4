//! A limit of requests and tokens, with the headers that providers send about theirs.

use std::{
    str::FromStr,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue, RETRY_AFTER},
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{FaultError, reply::Reply, wire::ApiError};

/// How many requests, and tokens of requests and replies, the server allows in a time. Others are refused.
///
/// ```
/// use scripted_llm::{LimitHeaders, RateLimit};
///
/// // 500 requests and 100,000 tokens a minute, with OpenAI's headers.
/// let limit: RateLimit = "500; tokens=100000; per=60; headers=openai".parse()?;
/// assert_eq!((limit.requests, limit.headers), (Some(500), LimitHeaders::OpenAi));
/// # Ok::<(), scripted_llm::FaultError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// Requests in [`per`](Self::per). `None`: unlimited.
    pub requests: Option<u32>,
    /// Tokens in [`per`](Self::per), as `usage` reports them. `None`: unlimited.
    pub tokens: Option<u32>,
    /// The time. Default: a second.
    pub per: Duration,
    /// What is allowed comes all at once, each time that `per` has passed since the first request. By default it comes steadily, and is kept
    /// up to as much as `per` gives.
    pub is_window: bool,
    /// The headers of every reply.
    pub headers: LimitHeaders,
    /// The status of a refusal: 429 by default.
    pub status: StatusCode,
    /// Whether a refusal has a `Retry-After`, in whole seconds.
    pub retry_after: bool,
}

/// Whose headers say what is left of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitHeaders {
    /// None.
    #[default]
    None,
    /// OpenAI's: `x-ratelimit-remaining-requests: 499`, `x-ratelimit-reset-requests: 120ms`.
    OpenAi,
    /// Anthropic's: `anthropic-ratelimit-requests-remaining: 499`, `anthropic-ratelimit-requests-reset` with a time in whole seconds.
    Anthropic,
}

impl Default for RateLimit {
    /// No limit.
    fn default() -> Self {
        Self {
            requests: None,
            tokens: None,
            per: Duration::from_secs(1),
            is_window: false,
            headers: LimitHeaders::None,
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: false,
        }
    }
}

/// Parses a limit from its number of requests (or `none`) and conditions, separated by `;`: `tokens=COUNT`, `per=SECONDS`, `window`,
/// `headers=openai` or `anthropic`, `status=529`, `retry-after`.
impl FromStr for RateLimit {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = |reason: String| FaultError::new(text, reason);
        let mut parts = text.split(';').map(str::trim);
        let requests = match parts.next().unwrap_or_default() {
            "none" => None,
            count => Some(number("the limit", count).map_err(wrong)?),
        };
        let mut limit = Self {
            requests,
            ..Self::default()
        };
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.trim() {
                "tokens" => limit.tokens = Some(number(key, value).map_err(wrong)?),
                "per" => limit.per = Duration::from_secs(number(key, value).map_err(wrong)?),
                "window" => limit.is_window = true,
                "retry-after" => limit.retry_after = true,
                "status" => {
                    let status = StatusCode::from_u16(number(key, value).map_err(wrong)?);
                    limit.status = status.map_err(|error| wrong(error.to_string()))?;
                }
                "headers" => {
                    limit.headers = match value.trim() {
                        "openai" => LimitHeaders::OpenAi,
                        "anthropic" => LimitHeaders::Anthropic,
                        _ => return Err(wrong(format!("unknown headers {value:?}"))),
                    };
                }
                _ => return Err(wrong(format!("unknown condition {key:?}"))),
            }
        }
        Ok(limit)
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    let parsed = value.trim().parse();
    parsed.map_err(|_| format!("{key} needs a number, not {value:?}"))
}

/// What is left of a limit.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    left: Mutex<Option<Left>>,
}

/// What is left of requests and tokens, at a time. As floats: a part of one comes back in a part of the time.
#[derive(Clone, Copy, Debug)]
struct Left {
    requests: f64,
    tokens: f64,
    at: Instant,
    window_began: Instant,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            left: Mutex::new(None),
        }
    }

    /// `reply` with the headers of the limit, or the refusal in its place, and whether it is refused.
    pub(crate) fn pass(&self, reply: Reply, now: Instant) -> (Reply, bool) {
        let tokens = match self.limit.tokens {
            Some(_) => f64::from(tokens_of(&reply)),
            None => 0.0,
        };
        let mut state = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.refilled(*state, now);
        let is_allowed = left.requests >= 1.0 && left.tokens >= tokens.min(self.most().1);
        if is_allowed {
            left.requests -= 1.0;
            left.tokens -= tokens;
        }
        *state = Some(left);
        drop(state);
        let reply = if is_allowed {
            reply
        } else {
            self.refusal(&left, tokens)
        };
        let headers = self.headers(&left);
        let reply = headers
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with_header(name, value));
        (reply, !is_allowed)
    }

    fn most(&self) -> (f64, f64) {
        let most = |count: Option<u32>| count.map_or(f64::INFINITY, f64::from);
        (most(self.limit.requests), most(self.limit.tokens))
    }

    fn refilled(&self, left: Option<Left>, now: Instant) -> Left {
        let (requests, tokens) = self.most();
        let Some(left) = left else {
            return Left {
                requests,
                tokens,
                at: now,
                window_began: now,
            };
        };
        let per = self.limit.per.as_secs_f64();
        let share = if self.limit.is_window {
            let windows = (now - left.window_began).as_secs_f64() / per;
            if windows < 1.0 { 0.0 } else { 1.0 }
        } else {
            (now - left.at).as_secs_f64() / per
        };
        let filled = |left: f64, most: f64| match most.is_finite() {
            true => (left + share * most).min(most),
            false => most,
        };
        let windows_over = (now - left.window_began).as_secs_f64().div_euclid(per);
        Left {
            requests: filled(left.requests, requests),
            tokens: filled(left.tokens, tokens),
            at: now,
            window_began: left.window_began + self.limit.per.mul_f64(windows_over),
        }
    }

    /// The time until so much is there again.
    fn until(&self, left: &Left, is: f64, wanted: f64, most: f64) -> Duration {
        match (is >= wanted, self.limit.is_window) {
            (true, false) => Duration::ZERO,
            (_, true) => (left.window_began + self.limit.per) - left.at,
            (false, false) => self.limit.per.mul_f64((wanted - is) / most),
        }
    }

    fn refusal(&self, left: &Left, tokens: f64) -> Reply {
        let (requests, most_tokens) = self.most();
        let what = if left.requests < 1.0 {
            "requests"
        } else {
            "tokens"
        };
        let per = self.limit.per.as_secs_f64();
        let message = format!("Rate limit reached: too many {what} in {per} s.");
        let error = ApiError::new(self.limit.status, what, message).code("rate_limit_exceeded");
        let wait = Duration::max(
            self.until(left, left.requests, 1.0, requests),
            self.until(left, left.tokens, tokens.min(most_tokens), most_tokens),
        );
        match self.limit.retry_after {
            true => {
                let seconds = wait.as_secs_f64().ceil().max(1.0);
                let value = HeaderValue::from_str(&format!("{seconds:.0}"))
                    .unwrap_or(HeaderValue::from_static("1"));
                error.reply().with_header(RETRY_AFTER, value)
            }
            false => error.reply(),
        }
    }

    fn headers(&self, left: &Left) -> Vec<(HeaderName, HeaderValue)> {
        let (requests, tokens) = self.most();
        let kinds = [
            ("requests", left.requests, requests),
            ("tokens", left.tokens, tokens),
        ];
        let mut headers = Vec::new();
        for (kind, is, most) in kinds.into_iter().filter(|(.., most)| most.is_finite()) {
            let reset = self.until(left, is, most, most);
            let (prefix, reset) = match self.limit.headers {
                LimitHeaders::None => continue,
                LimitHeaders::OpenAi => ("x-ratelimit", format!("{}ms", reset.as_millis())),
                LimitHeaders::Anthropic => ("anthropic-ratelimit", whole_second(reset)),
            };
            let name = |part: &str| match self.limit.headers {
                LimitHeaders::OpenAi => format!("{prefix}-{part}-{kind}"),
                _ => format!("{prefix}-{kind}-{part}"),
            };
            let values = [
                ("limit", format!("{most:.0}")),
                ("remaining", format!("{:.0}", is.max(0.0).floor())),
                ("reset", reset),
            ];
            headers.extend(values.into_iter().filter_map(|(part, value)| {
                let name = HeaderName::try_from(name(part)).ok()?;
                Some((name, HeaderValue::try_from(value).ok()?))
            }));
        }
        headers
    }
}

/// The point in time `after` from now, in RFC 3339, rounded up to a whole second.
fn whole_second(after: Duration) -> String {
    let at = SystemTime::now() + after;
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_millis().div_ceil(1000));
    let point = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    point.unwrap_or_default().to_string()
}

/// The tokens in the `usage` of a completion.
fn tokens_of(reply: &Reply) -> u32 {
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let tokens = body.and_then(|body| body["usage"]["total_tokens"].as_u64());
    tokens.map_or(0, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_read() {
        let limit: RateLimit =
            "500; tokens=100000; per=60; window; headers=anthropic; retry-after; status=529"
                .parse()
                .unwrap();
        let same = RateLimit {
            requests: Some(500),
            tokens: Some(100_000),
            per: Duration::from_secs(60),
            is_window: true,
            headers: LimitHeaders::Anthropic,
            status: StatusCode::from_u16(529).unwrap(),
            retry_after: true,
        };
        assert_eq!(limit, same);
        assert_eq!(
            "none; tokens=9".parse::<RateLimit>().unwrap().requests,
            None
        );
        for (text, reason) in [
            ("", "needs a number"),
            ("5; colour", "unknown condition"),
            ("5; headers=mine", "unknown headers"),
            ("5; tokens", "needs a number"),
        ] {
            let error = text.parse::<RateLimit>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
