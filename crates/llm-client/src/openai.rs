//! The model itself: one call, one attempt.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use async_trait::async_trait;
use reqwest::header::HeaderMap;
use schema::{
    CallContext, ChatModel, ChatReply, ChatRequest, Event, EventBody, Exchange, Journal, JsonText,
    ModelError, ModelId, NoJournal, Origin, Spend, Usage, event::RequestFormChanged,
};
use serde_json::value::to_raw_value;

use crate::{
    SettingsError,
    failure::{CallFailure, Reporter},
    http::HttpClient,
    negotiate::adjust,
    one_call::HttpReply,
    rate_headers::rates_left,
    retry_after::retry_after,
    settings::ModelSettings,
    transport::Transport,
    wire::{Blocks, Body, Form, Reason, Refusal, Unparsed, parse},
};

/// A model behind an OpenAI-compatible endpoint. Every call is one attempt, without retries and limits: those are layers
/// around it.
///
/// Unsupported parts of a request are negotiated: when the endpoint refuses the name of the token limit, a response format
/// or a sampling setting, the request is sent again without it at once, and later calls use the new form. Each change is
/// journaled as `request form changed`.
pub struct OpenAi {
    settings: Arc<ModelSettings>,
    transport: Transport,
    reporter: Reporter,
    form: Mutex<Form>,
    journal: Arc<dyn Journal>,
}

/// A refused request: the endpoint's message, and the error to return if the request cannot be changed.
struct Refused {
    refusal: Option<Refusal>,
    error: ModelError,
}

impl From<ModelError> for Box<Refused> {
    fn from(error: ModelError) -> Self {
        Self::new(Refused {
            refusal: None,
            error,
        })
    }
}

impl OpenAi {
    /// The model of `settings`, reached through `http`. Sends nothing.
    ///
    /// # Errors
    /// When no call could be made: the base URL is invalid, a header or the key cannot be sent, or `extra_body` holds
    /// `messages` or `stream`.
    pub fn new(
        settings: impl Into<Arc<ModelSettings>>,
        http: &HttpClient,
    ) -> Result<Self, SettingsError> {
        let settings = settings.into();
        for field in ["messages", "stream"] {
            if settings.extra_body.contains_key(field) {
                return Err(SettingsError::extra_body(&settings, field));
            }
        }
        Ok(Self {
            transport: Transport::new(&settings, http)?,
            reporter: Reporter::new(&settings),
            form: Mutex::new(Form::of(&settings)),
            journal: Arc::new(NoJournal),
            settings,
        })
    }

