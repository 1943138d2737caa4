//! Hides secrets in addresses.

use schema::{HIDDEN, looks_like_key};

/// `url` without the parts that may contain a password or a key: user name, password, query, fragment, and words of the path that look
/// like keys. The host is left out too if it cannot be distinguished from a password.
///
/// ```
/// use llm_client::redacted_url;
///
/// assert_eq!(redacted_url("https://me:pass@host:1/v1/?key=k"), "https://host:1/v1");
/// assert_eq!(redacted_url("https://host/sk-0123456789/v1"), "https://host/***/v1");
/// assert_eq!(redacted_url("https://me:pa/ss@host/v1"), "https://***");
/// ```
#[must_use]
pub fn redacted_url(url: &str) -> String {
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
    let words: Vec<&str> = path
        .trim_end_matches('/')
        .split('/')
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
            assert_eq!(redacted_url(url), shown, "{url}");
        }
    }
}
