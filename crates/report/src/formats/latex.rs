//! A table for LaTeX with the package `booktabs`, and `longtable` for long tables.

use std::fmt::Write as _;

use interop::sheet::{Cell, Column, ColumnKind, Line, Sheet, Value};
use schema::numbers;

use crate::text::clean;

/// A table of more lines than this may break across pages.
const PAGE: usize = 20;

pub(super) fn table(sheet: &Sheet) -> String {
    let columns: Vec<&Column> = sheet
        .columns
        .iter()
        .filter(|column| !column.is_chart())
        .collect();
    let names: Vec<String> = columns.iter().map(|column| escaped(&column.name)).collect();
    let head = format!(
        "    \\toprule\n    {} \\\\\n    \\midrule\n",
        names.join(" & ")
    );
    let caption = format!(
        "\\caption{{{}}}\n  \\label{{tab:{}}}",
        escaped(&sheet.title),
        label(&sheet.id)
    );
    let frame = match sheet.lines.len() > PAGE {
        true => Frame::Long,
        false => Frame::Float,
    };
    let body = body(sheet, columns.len());
    let mut text = preamble(frame, &body);
    frame.begin(&mut text, &caption, &places(&columns), &head);
    text.push_str(&body);
    frame.end(&mut text, &sheet.notes);
    text
}

/// The LaTeX environment of a table.
#[derive(Clone, Copy)]
enum Frame {
    Float,
    /// Breaks at the end of a page.
    Long,
}

impl Frame {
    fn begin(self, text: &mut String, caption: &str, places: &str, head: &str) {
        // Writing to a String does not fail.
        let _ = match self {
            Self::Float => write!(
                text,
                "\\begin{{table}}\n  \\centering\\small\\setlength{{\\tabcolsep}}{{4pt}}\n  {caption}\n  \\begin{{tabular}}{{{places}}}\n{head}"
            ),
            Self::Long => write!(
                text,
                "\\begingroup\\small\\setlength{{\\tabcolsep}}{{4pt}}\n  \\begin{{longtable}}{{{places}}}\n  {caption} \\\\\n{head}    \\endfirsthead\n{head}    \\endhead\n    \\bottomrule\n    \\endfoot\n"
            ),
        };
    }

    fn end(self, text: &mut String, notes: &[String]) {
        let (table, around) = match self {
            Self::Float => ("    \\bottomrule\n  \\end{tabular}\n", "\\end{table}\n"),
            Self::Long => ("  \\end{longtable}\n", "\\endgroup\n"),
        };
        text.push_str(table);
        if !notes.is_empty() {
            text.push_str("  \\par\\smallskip\\noindent\n  \\parbox{\\linewidth}{\\footnotesize\n");
            for note in notes {
                let _ = writeln!(text, "    {}\\par", escaped(note));
            }
            text.push_str("  }\n");
        }
        text.push_str(around);
    }
}

/// Comments that name the packages and fonts that a document needs for the table.
fn preamble(frame: Frame, body: &str) -> String {
    let mut text = String::from("% \\usepackage{booktabs}\n");
    if matches!(frame, Frame::Long) {
        text.push_str("% \\usepackage{longtable}\n");
    }
    if !body.chars().all(is_common) {
        text.push_str("% Names have letters that pdfLaTeX has no font for: use LuaLaTeX or XeLaTeX, with a font that has them.\n");
    }
    text
}

/// Whether a character is a Latin letter or a sign that LaTeX's fonts have.
fn is_common(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{17f}' | '–' | '—' | '‘' | '’' | '“' | '”' | '…' | '€')
}

/// The columns: names on the left, numbers on the right.
fn places(columns: &[&Column]) -> String {
    let place = |column: &&Column| match column.kind {
        ColumnKind::Number => 'r',
        _ => 'l',
    };
    columns.iter().map(place).collect()
}

fn body(sheet: &Sheet, width: usize) -> String {
    let mut text = String::new();
    for line in &sheet.lines {
        match line {
            Line::Group(head) => {
                let name = escaped(&head.text());
                let _ = writeln!(
                    text,
                    "    \\multicolumn{{{width}}}{{l}}{{\\emph{{{name}}}}} \\\\"
                );
            }
            Line::Row(cells) => {
                let cells: Vec<(&Column, &Cell)> = sheet
                    .columns
                    .iter()
                    .zip(cells)
                    .filter(|(column, _)| !column.is_chart())
                    .collect();
                row(&mut text, &cells);
            }
        }
    }
    text
}

