//! One attempt through async-openai. Keeps status, headers and body for the layers above.

use std::{sync::Arc, time::Duration};

use async_openai::{Client, config::Config, error::OpenAIError};
use schema::JsonText;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    SettingsError,
    causes::full_text,
    endpoint::Endpoint,
    http::{HttpClient, Route},
    one_call::{HttpReply, NoJson, OneCall},
    reply_memory::Waited,
    settings::ModelSettings,
    unreached::Unreached,
    wire::Body,
};

/// Sends request bodies to one endpoint.
pub(crate) struct Transport {
    client: Client<Arc<dyn Config>>,
    http: HttpClient,
    route: Route,
    timeout: Duration,
}

impl Transport {
    /// A transport to the endpoint of `settings`.
    pub(crate) fn new(settings: &ModelSettings, http: &HttpClient) -> Result<Self, SettingsError> {
        let endpoint = Endpoint::new(settings)?;
        let route = endpoint.route();
        // This client only builds the requests.
        let builder = http
            .seat(Route::Local)
            .map_err(|error| SettingsError::http(&error))?;
        Ok(Self {
            client: Client::build(builder.client.clone(), Arc::new(endpoint)),
            http: http.clone(),
            route,
            timeout: settings.request_timeout,
        })
    }

    /// Posts `body` and waits for the whole reply. Returns the sent body with it.
    pub(crate) async fn post(&self, body: &Body<'_>) -> Result<(HttpReply, JsonText), Unreached> {
        let unsent = |error: serde_json::Error| Unreached::Unsent(error.to_string());
        let body = to_raw_value(body).map_err(unsent)?;
        // When connections are limited, calls wait for one before their timeout starts.
        let _place = self.http.place().await;
        let waited = Arc::new(Waited::default());
        let reply = self.exchange(&body, Arc::clone(&waited));
        match tokio::time::timeout(self.timeout, reply).await {
            Ok(reply) => Ok((reply?, body.into())),
            // The wait for room took most of the time, not the endpoint.
            Err(_) if waited.sum() * 2 > self.timeout => {
                Err(Unreached::NoRoom(self.http.room().sum()))
            }
            Err(_) => Err(Unreached::Timeout),
        }
    }

    async fn exchange(&self, body: &RawValue, waited: Arc<Waited>) -> Result<HttpReply, Unreached> {
        let call = OneCall::new(self.http.clone(), self.route, waited);
        let client = self.client.clone().with_http_service(call.clone());
        let json: Result<Box<RawValue>, OpenAIError> = client.chat().create_byot(body).await;
        match (json, call.take_reply()) {
            (Ok(json), Some(mut reply)) => {
                reply.body = String::from(Box::<str>::from(json)).into_bytes();
                Ok(reply)
            }
            (Ok(_), None) => Err(Unreached::Unsent("async-openai sent nothing".to_owned())),
            (Err(error), _) => without_json(error),
        }
    }
}

/// The reply or failure that async-openai returned as `error`.
fn without_json(error: OpenAIError) -> Result<HttpReply, Unreached> {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<NoJson>() {
            Ok(no_json) => match *no_json {
                NoJson::Reply(reply) => Ok(reply),
                NoJson::Unreached(unreached) => Err(unreached),
            },
            Err(error) => Err(Unreached::Unsent(full_text(&*error))),
        },
        OpenAIError::InvalidArgument(reason) => Err(Unreached::Unsent(reason)),
        // The text of this error may contain the reply.
        _ => Err(Unreached::Unsent(
            "async-openai did not accept the reply".to_owned(),
        )),
    }
}
