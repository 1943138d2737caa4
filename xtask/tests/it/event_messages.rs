//! The messages of events have their text in one place.

use std::{
    fs,
    path::{Path, PathBuf},
};

use schema::EventKind;
use syn::{
    Lit, LitStr, Macro,
    buffer::{Cursor, TokenBuffer},
    visit::{self, Visit},
};

/// Where the list of messages is.
const LIST: &str = "crates/schema/src/event";

/// String literals of a file that are the whole message of an event.
#[derive(Default)]
struct Literals(Vec<&'static str>);

impl Literals {
    fn add(&mut self, text: &str) {
        self.0.extend(EventKind::of(text).map(EventKind::message));
    }

    /// Adds the literals in the tokens of a macro.
    fn add_tokens(&mut self, mut cursor: Cursor<'_>) {
        while !cursor.eof() {
            if let Some((inside, _, _, after)) = cursor.any_group() {
                self.add_tokens(inside);
                cursor = after;
            } else if let Some((literal, after)) = cursor.literal() {
                if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                    self.add(&text.value());
                }
                cursor = after;
            } else if let Some((_, after)) = cursor.token_tree() {
                cursor = after;
            } else {
                return;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_lit(&mut self, literal: &'ast Lit) {
        if let Lit::Str(text) = literal {
            self.add(&text.value());
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        // The text of a log line may be the same, and is not read by anyone.
        let is_log = |path: &syn::Path| path.segments.first().is_some_and(|s| s.ident == "tracing");
        if !is_log(&call.path) {
            let tokens = TokenBuffer::new2(call.tokens.clone());
            self.add_tokens(tokens.begin());
        }
        visit::visit_macro(self, call);
    }
}

/// The Rust files below `folder`.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The literals of `file`, each with the line where it first stands.
fn literals(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let mut found = Literals::default();
    found.visit_file(&parsed);
    let line = |message: &str| {
        let quoted = format!("\"{message}\"");
        text.lines().position(|line| line.contains(&quoted))
    };
    let place = |message: &&str| match line(message) {
        Some(line) => format!("line {}: {message:?}", line + 1),
        None => format!("{message:?}"),
    };
    found.0.iter().map(place).collect()
}

/// A message is named by `EventKind`, or comes with the struct of its event. A literal that is a message as a whole is an error,
/// in tests too; a line of a journal in one literal, or in a file of fixtures, is none. Texts of `tracing` are not messages.
#[test]
fn messages_are_literals_in_the_list_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root.join(folder), &mut files);
    }
    files.sort();
    files.retain(|file| !file.starts_with(root.join(LIST)));
    let wrong: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let name = file.strip_prefix(&root).unwrap().display();
            let literals = literals(file).into_iter();
            literals.map(move |literal| format!("{name}: {literal}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn literals_are_found_wherever_they_stand() {
    let text = r##"
        const A: &str = "finished run";
        fn f() {
            json!({"message": ["starting run", 1]});
            tracing::warn!(a = 1, "limiter changed");
            let _ = "finished run of a kind";
            let _ = r#"{"message":"finished run"}"#;
            assert!(matches!(g(), "item failed" | r"item finished"));
        }
    "##;
    let mut found = Literals::default();
    found.visit_file(&syn::parse_file(text).unwrap());
    found.0.sort_unstable();
    let expected = [
        EventKind::FinishedRun,
        EventKind::ItemFailed,
        EventKind::ItemFinished,
        EventKind::StartingRun,
    ];
    assert_eq!(found.0, expected);
}
