//! The keys under which replies are stored.

use std::fmt;

use schema::{ChatRequest, text::hex};
use sha2::{Digest, Sha256};

use crate::{settings::ModelSettings, wire::Canonical};

/// Raise it when replies stored under the old keys must not be found any more.
const VERSION: u32 = 1;

/// The SHA-256 of everything that decides the request: the request, the model and its sampling settings, the endpoint, and
/// what the call is for (purpose, row, sample and turn). Keys, headers and prices are not in it.
///
/// The row is in it so that two rows that begin with the same words never share a reply: samples stay independent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key with this hash.
    #[must_use]
    pub fn from_bytes(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The key that `Debug` shows as `text`, 64 hexadecimal digits; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let value = |digit: u8| char::from(digit).to_digit(16);
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = u8::try_from(value(*high)? * 16 + value(*low)?).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Makes the keys of requests to one model.
#[derive(Clone, Debug)]
pub struct KeyMaker {
    canonical: Canonical,
}

impl KeyMaker {
    /// Creates a maker of keys for the model of `settings`.
    #[must_use]
    pub fn new(settings: &ModelSettings) -> Self {
        Self {
            canonical: Canonical::new(settings),
        }
    }

    /// A hash of what the model and its settings add to every key, in hexadecimal.
    #[must_use]
    pub fn identity(&self) -> String {
        hex(&Sha256::digest(self.canonical.prefix()))
    }

    /// The key of `request`.
    #[must_use]
    pub fn key(&self, request: &ChatRequest) -> CacheKey {
        let context = &request.context;
        let mut hash = Sha256::new();
        hash.update(VERSION.to_le_bytes());
        // Texts are preceded by their length, so that no two contexts run together into the same bytes.
        for text in [context.purpose.as_str(), &context.row] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hash.update(context.sample.to_le_bytes());
        hash.update(context.turn.to_le_bytes());
        if let Some(caller) = &context.caller {
            hash.update(b"caller");
            hash.update((caller.name.len() as u64).to_le_bytes());
            hash.update(&*caller.name);
            hash.update(caller.n.to_le_bytes());
            hash.update(caller.unusable.to_le_bytes());
        }
        self.canonical.pass(request, |part| hash.update(part));
        CacheKey(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use schema::{CallContext, Caller, Message, ModelId, Purpose, Role};

    use super::*;

    fn request() -> ChatRequest {
        let context = CallContext::new(Purpose::TargetTurn, "m01_s001_v01__a");
        ChatRequest::new(vec![Message::new(Role::User, "hi")], context)
    }

    /// Replies that were stored before must be found.
    #[test]
    fn the_key_is_this() {
        let settings = ModelSettings::new(ModelId::new("a").unwrap(), "m", "http://h/v1");
        let key = KeyMaker::new(&settings).key(&request());
        assert_eq!(
            format!("{key:?}"),
            "898688846d5f20353f9ad19ea3290e454bf4b1a3d36da0ef8ae64fc9d8efc323"
        );
    }

    /// Replies of one version must be found again, and never those of another.
    #[test]
    fn the_key_of_a_version_is_this() {
        let mut settings = ModelSettings::new(ModelId::new("a").unwrap(), "m", "http://h/v1");
        settings.version = Some("2026-11-02".to_owned());
        let key = KeyMaker::new(&settings).key(&request());
        assert_eq!(
            format!("{key:?}"),
            "740f3b6f03f92b16a68036fe1524e35d41436f3b1da63b4c06cccafa5f4f8a58"
        );
        settings.version = Some("2026-11-03".to_owned());
        assert_ne!(KeyMaker::new(&settings).key(&request()), key);
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = CacheKey(std::array::from_fn(|at| (at * 9) as u8));
        let hex = format!("{key:?}");
        assert!(hex.starts_with("0009121b"));
        assert_eq!(CacheKey::from_hex(&hex), Some(key));
        let short = &hex[1..];
        for other in ["", short, &format!("{short}g"), &format!("{short}00")] {
            assert_eq!(CacheKey::from_hex(other), None, "{other}");
        }
    }

    #[test]
    fn what_the_call_is_for_is_in_the_key() {
        let settings = ModelSettings::new(ModelId::new("a").unwrap(), "m", "http://h/v1");
        let maker = KeyMaker::new(&settings);
        let plain = maker.key(&request());
        assert_eq!(KeyMaker::new(&settings.clone()).key(&request()), plain);
        let changes: [fn(&mut ChatRequest); 7] = [
            |r| {
                r.context.caller = Some(Caller {
                    name: "judge.py".into(),
                    n: 0,
                    unusable: 0,
                });
            },
            |r| r.context.purpose = Purpose::UserTurn,
            |r| r.context.row = "m01_s001_v02__a".into(),
            |r| r.context.sample = 1,
            |r| r.context.turn = 1,
            |r| r.messages[0] = Message::new(Role::User, "ho"),
            |r| r.messages[0] = Message::new(Role::System, "hi"),
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut other = request();
            change(&mut other);
            assert_ne!(maker.key(&other), plain, "change {at}");
        }
    }
}
