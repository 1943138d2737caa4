//! Failures before their prompts have names.

use std::{collections::HashMap, io::BufRead};

use super::{
    facts::Facts,
    items::{Item, prompt_number},
    report::{Failure, LISTED, Row},
};
use crate::JournalReader;

/// A failure whose names are numbers.
#[derive(Debug)]
pub(crate) struct Found {
    what: String,
    test: Option<u32>,
    sut: Option<u32>,
    prompt: Option<u64>,
    annotator: Option<u32>,
    hazard: Option<String>,
}

impl Found {
    /// A failure of an item.
    pub(crate) fn item(what: impl Into<String>, item: &Item) -> Self {
        Self {
            prompt: Some(item.key.prompt),
            ..Self::pair(what, item.key.test, item.key.sut)
        }
    }

    /// A failure of a test and a SUT.
    pub(crate) fn pair(what: impl Into<String>, test: u32, sut: u32) -> Self {
        Self {
            what: what.into(),
            test: Some(test),
            sut: Some(sut),
            prompt: None,
            annotator: None,
            hazard: None,
        }
    }

    /// A failure of a hazard and a SUT.
    pub(crate) fn hazard(what: impl Into<String>, hazard: &str, sut: u32) -> Self {
        Self {
            what: what.into(),
            test: None,
            sut: Some(sut),
            prompt: None,
            annotator: None,
            hazard: Some(hazard.to_owned()),
        }
    }

    /// A failure of the run as a whole.
    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            test: None,
            sut: None,
            prompt: None,
            annotator: None,
            hazard: None,
        }
    }

    /// Sets the SUT.
    pub(crate) fn sut(mut self, sut: u32) -> Self {
        self.sut = Some(sut);
        self
    }

    /// Sets the annotator.
    pub(crate) fn annotator(mut self, annotator: u32) -> Self {
        self.annotator = Some(annotator);
        self
    }
}

/// The row of a rule while it is being asked.
#[derive(Debug)]
pub(crate) struct Draft {
    row: Row,
    found: Vec<Found>,
    failed: u64,
}

impl Draft {
    pub(crate) fn new(rule: &'static str, about: &'static str) -> Self {
        Self {
            row: Row::new(rule, about),
            found: Vec::new(),
            failed: 0,
        }
    }

    /// Counts one thing that the rule was asked of.
    pub(crate) fn looked(&mut self) {
        self.row.looked_at(1);
    }

    /// Adds a failure.
    pub(crate) fn fail(&mut self, found: Found) {
        self.failed += 1;
        if self.found.len() < LISTED {
            self.found.push(found);
        }
    }

    /// Says why the rule does not apply.
    pub(crate) fn does_not_apply(self, reason: &'static str) -> Self {
        Self {
            row: self.row.not_applicable(reason),
            ..self
        }
    }

    /// Adds a failure of `item`, if there is something wrong.
    pub(crate) fn fail_item(&mut self, item: &Item, what: Option<&'static str>) {
        if let Some(what) = what {
            self.fail(Found::item(what, item));
        }
    }
}

/// The rows with names. The prompts' names are looked up in `again`, which reads the journal a second time.
pub(crate) fn finish<R: BufRead>(
    drafts: Vec<Draft>,
    facts: &Facts,
    again: impl FnOnce() -> Option<JournalReader<R>>,
) -> Vec<Row> {
    let mut prompts: HashMap<(u32, u64), Option<String>> = drafts
        .iter()
        .flat_map(|draft| &draft.found)
        .filter_map(|found| Some(((found.test?, found.prompt?), None)))
        .collect();
    if !prompts.is_empty()
        && let Some(reader) = again()
    {
        name(&mut prompts, facts, reader);
    }
    drafts
        .into_iter()
        .map(|draft| row(draft, facts, &prompts))
        .collect()
}

fn row(draft: Draft, facts: &Facts, prompts: &HashMap<(u32, u64), Option<String>>) -> Row {
    let Draft {
        mut row,
        found,
        failed,
    } = draft;
    for found in found {
        let prompt = found
            .test
            .zip(found.prompt)
            .and_then(|key| prompts.get(&key).cloned().flatten());
        row.fail(Failure {
            what: found.what,
            test: found.test.map(|test| facts.tests.text(test).to_owned()),
            sut: found.sut.map(|sut| facts.suts.text(sut).to_owned()),
            prompt_id: prompt,
            annotator: found
                .annotator
                .map(|annotator| facts.annotators.text(annotator).to_owned()),
            hazard: found.hazard,
        });
    }
    row.failed = row.failed.max(failed);
    row
}

/// Fills in the names of `prompts`, as far as the journal has them.
fn name<R: BufRead>(
    prompts: &mut HashMap<(u32, u64), Option<String>>,
    facts: &Facts,
    mut reader: JournalReader<R>,
) {
    let mut missing = prompts.len();
    while missing > 0
        && let Some(line) = reader.next_line()
    {
        let Ok(line) = line else { continue };
        let (Some(test), Some(prompt_id)) = (&line.test, &line.prompt_id) else {
            continue;
        };
        let Some(test) = facts.tests.find(test) else {
            continue;
        };
        if let Some(name) = prompts.get_mut(&(test, prompt_number(prompt_id)))
            && name.is_none()
        {
            *name = Some(prompt_id.as_ref().to_owned());
            missing -= 1;
        }
    }
}
