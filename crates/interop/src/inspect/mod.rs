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
//! - Only the target's replies and tool calls are events; calls to the user model, to the model that simulates tools, and to the judge are
//!   included in the usage only.
//! - A tool's answer is treated as an error if it is `{"error": "…"}` and nothing else.
//! - Events have the sample's start or end as their time: the time of each call is unknown.
//! - Memory grows by less than 1 kB per sample: the directory of the zip file, and the mean of each scenario.
//! - A score without a value is the bare word `NaN`, as in Inspect's own logs. Strict JSON readers refuse it.
//! - Models have the name of Inspect's provider as a prefix; models of other endpoints are `openai-api/<source>/<model>`, with
//!   placeholders for address and key. A log can be scored again, but `inspect eval-retry` cannot run it, because the task does not exist.

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
pub(crate) use ids::{conversation_id, sample_id};
pub(crate) use message::messages;
