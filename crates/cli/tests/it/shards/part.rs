//! One part.

#![allow(clippy::unwrap_used, reason = "a failure ends the test")]

use std::collections::BTreeSet;

use serde_json::Value;

use super::{project, rows, scripted, succeeds};

#[test]
fn each_base_scenario_is_in_one_part_with_its_variants_and_samples() {
    let project = project();
    let mut all = BTreeSet::new();
    for part in 1..=3 {
        let ran = succeeds(
            &project,
            &["run", "flattery", "--shard", &format!("{part}/3")],
        );
        assert!(
            ran.err.contains(&format!("shard {part} of 3: ")),
            "{}",
            ran.err
        );
        let rows = rows(&project, &format!("{part}-of-3"));
        assert_eq!(rows.len() % 4, 0, "{rows:?}");
        all.extend(rows);
    }
    assert_eq!(all.len(), 48);
    // Nothing of it is in the project's own tree.
    assert!(!project.path("benchmarks/flattery/runs").exists());
    // The journal says how many items the part has, and how many there are.
    let items = project.events(schema::EventKind::UsingTestItems);
    let sum = |key: &str| -> u64 { items.iter().map(|event| event[key].as_u64().unwrap()).sum() };
    assert_eq!((sum("using"), sum("total")), (48, 3 * 48));
}

#[test]
fn every_output_says_that_it_is_a_part() {
    let project = project();
    let ran = succeeds(&project, &["run", "flattery", "--shard", "2/3"]);
    let of_part = "of 12 base scenarios. The rates are not those of the whole benchmark";
    assert!(ran.err.contains(of_part), "{}", ran.err);
    assert!(ran.err.contains("divided by 3 (here $2.67)"), "{}", ran.err);
    let within: [&str; 2] = ["--benchmarks", "shards/2-of-3/benchmarks"];
    let here = |args: &[&str]| scripted(&project, &[&within, args].concat());
    project.write(
        "gate.yaml",
        "format: 1\nrules: [{scope: all, require: missing <= 0}]\n",
    );
    let gate = here(&["gate", "flattery", "gate.yaml"]);
    assert_eq!(gate.code, 0, "{}{}", gate.out, gate.err);
    let said = gate.out + &gate.err;
    assert!(said.contains("shard 2 of 3"), "{said}");
    let page = project.read("shards/2-of-3/benchmarks/flattery/report.html");
    assert!(page.contains("This is a part of a run."));
    let manifest = project
        .files()
        .into_iter()
        .find(|path| path.ends_with("manifest.json"))
        .unwrap();
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    assert_eq!(manifest["shard"]["part"], 2);
    assert_eq!(manifest["divided_by"], 3);
    // Without the flag, a run there goes on with the part: nothing is called.
    let again = here(&["run", "flattery", "--json"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(again["replies"]["asked"], 0, "{again}");
    let kinds = again["benchmarks"][0]["findings"].as_array().unwrap();
    assert!(kinds.iter().any(|finding| finding["kind"] == "shard"));
    let checked = here(&["validate", "shards/2-of-3"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let checked = here(&["journal", "check"]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let baseline = here(&["baseline", "flattery"]);
    assert_eq!(baseline.code, 2, "{}{}", baseline.out, baseline.err);
    for words in [
        "flattery: shard 2 of 3: ",
        "base scenarios; a baseline needs all of them",
        "`merge` joins their trees",
    ] {
        assert!(baseline.err.contains(words), "{}", baseline.err);
    }
    assert!(
        !project
            .path("shards/2-of-3/benchmarks/flattery/baseline.json")
            .exists()
    );
}

#[test]
fn limits_of_the_configuration_are_divided_unless_they_are_the_part_s_own() {
    let project = project();
    let divided = |args: &[&str]| succeeds(&project, args).err.contains("are divided by 3");
    assert!(divided(&["run", "flattery", "--shard", "2/3"]));
    assert!(!divided(&[
        "run",
        "flattery",
        "--shard",
        "2/3",
        "--own-limits"
    ]));
    // In the folder of a part, without the flag that chooses one.
    let here = [
        "--benchmarks",
        "shards/2-of-3/benchmarks",
        "run",
        "flattery",
    ];
    assert!(divided(&here));
    assert!(!divided(&[&here[..], &["--own-limits"]].concat()));
    // A whole run has nothing to divide.
    for args in [
        &["run", "flattery"][..],
        &["plan", "flattery"],
        &["safety", "single-turn", "--target", "scripted-careful"],
    ] {
        let ran = scripted(&project, &[args, &["--own-limits"]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        let words = "--own-limits is for one part of a run, and this is the whole";
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    assert!(!project.path(".probity").exists());
}

#[test]
fn a_plan_prices_the_part() {
    let project = project();
    let rows = |args: &[&str]| -> u64 {
        let ran = succeeds(&project, &[&["plan", "flattery", "--json"], args].concat());
        let plan: Value = serde_json::from_str(&ran.out).unwrap();
        let rows = plan["rows"].as_array().unwrap().iter();
        let judged = rows.filter(|row| row["phase"] == "evaluate");
        judged
            .map(|row| row["rows"]["high"].as_u64().unwrap())
            .sum()
    };
    let parts: u64 = (1..=3)
        .map(|part| rows(&["--shard", &format!("{part}/3")]))
        .sum();
    assert_eq!((rows(&[]), parts), (96, 96));
    assert!(!project.path("shards").exists());
}

#[test]
fn what_cannot_be_split_is_refused_before_any_call() {
    let project = project();
    let refused = |args: &[&str], why: &str| {
        let ran = scripted(&project, args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    };
    for shard in ["0/4", "5/4", "x"] {
        refused(&["run", "--shard", shard], "must be PART/OF, such as 3/16");
    }
    refused(
        &["run", "flattery", "--shard", "1/4", "--until", "decided"],
        "looks at the first scenarios of one order",
    );
    refused(
        &["run", "flattery", "--shard", "1/4", "--limit", "2"],
        "a trial is on some scenarios already",
    );
    project.write("benchmarks/flattery/scenarios.json", "[]");
    refused(
        &["run", "flattery", "--shard", "1/4"],
        "gen-scenarios flattery` makes them",
    );
    assert!(!project.path("shards").exists());
}
