//! What a person sees while a run is at work: bars on a terminal, lines without one, nothing when quiet.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its project fails"
)]

use crate::common;

use std::{path::Path, time::Duration};

use common::{Project, Ran};
use scripted_llm::ScriptedServer;

/// A name that leaves little room for anything beside it.
const LONG: &str = "whether-an-assistant-flatters-everybody";

/// Runs the command on a terminal of 80 columns. What standard error and output show is in `out`.
fn on_a_terminal(project: &Project, args: &[&str]) -> Ran {
    // `script` takes one command line; the words come by their places, so that nothing has to be quoted.
    let inner = r#"stty cols 80 rows 40; exec "$0" "$@""#;
    let outer = r#"line="exec sh -c '$0'"; for word; do line="$line $word"; done; exec script -qec "$line" /dev/null"#;
    Ran::of(project.launched(&["sh", "-c", outer, inner], args))
}

/// What was drawn, one row of the terminal after the other, without colours and movements of the cursor.
fn rows(out: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = out.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            // An escape sequence ends with its first letter. It may move the cursor: what follows stands elsewhere.
            let end = rest.find(char::is_ascii_alphabetic);
            if end != Some('m') {
                plain.push('\n');
            }
        } else {
            plain.push(if c == '\r' { '\n' } else { c });
        }
    }
    // A bar fills its row with blanks, and the next one follows without a line break.
    let row = |chars: &[char]| chars.iter().collect::<String>();
    let chars = |line: &str| line.chars().collect::<Vec<char>>();
    plain
        .lines()
        .flat_map(|line| chars(line).chunks(80).map(row).collect::<Vec<_>>())
        .collect()
}

async fn slow_server() -> ScriptedServer {
    // Slow enough that every bar is drawn while it moves.
    ScriptedServer::builder()
        .latency(Duration::from_millis(120))
        .start()
        .await
        .unwrap()
}

