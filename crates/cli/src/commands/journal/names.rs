//! The ids in a journal, shown when a requested id does not exist.

use std::{collections::BTreeSet, ops::ControlFlow, path::Path};

use journal::Filter;
use schema::{EventKind, nearest};

use super::read;
use crate::{exit::Failure, terminal::Terminal};

/// The most ids that are searched for a similar one.
const LOOKED_AT: usize = 20_000;
/// The most ids that are listed when none is similar.
const LISTED: usize = 8;

/// The id requested by one flag, and the ids in the journal.
struct Names<'a> {
    what: &'static str,
    wanted: Option<&'a str>,
    there: BTreeSet<String>,
    /// Message types that are valid even if the journal does not have them.
    known: &'static [EventKind],
    found: bool,
}

impl<'a> Names<'a> {
    fn new(what: &'static str, wanted: Option<&'a String>) -> Self {
        Self {
            what,
            wanted: wanted.map(String::as_str),
            there: BTreeSet::new(),
            known: &[],
            found: false,
        }
    }

    /// Adds valid names, whether or not the journal has them.
    fn known(self, known: &'static [EventKind]) -> Self {
        let is_wanted = |kind: &EventKind| self.wanted == Some(kind.message());
        let found = known.iter().any(is_wanted);
        Self {
            known,
            found,
            ..self
        }
    }

    fn look(&mut self, name: Option<&str>) {
        let (Some(wanted), Some(name)) = (self.wanted, name) else {
            return;
        };
        self.found |= name == wanted;
        if self.there.len() < LOOKED_AT && !self.there.contains(name) {
            self.there.insert(name.to_owned());
        }
    }

    /// The message when the name is not in the journal.
    fn missing(&self) -> Option<String> {
        let wanted = self.wanted.filter(|_| !self.found)?;
        let names = || self.there.iter().map(String::as_str);
        let inside = |name: &&str| name.to_lowercase().contains(&wanted.to_lowercase());
        let known = || self.known.iter().map(|kind| kind.message());
        let near = nearest(wanted, names().chain(known()))
            .or_else(|| names().find(inside))
            .or_else(|| known().find(inside));
        let hint = match (near, self.there.len()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, 0) => "it has none".to_owned(),
            (None, n) => {
                let mut list: Vec<&str> = names().take(LISTED).collect();
                if n > LISTED {
                    list.push("…");
                }
                format!("it has {}", list.join(", "))
            }
        };
        Some(format!(
            "the journal has no {} `{wanted}`; {hint}",
            self.what
        ))
    }
}

/// The requested ids that the journal does not have; `None` if it has all of them, but not together. A valid message
/// type that did not occur in the run does not count as missing.
///
/// # Errors
/// When the journal cannot be read.
pub fn missing(
    terminal: &Terminal,
    path: &Path,
    filter: &Filter,
) -> Result<Option<Failure>, Failure> {
    let mut prompts = Names::new("prompt", filter.prompt_id.as_ref());
    let mut suts = Names::new("system under test", filter.sut.as_ref());
    let mut tests = Names::new("test", filter.test.as_ref());
    let mut messages = Names::new("event", filter.message.as_ref()).known(EventKind::ALL);
    read::lines(terminal, path, |line| {
        prompts.look(line.prompt_id.as_deref());
        suts.look(line.sut.as_deref());
        tests.look(line.test.as_deref());
        messages.look(Some(&line.message));
        Ok(ControlFlow::Continue(()))
    })?;
    let all = [prompts, suts, tests, messages];
    let missing: Vec<String> = all.iter().filter_map(Names::missing).collect();
    Ok((!missing.is_empty())
        .then(|| Failure::usage(format!("{}: {}", path.display(), missing.join("\n")))))
}
