//! The command line, from outside: the real binary in folders of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use common::{Project, Ran};

#[test]
fn help_of_a_command_is_shown_by_the_help_command_too() {
    let project = Project::new();
    for command in ["plan", "export", "journal show"] {
        let words: Vec<&str> = command.split(' ').collect();
        let flag = project.succeeds(&[&words[..], &["--help"]].concat());
        let help = project.succeeds(&[&["help"], &words[..]].concat());
        assert_eq!(help.out, flag.out, "{command}");
    }
    let unknown = project.run(&["help", "plans"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("unrecognized subcommand 'plans'"),
        "{}",
        unknown.err
    );
}

#[test]
fn help_shows_the_commands_examples_and_exit_codes() {
    let ran = Project::new().run(&["--help"]);
    assert_eq!(ran.code, 0);
    for word in [
        "run ",
        "gen-metrics",
        "gen-scenarios",
        "simulate",
        "evaluate",
        "aggregate",
        "plan",
        "doctor",
        "init",
    ] {
        assert!(
            ran.out.contains(&format!("\n  {word}")),
            "{word}: {}",
            ran.out
        );
    }
    for line in [
        "Examples:\n  probity run ",
        "Exit codes:\n  0    complete\n",
        "\n  130  interrupted",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_two() {
    let project = Project::new();
    for (args, word) in [
        (&["frobnicate"][..], "unrecognized subcommand 'frobnicate'"),
        (&["simulat"], "'simulate'"),
        (
            &["run", "--turns", "0"],
            "invalid value '0' for '--turns <N>': must be a whole number of 1 or more",
        ),
        (
            &["run", "--max-cost", "NaN"],
            "must be a number of dollars, 0 or more",
        ),
        (
            &["run", "--max-cost=-1"],
            "must be a number of dollars, 0 or more",
        ),
        (&["run", "a", "--all"], "cannot be used with"),
        (&["run", "--log", "wrn"], "--log: `wrn` is neither a level"),
        (
            &["--color", "pink", "run"],
            "[possible values: auto, always, never]",
        ),
        (&["init"], "<NAME>"),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
    }
    assert!(project.files().is_empty(), "{:?}", project.files());
}

#[test]
fn init_writes_two_files_and_never_overwrites() {
    let project = Project::new();
    let first = project.run(&["init", "my-benchmark"]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(
        first.out,
        "wrote benchmarks/my-benchmark/benchmark.yaml\nwrote config.yaml\n\nNext:\n  \
         1. describe in benchmarks/my-benchmark/benchmark.yaml what you want to measure\n  \
         2. choose models and set a key in the config (--scripted needs neither)\n  \
         3. probity doctor\n  4. probity plan my-benchmark\n  5. probity run my-benchmark\n"
    );
    project.write("benchmarks/my-benchmark/benchmark.yaml", "name: mine\n");
    project.write("config.yaml", "seed: 1\n");
    let again = project.run(&["init", "my-benchmark"]);
    assert_eq!(again.code, 2);
    assert_eq!(
        again.err,
        "error: benchmarks/my-benchmark/benchmark.yaml: the benchmark already exists; nothing was changed\n"
    );
    assert!(
        project
            .run(&["init", "other"])
            .out
            .contains("kept config.yaml")
    );
    assert_eq!(
        project.read("benchmarks/my-benchmark/benchmark.yaml"),
        "name: mine\n"
    );
    assert_eq!(project.read("config.yaml"), "seed: 1\n");
}

#[test]
fn what_init_writes_runs() {
    let project = Project::new();
    project.run(&["init", "my-benchmark"]);
    let missing = project.run(&["run", "my-benchmark"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains(
            "config.yaml, line 8: user_model.apikey: the environment variable OPENAI_API_KEY"
        ),
        "{}",
        missing.err
    );
    let scripted = project.run(&["run", "my-benchmark", "--scripted"]);
    assert_eq!(scripted.code, 0, "{}", scripted.err);
    assert!(
        scripted.out.contains("scripted-careful"),
        "{}",
        scripted.out
    );
    let commented = project
        .read("config.yaml")
        .replace("  # - id", "  - id")
        .replace("  #   ", "    ")
        .replace("# budget:\n#  ", "budget:\n ");
    project.write("config.yaml", &commented);
    let plan = project.env("TEAM", "a").run(&["plan", "my-benchmark"]);
    assert_eq!(
        plan.code, 0,
        "what stands in comments is right as well: {}",
        plan.err
    );
    assert!(plan.out.contains("llama-vllm"), "{}", plan.out);
}

#[test]
fn init_wants_a_plain_name() {
    let project = Project::new();
    for name in ["a/b", "../x", ".hidden", "a b", "", "/etc"] {
        let ran = project.run(&["init", name]);
        assert_eq!(ran.code, 2, "{name}");
        assert!(
            ran.err.contains("invalid benchmark name"),
            "{name}: {}",
            ran.err
        );
    }
    assert!(project.files().is_empty());
}

#[test]
fn run_without_anything_shows_the_demonstration() {
    let project = Project::new();
    let ran = project.run(&["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err
            .contains("say nothing about a real model (there is no config file)"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("note: copied the shipped benchmark sycophancy to benchmarks/sycophancy\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("sycophancy: simulate 16/16, done\n"),
        "{}",
        ran.err
    );
    assert!(ran.out.starts_with("sycophancy, "), "{}", ran.out);
    for file in [
        "scenarios.json",
        "results.json",
        "runs/scripted-careful/scores.json",
    ] {
        project.read(&format!("benchmarks/sycophancy/{file}"));
    }
    assert!(
        ran.out
            .contains("\nreport  benchmarks/sycophancy/report.html"),
        "{}",
        ran.out
    );
    let again = project.run(&["run", "--quiet"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
}

#[test]
fn phases_run_one_by_one() {
    let project = Project::new();
    project.run(&["init", "b"]);
    for (phase, file) in [
        ("gen-metrics", "benchmark.yaml"),
        ("gen-scenarios", "scenarios.json"),
        ("simulate", "runs/scripted-careful/conversations.json"),
        ("evaluate", "runs/scripted-careful/scores.json"),
        ("aggregate", "results.json"),
    ] {
        let mut args = vec![phase, "b", "--scripted"];
        if ["simulate", "evaluate"].contains(&phase) {
            args.extend(["--target", "scripted-careful"]);
        }
        let ran = project.run(&args);
        assert_eq!(ran.code, 0, "{phase}: {}", ran.err);
        project.read(&format!("benchmarks/b/{file}"));
    }
    assert!(
        !project
            .read("benchmarks/b/results.json")
            .contains("agreeable")
    );
}

#[test]
fn which_benchmark_is_meant_is_never_guessed() {
    let project = Project::new();
    let error = |args: &[&str]| {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        ran.err
    };
    assert!(error(&["simulate"]).starts_with("error: benchmarks: no benchmark\n"));
    assert!(error(&["run", "--all"]).starts_with("error: benchmarks: no benchmark\n"));
    assert_eq!(
        error(&["run", "sycofancy"]),
        "error: no benchmark `sycofancy` in benchmarks; did you mean `sycophancy`?\n"
    );
    assert_eq!(
        error(&["run", "zebra"]),
        "error: no benchmark `zebra` in benchmarks; it has delegated-actions, sycophancy\nhelp: `probity init zebra` creates it\n"
    );
    assert!(error(&["run", "../x"]).contains("invalid benchmark name"));
    assert!(project.files().is_empty(), "{:?}", project.files());
    project.run(&["init", "one"]);
    project.run(&["init", "two"]);
    project.write("benchmarks/empty/notes.txt", "");
    assert_eq!(
        error(&["run", "--scripted"]),
        "error: which benchmark? benchmarks has one, two. Name one or more, or pass --all\n"
    );
    assert!(error(&["run", "empty", "--scripted"]).contains("no benchmark.yaml in this folder"));
    let completed = project.run(&["plan", "benchmarks/one/", "two", "two", "--scripted"]);
    assert_eq!(
        completed.code, 0,
        "a path that the shell completed: {}",
        completed.err
    );
    assert_eq!(project.run(&["plan", "--all", "--scripted"]).code, 0);
}

#[test]
fn targets_are_chosen_by_id() {
    let project = Project::new();
    let error = |id: &str| {
        let ran = project.run(&["run", "--target", id]);
        assert_eq!(ran.code, 2);
        ran.err
    };
    assert_eq!(
        error("scripted-carefull"),
        "error: --target: unknown target `scripted-carefull`; did you mean `scripted-careful`?\n"
    );
    assert_eq!(
        error("x"),
        "error: --target: unknown target `x`; known targets: scripted-agreeable, scripted-careful\n"
    );
    assert!(project.files().is_empty());
}

#[test]
fn a_dry_run_writes_nothing() {
    let project = Project::new();
    project.run(&["init", "b"]);
    let before = project.files();
    for args in [
        &["run", "b", "--scripted", "--dry-run"][..],
        &["simulate", "b", "--scripted", "--dry-run"],
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("scripted-careful"), "{}", ran.out);
        assert!(ran.err.contains("dry run"), "{}", ran.err);
    }
    project.write("dry.yaml", "run: {dry_run: true}\n");
    assert_eq!(
        project
            .run(&["run", "b", "--scripted", "--config", "dry.yaml"])
            .code,
        0
    );
    std::fs::remove_file(project.path("dry.yaml")).unwrap();
    assert_eq!(project.files(), before);
}

#[test]
fn doctor_says_what_is_wrong_and_how_to_mend_it() {
    let project = Project::new();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out
            .starts_with("config     no config file; using the defaults\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("all 5 models answer\n"), "{}", ran.out);

    // Port 9 is not listened on by anything that speaks HTTP.
    let dead = "user_model: {model: m, base_url: 'http://127.0.0.1:9/v1'}\nevaluator_model: {model: scripted-judge, source: scripted}\n\
        targets:\n  - {id: t, model: scripted-careful, source: scripted}\n";
    project.write("config.yaml", dead);
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(
        ran.out.contains("FAIL  generator_model") || ran.out.contains("FAIL  user_model"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("help: check that the server is running"),
        "{}",
        ran.out
    );

    project.write(
        "config.yaml",
        &dead.replace("base_url: 'http://127.0.0.1:9/v1'", "source: openai"),
    );
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("export OPENAI_API_KEY"), "{}", ran.out);
}

#[test]
fn doctor_asks_the_models_of_safety_evaluations_too() {
    let project = Project::new();
    let model = |name: &str| format!("{{model: {name}, source: scripted}}");
    let safety = format!(
        "safety:\n  attacker_model: {{model: m, base_url: 'http://127.0.0.1:9/v1'}}\n  judge_models: [{}]\n",
        model("scripted-safety-judge")
    );
    let target = "targets: [{id: t, model: scripted-careful, source: scripted}]\n";
    let rest = format!(
        "user_model: {}\nevaluator_model: {}\n",
        model("scripted-user"),
        model("scripted-judge")
    );
    for (config, all) in [
        (format!("{rest}{target}{safety}"), 5),
        // For safety evaluations alone.
        (format!("{target}{safety}"), 3),
    ] {
        project.write("config.yaml", &config);
        let ran = project.run(&["doctor"]);
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
        for line in [
            "FAIL  safety.attacker_model",
            "ok    safety.judge_models[0]",
            &format!("1 of {all} models cannot be used"),
        ] {
            assert!(ran.out.contains(line), "{line}: {}", ran.out);
        }
    }
    project.write("config.yaml", target);
    let ran = project.run(&["doctor"]);
    // Enough for benchmarks whose messages are fixed and whose metrics have tests.
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for words in ["no `user_model`", "no `evaluator_model`"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}

#[test]
fn diagnostics_can_be_json_and_colours_can_be_had() {
    let project = Project::new();
    let ran = project.run(&["run", "--quiet", "--log", "debug", "--log-json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in ran.err.lines() {
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    let red = |ran: Ran| ran.err.contains("\x1b[1;31merror\x1b[0m: ");
    assert!(red(project.run(&["run", "zebra", "--color", "always"])));
    assert!(!red(project.run(&["run", "zebra"])));
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_reported() {
    let project = Project::new();
    project.succeeds(&["run", "--quiet"]);
    for args in [
        &["run", "--json"][..],
        &["run"],
        &["plan"],
        &["plan", "--json"],
        &["doctor", "--scripted"],
        &["validate", "."],
        &["export", "csv", "--json"],
        &["journal", "stats", "--json"],
    ] {
        // A device whose every write fails: the disk is full.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let output = project
            .command(args)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {err}");
        let reported = "error: standard output cannot be written: No space left on device";
        assert_eq!(err.matches(reported).count(), 1, "{args:?}: {err}");
    }
    // Nobody reads: that is no error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = project.command(&["plan"]);
    let output = command.stdout(writer).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!err.contains("cannot be written"), "{err}");
}
