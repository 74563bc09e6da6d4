//! Kernel configurations: reading them, and what `make olddefconfig` did not take over.
//!
//! `olddefconfig` drops without a word what the source does not know or what lacks a dependency. A
//! kernel without a congestion control that plans name, or with an option that makes every packet
//! slower, should not come into being unnoticed.

use std::collections::BTreeMap;
use std::fmt;

/// Options by name (without `CONFIG_`): their value, as written; an option that is off is not
/// there.
pub type Options = BTreeMap<String, String>;

/// An option that came out otherwise than asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its name, without `CONFIG_`.
    pub option: String,
    /// What was asked for; `n` is off.
    pub asked: String,
    /// What it is.
    pub found: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} instead of {}", self.option, self.found, self.asked)
    }
}

const OFF: &str = "n";

/// Every line of a configuration that says something: name and value, `n` for what is said to be
/// off.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("# CONFIG_") {
            return Some((rest.strip_suffix(" is not set")?, OFF));
        }
        line.strip_prefix("CONFIG_")?.split_once('=')
    })
}

/// The options that are on.
#[must_use]
pub fn parse(text: &str) -> Options {
    let on = lines(text).filter(|(_, value)| *value != OFF);
    on.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What of `asked` is otherwise in `built`, in the order of asking.
#[must_use]
pub fn dropped(asked: &str, built: &Options) -> Vec<Dropped> {
    let found = |name| built.get(name).map_or(OFF, String::as_str);
    lines(asked)
        .filter(|&(name, value)| found(name) != value)
        .map(|(name, value)| Dropped {
            option: name.to_owned(),
            asked: value.to_owned(),
            found: found(name).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = "\
# Comments are no options.
CONFIG_NET=y
# CONFIG_AUDIT is not set
CONFIG_SWAP=n
CONFIG_LOCALVERSION=\"-x\"
";

    #[test]
    fn what_came_out_as_asked_is_not_named() {
        let built =
            parse("CONFIG_NET=y\nCONFIG_LOCALVERSION=\"-x\"\nCONFIG_OTHER=m\n# CONFIG_SWAP is not set\n");
        assert_eq!(dropped(ASKED, &built), []);
    }

    #[test]
    fn an_option_that_is_missing_and_one_that_should_be_off_are_named() {
        let built = parse("CONFIG_AUDIT=y\nCONFIG_LOCALVERSION=\"-y\"\nCONFIG_SWAP=y\n");
        let said: Vec<_> = dropped(ASKED, &built).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "NET is n instead of y",
                "AUDIT is y instead of n",
                "SWAP is y instead of n",
                "LOCALVERSION is \"-y\" instead of \"-x\""
            ]
        );
    }
}
