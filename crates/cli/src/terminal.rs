//! Output to the terminal. All of it goes through this module, so that messages and progress bars do not mix.

use std::{
    io::{self, IsTerminal, Write, stderr, stdout},
    sync::{Arc, OnceLock},
};

use indicatif::{MultiProgress, ProgressDrawTarget};
use schema::text::spell_bidi;

use crate::cli::{ColorChoice, Global};

/// The prefix of a line of advice in a message. The line gets its own label.
const HELP: &str = "help: ";
/// The indentation of the further lines of a message.
const INDENT: &str = "  ";
const NO_BREAK: &str = "\u{a0}";

/// Standard error and output, and their settings. Clones share the progress bars.
#[derive(Clone, Debug)]
pub struct Terminal {
    bars: MultiProgress,
    style: Arc<Style>,
    /// Why results could not be written.
    unwritten: Arc<OnceLock<String>>,
}

#[derive(Debug)]
struct Style {
    quiet: bool,
    color: bool,
    is_terminal: bool,
}

impl Terminal {
    /// The terminal with the settings of the flags.
    pub fn new(global: &Global) -> Self {
        let is_terminal = stderr().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !no_color && !dumb,
        };
        let drawn = is_terminal && !global.quiet && !dumb;
        let target = if drawn {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let style = Style {
            quiet: global.quiet,
            color,
            is_terminal: drawn,
        };
        Self {
            bars: MultiProgress::with_draw_target(target),
            style: Arc::new(style),
            unwritten: Arc::default(),
        }
    }

    /// The progress bars.
    pub fn bars(&self) -> &MultiProgress {
        &self.bars
    }

    /// Whether progress is drawn as bars; otherwise it is reported in lines.
    pub fn draws(&self) -> bool {
        self.style.is_terminal
    }

    /// Whether standard error has colours.
    pub fn color(&self) -> bool {
        self.style.color
    }

    /// Whether only results and errors are printed.
    pub fn quiet(&self) -> bool {
        self.style.quiet
    }

    /// An error: always shown.
    pub fn error(&self, text: &str) {
        self.labelled("error", "1;31", text);
    }

    /// A warning: always shown.
    pub fn warning(&self, text: &str) {
        self.labelled("warning", "1;33", text);
    }

    /// Several lines about a failure, the first of them coloured like an error: always shown.
    pub fn alert(&self, text: &str) {
        match text.split_once('\n') {
            Some((first, rest)) if self.color() => {
                self.write(format!("\x1b[1;31m{first}\x1b[0m\n{rest}").as_bytes());
            }
            _ => self.write(text.as_bytes()),
        }
    }

    /// A note, which `--quiet` hides.
    pub fn note(&self, text: &str) {
        if !self.quiet() {
            self.labelled("note", "1;36", text);
        }
    }

    /// A line of progress.
    pub fn line(&self, text: &str) {
        if !self.quiet() {
            let options = textwrap::Options::new(self.message_width().max(40))
                .subsequent_indent(INDENT)
                .break_words(false)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            let lines = textwrap::fill(&keep_commands_whole(&spell_bidi(text)), options);
            self.write(format!("{}\n", lines.replace(NO_BREAK, " ")).as_bytes());
        }
    }

    /// Writes to standard error without disturbing the bars.
    pub fn write(&self, bytes: &[u8]) {
        // A closed standard error is not a reason to stop.
        self.beside_bars(|| {
            let _ = stderr().lock().write_all(bytes);
        });
    }

    /// Whether bars can be drawn now. A closed terminal does not count as one.
    pub fn draws_now(&self) -> bool {
        self.draws() && stderr().is_terminal()
    }

    /// Calls `write` without disturbing the bars. The drawing code panics if the terminal is gone, so it is not used then.
    fn beside_bars<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.draws_now() {
            true => self.bars.suspend(write),
            false => write(),
        }
    }

    /// Prints results for people to standard output. Direction marks are written as escapes.
    pub fn print(&self, text: &str) {
        self.print_data(&spell_bidi(text));
    }

    /// Prints results for programs to standard output, unchanged. A failed write is remembered for the end: see
    /// [`unwritten`](Self::unwritten).
    pub fn print_data(&self, text: &str) {
        let written = self.beside_bars(|| {
            let mut out = stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        if let Some(why) = written.err().as_ref().and_then(unwritten) {
            // The first reason is kept.
            let _ = self.unwritten.set(why);
        }
    }

    /// Why results could not be written to standard output; `None` if all were written, or the reader closed the output.
    pub fn unwritten(&self) -> Option<&str> {
        self.unwritten.get().map(String::as_str)
    }

    /// The width for results. Unlimited if standard output is a file or a pipe, so that nothing is cut off.
    pub fn page(&self) -> usize {
        if stdout().is_terminal() {
            self.width()
        } else {
            usize::from(u16::MAX)
        }
    }

    /// The width for wrapped text.
    pub fn width(&self) -> usize {
        match std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok())
        {
            Some(columns) => columns,
            None => terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)),
        }
    }

    /// The width of the terminal on which bars are drawn.
    pub fn columns(&self) -> usize {
        terminal_size::terminal_size_of(stderr()).map_or(80, |(width, _)| usize::from(width.0))
    }

    /// The width at which messages are wrapped. If standard error is a file or a pipe, a message is one line, so that programs
    /// can search it.
    fn message_width(&self) -> usize {
        match stderr().is_terminal() {
            true => self.width(),
            false => usize::from(u16::MAX),
        }
    }

    fn labelled(&self, label: &str, code: &str, text: &str) {
        let text = spell_bidi(text.trim_end());
        let mut message = String::new();
        for (nth, line) in text.lines().enumerate() {
            let (label, line) = match line.strip_prefix(HELP) {
                Some(advice) => (Some(("help", "1;36")), advice),
                // Several problems are listed below one label.
                None => ((nth == 0).then_some((label, code)), line),
            };
            message.push_str(&self.wrapped(label, line));
        }
        self.write(message.as_bytes());
    }

    /// `text` after a coloured label, if it has one, in lines that fit the terminal.
    fn wrapped(&self, label: Option<(&str, &str)>, text: &str) -> String {
        let first = label.map_or(INDENT.to_owned(), |(label, _)| format!("{label}: "));
        let options = textwrap::Options::new(self.message_width().max(40))
            .initial_indent(&first)
            .subsequent_indent(INDENT)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let lines = textwrap::fill(&keep_commands_whole(text), options).replace(NO_BREAK, " ");
        match label {
            Some((label, code)) if self.color() => {
                let rest = lines.strip_prefix(label).unwrap_or(&lines);
                format!("\x1b[{code}m{label}\x1b[0m{rest}\n")
            }
            _ => format!("{lines}\n"),
        }
    }
}

/// Protects spaces inside backticks from line breaks: a command stays on one line, so that it can be copied.
fn keep_commands_whole(text: &str) -> String {
    let parts = text
        .split('`')
        .enumerate()
        .map(|(nth, part)| match nth % 2 {
            0 => part.to_owned(),
            _ => part.replace(' ', NO_BREAK),
        });
    parts.collect::<Vec<_>>().join("`")
}

/// The message about an error of standard output; `None` if the reader, such as `head`, has closed it.
pub fn unwritten(error: &io::Error) -> Option<String> {
    (error.kind() != io::ErrorKind::BrokenPipe)
        .then(|| format!("standard output cannot be written: {error}"))
}
