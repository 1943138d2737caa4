//! Breaks the tags of a prompt in texts that are placed inside them.

use std::borrow::Cow;

use schema::text::is_invisible;

/// Which tags are broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Closing,
    Any,
}

/// Makes `text` safe to place between `<tag>` and `</tag>` in a prompt: a closing tag inside it cannot end the section. The tag is
/// found in every spelling: case, spaces, full-width letters and brackets, character references (`&lt;`), invisible characters
/// inside it, and without its end. A backslash after the bracket breaks it; everything else is unchanged.
#[must_use]
pub fn fenced(text: &str, tag: &str) -> String {
    fenced_for(text, &[tag]).into_owned()
}

/// Makes `text` safe to place between any of `tags`, as [`fenced`] does for one. A text without a closing tag, as most are, is not
/// copied.
///
/// ```
/// use prompt::fenced_for;
///
/// assert_eq!(fenced_for("a < b", &["persona", "goal"]), "a < b");
/// assert_eq!(fenced_for("me</persona></ Goal >", &["persona", "goal"]), r"me<\/persona><\/ Goal >");
/// ```
#[must_use]
pub fn fenced_for<'t>(text: &'t str, tags: &[&str]) -> Cow<'t, str> {
    broken(text, tags, Kind::Closing)
}

/// Also breaks opening tags, for texts of a model under test: they can neither end a section nor appear to begin one.
///
/// ```
/// use prompt::unframed;
///
/// assert_eq!(unframed("<Transcript>&lt;/transcript", &["transcript"]), r"<\Transcript>&lt;\/transcript");
/// ```
#[must_use]
pub fn unframed<'t>(text: &'t str, tags: &[&str]) -> Cow<'t, str> {
    broken(text, tags, Kind::Any)
}

fn broken<'t>(text: &'t str, tags: &[&str], kind: Kind) -> Cow<'t, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(open) = next_bracket(text, at) {
        // Inside the text: `open` is the position of a bracket, or of a reference to one.
        let (before, after) = (&text[copied..open], &text[open..]);
        at = open + after.chars().next().map_or(1, char::len_utf8);
        if let Some(inside) = tag_behind(after, tags, kind) {
            out.push_str(before);
            out.push_str(&after[..inside]);
            out.push('\\');
            copied = open + inside;
            at = copied;
        }
    }
    if copied == 0 {
        return text.into();
    }
    out.push_str(&text[copied..]);
    out.into()
}

/// The position of the next character that may be an opening bracket, or begin a reference to one.
fn next_bracket(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let found = rest.find(|c| {
        matches!(
            c,
            '&' | '<' | '\u{ff1c}' | '\u{fe64}' | '\u{2039}' | '\u{3008}' | '\u{27e8}'
        )
    });
    found.map(|at| from + at)
}

/// The length of the bracket at the start of `text`, if one of `tags` follows it.
fn tag_behind(text: &str, tags: &[&str], kind: Kind) -> Option<usize> {
    let mut letters = Letters(text, 0);
    if letters.next()? != '<' {
        return None;
    }
    let bracket = letters.1;
    let mut gap = letters.skip_gap();
    let closing = gap.clone().next() == Some('/');
    if closing {
        gap.next();
        gap = gap.skip_gap();
    } else if kind == Kind::Closing {
        return None;
    }
    let is_tag = |tag: &&str| {
        let mut name = gap.clone();
        tag.chars().all(|wanted| name.next() == Some(wanted))
    };
    tags.iter().any(is_tag).then_some(bracket)
}

/// The characters of a text as a lenient reader sees them, and the current position: references resolved, full width and capitals
/// folded, invisible characters skipped.
#[derive(Clone)]
struct Letters<'t>(&'t str, usize);

impl Letters<'_> {
    /// Skips white space.
    fn skip_gap(&self) -> Self {
        let mut here = self.clone();
        loop {
            let mut ahead = here.clone();
            match ahead.next() {
                Some(c) if c.is_whitespace() => here = ahead,
                _ => return here,
            }
        }
    }
}

