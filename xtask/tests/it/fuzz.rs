//! The fuzz targets in `fuzz/`, a workspace of its own.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use parsers::Parser;

/// The packages that only the fuzz targets need.
const OF_FUZZING: [&str; 3] = ["probity-fuzz", "libfuzzer-sys", "arbitrary"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_parser_has_a_fuzz_target() {
    let parsers = Parser::ALL.map(|parser| parser.name().to_owned());
    let bins: BTreeSet<String> = names_in("fuzz/Cargo.toml", "[[bin]]")
        .map(|bin| bin.0)
        .collect();
    assert_eq!(bins, BTreeSet::from(parsers));
    for parser in Parser::ALL {
        let path = root().join(format!("fuzz/fuzz_targets/{}.rs", parser.name()));
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(&format!("Parser::{parser:?},")),
            "{}",
            path.display()
        );
    }
}

/// What is fuzzed is what is shipped.
#[test]
fn fuzz_targets_have_the_versions_of_the_workspace() {
    let locked = |path| names_in(path, "[[package]]").collect::<BTreeSet<_>>();
    let ours = locked("Cargo.lock");
    let mut others = locked("fuzz/Cargo.lock");
    others.retain(|package| !ours.contains(package) && !OF_FUZZING.contains(&&*package.0));
    assert!(
        others.is_empty(),
        "fuzz/Cargo.lock has other versions: {others:?}; copy Cargo.lock there, and run `cargo metadata --manifest-path fuzz/Cargo.toml`"
    );
}

/// The name in each table of this kind of a TOML file, and the line after it: the version of a package.
fn names_in(path: &str, table: &'static str) -> impl Iterator<Item = (String, String)> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let name = move |lines: &[String]| {
        let name = lines[1].strip_prefix("name = \"")?.strip_suffix('"')?;
        (lines[0] == table).then(|| (name.to_owned(), lines[2].clone()))
    };
    lines
        .windows(3)
        .filter_map(name)
        .collect::<Vec<_>>()
        .into_iter()
}
