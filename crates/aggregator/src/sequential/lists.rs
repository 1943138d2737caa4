//! How many scenarios there are to play.

/// The lists of a sequence: how many scenarios there were to play, and since when. Scenarios that are added later make a longer list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioLists(Vec<(u64, u64)>);

impl ScenarioLists {
    /// One list of `scenarios`.
    #[must_use]
    pub fn one(scenarios: u64) -> Self {
        Self(vec![(0, scenarios)])
    }

    /// With a list of `scenarios` in all, from when `from` scenarios were known. A list that does not come after the last one is left out.
    #[must_use]
    pub fn then(mut self, from: u64, scenarios: u64) -> Self {
        if self
            .0
            .last()
            .is_none_or(|last| last.0 <= from && last.1 <= scenarios)
        {
            self.0.push((from, scenarios));
        }
        self
    }

    /// The scenarios of the list after `played` of them.
    #[must_use]
    pub fn scenarios(&self, played: u64) -> u64 {
        self.at(played).1
    }

    /// What is kept of the capital for a longer list: 0.1 to the power of the number of lists so far.
    pub(super) fn reserve(&self, played: u64) -> f64 {
        let lists = self.0.iter().filter(|(from, _)| *from <= played).count();
        0.1_f64.powi(i32::try_from(lists).unwrap_or(i32::MAX))
    }

    fn at(&self, played: u64) -> (u64, u64) {
        let begun = self.0.iter().rfind(|(from, _)| *from <= played);
        begun.copied().unwrap_or_default()
    }
}
