//! Suggestions for misspelled words.

/// Returns the known word nearest to `given`, if it differs only by a typing error.
///
/// The limit on the edit distance is one letter for each three letters of `given`, rounded up, and
/// two at most. The known word must be longer than that limit. `run` is not near `on`.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let distance = |word: &&str| strsim::damerau_levenshtein(&given, &word.to_lowercase());
    let word = known.into_iter().min_by_key(distance)?;
    let most = given.chars().count().div_ceil(3).min(2);
    (distance(&word) <= most && most < word.chars().count()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_near_and_other_short_words_are_not() {
        let known = ["rate", "trace", "queue", "delay", "on", "off"];
        for (given, meant) in [
            ("rat", Some("rate")),
            ("dely", Some("delay")),
            ("qeueu", Some("queue")),
            ("Rate", Some("rate")),
            ("run", None),
            ("a", None),
            ("bandwidth", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given}");
        }
        assert_eq!(nearest("rate", []), None);
    }
}
