//! The messages of a request.

use schema::Message;
use serde::{Serialize, Serializer, ser::Error, ser::SerializeSeq};

/// The list of messages in the form of the API. Each is written once in its life; see [`Message::json`].
pub(super) struct Messages<'a>(pub(super) &'a [Message]);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for message in self.0 {
            list.serialize_element(&message.json().map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

impl Messages<'_> {
    /// Passes the same bytes to `take`, part by part.
    pub(super) fn pass(&self, take: &mut impl FnMut(&[u8])) -> Result<(), serde_json::Error> {
        take(b"[");
        for (nth, message) in self.0.iter().enumerate() {
            if nth > 0 {
                take(b",");
            }
            take(message.json()?.get().as_bytes());
        }
        take(b"]");
        Ok(())
    }
}