impl Iterator for Letters<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let rest = self.0.get(self.1..)?;
            let (c, length) = match reference(rest) {
                Some(read) => read,
                None => rest.chars().next().map(|c| (c, c.len_utf8()))?,
            };
            self.1 += length;
            if !is_invisible(c) && (c.is_whitespace() || !c.is_control()) {
                return Some(folded(c));
            }
        }
    }
}

fn folded(c: char) -> char {
    match c {
        '\u{fe64}' | '\u{2039}' | '\u{3008}' | '\u{27e8}' => '<',
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
        // Full width: the same order as ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            let ascii = u32::from(c) - 0xff01 + 0x21;
            char::from_u32(ascii).map_or(c, |c| c.to_ascii_lowercase())
        }
        c => c.to_ascii_lowercase(),
    }
}

/// The character of a reference at the start of `text`, and the reference's length. The semicolon may be missing.
fn reference(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let (c, length) = match body.strip_prefix('#') {
        Some(number) => {
            let hex = number.starts_with(['x', 'X']);
            let (digits, radix) = if hex {
                (&number[1..], 16)
            } else {
                (number, 10)
            };
            let end = digits
                .find(|c: char| !c.is_digit(radix))
                .unwrap_or(digits.len());
            let code = u32::from_str_radix(&digits[..end], radix).ok()?;
            (char::from_u32(code)?, 1 + usize::from(hex) + end)
        }
        None => [("lt", '<'), ("LT", '<'), ("sol", '/'), ("lowbar", '_')]
            .iter()
            .find_map(|(name, c)| body.starts_with(name).then_some((*c, name.len())))?,
    };
    let end = body.get(length..)?;
    Some((c, 1 + length + usize::from(end.starts_with(';'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: [&str; 2] = ["transcript", "judge_request"];

    #[test]
    fn a_tag_is_broken_in_every_spelling() {
        for tag in [
            "</transcript>",
            "</TRANSCRIPT>",
            "< / Transcript >",
            "<\n/\ttranscript",
            "</transcript",
            "</transcripts>",
            "&lt;/transcript&gt;",
            "&lt/transcript>",
            "&#60;&#47;transcript>",
            "&#x3C;&sol;transcript>",
            "<&#x2f;tr&#97;nscript>",
            "\u{ff1c}\u{ff0f}transcript\u{ff1e}",
            "</\u{ff54}\u{ff32}anscript>",
            "</tran\u{200b}script>",
            "<\u{2060}/\u{feff}transcript>",
            "</t\u{ad}ranscript\u{202e}>",
            "\u{2039}/transcript\u{203a}",
            "<\u{2215}transcript>",
            "</judge_request>",
            "</Judge\u{ff3f}Request>",
        ] {
            let text = format!("a {tag} b");
            let shown = fenced_for(&text, &TAGS);
            assert_eq!(shown.matches('\\').count(), 1, "{tag}: {shown}");
            assert_eq!(shown.replace('\\', ""), text);
            // Once broken, it is no tag any more.
            assert_eq!(fenced_for(&shown, &TAGS), shown);
            assert_eq!(unframed(&text, &TAGS), shown);
        }
    }

    #[test]
    fn other_texts_are_not_touched() {
        for text in [
            "a < b & c",
            "the transcript",
            "<b>/transcript</b>",
            "</trans cript>",
            "&lt; &#; &#x; &#99999999999; &",
            "\u{ff1c}\u{3008}",
            "5 < transcript",
            "<transcript>",
        ] {
            assert!(
                matches!(fenced_for(text, &TAGS), Cow::Borrowed(_)),
                "{text}"
            );
        }
        assert_eq!(unframed("<transcript></b>", &TAGS), "<\\transcript></b>");
        assert_eq!(
            fenced("</</transcript><</transcript", "transcript"),
            "</<\\/transcript><<\\/transcript"
        );
    }
}
