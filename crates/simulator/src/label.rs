//! The labels in a user model's reply.

/// What a label announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Thought,
    Message,
}

/// A label at the start of a line, with Markdown around it or not: `Message:`, `**Message:**`, `### message :`.
pub(crate) struct Label<'a> {
    pub(crate) kind: Kind,
    /// What follows it in the line.
    pub(crate) rest: &'a str,
    /// The emphasis that was opened before the label and not closed behind it.
    open: &'a str,
}

impl<'a> Label<'a> {
    /// The label that `line` starts with.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let line = line.trim_start_matches(['#', '>', '-', ' ', '\t']);
        let bare = line.trim_start_matches(['*', '_']);
        let open = &line[..line.len() - bare.len()];
        let word_end = bare
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(bare.len());
        let (word, after) = bare.split_at(word_end);
        let is = |label: &str| word.eq_ignore_ascii_case(label);
        let kind = if is("thought") || is("thoughts") {
            Kind::Thought
        } else if is("message") {
            Kind::Message
        } else {
            return None;
        };
        let closed = after.strip_prefix(open).unwrap_or(after).trim_start();
        let before_colon = closed.len() < after.trim_start().len();
        let rest = closed.strip_prefix([':', '：'])?;
        let behind = rest
            .strip_prefix(open)
            .filter(|_| !open.is_empty() && !before_colon);
        let open = if before_colon || behind.is_some() {
            ""
        } else {
            open
        };
        Some(Self {
            kind,
            rest: behind.unwrap_or(rest).trim(),
            open,
        })
    }

    /// `said` without the emphasis that the label opened.
    pub(crate) fn close<'t>(&self, said: &'t str) -> &'t str {
        let said = said.trim();
        said.strip_suffix(self.open).unwrap_or(said).trim_end()
    }
}