/// A row, and a second line with the intervals below the rates.
fn row(text: &mut String, cells: &[(&Column, &Cell)]) {
    let (line, below): (Vec<String>, Vec<String>) = cells
        .iter()
        .map(|(column, cell)| match (&cell.value, column.kind) {
            (Value::Rate(share, Some(ends)), _) => {
                let below = number(&numbers::compact_interval(*ends));
                let rate = number(&numbers::percent(*share));
                (rate, format!("{{\\scriptsize {below}}}"))
            }
            (_, ColumnKind::Number) => (number(&cell.text()), String::new()),
            _ => (name(&cell.text()), String::new()),
        })
        .unzip();
    if below.iter().all(String::is_empty) {
        let _ = writeln!(text, "    {} \\\\", line.join(" & "));
        return;
    }
    // The star keeps both lines on one page.
    let _ = writeln!(text, "    {} \\\\*", line.join(" & "));
    let _ = writeln!(text, "    {} \\\\[2pt]", below.join(" & "));
}

/// A name; a long name takes several lines.
fn name(text: &str) -> String {
    let escaped = escaped(text);
    match crate::text::width(text) > NAME {
        true => format!(
            "\\parbox[t]{{11em}}{{\\raggedright {}\\strut}}",
            breakable(&escaped)
        ),
        false => escaped,
    }
}

/// Allows line breaks after the signs that join the words of a name. After `-`, LaTeX allows them anyway.
fn breakable(escaped: &str) -> String {
    ["\\_", "/", ":", "."]
        .iter()
        .fold(escaped.to_owned(), |text, sign| {
            text.replace(sign, &format!("{sign}\\allowbreak{{}}"))
        })
}

/// The longest name on one line, in columns.
const NAME: usize = 24;

/// A number, or the two ends of an interval, with LaTeX's own dash and minus sign.
fn number(text: &str) -> String {
    escaped(text).replace('–', "--").replace('−', "$-$")
}

/// The id with only the characters that a label may hold.
fn label(id: &str) -> String {
    let letters = id.chars();
    letters
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}
/// Text on one line, escaped so that LaTeX reads no command in it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let text = clean(text);
    // After `\\`, these characters would be read as its arguments.
    if text.starts_with(['[', '*']) {
        escaped.push_str("{}");
    }
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => escaped.extend(['\\', letter]),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            // LaTeX joins two of these into one sign.
            '-' | '`' | '\'' | ',' | '?' | '!'
                if before == letter || before == '?' || before == '!' =>
            {
                escaped.push_str("{}");
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
        before = letter;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_commands() {
        for (text, expected) in [
            ("gpt_4 & 50% #1", "gpt\\_4 \\& 50\\% \\#1"),
            (
                "\\input{/etc/passwd}",
                "\\textbackslash{}input\\{/etc/passwd\\}",
            ),
            (
                "$x^2$ ~ <a>|",
                "\\$x\\textasciicircum{}2\\$ \\textasciitilde{} \\textless{}a\\textgreater{}\\textbar{}",
            ),
            ("a--b ``c''", "a-{}-b `{}`c'{}'"),
            ("two\nlines", "two lines"),
            ("[1cm]", "{}[1cm]"),
            ("*x", "{}*x"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn long_names_break_and_odd_letters_are_said() {
        let long = name("a-vendor/an-instruction-tuned-model_70b");
        assert!(long.starts_with("\\parbox[t]{11em}"), "{long}");
        assert!(
            long.contains("/\\allowbreak{}an") && long.contains("model\\_\\allowbreak{}70b"),
            "{long}"
        );
        assert!(!preamble(Frame::Float, "Müller – “x”").contains("LuaLaTeX"));
        assert!(preamble(Frame::Long, "模型").contains("LuaLaTeX"));
    }

    #[test]
    fn intervals_have_a_dash_and_negative_numbers_a_minus() {
        assert_eq!(number("9–99"), "9--99");
        assert_eq!(number("−9 to 3"), "$-$9 to 3");
        assert_eq!(number("-"), "-");
        assert_eq!(number("<0.1%"), "\\textless{}0.1\\%");
    }
}
