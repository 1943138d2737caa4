//! The binary at a pseudo-terminal, as a person sees it.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use nix::pty::{Winsize, openpty};

use super::Project;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command at a terminal of its own, which edits lines, shows what is typed, and turns Ctrl-C into a signal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    /// All that was shown, without colours.
    screen: String,
    /// How much of it was waited for.
    seen: usize,
}

impl Terminal {
    /// Starts the command at a terminal of so many columns.
    pub fn start(project: &Project, args: &[&str], columns: u16) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).unwrap();
        let mut command = project.launched(&["setsid", "--ctty"], args);
        command
            .env("NO_COLOR", "1")
            .stdin(Stdio::from(pair.slave.try_clone().unwrap()))
            .stdout(Stdio::from(pair.slave.try_clone().unwrap()))
            .stderr(Stdio::from(pair.slave));
        let child = command.spawn().unwrap();
        // It holds the other side of the terminal, whose end would never come.
        drop(command);
        let keyboard = File::from(pair.master);
        let mut shown = keyboard.try_clone().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At the end of the last program at the terminal, reading fails.
            while let Ok(read @ 1..) = shown.read(&mut bytes) {
                if sender
                    .send(bytes.iter().copied().take(read).collect())
                    .is_err()
                {
                    return;
                }
            }
        });
        Self {
            child,
            keyboard,
            output,
            screen: String::new(),
            seen: 0,
        }
    }

    /// Waits until `text` is shown after what was waited for before.
    pub fn wait(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let new = self.screen.get(self.seen..).unwrap_or_default();
            if let Some(at) = new.find(text) {
                self.seen += at + text.len();
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.show(&bytes),
                Err(_) => panic!("{text:?} was not shown:\n{}", self.screen),
            }
        }
    }

    /// Types keys: `\n` is enter, `\u{3}` Ctrl-C, `\u{4}` Ctrl-D.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns how the command ended, and all that was shown.
    pub fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.show(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on:\n{}", self.screen),
            }
        }
        (self.child.wait().unwrap(), self.screen)
    }

    fn show(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace('\r', "");
        self.screen.push_str(&text);
    }
}
