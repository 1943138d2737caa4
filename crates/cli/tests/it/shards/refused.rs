//! What does not belong together.

use super::{PARTS, project, scripted, succeeds};

#[test]
fn shards_that_do_not_belong_together_are_refused_with_both_values() {
    let project = project();
    let part = |number: usize| {
        let args = ["run", "flattery", "--shard", &format!("{number}/4")];
        succeeds(&project, &args);
    };
    let refused = |folders: &[&str], words: &[&str]| {
        let ran = scripted(&project, &[&["merge", "whole"], folders].concat());
        assert_eq!(ran.code, 2, "{folders:?}: {}{}", ran.out, ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
        assert!(!project.path("whole").exists());
    };
    (1..=2).for_each(part);
    let [one, two, ..] = PARTS;
    let scenarios = project.read("benchmarks/flattery/scenarios.json");
    let change = |file: &str, from: &str, to: &str| {
        let text = project.read(file);
        assert!(text.contains(from), "{file}");
        project.write(file, &text.replacen(from, to, 1));
        text
    };
    // Another scenario.
    let file = format!("{two}/benchmarks/flattery/scenarios.json");
    let text = change(&file, "A poet, 7.", "A cook.");
    refused(
        &[one, two],
        &[
            "shard 1 of 4 (shards/1-of-4) and shard 2 of 4 (shards/2-of-4) do not belong together",
            "scenarios.json: row m01_s004_v02, /persona is \"A poet, 7.\" and \"A cook.\"",
        ],
    );
    project.write(&file, &text);
    // Another definition of a metric.
    let file = format!("{two}/benchmarks/flattery/benchmark.yaml");
    let text = change(&file, "The assistant flatters.", "It lies.");
    refused(
        &[one, two],
        &["benchmark.yaml: /metrics/0/definition is \"The assistant flatters.\" and \"It lies.\""],
    );
    project.write(&file, &text);
    // Other settings, and another judge.
    let known = format!("{two}/.probity/provenance/flattery.json");
    let text = change(&known, "\"turns\": 2", "\"turns\": 3");
    refused(
        &[one, two],
        &["conversations.json of scripted-agreeable: turns is 2 and 3"],
    );
    project.write(&known, &text);
    let text = change(&known, "\"scripted-judge\"", "\"another-judge\"");
    refused(
        &[one, two],
        &["scores.json of scripted-agreeable", "another-judge"],
    );
    project.write(&known, &text);
    // Other versions of prompts.
    let text = change(&known, "\"judge\": 2", "\"judge\": 1");
    refused(
        &[one, two],
        &["the versions of the prompts and rules is {\"judge\":2"],
    );
    project.write(&known, &text);
    // A file that was edited.
    let scores = format!("{two}/benchmarks/flattery/runs/scripted-careful/scores.json");
    let text = change(&scores, "\"sample\": 0", "\"sample\":  0");
    refused(&[one, two], &["is not the file that its run wrote"]);
    project.write(&scores, &text);
    // Parts of another number of parts, and what is not a shard at all.
    succeeds(&project, &["run", "flattery", "--shard", "2/3"]);
    refused(&[one, "shards/2-of-3"], &["they are parts of 4 and of 3"]);
    refused(
        &[one, "."],
        &["has no shard.json, so it is not one of a shard"],
    );
    refused(&[one, "nowhere"], &["nowhere: no such folder"]);
    assert_eq!(
        project.read("benchmarks/flattery/scenarios.json"),
        scenarios
    );
    // An existing folder is not replaced unasked.
    project.write("whole/mine", "mine");
    let ran = scripted(&project, &["merge", "whole", one, two]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("it exists, and is not replaced"),
        "{}",
        ran.err
    );
    assert_eq!(project.read("whole/mine"), "mine");
}
