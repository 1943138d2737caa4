//! The projects that commands begin with.

use std::{error::Error, fs};

use scripted_llm::ScriptedServer;

use super::SIZE;
use crate::chaos::{project::Project, trial::Trial};

/// What a command begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// A description, from which all is generated.
    Description,
    /// Metrics and scenarios.
    Scenarios,
    /// Conversations without scores.
    Conversations,
    /// A finished run, its cassette, and files to import.
    Finished,
}

/// A project of each kind.
pub(super) struct Grounds {
    description: Project,
    scenarios: Project,
    conversations: Project,
    finished: Project,
}

impl Grounds {
    pub(super) async fn new(trial: &Trial) -> Result<Self, Box<dyn Error>> {
        let server = ScriptedServer::start().await?;
        let url = server.base_url();
        let scenarios = trial.project(&url, SIZE, "")?;
        let description = trial.project(&url, SIZE, "")?;
        fs::remove_file(description.path().join("benchmarks/bench/scenarios.json"))?;
        fs::write(
            description.path().join("benchmarks/bench/benchmark.yaml"),
            "name: bench # for people\ndescription: Whether an assistant flatters, and gives in when a user pushes back.\n",
        )?;
        let conversations = scenarios.copy().await?;
        conversations
            .succeeds(&["simulate", "bench", "--quiet"])
            .await?;
        let finished = conversations.copy().await?;
        finished.succeeds(&["run", "bench", "--quiet"]).await?;
        finished
            .succeeds(&["pack", "--quiet", "--out", "run.cassette"])
            .await?;
        finished.copy_within("benchmarks/bench", "theirs").await?;
        fs::write(finished.path().join("labels.csv"), labels(&finished)?)?;
        fs::write(finished.path().join("prompts.csv"), prompts())?;
        Ok(Self {
            description,
            scenarios,
            conversations,
            finished,
        })
    }

    /// A copy of a project, whose models are those of the server at `base_url`.
    pub(super) async fn copy(
        &self,
        ground: Ground,
        base_url: Option<&str>,
    ) -> Result<Project, Box<dyn Error>> {
        let from = match ground {
            Ground::Description => &self.description,
            Ground::Scenarios => &self.scenarios,
            Ground::Conversations => &self.conversations,
            Ground::Finished => &self.finished,
        };
        let copy = from.copy().await?;
        if let Some(base_url) = base_url {
            copy.configure(base_url, SIZE, "")?;
        }
        Ok(copy)
    }
}

/// A label for each conversation of one target.
fn labels(project: &Project) -> Result<String, Box<dyn Error>> {
    let scores = project.benchmarks().join("bench/runs/careful/scores.json");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&::files::read(scores)?)?;
    let lines = rows.iter().map(|row| {
        let id = row["conv_id"].as_str().unwrap_or_default();
        format!("careful,{id},m01,ann,yes\n")
    });
    Ok(format!(
        "target,conv_id,metric_id,labeller,passed\n{}",
        lines.collect::<String>()
    ))
}

fn prompts() -> String {
    let lines = (0..50).map(|number| format!("{number},What is {number} plus {number}?\n"));
    format!("id,prompt\n{}", lines.collect::<String>())
}
