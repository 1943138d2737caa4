//! The invariants of `docs/architecture.md` that can be read off the manifests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Who may know whom, besides itself. The command may know all.
const ARROWS: &[(&str, &[&str])] = &[
    ("probity-schema", &[]),
    ("probity-files", &["probity-schema"]),
    ("probity-located", &["probity-schema"]),
    ("probity-scripted-llm", &[]),
    (
        "probity-watched-llm",
        &[
            "probity-schema",
            "probity-llm-client",
            "probity-scripted-llm",
        ],
    ),
    ("probity-llm-client", &["probity-schema", "probity-files"]),
    (
        "probity-process",
        &["probity-schema", "probity-files", "probity-llm-client"],
    ),
    ("probity-prompt", &["probity-schema"]),
    ("probity-tool-schema", &["probity-schema"]),
    ("probity-reply-check", &["probity-schema"]),
    (
        "probity-scenario-gen",
        &["probity-schema", "probity-prompt"],
    ),
    (
        "probity-simulator",
        &["probity-schema", "probity-prompt", "probity-tool-schema"],
    ),
    (
        "probity-evaluator",
        &["probity-schema", "probity-prompt", "probity-reply-check"],
    ),
    ("probity-aggregator", &["probity-schema", "probity-located"]),
    ("probity-journal", &["probity-schema", "probity-files"]),
    (
        "probity-interop",
        &["probity-schema", "probity-files", "probity-located"],
    ),
    ("probity-report", &["probity-schema", "probity-interop"]),
    (
        "probity-store",
        &[
            "probity-schema",
            "probity-reply-check",
            "probity-tool-schema",
            "probity-files",
            "probity-located",
            "probity-journal",
            "probity-aggregator",
        ],
    ),
    (
        "probity-gate",
        &[
            "probity-schema",
            "probity-files",
            "probity-located",
            "probity-aggregator",
            "probity-store",
        ],
    ),
    (
        "probity-labels",
        &[
            "probity-schema",
            "probity-files",
            "probity-aggregator",
            "probity-interop",
            "probity-store",
        ],
    ),
    (
        "probity-transfer",
        &[
            "probity-schema",
            "probity-tool-schema",
            "probity-files",
            "probity-located",
            "probity-llm-client",
            "probity-aggregator",
            "probity-journal",
            "probity-interop",
            "probity-store",
        ],
    ),
    (
        "probity-validate",
        &[
            "probity-schema",
            "probity-prompt",
            "probity-files",
            "probity-located",
            "probity-aggregator",
            "probity-journal",
            "probity-interop",
            "probity-store",
            "probity-gate",
        ],
    ),
    // No phase: what the engine runs comes from its caller.
    (
        "probity-engine",
        &[
            "probity-schema",
            "probity-files",
            "probity-journal",
            "probity-llm-client",
            "probity-store",
        ],
    ),
    (
        "probity-cluster",
        &[
            "probity-schema",
            "probity-files",
            "probity-llm-client",
            "probity-engine",
        ],
    ),
    (
        "probity",
        &[
            "probity-schema",
            "probity-prompt",
            "probity-files",
            "probity-located",
            "probity-llm-client",
            "probity-scenario-gen",
            "probity-simulator",
            "probity-evaluator",
            "probity-aggregator",
            "probity-journal",
            "probity-interop",
            "probity-report",
            "probity-store",
            "probity-gate",
            "probity-labels",
            "probity-transfer",
            "probity-engine",
            "probity-process",
        ],
    ),
    // It knows whatever reads something from outside.
    (
        "probity-parsers",
        &[
            "probity-schema",
            "probity-prompt",
            "probity-tool-schema",
            "probity-reply-check",
            "probity-files",
            "probity-located",
            "probity-llm-client",
            "probity-journal",
            "probity-interop",
            "probity-store",
            "probity-gate",
            "probity-engine",
            "probity-validate",
            "probity",
        ],
    ),
];

