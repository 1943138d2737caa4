//! Imported targets: `evaluate` judges their conversations, whether or not they are configured.

use probity::{Layout, Phase, imported_targets};
use schema::{ModelId, TargetRef};

use crate::{benchmarks::choose, exit::Failure, flags::BenchmarkSelection};

/// The imported targets of the selected benchmarks.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    targets: Vec<TargetRef>,
    /// Configured targets with conversations; `None` if a benchmark was not imported, and any target may have some.
    played: Option<Vec<ModelId>>,
}

impl Imported {
    /// The imported targets of the benchmarks of `selection`, if the phases judge existing conversations and simulate none.
    ///
    /// # Errors
    /// When the record of an import cannot be read. Missing benchmarks are reported where they are selected.
    pub fn of(
        layout: &Layout,
        selection: &BenchmarkSelection,
        phases: &[Phase],
    ) -> Result<Self, Failure> {
        let judges = phases.contains(&Phase::Evaluate) && !phases.contains(&Phase::Simulate);
        let Some(chosen) = choose(layout, selection, false).ok().filter(|_| judges) else {
            return Ok(Self::default());
        };
        let mut found = Self {
            targets: Vec::new(),
            played: Some(Vec::new()),
        };
        for name in &chosen.names {
            let targets = imported_targets(layout, name)?;
            if targets.is_empty() {
                found.played = None;
            }
            for target in targets {
                if !found.has(target.id.as_str()) {
                    found.targets.push(target);
                }
            }
            if let Some(played) = &mut found.played {
                played.extend(with_conversations(layout, name));
            }
        }
        Ok(found)
    }

    /// Whether there are no imported targets.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Whether the target with this id was imported.
    pub fn has(&self, id: &str) -> bool {
        self.targets.iter().any(|target| target.id.as_str() == id)
    }

    /// Whether the configured target with this id is judged as well: it was not imported, and may have conversations.
    pub fn leaves(&self, id: &ModelId) -> bool {
        let played = self.played.as_ref();
        !self.has(id.as_str()) && played.is_none_or(|ids| ids.contains(id))
    }

    /// The imported targets among `only`; all of them if `only` is empty.
    pub fn chosen(self, only: &[String]) -> Vec<TargetRef> {
        let wanted =
            |target: &TargetRef| only.is_empty() || only.iter().any(|id| id == target.id.as_str());
        self.targets.into_iter().filter(wanted).collect()
    }
}

/// The targets of a benchmark with conversations.
fn with_conversations(layout: &Layout, name: &str) -> Vec<ModelId> {
    let Ok(dir) = layout.benchmark(name) else {
        return Vec::new();
    };
    let folders = std::fs::read_dir(dir.runs())
        .into_iter()
        .flatten()
        .flatten();
    let ids = folders.filter_map(|folder| ModelId::new(folder.file_name().to_str()?).ok());
    ids.filter(|id| {
        dir.target(id)
            .is_ok_and(|files| files.conversations().exists())
    })
    .collect()
}
