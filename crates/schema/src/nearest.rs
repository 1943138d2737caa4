//! Finds the known word that a misspelled one probably means.

/// Returns the known word that `word` is a likely misspelling of, `None` if there is none. Case, `-`, `_` and blanks are ignored.
///
/// A misspelling may differ by a third of the known word's characters, and by three at most: inserted, deleted and replaced characters
/// and swapped neighbours count as one each (Damerau-Levenshtein distance). If several words are equally near, the first is returned.
///
/// ```
/// use schema::nearest;
///
/// assert_eq!(nearest("rnu", ["run", "plan"]), Some("run"));
/// assert_eq!(nearest("Gen_Metrics", ["gen-metrics", "gen-scenarios"]), Some("gen-metrics"));
/// assert_eq!(nearest("weather", ["run", "plan"]), None);
/// ```
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = squeezed(word);
    known
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&typed, &squeezed(candidate));
            (distance, candidate)
        })
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().min(9) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A name in lower case with `_` for `-` and blanks, which people mix up.
#[must_use]
pub fn squeezed(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', ' '], "_")
}

/// `; did you mean X?`, or the known words if none is near. Empty if there are no known words.
///
/// ```
/// use schema::nearest::hint;
///
/// assert_eq!(hint("promt", &["prompt"], "known keys"), "; did you mean `prompt`?");
/// assert_eq!(hint("x", &["prompt", "id"], "known keys"), "; known keys: prompt, id");
/// ```
#[must_use]
pub fn hint(word: &str, known: &[&str], list: &str) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; {list}: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["prompt", "intent", "self-harm-risk"];
        assert_eq!(nearest("promt", known), Some("prompt"));
        assert_eq!(nearest("Self_Harm_Risk", known), Some("self-harm-risk"));
        assert_eq!(nearest("weather", known), None);
        let keys = ["concurrency", "force", "turns", "id"];
        assert_eq!(nearest("concurency", keys), Some("concurrency"));
        assert_eq!(nearest("turn", keys), Some("turns"));
        assert_eq!(nearest("x", keys), None);
    }
}
