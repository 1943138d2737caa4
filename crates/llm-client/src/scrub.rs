//! Taking secrets out of text that an endpoint sent.

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::settings::ModelSettings;

/// Shorter secrets are not taken out of error texts: they would take words with them.
const SHORTEST: usize = 4;
/// Shorter secrets are not taken out of replies, which are data: a key such as `ollama` is no secret.
const SHORTEST_IN_REPLIES: usize = 16;

/// The secrets of one model, to be taken out of what its endpoint echoes.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    /// Longest first, so that a secret inside another leaves nothing behind.
    secrets: Vec<String>,
    /// Finds those that are taken out of replies. Every reply is searched, so what a search prepares is kept.
    in_replies: Vec<Finder<'static>>,
}

impl Scrubber {
    pub(crate) fn new(settings: &ModelSettings) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        let mut add = |text: &str| {
            let text = text.trim();
            if text.len() >= SHORTEST {
                secrets.push(text.to_owned());
            }
        };
        if let Some(key) = &settings.api_key {
            add(key.expose());
        }
        for (_, value) in &settings.extra_headers {
            add(value.expose());
            // `Bearer x`: the second word is the secret.
            if let Some((_, word)) = value.expose().trim().rsplit_once(' ') {
                add(word);
            }
        }
        if let Ok(url) = reqwest::Url::parse(&settings.base_url) {
            add(url.password().unwrap_or_default());
            for (_, value) in url.query_pairs() {
                add(&value);
            }
        }
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        let in_replies = secrets
            .iter()
            .filter(|secret| secret.len() >= SHORTEST_IN_REPLIES)
            .map(|secret| Finder::new(secret).into_owned())
            .collect();
        Self {
            secrets,
            in_replies,
        }
    }

    /// An error text without secrets, in one line of at most `longest` bytes.
    pub(crate) fn excerpt(&self, text: &str, longest: usize) -> String {
        let clean = self.clean(text, SHORTEST);
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

    /// A reply without the secrets that are long enough to be some.
    pub(crate) fn reply(&self, text: String) -> String {
        let holds = |secret: &Finder<'_>| secret.find(text.as_bytes()).is_some();
        if !self.in_replies.iter().any(holds) {
            return text;
        }
        match self.clean(&text, SHORTEST_IN_REPLIES) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    fn clean<'a>(&self, text: &'a str, shortest: usize) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self
            .secrets
            .iter()
            .filter(|secret| secret.len() >= shortest)
        {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), "***"));
            }
        }
        text
    }
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
}
