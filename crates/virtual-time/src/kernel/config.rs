//! Kernel configurations: parsing them, and finding the options that `make olddefconfig` did not
//! accept.
//!
//! `olddefconfig` silently drops options that the source does not have or that lack a dependency. A
//! missing congestion control that plans use, or an option that slows down every packet, must not
//! go unnoticed.

use std::collections::BTreeMap;
use std::fmt;

/// Options by name (without `CONFIG_`), with their values as written. Options that are off are
/// absent.
pub type Options = BTreeMap<String, String>;

/// An option whose value differs from the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its name, without `CONFIG_`.
    pub option: String,
    /// The requested value; `n` is off.
    pub asked: String,
    /// The actual value.
    pub found: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} instead of {}", self.option, self.found, self.asked)
    }
}

const OFF: &str = "n";

/// Returns name and value of each option in a configuration; the value is `n` for options that are
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

/// Returns the options that are on.
#[must_use]
pub fn parse(text: &str) -> Options {
    let on = lines(text).filter(|(_, value)| *value != OFF);
    on.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the options of `asked` that differ in `built`, in the order of `asked`.
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
