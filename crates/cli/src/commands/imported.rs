//! Targets whose conversations were imported: `evaluate` judges them, whether the configuration has them or not.

use probity::{Layout, Phase, imported_targets};
use schema::{ModelId, TargetRef};

use crate::{benchmarks::choose, exit::Failure, flags::BenchmarkSelection};

/// The imported targets of the benchmarks that a command works on.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    targets: Vec<TargetRef>,
    /// Configured targets that have conversations beside them; `None` where a benchmark was not imported, and all may have.
    played: Option<Vec<ModelId>>,
}

impl Imported {
    /// Those of the benchmarks of `selection`, where existing conversations are judged and none are simulated.
    ///
    /// # Errors
    /// When the record of an import cannot be read. Missing benchmarks are reported where they are chosen.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Whether a target of this id was imported.
    pub fn has(&self, id: &str) -> bool {
        self.targets.iter().any(|target| target.id.as_str() == id)
    }

    /// Whether a configured target of this id is judged as well: it is no other's, and may have conversations.
    pub fn leaves(&self, id: &ModelId) -> bool {
        let played = self.played.as_ref();
        !self.has(id.as_str()) && played.is_none_or(|ids| ids.contains(id))
    }

    /// The imported targets among those of `only`; all where it is empty.
    pub fn chosen(self, only: &[String]) -> Vec<TargetRef> {
        let wanted =
            |target: &TargetRef| only.is_empty() || only.iter().any(|id| id == target.id.as_str());
        self.targets.into_iter().filter(wanted).collect()
    }
}

/// The targets of a benchmark that have conversations.
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
