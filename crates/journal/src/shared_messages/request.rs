//! The messages of a request, as text.

use std::ops::Range;

use schema::text::hex;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// A whole request with a list of messages.
#[derive(Debug)]
pub(super) struct Request {
    text: String,
    /// Where the list begins: the position after its bracket.
    start: usize,
    /// Where each message is in the text.
    messages: Vec<Range<usize>>,
    /// The hash of the messages up to each one, for the first of them. Otherwise each call would hash its whole conversation.
    hashes: Vec<Sha256>,
}

impl Request {
    /// Reads `text`. `None` unless it is an object with one list `messages`, in one line, whose elements only commas separate: others could
    /// not be restored byte for byte.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.contains(['\n', '\r']) {
            return None;
        }
        let (start, messages) = messages(text)?;
        Some(Self {
            text: text.to_owned(),
            start,
            messages,
            hashes: Vec::new(),
        })
    }

    /// The number of first messages that the request shares with `earlier`, whose hashes it takes over.
    pub(super) fn continue_from(&mut self, earlier: Self) -> usize {
        let pairs = self.messages.iter().zip(&earlier.messages);
        let same = |(here, there): &(&Range<usize>, &Range<usize>)| {
            self.text.get(Range::clone(here)) == earlier.text.get(Range::clone(there))
        };
        let count = pairs.take_while(same).count();
        self.hashes = earlier.hashes;
        self.hashes.truncate(count);
        count
    }

    /// The SHA-256 of the first `count` messages with the commas between them, in hexadecimal digits.
    pub(super) fn sha256(&mut self, count: usize) -> String {
        let known = self.hashes.len();
        for message in self.messages.iter().take(count).skip(known) {
            let mut hash = match self.hashes.last() {
                Some(before) => before.clone().chain_update(","),
                None => Sha256::new(),
            };
            hash.update(self.text.get(message.clone()).unwrap_or_default());
            self.hashes.push(hash);
        }
        let hash = count.checked_sub(1).and_then(|last| self.hashes.get(last));
        hex(&hash.cloned().unwrap_or_default().finalize())
    }

    /// The text without the first `count` messages.
    pub(super) fn without(&self, count: usize) -> String {
        let rest = match (self.messages.get(count), self.messages.last()) {
            (Some(next), _) => next.start,
            (None, Some(last)) => last.end,
            (None, None) => self.start,
        };
        let (head, _) = self.text.split_at(self.start);
        let (_, rest) = self.text.split_at(rest);
        format!("{head}{rest}")
    }

    /// The request that shares the first `count` messages with this one, and otherwise is `rest`. `None` where this one has fewer, or `rest`
    /// has no list of messages.
    pub(super) fn followed_by(mut self, count: usize, rest: &str) -> Option<Self> {
        let (start, others) = messages(rest)?;
        let last = self.messages.get(count.checked_sub(1)?)?;
        let shared = self.text.get(self.start..last.end)?;
        let (head, tail) = rest.split_at(start);
        let comma = if others.is_empty() { "" } else { "," };
        let text = format!("{head}{shared}{comma}{tail}");
        let moved = |by: usize, to: usize| {
            move |range: Range<usize>| range.start - by + to..range.end - by + to
        };
        let added = shared.len() + comma.len();
        self.hashes.truncate(count);
        self.messages.truncate(count);
        let messages = self.messages.into_iter().map(moved(self.start, start));
        Some(Self {
            text,
            start,
            messages: messages
                .chain(others.into_iter().map(moved(0, added)))
                .collect(),
            hashes: self.hashes,
        })
    }

    /// The whole request.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Where the list of messages of `request` begins, and where each message is.
fn messages(request: &str) -> Option<(usize, Vec<Range<usize>>)> {
    #[derive(Deserialize)]
    struct Body<'r> {
        #[serde(borrow)]
        messages: &'r RawValue,
    }
    let list = serde_json::from_str::<Body<'_>>(request)
        .ok()?
        .messages
        .get();
    let start = offset(request, list)? + 1;
    let mut end = start;
    let mut ranges = Vec::new();
    for message in serde_json::from_str::<Vec<&RawValue>>(list).ok()? {
        let message = message.get();
        let begin = offset(request, message)?;
        if begin != end + usize::from(!ranges.is_empty()) {
            return None;
        }
        end = begin + message.len();
        ranges.push(begin..end);
    }
    let closed = request.get(end..)?.starts_with(']');
    closed.then_some((start, ranges))
}

/// Where `part` begins in `text`, from which it is borrowed.
pub(super) fn offset(text: &str, part: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    text.get(at..)?.starts_with(part).then_some(at)
}
