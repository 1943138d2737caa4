//! Files to begin with: those that Probity writes and those that it imports.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Parser, samples};

/// A file, and what reads it.
#[derive(Clone, Debug)]
pub struct Seed {
    /// What reads it.
    pub parser: Parser,
    /// The name decides how some files are read.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Larger files would make a case slow.
const LARGEST: u64 = 200 << 10;

/// The folders of the repository with files that parsers read.
const FOLDERS: [&str; 4] = [
    "fixtures",
    "examples",
    "crates/simulator/prompts",
    "crates/evaluator/prompts",
];

/// The files of the repository, those in the folder `more` that a run wrote, and the texts of [`samples`].
///
/// # Errors
/// When a file or a folder cannot be read.
pub fn seeds(repository: &Path, more: &Path) -> io::Result<Vec<Seed>> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        walk(&repository.join(folder), &mut paths)?;
    }
    walk(more, &mut paths)?;
    let mut seeds = Vec::new();
    for path in paths {
        let bytes = files::read(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        seeds.extend(parsers(&path, &name).into_iter().map(|parser| Seed {
            parser,
            name: name.clone().into_owned(),
            bytes: bytes.clone(),
        }));
    }
    seeds.extend(samples::all().into_iter().map(|(parser, text)| Seed {
        parser,
        name: "sample.json".to_owned(),
        bytes: text.into_bytes(),
    }));
    Ok(seeds)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), paths)?;
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            paths.push(entry.path());
        }
    }
    Ok(())
}

/// The parsers of a file.
fn parsers(path: &Path, name: &str) -> Vec<Parser> {
    let end = path.extension().unwrap_or_default().to_string_lossy();
    let is_in = |folder: &str| path.components().any(|part| part.as_os_str() == folder);
    let is_journal = name.starts_with("journal") || is_in("journal");
    match &*end {
        _ if name == "config.yaml" || name == "probity.toml" => vec![Parser::Config],
        _ if name == "gate.yaml" => vec![Parser::GateRules, Parser::TreeFile],
        _ if name == "prices.json" => vec![Parser::Prices, Parser::TreeFile],
        "j2" => vec![Parser::Prompt],
        "eval" => vec![Parser::InspectLog],
        "cassette" => vec![Parser::Cassette],
        "parquet" => vec![Parser::Parquet],
        "zst" if !is_journal => vec![Parser::Segments],
        "csv" => vec![Parser::Data, Parser::Labels, Parser::TestCases],
        "jsonl" | "zst" if is_journal => vec![Parser::Journal, Parser::TreeFile],
        "jsonl" if is_in("import") => vec![
            Parser::EveryEvalEver,
            Parser::Promptfoo,
            Parser::ConversationRows,
        ],
        "jsonl" => vec![
            Parser::Data,
            Parser::Labels,
            Parser::TestCases,
            Parser::ConversationRows,
            Parser::TreeFile,
        ],
        "json" if is_in("import") || is_in("inspect") => vec![
            Parser::InspectLog,
            Parser::EveryEvalEver,
            Parser::Promptfoo,
            Parser::Petri,
            Parser::Data,
        ],
        "json" if name == "index.json" => vec![Parser::Segments, Parser::TreeFile],
        "json" => vec![Parser::TreeFile, Parser::Data, Parser::Labels],
        "yaml" | "yml" if is_in("test-cases") => vec![Parser::TestCases, Parser::TreeFile],
        "yaml" | "yml" | "toml" => vec![Parser::TreeFile, Parser::Config, Parser::Data],
        "md" if name == "BEHAVIOR.md" => vec![Parser::Data],
        _ => Vec::new(),
    }
}
