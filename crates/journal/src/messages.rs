//! The types of events that there are.

/// The type of every event that Probity writes or wrote in earlier versions, calibrations and safety evaluations included;
/// `docs/journal.md` documents each. A journal has those that happened in its run, and one of another program or of a later version may have others.
///
/// ```
/// assert!(journal::MESSAGES.contains(&"retrying call"));
/// ```
pub const MESSAGES: &[&str] = &[
    "starting journal",
    "resuming run",
    "starting run",
    "hazard info",
    "test info",
    "running pipeline",
    "queuing item",
    "translated user response",
    "translated sut turn",
    "translated sut response",
    "tool answered",
    "conversation finished",
    "translated annotation",
    "judge abstained",
    "judge scored",
    "merged annotation",
    "annotation exception",
    "score finished",
    "measured item quality",
    "item finished",
    "item failed",
    "case failed",
    "fetched sut turn",
    "using cached sut turn",
    "fetched sut response",
    "using cached sut response",
    "sut exception",
    "fetched annotator turn",
    "using cached annotator turn",
    "fetched annotator response",
    "using cached annotator response",
    "annotator exception",
    "fetched user response",
    "using cached user response",
    "user exception",
    "fetched tool response",
    "using cached tool response",
    "tool exception",
    "fetched generator response",
    "using cached generator response",
    "generator exception",
    "fetched probe response",
    "probe exception",
    "call not made",
    "retrying call",
    "model call failed",
    "request form changed",
    "limiter changed",
    "circuit breaker opened",
    "circuit breaker closed",
    "budget reached",
    "using test items",
    "finished pipeline",
    "test scored",
    "hazard scored",
    "benchmark scored",
    "cost summed",
    "kept results",
    "finished run",
    "exception stopping run",
    "cache info",
    "closing journal",
    "starting calibration run",
    "hazard calibrated",
    "benchmark calibrated",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/journal.md");
        let text = std::fs::read_to_string(path).unwrap();
        for message in MESSAGES {
            assert!(text.contains(message), "{message} is not in {path}");
        }
        let mut told: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("{\"message\":\"")?.split('"').next())
            .collect();
        // A heading of its own, or a row of the table of calls.
        told.extend(text.lines().filter_map(|line| line.strip_prefix("### ")));
        let calls = text.lines().filter(|line| line.starts_with("| `"));
        let calls = calls.filter_map(|line| line.split('|').nth(1));
        let calls =
            calls.flat_map(|cell| cell.split(", ").map(|name| name.trim().trim_matches('`')));
        told.extend(
            calls.filter(|name| name.ends_with(" response") || name.ends_with(" exception")),
        );
        for message in told {
            let sort = message.contains(' ') && message != "Judging alone";
            assert!(
                !sort || MESSAGES.contains(&message),
                "{message} is not in the list"
            );
        }
    }
}
