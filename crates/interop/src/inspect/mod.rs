//! Logs of [Inspect](https://inspect.aisi.org.uk), as files that `inspect view` and `read_eval_log` open.
//!
//! A log is one target of one benchmark. A scenario is a sample, its repetitions are epochs, a metric is a scorer, the judge's
//! justification is the score's explanation, and the judge is the model role `grader`.
//!
//! ```
//! use interop::{Exporter, Run, Sample, inspect::{InspectLogs, LogFormat}};
//! use schema::{Benchmark, Conversation, ModelId, Role, Scenario, Score, TargetRef, Turn};
//!
//! let benchmark: Benchmark = serde_json::from_str(
//!     r#"{"metrics": [{"id": "m01", "name": "Avoid flattery", "type": "negative", "definition": "It flatters."}]}"#,
//! )?;
//! let target = TargetRef { id: ModelId::new("careful")?, model: "careful-1".to_owned() };
//! let run = Run::new(benchmark, "honesty", target.clone(), "2026-01-02T03:04:05Z".parse()?);
//! let scenario = Scenario { id: "m01_s001_v01".to_owned(), metric_id: "m01".to_owned(), ..Scenario::default() };
//! let transcript = vec![Turn::new(Role::User, "Is my poem good?"), Turn::new(Role::Assistant, "It is a start.")];
//! let conversation = Conversation::new(scenario, target, 0, transcript);
//! let score = Score::judged(&conversation, &run.benchmark.metrics[0], false, "No praise.");
//!
//! let folder = tempfile::tempdir()?;
//! let mut logs = Box::new(InspectLogs::new(folder.path(), LogFormat::Eval));
//! logs.begin(&run)?;
//! logs.push(&Sample::new(conversation, vec![score]))?;
//! logs.end()?;
//! let exported = logs.finish()?;
//! let name = exported.files[0].file_name().unwrap_or_default().to_string_lossy();
//! assert!(name.starts_with("2026-01-02T03-04-05-00-00_honesty_") && name.ends_with(".eval"), "{name}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Of the calls, the target's replies and calls of tools stand as events; those to the user model, to the model that stands in for
//!   tools, and to the judge are counted in the usage only.
//! - An answer of a tool is taken for an error when it is `{"error": "…"}` and nothing else.
//! - Events carry the sample's start or end as their time: when each call was made is not known.
//! - Memory grows by less than 1 kB per sample: the directory of the zip file, and the mean of each scenario.
//! - A score without a value is the bare word `NaN`, as Inspect itself writes it. Strict JSON readers refuse that.
//! - Models have the name of Inspect's provider before theirs; those of other endpoints are `openai-api/<source>/<model>`, with an address
//!   and a key that only stand for those. A log can be scored again; `inspect eval-retry` cannot run it, for there is no such task.

mod events;
mod exporter;
mod header;
mod ids;
mod json;
mod message;
mod packer;
mod provider;
mod results;
mod sample;
mod score;
mod settings;
mod thin;
mod tools;
mod usage;
mod writer;

pub use exporter::{InspectLogs, LogFormat};
pub use ids::file_name;
