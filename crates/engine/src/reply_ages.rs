//! The ages of replies, as files have them.

use std::time::SystemTime;

use jiff::Timestamp;
use schema::{ReplyAges, ReplySpan};

/// The ages of `span`, to the second.
pub(crate) fn reply_ages(span: &ReplySpan) -> ReplyAges {
    let text = |time: SystemTime| {
        let time = Timestamp::try_from(time).unwrap_or_default();
        format!("{time:.0}")
    };
    ReplyAges {
        replies: span.replies,
        from: text(span.first),
        to: text(span.last),
    }
}
