//! The data that journals report about a target as a whole.

use std::path::{Path, PathBuf};

use interop::{Asked, Judge};
use jiff::Timestamp;
use schema::{EventBody, Extra, event::StartingRun};
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;

/// The data that journals report about a target as a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ReportedTarget {
    /// The journal of the last run that simulated it.
    #[serde(with = "own_path")]
    pub(super) journal: Option<PathBuf>,
    /// The journal of the last run that judged it.
    #[serde(skip)]
    pub(super) judging_journal: Option<PathBuf>,
    pub(super) run_id: Option<String>,
    #[serde(with = "time_text")]
    pub(super) ended: Option<Timestamp>,
    pub(super) samples: Option<u32>,
    pub(super) settings: Extra,
    /// Whether `settings` come from a request.
    has_settings: bool,
    pub(super) judges: Vec<Judge>,
    /// Whether it was called, and whether its answers were judged.
    was_called: bool,
    was_judged: bool,
}

impl ReportedTarget {
    /// The data in the start event of a run in the journal at `path`.
    pub(super) fn of_run(start: &StartingRun, path: &Path) -> Self {
        Self {
            journal: Some(path.to_owned()),
            run_id: start.run_id.clone(),
            samples: start.samples,
            ..Self::default()
        }
    }

    /// Sets the path of the journal that the data was stored with.
    pub(super) fn set_path(&mut self, path: &Path) {
        if let Some(journal) = &mut self.journal {
            path.clone_into(journal);
        }
    }

    /// Adds the data of an event of `run` at `time`. If the event is a call, `call` is set.
    pub(super) fn add(
        &mut self,
        event: &EventBody,
        call: Option<&(Asked, Exchange<'_>)>,
        time: Option<Timestamp>,
        run: &Self,
    ) {
        if matches!(event, EventBody::ItemFinished(_) | EventBody::ItemFailed(_)) {
            self.ended = time.or(self.ended);
        }
        match call {
            Some((Asked::Target, call)) => self.add_call(call, run),
            Some((Asked::Judge, call)) if !call.has_failed() => self.add_judge(call),
            _ => {}
        }
    }

    fn add_call(&mut self, call: &Exchange<'_>, run: &Self) {
        if !self.was_called {
            *self = Self {
                judges: std::mem::take(&mut self.judges),
                was_judged: self.was_judged,
                was_called: true,
                ..run.clone()
            };
        }
        // For a failed call the journal has no request.
        if !self.has_settings && !call.has_failed() {
            self.settings = call.settings();
            self.has_settings = true;
        }
    }

    /// Adds the data of calls of `run` to which the same replies came from the cache as in an earlier run, whose journal reports `earlier`.
    pub(super) fn add_kept(&mut self, earlier: &Self, run: &Self) {
        if !self.was_called {
            *self = Self {
                judges: std::mem::take(&mut self.judges),
                was_judged: self.was_judged,
                was_called: true,
                ..run.clone()
            };
        }
        if !self.has_settings {
            self.settings = earlier.settings.clone();
            self.has_settings = earlier.has_settings;
        }
        self.was_judged |= earlier.was_judged;
        for judge in &earlier.judges {
            if !self.judges.iter().any(|known| known.id == judge.id) {
                self.judges.push(judge.clone());
            }
        }
    }

    fn add_judge(&mut self, call: &Exchange<'_>) {
        self.was_judged = true;
        if !self.judges.iter().any(|judge| judge.id == call.model()) {
            self.judges.push(judge(call));
        }
    }

    /// If the target was never called, for example because the user model failed each time, adds the run that
    /// planned to simulate it.
    pub(super) fn or_planned(self, planned: Option<Self>) -> Self {
        match planned {
            Some(run) if self.journal.is_none() => Self {
                journal: run.journal,
                run_id: run.run_id,
                samples: run.samples,
                ..self
            },
            _ => self,
        }
    }

    /// Adds the data of the newer journal at `path`. If the target was judged again there, earlier judges no longer count.
    pub(super) fn add_newer(&mut self, newer: &Self, path: &Path) {
        let ended = newer.ended.or(self.ended);
        let (judges, was_judged) = match newer.was_judged {
            true => (newer.judges.clone(), true),
            false => (std::mem::take(&mut self.judges), self.was_judged),
        };
        let judging_journal = match newer.was_judged {
            true => Some(path.to_owned()),
            false => self.judging_journal.take(),
        };
        if newer.was_called {
            *self = newer.clone();
        } else {
            self.ended = ended;
        }
        (self.judges, self.was_judged) = (judges, was_judged);
        self.judging_journal = judging_journal;
    }
}

fn judge(call: &Exchange<'_>) -> Judge {
    let prompt = call.messages().into_iter().map(|message| {
        let text = message.content.as_str().unwrap_or_default();
        (message.role, template(text))
    });
    Judge {
        id: call.model().to_owned(),
        model: call.requested_model().unwrap_or_default(),
        source: None,
        settings: call.settings(),
        prompt: prompt.collect(),
    }
}

/// `text` with placeholders for the parts that vary from call to call.
fn template(text: &str) -> String {
    ["definition", "examples", "transcript"]
        .iter()
        .fold(text.to_owned(), |text, tag| {
            let (open, close) = (format!("<{tag}>\n"), format!("\n</{tag}>"));
            let Some((before, rest)) = text.split_once(&open) else {
                return text;
            };
            match rest.rsplit_once(&close) {
                Some((_, after)) => format!("{before}{open}{{{{ {tag} }}}}{close}{after}"),
                None => text,
            }
        })
}

/// A journal's data is stored beside it, and both may be moved: not the path is stored, but whether there is one.
mod own_path {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(path.is_some())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(bool::deserialize(deserializer)?.then(PathBuf::new))
    }
}

mod time_text {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.to_string()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let time = text.map(|text| text.parse().map_err(D::Error::custom));
        time.transpose()
    }
}
