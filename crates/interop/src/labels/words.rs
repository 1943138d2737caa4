//! The words of labels: which words pass or fail a row.

use std::fmt::Write as _;

use schema::ProgramFlag;

/// The words and numbers that pass or fail a row. Case, surrounding white space, and trailing zeros of decimals do
/// not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelWords {
    /// Words that pass a row; empty: `true`, `yes`, `y`, `pass`, `passed`, `1`.
    pub passed: Vec<String>,
    /// Words that fail a row; empty: `false`, `no`, `n`, `fail`, `failed`, `0`.
    pub failed: Vec<String>,
    /// Words that do neither; empty: `unclear`, `unknown`, `unsure`, `null`, `none`, `n/a`.
    pub unclear: Vec<String>,
    /// Numbers from this value on pass a row; lower ones fail it.
    pub threshold: Option<f64>,
}

const PASSED: [&str; 6] = ["true", "yes", "y", "pass", "passed", "1"];
const FAILED: [&str; 6] = ["false", "no", "n", "fail", "failed", "0"];
const UNCLEAR: [&str; 6] = ["unclear", "unknown", "unsure", "null", "none", "n/a"];

impl LabelWords {
    /// Whether `text` passes a row; `None` if it is unclear.
    ///
    /// # Errors
    /// When it is not a label: the advice for the user.
    pub(super) fn read(&self, text: &str) -> Result<Option<bool>, String> {
        let word = plain(text);
        let among = |own: &[String]| own.iter().any(|known| plain(known) == word);
        let usual = |own: &[String], usual: &[&str]| own.is_empty() && usual.contains(&&*word);
        if among(&self.passed) {
            return Ok(Some(true));
        }
        if among(&self.failed) {
            return Ok(Some(false));
        }
        if among(&self.unclear) {
            return Ok(None);
        }
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        if let (Some(number), Some(threshold)) = (number, self.threshold) {
            return Ok(Some(number >= threshold));
        }
        if usual(&self.passed, &PASSED) {
            return Ok(Some(true));
        }
        if usual(&self.failed, &FAILED) {
            return Ok(Some(false));
        }
        if usual(&self.unclear, &UNCLEAR) {
            return Ok(None);
        }
        Err(self.help(number.is_some()))
    }

    fn help(&self, is_number: bool) -> String {
        let list = |own: &[String], usual: &[&str]| match own {
            [] => usual.join(", "),
            own => own.join(", "),
        };
        let mut help = format!(
            "words that pass a row are {}, and words that fail it {}; name others with {}, {} and {}",
            list(&self.passed, &PASSED),
            list(&self.failed, &FAILED),
            ProgramFlag::new("pass"),
            ProgramFlag::new("fail"),
            ProgramFlag::new("unclear")
        );
        if is_number {
            // Writing to a string does not fail.
            let _ = write!(
                help,
                ", or say with {} from which number on a row passes",
                ProgramFlag::new("threshold")
            );
        }
        help
    }
}

/// A word in the form for comparison: `1.0` is `1`, ` Yes` is `yes`.
fn plain(text: &str) -> String {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.to_string(),
        _ => text.to_lowercase(),
    }
}
