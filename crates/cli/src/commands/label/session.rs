//! A labelling session with a person at a terminal, or with lines from a pipe.

use std::io::{self, BufRead, IsTerminal};

use probity::{LabelProgress, LabelRow, Labelling};
use report::{
    corrected_width, label_conversation, label_hidden, label_metric, label_question, label_verdict,
};
use schema::{
    numbers::{grouped, points},
    text::{counted, is_blank},
};

use super::{
    super::Context,
    answer::{Answer, KEYS},
};
use crate::exit::Failure;

/// What labels are for, in a line.
const CORRECTED: &str =
    "labels correct the judge's rate: they show what people would pass of all rows";

/// The widest column that is easy to read.
const WIDEST: usize = 110;

/// Lines that a person types.
pub(super) struct Input<R> {
    lines: R,
    is_terminal: bool,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(lines: R) -> Self {
        Self {
            lines,
            is_terminal: io::stdin().is_terminal(),
        }
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut line = Vec::new();
        let read = self.lines.read_until(b'\n', &mut line);
        read.map_err(|error| {
            Failure::nothing_ran(format!("standard input cannot be read: {error}"))
        })?;
        let text = String::from_utf8_lossy(&line).into_owned();
        Ok((!line.is_empty()).then_some(text))
    }

    /// Checks that there is input: a terminal, or text in the pipe.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let is_empty = !self.is_terminal && self.lines.fill_buf().is_ok_and(<[u8]>::is_empty);
        match is_empty {
            true => Err(Failure::usage(
                "no answers: standard input is at its end, and no terminal\nhelp: run it in a terminal, or import labels that were made \
                 elsewhere: --import FILE.csv",
            )),
            false => Ok(()),
        }
    }

    /// Asks for the labeller's name; `None` if the person leaves.
    pub(super) fn ask_labeller(&mut self, context: &Context) -> Result<Option<String>, Failure> {
        if !self.is_terminal {
            return Err(Failure::usage(
                "nobody is named as the labeller\nhelp: --labeller NAME says who labels: a name or initials, the same each time",
            ));
        }
        let question = "who labels? a name or initials, the same each time (q or nothing leaves): ";
        context.terminal.print(question);
        let Some(name) = self.line()? else {
            context.terminal.print("\n");
            return Ok(None);
        };
        let name = name.trim();
        let leaves = is_blank(name) || Answer::read(name) == Answer::Quit;
        Ok((!leaves).then(|| name.to_owned()))
    }
}

/// A session in which a person labels rows.
pub(super) struct Session<'s, R> {
    pub(super) context: &'s Context,
    pub(super) name: &'s str,
    pub(super) labeller: &'s str,
    pub(super) show_verdicts: bool,
    pub(super) limit: Option<u32>,
    /// The width of the corrected rate's interval at which it ends.
    pub(super) until: Option<f64>,
    pub(super) labelling: &'s mut Labelling,
    pub(super) input: Input<R>,
}

/// The next step of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Show the current row, which may be another one now.
    Row,
    /// Ask again for the same row.
    Ask,
    End,
}

