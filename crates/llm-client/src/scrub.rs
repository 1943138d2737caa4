//! Removes secrets from text that an endpoint sent.

mod forms;

use std::{borrow::Cow, fmt};

use percent_encoding::percent_decode_str;
use schema::{Extra, HIDDEN, JsonText, looks_like_key};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use self::forms::Needle;
use crate::settings::ModelSettings;

/// Shorter secrets are not removed from error texts: words would be lost.
const SHORTEST: usize = 4;
/// Shorter secrets are not removed from replies, which are data: a key such as `ollama` is not a secret.
const SHORTEST_IN_REPLIES: usize = 16;
/// A shorter secret with letters and digits in it is not a word either.
const SHORTEST_MIXED: usize = 8;

/// The secrets of one model, to be removed from what its endpoint echoes.
///
/// A secret is found in all its encodings: as it is, percent-encoded, escaped as in JSON or HTML, and inside of base64.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// The longest secret first, so that a secret within another leaves nothing behind.
    needles: Vec<Needle>,
    /// Some of them are in the body of every request.
    in_requests: bool,
}

impl Scrubber {
    /// The secrets of `settings`: key, headers, those in the address, in `extra_body` and in [`ModelSettings::hidden`].
    #[must_use]
    pub fn new(settings: &ModelSettings) -> Self {
        let mut secrets = Vec::new();
        if let Some(key) = &settings.api_key {
            secrets.push(key.expose_secret().to_owned());
        }
        for (_, value) in &settings.extra_headers {
            add_header(value.expose_secret(), &mut secrets);
        }
        add_url(&settings.base_url, &mut secrets);
        secrets.extend(
            settings
                .hidden
                .iter()
                .map(|text| text.expose_secret().to_owned()),
        );
        let in_body = secrets_in(&settings.extra_body);
        let in_requests = !in_body.is_empty();
        secrets.extend(in_body);

        Self {
            in_requests,
            ..Self::of_secrets(&secrets)
        }
    }

    /// Other secrets than those of a model: plain texts, and values of headers, such as `Bearer x`.
    pub fn of<'a>(
        texts: impl IntoIterator<Item = &'a SecretString>,
        headers: impl IntoIterator<Item = &'a SecretString>,
    ) -> Self {
        let texts = texts.into_iter();
        let mut secrets: Vec<String> = texts.map(|text| text.expose_secret().to_owned()).collect();
        for value in headers {
            add_header(value.expose_secret(), &mut secrets);
        }
        Self::of_secrets(&secrets)
    }

    fn of_secrets(secrets: &[String]) -> Self {
        let mut secrets: Vec<&str> = secrets.iter().map(|secret| secret.trim()).collect();
        secrets.retain(|secret| secret.len() >= SHORTEST);
        secrets.sort_by_key(|secret| (std::cmp::Reverse(secret.len()), *secret));
        secrets.dedup();
        let needles = secrets
            .iter()
            .flat_map(|secret| Needle::all_of(secret, is_no_word(secret)))
            .collect();
        Self {
            needles,
            in_requests: false,
        }
    }

    /// An error text without secrets, on one line of at most `longest` bytes.
    pub(crate) fn excerpt(&self, text: &str, longest: usize) -> String {
        let clean = self.clean(text, |_| true);
        let mut line = String::with_capacity(clean.len().min(longest + 8));
        for word in clean.split(|c: char| c.is_whitespace() || c.is_control()) {
            if word.is_empty() {
                continue;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if line.len() > longest {
                let end = (0..=longest).rev().find(|at| line.is_char_boundary(*at));
                line.truncate(end.unwrap_or(0));
                line.push('…');
                break;
            }
        }
        line
    }

    /// `text` without any of the secrets, for messages and logs.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean(text, |_| true)
    }

    /// A line of a program's output without the secrets that cannot be words.
    #[must_use]
    pub fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        match std::str::from_utf8(line) {
            Ok(text) if !self.needles.is_empty() => match self.clean(text, Needle::is_in_replies) {
                Cow::Borrowed(_) => Cow::Borrowed(line),
                Cow::Owned(clean) => Cow::Owned(clean.into_bytes()),
            },
            _ => Cow::Borrowed(line),
        }
    }

    /// A reply without the secrets that cannot be words.
    #[must_use]
    pub fn reply(&self, text: String) -> String {
        match self.clean(&text, Needle::is_in_replies) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    /// The body of a request without the secrets that the settings put into it.
    pub(crate) fn request(&self, body: JsonText) -> JsonText {
        if !self.in_requests {
            return body;
        }
        match self.clean(body.get(), |_| true) {
            Cow::Borrowed(_) => body,
            // Removing a secret of several tokens, such as a number, may leave invalid JSON.
            Cow::Owned(clean) => JsonText::new(clean).unwrap_or_else(|_| JsonText::of(HIDDEN)),
        }
    }

    fn clean<'a>(&self, text: &'a str, counts: impl Fn(&Needle) -> bool) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for needle in self.needles.iter().filter(|needle| counts(needle)) {
            if let Some(clean) = needle.replace(&text, HIDDEN) {
                text = Cow::Owned(clean);
            }
        }
        text
    }
}

