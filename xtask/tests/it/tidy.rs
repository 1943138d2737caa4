//! Words: comments, messages and docs are in plain technical English.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Phrases that are refused, each with the one to use.
const PHRASES: [(&str, &str); 52] = [
    ("is told", "is reported, is logged, gets, returns"),
    ("are told", "are reported, are logged, get"),
    ("was told", "was reported, got"),
    ("were told", "were reported, got"),
    ("be told", "be reported, get"),
    ("been told", "been reported"),
    ("being told", "being reported"),
    ("told by", "reported by, sent by"),
    ("told of", "reported, notified, described"),
    ("tells of", "reports, documents, lists"),
    ("tells whoever", "notifies the observer"),
    ("no known key", "unknown key"),
    ("stands twice", "duplicate"),
    ("stand twice", "duplicates"),
    ("is wanted", "expected"),
    ("are wanted", "expected"),
    ("which is no", "not a"),
    ("anew", "again; retried, regenerated, rewritten"),
    ("once more", "again, a second time"),
    ("that are good", "name the rows, e.g. all rows failed"),
    ("came of it", "the result"),
    ("comes of it", "the result"),
    ("come of it", "a result"),
    ("came of them", "the results"),
    ("comes of them", "the results"),
    ("came of", "the result of"),
    ("comes of", "the result of"),
    (
        "what is there",
        "name the thing: existing files, the rows so far",
    ),
    ("paid for", "used 79.5k tokens; cost; earlier call"),
    ("looks away", "a no-op observer"),
    ("forgets", "drops; a no-op journal"),
    ("is played", "is simulated"),
    ("are played", "are simulated"),
    ("was played", "was simulated"),
    ("were played", "were simulated"),
    ("is asked", "is called, is requested"),
    ("are asked", "are called, are requested"),
    ("model was asked", "the model was called"),
    ("target was asked", "the target was called"),
    ("judge was asked", "the judge was called"),
    ("user was asked", "the user model was called"),
    ("whoever", "name who: the caller, the reader"),
    ("such a one", "name it"),
    ("no longer there", "removed"),
    ("longer there", "removed"),
    ("nothing stands", "empty"),
    ("gives what", "returns the"),
    ("gives how", "returns how"),
    ("gives whether", "returns whether"),
    ("and hands on", "and returns, and sends"),
    ("what became of", "the result of"),
    ("a word to", "a note to"),
];

/// Lines that may hold a refused phrase: the end of the file's path, a part of the line, and why.
const ALLOWED: [(&str, &str, &str); 16] = [
    (
        "docs/simulator-faults.md",
        "`I was told",
        "examples of messages",
    ),
    (
        "scenario-gen/src/metrics.rs",
        "stands twice",
        "sent to models on retry: part of cache keys",
    ),
    (
        "schema/src/reply.rs",
        "stands twice",
        "sent to models on retry: part of cache keys",
    ),
    (
        "tool-schema/src/no_schema.rs",
        "is wanted",
        "sent to models on retry: part of cache keys",
    ),
    (
        "tool-schema/src/no_schema.rs",
        "stands twice",
        "sent to models on retry: part of cache keys",
    ),
    (
        "simulator/src/safety/semantic_chunks.rs",
        "are wanted",
        "sent to models on retry: part of cache keys",
    ),
    (
        "probity/tests/attacks.rs",
        "are wanted",
        "checks the text above",
    ),
    (
        "simulator/src/tools/simulated.rs",
        "gives back is wanted",
        "sent to models on retry: part of cache keys",
    ),
    (
        "scripted-llm/src/script/moves.rs",
        "Whoever hears the story",
        "said by a scripted model: golden files hold it",
    ),
    (
        "scripted-llm/src/script/user.rs",
        "I will say it once more",
        "said by a scripted model: golden files hold it",
    ),
    (
        "scripted-llm/src/script/tools/judge.rs",
        "that is told as",
        "said by a scripted model: golden files hold it",
    ),
    (
        "scripted-llm/src/script/tools/actions.rs",
        "ells of",
        "name and keyword of a scripted metric: golden files hold them",
    ),
    (
        "docs/scripted-llm.md",
        "`tells of`",
        "documents the keyword above",
    ),
    (
        "docs/safety-rubric.md",
        "",
        "the shipped prompt, word for word",
    ),
    (
        "crates/cli/tests/it/frozen/benchmark.yaml",
        "once more",
        "frozen: part of cache keys",
    ),
    (
        "crates/cli/tests/it/frozen/agentic.yaml",
        "or tells",
        "frozen: part of cache keys",
    ),
];

