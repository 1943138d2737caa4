//! What a safety evaluation refuses: one clear error, exit code 2, nobody was asked, and no file is written.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::Project;

/// Runs the command after `prepare`, and gives the error after checking that it came before anything else.
fn refused(args: &[&str], code: i32, prepare: impl FnOnce(&Project)) -> String {
    let project = Project::new();
    prepare(&project);
    let before = project.files();
    let ran = project.run(args);
    assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
    assert_eq!(project.files(), before, "{args:?}");
    let errors = ran.err.lines().filter(|line| line.starts_with("error: "));
    let [error] = errors.collect::<Vec<_>>()[..] else {
        panic!("expected one error: {}", ran.err);
    };
    error.to_owned()
}

fn assert_says(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{error:?} lacks {word:?}");
    }
}

#[test]
fn settings_out_of_range() {
    for (command, flag, value, words) in [
        (
            "single-turn",
            "--threshold",
            "1.5",
            &["--threshold", "1.5", "from 0 to 1"][..],
        ),
        (
            "single-turn",
            "--threshold",
            "-0.1",
            &["--threshold", "-0.1", "from 0 to 1"],
        ),
        (
            "multi-turn",
            "--threshold",
            "NaN",
            &["--threshold", "NaN", "from 0 to 1"],
        ),
        (
            "single-turn",
            "--fail-action-threshold",
            "2",
            &["--fail-action-threshold", "from 0 to 1"],
        ),
        ("single-turn", "--max-errors", "-1", &["--max-errors", "-1"]),
        (
            "single-turn",
            "--variations",
            "0",
            &["--variations", "from 1 to 1000"],
        ),
        (
            "single-turn",
            "--maximum-iteration-layers",
            "101",
            &["0 to 100"],
        ),
        (
            "single-turn",
            "--go-on",
            "fialed",
            &["did you mean `failed`?"],
        ),
        (
            "single-turn",
            "--strategies",
            "paraphrase,role-plya",
            &["role-plya", "did you mean `role_play`?"],
        ),
        (
            "single-turn",
            "--strategies",
            "splitting,splitting",
            &["--strategies", "duplicate name `splitting`"],
        ),
        (
            "single-turn",
            "--max-cases",
            "0",
            &["--max-cases", "1 or more"],
        ),
        (
            "multi-turn",
            "--max-turns",
            "0",
            &["--max-turns", "even number", "invalid value '0'"],
        ),
        (
            "multi-turn",
            "--max-turns",
            "7",
            &["--max-turns", "even number", "invalid value '7'"],
        ),
        (
            "multi-turn",
            "--max-turns",
            "eight",
            &["eight", "even number"],
        ),
        (
            "multi-turn",
            "--test-types",
            "user-persona",
            &["did you mean `user_persona`?"],
        ),
        (
            "multi-turn",
            "--test-types",
            " ",
            &["--test-types", "expected one or more of user_persona"],
        ),
        (
            "single-turn",
            "--test-case-groups",
            "privcy",
            &["privcy", "did you mean `privacy`?"],
        ),
        (
            "single-turn",
            "--test-case-groups",
            " , ",
            &["--test-case-groups", "no group"],
        ),
        (
            "multi-turn",
            "--csv-column",
            "goal",
            &["--csv-column", "name its file with --test-cases"],
        ),
        (
            "single-turn",
            "--test-case-groups",
            "weather",
            &["weather", "there are", "self-harm-risk"],
        ),
        (
            "single-turn",
            "--target",
            "scripted-carefull",
            &["did you mean `scripted-careful`?"],
        ),
        (
            "single-turn",
            "--judge",
            "scripted-safety-jugde",
            &["did you mean `scripted-safety-judge`?"],
        ),
        (
            "multi-turn",
            "--attacker",
            "nobody",
            &["--attacker", "nobody", "scripted-attacker"],
        ),
    ] {
        let error = refused(&["safety", command, flag, value], 2, |_| {});
        assert_says(&error, words);
    }
}

