//! Names and idioms of the code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, Block, Expr, Ident, ItemMod, LitStr, Local, Macro, Meta, Pat, Stmt, Token,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// Crates that name commands and flags as values (`ProgramCommand`, `ProgramFlag`): only the command knows what it is called. The
/// command, the server of scripted models and the reader of prompts are programs or know no command.
const BELOW_THE_COMMAND: [&str; 11] = [
    "engine", "gate", "interop", "journal", "labels", "probity", "report", "schema", "store",
    "transfer", "validate",
];

/// Texts that name a flag of another program.
const OTHER_PROGRAMS: [&str; 1] = ["inspect log convert --to eval"];

/// `cannot_tell` is an answer of judges, and a value in files.
const ANSWERS: [&str; 2] = ["cannot_tell", "may_not_tell"];

/// The texts of a crate that write out a flag or a command of the program. Tests and docs may.
#[derive(Default)]
struct WrittenOut(Vec<String>);

impl WrittenOut {
    fn text(&mut self, text: &str) {
        let is_flag = |word: &str| {
            let word = word.trim_start_matches(['`', '(', '"']);
            let name = word.strip_prefix("--");
            name.is_some_and(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
        };
        let is_known = OTHER_PROGRAMS.iter().any(|known| text.contains(known));
        if !is_known && (text.contains("`probity ") || text.split_whitespace().any(is_flag)) {
            self.0.push(text.to_owned());
        }
    }
}

impl Visit<'_> for WrittenOut {
    fn visit_attribute(&mut self, _: &Attribute) {}

    fn visit_item_mod(&mut self, module: &ItemMod) {
        let is_test = |attribute: &Attribute| matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test");
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_lit_str(&mut self, text: &LitStr) {
        self.text(&text.value());
    }

    fn visit_macro(&mut self, call: &Macro) {
        // Arguments of `format!`, `notice!` and their like are expressions; those of other macros are passed over.
        let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        for argument in arguments.iter().flatten() {
            self.visit_expr(argument);
        }
    }
}

/// The program's name, and the folder of benchmarks that it finds by itself, are put in where a text is shown.
#[test]
fn no_library_writes_out_a_command_or_a_flag() {
    let mut found = Vec::new();
    for name in BELOW_THE_COMMAND {
        for (path, file) in sources(&crates().join(name)) {
            if path.ends_with("tests.rs") || path.contains("/tests/") {
                continue;
            }
            let mut texts = WrittenOut::default();
            texts.visit_file(&file);
            found.extend(texts.0.into_iter().map(|text| format!("{path}: {text:?}")));
        }
    }
    assert!(
        found.is_empty(),
        "name it with `notice!`, `ProgramCommand` or `ProgramFlag`:\n{}",
        found.join("\n")
    );
    let texts = r#"fn a() { f("use `--out DIR`"); format!("`probity run {b}`"); g("a -- b"); }"#;
    let mut written = WrittenOut::default();
    written.visit_file(&syn::parse_file(texts).unwrap());
    assert_eq!(written.0, ["use `--out DIR`", "`probity run {b}`"]);
}

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
    parsed(&package.join("src"))
}

/// The Rust files in a folder, parsed, each with its path. A folder that does not exist has none.
fn parsed(folder: &Path) -> Vec<(String, syn::File)> {
    let mut files = Vec::new();
    if folder.exists() {
        rust_files(folder, &mut files);
    }
    files.sort();
    files
        .iter()
        .map(|path| {
            let file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
            (path.display().to_string(), file)
        })
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
        let package = package.unwrap().path();
        let tests = parsed(&package.join("tests"));
        for (path, file) in sources(&package).into_iter().chain(tests) {
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
    for package in fs::read_dir(crates()).unwrap() {
        for (path, file) in sources(&package.unwrap().path()) {
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