impl<R: BufRead> Session<'_, R> {
    /// Goes through the rows until all are labelled, the limit is reached, the corrected rate is known well enough, or the person quits.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        self.begin();
        let mut answered: u32 = 0;
        loop {
            if self.limit.is_some_and(|limit| answered >= limit) || self.is_narrow() {
                return Ok(());
            }
            let Some(row) = self.labelling.current()?.cloned() else {
                self.end_of_rows();
                return Ok(());
            };
            self.show(&row);
            let mut then = Then::Ask;
            while then == Then::Ask {
                self.print("p/f/u, s, b, h, q > ");
                let Some(line) = self.input.line()? else {
                    self.print("\n");
                    return Ok(());
                };
                then = self.take(&line, &row, &mut answered)?;
            }
            if then == Then::End {
                return Ok(());
            }
        }
    }

    /// Executes the command of a line.
    fn take(&mut self, line: &str, row: &LabelRow, answered: &mut u32) -> Result<Then, Failure> {
        match Answer::read(line) {
            Answer::Label { passed, note } => {
                self.labelling.answer(passed, note)?;
                *answered += 1;
                self.saved(row);
                match self.input.is_terminal {
                    true => self.pause(answered),
                    false => Ok(Then::Row),
                }
            }
            Answer::Skip => {
                self.labelling.skip();
                Ok(Then::Row)
            }
            Answer::Back => self.back(answered, Then::Ask),
            Answer::Hidden => {
                let width = self.width();
                let hidden = label_hidden(&row.conversation, row.system_prompt.as_deref(), width);
                self.print(&hidden);
                Ok(Then::Ask)
            }
            Answer::Quit => Ok(Then::End),
            Answer::Blank | Answer::Unknown => {
                self.print(&format!("{KEYS}\n"));
                Ok(Then::Ask)
            }
        }
    }

    /// Takes the last answer back. Returns `otherwise` if there is none.
    fn back(&mut self, answered: &mut u32, otherwise: Then) -> Result<Then, Failure> {
        match self.labelling.undo()? {
            true => {
                *answered = answered.saturating_sub(1);
                self.print("taken back\n");
                Ok(Then::Row)
            }
            false => {
                self.print("there is nothing to take back\n");
                Ok(otherwise)
            }
        }
    }

    /// Leaves the judge's verdict on the screen until the person goes on.
    fn pause(&mut self, answered: &mut u32) -> Result<Then, Failure> {
        self.print("enter goes on, b takes the answer back, q ends > ");
        let Some(line) = self.input.line()? else {
            return Ok(Then::End);
        };
        match Answer::read(&line) {
            Answer::Back => self.back(answered, Then::Row),
            Answer::Quit => Ok(Then::End),
            _ => Ok(Then::Row),
        }
    }

    fn begin(&self) {
        let progress = self.labelling.progress();
        let text = format!(
            "{}: {} labels {} of {}: {} done",
            self.name,
            self.labeller,
            counted(progress.rows as u64, "row", "rows"),
            self.labelling.target(),
            grouped(progress.labelled as u64),
        );
        let text = textwrap::fill(&text, self.width());
        let corrected = textwrap::fill(CORRECTED, self.width());
        let width = self.interval(&progress);
        self.print(&format!("{text}\n{corrected}\n{width}\n{KEYS}\n"));
    }

    fn show(&self, row: &LabelRow) {
        let width = self.width();
        let mut text = format!("\n{}\n", "-".repeat(width.min(60)));
        text.push_str(&label_metric(&row.metric, width));
        text.push('\n');
        text.push_str(&label_conversation(&row.conversation, width));
        text.push('\n');
        if self.show_verdicts {
            text.push_str(&label_verdict(&row.metric, &row.score, width));
        }
        text.push_str(&label_question(&row.metric, width));
        self.print(&text);
    }

    /// Shows the judge's verdict after an answer, and the progress.
    fn saved(&self, row: &LabelRow) {
        let progress = self.labelling.progress();
        let mut text = match self.show_verdicts {
            true => String::new(),
            false => label_verdict(&row.metric, &row.score, self.width()),
        };
        let width = self.interval(&progress);
        text.push_str(&format!(
            "saved: {} of {} done\n{width}\n",
            grouped(progress.labelled as u64),
            grouped(progress.rows as u64)
        ));
        self.print(&text);
    }

    /// How wide the interval of the corrected rate is so far.
    fn interval(&self, progress: &LabelProgress) -> String {
        let text = corrected_width(progress.corrected_width(), progress.judge_width);
        textwrap::fill(&text, self.width())
    }

    /// Whether the corrected rate is known well enough, which is said.
    fn is_narrow(&self) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        let progress = self.labelling.progress();
        let is_narrow = progress.is_narrow(until);
        if is_narrow {
            let corrected = &progress.corrected;
            let labels = corrected.labels_passed + corrected.labels_failed;
            let text = format!(
                "narrow enough after {}: {}, and {} were asked for",
                counted(labels, "labelled row", "labelled rows"),
                corrected_width(progress.corrected_width(), progress.judge_width),
                points(until)
            );
            self.print(&format!("{}\n", textwrap::fill(&text, self.width())));
        }
        is_narrow
    }

    fn end_of_rows(&self) {
        let progress = self.labelling.progress();
        let text = match progress.rows - progress.labelled {
            0 => format!("all rows are labelled by {}\n", self.labeller),
            left => format!(
                "no more rows now: {} skipped, or without a conversation to read\n",
                counted(left as u64, "row is", "rows are")
            ),
        };
        self.print(&text);
    }

    fn width(&self) -> usize {
        self.context.terminal.page().clamp(20, WIDEST)
    }

    fn print(&self, text: &str) {
        self.context.terminal.print(text);
    }
}