    /// Journals changes of the request's form to `journal`.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = journal;
        self
    }

    /// The settings of the model's calls.
    #[must_use]
    pub fn settings(&self) -> &Arc<ModelSettings> {
        &self.settings
    }

    /// The body of `request` in the form that the endpoint takes, as far as it is known.
    pub(crate) fn encoded(&self, request: &ChatRequest) -> Option<JsonText> {
        let body = Body {
            settings: &self.settings,
            request,
            form: *self.form(),
        };
        Some(to_raw_value(&body).ok()?.into())
    }

    /// A request as it is journaled.
    pub(crate) fn scrubbed(&self, sent: JsonText) -> JsonText {
        self.reporter.scrubber().request(sent)
    }

    fn form(&self) -> std::sync::MutexGuard<'_, Form> {
        self.form.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends `body` once.
    async fn attempt(
        &self,
        body: &Body<'_>,
        context: &CallContext,
    ) -> Result<ChatReply, Box<Refused>> {
        let started = Instant::now();
        let reply = self.transport.post(body).await;
        let run_time = started.elapsed();
        match reply {
            Ok((reply, sent)) if reply.status.is_success() => {
                self.read(reply, sent, run_time, context)
            }
            Ok((reply, _)) => Err(self.refused(&reply, context)),
            Err(what) => Err(self.reporter.unreached(context.purpose, &what).into()),
        }
    }

    /// Reads a reply that claims to be a completion.
    fn read(
        &self,
        reply: HttpReply,
        sent: JsonText,
        run_time: Duration,
        context: &CallContext,
    ) -> Result<ChatReply, Box<Refused>> {
        let status = reply.status.as_u16();
        let HttpReply {
            headers,
            body,
            // Held until the reply is read.
            room: _room,
            ..
        } = reply;
        let body = match String::from_utf8(body) {
            Ok(body) => self.reporter.scrubber().reply(one_line(body)),
            Err(error) => {
                let reason = "the reply is not valid UTF-8";
                let body = error.as_bytes();
                let failure = failure(status, &headers);
                let spend = Spend::default();
                let error = self
                    .reporter
                    .malformed(context.purpose, reason, body, failure, spend);
                return Err(error.into());
            }
        };
        let blocks = Blocks::of(context.purpose, self.settings.reasoning_opening);
        let parsed = match parse(&body, blocks) {
            Ok(parsed) => parsed,
            Err(unparsed) => {
                let failure = failure(status, &headers);
                return Err(self.unparsed(status, *unparsed, &body, failure, context));
            }
        };
        // Neither contains line breaks.
        let request = self.reporter.scrubber().request(sent);
        let response = JsonText::new(body).map_err(|error| {
            let spend = self.billed(parsed.usage, parsed.cost);
            let reason = format!("the reply is not JSON: {error}");
            self.reporter.malformed(
                context.purpose,
                &reason,
                &[],
                failure(status, &headers),
                spend,
            )
        })?;
        let exchange = Some(Arc::new(Exchange { request, response }));
        Ok(ChatReply {
            cost: self.cost(parsed.usage, parsed.cost),
            run_time,
            rates_left: rates_left(&headers, SystemTime::now()),
            ..parsed.into_reply(Origin::Fetched, exchange)
        })
    }

    /// The error of a reply that is not a completion.
    fn unparsed(
        &self,
        status: u16,
        unparsed: Unparsed,
        body: &str,
        mut failure: CallFailure,
        context: &CallContext,
    ) -> Box<Refused> {
        let spend = self.billed(unparsed.usage, unparsed.cost);
        match unparsed.reason {
            Reason::Error(error) => {
                let refusal = Refusal::of_json(&error);
                failure.retry_after = failure.retry_after.or(refusal.retry_after);
                let error =
                    self.reporter
                        .refused(context.purpose, status, &refusal, failure, spend);
                Box::new(Refused {
                    refusal: Some(refusal),
                    error,
                })
            }
            Reason::Form(reason) => self
                .reporter
                .malformed(context.purpose, &reason, body.as_bytes(), failure, spend)
                .into(),
        }
    }

    /// The error of a status other than 2xx.
    fn refused(&self, reply: &HttpReply, context: &CallContext) -> Box<Refused> {
        let status = reply.status.as_u16();
        let mut failure = failure(status, &reply.headers);
        let refusal = Refusal::read(&reply.body);
        failure.retry_after = failure.retry_after.or(refusal.retry_after);
        let spend = Spend::default();
        let error = self
            .reporter
            .refused(context.purpose, status, &refusal, failure, spend);
        Box::new(Refused {
            refusal: matches!(status, 400 | 422).then_some(refusal),
            error,
        })
    }

    /// The cost in dollars: as the endpoint states it, else by the price.
    fn cost(&self, usage: Option<Usage>, stated: Option<f64>) -> Option<f64> {
        stated.or_else(|| Some(self.settings.price?.cost(&usage?)))
    }

    /// What an unusable reply was billed.
    fn billed(&self, usage: Option<Usage>, stated: Option<f64>) -> Spend {
        if usage.is_none() && stated.is_none() {
            return Spend::default();
        }
        Spend::of_call(usage, self.cost(usage, stated))
    }

    /// Changes the form of later requests after `refusal`; returns false if nothing can be changed.
    fn renegotiate(&self, body: &Body<'_>, refusal: &Refusal, context: &CallContext) -> bool {
        let Some((form, change)) = adjust(body, refusal) else {
            return false;
        };
        let known = {
            let mut current = self.form();
            let before = *current;
            current.merge(form);
            *current == before
        };
        if !known {
            tracing::warn!(model = %self.settings.id, %change, "the endpoint refused a part of the request");
        }
        let changed = RequestFormChanged {
            model: self.settings.id.shared(),
            purpose: context.purpose.as_str().into(),
            row: Arc::clone(&context.row),
            change,
            reason: self.reporter.scrubber().excerpt(&refusal.message, 300),
        };
        let event = Event::new(EventBody::RequestFormChanged(changed));
        context.record(event, &*self.journal);
        true
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    fn id(&self) -> &ModelId {
        &self.settings.id
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        // One form for each part that can be left out, and the token limit's second name.
        const MOST_FORMS: u32 = 8;
        let mut forms = 0;
        let mut spend = Spend::default();
        loop {
            let body = Body {
                settings: &self.settings,
                request,
                form: *self.form(),
            };
            let refused = match self.attempt(&body, &request.context).await {
                Ok(mut reply) => {
                    reply.failed_attempts.add(&spend);
                    return Ok(reply);
                }
                Err(refused) => refused,
            };
            spend.add(refused.error.spend());
            forms += 1;
            let again = refused.refusal.is_some_and(|refusal| {
                forms < MOST_FORMS && self.renegotiate(&body, &refusal, &request.context)
            });
            if !again {
                return Err(refused.error.with_spend(spend));
            }
        }
    }
}

/// The details of a failure, from the reply's head.
pub(crate) fn failure(status: u16, headers: &HeaderMap) -> CallFailure {
    CallFailure {
        status: Some(status),
        retry_after: retry_after(headers, SystemTime::now()),
        no_reply: None,
        reason: String::new(),
    }
}

/// JSON text on one line, for files with one entry per line. Line breaks occur between tokens only: in strings they are
/// escaped.
pub(crate) fn one_line(text: String) -> String {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        text.replace(['\n', '\r'], " ")
    } else {
        text
    }
}
