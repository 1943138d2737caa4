//! The flags that say what the words of labels mean.

use clap::Args;
use interop::labels::LabelWords;

use crate::exit::Failure;

/// What labels mean.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Words of labels")]
pub struct WordArgs {
    /// A word that passes a row; can be repeated [default: true, yes, y, pass, passed, 1]
    #[arg(long, value_name = "WORD")]
    pass: Vec<String>,
    /// A word that fails a row; can be repeated [default: false, no, n, fail, failed, 0]
    #[arg(long, value_name = "WORD")]
    fail: Vec<String>,
    /// A word that says neither; can be repeated [default: unclear, unknown, unsure, null, none, n/a]
    #[arg(long, value_name = "WORD")]
    unclear: Vec<String>,
    /// Numbers from here on pass a row, and those below fail it
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    threshold: Option<f64>,
}

impl WordArgs {
    /// What the flags say.
    ///
    /// # Errors
    /// When a word both passes and fails a row.
    pub fn words(&self) -> Result<LabelWords, Failure> {
        for word in &self.pass {
            if self.fail.contains(word) {
                return Err(Failure::usage(format!(
                    "{word:?} is given to both --pass and --fail"
                )));
            }
        }
        Ok(LabelWords {
            passed: self.pass.clone(),
            failed: self.fail.clone(),
            unclear: self.unclear.clone(),
            threshold: self.threshold,
        })
    }

    /// Whether any flag is given.
    pub fn any(&self) -> bool {
        let lists = [&self.pass, &self.fail, &self.unclear];
        self.threshold.is_some() || lists.iter().any(|list| !list.is_empty())
    }
}