#[test]
fn the_configuration_is_checked_with_file_and_line() {
    let config = "safety:\n  threshold: high\n";
    let error = refused(&["safety", "single-turn"], 2, |project| {
        project.write("config.yaml", config)
    });
    assert_says(
        &error,
        &[
            "config.yaml, line 2",
            "safety.threshold: expected a number",
            "found `high`",
            "from 0 to 1",
        ],
    );
    let config = "safety:\n  max_turn: 8\n";
    let error = refused(&["safety", "multi-turn"], 2, |project| {
        project.write("config.yaml", config)
    });
    assert_says(
        &error,
        &[
            "config.yaml, line 2",
            "max_turn",
            "did you mean `max_turns`?",
        ],
    );
}

#[test]
fn packs() {
    for (name, text, words) in [
        ("p.yaml", "cases: []\n", &["p.yaml", "no cases"][..]),
        ("p.jsonl", "\n", &["p.jsonl", "no cases"]),
        (
            "p.yaml",
            "- {id: a, prompt: x}\n- {id: a, prompt: y}\n",
            &["p.yaml, line 2", "row 2", "\"a\""],
        ),
        ("p.yaml", "- {id: a}\n", &["p.yaml, line 1", "prompt"]),
        (
            "p.yaml",
            "- {id: a, promt: x}\n",
            &["did you mean `prompt`?"],
        ),
        ("p.csv", "goal,target\nx,y\n", &["p.csv", "goal"]),
        ("p.txt", "x\n", &["p.txt", ".csv"]),
    ] {
        let args = ["safety", "single-turn", "--test-cases", name];
        let error = refused(&args, 2, |project| project.write(name, text));
        assert_says(&error, words);
    }
    let error = refused(
        &["safety", "single-turn", "--test-cases", "none.yaml"],
        2,
        |_| {},
    );
    assert_says(&error, &["none.yaml", "cannot be read"]);
    let two = [
        "safety",
        "single-turn",
        "--test-cases",
        "a.yaml",
        "--test-cases",
        "b.yaml",
    ];
    let error = refused(&two, 2, |project| {
        project.write("a.yaml", "- {id: a, prompt: x}\n");
        project.write("b.yaml", "- {id: a, prompt: y}\n");
    });
    assert_says(&error, &["b.yaml", "\"a\"", "a.yaml already"]);
}

#[test]
fn output_files_are_checked_before_the_first_call() {
    let out = [
        "safety",
        "single-turn",
        "--output-file",
        "out.json",
        "--target",
        "scripted-careful",
    ];
    let error = refused(&out, 2, |project| project.write("out.json", "mine"));
    assert_says(&error, &["out.json", "the file exists", "--overwrite"]);
    // Of several targets each has a file of its own.
    let error = refused(&out[..4], 2, |project| {
        project.write("out_scripted-careful.json", "mine")
    });
    assert_says(&error, &["out_scripted-careful.json", "the file exists"]);
    let error = refused(
        &["safety", "multi-turn", "--output-file", "none/out.json"],
        2,
        |_| {},
    );
    assert_says(&error, &["no such folder: none"]);
    let error = refused(&["safety", "multi-turn", "--output-file", "."], 2, |_| {});
    assert_says(&error, &["--output-file"]);
    let error = refused(
        &["safety", "multi-turn", "--junit", "none/x.xml"],
        2,
        |_| {},
    );
    assert_says(&error, &["--junit none/x.xml", "no such folder: none"]);
    let error = refused(
        &["safety", "multi-turn", "--system-prompt-file", "none.txt"],
        2,
        |_| {},
    );
    assert_says(&error, &["none.txt", "cannot be read"]);
}

#[test]
fn a_file_that_may_be_overwritten_is() {
    let project = Project::new();
    project.write("out.json", "mine");
    let ran = project.run(&[
        "safety",
        "single-turn",
        "--output-file",
        "out.json",
        "--overwrite",
        "--target",
        "scripted-careful",
        "--test-case-groups",
        "privacy",
        "--max-cases",
        "1",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(project.read("out.json").contains("single_turn_response"));
}
