//! Comparison of a command's output with the one in the page.
//!
//! `[..]` stands for any characters of a line and `...` for any lines, as in trycmd. In a block
//! with the word `varies`, numbers with their units, the widths of columns and the causes of losses
//! may differ. The seconds of the host that virtual time took may always differ.

use snapbox::IntoData as _;
use snapbox::Redactions;
use snapbox::filter::NormalizeToExpected;

/// Returns the output with the wildcards of `expected` where they match; equal to `expected` if the
/// whole output matches.
pub fn normalized(actual: &str, expected: &str, varies: bool) -> String {
    let actual = &with_host_seconds_of(expected, actual);
    if varies && matched(&masked(actual), &masked(expected)) == masked(expected) {
        return expected.to_owned();
    }
    matched(actual, expected)
}

/// Words between virtual time and the seconds of this host that it took: of a link, of a campaign.
const TOOK: [&str; 2] = [" s of virtual time in ", " of virtual time took "];

/// Replaces the seconds that virtual time took on this host by those in the page.
fn with_host_seconds_of(expected: &str, actual: &str) -> String {
    let passed = |line: &str| TOOK.iter().find_map(|words| Some(line.split_once(words)?.0.to_owned()));
    let line = |line: &str| {
        let same = passed(line).and_then(|passed_here| {
            expected.lines().find(|line| passed(line).as_ref() == Some(&passed_here))
        });
        format!("{}\n", same.unwrap_or(line))
    };
    actual.lines().map(line).collect()
}

fn matched(actual: &str, expected: &str) -> String {
    let redactions = Redactions::new();
    let expected = expected.to_owned().into_data();
    let filter = NormalizeToExpected::new().redact_with(&redactions);
    filter.normalize(actual.to_owned().into_data(), &expected).render().unwrap_or_else(|| actual.to_owned())
}

/// Replaces each number, with the unit behind it, by `#`, repeated spaces by one, and the causes of
/// losses by nothing.
fn masked(text: &str) -> String {
    text.lines().map(|line| mask_line(&without_causes(line)) + "\n").collect()
}

/// Removes the causes from `4 lost (3 queue full, 1 wireless error), …` and from the comment
/// `… lost: queue full (stage bottleneck, …)`, and makes `none lost` a number.
fn without_causes(line: &str) -> String {
    let line = line.replace(" none lost", " 0 lost");
    if let Some((counted, causes)) = line.split_once(" lost (")
        && let Some((_, rest)) = causes.split_once(')')
    {
        return format!("{counted} lost{rest}");
    }
    match line.split_once(" lost: ") {
        Some((packet, _)) => packet.rsplit('\t').next().unwrap_or(packet).to_owned() + " lost",
        None => line,
    }
}

fn mask_line(line: &str) -> String {
    let letters: Vec<char> = line.trim_end().chars().collect();
    let mut masked = String::new();
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at];
        if letter.is_ascii_digit() {
            at = end_of_number(&letters, at);
            masked.push('#');
        } else {
            if letter != ' ' || !masked.ends_with(' ') {
                masked.push(letter);
            }
            at += 1;
        }
    }
    masked
}

/// Returns the index behind the number that begins at `at`, and behind its unit.
fn end_of_number(letters: &[char], mut at: usize) -> usize {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    while is_digit(at) || (matches!(letters.get(at), Some('.' | ':' | '-' | 'T')) && is_digit(at + 1)) {
        at += 1;
    }
    while letters.get(at).is_some_and(|letter| letter.is_alphabetic()) {
        at += 1;
    }
    if letters.get(at) == Some(&'/') && letters.get(at + 1) == Some(&'s') {
        at += 2;
    }
    at
}
