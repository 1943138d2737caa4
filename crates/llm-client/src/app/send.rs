//! Requests to an application: built from templates, sent once.

mod steps;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use indexmap::IndexMap;
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use schema::{ChatRequest, JsonText, ModelError, ModelErrorKind};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::{
    AppErrorKind, AppStep, HttpAppSettings,
    cookies::Cookies,
    redirect,
    response::{AppError, Response, is_good},
    template::{Form, Names, Templates, Text, Variable},
};
use crate::{
    CallFailure, HttpClient, ModelSettings, SecretString,
    failure::Reporter,
    http::Route,
    one_call::{HttpReply, OneCall},
    reply_memory::Waited,
    retry_after::retry_after,
    scrub::Scrubber,
    unreached::Unreached,
};

/// The most bytes of an application's message that an error shows.
const EXCERPT: usize = 300;

/// A request, compiled.
#[derive(Debug)]
pub(super) struct Call {
    place: String,
    /// What it is if it is no turn of a conversation: `open`, `close` or `login`.
    step: Option<&'static str>,
    method: Method,
    url: Text,
    headers: Vec<(HeaderName, Text)>,
    body: Option<Form>,
    form: Vec<(String, Text)>,
    /// What is taken from the response, by JSON pointers.
    take: IndexMap<String, String>,
}

/// The parts of a request as written: address, method, headers, body, form.
type Written<'a> = (
    &'a str,
    &'a str,
    &'a IndexMap<String, String>,
    Option<&'a Value>,
    &'a IndexMap<String, String>,
);

/// Why a request has no usable response, and whether the application may have seen it.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ModelError,
    pub(super) is_seen: bool,
}

/// A response with its headers.
type Fetched = Result<(Response, HeaderMap), Failed>;

impl Failed {
    pub(super) fn seen(error: ModelError) -> Self {
        Self {
            error,
            is_seen: true,
        }
    }

    pub(super) fn unseen(error: ModelError) -> Self {
        Self {
            error,
            is_seen: false,
        }
    }
}

impl Call {
    /// `place` is the key before those of the request; empty for the turns.
    pub(super) fn new(
        place: &str,
        (url, method, headers, body, form): Written<'_>,
        templates: &mut Templates,
        variable: &Variable<'_>,
    ) -> Result<Self, String> {
        let at = |key: &str| match place {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        if body.is_some() && !form.is_empty() {
            return Err(format!("{}: there is a `body` as well", at("form")));
        }
        let address = templates.address(&at("url"), url, variable)?;
        let method = Method::from_bytes(method.to_uppercase().as_bytes())
            .map_err(|_| format!("{}: {method:?} is no HTTP method", at("method")))?;
        let mut compiled = Vec::new();
        for (name, value) in headers {
            let place = at(&format!("headers.{name}"));
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| format!("{place}: not the name of a header"))?;
            compiled.push((header, templates.text(&place, value, variable)?));
        }
        let body = body.map(|body| templates.form(&at("body"), body, variable));
        let fields = form.iter().map(|(name, value)| {
            let text = templates.text(&at(&format!("form.{name}")), value, variable)?;
            Ok((name.clone(), text))
        });
        let form = fields.collect::<Result<_, String>>()?;
        Ok(Self {
            place: at("url"),
            step: None,
            method,
            url: address,
            headers: compiled,
            body: body.transpose()?,
            form,
            take: IndexMap::new(),
        })
    }

    pub(super) fn of_step(
        place: &'static str,
        step: &AppStep,
        templates: &mut Templates,
        variable: &Variable<'_>,
    ) -> Result<Self, String> {
        let written = (
            step.url.as_str(),
            step.method.as_str(),
            &step.headers,
            step.body.as_ref(),
            &step.form,
        );
        let call = Self::new(place, written, templates, variable)?;
        Ok(Self {
            step: Some(place),
            take: step.take.clone(),
            ..call
        })
    }

    fn is_turn(&self) -> bool {
        self.step.is_none()
    }

    /// What is taken from the response.
    ///
    /// # Errors
    /// When a value is not there.
    pub(super) fn taken(&self, response: &Response) -> Result<Value, AppError> {
        let mut taken = Map::new();
        for (name, pointer) in &self.take {
            let value = response.body.pointer(pointer).ok_or_else(|| {
                AppError::malformed(format!("{}: nothing at {pointer} for `{name}`", self.place))
            })?;
            taken.insert(name.clone(), value.clone());
        }
        Ok(taken.into())
    }
}

