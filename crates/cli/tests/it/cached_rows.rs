//! Rows that come whole from the cache: the journal of the second run refers to that of the first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure ends the test")]

use crate::common::{Project, Ran};

use std::{collections::BTreeMap, fs, path::PathBuf};

use schema::EventKind;
use serde_json::Value;

/// The ids of the runs on record, oldest first.
fn runs(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path(".probity/runs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut runs: Vec<String> = names.collect();
    runs.sort();
    runs
}

fn journal(project: &Project, run: &str) -> PathBuf {
    project.path(&format!(".probity/runs/{run}/journal-{run}.jsonl"))
}

fn lines(project: &Project, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(journal(project, run)).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The events of each item, by its keys.
fn items(lines: &[Value]) -> BTreeMap<[String; 3], Vec<&Value>> {
    let mut items: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line["prompt_id"].is_string()) {
        let key = ["test", "prompt_id", "sut"].map(|name| line[name].as_str().unwrap().to_owned());
        items.entry(key).or_default().push(line);
    }
    items
}

fn kinds(events: &[&Value]) -> Vec<EventKind> {
    let kinds = events
        .iter()
        .map(|event| EventKind::of(event["message"].as_str()?));
    kinds.collect::<Option<_>>().unwrap()
}

/// Runs the same twice; returns the ids of both runs.
fn run_twice(project: &Project) -> [String; 2] {
    project.succeeds(&["run", "--quiet"]);
    project.succeeds(&["run", "--quiet"]);
    runs(project).try_into().unwrap()
}

fn succeeds_without_problems(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn a_row_from_the_cache_is_written_without_calls_and_turns() {
    let project = Project::new();
    let [first, second] = run_twice(&project);
    let (fetched, kept) = (lines(&project, &first), lines(&project, &second));
    let (fetched_items, kept_items) = (items(&fetched), items(&kept));
    assert!(fetched_items.keys().eq(kept_items.keys()));
    for (key, events) in &kept_items {
        assert_eq!(
            kinds(events),
            [
                EventKind::QueuingItem,
                EventKind::UsingCachedUserResponse,
                EventKind::UsingCachedSutResponse,
                EventKind::TranslatedSutResponse,
                EventKind::ConversationFinished,
                EventKind::UsingCachedAnnotatorResponse,
                EventKind::TranslatedAnnotation,
                EventKind::ScoreFinished,
                EventKind::MeasuredItemQuality,
                EventKind::ItemFinished,
            ],
            "{key:?}"
        );
        // Each reference is to the line with the bodies, of the same item.
        for event in events.iter().filter(|event| event["kept"].is_object()) {
            assert_eq!(event["kept"]["run_id"], first.as_str());
            let number = event["kept"]["line"].as_u64().unwrap();
            let line = &fetched[usize::try_from(number).unwrap() - 1];
            for name in ["test", "prompt_id", "sut"] {
                assert_eq!(line[name], event[name]);
            }
            let message = line["message"].as_str().unwrap();
            let expected = event["message"].as_str().unwrap();
            assert_eq!(message.replace("fetched", "using cached"), expected);
            assert!(
                line["request"].is_object() || line["context"].is_object(),
                "{line}"
            );
        }
        // What ModelBench's rules read is the same.
        let whole = &fetched_items[key];
        let of = |events: &[&Value], kind: EventKind, field: &str| -> Vec<Value> {
            let events = events.iter().filter(|event| event["message"] == kind);
            events.map(|event| event[field].clone()).collect()
        };
        for (kind, field) in [
            (EventKind::QueuingItem, "prompt_text"),
            (EventKind::TranslatedSutResponse, "response_text"),
            (EventKind::TranslatedAnnotation, "annotation"),
            (EventKind::MeasuredItemQuality, "measurements"),
        ] {
            assert_eq!(of(events, kind, field), of(whole, kind, field), "{key:?}");
        }
    }
    let bytes = fs::metadata(journal(&project, &second)).unwrap().len();
    let of_items: usize = kept_items
        .values()
        .flatten()
        .map(|line| line.to_string().len())
        .sum();
    let a_row = of_items / kept_items.len();
    assert!(a_row < 4_096, "{a_row} bytes a row, {bytes} in all");

    let checked = project.run(&["journal", "check", &second]);
    succeeds_without_problems(&checked);
    let said = "items came whole from the cache: their calls and turns are in";
    assert!(
        checked.out.contains(said) || checked.err.contains(said),
        "{}{}",
        checked.out,
        checked.err
    );
}

#[test]
fn rebuilding_and_figures_follow_the_reference() {
    let project = Project::new();
    let [_, second] = run_twice(&project);
    let rebuilt = project.run(&["journal", "rebuild", &second, "--out", "out"]);
    succeeds_without_problems(&rebuilt);
    for target in fs::read_dir(project.path("out/runs")).unwrap() {
        let target = target.unwrap().file_name().into_string().unwrap();
        for file in ["conversations.json", "scores.json", "cost.json"] {
            let of = |root: &str| project.read(&format!("{root}/runs/{target}/{file}"));
            assert!(of("out") == of("benchmarks/sycophancy"), "{target}: {file}");
        }
    }
    assert_eq!(
        project.read("out/results.json"),
        project.read("benchmarks/sycophancy/results.json")
    );
    let cached = |run: &str| {
        let ran = project.succeeds(&["journal", "stats", run, "--json"]);
        let stats: Value = serde_json::from_str(&ran.out).unwrap();
        let calls = stats["stats"]["calls"].as_array().unwrap().clone();
        let replies =
            |call: &Value| call["fetched"].as_u64().unwrap() + call["cached"].as_u64().unwrap();
        let of = |call: &Value| {
            (
                call["role"].to_string(),
                call["model"].to_string(),
                replies(call),
            )
        };
        // Those of items.
        let of_items = calls.iter().filter(|call| call["role"] != "generator");
        of_items.map(of).collect::<Vec<_>>()
    };
    let all = runs(&project);
    assert_eq!(cached(&all[0]), cached(&all[1]));
    let item = project.succeeds(&["journal", "show", &second, "--prompt-id", "m01_s001_v01"]);
    assert!(
        item.out.contains(&format!("in {}, line ", all[0])),
        "{}",
        item.out
    );
}

#[test]
fn without_the_earlier_journal_it_is_said_and_the_next_run_writes_its_rows_whole() {
    let project = Project::new();
    let [first, second] = run_twice(&project);
    fs::remove_file(journal(&project, &first)).unwrap();

    let checked = project.run(&["journal", "check", &second]);
    succeeds_without_problems(&checked);
    let said = format!("in the journal of {first}, which is not beside this one's");
    assert!(
        format!("{}{}", checked.out, checked.err).contains(&said),
        "{}{}",
        checked.out,
        checked.err
    );

    let rebuilt = project.run(&["journal", "rebuild", &second, "--out", "out"]);
    assert_eq!(rebuilt.code, 1, "{}{}", rebuilt.out, rebuilt.err);
    assert!(
        rebuilt.err.contains(&format!("of the journal of {first}")),
        "{}",
        rebuilt.err
    );

    // The calls that were indexed before are known.
    fs::remove_file(project.path(&format!(".probity/runs/{second}/index-{second}"))).unwrap();
    let exported = project.succeeds(&["export", "jsonl", "sycophancy", "--out", "exported"]);
    assert!(
        exported.err.contains(&format!(
            "in the journal of {first}, which is not beside it"
        )),
        "{}",
        exported.err
    );

    project.succeeds(&["run", "--quiet"]);
    let third = runs(&project).pop().unwrap();
    let whole = lines(&project, &third);
    assert!(whole.iter().all(|line| line["kept"].is_null()));
    assert!(whole.iter().any(|line| line["context"].is_object()));
    // Its own journal serves the next one.
    project.succeeds(&["run", "--quiet"]);
    let fourth = runs(&project).pop().unwrap();
    let queued = lines(&project, &fourth);
    let mut queued = queued
        .iter()
        .filter(|line| line["message"] == EventKind::QueuingItem);
    assert!(queued.all(|line| line["kept"]["run_id"] == third.as_str()));
}

#[test]
fn a_journal_that_another_one_refers_to_is_not_pruned() {
    let project = Project::new();
    let [first, second] = run_twice(&project);
    // Nothing else refers to runs: only the journal of the second one, which is younger.
    fs::remove_dir_all(project.path("benchmarks")).unwrap();
    fs::remove_dir_all(project.path(".probity/provenance")).unwrap();
    let old = "run-20250101-000000-000000";
    let folder = |run: &str| project.path(&format!(".probity/runs/{run}"));
    fs::rename(
        journal(&project, &first),
        folder(&first).join(format!("journal-{old}.jsonl")),
    )
    .unwrap();
    fs::rename(folder(&first), folder(old)).unwrap();
    for file in [
        journal(&project, &second),
        folder(&second).join("manifest.json"),
    ] {
        let text = fs::read_to_string(&file).unwrap().replace(&first, old);
        fs::write(&file, text).unwrap();
    }
    let kept = |args: &[&str]| -> Value {
        let ran = project.succeeds(args);
        serde_json::from_str(&ran.out).unwrap()
    };
    let args = ["runs", "prune", "--older-than", "1h", "--json", "--yes"];
    let why = format!("the journal of {second} refers to its calls");
    assert_eq!(kept(&args)["kept"][0]["why"], why.as_str());
    // A run that was killed has no list in its manifest.
    let manifest = folder(&second).join("manifest.json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    value["end"] = Value::Null;
    fs::write(&manifest, value.to_string()).unwrap();
    assert_eq!(kept(&args)["kept"][0]["why"], why.as_str());
    // Both may go together.
    fs::write(&manifest, value.to_string()).unwrap();
    fs::remove_dir_all(folder(&second)).unwrap();
    assert_eq!(kept(&args)["removed"][0]["run_id"], old);
}

#[test]
fn a_row_that_is_only_partly_from_the_cache_is_written_whole() {
    let project = Project::new();
    run_twice(&project);
    // The judge's prompt is another one with this panel: conversations come from the cache, verdicts do not.
    project.succeeds(&["run", "--quiet", "--turns", "2"]);
    let third = runs(&project).pop().unwrap();
    let whole = lines(&project, &third);
    assert!(whole.iter().all(|line| line["kept"].is_null()));
    for events in items(&whole).values() {
        let queued = events[0];
        assert_eq!(queued["message"], EventKind::QueuingItem);
        assert!(queued["context"].is_object());
    }
    succeeds_without_problems(&project.run(&["journal", "check", &third]));
}
