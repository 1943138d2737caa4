//! Syntax errors of files whose kind cannot be detected because of them.

use std::{
    io::{self, Read},
    path::Path,
};

use located::json;

use crate::{SourceLocation, tree};

/// The most bytes of a file that are read.
const LOOKED_AT: u64 = 256 << 20;

/// A syntax error and its position.
pub(crate) struct SyntaxFault {
    pub(crate) place: Option<SourceLocation>,
    pub(crate) reason: String,
}

/// The first syntax error of the file at `path`. `None` if there is none, or the name does not show the syntax.
pub(crate) fn fault(path: &Path) -> Option<SyntaxFault> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    let parse: fn(&[u8]) -> Option<SyntaxFault> = match end.as_str() {
        "json" => json,
        "jsonl" | "ndjson" => first_line,
        "yaml" | "yml" => |text| tree_fault(text, tree::yaml),
        "toml" => |text| tree_fault(text, tree::toml),
        _ => return None,
    };
    let beginning = begin(path).ok()??;
    let text = beginning
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(&beginning);
    if text.trim_ascii().is_empty() {
        return Some(SyntaxFault {
            place: None,
            reason: "the file is empty".to_owned(),
        });
    }
    parse(text)
}

/// The whole content of a file; `None` if it is too long.
fn begin(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = files::open(path)?;
    if file.metadata()?.len() > LOOKED_AT {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut text)?;
    Ok(Some(text))
}

fn json(text: &[u8]) -> Option<SyntaxFault> {
    let error = json::parse(text).err()?;
    Some(SyntaxFault {
        place: Some(error.place),
        reason: error.of_file(),
    })
}

/// The error of a file of lines, whose first line shows its kind.
fn first_line(text: &[u8]) -> Option<SyntaxFault> {
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let (number, line) = lines.find(|(_, line)| !line.trim_ascii().is_empty())?;
    let error = json::parse(line).err()?;
    Some(SyntaxFault {
        place: Some(SourceLocation {
            line: number,
            column: error.place.column,
        }),
        reason: format!("invalid JSON: {}", error.reason),
    })
}

fn tree_fault(
    text: &[u8],
    parse: fn(&str) -> Result<tree::Tree, tree::NoTree>,
) -> Option<SyntaxFault> {
    let text = std::str::from_utf8(text).ok()?;
    parse(text).err().map(|error| SyntaxFault {
        place: error.place,
        reason: error.reason,
    })
}
