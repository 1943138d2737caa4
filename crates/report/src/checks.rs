//! The table of checked models: for each model, whether it can be used.

use crate::text::{width, wrapped};

/// Room for the mark in front of a model.
const INDENT: &str = "      ";

/// The result of checking one model.
#[derive(Clone, Debug)]
pub struct ModelCheck {
    /// The place in the configuration that names the model, and the model's id.
    pub who: String,
    /// Its endpoint.
    pub endpoint: String,
    /// Whether it can be used.
    pub is_fine: bool,
    /// The model's answer, or the error. May have several lines.
    pub text: String,
    /// How to fix the error, where the text does not say it.
    pub to_mend: Option<String>,
}

/// A row for each model, in columns if every line fits into `width`. Otherwise each part of a row has its own lines. Nothing is
/// shortened: the reader needs errors and their locations in full.
#[must_use]
pub fn checks_table(checks: &[ModelCheck], width: usize) -> String {
    let text = in_columns(checks);
    if text.lines().all(|line| crate::text::width(line) <= width) {
        return text;
    }
    checks.iter().map(|check| stacked(check, width)).collect()
}

fn mark(check: &ModelCheck) -> &'static str {
    if check.is_fine { "ok  " } else { "FAIL" }
}

fn in_columns(checks: &[ModelCheck]) -> String {
    let widest = |part: fn(&ModelCheck) -> &str| {
        let widths = checks.iter().map(|check| width(part(check)));
        widths.max().unwrap_or_default()
    };
    let (who, endpoint) = (widest(|check| &check.who), widest(|check| &check.endpoint));
    let padded = |text: &str, columns: usize| {
        let pad = " ".repeat(columns.saturating_sub(width(text)));
        format!("{text}{pad}")
    };
    let mut text = String::new();
    for check in checks {
        let said = check.text.replace('\n', &format!("\n{INDENT}"));
        text.push_str(&format!(
            "{}  {}  {}  {said}\n",
            mark(check),
            padded(&check.who, who),
            padded(&check.endpoint, endpoint)
        ));
        if let Some(mend) = &check.to_mend {
            text.push_str(&format!("{INDENT}help: {mend}\n"));
        }
    }
    text
}

fn stacked(check: &ModelCheck, width: usize) -> String {
    let mut text = wrapped(&check.who, INDENT, width);
    text.replace_range(..mark(check).len(), mark(check));
    let said = check.text.lines().map(str::to_owned);
    let mend = check.to_mend.as_ref();
    let parts = [check.endpoint.clone()]
        .into_iter()
        .chain(said)
        .chain(mend.map(|mend| format!("help: {mend}")));
    for part in parts {
        text.push_str(&wrapped(&part, INDENT, width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> [ModelCheck; 2] {
        [
            ModelCheck {
                who: "user_model (gpt-4.1)".to_owned(),
                endpoint: "https://api.openai.com/v1".to_owned(),
                is_fine: true,
                text: "answered as gpt-4.1 in 0.4 s".to_owned(),
                to_mend: None,
            },
            ModelCheck {
                who: "targets[0] (llama)".to_owned(),
                endpoint: "http://localhost:8080/v1".to_owned(),
                is_fine: false,
                text: "the connection failed: nothing listens there".to_owned(),
                to_mend: Some("is the server running?".to_owned()),
            },
        ]
    }

    #[test]
    fn what_fits_stands_in_columns() {
        let expected = "\
ok    user_model (gpt-4.1)  https://api.openai.com/v1  answered as gpt-4.1 in 0.4 s
FAIL  targets[0] (llama)    http://localhost:8080/v1   the connection failed: nothing listens there
      help: is the server running?
";
        assert_eq!(checks_table(&checks(), 99), expected);
        assert_ne!(checks_table(&checks(), 98), expected);
    }

    #[test]
    fn what_does_not_fit_is_wrapped_and_nothing_is_lost() {
        let text = checks_table(&checks(), 40);
        assert_eq!(
            text,
            "\
ok    user_model (gpt-4.1)
      https://api.openai.com/v1
      answered as gpt-4.1 in 0.4 s
FAIL  targets[0] (llama)
      http://localhost:8080/v1
      the connection failed: nothing
      listens there
      help: is the server running?
"
        );
        let narrow = checks_table(&checks(), 20);
        assert!(narrow.lines().all(|line| width(line) <= 20), "{narrow}");
        assert_eq!(checks_table(&[], 20), "");
    }
}
