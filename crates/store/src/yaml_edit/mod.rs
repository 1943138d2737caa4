//! Writes metrics into the text of a `benchmark.yaml`, and changes nothing else.

mod document;
mod splice;

use document::Document;
use schema::Metric;
use serde::Deserialize;

/// The text of a `benchmark.yaml` with its top-level `metrics` replaced, or added at the end if there are none.
///
/// Everything else stays unchanged, byte for byte: comments, order, quoting, unknown keys, line endings. Only the value of
/// `metrics` is replaced, with the comments inside it. The result is parsed again before it is returned: all other keys must be
/// unchanged, and the metrics must be the requested ones.
///
/// ```
/// use store::yaml_edit::with_metrics;
///
/// let metric = serde_json::from_str(r#"{"id": "m01", "name": "Says: no", "type": "positive", "definition": "It says no."}"#)?;
/// let text = "name: demo # mine\nmetrics: [] # to come\nowner: me\n";
/// assert_eq!(
///     with_metrics(text, &[metric])?,
///     "name: demo # mine\nmetrics: # to come\n- id: m01\n  name: \"Says: no\"\n  type: positive\n  \
///      definition: It says no.\n  examples: []\nowner: me\n",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When `text` is not one YAML mapping, when its `metrics` are not a list, or when it is written in a way that cannot be edited
/// without changing something else (for example an anchor inside the metrics that is used elsewhere).
pub fn with_metrics(text: &str, metrics: &[Metric]) -> Result<String, YamlEditError> {
    let before = Document::parse(text)?;
    // Multi-line text is easier to read as a block. If a block would include the lines after it, quotes are used.
    let mut last = None;
    for blocks in [true, false] {
        let edited = splice::splice(text, &before, metrics, blocks)?;
        match verify(&before, &edited, metrics) {
            Ok(()) => return Ok(edited),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| YamlEditError::new("nothing was written")))
}

/// Checks that `edited` differs from the text of `before` only in its metrics, and that these are `metrics`.
fn verify(before: &Document<'_>, edited: &str, metrics: &[Metric]) -> Result<(), YamlEditError> {
    #[derive(Deserialize)]
    struct Metrics {
        metrics: Vec<Metric>,
    }
    let impossible = |why: &str| {
        YamlEditError::new(format!(
            "the metrics cannot be written into it without changing something else ({why}); write `metrics: []` on a line of its own and try again"
        ))
    };
    let after = Document::parse(edited).map_err(|error| impossible(&error.reason))?;
    if !after.rest_equals(before) {
        return Err(impossible("another key would change"));
    }
    let written: Metrics =
        serde_saphyr::from_str(edited).map_err(|error| impossible(&error.to_string()))?;
    if written.metrics != metrics {
        return Err(impossible("the metrics would read differently"));
    }
    Ok(())
}

/// Why a `benchmark.yaml` cannot be edited. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the YAML text cannot be edited: {reason}")]
pub struct YamlEditError {
    reason: String,
}

impl YamlEditError {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}
