//! Why a call got no reply.

use std::{io, time::Duration};

use rustls::{Error as TlsError, InvalidMessage};
use schema::error_causes;

use crate::causes::full_text;

/// Why no reply arrived.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unreached {
    /// The reply did not come in time.
    Timeout,
    /// No connection could be established.
    Connect(String),
    /// Nothing listens at the address.
    Refused(String),
    /// No connection could be established within this time.
    ConnectTimeout(Duration),
    /// The server does not speak TLS.
    NotTls,
    /// What came is not HTTP, and the address is one of plain HTTP.
    NotHttp,
    /// The server's certificate is not trusted.
    Certificate(String),
    /// The connection ended before the reply did.
    Broken(String),
    /// The reply is longer than this many bytes, the limit.
    TooLarge(usize),
    /// The reply is compressed in this way, which was not asked for.
    Encoding(String),
    /// Other replies took all the room: this many bytes.
    NoRoom(usize),
    /// This process cannot open further files or connections.
    OutOfFiles,
    /// The request was never sent.
    Unsent(String),
}

impl Unreached {
    /// Classifies an error of sending a request or of reading its reply. `connect_timeout` is the timeout for connecting.
    pub(crate) fn of(error: &reqwest::Error, connect_timeout: Duration) -> Self {
        let tls = error_causes(error).find_map(|cause| cause.downcast_ref::<TlsError>());
        match tls {
            Some(TlsError::InvalidCertificate(_) | TlsError::NoCertificatesPresented) => {
                Self::Certificate(reason(error))
            }
            Some(TlsError::InvalidMessage(InvalidMessage::InvalidContentType)) => Self::NotTls,
            _ if is_plain(error) && is_not_http(error) => Self::NotHttp,
            _ if error.is_builder() => Self::Unsent(reason(error)),
            _ if !error.is_connect() => Self::Broken(reason(error)),
            _ if error.is_timeout() => Self::ConnectTimeout(connect_timeout),
            _ if is_refused(error) => Self::Refused(reason(error)),
            _ => Self::Connect(reason(error)),
        }
    }

    /// A short reason.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Timeout => "timeout".to_owned(),
            Self::ConnectTimeout(limit) => {
                format!("connecting took longer than {} s", limit.as_secs_f64())
            }
            Self::NotTls => "it does not speak TLS. If it is a server for plain HTTP, write http:// in front of base_url".to_owned(),
            Self::NotHttp => "it does not speak HTTP. If it is a server with TLS, write https:// in front of base_url".to_owned(),
            Self::Encoding(name) => format!("the reply is compressed by `{name}`"),
            Self::TooLarge(_) => "reply too large".to_owned(),
            Self::NoRoom(_) => "no room for the reply".to_owned(),
            Self::OutOfFiles => "too many open files in this process".to_owned(),
            Self::Connect(reason)
            | Self::Refused(reason)
            | Self::Certificate(reason)
            | Self::Broken(reason)
            | Self::Unsent(reason) => reason.clone(),
        }
    }
}

/// Whether the address has no TLS.
fn is_plain(error: &reqwest::Error) -> bool {
    error.url().is_some_and(|url| url.scheme() == "http")
}

/// Whether what came cannot be parsed as HTTP, such as the alert of a server with TLS.
fn is_not_http(error: &reqwest::Error) -> bool {
    let mut causes = error_causes(error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
    causes.any(hyper::Error::is_parse)
}

/// Whether nothing listens at the address.
fn is_refused(error: &reqwest::Error) -> bool {
    let mut causes = error_causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
}

/// The text of the error below reqwest. The errors of reqwest and of its HTTP client name the URL and the stage only.
fn reason(error: &reqwest::Error) -> String {
    let layers = if error.is_request() { 2 } else { 1 };
    match error_causes(error).nth(layers) {
        Some(cause) => full_text(cause),
        None => "the connection failed".to_owned(),
    }
}
