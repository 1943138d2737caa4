//! Names and idioms of the code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Block, Expr, Ident, Local, Pat, Stmt,
    visit::{self, Visit},
};

/// Crates that hold no value which is built in several steps under one name.
const ONE_EXPRESSION: [&str; 11] = [
    "aggregator",
    "cli",
    "gate",
    "interop",
    "journal",
    "labels",
    "probity",
    "report",
    "scripted-llm",
    "transfer",
    "validate",
];

/// `cannot_tell` is an answer of judges, and a value in files.
const ANSWERS: [&str; 2] = ["cannot_tell", "may_not_tell"];

/// The Rust files below `folder`.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources of a crate, parsed, each with its path.
fn sources(package: &Path) -> Vec<(String, syn::File)> {
    let mut files = Vec::new();
    rust_files(&package.join("src"), &mut files);
    files.sort();
    let parsed = |path: &PathBuf| syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    files
        .iter()
        .map(|path| (path.display().to_string(), parsed(path)))
        .collect()
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Whether a name speaks of telling, in snake case or as a type.
fn speaks_of_telling(name: &str) -> bool {
    if ANSWERS.iter().any(|answer| name.contains(answer)) {
        return false;
    }
    let mut words = name.split('_');
    words.any(|word| matches!(word, "told" | "tell" | "tells" | "untold" | "TOLD"))
        || ["Told", "Teller"].contains(&name)
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, name: &'ast Ident) {
        let name = name.to_string();
        if speaks_of_telling(&name) {
            self.0.insert(name);
        }
    }
}

/// A function is called for what it does: it reports, prints, returns or checks.
#[test]
fn no_name_says_told_or_tell() {
    let mut found = Vec::new();
    for package in fs::read_dir(crates()).unwrap() {
        for (path, file) in sources(&package.unwrap().path()) {
            let mut names = Names::default();
            names.visit_file(&file);
            found.extend(names.0.into_iter().map(|name| format!("{path}: {name}")));
        }
    }
    assert!(
        found.is_empty(),
        "name what is reported:\n{}",
        found.join("\n")
    );
    assert!(speaks_of_telling("tell_errors") && !speaks_of_telling("judge_cannot_tell"));
}

#[derive(Default)]
struct Steps(Vec<String>);

impl<'ast> Visit<'ast> for Steps {
    fn visit_block(&mut self, block: &'ast Block) {
        for pair in block.stmts.windows(2) {
            if let [Stmt::Local(first), Stmt::Local(next)] = pair
                && let (Some(name), Some(again)) = (name_of(first), name_of(next))
                && name == again
                && next.init.as_ref().and_then(|init| receiver(&init.expr)) == Some(name)
            {
                self.0.push(name.to_string());
            }
        }
        visit::visit_block(self, block);
    }
}

/// The name that a `let` without `else` gives.
fn name_of(local: &Local) -> Option<&Ident> {
    let pattern = match &local.pat {
        Pat::Type(typed) => &*typed.pat,
        pattern => pattern,
    };
    match pattern {
        Pat::Ident(name) if local.init.as_ref()?.diverge.is_none() => Some(&name.ident),
        _ => None,
    }
}

/// The variable at the beginning of a chain of calls.
fn receiver(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::MethodCall(call) => receiver(&call.receiver),
        Expr::Field(field) => receiver(&field.base),
        Expr::Try(inner) => receiver(&inner.expr),
        Expr::Await(inner) => receiver(&inner.base),
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

/// `let rows = file.rows(); let rows = rows.filter(..);` is one expression, or two values with names of their own.
#[test]
fn no_value_is_built_in_steps_under_one_name() {
    let mut found = Vec::new();
    for name in ONE_EXPRESSION {
        for (path, file) in sources(&crates().join(name)) {
            let mut steps = Steps::default();
            steps.visit_file(&file);
            found.extend(steps.0.into_iter().map(|name| format!("{path}: `{name}`")));
        }
    }
    assert!(
        found.is_empty(),
        "one expression, or two names:\n{}",
        found.join("\n")
    );
    let chain = "fn a() { let x = f(); let x: Vec<u8> = x.iter().collect(); }";
    let mut steps = Steps::default();
    steps.visit_file(&syn::parse_file(chain).unwrap());
    assert_eq!(steps.0, ["x"]);
}
