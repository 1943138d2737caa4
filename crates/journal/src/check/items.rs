//! What is counted for each item of a journal.

/// The key of an item: a prompt of a test against a SUT, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) prompt: u32,
    pub(crate) test: u32,
    pub(crate) sut: u32,
}

/// The last measurement of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Measured {
    /// No measurement.
    #[default]
    Not,
    /// `is_safe` 1.0
    Safe,
    /// `is_safe` 0.0
    Unsafe,
    /// No `is_safe`, or another number.
    Other,
}

/// Of one item: how often each of its events is in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ItemCounts {
    pub(crate) queued: u32,
    pub(crate) measured: u32,
    pub(crate) finished: u32,
    pub(crate) failed: u32,
    pub(crate) safe_votes: u32,
    pub(crate) unsafe_votes: u32,
    /// Messages that summarise the responses of the SUT to the item.
    pub(crate) responses: u32,
    /// Messages that summarise their translations.
    pub(crate) translations: u32,
    /// The number of replies that the last summary of responses says it sums up; 0 without a summary.
    pub(crate) summed_responses: u32,
    /// The same for translations.
    pub(crate) summed_translations: u32,
    /// Requests that may leave out messages.
    pub(crate) requests: u32,
    /// Those of them whose messages cannot be put back.
    pub(crate) partial_requests: u32,
    /// Valid annotations, each counted once for every response that it joins.
    pub(crate) joined: u32,
    /// The last measurement.
    pub(crate) value: Measured,
    /// Whether it came whole from the cache, and its turns are in an earlier journal.
    pub(crate) kept: bool,
    /// Whether the item derives from another item, and is not announced.
    pub(crate) derived: bool,
    /// Whether any reply of the SUT is not blank.
    pub(crate) has_text: bool,
    /// The merged verdict of a panel.
    pub(crate) merged: Option<bool>,
    /// Sorted by position. A list needs less memory than a map for few entries.
    replies: Vec<Reply>,
    /// By annotator; a list because there are few.
    annotators: Vec<(u32, Marks)>,
}

/// One reply of the SUT. Counters stop at 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reply {
    /// The turn, from 1, and the step in it, from 0.
    place: (u32, u32),
    answered: u8,
    translated: u8,
}

/// How often an annotator responded to an item. Counters stop at 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Marks {
    /// Responses of the annotator.
    pub(crate) responses: u8,
    /// Translations of these responses.
    pub(crate) translations: u8,
    /// Whether the annotator was called, but its response may be missing or arrive later.
    excused: bool,
}

/// A step of an item that is counted per turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Answered,
    Translated,
}

impl Reply {
    fn count(&mut self, step: Step) {
        let count = match step {
            Step::Answered => &mut self.answered,
            Step::Translated => &mut self.translated,
        };
        *count = count.saturating_add(1);
    }
}

impl Marks {
    /// Counts a response.
    pub(crate) fn count_response(&mut self) {
        self.responses = self.responses.saturating_add(1);
    }

    /// Counts a translation.
    pub(crate) fn count_translation(&mut self) {
        self.translations = self.translations.saturating_add(1);
    }
}

impl ItemCounts {
    /// Whether the SUT answered with blank replies only.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_translated() && !self.has_text
    }

    /// Whether there is any response.
    pub(crate) fn is_answered(&self) -> bool {
        self.responses > 0 || self.replies.iter().any(|reply| reply.answered > 0)
    }

    /// Whether any response is translated.
    pub(crate) fn is_translated(&self) -> bool {
        self.translations > 0 || self.replies.iter().any(|reply| reply.translated > 0)
    }

    /// Whether a reply has two responses.
    pub(crate) fn is_answered_twice(&self) -> bool {
        self.replies.iter().any(|reply| reply.answered > 1)
    }

    /// Whether a reply is translated twice.
    pub(crate) fn is_translated_twice(&self) -> bool {
        self.replies.iter().any(|reply| reply.translated > 1)
    }

    /// Counts `step` of a reply: `turn` counts from 1, `number` within the turn from 0.
    pub(crate) fn count_reply(&mut self, step: Step, turn: u32, number: u32) {
        let place = (turn, number);
        match self.find_reply(place) {
            Ok(at) => self
                .replies
                .get_mut(at)
                .into_iter()
                .for_each(|reply| reply.count(step)),
            Err(at) => {
                let mut reply = Reply {
                    place,
                    answered: 0,
                    translated: 0,
                };
                reply.count(step);
                self.replies.insert(at, reply);
            }
        }
    }

    /// The index of the reply at `place`, or the index where it would be inserted.
    fn find_reply(&self, place: (u32, u32)) -> Result<usize, usize> {
        self.replies
            .binary_search_by_key(&place, |reply| reply.place)
    }

    /// Removes the replies of an aborted attempt.
    pub(crate) fn retry(&mut self) {
        self.replies.clear();
        self.has_text = false;
    }

    /// Whether the answered turns are 1 to n, and the replies of each turn 0 to m.
    pub(crate) fn turns_are_whole(&self) -> bool {
        let has = |turn: u32, number: u32| {
            let at = self.find_reply((turn, number)).ok();
            let reply = at.and_then(|at| self.replies.get(at));
            reply.is_some_and(|reply| reply.answered > 0)
        };
        let mut answered = self.replies.iter().filter(|reply| reply.answered > 0);
        answered.all(|reply| match reply.place {
            (1, 0) => true,
            (0, 0) => false,
            (turn, 0) => has(turn - 1, 0),
            (turn, number) => has(turn, number - 1),
        })
    }

    /// Whether the summary of `step` says another number of replies than there are. Those of a kept item are not in the journal.
    pub(crate) fn summary_differs(&self, step: Step) -> bool {
        let summed = match step {
            Step::Answered => self.summed_responses,
            Step::Translated => self.summed_translations,
        };
        let replies = self.replies.iter().filter(|reply| match step {
            Step::Answered => reply.answered > 0,
            Step::Translated => reply.translated > 0,
        });
        summed > 0 && !self.kept && replies.count() != summed as usize
    }

    /// Whether the same replies were answered and translated.
    pub(crate) fn turns_agree(&self) -> bool {
        let mut replies = self.replies.iter();
        replies.all(|reply| (reply.answered > 0) == (reply.translated > 0))
    }

    /// Updates the counts of an annotator.
    pub(crate) fn annotator(&mut self, annotator: u32, change: impl FnOnce(&mut Marks)) {
        let mut known = self.annotators.iter_mut();
        if let Some((_, marks)) = known.find(|(known, _)| *known == annotator) {
            return change(marks);
        }
        let mut marks = Marks::default();
        change(&mut marks);
        self.annotators.push((annotator, marks));
    }

    /// Counts an annotator that was called as having responded: its response may be missing, or arrive
    /// later.
    pub(crate) fn excuse(&mut self, annotator: u32) {
        self.annotator(annotator, |marks| marks.excused = true);
    }

    /// How often an annotator responded to the item.
    pub(crate) fn marks(&self, annotator: u32) -> Marks {
        let known = self
            .annotators
            .iter()
            .find(|(known, _)| *known == annotator);
        let mut marks = known.map_or_else(Marks::default, |(_, marks)| *marks);
        if marks.excused {
            marks.responses = marks.responses.max(1);
        }
        marks
    }
}
