//! Requests about a batch.

use std::time::{Duration, SystemTime};

use reqwest::{
    Method, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::Value;

use super::lines::Lines;
use crate::{
    Api, HttpClient, ModelSettings, SettingsError,
    causes::full_text,
    endpoint::{KeyHeader, address_of, headers},
    retry_after::retry_after,
    scrub::Scrubber,
    wire::Refusal,
};

/// The longest answer about a batch, and the longest line of its results, in bytes.
const LONGEST: usize = 8 << 20;
/// Attempts of a request about a batch.
const ATTEMPTS: u32 = 6;
/// The longest wait between two.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Characters of a reason that are shown.
const REASON: usize = 300;

/// Sends requests about batches to the endpoint of a model.
pub(super) struct Exchange {
    client: reqwest::Client,
    base: Url,
    headers: HeaderMap,
    timeout: Duration,
    scrubber: Scrubber,
}

/// A request that was refused or failed for good.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    /// Why, in words.
    pub(super) reason: String,
    /// Whether what it is about is not there.
    pub(super) is_gone: bool,
}

impl Refused {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_gone: false,
        }
    }
}

/// Why one attempt failed.
enum Failed {
    Again(String, Option<Duration>),
    Refused(Refused),
}

/// The body of a request.
pub(super) struct Upload {
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
}

impl Upload {
    pub(super) fn json(value: &Value) -> Self {
        Self {
            content_type: "application/json".to_owned(),
            bytes: value.to_string().into_bytes(),
        }
    }
}

impl Exchange {
    pub(super) fn new(
        api: Api,
        settings: &ModelSettings,
        http: &HttpClient,
    ) -> Result<Self, SettingsError> {
        let key = match api {
            Api::Messages => KeyHeader::ApiKey,
            Api::ChatCompletions | Api::Responses => KeyHeader::Bearer,
        };
        let mut headers = headers(settings, key)?;
        api.add_version(&mut headers);
        let mut base = address_of(settings, api.path())?;
        let before = base.path().strip_suffix(api.path());
        let folder = before.unwrap_or_default().to_owned();
        base.set_path(&folder);
        let client = http.own_client(base.as_str());
        Ok(Self {
            client: client.map_err(|error| SettingsError::http(&error))?,
            base,
            headers,
            timeout: settings.request_timeout,
            scrubber: Scrubber::new(settings),
        })
    }

    /// Sends a request, several times if need be, and reads the JSON of the answer.
    pub(super) async fn json(
        &self,
        method: Method,
        path: &str,
        upload: Option<&Upload>,
    ) -> Result<Value, Refused> {
        let mut body = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            body.clear();
            let fetched = self.fetch(method.clone(), path, upload, |piece| {
                body.extend_from_slice(piece);
                body.len() <= LONGEST
            });
            let read = fetched.await.and_then(|()| {
                let json = serde_json::from_slice(&body);
                json.map_err(|_| Failed::Again("the answer is not JSON".to_owned(), None))
            });
            match read {
                Ok(json) => return Ok(json),
                Err(failed) => self.wait(failed, attempt, path).await?,
            }
        }
    }

    /// Reads a file of lines, from its beginning again if the connection breaks: a line may come more than once.
    pub(super) async fn lines(
        &self,
        path: &str,
        mut each: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Refused> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut lines = Lines::new(LONGEST);
            let fetched = self.fetch(Method::GET, path, None, |piece| {
                lines.push(piece, &mut each);
                true
            });
            match fetched.await {
                Ok(()) => {
                    lines.end(&mut each);
                    return Ok(());
                }
                Err(failed) => self.wait(failed, attempt, path).await?,
            }
        }
    }

    /// Waits before the next attempt, if there is one.
    async fn wait(&self, failed: Failed, attempt: u32, path: &str) -> Result<(), Refused> {
        match failed {
            Failed::Again(_, after) if attempt < ATTEMPTS => {
                let wait = Duration::from_millis(250) * 4u32.pow(attempt - 1);
                tokio::time::sleep(after.unwrap_or(wait).min(LONGEST_WAIT)).await;
                Ok(())
            }
            Failed::Again(reason, _) => Err(Refused::because(format!("{path}: {reason}"))),
            Failed::Refused(refused) => Err(Refused {
                reason: format!("{path}: {}", refused.reason),
                ..refused
            }),
        }
    }

    /// Sends a request once, and passes the body of a good answer on in pieces until `take` has enough.
    async fn fetch(
        &self,
        method: Method,
        path: &str,
        upload: Option<&Upload>,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Failed> {
        let unreached = |error: reqwest::Error| {
            let reason = full_text(&error.without_url());
            Failed::Again(self.scrubber.excerpt(&reason, REASON), None)
        };
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = self.headers.clone();
        if let Some(upload) = upload {
            let kind = HeaderValue::try_from(upload.content_type.as_str())
                .map_err(|error| Failed::Refused(Refused::because(error.to_string())))?;
            request.headers_mut().insert(CONTENT_TYPE, kind);
            *request.body_mut() = Some(upload.bytes.clone().into());
        }
        let answered = tokio::time::timeout(self.timeout, self.client.execute(request)).await;
        let slow = |_| Failed::Again("no answer within the model's timeout".to_owned(), None);
        let mut response = answered.map_err(slow)?.map_err(unreached)?;
        let status = response.status();
        let mut refusal = Vec::new();
        loop {
            let piece = tokio::time::timeout(self.timeout, response.chunk()).await;
            let Some(piece) = piece.map_err(slow)?.map_err(unreached)? else {
                break;
            };
            let has_enough = match status.is_success() {
                true => !take(&piece),
                false => {
                    refusal.extend_from_slice(&piece);
                    refusal.len() > LONGEST
                }
            };
            if has_enough {
                break;
            }
        }
        match status.is_success() {
            true => Ok(()),
            false => Err(self.failed(status, response.headers(), &refusal)),
        }
    }

    fn failed(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failed {
        let message = Refusal::read(body).message;
        let reason = format!("{status}: {}", self.scrubber.excerpt(&message, REASON));
        let after = retry_after(headers, SystemTime::now());
        match status {
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Failed::Again(reason, after)
            }
            status if status.is_server_error() => Failed::Again(reason, after),
            _ => Failed::Refused(Refused {
                reason,
                is_gone: status == StatusCode::NOT_FOUND,
            }),
        }
    }

    /// The result of a request, as replies are read.
    pub(super) fn scrubbed(&self, reply: String) -> String {
        self.scrubber.reply(reply)
    }

    /// A text of the provider, to be shown.
    pub(super) fn excerpt(&self, text: &str) -> String {
        self.scrubber.excerpt(text, REASON)
    }
}
