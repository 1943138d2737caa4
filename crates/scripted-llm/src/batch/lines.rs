//! The lines of OpenAI's input and output files.

use std::{borrow::Cow, collections::HashSet};

use bytes::Bytes;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::progress::{InputError, Item, Outcome};
use crate::{hash::text_seed, stats::hex};

/// The most requests of an input file.
const MOST_REQUESTS: usize = 50_000;
/// The most errors that are reported of an input file.
const MOST_ERRORS: usize = 100;

#[derive(Deserialize)]
struct InputLine<'a> {
    #[serde(borrow, default)]
    custom_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
}

/// The items of an input file for `endpoint`, or what is wrong with it.
pub(crate) fn read(content: &Bytes, endpoint: &str) -> Result<Vec<Item>, Vec<InputError>> {
    let Ok(text) = std::str::from_utf8(content) else {
        return Err(vec![error(
            "invalid_file_format",
            "The file is not UTF-8.",
            None,
            None,
        )]);
    };
    let mut input = Input {
        endpoint,
        items: Vec::new(),
        seen: HashSet::new(),
        model: None,
        errors: Vec::new(),
    };
    for (place, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Err((code, message, param)) = input.add(content, line) {
            input
                .errors
                .push(error(code, message, param, Some(place + 1)));
        }
        if input.errors.len() == MOST_ERRORS {
            break;
        }
    }
    if input.items.is_empty() && input.errors.is_empty() {
        let message = "The batch input file is empty.";
        input.errors.push(error("empty_file", message, None, None));
    }
    if input.items.len() > MOST_REQUESTS {
        let message = format!("The batch has more than {MOST_REQUESTS} requests.");
        input
            .errors
            .push(error("too_many_requests", message, None, None));
    }
    match input.errors.is_empty() {
        true => Ok(input.items),
        false => Err(input.errors),
    }
}

fn error(
    code: &'static str,
    message: impl Into<String>,
    param: Option<&'static str>,
    line: Option<usize>,
) -> InputError {
    InputError {
        code,
        message: message.into(),
        param,
        line,
    }
}

/// What has been read of an input file.
struct Input<'a> {
    endpoint: &'a str,
    items: Vec<Item>,
    seen: HashSet<Cow<'a, str>>,
    /// A file is for one model.
    model: Option<String>,
    errors: Vec<InputError>,
}

/// The code of an error, its message and the parameter.
type LineError = (&'static str, String, Option<&'static str>);

impl<'a> Input<'a> {
    fn add(&mut self, content: &Bytes, line: &'a str) -> Result<(), LineError> {
        let line: InputLine<'a> = serde_json::from_str(line).map_err(|error| {
            let message = format!("This line is not parseable as valid JSON: {error}");
            ("invalid_json_line", message, None)
        })?;
        let custom_id = line.custom_id.ok_or_else(|| missing("custom_id"))?;
        let method = line.method.ok_or_else(|| missing("method"))?;
        let url = line.url.ok_or_else(|| missing("url"))?;
        let body = line.body.ok_or_else(|| missing("body"))?;
        if method != "POST" {
            let message = format!("Invalid method '{method}': must be 'POST'.");
            return Err(("invalid_method", message, Some("method")));
        }
        if url != self.endpoint {
            let message = format!(
                "The URL provided for this request, '{url}', does not match the endpoint of the batch, '{}'.",
                self.endpoint
            );
            return Err(("mismatched_endpoint", message, Some("url")));
        }
        self.check_model(body)?;
        let item = Item::new(
            custom_id.clone().into_owned(),
            content.slice_ref(body.get().as_bytes()),
        );
        if !self.seen.insert(custom_id) {
            let message = format!(
                "The custom_id '{}' of this request is a duplicate of another request; it must be unique within a batch.",
                item.custom_id
            );
            return Err(("duplicate_custom_id", message, Some("custom_id")));
        }
        self.items.push(item);
        Ok(())
    }

    fn check_model(&mut self, body: &RawValue) -> Result<(), LineError> {
        #[derive(Deserialize)]
        struct Body<'a> {
            #[serde(borrow, default)]
            model: Option<Cow<'a, str>>,
        }
        let body: Body<'_> = serde_json::from_str(body.get()).map_err(|error| {
            (
                "invalid_request",
                format!("The body is not valid: {error}"),
                Some("body"),
            )
        })?;
        let model = body.model.ok_or_else(|| missing("body.model"))?;
        match &self.model {
            Some(first) if *first != model => Err((
                "mismatched_model",
                format!(
                    "The model '{model}' does not match the rest of the batch, '{first}'. A batch is for a single model."
                ),
                Some("body.model"),
            )),
            Some(_) => Ok(()),
            None => {
                self.model = Some(model.into_owned());
                Ok(())
            }
        }
    }
}

fn missing(name: &'static str) -> LineError {
    let message = format!("Missing required parameter: '{name}'.");
    ("missing_required_parameter", message, Some(name))
}

#[derive(Serialize)]
struct OutputLine<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<Response<'a>>,
    error: Option<LineFailure>,
}

#[derive(Serialize)]
struct Response<'a> {
    status_code: u16,
    request_id: String,
    body: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct LineFailure {
    code: &'static str,
    message: &'static str,
}

/// The output file and the error file with the lines of `items`.
pub(crate) fn write<'a>(items: impl Iterator<Item = &'a Item>) -> (Vec<u8>, Vec<u8>) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    for item in items {
        let Some(outcome) = &item.outcome else {
            continue;
        };
        let file = match outcome {
            Outcome::Reply(StatusCode::OK, _) => &mut output,
            _ => &mut errors,
        };
        // Nothing here can fail to be written.
        if serde_json::to_writer(&mut *file, &line(item, outcome)).is_ok() {
            file.push(b'\n');
        }
    }
    (output, errors)
}

fn line<'a>(item: &'a Item, outcome: &'a Outcome) -> OutputLine<'a> {
    let hash = hex(&text_seed(&item.custom_id).to_be_bytes());
    let failure = |code, message| (None, Some(LineFailure { code, message }));
    let (response, error) = match outcome {
        Outcome::Reply(status, body) => {
            let response = Response {
                status_code: status.as_u16(),
                request_id: format!("req_{hash}"),
                body: json_of(body),
            };
            (Some(response), None)
        }
        Outcome::TimedOut => failure("request_timeout", "The call to the model timed out."),
        Outcome::Expired => failure(
            "batch_expired",
            "This request could not be executed before the completion window expired.",
        ),
        Outcome::Cancelled => failure(
            "batch_cancelled",
            "The batch was cancelled before this request was executed.",
        ),
    };
    OutputLine {
        id: format!("batch_req_{hash}"),
        custom_id: &item.custom_id,
        response,
        error,
    }
}

/// The body of a reply, byte for byte; as a string where it is not JSON.
pub(crate) fn json_of(body: &[u8]) -> Cow<'_, RawValue> {
    if let Ok(raw) = serde_json::from_slice::<&RawValue>(body) {
        return Cow::Borrowed(raw);
    }
    let text = String::from_utf8_lossy(body);
    Cow::Owned(to_raw_value(&text).unwrap_or_default())
}
