//! Under what a reply is stored.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use schema::ChatRequest;
use sha2::{Digest, Sha256};

use super::part::Part;
use crate::{settings::ModelSettings, wire::Canonical};

/// Raise it when replies stored under the old keys must not be found any more.
const VERSION: u32 = 1;

/// The SHA-256 of everything that decides what is asked: the request, the model and its sampling settings, the endpoint, and
/// what the call is for (purpose, row, sample and turn). Keys, headers and prices are not in it.
///
/// The row is in it so that two rows that begin with the same words never share a reply: samples stay independent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A part of the hash.
    pub(super) fn part(&self) -> Part {
        let first = self.0.first_chunk();
        first.map_or(0, |bytes| Part::from_le_bytes(*bytes))
    }

    /// The same part as a number that stands in the order of keys.
    pub(super) fn start(&self) -> u64 {
        self.part().swap_bytes()
    }

    /// The hash as 64 hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        self.hex_digits().map(char::from).iter().collect()
    }

    /// The same as bytes.
    pub(super) fn hex_digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        let (pairs, _) = digits.as_chunks_mut();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [hex_digit(byte >> 4), hex_digit(byte)];
        }
        digits
    }

    /// The reverse of [`hex`](Self::hex); `None` for anything else.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
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

/// A hash needs no further hashing: a part of it tells keys apart in a map.
impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.part());
    }
}

/// The hexadecimal digit of the lower half of `byte`.
pub(super) fn hex_digit(byte: u8) -> u8 {
    match byte & 15 {
        digit @ 0..10 => b'0' + digit,
        letter => b'a' + letter - 10,
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

/// Makes the keys of requests to one model.
#[derive(Clone, Debug)]
pub struct KeyMaker {
    canonical: Canonical,
}

impl KeyMaker {
    /// For requests to the model of `settings`.
    #[must_use]
    pub fn new(settings: &ModelSettings) -> Self {
        Self {
            canonical: Canonical::new(settings),
        }
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
        self.canonical.pass(request, |part| hash.update(part));
        CacheKey(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use schema::{CallContext, Message, ModelId, Purpose, Role};

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

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = CacheKey(std::array::from_fn(|at| (at * 9) as u8));
        assert_eq!(key.hex(), format!("{key:?}"));
        assert!(key.hex().starts_with("0009121b"));
        assert_eq!(CacheKey::from_hex(&key.hex()), Some(key));
        let short = &key.hex()[1..];
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
        let changes: [fn(&mut ChatRequest); 6] = [
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