/// What a login gave.
#[derive(Clone)]
struct LoggedIn {
    values: Value,
    cookies: Cookies,
    at: Instant,
}

/// Sends the requests of one application.
pub(super) struct Sender {
    http: HttpClient,
    templates: Arc<Templates>,
    reporter: Reporter,
    timeout: Duration,
    login: Option<Call>,
    ttl: Option<Duration>,
    logged_in: Mutex<Option<LoggedIn>>,
    /// One login at a time.
    logging_in: Semaphore,
    /// Texts that a login gave, and the values of variables: they are removed from everything that is shown.
    scrubbers: Mutex<Vec<Scrubber>>,
    settings: ModelSettings,
}

impl Sender {
    pub(super) fn new(
        model: &ModelSettings,
        http: HttpClient,
        templates: Arc<Templates>,
        login: Option<Call>,
        step: Option<&AppStep>,
    ) -> Result<Self, String> {
        let mut settings = model.clone();
        let secrets = templates
            .secrets()
            .map(|text| SecretString::from(text.to_owned()));
        settings.hidden.extend(secrets);
        Ok(Self {
            http,
            templates,
            reporter: Reporter::new(&settings).with_address("url"),
            timeout: settings.request_timeout,
            login,
            ttl: step.and_then(|step| step.ttl).map(Duration::from_secs),
            logged_in: Mutex::default(),
            logging_in: Semaphore::new(1),
            scrubbers: Mutex::new(vec![Scrubber::new(&settings)]),
            settings,
        })
    }

    /// Sends `call` of the conversation with `cookies`, after a login where one is configured.
    pub(super) async fn send(
        &self,
        call: &Call,
        mut names: Names,
        cookies: &Cookies,
        request: &ChatRequest,
        settings: &HttpAppSettings,
    ) -> Result<Response, Failed> {
        let mut again = self.login.is_some();
        loop {
            let login = self.logged_in(request, settings).await?;
            if let (Some(login), Ok(url)) = (&login, Url::parse(&self.settings.base_url)) {
                cookies.take_over(&login.cookies, login.at, &url);
            }
            let values = login.map_or(Value::Null, |login| login.values);
            names.insert("login".to_owned(), values);
            let started = Instant::now();
            let fetched = self.fetch(call, &names, cookies, request, settings).await;
            self.record(call, &names, request, started.elapsed(), &fetched);
            let (response, headers) = fetched?;
            if response.status == 401 && again {
                // What the login gave no longer holds.
                *self
                    .logged_in
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = None;
                again = false;
                continue;
            }
            let Some(error) = response.error(settings) else {
                return Ok(response);
            };
            let is_seen = !matches!(response.status, 429 | 503);
            let error = self.app_error_after(request, &error, response.status, &headers);
            return Err(Failed { error, is_seen });
        }
    }

    async fn fetch(
        &self,
        call: &Call,
        names: &Names,
        cookies: &Cookies,
        request: &ChatRequest,
        settings: &HttpAppSettings,
    ) -> Fetched {
        let refused = |reason: String| {
            Failed::unseen(self.error(request, ModelErrorKind::Permanent, &reason))
        };
        let mut built = self.built(call, names).map_err(refused)?;
        let mut redirects = 0;
        let reply = loop {
            if settings.cookies {
                cookies.put(&mut built);
            }
            // The bodies are texts, which can be cloned.
            let copy = built.try_clone();
            let url = built.url().clone();
            let reply = self.reached(built, request).await?;
            if settings.cookies {
                cookies.keep(&reply.headers, &url);
            }
            match copy {
                Some(sent) if reply.status.is_redirection() => {
                    redirects += 1;
                    if redirects > redirect::MOST {
                        let reason = format!("more than {} redirects", redirect::MOST);
                        return Err(refused(reason));
                    }
                    let next = redirect::follow(reply.status, &reply.headers, sent);
                    built = next.map_err(refused)?;
                }
                _ => break reply,
            }
        };
        let status = reply.status.as_u16();
        let failed = |error: AppError| {
            Failed::seen(self.app_error_after(request, &error, status, &reply.headers))
        };
        let text = String::from_utf8(reply.body)
            .map_err(|_| failed(AppError::malformed("the response is not valid UTF-8")))?;
        // Secrets that it echoes are removed before a reply is read. What a step gives is used as it is.
        let text = match call.is_turn() {
            true => self.clean(text),
            false => text,
        };
        let is_streamed = call.is_turn() && is_good(status, settings);
        let stream = settings.stream.as_ref().filter(|_| is_streamed);
        let response = Response::new(status, &reply.headers, &text, stream).map_err(failed)?;
        Ok((response, reply.headers))
    }