/// Libraries that only these crates may know.
const ONLY: &[(&str, &[&str])] = &[
    ("async-openai", &["probity-llm-client"]),
    // The floor of `bench` is reqwest alone.
    ("reqwest", &["probity-llm-client", "xtask"]),
    ("rusqlite", &["probity-llm-client"]),
    // Everything waits for `schema`: what is slow to build stays out of it.
    (
        "minijinja",
        &["probity-llm-client", "probity-prompt", "probity-report"],
    ),
    ("jsonschema", &["probity-tool-schema", "probity-validate"]),
    ("serde_json_path", &["probity-reply-check"]),
    // The scripted server is a program of its own too.
    ("async-nats", &["probity-cluster"]),
    ("clap", &["probity-cli", "probity-scripted-llm", "xtask"]),
    ("config", &["probity-cli"]),
    ("dotenvy", &["probity-cli"]),
    ("indicatif", &["probity-cli"]),
    ("tracing-subscriber", &["probity-cli"]),
];

/// All that `schema` may know: what its types and traits are made of.
const OF_SCHEMA: &[&str] = &[
    "async-trait",
    "futures",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
];

/// What cargo knows of the workspace; with `more` arguments.
fn metadata(more: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the ordinary dependencies of each package of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata(&["--no-deps"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ordinary = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap();
        all.iter()
            .filter(|d| d["kind"].is_null())
            .map(|d| text(&d["name"]))
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| (text(&package["name"]), ordinary(package)))
        .collect()
}

/// All files below `folders`.
fn files_below(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

#[test]
fn arrows_point_one_way() {
    let dependencies = dependencies();
    let own = |name: &&String| dependencies.contains_key(*name);
    for (package, uses) in &dependencies {
        if package == "probity-cli" || package == "xtask" {
            continue;
        }
        let allowed = ARROWS.iter().find(|(name, _)| name == package);
        let (_, allowed) =
            allowed.unwrap_or_else(|| panic!("{package} has no place in the architecture"));
        for used in uses.iter().filter(own) {
            assert!(
                allowed.contains(&used.as_str()),
                "{package} must not know {used}"
            );
        }
    }
    for (package, _) in ARROWS {
        assert!(
            dependencies.contains_key(*package),
            "{package} is not in the workspace"
        );
    }
}

/// `clippy.toml` names what only `probity-files` may call; tests, examples and benches may.
#[test]
fn every_crate_reads_files_from_outside_in_one_way() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = fs::read_dir(folder.join("crates")).unwrap();
    let crates = crates.map(|entry| entry.unwrap().path());
    let mut roots = Vec::new();
    for package in crates.chain([folder.join("xtask")]) {
        let sources = package.join("src");
        let programs = fs::read_dir(sources.join("bin"));
        let programs = programs.into_iter().flatten();
        roots.extend(programs.map(|entry| entry.unwrap().path()));
        roots.extend(["lib.rs", "main.rs"].map(|name| sources.join(name)));
    }
    roots.retain(|root| root.exists());
    assert!(roots.len() > 18, "{roots:?}");
    for root in roots {
        let text = fs::read_to_string(&root).unwrap();
        let warns = "\n#![cfg_attr(not(test), warn(clippy::disallowed_methods))]\n";
        assert!(text.contains(warns), "{}: add{warns}", root.display());
    }
    let forbidden = fs::read_to_string(folder.join("clippy.toml")).unwrap();
    for name in [
        "std::fs::read",
        "std::fs::read_to_string",
        "std::fs::File::open",
        "tokio::fs::read",
    ] {
        assert!(forbidden.contains(&format!("\"{name}\"")), "{name}");
    }
}

/// One crate builds and tests in a minute as long as its tests need no crate above it.
#[test]
fn tests_of_a_crate_need_no_crate_above_it() {
    let above = [
        "probity",
        "probity-cli",
        "probity-cluster",
        "probity-engine",
        "probity-parsers",
        "probity-validate",
        "xtask",
    ];
    let metadata = metadata(&["--no-deps"]);
    for package in metadata["packages"].as_array().unwrap() {
        if above.contains(&package["name"].as_str().unwrap()) {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            assert!(!above.contains(&name), "{} uses {name}", package["name"]);
        }
    }
}

#[test]
fn schema_knows_only_what_types_need() {
    let all = dependencies();
    assert_eq!(all["probity-schema"], OF_SCHEMA);
}

#[test]
fn some_libraries_are_known_in_one_place() {
    for (library, place) in ONLY {
        let known: Vec<_> = dependencies()
            .into_iter()
            .filter(|(_, uses)| uses.iter().any(|name| name == library))
            .map(|(package, _)| package)
            .collect();
        assert_eq!(known, *place, "who knows {library}");
    }
}

/// How code reaches the terminal, the environment and the home folder of the user.
const OUTSIDE: [&str; 10] = [
    "env::var",
    "env::args",
    "env::current_dir",
    "home_dir",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "print!(",
    "println!(",
    "dbg!(",
];

/// The library is given what it needs. The scripted server is a program of its own too.
#[test]
fn only_the_command_touches_terminal_and_environment() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let folders: Vec<_> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("cli") && !path.ends_with("scripted-llm"))
        .map(|path| path.join("src"))
        .collect();
    assert!(folders.len() > 10);
    let mut found = Vec::new();
    for path in files_below(folders) {
        for (index, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//");
            if is_code && OUTSIDE.iter().any(|way| line.contains(way)) {
                found.push(format!("{}:{}: {line}", path.display(), index + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "the caller passes it in:\n{}",
        found.join("\n")
    );
}

/// `url`, below reqwest, takes either ICU (21 crates) or unicode-rs (5) to map host names; the version of `idna_adapter` in
/// `Cargo.lock` decides. After a `cargo update`, `cargo update -p idna_adapter --precise 1.1.0` brings it back.
#[test]
fn host_names_are_mapped_without_icu() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    let lock = fs::read_to_string(lock).unwrap();
    assert!(lock.contains("name = \"idna_adapter\""));
    assert!(!lock.contains("name = \"icu_"), "Cargo.lock holds ICU");
}

/// That our own code gets by with it is seen to by clippy (`incompatible_msrv`).
#[test]
fn no_dependency_needs_a_newer_rust_than_we_say() {
    let version = |text: &str| -> Vec<u32> {
        text.split('.')
            .map(|part| part.parse().unwrap())
            .chain([0, 0])
            .take(3)
            .collect()
    };
    let host = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    // Without the platform, cargo would want crates that were never fetched because only other systems use them.
    let metadata = metadata(&["--locked", "--filter-platform", host]);
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages
        .iter()
        .find(|package| package["name"] == "xtask")
        .and_then(|package| package["rust_version"].as_str())
        .unwrap();
    let newer: Vec<String> = packages
        .iter()
        .filter_map(|package| Some((package["rust_version"].as_str()?, package)))
        .filter(|(needs, _)| version(needs) > version(ours))
        .map(|(needs, package)| format!("{} {} needs {needs}", package["name"], package["version"]))
        .collect();
    assert!(newer.is_empty(), "rust-version is {ours}, but {newer:#?}");
}

/// The types of rows that read why there is no verdict.
const READS_NO_VERDICT: [&str; 3] = [
    "aggregator/src/row.rs",
    "schema/src/conversation.rs",
    "schema/src/score.rs",
];

/// `Score` keeps `passed`, `error` and `_no_verdict` to itself, and `Score::outcome` reads them together. A new type of row that reads
/// them would decide a second time.
#[test]
fn one_place_decides_what_a_score_says() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates"));
    let mut found = Vec::new();
    for file in files_below(vec![crates.to_path_buf()]) {
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        if text.contains("rename = \"_no_verdict\"") {
            found.push(file.strip_prefix(crates).unwrap().display().to_string());
        }
    }
    found.sort();
    assert_eq!(
        found, READS_NO_VERDICT,
        "read rows of scores as `schema::Score` or `aggregator::ScoreRow`"
    );
}

/// Keys of rows of conversations, scores and scenarios, as fields are called.
const KEYS_OF_ROWS: [&str; 7] = [
    "conv_id",
    "error",
    "metric_id",
    "older_sample",
    "passed",
    "present",
    "transcript",
];

/// Types outside `schema` and `aggregator` that are parsed and have such a key, with the reason.
const OWN_ROWS: &[(&str, &str)] = &[
    // What a browser sends.
    ("cli/src/commands/view/labels.rs", "LabelOf"),
    // What a row of the report's page has.
    ("cli/src/commands/view/edition.rs", "Read"),
    // A call that an exporter is given.
    ("interop/src/run.rs", "Call"),
    // The texts of a transcript, and nothing else of a row.
    ("store/src/labels/transcripts.rs", "Said"),
    // The texts of the replies of a row, which are compared with a journal.
    ("store/src/check/exclusions.rs", "Row"),
    // The messages of a journal's item that refers to another journal.
    ("store/src/rebuild/kept.rs", "KeptItem"),
    // What a journal says of an item, in a temporary file while it is compared with the rows.
    ("store/src/check/record.rs", "Item"),
];

/// What models and other programs write, which is not a row of Probity: it has an `error` of its own.
const FORMATS_OF_OTHERS: [&str; 3] = [
    "interop/src/import",
    "llm-client/src/app",
    "llm-client/src/wire",
];

/// The structs of a file that are parsed and have a key of rows.
#[derive(Default)]
struct RowTypes(Vec<String>);

impl<'ast> syn::visit::Visit<'ast> for RowTypes {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let is_parsed = item.attrs.iter().any(|attribute| {
            let mut found = false;
            // Attributes other than `derive` are no lists of paths.
            let _ = attribute.parse_nested_meta(|meta| {
                found |= attribute.path().is_ident("derive")
                    && meta
                        .path
                        .segments
                        .last()
                        .is_some_and(|last| last.ident == "Deserialize");
                Ok(())
            });
            found
        });
        let is_key = |field: &syn::Field| {
            let name = field.ident.as_ref().map(ToString::to_string);
            name.is_some_and(|name| KEYS_OF_ROWS.contains(&name.as_str()))
        };
        if is_parsed && item.fields.iter().any(is_key) {
            self.0.push(item.ident.to_string());
        }
        syn::visit::visit_item_struct(self, item);
    }
}

