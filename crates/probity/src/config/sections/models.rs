//! The models for each part.

use schema::IdError;
use store::findings::{ModelRole, RoleModels};

use super::{
    mcp::McpEntry,
    model::{ModelEntry, Route},
};

/// The models for each part. A part without a model is only an error in phases that need it.
#[derive(Clone, Default)]
pub struct ModelEntries {
    /// The model that simulates the user.
    pub user: Option<ModelEntry>,
    /// The model that answers calls of simulated tools.
    pub tool: Option<ModelEntry>,
    /// The model that writes metrics and scenarios.
    pub generator: Option<ModelEntry>,
    /// The judges: one, or a panel.
    pub judges: Vec<ModelEntry>,
    /// The systems under test.
    pub targets: Vec<ModelEntry>,
    /// The judges of `evaluator_model`, which programs may call also where they judge nothing themselves.
    pub shipped_judges: Vec<ModelEntry>,
    /// Further models that programs may call, by name.
    pub named: Vec<(String, ModelEntry)>,
    /// The servers whose tools targets can call.
    pub servers: Vec<McpEntry>,
}

impl ModelEntries {
    /// The models of the demonstration. They need no key and no network.
    ///
    /// # Errors
    /// Never, as long as these names are valid ids.
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
            shipped_judges: Vec::new(),
            named: Vec::new(),
            servers: Vec::new(),
        };
        models.shipped_judges.clone_from(&models.judges);
        models.fill_in();
        Ok(models)
    }

    /// Uses the user model for metrics, scenarios and simulated tools if no other model is configured for
    /// them.
    pub(in crate::config) fn fill_in(&mut self) {
        // A program that plays the user can do nothing else.
        let user = self.user.clone().filter(|user| !user.table.is_program());
        for part in [&mut self.generator, &mut self.tool] {
            if part.is_none() {
                part.clone_from(&user);
            }
        }
    }

    /// All existing models.
    pub fn all(&self) -> impl Iterator<Item = &ModelEntry> {
        [&self.generator, &self.user, &self.tool]
            .into_iter()
            .flatten()
            .chain(&self.judges)
            .chain(&self.targets)
    }

    /// The models that programs may call, by name: the judges, the other roles, and those of `models`. Programs cannot call programs.
    pub fn callable(&self) -> Vec<(String, &ModelEntry)> {
        let mut all = Vec::new();
        for judge in &self.shipped_judges {
            if all.is_empty() {
                all.push(("judge".to_owned(), judge));
            }
            all.push((format!("judge:{}", judge.id), judge));
        }
        let roles = [
            ("user", &self.user),
            ("generator", &self.generator),
            ("tools", &self.tool),
        ];
        for (name, entry) in roles {
            all.extend(entry.iter().map(|entry| (name.to_owned(), entry)));
        }
        all.extend(self.named.iter().map(|(name, entry)| (name.clone(), entry)));
        all.retain(|(_, entry)| !entry.table.is_program());
        all
    }

    /// The models of [`callable`](Self::callable), some of them several times.
    pub fn callable_entries(&self) -> impl Iterator<Item = &ModelEntry> {
        self.callable().into_iter().map(|(_, entry)| entry)
    }

    /// The models behind the results of each target.
    pub fn roles(&self) -> Vec<RoleModels> {
        let of_target = |target: &ModelEntry| {
            let role = |role| move |entry: &ModelEntry| entry.in_role(role);
            // Tools are simulated only where a benchmark has such tools, and then by the user's model unless another is configured.
            let models = [target.in_role(ModelRole::Target)]
                .into_iter()
                .chain(self.user.iter().map(role(ModelRole::User)))
                .chain(self.judges.iter().map(role(ModelRole::Judge)))
                .chain(self.generator.iter().map(role(ModelRole::Generator)));
            RoleModels {
                target: target.id.clone(),
                models: models.collect(),
            }
        };
        self.targets.iter().map(of_target).collect()
    }

    /// Whether something real is measured: a target or a judge is not scripted.
    pub fn measures_real(&self) -> bool {
        let mut measured = self.targets.iter().chain(&self.judges);
        measured.any(|model| model.route != Route::Scripted)
    }

    /// Whether any model is real.
    pub fn any_real(&self) -> bool {
        self.all().any(|model| model.route != Route::Scripted)
    }

    /// Whether any model is scripted.
    pub fn any_scripted(&self) -> bool {
        self.all().any(|model| model.route == Route::Scripted)
    }
}
