//! The messages of a request.

use schema::Message;

/// The list of messages in the form of the API. Each is written once in its life; see [`Message::json`].
pub(super) struct Messages<'a>(pub(super) &'a [Message]);

impl Messages<'_> {
    /// How many bytes their JSON has.
    pub(super) fn bytes(&self) -> Result<usize, serde_json::Error> {
        let mut bytes = 0;
        self.pass(&mut |part| bytes += part.len())?;
        Ok(bytes)
    }

    /// Passes their JSON to `take`, part by part.
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
