//! The items of a journal, and what is counted for each.

/// Which item: a prompt of a test against a SUT, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) prompt: u32,
    pub(crate) test: u32,
    pub(crate) sut: u32,
}

/// What was measured last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Measured {
    /// Nothing.
    #[default]
    Not,
    /// `is_safe` 1.0
    Safe,
    /// `is_safe` 0.0
    Unsafe,
    /// No `is_safe`, or another number.
    Other,
}

/// One item: how often each of its events is in the journal.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    pub(crate) queued: u32,
    pub(crate) measured: u32,
    pub(crate) finished: u32,
    pub(crate) failed: u32,
    pub(crate) safe_votes: u32,
    pub(crate) unsafe_votes: u32,
    /// Messages that sum up the responses of the SUT to the item.
    pub(crate) responses: u32,
    /// Messages that sum up their translations.
    pub(crate) translations: u32,
    /// Valid annotations, by the responses that each joins.
    pub(crate) joined: u32,
    /// The last measurement.
    pub(crate) value: Measured,
    /// Whether it derives from another item, and is not announced.
    pub(crate) derived: bool,
    /// Whether a reply of the SUT is more than blanks.
    pub(crate) has_text: bool,
    /// The verdict that the judges of a panel were merged into.
    pub(crate) merged: Option<bool>,
    /// Sorted by place. Few, so that a list needs less memory than a map.
    replies: Vec<Reply>,
    /// Few, by annotator.
    annotators: Vec<(u32, Marks)>,
}

/// One reply of the SUT. Counters stop at 255.
#[derive(Clone, Copy, Debug)]
struct Reply {
    /// The turn, from 1, and the step in it, from 0.
    place: (u32, u32),
    answered: u8,
    translated: u8,
}

/// How often an annotator responded to an item. Counters stop at 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Responses of the annotator.
    pub(crate) responses: u8,
    /// Translations of them.
    pub(crate) translations: u8,
    /// Whether the annotator was called, and its response may be missing or come later.
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

impl Item {
    pub(crate) fn new(key: Key) -> Self {
        Self {
            key,
            queued: 0,
            measured: 0,
            finished: 0,
            failed: 0,
            safe_votes: 0,
            unsafe_votes: 0,
            responses: 0,
            translations: 0,
            joined: 0,
            value: Measured::Not,
            derived: false,
            has_text: false,
            merged: None,
            replies: Vec::new(),
            annotators: Vec::new(),
        }
    }

    /// Whether the SUT answered, and with blanks only.
    pub(crate) fn is_blank(&self) -> bool {
        self.is_translated() && !self.has_text
    }

    /// Whether any response is there.
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

    /// Counts `step` of the reply of `turn`, from 1, and `number` in it, from 0.
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

    /// Where the reply at `place` is, or belongs.
    fn find_reply(&self, place: (u32, u32)) -> Result<usize, usize> {
        self.replies
            .binary_search_by_key(&place, |reply| reply.place)
    }

    /// Drops the replies of an attempt that was given up.
    pub(crate) fn retry(&mut self) {
        self.replies.clear();
        self.has_text = false;
    }

    /// Whether the turns that were answered are 1 to n, and the replies of each 0 to m.
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

    /// Whether the same replies were answered and translated.
    pub(crate) fn turns_agree(&self) -> bool {
        let mut replies = self.replies.iter();
        replies.all(|reply| (reply.answered > 0) == (reply.translated > 0))
    }

    /// Changes the counts of an annotator.
    pub(crate) fn annotator(&mut self, annotator: u32, change: impl FnOnce(&mut Marks)) {
        let mut known = self.annotators.iter_mut();
        if let Some((_, marks)) = known.find(|(known, _)| *known == annotator) {
            return change(marks);
        }
        let mut marks = Marks::default();
        change(&mut marks);
        self.annotators.push((annotator, marks));
    }

    /// The annotator was called, and counts as having responded: its response may be missing, or come later.
    pub(crate) fn excuse(&mut self, annotator: u32) {
        self.annotator(annotator, |marks| marks.excused = true);
    }

    /// How often an annotator responded to the item.
    pub(crate) fn marks(&self, annotator: u32) -> Marks {
        let mut known = self.annotators.iter();
        let known = known.find(|(known, _)| *known == annotator);
        let mut marks = known.map_or_else(Marks::default, |(_, marks)| *marks);
        if marks.excused {
            marks.responses = marks.responses.max(1);
        }
        marks
    }
}
