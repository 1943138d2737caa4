//! The time of a line.

use jiff::Timestamp;

/// `2026-11-21T01:52:02.897944+00:00`
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.6f+00:00";
/// The start of a line, up to the text of its time.
const START: &[u8] = b"{\"timestamp\":\"";
/// The text after the fraction of the second.
const END: &[u8] = b"+00:00\"";

/// The start of lines: their time, which never goes back. Most lines have the same second as the previous one, and then only
/// the fraction is rewritten.
pub(crate) struct Clock {
    last: Timestamp,
    /// The second in `text`.
    second: i64,
    text: Vec<u8>,
}

impl Clock {
    /// The position of the microseconds in a text with a year of four digits.
    const FRACTION: usize = START.len() + 20;
    /// The length of a text with a year of four digits.
    const LENGTH: usize = Self::FRACTION + 6 + END.len();

    pub(crate) fn new() -> Self {
        Self {
            last: Timestamp::MIN,
            second: i64::MIN,
            text: Vec::new(),
        }
    }

    /// The start of a line at `time`, up to the quote after the time. A time before that of the last line is replaced by it:
    /// threads that record at the same time may arrive in the other order, and a clock may be set back.
    pub(crate) fn start_of_line(&mut self, time: Timestamp) -> &[u8] {
        self.last = self.last.max(time);
        self.write(self.last);
        &self.text
    }

    fn write(&mut self, time: Timestamp) {
        let second = time.as_second();
        match u32::try_from(time.subsec_nanosecond() / 1000) {
            Ok(mut left) if second == self.second && self.text.len() == Self::LENGTH => {
                let mut digits = [b'0'; 6];
                for digit in digits.iter_mut().rev() {
                    *digit += (left % 10) as u8;
                    left /= 10;
                }
                self.text.truncate(Self::FRACTION);
                self.text.extend_from_slice(&digits);
                self.text.extend_from_slice(END);
            }
            _ => {
                self.second = second;
                let text = time.strftime(TIME_FORMAT).to_string();
                self.text = [START, text.as_bytes(), b"\""].concat();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(time: Timestamp) -> String {
        format!("{{\"timestamp\":\"{}\"", time.strftime(TIME_FORMAT))
    }

    #[test]
    fn every_time_is_written_in_full() {
        let mut clock = Clock::new();
        for time in [
            "2026-11-21T01:52:02.897944Z",
            "2026-11-21T01:52:02.000007Z",
            "2026-11-21T01:52:02.9Z",
            "2026-11-21T01:52:03Z",
            "1969-12-31T23:59:59.25Z",
            "1969-12-31T23:59:59.5Z",
            "-001000-01-01T00:00:00.5Z",
            "-001000-01-01T00:00:00.25Z",
        ] {
            let time: Timestamp = time.parse().unwrap();
            clock.write(time);
            assert_eq!(clock.text, whole(time).as_bytes());
        }
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = Clock::new();
        let times = ["2026-11-21T01:52:02.5Z", "2026-11-21T01:52:02.4Z"];
        let [first, earlier] = times.map(|time| time.parse::<Timestamp>().unwrap());
        assert_eq!(clock.start_of_line(first), whole(first).as_bytes());
        assert_eq!(clock.start_of_line(earlier), whole(first).as_bytes());
    }
}