fn project(server: &ScriptedServer) -> Project {
    let project = Project::new().env("TERM", "xterm");
    project.served_by(server, "");
    let from = project.path("benchmarks/flattery");
    std::fs::rename(from, project.path(&format!("benchmarks/{LONG}"))).unwrap();
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_bars_that_fit() {
    if !Path::new("/usr/bin/script").exists() {
        eprintln!(
            "SKIPPED: /usr/bin/script (util-linux) is missing, so there is no terminal to draw on"
        );
        return;
    }
    let server = slow_server().await;
    let ran = on_a_terminal(&project(&server), &["run", LONG, "--color", "never"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let rows = rows(&ran.out);
    let bars = |phase: &str| {
        let begins = format!("{phase} {LONG}");
        let begins = begins.get(..28).unwrap().to_owned();
        let rows = rows.iter().enumerate();
        rows.filter(move |(_, row)| row.starts_with(&begins))
    };
    for phase in ["simulate", "evaluate"] {
        assert!(bars(phase).any(|(_, bar)| bar.contains('█')), "{rows:#?}");
        // A bar that did not fit would be cut, or would run on in the next row.
        let whole = |bar: &str| match bar.split_once("about ") {
            Some((_, left)) => left.contains(" left"),
            None => bar.chars().count() <= 80,
        };
        assert!(bars(phase).all(|(_, bar)| whole(bar)), "{rows:#?}");
        assert!(
            bars(phase).all(|(_, bar)| !bar.contains("eta")),
            "{rows:#?}"
        );
    }
    // A judge has nothing to do before a conversation has ended.
    let counted = |bar: &str| bar.chars().skip(41).any(|c| c.is_ascii_digit());
    let played = bars("simulate").find(|(_, bar)| counted(bar));
    let judged = bars("evaluate").next();
    assert!(played.unwrap().0 < judged.unwrap().0, "{rows:#?}");
    assert!(
        bars("gen-metrics").any(|(_, bar)| bar.contains(" 1/1")),
        "{rows:#?}"
    );
    assert!(
        rows.iter().any(|row| row.starts_with("careful ")),
        "{rows:#?}"
    );
    assert!(!ran.out.contains("simulate 20/20, done"), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_there_are_plain_lines_and_quiet_says_nothing() {
    let server = slow_server().await;
    let ran = project(&server).run(&["run", LONG]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(['\x1b', '\r', '█']), "{text}");
    }
    assert!(
        ran.err.contains(&format!("{LONG}: simulate ")) && ran.err.contains(", done\n"),
        "{}",
        ran.err
    );
    let quiet = project(&server).run(&["run", LONG, "--quiet"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    let quiet = on_a_terminal(&project(&server), &["run", LONG, "--quiet"]);
    assert!(!quiet.out.contains(['\x1b', '█']), "{}", quiet.out);
}

/// Two targets, of which one refuses connections.
fn half_down(server: &ScriptedServer) -> Project {
    let project = project(server).env("NO_COLOR", "1");
    let config = project.read("config.yaml").replace(
        &format!(
            "{{id: careful, model: scripted-careful, base_url: \"{}\"}}",
            server.base_url()
        ),
        "{id: down, model: m, base_url: \"http://127.0.0.1:9/v1\"}",
    );
    project.write(
        "config.yaml",
        &format!("{config}retries: {{max_attempts: 1}}\n"),
    );
    project
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_stand_beside_the_count_and_at_the_very_end() {
    let server = slow_server().await;
    let ran = half_down(&server).run(&["run", LONG]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let failed = ran.err.find("\n10 rows failed\n").unwrap();
    for earlier in ["note: ", "warning: ", "aggregate, done"] {
        let at = ran.err.rfind(earlier);
        assert!(at.is_none_or(|at| at < failed), "{earlier}: {}", ran.err);
    }
    let last = ran.err.lines().last();
    assert_eq!(
        last,
        Some("some rows are missing; run the same command to retry them")
    );
    if !Path::new("/usr/bin/script").exists() {
        return;
    }
    let ran = on_a_terminal(&half_down(&server), &["run", LONG]);
    let bars = rows(&ran.out);
    let bar = bars
        .iter()
        .find(|row| row.contains('█') && row.contains("failed"));
    assert!(bar.is_some_and(|bar| bar.contains("/20, ")), "{bars:#?}");
    assert!(!ran.out.contains("\x1b[1;31m"), "NO_COLOR: {}", ran.out);
    let coloured = on_a_terminal(&half_down(&server), &["run", LONG, "--color", "always"]);
    assert!(
        coloured.out.contains("\x1b[1;31m10 rows failed\x1b[0m"),
        "{}",
        coloured.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluate_alone_counts_its_rows_and_prints_its_table() {
    let server = ScriptedServer::start().await.unwrap();
    let project = project(&server);
    project.succeeds(&["run", LONG]);
    std::fs::remove_file(project.path(&format!("benchmarks/{LONG}/results.json"))).unwrap();
    let ran = project.succeeds(&["evaluate", LONG]);
    assert!(ran.err.contains("evaluate 20/20, done"), "{}", ran.err);
    // Each rate with its interval, though no file of results is written.
    for target in ["careful ", "agreeable "] {
        let row = ran.out.lines().find(|line| line.starts_with(target));
        assert!(row.is_some_and(|row| row.contains('–')), "{}", ran.out);
    }
    assert!(
        !project
            .path(&format!("benchmarks/{LONG}/results.json"))
            .exists()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn models_without_a_price_are_named_once() {
    let scripted = ScriptedServer::start().await.unwrap();
    let project = project(&scripted);
    project.succeeds(&["run", LONG]);
    let judge = ScriptedServer::builder()
        .answer(|_| {
            scripted_llm::Answer::says(
                r#"{"evidence": [], "justification": "No.", "present": "no"}"#,
            )
        })
        .start()
        .await
        .unwrap();
    let config = project.read("config.yaml");
    let config = config
        .lines()
        .map(|line| match line.starts_with("evaluator_model") {
            true => format!(
                "evaluator_model: {{id: j, model: unpriced-judge, gateway: true, base_url: \"{}\"}}\n",
                judge.base_url()
            ),
            false => format!("{line}\n"),
        });
    project.write("config.yaml", &config.collect::<String>());
    let ran = project.succeeds(&["evaluate", LONG]);
    assert_eq!(ran.err.matches("no price").count(), 1, "{}", ran.err);
    assert!(
        ran.err
            .contains("warning: no price for j, so the cost is unknown; add one under `prices`"),
        "{}",
        ran.err
    );
}

#[test]
fn verbose_shows_more_tables_and_no_logs() {
    let project = Project::new();
    let ran = project.succeeds(&["run", "--verbose"]);
    assert!(!ran.err.contains("INFO"), "{}", ran.err);
    assert!(ran.out.contains("worth"), "{}", ran.out);
    let logged = project.succeeds(&["run", "--verbose", "--log", "info"]);
    assert!(logged.err.contains("INFO"), "{}", logged.err);
}
