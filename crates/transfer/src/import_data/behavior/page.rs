//! A page in Markdown with a head in YAML between two lines `---`.

use std::path::{Path, PathBuf};

use located::YamlError;
use serde::de::DeserializeOwned;
use store::RunError;

use super::super::text_of;

/// A page.
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn read(path: &Path, hashes: &mut Vec<(String, String)>) -> Result<Self, RunError> {
        let text = text_of(path, hashes)?;
        Ok(Self { text })
    }

    /// The head, which may be absent, and the text without white space around it.
    ///
    /// # Errors
    /// When the head is not what is expected there.
    pub(super) fn into_parts<T: DeserializeOwned + Default>(
        self,
        path: &Path,
    ) -> Result<(T, String), RunError> {
        let (head, text) = split(&self.text);
        let read: Option<T> = match head {
            None => None,
            Some(head) => serde_saphyr::from_str(head)
                .map_err(|error| RunError::in_yaml(path, &YamlError::new(&error, head)))?,
        };
        Ok((read.unwrap_or_default(), text.trim().to_owned()))
    }
}

/// The head of a page, if it has one, and what follows.
fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let begins = text.strip_prefix("---\n").or(text.strip_prefix("---\r\n"));
    let ended = begins.and_then(|rest| {
        let mut at = 0;
        rest.split_inclusive('\n').find_map(|line| {
            let start = at;
            at += line.len();
            (line.trim_end() == "---").then_some((rest.get(..start)?, rest.get(at..)?))
        })
    });
    match ended {
        Some((head, rest)) => (Some(head), rest),
        None => (None, text),
    }
}

/// The pages of a folder, sorted by their names; none if it is not there.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let read = |error| RunError::read(folder, error);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).map_err(read)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let is_page = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default();
        let hidden = stem(path).starts_with('.');
        path.is_file() && ending.eq_ignore_ascii_case("md") && !hidden
    };
    let mut pages: Vec<PathBuf> = paths.map_err(read)?.into_iter().filter(is_page).collect();
    pages.sort();
    Ok(pages)
}

/// The name of a page, without its ending.
pub(super) fn stem(path: &Path) -> String {
    super::super::stem(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_between_the_first_two_lines_of_dashes() {
        assert_eq!(
            split("---\na: 1\n---\nb\n---\nc"),
            (Some("a: 1\n"), "b\n---\nc")
        );
        assert_eq!(split("---\r\na: 1\r\n---\r\nb"), (Some("a: 1\r\n"), "b"));
        assert_eq!(split("b\n---\nc"), (None, "b\n---\nc"));
        assert_eq!(split("---\nno end"), (None, "---\nno end"));
    }
}