    /// The reply to one request.
    async fn reached(
        &self,
        built: reqwest::Request,
        request: &ChatRequest,
    ) -> Result<HttpReply, Failed> {
        let route = Route::to(built.url());
        let waited = Arc::new(Waited::default());
        let one = OneCall::new(self.http.clone(), route, waited);
        let _place = self.http.place().await;
        let fetched = tokio::time::timeout(self.timeout, one.fetch(built)).await;
        fetched.unwrap_or(Err(Unreached::Timeout)).map_err(|what| {
            let is_seen = !matches!(
                what,
                Unreached::Refused(_)
                    | Unreached::Connect(_)
                    | Unreached::ConnectTimeout(_)
                    | Unreached::Unsent(_)
            );
            let error = self.reporter.unreached(request.context.purpose, &what);
            Failed { error, is_seen }
        })
    }

    fn built(&self, call: &Call, names: &Names) -> Result<reqwest::Request, String> {
        let templates = &self.templates;
        let text = templates.render_address(&call.url, names)?;
        let url = Url::parse(&text).map_err(|error| format!("{}: {error}", call.place))?;
        if !self.is_own(&url) {
            return Err(format!("{}: another host than that of `url`", call.place));
        }
        let mut built = reqwest::Request::new(call.method.clone(), url);
        if let Some(form) = &call.body {
            let value = templates.json(form, names)?.unwrap_or_default();
            let (kind, body) = match value {
                Value::String(text) if matches!(form, Form::Text(_)) => {
                    ("text/plain; charset=utf-8", text)
                }
                value => ("application/json", value.to_string()),
            };
            built
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            *built.body_mut() = Some(body.into());
        }
        if !call.form.is_empty() {
            let mut pairs = BTreeMap::new();
            for (name, text) in &call.form {
                if let Some(value) = templates.value(text, names)? {
                    pairs.insert(name.as_str(), plain(value));
                }
            }
            let mut encoded = Url::parse("http://localhost").map_err(|error| error.to_string())?;
            encoded.query_pairs_mut().extend_pairs(pairs);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            built.headers_mut().insert(CONTENT_TYPE, kind);
            *built.body_mut() = Some(encoded.query().unwrap_or_default().to_owned().into());
        }
        for (name, text) in &call.headers {
            let value = templates.render(text, names)?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("headers.{name}: the value does not fit into a header"))?;
            value.set_sensitive(*name == AUTHORIZATION || crate::is_secretive(name.as_str()));
            built.headers_mut().insert(name, value);
        }
        Ok(built)
    }

    /// Whether the address is at the application: of scheme, host and port of its endpoint.
    fn is_own(&self, url: &Url) -> bool {
        Url::parse(&self.settings.base_url).is_ok_and(|base| base.origin() == url.origin())
    }

    /// What the login gave; `None` without one.
    async fn logged_in(
        &self,
        request: &ChatRequest,
        settings: &HttpAppSettings,
    ) -> Result<Option<LoggedIn>, Failed> {
        let Some(login) = &self.login else {
            return Ok(None);
        };
        // The semaphore is never closed.
        let _alone = self.logging_in.acquire().await;
        if let Some(known) = self.known_login() {
            return Ok(Some(known));
        }
        let (names, cookies) = (Names::new(), Cookies::default());
        let started = Instant::now();
        let fetched = self.fetch(login, &names, &cookies, request, settings).await;
        if let Ok((response, _)) = &fetched {
            self.hide(login, response);
        }
        self.record(login, &names, request, started.elapsed(), &fetched);
        let (response, headers) = fetched?;
        if let Some(error) = response.error(settings) {
            let error = AppError {
                reason: format!("the login failed: {}", error.reason),
                ..error
            };
            return Err(Failed::unseen(self.app_error_after(
                request,
                &error,
                response.status,
                &headers,
            )));
        }
        let values = login
            .taken(&response)
            .map_err(|error| Failed::unseen(self.app_error(request, &error, response.status)))?;
        let logged_in = LoggedIn {
            values,
            cookies,
            at: Instant::now(),
        };
        *self
            .logged_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(logged_in.clone());
        Ok(Some(logged_in))
    }

    fn known_login(&self) -> Option<LoggedIn> {
        let logged_in = self
            .logged_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = logged_in.as_ref()?;
        let holds = self.ttl.is_none_or(|ttl| known.at.elapsed() < ttl);
        holds.then(|| known.clone())
    }

    /// Hides what is taken from the response of a login, like keys, also if not all of it is there.
    fn hide(&self, login: &Call, response: &Response) {
        let mut settings = self.settings.clone();
        settings.hidden.clear();
        for value in login
            .take
            .values()
            .filter_map(|at| response.body.pointer(at))
        {
            steps::texts(value, &mut settings.hidden);
        }
        let mut scrubbers = self
            .scrubbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Tokens of many logins are not kept for ever: the last ones may still be echoed.
        const MOST: usize = 20;
        if scrubbers.len() >= MOST {
            scrubbers.remove(1);
        }
        scrubbers.push(Scrubber::new(&settings));
    }

    /// JSON without secrets.
    pub(super) fn scrubbed(&self, value: &Value) -> JsonText {
        let text = self.clean(value.to_string());
        JsonText::new(text).unwrap_or_else(|_| JsonText::of(crate::HIDDEN))
    }

    fn clean(&self, text: String) -> String {
        let scrubbers = self
            .scrubbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        scrubbers
            .iter()
            .fold(text, |text, scrubber| scrubber.reply(text))
    }

    /// `text` without secrets, also without those of logins that may be words. `all`: without any that may be words.
    fn without_words(&self, text: &str, all: bool) -> String {
        let scrubbers = self
            .scrubbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // The first one has the secrets of the configuration, the others have what logins gave.
        let numbered = scrubbers.iter().enumerate();
        numbered.fold(text.to_owned(), |text, (at, scrubber)| {
            match all || at > 0 {
                true => scrubber.text(&text).into_owned(),
                false => scrubber.reply(text),
            }
        })
    }

    /// The request of a turn as the journal has it: without headers and secrets.
    pub(super) fn shown(&self, call: &Call, names: &Names) -> JsonText {
        self.scrubbed(&self.without_headers(call, names))
    }

    fn without_headers(&self, call: &Call, names: &Names) -> Value {
        let url = self
            .templates
            .render_address(&call.url, names)
            .unwrap_or_default();
        let mut shown = json!({"method": call.method.as_str(), "url": url});
        let body = call
            .body
            .as_ref()
            .and_then(|form| self.templates.json(form, names).ok()?);
        if let (Some(body), Some(shown)) = (body, shown.as_object_mut()) {
            shown.insert("body".to_owned(), body);
        }
        if !call.form.is_empty() {
            let form: Map<String, Value> = call
                .form
                .iter()
                .filter_map(|(name, text)| {
                    Some((name.clone(), self.templates.value(text, names).ok()??))
                })
                .collect();
            shown["form"] = form.into();
        }
        shown
    }

    /// An error of a call.
    pub(super) fn error(
        &self,
        request: &ChatRequest,
        kind: ModelErrorKind,
        reason: &str,
    ) -> ModelError {
        let text = format!("{}: {reason}", self.reporter.who(request.context.purpose));
        ModelError::new(kind, self.clean(text))
    }

    /// An error that the application gave.
    pub(super) fn app_error(
        &self,
        request: &ChatRequest,
        error: &AppError,
        status: u16,
    ) -> ModelError {
        self.app_error_after(request, error, status, &HeaderMap::new())
    }

    fn app_error_after(
        &self,
        request: &ChatRequest,
        error: &AppError,
        status: u16,
        headers: &HeaderMap,
    ) -> ModelError {
        let kind = match error.kind {
            AppErrorKind::Retryable => ModelErrorKind::Transient,
            AppErrorKind::RateLimited => ModelErrorKind::RateLimited,
            AppErrorKind::Malformed => ModelErrorKind::Malformed,
            AppErrorKind::Refused | AppErrorKind::Permanent => ModelErrorKind::Permanent,
        };
        let excerpt = self
            .reporter
            .scrubber()
            .excerpt(&self.clean(error.reason.clone()), EXCERPT);
        let text = format!("answered {status}: {excerpt}");
        let who = self.reporter.who(request.context.purpose);
        let failure = CallFailure {
            status: Some(status),
            retry_after: retry_after(headers, SystemTime::now()),
            no_reply: None,
            reason: excerpt,
        };
        let made = ModelError::new(kind, format!("{who} {text}")).with_source(failure);
        match error.kind {
            AppErrorKind::Refused => made.refused_for_content(),
            _ => made,
        }
    }
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
