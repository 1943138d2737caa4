//! The prompt templates in a benchmark's folder `prompts`.

use std::path::Path;

use prompt::Prompt;
use schema::nearest;
use store::PROMPT_NAMES;

use crate::{FileReport, Finding};

/// The extension of a prompt's file name.
const END: &str = ".j2";

/// Suffixes of copies that editors and people keep beside a file.
const COPIES: [&str; 6] = ["~", ".bak", ".old", ".orig", ".rej", ".swp"];

/// Checks whether the file `name` at `path` replaces a prompt, and is a template. `None` if it does neither and is not meant to.
pub(crate) fn check_prompt(path: &Path, name: &str, keep: usize) -> Option<FileReport> {
    if name.starts_with('.') || COPIES.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let mut report = FileReport::named(path, "prompt", keep);
    report.rows = 1;
    match name.strip_suffix(END) {
        Some(stem) if PROMPT_NAMES.contains(&stem) => report.extend(fault(path)),
        Some(stem) => {
            let hint = match nearest(stem, PROMPT_NAMES) {
                Some(near) => format!("did you mean `{near}{END}`?"),
                None => format!("the prompts are {}", PROMPT_NAMES.join(", ")),
            };
            let reason = format!("unknown prompt `{stem}`, the file does nothing; {hint}");
            report.push(Finding::note("", reason));
        }
        None => {
            let stem = name.split('.').next().unwrap_or_default();
            let meant = nearest(stem, PROMPT_NAMES)?;
            let reason = format!(
                "the file does nothing: a prompt's name ends in {END}; did you mean `{meant}{END}`?"
            );
            report.push(Finding::note("", reason));
        }
    }
    Some(report)
}

/// Why the file is not a template.
fn fault(path: &Path) -> Option<Finding> {
    let reason = match files::read_text(path) {
        Err(error) => format!("the file cannot be read: {error}"),
        Ok(text) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Prompt::new(name, text).err()?.to_string()
        }
    };
    Some(Finding::problem("", reason))
}
