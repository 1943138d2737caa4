//! The cookies of a conversation: those that a login set, and those that the application sets on the way.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use reqwest::{
    Request, Url,
    cookie::{CookieStore, Jar},
    header::{COOKIE, HeaderMap, SET_COOKIE},
};

/// A jar of cookies. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Cookies(Arc<Shared>);

#[derive(Default)]
struct Shared {
    jar: Jar,
    /// The login whose cookies are in it.
    login: Mutex<Option<Instant>>,
}

/// Prints no cookie.
impl fmt::Debug for Cookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cookies").finish_non_exhaustive()
    }
}

impl Cookies {
    /// Keeps what a response from `url` sets.
    pub(super) fn keep(&self, headers: &HeaderMap, url: &Url) {
        let mut set = headers.get_all(SET_COOKIE).iter().peekable();
        if set.peek().is_some() {
            self.0.jar.set_cookies(&mut set, url);
        }
    }

    /// Puts the cookies for its address into a request.
    pub(super) fn put(&self, request: &mut Request) {
        if let Some(mut cookies) = self.0.jar.cookies(request.url()) {
            cookies.set_sensitive(true);
            request.headers_mut().insert(COOKIE, cookies);
        }
    }

    /// Takes over the cookies of the login made at `at`, once, so that those that the application changes later stay as they are.
    pub(super) fn take_over(&self, login: &Self, at: Instant, url: &Url) {
        let mut taken = self.0.login.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken == Some(at) {
            return;
        }
        *taken = Some(at);
        let cookies = login.0.jar.cookies(url);
        let pairs = cookies.as_ref().and_then(|pairs| pairs.to_str().ok());
        for pair in pairs.into_iter().flat_map(|pairs| pairs.split("; ")) {
            self.0.jar.add_cookie_str(&format!("{pair}; Path=/"), url);
        }
    }
}
