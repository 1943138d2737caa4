//! Estimates of the width of a text in a drawing, without a browser.

use unicode_width::UnicodeWidthChar;

use crate::text::shorten;

/// The factor by which bold letters are wider.
pub(super) const BOLD: f64 = 1.1;

/// The width of `text` in units of the font size. The widths are from DejaVu Sans, which is wider than most fonts.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().map(letter_width).sum()
}

fn letter_width(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.3,
        ' ' | '.' | ',' | ':' | ';' | '!' | '-' | 'f' | 'r' | 't' | '(' | ')' | '/' => 0.4,
        'm' | 'M' | 'w' | 'W' | '%' | '@' => 1.0,
        'A'..='Z' => 0.75,
        _ => match letter.width() {
            None | Some(0) => 0.0,
            Some(1) => 0.64,
            Some(_) => 1.0,
        },
    }
}

/// `text` in a width of at most `room`. The middle of a longer text is replaced by `…`.
pub(super) fn fit(text: &str, room: f64) -> String {
    // No letter with a width is narrower than 0.3, so no more columns than this can fit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few hundred at most"
    )]
    let most = (room / 0.3).clamp(0.0, 1_000.0) as usize;
    let shortened = (0..=most).rev().map(|columns| shorten(text, columns));
    let mut fitting = shortened.filter(|shortened| text_width(shortened) <= room);
    fitting.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_only_where_it_has_no_room() {
        let name = "a-model-with-a-rather-long-name";
        assert_eq!(fit(name, text_width(name)), name);
        let cut = fit(name, 10.0);
        assert!(
            cut.starts_with("a-mod") && cut.contains('…') && cut.ends_with("name"),
            "{cut}"
        );
        for name in ["模型".repeat(40), "W".repeat(80), "i".repeat(80)] {
            let cut = fit(&name, 20.0);
            assert!(text_width(&cut) <= 20.0 && text_width(&cut) > 18.0, "{cut}");
        }
        assert_eq!(fit("text", 0.0), "");
    }
}
