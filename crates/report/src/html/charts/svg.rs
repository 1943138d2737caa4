//! Writing SVG.

use std::io;

use quick_xml::{
    Writer,
    events::{BytesEnd, BytesStart, BytesText, Event},
};

/// A writer of SVG. Attributes and texts are escaped, and characters that XML does not allow are removed.
pub(super) struct Svg {
    writer: Writer<Vec<u8>>,
}

/// Writing into memory does not fail.
fn never_fails(_: io::Result<()>) {}

impl Svg {
    pub(super) fn new() -> Self {
        Self {
            writer: Writer::new(Vec::new()),
        }
    }

    /// Begins an element that [`Svg::end`] ends.
    pub(super) fn begin(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let start = BytesStart::new(name).with_attributes(attributes.iter().copied());
        never_fails(self.writer.write_event(Event::Start(start)));
    }

    pub(super) fn end(&mut self, name: &str) {
        never_fails(self.writer.write_event(Event::End(BytesEnd::new(name))));
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let start = BytesStart::new(name).with_attributes(attributes.iter().copied());
        never_fails(self.writer.write_event(Event::Empty(start)));
    }

    /// An element that holds a text.
    pub(super) fn text(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.begin(name, attributes);
        let text: String = text.chars().filter(|c| is_xml(*c)).collect();
        never_fails(self.writer.write_event(Event::Text(BytesText::new(&text))));
        self.end(name);
    }

    pub(super) fn finish(self) -> String {
        String::from_utf8_lossy(&self.writer.into_inner()).into_owned()
    }
}

/// Whether XML 1.0 allows a character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// A length without trailing zeros.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" | "" => "0".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_are_text() {
        let mut svg = Svg::new();
        svg.text("title", &[("class", "a\"b<")], "</title><script>\u{1}&amp;");
        assert_eq!(
            svg.finish(),
            "<title class=\"a&quot;b&lt;\">&lt;/title&gt;&lt;script&gt;&amp;amp;</title>"
        );
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!(
            [0.0, -0.001, 33.333_3, 50.0].map(number),
            ["0", "0", "33.33", "50"]
        );
    }
}
