//! The browser of the user, started with `--open` only.

use std::process::{Command, Stdio};

use crate::terminal::Terminal;

/// Opens `address`. If no browser can be started, prints a note.
pub(super) fn open(address: &str, terminal: Terminal) {
    let mut command = opener(address);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    let note = move |why: &str| {
        terminal.note(&format!(
            "no browser was opened ({program}: {why}); open the address above"
        ));
    };
    match command.spawn() {
        Err(error) => note(&error.to_string()),
        // Some openers end when the browser does.
        Ok(mut child) => drop(std::thread::spawn(move || match child.wait() {
            Ok(status) if !status.success() => note(&status.to_string()),
            _ => {}
        })),
    }
}

fn opener(address: &str) -> Command {
    let program: &[&str] = if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["rundll32", "url.dll,FileProtocolHandler"]
    } else {
        &["xdg-open"]
    };
    let mut command = Command::new(program.first().unwrap_or(&""));
    command.args(program.iter().skip(1)).arg(address);
    command
}
