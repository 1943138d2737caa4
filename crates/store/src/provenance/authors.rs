//! Who wrote the metrics and the scenarios of a benchmark: scripted models or real ones.

use super::{Provenance, earlier_runs};
use crate::{BenchmarkDir, Layout, Manifest, read_benchmark, read_scenarios};

/// The source of scripted models in the configuration.
const SCRIPTED: &str = "scripted";

/// The files of a benchmark that a scripted model wrote last, as far as at least one row is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedAuthors {
    /// The run that wrote the metrics.
    pub metrics: Option<String>,
    /// The run that wrote the scenarios.
    pub scenarios: Option<String>,
}

impl ScriptedAuthors {
    /// Reads the manifests of the runs on the benchmark. Files that do not exist, or were rewritten since, are left out.
    #[must_use]
    pub fn read(layout: &Layout, dir: &BenchmarkDir) -> Self {
        let (mut metrics, mut scenarios) = (None, None);
        for run in earlier_runs(layout) {
            for (phase, _) in run.finished_phases(dir.name()) {
                let author = match phase {
                    "gen_metrics" => &mut metrics,
                    "gen_scenarios" => &mut scenarios,
                    _ => continue,
                };
                author.get_or_insert_with(|| (is_scripted(&run), run.run_id.clone()));
            }
        }
        let if_scripted = |(scripted, run): (bool, String)| scripted.then_some(run);
        let mut authors = Self {
            metrics: metrics.and_then(if_scripted),
            scenarios: scenarios.and_then(if_scripted),
        };
        authors.leave_out_rewritten(dir);
        authors
    }

    /// Removes what does not exist or has been rewritten. Without a record of the rows, existing files stay.
    fn leave_out_rewritten(&mut self, dir: &BenchmarkDir) {
        if self == &Self::default() {
            return;
        }
        let recorded = Provenance::read(dir);
        let now = read_benchmark(dir).ok();
        let metrics = now.filter(|now| !now.metrics.is_empty());
        let is_rewritten = match (&recorded.metrics, &metrics) {
            (_, None) => true,
            (Some(generated), Some(now)) => !generated.holds_one_of(&now.metrics),
            (None, Some(_)) => false,
        };
        if is_rewritten {
            self.metrics = None;
        }
        let path = dir.scenarios();
        let is_rewritten = match (recorded.scenarios, read_scenarios(dir)) {
            (Some(generated), Ok(now)) => !generated.holds_one_of(&now),
            _ => !path.exists(),
        };
        if is_rewritten {
            self.scenarios = None;
        }
    }
}

fn is_scripted(run: &Manifest) -> bool {
    let generator = run.config.generator_model.as_ref();
    let source = generator.and_then(|generator| generator.source.as_ref());
    source.is_some_and(|source| source.eq_ignore_ascii_case(SCRIPTED))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_record_says_who_wrote_what() {
        let folder = tempfile::TempDir::new().unwrap();
        let layout = Layout::new(folder.path().join("benchmarks"));
        let dir = layout.benchmark("b").unwrap();
        fs::create_dir_all(dir.root()).unwrap();
        let metric = json!({"id": "m01", "name": "n", "type": "negative", "definition": "d", "examples": []});
        fs::write(
            dir.yaml(),
            json!({"name": "b", "metrics": [metric]}).to_string(),
        )
        .unwrap();
        fs::write(dir.scenarios(), "[]").unwrap();
        let write = |run: &str, source: &str, rows: u64| {
            let manifest = json!({
                "run_id": run,
                "config": {"generator_model": {"id": "g", "source": source}},
                "results": {"b": {"counts": [
                    {"phase": "gen_metrics", "target": null, "rows": {"done": 1}},
                    {"phase": "gen_scenarios", "target": null, "rows": {"done": rows}},
                ]}},
            });
            fs::create_dir_all(layout.run(run)).unwrap();
            fs::write(layout.run(run).join(Manifest::FILE), manifest.to_string()).unwrap();
        };
        let read = || ScriptedAuthors::read(&layout, &dir);
        assert_eq!(read(), ScriptedAuthors::default());
        write("run-1", "scripted", 4);
        assert_eq!(read().metrics.as_deref(), Some("run-1"));
        fs::create_dir_all(layout.run("run-1x")).unwrap();
        write("run-2", "openai", 0);
        assert_eq!(read().metrics, None);
        assert_eq!(read().scenarios.as_deref(), Some("run-1"));
        fs::remove_file(dir.scenarios()).unwrap();
        assert_eq!(read(), ScriptedAuthors::default());
    }
}
