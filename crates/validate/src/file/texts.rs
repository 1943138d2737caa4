//! Files that people write: YAML, TOML, and packs of test cases.

use std::path::Path;

use located::json;
use schema::{Benchmark, Hazard};
use serde_json::Value;
use store::Layout;
use store::pack::{self, PackFormat, PackOptions};

use super::{check_value, text};
use crate::{
    FileReport, Finding, Kind, SourceLocation,
    checker::{CheckedText, Checker, Found, placed},
    explain::TakenAs,
    rules::{self, BenchmarkFacts, check_benchmark, check_hazard_list},
    shapes,
    tree::{self, NoTree, Tree},
};

/// A `benchmark.yaml`, its hazards alone, the rules of a gate, or a configuration.
pub(super) fn tree(path: &Path, kind: Kind, report: &mut FileReport, facts: &mut BenchmarkFacts) {
    report.rows = 1;
    let Some(text) = text(path, report) else {
        return;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_toml = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let parsed = if is_toml {
        tree::toml(text)
    } else {
        tree::yaml(text)
    };
    let Some(mut tree) = checked_tree(parsed, report) else {
        return;
    };
    if tree.value.is_null() {
        report.push(Finding::problem("", "the file holds only comments"));
        return;
    }
    let checker = Checker::new(kind);
    as_wanted(&checker, &mut tree);
    let more = || match kind {
        Kind::Benchmark => {
            let mut found = benchmark(path, &tree.value, facts);
            found.extend(checker.near_keys(&tree.value));
            found
        }
        Kind::Gate => rules::gate(text, facts),
        Kind::Hazards => match serde_json::from_value::<Vec<Hazard>>(tree.value.clone()) {
            Ok(hazards) => check_hazard_list(&hazards),
            Err(error) => vec![Found::problem("", error.to_string())],
        },
        _ => Vec::new(),
    };
    let source = CheckedText::Tree(&tree);
    report.extend(check_value(
        &checker,
        &tree.value,
        Vec::new(),
        None,
        &source,
        more,
    ));
}

/// The tree; an error is added to the report.
fn checked_tree(parsed: Result<Tree, NoTree>, report: &mut FileReport) -> Option<Tree> {
    parsed
        .map_err(|error| report.push(Finding::problem("", error.reason).at(error.place)))
        .ok()
}

/// Replaces values by what readers of YAML use: where text is expected, numbers and booleans become the text as written, and where a
/// boolean is expected, words such as `yes` become true or false.
fn as_wanted(checker: &Checker, tree: &mut Tree) {
    for wrong in checker.wrongs(&tree.value) {
        let taken = match wrong.taken_as {
            Some(TakenAs::Text) => tree.written.get(&wrong.pointer).cloned().map(Value::String),
            Some(TakenAs::Truth(truth)) => Some(Value::Bool(truth)),
            None => None,
        };
        if let (Some(slot), Some(taken)) = (tree.value.pointer_mut(&wrong.pointer), taken) {
            *slot = taken;
        }
    }
}

fn benchmark(path: &Path, value: &Value, facts: &mut BenchmarkFacts) -> Vec<Found> {
    let benchmark: Benchmark = match serde_json::from_value(value.clone()) {
        Ok(benchmark) => benchmark,
        Err(error) => return vec![Found::problem("", error.to_string())],
    };
    let mut found = check_benchmark(&benchmark);
    if found.is_empty() {
        found.extend(refused_by_a_run(path));
    }
    facts.benchmark = Some(benchmark);
    found
}

/// Reads the benchmark like a run does, so that nothing passes here that a run refuses.
fn refused_by_a_run(path: &Path) -> Option<Found> {
    if path.file_name()? != "benchmark.yaml" {
        return None;
    }
    let absolute = path.canonicalize().ok()?;
    let folder = absolute.parent()?;
    let name = folder.file_name()?.to_str()?;
    let dir = Layout::new(folder.parent()?).benchmark(name).ok()?;
    let error = store::read_benchmark(&dir).err()?;
    Some(Found::problem("", error.in_words().to_string()))
}

/// A pack of test cases.
pub(super) fn pack(path: &Path, report: &mut FileReport) {
    report.rows = 1;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(format) = PackFormat::of_name(&name) else {
        report.push(Finding::problem(
            "",
            "unknown pack format: the name must end in .yaml, .yml, .jsonl, .ndjson or .csv",
        ));
        return;
    };
    let Some(text) = text(path, report) else {
        return;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match format {
        PackFormat::Yaml => {
            let Some(mut tree) = checked_tree(tree::yaml(text), report) else {
                return;
            };
            let checker = Checker::new(Kind::TestCases);
            as_wanted(&checker, &mut tree);
            let wrongs = checker.wrongs(&tree.value);
            let found = wrongs.into_iter().map(Found::from).collect();
            let mut findings = placed(found, None, &CheckedText::Tree(&tree));
            for finding in &mut findings {
                finding.key = in_row(std::mem::take(&mut finding.key));
            }
            report.extend(findings);
        }
        PackFormat::Jsonl => {
            let checker = Checker::of(shapes::case());
            for (number, line) in (1..).zip(text.lines()) {
                report.extend(pack_line(&checker, line, number));
            }
        }
        PackFormat::Csv => {}
    }
    if report.is_fine()
        && let Err(error) = pack::parse(&name, text, format, &PackOptions::default())
    {
        let row = error.row().map(|row| format!("row {row}"));
        let key = error.key().map(|key| format!("key `{key}`"));
        let key = row.into_iter().chain(key).collect::<Vec<_>>().join(", ");
        report.push(Finding::problem(key, error.reason()).at_line(error.line()));
    }
}

/// `cases[3].prompt` as a run names it: ``row 4, key `prompt` ``.
fn in_row(key: String) -> String {
    let parts = key
        .strip_prefix("cases[")
        .and_then(|rest| rest.split_once(']'));
    let Some((index, rest)) = parts else {
        return key;
    };
    let Ok(index) = index.parse::<u64>() else {
        return key;
    };
    match rest.trim_start_matches('.') {
        "" => format!("row {}", index.saturating_add(1)),
        rest => format!("row {}, key `{rest}`", index.saturating_add(1)),
    }
}

fn pack_line(checker: &Checker, line: &str, number: u64) -> Vec<Finding> {
    // The reader of packs reports blank lines and invalid JSON.
    let Ok((value, twice)) = json::parse(line.as_bytes()) else {
        return Vec::new();
    };
    let source = CheckedText::Json {
        text: line.as_bytes(),
        at: SourceLocation {
            line: number,
            column: 1,
        },
    };
    check_value(checker, &value, twice, None, &source, Vec::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_written_where_text_is_wanted() {
        let mut tree = tree::yaml("version: 1.10\nname: 007\nmetrics: []\n").unwrap();
        as_wanted(&Checker::new(Kind::Benchmark), &mut tree);
        assert_eq!(tree.value["version"], "1.10");
        assert_eq!(tree.value["name"], "007");
    }
}
