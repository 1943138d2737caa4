//! The scope of a check: the run, its tests and SUTs.

use std::collections::BTreeSet;

use schema::EventKind;

use super::{records::Hazard, state::CheckState};

/// The scope of a check.
#[derive(Debug)]
pub(crate) struct Subject {
    /// Tests by number.
    pub(crate) tests: BTreeSet<u32>,
    /// SUTs by number.
    pub(crate) suts: BTreeSet<u32>,
    /// Whether items were judged, so that verdicts and scores are expected.
    pub(crate) judged: bool,
    /// Whether a prompt needs two valid annotations to be safe.
    pub(crate) is_private: bool,
    pub(crate) hazards: Vec<Hazard>,
}

impl Subject {
    /// The only run of the journal.
    ///
    /// # Errors
    /// Why the rules cannot be checked.
    pub(crate) fn of(state: &mut CheckState) -> Result<Self, String> {
        let start = match state.starts.as_slice() {
            [start] => start.clone(),
            [] => return Err(never_started(state)),
            [first, second, ..] => {
                return Err(format!(
                    "it holds {} runs, which start in the lines {} and {}. Check a journal for each run",
                    state.starts.len(),
                    first.line,
                    second.line
                ));
            }
        };
        let lack = |what: &str| {
            format!(
                "line {}: \"starting run\" has no list of {what}",
                start.line
            )
        };
        let benchmarks = start.benchmarks.ok_or_else(|| lack("benchmarks"))?;
        let [benchmark] = benchmarks.as_slice() else {
            return Err(format!(
                "the run is of {} benchmarks ({}), and the rules speak of one",
                benchmarks.len(),
                benchmarks.join(", ")
            ));
        };
        let tests = start.tests.ok_or_else(|| lack("tests"))?;
        let suts = start.suts.ok_or_else(|| lack("suts"))?;
        let mut tests: BTreeSet<u32> = tests.iter().map(|test| state.tests.number(test)).collect();
        let suts: BTreeSet<u32> = suts.iter().map(|sut| state.suts.number(sut)).collect();
        if state.ours {
            // Tests that the run generates are unknown when it starts.
            tests.extend(state.items.iter().map(|item| item.key.test));
        }
        let of_it = |hazard: &&Hazard| {
            hazard
                .benchmark
                .as_ref()
                .is_none_or(|name| name == benchmark)
        };
        let subject = Self {
            judged: !state.ours || is_judged(state),
            is_private: is_private(benchmark),
            hazards: state.hazards.iter().filter(of_it).cloned().collect(),
            tests,
            suts,
        };
        subject.is_scored_once(state)?;
        // Nothing is scored before the first verdict, and only the last lines show whether a run was killed.
        if state.ours && !state.finished && state.exception.is_none() {
            return Err("the run did not end: there is no \"finished run\"".to_owned());
        }
        Ok(subject)
    }

    /// Every combination of test and SUT.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let pairs_of = |test: &u32| {
            let test = *test;
            self.suts.iter().map(move |sut| (test, *sut))
        };
        self.tests.iter().flat_map(pairs_of)
    }

    /// Checks that a finished run has scored each test and hazard once.
    fn is_scored_once(&self, state: &CheckState) -> Result<(), String> {
        if !self.judged {
            return Ok(());
        }
        for (test, sut) in self.pairs() {
            let scored = state.pairs.get(&(test, sut)).map_or(0, |pair| pair.scored);
            let (test, sut) = (state.tests.text(test), state.suts.text(sut));
            once(
                EventKind::TestScored,
                scored,
                &format!("test {test} and SUT {sut}"),
                state,
            )?;
        }
        for hazard in &self.hazards {
            for sut in &self.suts {
                let score = state.hazard_scores.get(&(hazard.name.clone(), *sut));
                let count = score.map_or(0, |score| match score.scored {
                    0 => score.calibrated,
                    scored => scored,
                });
                let place = format!("hazard {} and SUT {}", hazard.name, state.suts.text(*sut));
                once(EventKind::HazardScored, count, &place, state)?;
            }
        }
        Ok(())
    }
}

/// Whether annotators that are not public evaluate the benchmark: one of them alone then does not make a prompt safe.
fn is_private(benchmark: &str) -> bool {
    let name = benchmark.to_lowercase();
    name.ends_with("private") && !name.contains("security")
}

fn once(message: EventKind, count: u64, place: &str, state: &CheckState) -> Result<(), String> {
    match count {
        1 => Ok(()),
        0 if state.finished => Err(format!("\"{message}\" is missing for {place}")),
        0 => Err(format!(
            "the run did not end: there is no \"{message}\" for {place}, and no \"finished run\"{}",
            because(state)
        )),
        more => Err(format!(
            "\"{message}\" occurs {more} times for {place}; expected once"
        )),
    }
}

fn never_started(state: &CheckState) -> String {
    if state.lines == 0 {
        return "it holds no event".to_owned();
    }
    format!(
        "no run starts in it: there is no \"starting run\"{}",
        because(state)
    )
}

fn because(state: &CheckState) -> String {
    match (&state.exception, state.stopped) {
        (Some(exception), _) => format!(". An exception stopped it: {exception}"),
        (None, true) => ". It was stopped".to_owned(),
        (None, false) => String::new(),
    }
}

/// Whether a judge was called, or an item was measured or scored.
fn is_judged(state: &CheckState) -> bool {
    !state.annotations.is_empty() || !state.pairs.is_empty() || !state.hazard_scores.is_empty()
}
