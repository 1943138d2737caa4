//! The pages that lead developers through the code name files and folders that exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The pages that are checked.
const PAGES: [&str; 2] = ["CONTRIBUTING.md", "docs/architecture.md"];

/// How a path from the root of the repository begins.
const FOLDERS: [&str; 6] = ["crates/", "docs/", "fixtures/", "fuzz/", "xtask/", ".ci/"];

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The names in backticks of `line`, without the arguments of a command.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|name| name.split(' ').next())
}

/// Whether a file or folder below `folder` has a path that ends with `name`.
fn is_below(folder: &Path, name: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path: PathBuf = entry.unwrap().path();
        path.ends_with(name) || (path.is_dir() && is_below(&path, name))
    })
}

/// Paths of `page` that do not exist, as `page:line: path`. A path that does not begin at the root is one of the crate that was named last.
fn missing(page: &str, found: &mut Vec<String>) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut named = root().join("crates");
    for (index, line) in text.lines().enumerate() {
        for name in names(line) {
            let from_root = FOLDERS.iter().any(|folder| name.starts_with(folder));
            let relative = !from_root
                && !name.starts_with('.')
                && (name.ends_with('/') || name.ends_with(".rs"));
            if from_root && name.starts_with("crates/") {
                named = root().join(name.split('/').take(2).collect::<PathBuf>());
            }
            let exists = if from_root {
                root().join(name).exists()
            } else {
                !relative || is_below(&named, name)
            };
            if !exists {
                found.push(format!("{page}:{}: {name}", index + 1));
            }
        }
    }
}

/// Each path in the pages for developers exists.
#[test]
fn named_paths_exist() {
    let mut found = Vec::new();
    for page in PAGES {
        missing(page, &mut found);
    }
    assert!(
        found.is_empty(),
        "these paths do not exist:\n{}",
        found.join("\n")
    );
}

/// The table of crates has one line for each crate of the workspace, and no other.
#[test]
fn the_table_of_crates_is_complete() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let listed: BTreeSet<String> = text
        .lines()
        .skip_while(|line| *line != "## The crates")
        .take_while(|line| *line != "## Invariants")
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| names(line).next().map(str::to_owned))
        .collect();
    let existing: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .chain(["xtask".to_owned()])
        .collect();
    assert_eq!(listed, existing);
}
