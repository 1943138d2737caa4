//! Access control: only programs that know the address, and pages that came from it, may send requests.

use std::io;

use hyper::{
    HeaderMap, Uri,
    header::{HOST, HeaderName, ORIGIN},
};

use super::request::Refusal;

/// Bytes of the random part of the address.
const TOKEN_BYTES: usize = 16;

/// The address of a viewer, and the checks of requests to it.
#[derive(Debug)]
pub(super) struct Access {
    token: String,
    /// `127.0.0.1:PORT` and `localhost:PORT`.
    hosts: Vec<String>,
}

impl Access {
    /// Creates an address with a random token of the operating system.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn new(port: u16) -> io::Result<Self> {
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        Ok(Self::with_token(port, schema::text::hex(&random)))
    }

    fn with_token(port: u16, token: String) -> Self {
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost"]
            .map(|name| format!("{name}:{port}"))
            .into();
        if port == 80 {
            // Browsers leave this port out.
            hosts.extend(["127.0.0.1", "localhost"].map(str::to_owned));
        }
        Self { token, hosts }
    }

    /// The address of the page.
    pub(super) fn address(&self) -> String {
        let host = self.hosts.first().map_or("", String::as_str);
        format!("http://{host}/{}/", self.token)
    }

    /// The part of the path after the token. `None` if the path is the page's path without its last slash.
    ///
    /// # Errors
    /// When the request is for another host, because a page of another site can have its name resolved to this machine; when the request
    /// comes from a page of another site; or when it does not have the token.
    pub(super) fn admit<'u>(
        &self,
        uri: &'u Uri,
        headers: &HeaderMap,
    ) -> Result<Option<&'u str>, Refusal> {
        let named = uri.authority().map(|authority| authority.as_str());
        let mut hosts = all(headers, &HOST).chain(named.map(Some)).peekable();
        if hosts.peek().is_none() || !hosts.all(|host| self.is_own(host)) {
            return Err(Refusal::WrongHost);
        }
        let is_own_page = |origin: Option<&str>| {
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            self.is_own(host)
        };
        if !all(headers, &ORIGIN).all(is_own_page) {
            return Err(Refusal::WrongOrigin);
        }
        let path = uri.path().strip_prefix('/').unwrap_or_default();
        let (token, rest) = match path.split_once('/') {
            Some((token, rest)) => (token, Some(rest)),
            None => (path, None),
        };
        match is_same(token, &self.token) {
            true => Ok(rest),
            false => Err(Refusal::NotFound),
        }
    }

    fn is_own(&self, host: Option<&str>) -> bool {
        let is = |own: &String| host.is_some_and(|host| own.eq_ignore_ascii_case(host));
        self.hosts.iter().any(is)
    }
}

/// All values of a header; `None` if one of them is not text.
fn all<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = Option<&'h str>> + use<'h> {
    headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().ok())
}

/// Compares in a time that does not depend on the position of a difference.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given
        .bytes()
        .zip(token.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(uri: &str, headers: &[(HeaderName, &str)]) -> Result<Option<String>, Refusal> {
        let access = Access::with_token(4000, "abc".to_owned());
        let uri: Uri = uri.parse().unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().unwrap());
        }
        let admitted = access.admit(&uri, &map);
        admitted.map(|rest| rest.map(str::to_owned))
    }

    #[test]
    fn a_token_is_random_and_long() {
        let [one, other] = [(); 2].map(|()| Access::new(1).unwrap().token);
        assert_eq!(one.len(), 2 * TOKEN_BYTES);
        assert_ne!(one, other);
    }

    #[test]
    fn own_requests_are_admitted() {
        let host = (HOST, "localhost:4000");
        let rest = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(admit("/abc/", std::slice::from_ref(&host)), rest(""));
        assert_eq!(admit("/abc", &[(HOST, "127.0.0.1:4000")]), Ok(None));
        let origin = (ORIGIN, "http://localhost:4000");
        assert_eq!(admit("/abc/chunk/1?v=2", &[host, origin]), rest("chunk/1"));
    }

    #[test]
    fn others_are_refused() {
        let host = || (HOST, "127.0.0.1:4000");
        for (uri, headers, refused) in [
            ("/abc/", vec![], Refusal::WrongHost),
            (
                "/abc/",
                vec![(HOST, "evil.example:4000")],
                Refusal::WrongHost,
            ),
            ("/abc/", vec![(HOST, "127.0.0.1")], Refusal::WrongHost),
            ("/abc/", vec![(HOST, "127.0.0.1:4001")], Refusal::WrongHost),
            (
                "/abc/",
                vec![host(), (HOST, "evil.example")],
                Refusal::WrongHost,
            ),
            ("http://evil.example/abc/", vec![host()], Refusal::WrongHost),
            (
                "/abc/",
                vec![host(), (ORIGIN, "http://evil.example")],
                Refusal::WrongOrigin,
            ),
            (
                "/abc/",
                vec![host(), (ORIGIN, "https://127.0.0.1:4000")],
                Refusal::WrongOrigin,
            ),
            (
                "/abc/",
                vec![host(), (ORIGIN, "null")],
                Refusal::WrongOrigin,
            ),
            ("/", vec![host()], Refusal::NotFound),
            ("/abd/", vec![host()], Refusal::NotFound),
            ("/abcd/", vec![host()], Refusal::NotFound),
            ("/ab/", vec![host()], Refusal::NotFound),
            ("//abc/", vec![host()], Refusal::NotFound),
        ] {
            assert_eq!(admit(uri, &headers), Err(refused), "{uri} {headers:?}");
        }
    }
}
