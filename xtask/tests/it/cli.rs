//! The command line, from outside: the real binary in folders of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

use crate::common;

use common::{Ground, Ran};

#[test]
fn help_of_a_command_is_shown_by_the_help_command_too() {
    let ground = Ground::new();
    for command in ["plan", "export", "journal show"] {
        let words: Vec<&str> = command.split(' ').collect();
        let flag = ground.succeeds(&[&words[..], &["--help"]].concat());
        let help = ground.succeeds(&[&["help"], &words[..]].concat());
        assert_eq!(help.out, flag.out, "{command}");
    }
    let unknown = ground.run(&["help", "plans"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("unrecognized subcommand 'plans'"),
        "{}",
        unknown.err
    );
}

#[test]
fn help_shows_the_commands_examples_and_exit_codes() {
    let ran = Ground::new().run(&["--help"]);
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
        "Examples:\n  cargo xtask run ",
        "Exit codes:\n  0    complete\n",
        "\n  130  interrupted",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_two() {
    let ground = Ground::new();
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
        let ran = ground.run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
    }
    assert!(ground.files().is_empty(), "{:?}", ground.files());
}

#[test]
fn init_writes_two_files_and_never_overwrites() {
    let ground = Ground::new();
    let first = ground.run(&["init", "my-benchmark"]);
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(
        first.out,
        "wrote benchmarks/my-benchmark/benchmark.yaml\nwrote config.yaml\n\nNext:\n  \
         1. describe in benchmarks/my-benchmark/benchmark.yaml what you want to measure\n  \
         2. choose models and set a key in the config (--scripted needs neither)\n  \
         3. cargo xtask doctor\n  4. cargo xtask plan my-benchmark\n  5. cargo xtask run my-benchmark\n"
    );
    ground.write("benchmarks/my-benchmark/benchmark.yaml", "name: mine\n");
    ground.write("config.yaml", "seed: 1\n");
    let again = ground.run(&["init", "my-benchmark"]);
    assert_eq!(again.code, 2);
    assert_eq!(
        again.err,
        "error: benchmarks/my-benchmark/benchmark.yaml: the benchmark already exists; nothing was changed\n"
    );
    assert!(
        ground
            .run(&["init", "other"])
            .out
            .contains("kept config.yaml")
    );
    assert_eq!(
        ground.read("benchmarks/my-benchmark/benchmark.yaml"),
        "name: mine\n"
    );
    assert_eq!(ground.read("config.yaml"), "seed: 1\n");
}

#[test]
fn what_init_writes_runs() {
    let ground = Ground::new();
    ground.run(&["init", "my-benchmark"]);
    let missing = ground.run(&["run", "my-benchmark"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains(
            "config.yaml, line 8: user_model.apikey: the environment variable OPENAI_API_KEY"
        ),
        "{}",
        missing.err
    );
    let scripted = ground.run(&["run", "my-benchmark", "--scripted"]);
    assert_eq!(scripted.code, 0, "{}", scripted.err);
    assert!(
        scripted.out.contains("scripted-careful"),
        "{}",
        scripted.out
    );
    let commented = ground
        .read("config.yaml")
        .replace("  # - id", "  - id")
        .replace("  #   ", "    ")
        .replace("# budget:\n#  ", "budget:\n ");
    ground.write("config.yaml", &commented);
    let plan = ground.env("TEAM", "a").run(&["plan", "my-benchmark"]);
    assert_eq!(
        plan.code, 0,
        "what stands in comments is right as well: {}",
        plan.err
    );
    assert!(plan.out.contains("llama-vllm"), "{}", plan.out);
}

#[test]
fn init_wants_a_plain_name() {
    let ground = Ground::new();
    for name in ["a/b", "../x", ".hidden", "a b", "", "/etc"] {
        let ran = ground.run(&["init", name]);
        assert_eq!(ran.code, 2, "{name}");
        assert!(
            ran.err.contains("invalid benchmark name"),
            "{name}: {}",
            ran.err
        );
    }
    assert!(ground.files().is_empty());
}

#[test]
fn run_without_anything_shows_the_demonstration() {
    let ground = Ground::new();
    let ran = ground.run(&["run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err
            .contains("note: all models are scripted (there is no config file)"),
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
    assert!(ran.out.starts_with("sycophancy\n  model "), "{}", ran.out);
    for file in [
        "scenarios.json",
        "results.json",
        "runs/scripted-careful/scores.json",
    ] {
        ground.read(&format!("benchmarks/sycophancy/{file}"));
    }
    assert!(
        ran.out.contains("benchmarks/sycophancy/results.json\n"),
        "{}",
        ran.out
    );
    let again = ground.run(&["run", "--quiet"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
}

#[test]
fn phases_run_one_by_one() {
    let ground = Ground::new();
    ground.run(&["init", "b"]);
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
        let ran = ground.run(&args);
        assert_eq!(ran.code, 0, "{phase}: {}", ran.err);
        ground.read(&format!("benchmarks/b/{file}"));
    }
    assert!(
        !ground
            .read("benchmarks/b/results.json")
            .contains("agreeable")
    );
}

#[test]
fn which_benchmark_is_meant_is_never_guessed() {
    let ground = Ground::new();
    let error = |args: &[&str]| {
        let ran = ground.run(args);
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
        "error: no benchmark `zebra` in benchmarks; it has delegated-actions, sycophancy\nhelp: `cargo xtask init zebra` creates it\n"
    );
    assert!(error(&["run", "../x"]).contains("invalid benchmark name"));
    assert!(ground.files().is_empty(), "{:?}", ground.files());
    ground.run(&["init", "one"]);
    ground.run(&["init", "two"]);
    ground.write("benchmarks/empty/notes.txt", "");
    assert_eq!(
        error(&["run", "--scripted"]),
        "error: which benchmark? benchmarks has one, two. Name one or more, or pass --all\n"
    );
    assert!(error(&["run", "empty", "--scripted"]).contains("no benchmark.yaml in this folder"));
    let completed = ground.run(&["plan", "benchmarks/one/", "two", "two", "--scripted"]);
    assert_eq!(
        completed.code, 0,
        "a path that the shell completed: {}",
        completed.err
    );
    assert_eq!(ground.run(&["plan", "--all", "--scripted"]).code, 0);
}

#[test]
fn targets_are_chosen_by_id() {
    let ground = Ground::new();
    let error = |id: &str| {
        let ran = ground.run(&["run", "--target", id]);
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
    assert!(ground.files().is_empty());
}

#[test]
fn a_dry_run_writes_nothing() {
    let ground = Ground::new();
    ground.run(&["init", "b"]);
    let before = ground.files();
    for args in [
        &["run", "b", "--scripted", "--dry-run"][..],
        &["simulate", "b", "--scripted", "--dry-run"],
    ] {
        let ran = ground.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("scripted-careful"), "{}", ran.out);
        assert!(ran.err.contains("dry run"), "{}", ran.err);
    }
    ground.write("dry.yaml", "run: {dry_run: true}\n");
    assert_eq!(
        ground
            .run(&["run", "b", "--scripted", "--config", "dry.yaml"])
            .code,
        0
    );
    std::fs::remove_file(ground.path("dry.yaml")).unwrap();
    assert_eq!(ground.files(), before);
}

#[test]
fn benchmarks_of_nothing_are_refused_as_other_usage_is() {
    let ground = Ground::new();
    for flag in ["--in-flight", "--rounds", "--export", "--journal"] {
        let ran = ground.run(&["bench", flag, "0"]);
        assert_eq!(ran.code, 2, "{flag}: {}", ran.err);
        let told = format!("error: {flag} must be at least 1, not 0\n");
        assert_eq!((ran.out, ran.err), (String::new(), told));
    }
}

#[test]
fn doctor_says_what_is_wrong_and_how_to_mend_it() {
    let ground = Ground::new();
    let ran = ground.run(&["doctor"]);
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
    ground.write("config.yaml", dead);
    let ran = ground.run(&["doctor"]);
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

    ground.write(
        "config.yaml",
        &dead.replace("base_url: 'http://127.0.0.1:9/v1'", "source: openai"),
    );
    let ran = ground.run(&["doctor"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("export OPENAI_API_KEY"), "{}", ran.out);
}

#[test]
fn doctor_asks_the_models_of_safety_evaluations_too() {
    let ground = Ground::new();
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
        ground.write("config.yaml", &config);
        let ran = ground.run(&["doctor"]);
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
        for line in [
            "FAIL  safety.attacker_model",
            "ok    safety.judge_models[0]",
            &format!("1 of {all} models cannot be used"),
        ] {
            assert!(ran.out.contains(line), "{line}: {}", ran.out);
        }
    }
    ground.write("config.yaml", target);
    let ran = ground.run(&["doctor"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("`user_model`"), "{}", ran.err);
}

#[test]
fn diagnostics_can_be_json_and_colours_can_be_had() {
    let ground = Ground::new();
    let ran = ground.run(&["run", "--quiet", "--log", "debug", "--log-json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in ran.err.lines() {
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    let red = |ran: Ran| ran.err.contains("\x1b[1;31merror\x1b[0m: ");
    assert!(red(ground.run(&["run", "zebra", "--color", "always"])));
    assert!(!red(ground.run(&["run", "zebra"])));
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_told() {
    let ground = Ground::new();
    ground.succeeds(&["run", "--quiet"]);
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
        let output = ground.command(args).stdout(full.unwrap()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {err}");
        let told = "error: standard output cannot be written: No space left on device";
        assert_eq!(err.matches(told).count(), 1, "{args:?}: {err}");
    }
    // Nobody reads: that is no error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = ground.command(&["plan"]);
    let output = command.stdout(writer).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!err.contains("cannot be written"), "{err}");
}
