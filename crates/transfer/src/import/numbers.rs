//! Numbers of samples, which are used in the ids of scenarios.

use std::collections::HashMap;

use interop::import::Recorded;

/// The questions with one id, each with its number. `None`: the question is unknown, or the first one was
/// not read yet.
type Questions = Vec<(Option<[u8; 32]>, u32)>;

/// The numbers of the samples of all tasks, from 0, in the order in which they are read.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// By task and the sample's id.
    known: HashMap<(String, String), Questions>,
    next: u32,
}

impl Numbers {
    /// Assigns the sample a number before it is read. Its question is not known yet.
    pub(super) fn reserve(&mut self, task: &str, sample: &str) {
        let key = (task.to_owned(), sample.to_owned());
        let next = &mut self.next;
        self.known
            .entry(key)
            .or_insert_with(|| vec![(None, counted(next))]);
    }

    /// The number of the sample of `recorded`.
    pub(super) fn number(&mut self, task: &str, recorded: &Recorded) -> u32 {
        let key = (task.to_owned(), recorded.sample_id.clone());
        let known = self.known.entry(key).or_default();
        let asks = recorded.question;
        if let Some((_, number)) = known.iter().find(|(question, _)| *question == asks) {
            return *number;
        }
        if let Some((question, number)) = known.iter_mut().find(|(question, _)| question.is_none())
        {
            *question = asks;
            return *number;
        }
        let number = counted(&mut self.next);
        known.push((asks, number));
        number
    }
}

fn counted(next: &mut u32) -> u32 {
    let number = *next;
    *next = next.saturating_add(1);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_numbers_and_questions_have_their_own() {
        let mut numbers = Numbers::default();
        numbers.reserve("t", "b");
        numbers.reserve("t", "a");
        numbers.reserve("t", "b");
        let mut number = |task: &str, id: &str, question: Option<[u8; 32]>| {
            let recorded = Recorded {
                sample_id: id.to_owned(),
                question,
                ..Recorded::default()
            };
            numbers.number(task, &recorded)
        };
        assert_eq!(number("t", "a", None), 1);
        assert_eq!(number("t", "b", Some([7; 32])), 0);
        assert_eq!(number("t", "b", Some([8; 32])), 2);
        assert_eq!(number("t", "b", Some([7; 32])), 0);
        assert_eq!(number("other", "a", None), 3);
        assert_eq!(number("t", "a", None), 1);
    }
}