/// A key that is renamed, or a new one, is then changed in one place.
#[test]
fn rows_are_parsed_as_the_types_of_schema_and_aggregator() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates"));
    let of_types = ["schema", "aggregator"].map(|name| crates.join(name).join("src"));
    let sources = fs::read_dir(crates).unwrap();
    let sources = sources.map(|entry| entry.unwrap().path().join("src"));
    let mut found = Vec::new();
    for file in files_below(sources.filter(|path| path.exists()).collect()) {
        let of_others = FORMATS_OF_OTHERS.map(|folder| crates.join(folder));
        let mut apart = of_types.iter().chain(&of_others);
        let is_apart = apart.any(|folder| file.starts_with(folder));
        if is_apart || file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let mut types = RowTypes::default();
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        syn::visit::Visit::visit_file(&mut types, &parsed);
        let place = file.strip_prefix(crates).unwrap().display().to_string();
        found.extend(types.0.into_iter().map(|name| (place.clone(), name)));
    }
    found.sort();
    let mut known: Vec<(String, String)> = OWN_ROWS
        .iter()
        .map(|(file, name)| ((*file).to_owned(), (*name).to_owned()))
        .collect();
    known.sort();
    assert_eq!(
        found, known,
        "parse rows as types of `schema`, or as `ConversationKey`, `ConversationRow` and `ScoreRow` of `aggregator`"
    );
}
