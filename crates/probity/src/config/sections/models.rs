//! Which models play which part.

use schema::IdError;

use super::model::{ModelEntry, Route};

/// Which models play which part. A part that is not configured is only missed by the phases that need it.
#[derive(Clone, Default)]
pub struct ModelEntries {
    /// Plays the user.
    pub user: Option<ModelEntry>,
    /// Answers calls of simulated tools.
    pub tool: Option<ModelEntry>,
    /// Writes metrics and scenarios.
    pub generator: Option<ModelEntry>,
    /// Judges: one, or a panel.
    pub judges: Vec<ModelEntry>,
    /// The systems under test.
    pub targets: Vec<ModelEntry>,
}

impl ModelEntries {
    /// The models of the demonstration, which need no key and no network.
    ///
    /// # Errors
    /// None, as long as these names are good ids.
    pub fn scripted() -> Result<Self, IdError> {
        let part = |path, model| ModelEntry::scripted(path, model).map(Some);
        let mut models = Self {
            user: part("user_model", "scripted-user")?,
            tool: None,
            generator: part("generator_model", "scripted-generator")?,
            judges: vec![ModelEntry::scripted("evaluator_model", "scripted-judge")?],
            targets: vec![
                ModelEntry::scripted("targets[0]", "scripted-agreeable")?,
                ModelEntry::scripted("targets[1]", "scripted-careful")?,
            ],
        };
        models.fill_in();
        Ok(models)
    }

    /// The user model writes metrics and scenarios, and answers calls of simulated tools, where no other does.
    pub(in crate::config) fn fill_in(&mut self) {
        for part in [&mut self.generator, &mut self.tool] {
            if part.is_none() {
                part.clone_from(&self.user);
            }
        }
    }

    /// All models there are.
    pub fn all(&self) -> impl Iterator<Item = &ModelEntry> {
        [&self.generator, &self.user, &self.tool]
            .into_iter()
            .flatten()
            .chain(&self.judges)
            .chain(&self.targets)
    }

    /// Whether something real is measured: a target or a judge is no scripted model.
    pub fn measures_real(&self) -> bool {
        let mut measured = self.targets.iter().chain(&self.judges);
        measured.any(|model| model.route != Route::Scripted)
    }

    /// Whether any of them is a real model.
    pub fn any_real(&self) -> bool {
        self.all().any(|model| model.route != Route::Scripted)
    }

    /// Whether any of them is scripted.
    pub fn any_scripted(&self) -> bool {
        self.all().any(|model| model.route == Route::Scripted)
    }
}
