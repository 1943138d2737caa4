//! Why nothing can be recognised in a file: it is not of the syntax that its name says.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::{SourceLocation, json, tree};

/// So much of a file is looked at.
const LOOKED_AT: u64 = 256 << 20;

/// What is wrong with the syntax of a text, and where.
pub(crate) struct SyntaxFault {
    pub(crate) place: Option<SourceLocation>,
    pub(crate) reason: String,
}

/// The first mistake in the syntax of the file at `path`. `None` where there is none, or the name says nothing of it.
pub(crate) fn fault(path: &Path) -> Option<SyntaxFault> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    let parse: fn(&[u8]) -> Option<SyntaxFault> = match end.as_str() {
        "json" => json,
        "jsonl" | "ndjson" => first_line,
        "yaml" | "yml" => |text| tree_fault(text, tree::yaml),
        "toml" => |text| tree_fault(text, tree::toml),
        _ => return None,
    };
    let text = begin(path).ok()??;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    if text.trim_ascii().is_empty() {
        return Some(SyntaxFault {
            place: None,
            reason: "the file is empty".to_owned(),
        });
    }
    parse(text)
}

/// The whole of a file; `None` where it is too long to be looked at.
fn begin(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
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

/// Of a file of lines, whose first line tells what it is.
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
