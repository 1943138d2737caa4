//! Models of the run that programs may call.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use schema::ChatModel;

/// The models of a run that programs may call by name, each with all its layers. Clones share them.
///
/// A model that cannot be made is offered too, with the reason: it matters only to programs that call it.
#[derive(Clone, Default)]
pub struct HostModels(Arc<Mutex<BTreeMap<String, Offered>>>);

/// A model that programs may call.
#[derive(Clone)]
pub struct HostModel {
    /// The model, with all its layers.
    pub model: Arc<dyn ChatModel>,
    /// Its name at its endpoint.
    pub name: String,
    /// A hash of what decides its replies: a program that calls another model is another program.
    pub identity: String,
}

/// A model, or why it cannot be called.
type Offered = Result<HostModel, String>;

impl HostModels {
    /// Offers a model under `name`; the last one with a name counts.
    pub fn offer(&self, name: impl Into<String>, model: Offered) {
        self.models().insert(name.into(), model);
    }

    /// The names of all models.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.models().keys().cloned().collect()
    }

    /// The model with this name, or why it cannot be called; `None` if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Result<HostModel, String>> {
        self.models().get(name).cloned()
    }

    fn models(&self) -> MutexGuard<'_, BTreeMap<String, Offered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HostModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostModels").field(&self.names()).finish()
    }
}
