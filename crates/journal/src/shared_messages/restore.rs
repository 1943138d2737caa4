//! Puts back what lines leave out.

use std::collections::HashMap;

use schema::{EventKind, event::SharedMessages};

use super::{
    LastRequests, Peer, PeerRole,
    request::{Request, offset},
};
use crate::{Line, version};

/// The longest restored line, in bytes: as long as the longest line that is read.
const LONGEST: usize = 256 * 1024 * 1024;

/// Restores the lines of a journal, read from its start on.
///
/// Memory holds the last request to each model of the items that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Restorer {
    /// Whether lines of the journal may leave out messages.
    shares: bool,
    items: HashMap<String, LastRequests>,
}

impl Restorer {
    /// The text of `line` with all its messages. `None` where the line leaves out none, or they cannot be restored because the call before it
    /// is missing or another one.
    pub(crate) fn restore(&mut self, line: &Line<'_>) -> Option<String> {
        let kind = EventKind::of(&line.message)?;
        if kind == EventKind::StartingJournal {
            let version = line.text("format_version");
            self.shares = version.is_some_and(|version| version::shares_messages(&version));
        }
        let item = self.shares.then(|| item(line))??;
        let Some(role) = PeerRole::of(kind) else {
            if matches!(kind, EventKind::ItemFinished | EventKind::ItemFailed) {
                self.items.remove(&item);
            }
            return None;
        };
        let requests = self.items.entry(item).or_default();
        requests.restore(peer(role, line), line)
    }
}

fn item(line: &Line<'_>) -> Option<String> {
    let (test, prompt) = (line.test.as_deref()?, line.prompt_id.as_deref()?);
    Some([test, prompt, line.sut.as_deref()?].join("\0"))
}

fn peer(role: PeerRole, line: &Line<'_>) -> Peer {
    let text = |name| line.text(name).unwrap_or_default().into_owned();
    match role {
        PeerRole::Sut => Peer {
            role,
            model: "".into(),
            purpose: "".into(),
        },
        PeerRole::User => Peer {
            role,
            model: text("model").into(),
            purpose: text("purpose").into(),
        },
        PeerRole::Annotator => Peer {
            role,
            model: text("annotator").into(),
            purpose: "".into(),
        },
    }
}

impl LastRequests {
    fn restore(&mut self, peer: Peer, line: &Line<'_>) -> Option<String> {
        let earlier = self.take(&peer);
        let raw = line
            .raw("request")
            .or_else(|| line.raw("annotator_request"));
        let text = raw?.get();
        if line.raw("shared").is_none() {
            self.0
                .extend(Request::read(text).map(|request| (peer, request)));
            return None;
        }
        let (request, whole) = restored(earlier?, line, text)?;
        self.0.push((peer, request));
        Some(whole)
    }
}

/// The whole request of `line`, whose request is `text`, and the whole line.
fn restored(mut earlier: Request, line: &Line<'_>, text: &str) -> Option<(Request, String)> {
    let shared: SharedMessages = line.get("shared")?;
    let count = usize::try_from(shared.messages).ok()?;
    if earlier.sha256(count) != shared.sha256 {
        return None;
    }
    let request = earlier.followed_by(count, text)?;
    let line = line_with(line, text, request.text())?;
    Some((request, line))
}

/// The line with the request `whole` in place of `request`, and without `shared`.
fn line_with(line: &Line<'_>, request: &str, whole: &str) -> Option<String> {
    let text = line.as_str()?;
    let start = offset(text, request)?;
    let shared = line.raw("shared")?.get();
    let shared_start = offset(text, shared)?;
    // The field is never the first one, so that it has a comma before it.
    let before = text
        .get(..shared_start)?
        .trim_end()
        .strip_suffix(':')?
        .trim_end()
        .strip_suffix("\"shared\"")?
        .trim_end()
        .strip_suffix(',')?
        .len();
    let mut cuts = [
        (start..start + request.len(), whole),
        (before..shared_start + shared.len(), ""),
    ];
    cuts.sort_by_key(|(range, _)| range.start);
    let [(first, one), (second, two)] = cuts;
    if text.len() + whole.len() > LONGEST {
        return None;
    }
    let parts = [
        text.get(..first.start)?,
        one,
        text.get(first.end..second.start)?,
        two,
        text.get(second.end..)?,
    ];
    Some(parts.concat())
}