/// Prints none of the secrets.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrubber").finish_non_exhaustive()
    }
}

/// Whether `secret` can be removed from replies without removing words.
fn is_no_word(secret: &str) -> bool {
    let has = |sort: fn(&char) -> bool| secret.chars().any(|char| sort(&char));
    secret.len() >= SHORTEST_IN_REPLIES
        || (secret.len() >= SHORTEST_MIXED
            && has(char::is_ascii_digit)
            && has(char::is_ascii_alphabetic))
}

/// The secrets in the value of a header: `Bearer x`, `Basic x`, or any other text.
fn add_header(value: &str, secrets: &mut Vec<String>) {
    let value = value.trim();
    secrets.push(value.to_owned());
    if let Some((scheme, word)) = value.rsplit_once(' ') {
        secrets.push(word.to_owned());
        let basic = scheme.eq_ignore_ascii_case("basic");
        if let Some(decoded) = basic.then(|| forms::decode_base64(word)).flatten() {
            let password = decoded
                .split_once(':')
                .map(|(_, password)| password.to_owned());
            secrets.extend(password);
            secrets.push(decoded);
        }
    }
}

/// The secrets in the address of an endpoint.
fn add_url(url: &str, secrets: &mut Vec<String>) {
    let Ok(url) = reqwest::Url::parse(url.trim()) else {
        return;
    };
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let user = plain(url.username());
    match url.password().map(plain) {
        Some(password) => {
            // The header is made of this.
            secrets.push(format!("{user}:{password}"));
            secrets.push(password);
        }
        None if !user.is_empty() => {
            secrets.push(format!("{user}:"));
            secrets.push(user);
        }
        None => {}
    }
    for (name, value) in url.query_pairs() {
        if !name.to_ascii_lowercase().ends_with("version") {
            secrets.push(value.into_owned());
        }
    }
    // A plus sign in a query is a space by the rules of HTML forms, and a plus sign by those of URLs.
    for pair in url.query().unwrap_or_default().split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && value.contains('+')
            && !name.to_ascii_lowercase().ends_with("version")
        {
            secrets.push(plain(value));
        }
    }
    for word in url.path_segments().into_iter().flatten() {
        let word = plain(word);
        if looks_like_key(&word) {
            secrets.push(word);
        }
    }
}

/// The texts of `body` whose names suggest secrets.
fn secrets_in(body: &Extra) -> Vec<String> {
    fn collect(name: &str, value: &Value, secrets: &mut Vec<String>) {
        match value {
            Value::String(text) if is_secretive(name) => secrets.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect(name, item, secrets)),
            Value::Object(map) => map
                .iter()
                .for_each(|(name, value)| collect(name, value, secrets)),
            _ => {}
        }
    }
    let mut secrets = Vec::new();
    for (name, value) in body {
        collect(name, value, &mut secrets);
    }
    secrets
}

/// `value` with every text whose name suggests a secret replaced by `***`.
#[must_use]
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| {
                let hide = is_secretive(name) && value.is_string();
                let shown = if hide { HIDDEN.into() } else { masked(value) };
                (name.clone(), shown)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

/// Whether the name of a field suggests a secret.
///
/// ```
/// assert!(llm_client::is_secretive("x_api_key"));
/// assert!(!llm_client::is_secretive("top_k"));
/// ```
#[must_use]
pub fn is_secretive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "secret", "password", "token", "authorization"]
        .iter()
        .any(|word| name.ends_with(word))
}

