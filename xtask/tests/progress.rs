//! What a person sees while a run is at work: bars on a terminal, lines without one, nothing when quiet.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its ground fails"
)]

mod common;

use std::{path::Path, time::Duration};

use common::{Ground, Ran};
use scripted_llm::ScriptedServer;

/// A name that leaves little room for anything beside it.
const LONG: &str = "whether-an-assistant-flatters-everybody";

/// Runs the command on a terminal of 80 columns. What standard error and output show is in `out`.
fn on_a_terminal(ground: &Ground, args: &[&str]) -> Ran {
    // `script` takes one command line; the words come by their places, so that nothing has to be quoted.
    let inner = r#"stty cols 80 rows 40; exec "$0" "$@""#;
    let outer = r#"line="exec sh -c '$0'"; for word; do line="$line $word"; done; exec script -qec "$line" /dev/null"#;
    Ran::of(ground.launched(&["sh", "-c", outer, inner], args))
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

fn ground(server: &ScriptedServer) -> Ground {
    let ground = Ground::new().env("TERM", "xterm");
    ground.served_by(server, "");
    let from = ground.path("benchmarks/flattery");
    std::fs::rename(from, ground.path(&format!("benchmarks/{LONG}"))).unwrap();
    ground
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
    let ran = on_a_terminal(&ground(&server), &["run", LONG, "--color", "never"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let rows = rows(&ran.out);
    for phase in ["simulate", "evaluate"] {
        let begins = format!("{phase} {LONG}");
        let bars = rows.iter().filter(|row| row.starts_with(&begins[..28]));
        assert!(
            bars.clone().any(|bar| bar.contains('█')),
            "{phase}: {rows:#?}"
        );
        // A bar that did not fit would be cut, or would run on in the next row.
        let whole = |bar: &String| match bar.split_once("/s eta ") {
            Some((_, eta)) => eta.starts_with(|c: char| c.is_ascii_digit()),
            None => !bar.contains("/"),
        };
        assert!(bars.clone().all(whole), "{phase}: {rows:#?}");
    }
    assert!(
        rows.iter().any(|row| row.starts_with("  careful")),
        "{rows:#?}"
    );
    assert!(!ran.out.contains("simulate 16/16, done"), "{}", ran.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_there_are_plain_lines_and_quiet_says_nothing() {
    let server = slow_server().await;
    let ran = ground(&server).run(&["run", LONG]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(['\x1b', '\r', '█']), "{text}");
    }
    assert!(
        ran.err.contains(&format!("{LONG}: simulate ")) && ran.err.contains(", done\n"),
        "{}",
        ran.err
    );
    let quiet = ground(&server).run(&["run", LONG, "--quiet"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    let quiet = on_a_terminal(&ground(&server), &["run", LONG, "--quiet"]);
    assert!(!quiet.out.contains(['\x1b', '█']), "{}", quiet.out);
}
