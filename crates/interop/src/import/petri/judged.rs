//! The scores of a transcript by dimension: those of its own `judge_output`, or those of `judgment.json` beside it.

use std::path::Path;

use schema::Extra;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bloom's file of the scores of all transcripts of a folder.
const JUDGMENTS: &str = "judgment.json";

/// Keys of a judgment that are numbers and no scores.
const NUMBERS: [&str; 3] = ["variation_number", "repetition_number", "num_samples"];

/// The scores of one transcript.
#[derive(Default, Deserialize)]
pub(super) struct Judged {
    /// By dimension.
    #[serde(default)]
    scores: Extra,
    #[serde(default)]
    justification: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    /// Notes of the judges of single dimensions.
    #[serde(default)]
    sub_judge_results: Vec<OfDimension>,
}

#[derive(Deserialize)]
struct OfDimension {
    dimension: String,
    note: Option<String>,
}

impl Judged {
    /// The scores as objects with `name`, `value` and `explanation`.
    pub(super) fn scores(self) -> Vec<Value> {
        let note = |name: &str| {
            let mut of = self.sub_judge_results.iter();
            of.find(|of| of.dimension == name)?.note.clone()
        };
        let whole = self.justification.as_ref().or(self.summary.as_ref());
        let scores = self.scores.iter().map(|(name, value)| {
            let explanation = note(name).or_else(|| whole.cloned());
            json!({"name": name, "value": value, "explanation": explanation})
        });
        scores.collect()
    }
}

/// The place of a transcript of Bloom among those of its folder, from its name: `transcript_v2r1.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rollout {
    pub(super) variation: u64,
    repetition: u64,
}

/// What is read of `judgment.json`.
#[derive(Deserialize)]
struct Judgments {
    behavior_name: Option<String>,
    #[serde(default)]
    judgments: Vec<Extra>,
}

impl Rollout {
    /// `None` if the file is not named so.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let stem = path.file_stem()?.to_str()?;
        let (variation, repetition) = stem.strip_prefix("transcript_v")?.split_once('r')?;
        Some(Self {
            variation: variation.parse().ok()?,
            repetition: repetition.parse().ok()?,
        })
    }

    /// The name of the behaviour: that of `judgment.json`, or of the folder.
    pub(super) fn behavior(self, path: &Path) -> String {
        let named = judgments(path).ok().flatten();
        let folder = path.parent().and_then(Path::file_name);
        named
            .and_then(|judgments| judgments.behavior_name)
            .or_else(|| Some(folder?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| super::TASK.to_owned())
    }

    /// The scores of the transcript in `judgment.json`; `None` if there are none.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(super) fn judged(self, path: &Path) -> Result<Option<Judged>, String> {
        let Some(file) = judgments(path)? else {
            return Ok(None);
        };
        let is = |of: &Extra, key: &str, number: u64| {
            of.get(key).and_then(Value::as_u64).unwrap_or(1) == number
        };
        let mut all = file.judgments.into_iter();
        let own = all.find(|of| {
            is(of, "variation_number", self.variation)
                && is(of, "repetition_number", self.repetition)
        });
        Ok(own.map(|own| Judged {
            justification: text(&own, "justification"),
            summary: text(&own, "summary"),
            scores: own
                .into_iter()
                .filter(|(key, value)| value.is_number() && !NUMBERS.contains(&key.as_str()))
                .collect(),
            ..Judged::default()
        }))
    }
}

fn text(of: &Extra, key: &str) -> Option<String> {
    of.get(key)?.as_str().map(str::to_owned)
}

/// `judgment.json` beside the transcript; `None` if it is not there.
fn judgments(path: &Path) -> Result<Option<Judgments>, String> {
    let file = path.with_file_name(JUDGMENTS);
    let text = match files::read_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{JUDGMENTS} beside it cannot be read: {error}")),
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("{JUDGMENTS} beside it: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_blooms_transcripts_say_the_variation_and_the_repetition() {
        let of = |name| Rollout::of(Path::new(name)).map(|of| (of.variation, of.repetition));
        assert_eq!(of("x/transcript_v12r3.json"), Some((12, 3)));
        assert_eq!(of("transcript_v1.json"), None);
        assert_eq!(of("transcript_20260101.json"), None);
    }
}
