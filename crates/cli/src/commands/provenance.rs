//! The provenance of a tree's files, from the records of earlier runs: scripted models or real ones.

use std::collections::BTreeMap;

use probity::{
    Layout, Phase,
    provenance::{Provenance, earlier_runs},
};
use serde_json::Value;
use store::{read_benchmark, read_scenarios};

use super::Context;
use crate::config::Config;

/// The source of scripted models in the configuration, and the prefix of their names.
const SCRIPTED: &str = "scripted";

/// The recorded provenance of one benchmark. Files without a record are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchmarkProvenance {
    /// The run that last wrote the metrics, if a scripted model wrote them and at least one is unchanged.
    pub scripted_metrics: Option<String>,
    /// The run that last wrote scenarios, if a scripted model wrote them and at least one is unchanged.
    pub scripted_scenarios: Option<String>,
    targets: BTreeMap<String, bool>,
}

impl BenchmarkProvenance {
    /// Reads the records of the runs on `benchmark`.
    pub fn read(layout: &Layout, benchmark: &str) -> Self {
        let mut provenance = Self::default();
        let (mut metrics, mut scenarios) = (None, None);
        for run in earlier_runs(layout) {
            let author = || {
                (
                    is_scripted(run.setting("generator_model")),
                    run.run_id.clone(),
                )
            };
            for phase in run.finished_phases(benchmark) {
                match phase {
                    ("gen_metrics", _) => {
                        let _ = metrics.get_or_insert_with(author);
                    }
                    ("gen_scenarios", _) => {
                        let _ = scenarios.get_or_insert_with(author);
                    }
                    ("simulate", Some(id)) => {
                        let targets = run.setting("targets").as_array();
                        let mut targets = targets.into_iter().flatten();
                        if let Some(target) = targets.find(|model| model["id"] == id) {
                            let known = provenance.targets.entry(id.to_owned());
                            known.or_insert_with(|| is_scripted(target));
                        }
                    }
                    _ => {}
                }
            }
        }
        let if_scripted = |(scripted, run): (bool, String)| scripted.then_some(run);
        provenance.scripted_metrics = metrics.and_then(if_scripted);
        provenance.scripted_scenarios = scenarios.and_then(if_scripted);
        provenance.leave_out_rewritten(layout, benchmark);
        provenance
    }

    /// Removes what has been rewritten since. Without a record of the rows, nothing is removed.
    fn leave_out_rewritten(&mut self, layout: &Layout, benchmark: &str) {
        let Ok(dir) = layout.benchmark(benchmark) else {
            return;
        };
        let recorded = Provenance::read(&dir);
        if let (Some(generated), Ok(now)) = (recorded.metrics, read_benchmark(&dir))
            && !generated.holds_one_of(&now.metrics)
        {
            self.scripted_metrics = None;
        }
        if let (Some(generated), Ok(now)) = (recorded.scenarios, read_scenarios(&dir.scenarios()))
            && !generated.holds_one_of(&now)
        {
            self.scripted_scenarios = None;
        }
    }

    /// Whether a scripted model wrote the conversations of this target. Without a record, the target's name decides.
    pub fn is_scripted(&self, target: &str) -> bool {
        let known = self.targets.get(target).copied();
        known.unwrap_or_else(|| target.starts_with("scripted-"))
    }
}

/// Whether a model entry in the configuration names a scripted model.
fn is_scripted(model: &Value) -> bool {
    let source = model["source"].as_str();
    source.is_some_and(|source| source.eq_ignore_ascii_case(SCRIPTED))
}

impl Context {
    /// Warns if a run uses metrics and scenarios from a scripted model to measure a real one.
    pub fn warn_of_scripted_scenarios(&self, config: &Config, names: &[String], phases: &[Phase]) {
        let measures = phases.contains(&Phase::Simulate) || phases.contains(&Phase::Evaluate);
        if !measures || !config.settings.models.measures_real() {
            return;
        }
        for name in names {
            if let Some(text) = self.scripted_scenarios(name) {
                self.terminal.warning(&text);
            }
        }
    }

    fn scripted_scenarios(&self, name: &str) -> Option<String> {
        let dir = self.layout.benchmark(name).ok()?;
        let has_metrics = read_benchmark(&dir).is_ok_and(|benchmark| !benchmark.metrics.is_empty());
        let has_scenarios = dir.scenarios().exists();
        if !has_metrics && !has_scenarios {
            return None;
        }
        let provenance = BenchmarkProvenance::read(&self.layout, name);
        let metrics = provenance.scripted_metrics.filter(|_| has_metrics);
        let scenarios = provenance.scripted_scenarios.filter(|_| has_scenarios);
        let (what, run, phases) = match (&metrics, &scenarios) {
            (Some(run), Some(_)) => (
                "metrics and scenarios",
                run,
                &["gen-metrics", "gen-scenarios"][..],
            ),
            (Some(run), None) => ("metrics", run, &["gen-metrics"][..]),
            (None, Some(run)) => ("scenarios", run, &["gen-scenarios"][..]),
            (None, None) => return None,
        };
        let command = self.layout.command();
        let commands = phases.iter();
        let commands: Vec<String> = commands
            .map(|phase| format!("`{command} {phase} {name} --force`"))
            .collect();
        Some(format!(
            "{name}: scripted models wrote {what} (in {run}), and a real model is measured with them\nhelp: {} generates them again; \
             files that were edited are kept under another name",
            commands.join(", then ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_record_tells_who_wrote_what() {
        let folder = tempfile::TempDir::new().unwrap();
        let layout = Layout::new(folder.path().join("benchmarks"));
        let write = |run: &str, source: &str, rows: u64| {
            let manifest = json!({
                "run_id": run,
                "config": {"generator_model": {"id": "g", "source": source}, "targets": [{"id": "a", "source": source}]},
                "results": {"b": {"counts": [
                    {"phase": "gen_metrics", "target": null, "rows": {"done": 1}},
                    {"phase": "gen_scenarios", "target": null, "rows": {"done": rows}},
                    {"phase": "simulate", "target": "a", "rows": {"done": rows}},
                ]}},
            });
            fs::create_dir_all(layout.run(run)).unwrap();
            fs::write(
                layout.run(run).join(probity::Manifest::FILE),
                manifest.to_string(),
            )
            .unwrap();
        };
        assert!(BenchmarkProvenance::read(&layout, "b").is_scripted("scripted-careful"));
        write("run-1", "scripted", 4);
        fs::create_dir_all(layout.run("run-1x")).unwrap();
        write("run-2", "openai", 0);
        let provenance = BenchmarkProvenance::read(&layout, "b");
        assert_eq!(provenance.scripted_metrics, None);
        assert_eq!(provenance.scripted_scenarios.as_deref(), Some("run-1"));
        assert!(provenance.is_scripted("a"));
        assert!(!provenance.is_scripted("b"));
        assert_eq!(
            BenchmarkProvenance::read(&layout, "c"),
            BenchmarkProvenance::default()
        );
    }
}
