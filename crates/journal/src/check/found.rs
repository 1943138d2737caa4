//! Failures with numbers instead of names.

use super::{
    item_table::Item,
    names::Names,
    report::{Failure, LISTED, Row},
    state::CheckState,
};

/// A failure whose test, SUT and annotator are numbers.
#[derive(Debug)]
pub(crate) struct Found {
    what: String,
    test: Option<u32>,
    sut: Option<u32>,
    prompt: Option<u32>,
    annotator: Option<u32>,
    hazard: Option<String>,
}

impl Found {
    /// A failure of an item.
    pub(crate) fn item(what: impl Into<String>, item: &Item<'_>) -> Self {
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

/// The row of a rule while the rule is checked.
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

    /// Counts one checked thing.
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

    /// Sets the reason why the rule does not apply.
    pub(crate) fn does_not_apply(self, reason: &'static str) -> Self {
        Self {
            row: self.row.not_applicable(reason),
            ..self
        }
    }

    /// Adds a failure of `item` if `what` is given.
    pub(crate) fn fail_item(&mut self, item: &Item<'_>, what: Option<&'static str>) {
        if let Some(what) = what {
            self.fail(Found::item(what, item));
        }
    }
}

/// The rows, with the numbers replaced by the names of `state`.
pub(crate) fn finish(drafts: Vec<Draft>, state: &CheckState) -> Vec<Row> {
    drafts.into_iter().map(|draft| row(draft, state)).collect()
}

fn row(draft: Draft, state: &CheckState) -> Row {
    let Draft {
        mut row,
        found,
        failed,
    } = draft;
    for found in found {
        let name = |names: &Names, number: Option<u32>| Some(names.text(number?).to_owned());
        row.fail(Failure {
            what: found.what,
            test: name(&state.tests, found.test),
            sut: name(&state.suts, found.sut),
            prompt_id: name(&state.prompts, found.prompt),
            annotator: name(&state.annotators, found.annotator),
            hazard: found.hazard,
        });
    }
    row.failed = row.failed.max(failed);
    row
}
