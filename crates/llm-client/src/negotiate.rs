//! Adapts a request that an endpoint refused.

use crate::{
    settings::StructuredSupport,
    wire::{Body, Field, Form, Refusal},
};

/// The form in which to send `body` again, and a description of the change. `None` when the refusal has another
/// reason.
pub(crate) fn adjust(body: &Body<'_>, refusal: &Refusal) -> Option<(Form, String)> {
    token_limit(body, refusal)
        .or_else(|| response_format(body, refusal))
        .or_else(|| field(body, refusal))
}

fn token_limit(body: &Body<'_>, refusal: &Refusal) -> Option<(Form, String)> {
    let mut form = body.form;
    if !body.sends_token_limit() || form.token_limit_switched {
        return None;
    }
    let sent = form.token_limit();
    let names_other = !form.max_completion_tokens && refusal.names("max_completion_tokens");
    let refuses_sent = refusal.names(sent) && refusal.says_unsupported();
    if !names_other && !refuses_sent {
        return None;
    }
    form.max_completion_tokens = !form.max_completion_tokens;
    form.token_limit_switched = true;
    Some((form, format!("{} instead of {sent}", form.token_limit())))
}

fn response_format(body: &Body<'_>, refusal: &Refusal) -> Option<(Form, String)> {
    use crate::wire::Format::{JsonObject, JsonSchema};
    const NAMES: [&str; 5] = [
        "response_format",
        "json_schema",
        "json_object",
        "structured output",
        "guided",
    ];
    let sent = body.response_format()?;
    if !NAMES.iter().any(|name| refusal.names(name)) {
        return None;
    }
    let mut form = body.form;
    let change = match sent {
        JsonSchema { .. } => {
            form.structured = StructuredSupport::JsonObject;
            "response_format json_object instead of json_schema"
        }
        JsonObject => {
            form.structured = StructuredSupport::Text;
            "no response_format"
        }
    };
    Some((form, change.to_owned()))
}

fn field(body: &Body<'_>, refusal: &Refusal) -> Option<(Form, String)> {
    if !refusal.says_unsupported() {
        return None;
    }
    let field = Field::ALL
        .into_iter()
        .find(|field| body.sends(*field) && refusal.names(field.name()))?;
    let mut form = body.form;
    form.leave_out(field);
    Some((form, format!("{} left out", field.name())))
}