/// Names of types that say too little or are insiders' words, each with one that says what the type is.
const TYPES: [(&str, &str); 26] = [
    ("Place", "RowPosition, SourceLocation, MessagePosition"),
    ("Source", "ProviderPreset, SourceFile, JournalSource"),
    ("Provider", "ModelFactory"),
    ("Told", "ReportedItem"),
    ("Facts", "JournalIndex, BenchmarkFacts"),
    ("Shelf", "DiskIndex"),
    ("Took", "RowAction"),
    ("Odd", "Unrecognised"),
    ("Life", "ItemHistory"),
    ("Teller", "ItemRenderer"),
    ("Passage", "Section"),
    ("Again", "CommandHints"),
    ("Origins", "BenchmarkProvenance"),
    ("Which", "BenchmarkSelection"),
    ("Watch", "ProgressObserver"),
    ("Trouble", "CaseAbort, Problem"),
    ("Parts", "ModelRoles"),
    ("Made", "BuiltModels"),
    ("Way", "AttemptKind"),
    ("Talk", "Transcript"),
    ("Ended", "AttemptResult"),
    ("Cut", "SkipReason"),
    ("Cast", "ModelRoles"),
    ("Keep", "RetainPolicy"),
    ("Loaded", "BenchmarkContext"),
    ("Make", "PhaseFactory"),
];

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The files below `folder` that people read or write words in.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            files(&path, found);
        } else if matches!(
            extension,
            Some("rs" | "md" | "yaml" | "yml" | "toml" | "html" | "py" | "sh")
        ) {
            found.push(path);
        }
    }
}

/// All files that are checked. `fixtures` is not: its files are frozen. `CHANGELOG.md` is not: it quotes earlier messages.
fn checked_files() -> Vec<PathBuf> {
    let mut found = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Cargo.toml"]
        .map(|name| root().join(name))
        .to_vec();
    for folder in [".ci", "crates", "docs", "xtask"] {
        files(&root().join(folder), &mut found);
    }
    // This file spells what it refuses.
    found.retain(|path| !path.ends_with("xtask/tests/it/tidy.rs"));
    found.sort();
    found
}

/// Whether `text` holds `phrase` as whole words; it starts before `before`.
fn holds(text: &str, phrase: &str, before: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        at < before && !text[..at].ends_with(word) && !text[at + phrase.len()..].starts_with(word)
    })
}

/// Lines of `text` with refused phrases, as `path:line: phrase`. A phrase may go on in the next line of a comment.
fn phrases(path: &str, text: &str, found: &mut Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).copied().unwrap_or_default();
        let next = next
            .trim_start()
            .trim_start_matches(['/', '!', '#', '>', ' ']);
        let joined = format!("{} {next}", line.trim_end()).to_lowercase();
        let allowed = |file: &str, part: &str| path.contains(file) && line.contains(part);
        if ALLOWED.iter().any(|(file, part, _)| allowed(file, part)) {
            continue;
        }
        for (phrase, better) in PHRASES {
            if holds(&joined, phrase, line.trim_end().to_lowercase().len()) {
                let number = index + 1;
                found.push(format!("{path}:{number}: `{phrase}`; better: {better}"));
            }
        }
    }
}

/// Comments, messages, help texts, names of tests and docs hold none of the phrases that only insiders understand.
#[test]
fn no_refused_phrases() {
    let mut found = Vec::new();
    for file in checked_files() {
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        phrases(&path, &fs::read_to_string(&file).unwrap(), &mut found);
    }
    assert!(
        found.is_empty(),
        "say it in plain technical English (exceptions: `ALLOWED`):\n{}",
        found.join("\n")
    );
}

/// The name that `line` gives to a type, trait or alias.
fn named_type(line: &str) -> Option<&str> {
    let mut words = line.split([' ', '<', '(', '{', ';', ':', '=']);
    words.find(|word| matches!(*word, "struct" | "enum" | "trait" | "type"))?;
    words.next()
}

/// A type's name says what it is without its module.
#[test]
fn no_refused_type_names() {
    let mut found = Vec::new();
    for file in checked_files() {
        let path = file.strip_prefix(root()).unwrap().display().to_string();
        if !path.ends_with(".rs") {
            continue;
        }
        for (index, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let refused = TYPES
                .iter()
                .find(|(name, _)| named_type(line) == Some(name));
            if let Some((name, better)) = refused {
                found.push(format!("{path}:{}: `{name}`; better: {better}", index + 1));
            }
        }
    }
    assert!(found.is_empty(), "name the thing:\n{}", found.join("\n"));
    assert_eq!(named_type("pub(super) struct Told<'a> {"), Some("Told"));
    assert_eq!(named_type("pub type Make<T> = Box<T>;"), Some("Make"));
}

/// Each exception is needed: one whose line is gone goes too.
#[test]
fn no_stale_exceptions() {
    for (file, part, _) in ALLOWED {
        let held = checked_files().iter().any(|path| {
            path.display().to_string().contains(file)
                && fs::read_to_string(path).unwrap().contains(part)
        });
        assert!(
            held,
            "no line of {file} holds {part:?}: delete the exception"
        );
    }
}

#[test]
fn a_phrase_is_found_with_its_line_also_across_two() {
    let mut found = Vec::new();
    phrases(
        "a.rs",
        "fn a() {}\n    // The judge is\n    // told.\n// untold\n",
        &mut found,
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("a.rs:2: `is told`"), "{found:?}");
}
