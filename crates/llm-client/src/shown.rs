//! Hides secrets in addresses, and recognises texts that look like keys.

/// The text that replaces a secret.
pub const HIDDEN: &str = "***";

/// Shorter words are names, versions and similar.
const SHORTEST_KEY: usize = 12;

/// `url` without the parts that may contain a password or a key: user name, password, query, fragment, and words of the path that look
/// like keys. The host is left out too if it cannot be distinguished from a password.
///
/// ```
/// use llm_client::shown_url;
///
/// assert_eq!(shown_url("https://me:pass@host:1/v1/?key=k"), "https://host:1/v1");
/// assert_eq!(shown_url("https://host/sk-0123456789/v1"), "https://host/***/v1");
/// assert_eq!(shown_url("https://me:pa/ss@host/v1"), "https://***");
/// ```
#[must_use]
pub fn shown_url(url: &str) -> String {
    let url = url.trim();
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + "://".len()),
        None => ("", url),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or(authority);
    // A slash or a question mark in a password ends the apparent host.
    let in_password = path
        .split('/')
        .any(|word| word.find('@').is_some_and(|at| at > 0));
    let no_address = scheme.is_empty() && looks_like_key(host);
    if in_password || no_address || !is_host(host) {
        return format!("{scheme}{HIDDEN}");
    }
    let words = path.trim_end_matches('/').split('/');
    let words: Vec<&str> = words
        .map(|word| if looks_like_key(word) { HIDDEN } else { word })
        .collect();
    format!("{scheme}{host}{}", words.join("/"))
}

/// Whether `text` is a host, with or without a port.
fn is_host(text: &str) -> bool {
    let after_name = match text.strip_prefix('[') {
        Some(address) => address.split_once(']').map(|(_, port)| port),
        None => Some(text.find(':').map_or("", |at| text.split_at(at).1)),
    };
    let Some(port) = after_name else {
        return false;
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    port.bytes().all(|byte| byte.is_ascii_digit())
        || (port.starts_with("${") && port.ends_with('}'))
}

/// Whether `word` looks like a key: it has a common prefix of keys, contains a word for one, or mixes letters and digits randomly. Words
/// of fewer than twelve characters and the names of variables never do.
///
/// ```
/// use llm_client::looks_like_key;
///
/// assert!(looks_like_key("sk-live-abcdef"));
/// assert!(looks_like_key("9f8e7d6c5b4a3210"));
/// assert!(!looks_like_key("gpt-4o-mini-2024-07-18"));
/// assert!(!looks_like_key("${MY_API_TOKEN}"));
/// ```
#[must_use]
pub fn looks_like_key(word: &str) -> bool {
    if word.len() < SHORTEST_KEY || word.starts_with("${") {
        return false;
    }
    let says_so = words(word).any(|word| {
        ["key", "apikey", "secret", "token", "password"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(name))
    });
    says_so || is_random(word)
}

/// Whether `name`, given as the name of a variable, is probably the key itself.
///
/// ```
/// use llm_client::is_key_for_a_name;
///
/// assert!(is_key_for_a_name("gsk_abcdefghijkl"));
/// assert!(!is_key_for_a_name("OPENAI_API_KEY_2"));
/// ```
#[must_use]
pub fn is_key_for_a_name(name: &str) -> bool {
    name.len() >= SHORTEST_KEY && is_random(name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_alphanumeric())
}

/// Whether `word` has a common prefix of keys, or a part in which letters and digits are mixed randomly.
fn is_random(word: &str) -> bool {
    let begins_so = [
        "sk-", "sk_", "pk-", "pk_", "hf_", "gsk_", "xai-", "AIza", "ghp_", "AKIA", "eyJ",
    ]
    .iter()
    .any(|start| word.starts_with(start));
    begins_so || words(word).any(is_jumble)
}

/// Whether letters and digits alternate in `word` more than in a name.
fn is_jumble(word: &str) -> bool {
    let turns = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    word.len() >= SHORTEST_KEY && turns >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_shown_of_an_address() {
        for (url, shown) in [
            ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
            ("http://[::1]:80/v1", "http://[::1]:80/v1"),
            ("https://${HOST}:${PORT}/v1", "https://${HOST}:${PORT}/v1"),
            (
                "https://host/${PATH_KEY_NAME}/v1",
                "https://host/${PATH_KEY_NAME}/v1",
            ),
            (
                "https://h/openai/deployments/gpt-4o-mini-2024-07-18",
                "https://h/openai/deployments/gpt-4o-mini-2024-07-18",
            ),
            (
                "https://h/compatible-mode/v1?key=a b",
                "https://h/compatible-mode/v1",
            ),
            ("https://only-a-user@h/v1#x", "https://h/v1"),
            ("https://u:p?w@h/v1", "https://***"),
            ("https://u:p#w@h/v1", "https://***"),
            ("https://user/rest@h/v1", "https://***"),
            ("u:p@h/v1", "h/v1"),
            ("sk-0123456789", "***"),
            ("https://h/a1b2c3d4e5f6/v1", "https://h/***/v1"),
            ("https://h/path-key-x12/v1", "https://h/***/v1"),
        ] {
            assert_eq!(shown_url(url), shown, "{url}");
        }
    }
}