#[cfg(test)]
mod tests {
    use schema::ModelId;

    use super::*;

    fn scrubber() -> Scrubber {
        let id = ModelId::new("m").unwrap();
        let mut settings = ModelSettings::new(id, "m", "https://u:hidden-pw@h/v1?key=query-key");
        settings.api_key = Some("sk-0123456789abcdef".into());
        settings.extra_headers = vec![("Authorization".to_owned(), "Basic b64-text".into())];
        Scrubber::new(&settings)
    }

    #[test]
    fn secrets_go_before_the_text_is_cut() {
        let text = format!("{} sk-0123456789abcdef", "x".repeat(95));
        let line = scrubber().excerpt(&text, 100);
        assert!(!line.contains("sk-"), "{line}");
        let line = scrubber().excerpt("Basic b64-text, b64-text\nhidden-pw query-key", 300);
        assert_eq!(line, "***, *** *** ***");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let line = scrubber().excerpt(&"é".repeat(200), 101);
        assert_eq!(line.chars().count(), 51);
    }

    #[test]
    fn replies_keep_short_words() {
        let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", "http://h");
        settings.api_key = Some("ollama".into());
        let reply = Scrubber::new(&settings).reply("I am ollama".to_owned());
        assert_eq!(reply, "I am ollama");
        let reply = scrubber().reply("it is sk-0123456789abcdef".to_owned());
        assert_eq!(reply, "it is ***");
    }

    #[test]
    fn secrets_of_the_address_go_in_every_form() {
        let id = ModelId::new("m").unwrap();
        let url = "https://al%20ice:p%2Fw+9%22x@h/sk-path-0001/v1?api-version=2024-02-01&sig=a%2Bb%2F1%26%C3%A9%20z";
        let scrubber = Scrubber::new(&ModelSettings::new(id, "m", url));
        for form in [
            // The password `p/w+9"x`, plain, percent-encoded once and twice, and in JSON within JSON.
            "p/w+9\"x",
            "p%2fw%2B9%22x",
            "p%252Fw%252B9%2522x",
            "p\\/w+9\\\"x",
            "p/w\\u002b9\\\\\\\"x",
            "p/w+9&quot;x",
            // The same in the header.
            "YWwgaWNlOnAvdys5Ing=",
            // The value `a+b/1&é z` of the query.
            "a+b/1&é z",
            "a%2Bb%2F1%26%C3%A9%20z",
            "a%2Bb%2F1%26%C3%A9+z",
            "a+b/1\\u0026\\u00e9 z",
            "a+b/1&amp;é z",
            "sk-path-0001",
        ] {
            let line = scrubber.excerpt(&format!("<{form}>"), 300);
            assert!(
                line == "<***>" || line == "<***=>" || line == "<***g=>",
                "{form}: {line}"
            );
        }
        let line = "version 2024-02-01 of pw+9";
        assert_eq!(scrubber.excerpt(line, 300), line);
    }

    #[test]
    fn base64_is_found_whatever_stands_before_it() {
        for before in ["", "a", "ab", "abc:"] {
            let text = forms::encode_base64(format!("{before}sk-0123456789abcdef!").as_bytes());
            let line = scrubber().excerpt(&text, 300);
            assert!(line.contains("***") && line.len() < 16, "{before}: {line}");
        }
    }

    #[test]
    fn requests_lose_what_the_settings_put_into_them() {
        let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", "http://h");
        let body = "{\"a\":{\"api_key\":\"sk-\\\"in-the-body\"}}";
        let text = || JsonText::new(body).unwrap();
        assert_eq!(Scrubber::new(&settings).request(text()).get(), body);
        settings.extra_body = serde_json::from_str(body).unwrap();
        let clean = Scrubber::new(&settings).request(text());
        assert_eq!(clean.get(), "{\"a\":{\"api_key\":\"***\"}}");
    }

    #[test]
    fn a_request_that_is_no_json_without_its_secrets_is_hidden() {
        let mut settings = ModelSettings::new(ModelId::new("m").unwrap(), "m", "http://h");
        let body = "{\"api_key\":\"12345\",\"seed\":12345}";
        settings.extra_body = serde_json::from_str(body).unwrap();
        let clean = Scrubber::new(&settings).request(JsonText::new(body).unwrap());
        assert_eq!(clean.get(), "\"***\"");
    }
}
